/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "learner/model_cache.h"
#include "predictor/core/hash.h"
#include "predictor/core/text.h"

/* Chains of the hash table, a power of two, some more than apps fit. */
enum { BUCKETS = 2048 };

struct ft_model_cache {
  size_t limit, count;                   /* apps */
  struct ft_cached_app *oldest, *newest; /* by use */
  struct ft_cached_app *first_due, *last_due;
  struct ft_cached_app *bucket[BUCKETS];
};

struct ft_model_cache *ft_model_cache_open(size_t limit)
{
  struct ft_model_cache *cache = calloc(1, sizeof *cache);

  if (cache)
    cache->limit = limit / sizeof(struct ft_cached_app);
  return cache;
}

void ft_model_cache_close(struct ft_model_cache *cache)
{
  while (cache && cache->oldest)
    ft_model_cache_drop(cache, cache->oldest);
  free(cache);
}

static struct ft_cached_app **find_bucket(struct ft_model_cache *cache, uint32_t uid,
                                          const char *app)
{
  uint64_t hash = ft_hash64(ft_hash64(FT_HASH_SEED, &uid, sizeof uid), app, strlen(app));

  return &cache->bucket[hash % BUCKETS];
}

struct ft_cached_app *ft_model_cache_find(struct ft_model_cache *cache, uint32_t uid,
                                          const char *app)
{
  struct ft_cached_app *a = *find_bucket(cache, uid, app);

  while (a && (a->uid != uid || strcmp(a->app, app) != 0))
    a = a->next_in_bucket;
  return a;
}

bool ft_model_cache_is_full(const struct ft_model_cache *cache)
{
  return cache->count >= cache->limit;
}

static void append_as_newest(struct ft_model_cache *cache, struct ft_cached_app *a)
{
  a->newer = NULL;
  a->older = cache->newest;
  if (cache->newest)
    cache->newest->newer = a;
  else
    cache->oldest = a;
  cache->newest = a;
}

static void unlink_by_use(struct ft_model_cache *cache, struct ft_cached_app *a)
{
  if (a->older)
    a->older->newer = a->newer;
  else
    cache->oldest = a->newer;
  if (a->newer)
    a->newer->older = a->older;
  else
    cache->newest = a->older;
}

struct ft_cached_app *ft_model_cache_add(struct ft_model_cache *cache, uint32_t uid,
                                         const char *app)
{
  struct ft_cached_app **bucket = find_bucket(cache, uid, app), *a = calloc(1, sizeof *a);

  if (!a)
    return NULL;
  a->uid = uid;
  (void)ft_string_copy(app, a->app, sizeof a->app);
  a->published = -INFINITY;
  a->next_in_bucket = *bucket;
  *bucket = a;
  append_as_newest(cache, a);
  cache->count++;
  return a;
}

void ft_model_cache_use(struct ft_model_cache *cache, struct ft_cached_app *a, double now)
{
  a->used = now;
  unlink_by_use(cache, a);
  append_as_newest(cache, a);
}

struct ft_cached_app *ft_model_cache_oldest(const struct ft_model_cache *cache)
{
  return cache->oldest;
}

void ft_model_cache_drop(struct ft_model_cache *cache, struct ft_cached_app *a)
{
  struct ft_cached_app **at = find_bucket(cache, a->uid, a->app);

  while (*at != a)
    at = &(*at)->next_in_bucket;
  *at = a->next_in_bucket;
  unlink_by_use(cache, a);
  ft_model_cache_unqueue(cache, a);
  cache->count--;
  free(a);
}

void ft_model_cache_drop_pooled(struct ft_model_cache *cache,
                                bool (*keep)(const char *app, const void *data), const void *data)
{
  struct ft_cached_app *next;

  for (struct ft_cached_app *a = cache->oldest; a; a = next) {
    next = a->newer;
    if (a->uid == FT_STATE_POOLED && !keep(a->app, data))
      ft_model_cache_drop(cache, a);
  }
}

void ft_model_cache_queue(struct ft_model_cache *cache, struct ft_cached_app *a, double due)
{
  struct ft_cached_app *before = cache->last_due;

  while (before && before->due > due)
    before = before->previous_due;
  a->due = due;
  a->queued = true;
  a->previous_due = before;
  a->next_due = before ? before->next_due : cache->first_due;
  *(a->next_due ? &a->next_due->previous_due : &cache->last_due) = a;
  *(before ? &before->next_due : &cache->first_due) = a;
}

void ft_model_cache_unqueue(struct ft_model_cache *cache, struct ft_cached_app *a)
{
  if (!a->queued)
    return;
  a->queued = false;
  *(a->next_due ? &a->next_due->previous_due : &cache->last_due) = a->previous_due;
  *(a->previous_due ? &a->previous_due->next_due : &cache->first_due) = a->next_due;
}

struct ft_cached_app *ft_model_cache_first_due(const struct ft_model_cache *cache)
{
  return cache->first_due;
}

int64_t ft_model_cache_oldest_mark(const struct ft_model_cache *cache)
{
  int64_t oldest = 0;

  for (const struct ft_cached_app *a = cache->first_due; a; a = a->next_due)
    if (a->mark && (!oldest || a->mark < oldest))
      oldest = a->mark;
  return oldest;
}
