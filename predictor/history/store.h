/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Observations in SQLite. One writer (the agent or an import), any readers. */
#ifndef FT_HISTORY_STORE_H
#define FT_HISTORY_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "predictor/core/error.h"
#include "predictor/record/record.h"

struct ft_store;

/*
 * Open PATH; with CREATE make it (mode 0600) or bring an older schema up to
 * date. A newer schema is refused. Returns NULL with ERR on failure.
 */
struct ft_store *ft_store_open(const char *path, bool create, struct ft_error *err);
void ft_store_close(struct ft_store *store);

/*
 * Wait at most so long where another process writes, before a put is refused; 1000 from the
 * beginning.
 */
void ft_store_set_wait(struct ft_store *store, int milliseconds);

/* Keep at most so much of the file's pages in memory; 2000 (SQLite's own) from the beginning. */
void ft_store_set_cache(struct ft_store *store, int kib);

/* Give those pages back; they are read again when they are needed. */
void ft_store_release_cache(struct ft_store *store);

/*
 * Put OBSERVATION. One of the same key is completed: a field that the new one
 * has replaces the old one's, a field it lacks stays; a known outcome is never
 * replaced by an unknown one, nor an agent's peak by a sampled one.
 * MERGED (may be NULL) gets what the store now holds. Durable on return. The app of which it is no
 * run any more, or not by the key that it had, is marked (stale_models.h). Returns 0; 1 where it is
 * forgotten (forget.h) or an agent's completed run of a job of which one has completed already: it
 * is not put, or as an override without the rest, and MERGED is of no use; -1 with ERR.
 */
int ft_store_put(struct ft_store *store, const ft_observation *observation,
                 ft_observation *merged, struct ft_error *err);

/*
 * Make the runs of UID's app FROM runs of TO, and mark both (stale_models.h): all of it or nothing,
 * in a transaction of its own. Runs of other users stay. Durable on return. Returns 1; 0 when FROM
 * has no run, which writes nothing; -1 with ERR.
 */
int ft_store_rename_app(struct ft_store *store, uint32_t uid, const char *from, const char *to,
                        struct ft_error *err);

/* Many at once: between these two, puts are one transaction. */
int ft_store_begin(struct ft_store *store, struct ft_error *err);
int ft_store_commit(struct ft_store *store, struct ft_error *err);

/* What was put since ft_store_begin is not to be. */
void ft_store_rollback(struct ft_store *store);

/* What to look at; zero fields do not restrict. */
struct ft_store_filter {
  const char *app;
  bool by_uid;
  uint32_t uid;
  uint32_t job_id; /* of the run's own job, or of the job array that it is a task of */
  bool by_task;
  uint32_t task_id;     /* of the job array JOB_ID */
  double since;         /* end_time, UTC */
  uint64_t limit;       /* newest first when set, oldest first else */
};

/* Call VISIT for each; it returns false to stop. The observation is valid during the call. */
int ft_store_each(struct ft_store *store, const struct ft_store_filter *filter,
                  bool (*visit)(const ft_observation *observation, void *data), void *data,
                  struct ft_error *err);

struct ft_store_app {
  char app[128];
  uint32_t uid;
  char user[64];
  uint64_t runs, completed, censored;
  double last_time;
  double max_bytes;     /* the largest peak */
  double min_bytes;     /* the smallest peak of a completed run; 0: none */
};

/* Call VISIT for each app of each user, most recent first. */
int ft_store_each_app(struct ft_store *store,
                      bool (*visit)(const struct ft_store_app *app, void *data), void *data,
                      struct ft_error *err);

/*
 * Keep only the newest KEEP observations of one app, and at most a few more: of the next one at each
 * call, for all of them would take seconds. Returns 1; 0 when the last one had its turn (or KEEP is
 * 0: all are kept); -1 with ERR.
 */
int ft_store_trim(struct ft_store *store, uint64_t keep, struct ft_error *err);

#endif
