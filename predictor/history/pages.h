/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads runs page by page, for callers with other work between two pages. No call scans the store.
 */
#ifndef FT_HISTORY_PAGES_H
#define FT_HISTORY_PAGES_H

#include <stdbool.h>
#include <stdint.h>

#include "predictor/history/store.h"

/* Position of the last visited run. At the start { INFINITY, 0 }, for ft_store_learn_page
 * { -INFINITY, 0 }. */
struct ft_store_cursor {
  double time; /* end_time, UTC seconds */
  int64_t row;
};

/*
 * Calls VISIT for up to LIMIT runs of UID's APP that ended at or after SINCE (UTC seconds), newest
 * first, starting after CURSOR, and advances CURSOR. With BY_NODE visits the record of each node
 * instead. VISIT returns false to stop before the run,
 * which the next call visits again. Returns the number of visited runs, 0 after the last; -1 on
 * error and fills ERR.
 */
int ft_store_page(struct ft_store *store, uint32_t uid, const char *app, double since, bool by_node,
                  struct ft_store_cursor *cursor, unsigned limit,
                  bool (*visit)(const ft_observation *observation, void *data), void *data,
                  struct ft_error *err);

/*
 * Calls VISIT for the next LIMIT runs of UID's APP (of all users for FT_STATE_POOLED) that models
 * learn: oldest first, without those that wait for other nodes. Starts after CURSOR and advances
 * it; of runs with one end time none is skipped or repeated. VISIT returns 0, or -1 to stop before
 * the run and fills ERR. Returns the number of visited runs, below LIMIT after the last; -1 on
 * error and fills ERR.
 */
int ft_store_learn_page(struct ft_store *store, uint32_t uid, const char *app,
                        struct ft_store_cursor *cursor, unsigned limit,
                        int (*visit)(const ft_observation *observation, void *data,
                                     struct ft_error *err),
                        void *data, struct ft_error *err);

/*
 * Replaces *UID and APP by the next app with runs, in order of uid and name; 0 and "" give the
 * first. With ONE_USER only apps of *UID count. Returns 1; 0 after the last; -1 on error and fills
 * ERR.
 */
int ft_store_next_app(struct ft_store *store, bool one_user, uint32_t *uid, char app[128],
                      struct ft_error *err);

/*
 * Sets *UID and APP to the owner and the app of the job or job array JOB_ID. With ONE_USER only
 * jobs of *UID count. Returns 1; 0 if there is no such job; -1 on error and fills ERR.
 */
int ft_store_find_job(struct ft_store *store, uint32_t job_id, bool one_user, uint32_t *uid,
                      char app[128], struct ft_error *err);

#endif
