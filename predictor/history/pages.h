/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs in small parts, for who has other things to do between two of them; no part scans the store.
 */
#ifndef FT_HISTORY_PAGES_H
#define FT_HISTORY_PAGES_H

#include "predictor/history/store.h"

/* Where a page ended. Begin with { INFINITY, 0 }. */
struct ft_store_cursor {
  double time;
  int64_t row;
};

/*
 * Call VISIT for up to MOST runs of UID's APP that ended at or after SINCE, the newest first, from
 * CURSOR on, which is moved behind each. VISIT returns false to stop before that run, which comes
 * again then. Returns how many were visited, 0 behind the last; -1 with ERR.
 */
int ft_store_page(struct ft_store *store, uint32_t uid, const char *app, double since,
                  struct ft_store_cursor *cursor, unsigned most,
                  bool (*visit)(const ft_observation *observation, void *data), void *data,
                  struct ft_error *err);

/*
 * The app after *UID's APP becomes it, by user and then by name; first {0, ""}. With ONE_USER those
 * of that user alone. Runs without an app have none. Returns 1; 0 behind the last; -1 with ERR.
 */
int ft_store_next_app(struct ft_store *store, bool one_user, uint32_t *uid, char app[128],
                      struct ft_error *err);

/*
 * Whose job JOB_ID is, or a job array of that number, and its app; with ONE_USER only where it is
 * *UID's. Returns 1; 0 where it is not there; -1 with ERR.
 */
int ft_store_find_job(struct ft_store *store, uint32_t job_id, bool one_user, uint32_t *uid,
                      char app[128], struct ft_error *err);

#endif
