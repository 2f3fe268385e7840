/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Estimates apps' run times on platforms where they have not run. After an app's run times are
 * published, a forked child applies the site's cross-platform model (relative.model), and the
 * learner publishes the estimates with the run times. After 10 runs of apps with several platforms
 * the child first trains a new model, which is then applied to all apps, some per child.
 */
#ifndef FT_LEARNER_PLATFORM_WORKER_H
#define FT_LEARNER_PLATFORM_WORKER_H

#include "daemon/subprocess.h"
#include "learner/publish.h"

struct ft_platform_worker;

/*
 * Observes the run times that PUBLISHER publishes below the state directory STATE_FD, whose path is
 * STATE_PATH; all but STATE_PATH are borrowed. Returns NULL and ERR.
 */
struct ft_platform_worker *ft_platform_worker_open(struct ft_loop *loop,
                                                   struct ft_subprocesses *children, int state_fd,
                                                   const char *state_path,
                                                   struct ft_publisher *publisher,
                                                   struct ft_error *err);

/* Frees WORKER. A running child is ended by ft_subprocesses_close. */
void ft_platform_worker_close(struct ft_platform_worker *worker);

#endif
