/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/log.h"
#include "learner/new_apps/similar_apps_index.h"
#include "predictor/core/hash.h"
#include "predictor/core/sort.h"
#include "predictor/core/text.h"
#include "predictor/online/pool.h"
#include "predictor/record/state_files.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum {
  MAX_SIMILAR_APPS = COUNT(((ft_similar_apps *)NULL)->apps),
  MAX_PRIOR_APPS = COUNT(((ft_prior *)NULL)->known),
  MIN_APP_RUNS = 5,    /* completed runs that an app needs to enter the prior; by judgement */
  MIN_PRIOR_APPS = 20, /* fewer are not published: a single app could be recognised */
  MIN_PRIOR_USERS = FT_POOL_USERS,
  MAX_USER_APPS = MAX_PRIOR_APPS / 4
};

static void warn_index(const char *what, const struct ft_error *why)
{
  ft_log(LOG_WARNING, "%s: %s", what, why->text);
}

/* ---- similar apps of a user ---- */

/* Returns APP's entry in SIMILAR, else a new one, else the one that was updated longest ago. */
static ft_similar_app *index_entry(ft_similar_apps *similar, const char *app)
{
  ft_similar_app *oldest = similar->apps;

  for (size_t i = 0; i < similar->apps_count; i++) {
    if (strcmp(similar->apps[i].app, app) == 0)
      return &similar->apps[i];
    if (similar->apps[i].updated < oldest->updated)
      oldest = &similar->apps[i];
  }
  return similar->apps_count < MAX_SIMILAR_APPS ? &similar->apps[similar->apps_count++] : oldest;
}

static int update_similar_apps(struct ft_publisher *publisher, int state_fd,
                               const char *similarity_key, const ft_model *model,
                               struct ft_error *err)
{
  char name[FT_STATE_NAME_SIZE];
  struct ft_error why;
  ft_similar_apps *similar = malloc(sizeof *similar);
  ft_similar_app *app;
  int status;

  if (!similar)
    return ft_error_errno(err, "%s", similarity_key);
  if (ft_state_read_similar_apps(state_fd, model->uid, similarity_key, similar, &why) < 0) {
    *similar = (ft_similar_apps){ .schema = FT_SCHEMA };
    (void)ft_string_copy(similarity_key, similar->similarity_key, sizeof similar->similarity_key);
  }
  app = index_entry(similar, model->app);
  *app = (ft_similar_app){ .runs = model->completed, .updated = model->updated };
  (void)ft_string_copy(model->app, app->app, sizeof app->app);
  ft_state_similar_apps_name(similarity_key, name);
  status = ft_publish_user_file(publisher, model->uid, FT_RECORD_SIMILAR_APPS, similar, name, err);
  free(similar);
  return status;
}

/* ---- site-wide prior ---- */

static uint64_t prior_key(uint32_t uid, const char *app)
{
  return ft_hash64(ft_hash64(FT_HASH_SEED, app, strlen(app)), (const char *)&uid, sizeof uid);
}

/* Fills OUT with the median and spread of log(peak) of the completed runs in MODEL's HISTORY.
 * Returns false if these are too few. */
static bool summarise_model(const ft_model *model, const struct ft_history *history,
                            ft_prior_app *out)
{
  double value[FT_HISTORY_RUNS];
  size_t count = 0;

  for (size_t i = 0; i < history->count; i++)
    if (!history->run[i].censored && history->run[i].bytes > 0)
      value[count++] = log(history->run[i].bytes);
  if (count < MIN_APP_RUNS)
    return false;
  ft_sort_doubles(value, count);
  *out = (ft_prior_app){ .key = prior_key(model->uid, model->app),
                         .log_bytes = value[count / 2],
                         .user = model->uid };
  /* the interquartile range of a normal distribution is 1.349 standard deviations */
  out->spread = (value[count - 1 - count / 4] - value[count / 4]) / 1.349;
  return true;
}

/*
 * Adds or updates APP in PRIOR. Beyond the limits per user and in all, the apps with the smallest
 * hashes remain, a random but stable sample.
 */
static void put_prior_app(ft_prior *prior, const ft_prior_app *app)
{
  ft_prior_app *largest = NULL, *own = NULL;
  size_t of_user = 0;

  for (size_t i = 0; i < prior->known_count; i++) {
    ft_prior_app *known = &prior->known[i];

    if (known->key == app->key) {
      *known = *app;
      return;
    }
    if (!largest || known->key > largest->key)
      largest = known;
    if (known->user != app->user)
      continue;
    of_user++;
    if (!own || known->key > own->key)
      own = known;
  }
  if (of_user >= MAX_USER_APPS)
    largest = own;
  else if (prior->known_count < MAX_PRIOR_APPS)
    largest = &prior->known[prior->known_count++];
  else if (app->key >= largest->key)
    return;
  if (of_user < MAX_USER_APPS || app->key < largest->key)
    *largest = *app;
}

/* A value of an app, with weight 1 / (number of the user's apps). */
struct weighted {
  double value, weight;
};

static int compare_values(const void *a, const void *b)
{
  const struct weighted *one = a, *two = b;

  return one->value < two->value ? -1 : one->value > two->value;
}

/* Returns the LEVEL quantile of the COUNT items, sorted by value, with total weight USERS. */
static double weighted_quantile(const struct weighted *item, size_t count, double level,
                                double users)
{
  double below = 0;
  size_t i = 0;

  while (i + 1 < count && below + item[i].weight < level * users)
    below += item[i++].weight;
  return item[i].value;
}

