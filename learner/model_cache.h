/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The models of the apps that ran last, in memory, found by user and app: a container that reads
 * and writes no file. Apps that differ from their files wait in a queue, sorted by the time when
 * the files are due.
 */
#ifndef FT_LEARNER_MODEL_CACHE_H
#define FT_LEARNER_MODEL_CACHE_H

#include <stdbool.h>

#include "predictor/record/record.h"
#include "predictor/record/state_files.h"

struct ft_model_cache;

/* A user's app (FT_STATE_POOLED: all users'). Times are monotonic seconds. */
struct ft_cached_app {
  char app[sizeof((ft_model *)NULL)->app];
  uint32_t uid;
  struct ft_app_models models;
  unsigned changed; /* quantities (1 << FT_QUANTITY_...) since the file was written */
  int64_t mark;     /* newest stale mark (stale_models.h) contained in the models; 0: none */
  bool index_due;   /* the indices of usage and similar apps are to be updated, under these keys: */
  char similarity_keys[FT_SIMILARITIES][80];
  double used;      /* by ft_model_cache_find_or_add */
  double published; /* the last time; -INFINITY: not while in memory */
  double due;       /* while queued */
  bool queued;
  struct ft_cached_app *next_in_bucket, *next_due, *previous_due, *older, *newer;
};

/* Returns an empty cache of at most LIMIT bytes; NULL out of memory. */
struct ft_model_cache *ft_model_cache_open(size_t limit);
void ft_model_cache_close(struct ft_model_cache *cache);

/* Returns UID's APP; NULL if it is not in memory. */
struct ft_cached_app *ft_model_cache_find(struct ft_model_cache *cache, uint32_t uid,
                                          const char *app);

/* Whether another app would exceed the limit. */
bool ft_model_cache_is_full(const struct ft_model_cache *cache);

/* Adds UID's APP, which is not in memory, with empty models. Returns NULL out of memory. */
struct ft_cached_app *ft_model_cache_add(struct ft_model_cache *cache, uint32_t uid,
                                         const char *app);

/* Notes that APP is used at the time NOW. */
void ft_model_cache_use(struct ft_model_cache *cache, struct ft_cached_app *app, double now);

/* Returns the app that was used longest ago; NULL if there is none. */
struct ft_cached_app *ft_model_cache_oldest(const struct ft_model_cache *cache);

/* Frees APP. */
void ft_model_cache_drop(struct ft_model_cache *cache, struct ft_cached_app *app);

/* Frees the pooled apps for which KEEP is false. */
void ft_model_cache_drop_pooled(struct ft_model_cache *cache,
                                bool (*keep)(const char *app, const void *data), const void *data);

/* Queues APP, which is not queued, to be published at the time DUE. */
void ft_model_cache_queue(struct ft_model_cache *cache, struct ft_cached_app *app, double due);

/* Takes APP out of the queue. */
void ft_model_cache_unqueue(struct ft_model_cache *cache, struct ft_cached_app *app);

/* Returns the queued app that is due first; NULL if none is queued. */
struct ft_cached_app *ft_model_cache_first_due(const struct ft_model_cache *cache);

/* Returns the smallest mark of the queued apps; 0: no mark is queued. */
int64_t ft_model_cache_oldest_mark(const struct ft_model_cache *cache);

#endif
