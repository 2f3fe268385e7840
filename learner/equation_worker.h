/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Searches equations for apps whose published models are due for it (ft_equation_search_due), in
 * one child at a time at nice 19. The result is adopted into the model that is published by then,
 * if that has the same runs.
 */
#ifndef FT_LEARNER_EQUATION_WORKER_H
#define FT_LEARNER_EQUATION_WORKER_H

#include "daemon/subprocess.h"
#include "learner/publish.h"

struct ft_equation_worker;

/*
 * Observes the models that PUBLISHER publishes below the state directory STATE_FD; all are
 * borrowed. Returns NULL and ERR.
 */
struct ft_equation_worker *ft_equation_worker_open(struct ft_loop *loop,
                                                   struct ft_subprocesses *children, int state_fd,
                                                   struct ft_publisher *publisher,
                                                   struct ft_error *err);

/*
 * Adopts FOUND, the result of a search (ft_equation_search), into the newest model of its app and
 * publishes that. Returns 1; 0 if the model's runs are others now; -1 and ERR.
 */
int ft_equation_worker_adopt(struct ft_equation_worker *worker, const ft_model *found,
                             const struct ft_history *found_runs, struct ft_error *err);

/* Frees WORKER. A running child is ended by ft_subprocesses_close. */
void ft_equation_worker_close(struct ft_equation_worker *worker);

#endif