/* Returns the number of users in PRIOR. APPS (or NULL) receives, per app, how many its user has. */
static size_t count_prior_users(const ft_prior *prior, unsigned *apps)
{
  size_t users = 0;

  for (size_t i = 0; i < prior->known_count; i++) {
    unsigned same = 0, before = 0;

    for (size_t k = 0; k < prior->known_count; k++) {
      same += prior->known[k].user == prior->known[i].user;
      before += k < i && prior->known[k].user == prior->known[i].user;
    }
    users += !before;
    if (apps)
      apps[i] = same;
  }
  return users;
}

/* Fills OUT with quantiles of the apps in FROM; each user has the same weight. */
static void summarise_prior(const ft_prior *from, ft_prior *out)
{
  static const double levels[COUNT(out->bytes)] = { 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95 };
  struct weighted log_peaks[MAX_PRIOR_APPS], spreads[MAX_PRIOR_APPS];
  unsigned apps[MAX_PRIOR_APPS];
  double users = (double)count_prior_users(from, apps);

  *out = (ft_prior){ .schema = FT_SCHEMA, .apps = from->known_count };
  for (size_t i = 0; i < from->known_count; i++) {
    log_peaks[i] = (struct weighted){ from->known[i].log_bytes, 1.0 / apps[i] };
    spreads[i] = (struct weighted){ from->known[i].spread, 1.0 / apps[i] };
  }
  qsort(log_peaks, from->known_count, sizeof *log_peaks, compare_values);
  qsort(spreads, from->known_count, sizeof *spreads, compare_values);
  out->spread = weighted_quantile(spreads, from->known_count, 0.5, users);
  for (size_t i = 0; i < COUNT(levels); i++)
    out->bytes[out->bytes_count++] =
        exp(weighted_quantile(log_peaks, from->known_count, levels[i], users));
}

/* Writes PRIOR to the learner's own file, and its quantiles to the public one, or removes that one
 * if apps or users are too few. Returns 0; -1 and ERR. */
static int write_prior_files(int state_fd, const ft_prior *prior, struct ft_error *err)
{
  ft_prior *public;
  int status;

  if (ft_record_write(FT_RECORD_PRIOR, prior, state_fd, FT_STATE_PRIOR_APPS, 0600, err) < 0)
    return -1;
  if (prior->known_count < MIN_PRIOR_APPS || count_prior_users(prior, NULL) < MIN_PRIOR_USERS)
    return unlinkat(state_fd, FT_STATE_PRIOR, 0) < 0 && errno != ENOENT
               ? ft_error_errno(err, FT_STATE_PRIOR)
               : 0;
  public = malloc(sizeof *public);
  if (!public)
    return ft_error_errno(err, FT_STATE_PRIOR);
  summarise_prior(prior, public);
  status = ft_record_write(FT_RECORD_PRIOR, public, state_fd, FT_STATE_PRIOR, 0644, err);
  free(public);
  return status;
}

/* Returns the prior's apps in memory, read from the file unless that is older. */
static struct ft_cached_prior *load_prior(struct ft_publisher *publisher, int state_fd)
{
  struct ft_cached_prior *prior = ft_publisher_prior(publisher);

  if (!prior->changed &&
      ft_record_read(FT_RECORD_PRIOR, state_fd, FT_STATE_PRIOR_APPS, &prior->apps, NULL) < 0)
    prior->apps = (ft_prior){ .schema = FT_SCHEMA };
  return prior;
}

void ft_similar_apps_index_write(struct ft_publisher *publisher, int state_fd)
{
  struct ft_cached_prior *prior = ft_publisher_prior(publisher);
  struct ft_error err;

  if (prior->changed && write_prior_files(state_fd, &prior->apps, &err) < 0)
    warn_index(FT_STATE_PRIOR, &err);
  prior->changed = false;
}

void ft_similar_apps_index_remove(struct ft_publisher *publisher, int state_fd, uint32_t uid,
                                  const char *app)
{
  ft_prior *prior = &load_prior(publisher, state_fd)->apps;
  uint64_t key = prior_key(uid, app);
  pb_size_t i = 0;

  while (i < prior->known_count && prior->known[i].key != key)
    i++;
  if (i == prior->known_count)
    return;
  prior->known[i] = prior->known[--prior->known_count];
  ft_publisher_prior(publisher)->changed = true;
  ft_similar_apps_index_write(publisher, state_fd);
}

bool ft_similar_apps_index_due(const ft_model *model, const ft_observation *o)
{
  uint32_t runs = model->completed;

  return model->uid != FT_STATE_POOLED && !o->censored && runs &&
         (runs == MIN_APP_RUNS || !(runs & (runs - 1)));
}

void ft_similar_apps_index_keys(const ft_observation *o, char keys[FT_SIMILARITIES][80])
{
  const ft_submission *s = &o->submission;

  for (unsigned k = 0; k < FT_SIMILARITIES; k++)
    if (!ft_state_similarity((enum ft_similarity)k, s->job_name, s->program, keys[k]))
      keys[k][0] = '\0';
}

void ft_similar_apps_index_update(struct ft_publisher *publisher, int state_fd,
                                  const ft_model *model, const struct ft_history *history,
                                  char keys[FT_SIMILARITIES][80])
{
  struct ft_cached_prior *prior;
  struct ft_error err;
  ft_prior_app app;

  for (unsigned k = 0; k < FT_SIMILARITIES; k++)
    if (keys[k][0] && update_similar_apps(publisher, state_fd, keys[k], model, &err) < 0)
      warn_index(keys[k], &err);
  if (!summarise_model(model, history, &app))
    return;
  prior = load_prior(publisher, state_fd);
  put_prior_app(&prior->apps, &app);
  prior->changed = true;
}
