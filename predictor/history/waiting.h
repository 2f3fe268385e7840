/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Runs as nodes have sent them, which wait for Slurm's record of their job: no reader sees them,
 * and no model learns them, until ft_store_put stores them with that record.
 */
#ifndef FT_HISTORY_WAITING_H
#define FT_HISTORY_WAITING_H

#include "predictor/history/store.h"

/* Lets RUN wait, or what tombstones leave of it (forget.h); replaces a run of the same job and node
 * with the same start. Durable on return outside a transaction. Returns 0; -1 and ERR. */
int ft_store_wait(struct ft_store *store, const ft_observation *run, struct ft_error *err);

/* RUN no longer waits. Returns 0; -1 and ERR. */
int ft_store_end_wait(struct ft_store *store, const ft_observation *run, struct ft_error *err);

/*
 * Reads into RUN the first waiting run after the one with RUN's node and start_time of RUN's job
 * whose number is at most LAST. Start with an empty node. Returns 1; 0 if there is none; -1 and
 * ERR.
 */
int ft_store_next_waiting(struct ft_store *store, ft_observation *run, int64_t last,
                          struct ft_error *err);

/*
 * Finds the jobs after JOB_ID, ascending, of which runs wait. Calls VISIT with each, with the
 * time (UTC seconds) since which its newest run waits and with that run's number, until VISIT
 * returns false. Returns 0; -1 and ERR.
 */
int ft_store_each_waiting_job(struct ft_store *store, uint32_t job_id,
                              bool (*visit)(uint32_t job_id, double since, int64_t run, void *data),
                              void *data, struct ft_error *err);

/* Inside a transaction: removes the waiting runs that tombstones cover (forget.h), of UID or, if
 * UID is -1, of all users. Returns 0; -1 and ERR. */
int ft_store_forget_waiting(struct ft_store *store, int64_t uid, struct ft_error *err);

/* Removes the runs that have waited since before BEFORE (UTC seconds). Returns 0; -1 and ERR. */
int ft_store_expire_waiting(struct ft_store *store, double before, struct ft_error *err);

#endif
