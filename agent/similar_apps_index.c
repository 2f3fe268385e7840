/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/similar_apps_index.h"
#include "agent/log.h"
#include "predictor/core/hash.h"
#include "predictor/core/sort.h"
#include "predictor/core/text.h"
#include "predictor/online/pool.h"
#include "predictor/record/state_files.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum {
  MOST_APPS = COUNT(((ft_similar_apps *)NULL)->apps),
  MOST_KNOWN = COUNT(((ft_prior *)NULL)->known),
  RUNS = COUNT(((ft_model *)NULL)->history),
  APP_RUNS = 5,    /* completed runs from which on an app's needs count among the site's */
  LEAST_APPS = 20, /* with fewer nothing is published: a single app could be recognised */
  LEAST_USERS = FT_POOL_USERS,
  MOST_OF_USER = MOST_KNOWN / 4
};

static void tell(const char *what, const struct ft_error *why)
{
  ft_log(LOG_WARNING, "%s: %s", what, why->text);
}

/* ---- alike apps of a user ---- */

/* APP's place in KIN: its own, a new one, or that of the one noted longest ago. */
static ft_similar_app *place_of(ft_similar_apps *kin, const char *app)
{
  ft_similar_app *oldest = kin->apps;

  for (size_t i = 0; i < kin->apps_count; i++) {
    if (strcmp(kin->apps[i].app, app) == 0)
      return &kin->apps[i];
    if (kin->apps[i].updated < oldest->updated)
      oldest = &kin->apps[i];
  }
  return kin->apps_count < MOST_APPS ? &kin->apps[kin->apps_count++] : oldest;
}

static int note_likeness(struct ft_publisher *publisher, int state_fd, const char *similarity_key,
                         const ft_model *model, struct ft_error *err)
{
  char name[FT_STATE_NAME_SIZE];
  struct ft_error why;
  ft_similar_apps *kin = malloc(sizeof *kin);
  ft_similar_app *app;
  int status;

  if (!kin)
    return ft_error_errno(err, "%s", similarity_key);
  if (ft_state_read_similar_apps(state_fd, model->uid, similarity_key, kin, &why) < 0) {
    *kin = (ft_similar_apps){ .schema = FT_SCHEMA };
    (void)ft_string_copy(similarity_key, kin->similarity_key, sizeof kin->similarity_key);
  }
  app = place_of(kin, model->app);
  *app = (ft_similar_app){ .runs = model->completed, .updated = model->updated };
  (void)ft_string_copy(model->app, app->app, sizeof app->app);
  ft_state_similar_apps_name(similarity_key, name);
  status = ft_publish_user_file(publisher, model->uid, FT_RECORD_SIMILAR_APPS, kin, name, err);
  free(kin);
  return status;
}

/* ---- what the site's apps need ---- */

static uint64_t key_of(uint32_t uid, const char *app)
{
  return ft_hash64(ft_hash64(FT_HASH_SEED, app, strlen(app)), (const char *)&uid, sizeof uid);
}

static bool needs_of(const ft_model *model, ft_prior_app *out)
{
  double value[RUNS];
  size_t count = 0;

  for (size_t i = 0; i < model->history_count; i++)
    if (!model->history[i].censored && model->history[i].bytes > 0)
      value[count++] = log(model->history[i].bytes);
  if (count < APP_RUNS)
    return false;
  ft_sort_doubles(value, count);
  *out = (ft_prior_app){ .key = key_of(model->uid, model->app),
                         .log_bytes = value[count / 2],
                         .user = model->uid };
  /* the middle half of a normal distribution is 1.349 standard deviations wide */
  out->spread = (value[count - 1 - count / 4] - value[count / 4]) / 1.349;
  return true;
}

/*
 * Keep APP if there is room among its user's apps and among all; else the apps with the smallest
 * hashes are kept, which is a random choice that does not change.
 */
static void put(ft_prior *prior, const ft_prior_app *app)
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
  if (of_user >= MOST_OF_USER)
    largest = own;
  else if (prior->known_count < MOST_KNOWN)
    largest = &prior->known[prior->known_count++];
  else if (app->key >= largest->key)
    return;
  if (of_user < MOST_OF_USER || app->key < largest->key)
    *largest = *app;
}

/* A number of an app's, which weighs a part of its user. */
struct weighed {
  double value, weight;
};

static int by_value(const void *a, const void *b)
{
  const struct weighed *one = a, *two = b;

  return one->value < two->value ? -1 : one->value > two->value;
}

/* The value below which PART of the weight of USERS lies; ITEM is sorted. */
static double quantile(const struct weighed *item, size_t count, double part, double users)
{
  double below = 0;
  size_t i = 0;

  while (i + 1 < count && below + item[i].weight < part * users)
    below += item[i++].weight;
  return item[i].value;
}

/* How many users' apps PRIOR knows. APPS, unless it is NULL: of each app, how many its user has. */
static size_t count_users(const ft_prior *prior, unsigned *apps)
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

static void summarise(const ft_prior *from, ft_prior *out)
{
  static const double parts[COUNT(out->bytes)] = { 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95 };
  struct weighed needs[MOST_KNOWN], spreads[MOST_KNOWN];
  unsigned apps[MOST_KNOWN];
  double users = (double)count_users(from, apps);

  *out = (ft_prior){ .schema = FT_SCHEMA, .apps = from->known_count };
  for (size_t i = 0; i < from->known_count; i++) {
    needs[i] = (struct weighed){ from->known[i].log_bytes, 1.0 / apps[i] };
    spreads[i] = (struct weighed){ from->known[i].spread, 1.0 / apps[i] };
  }
  qsort(needs, from->known_count, sizeof *needs, by_value);
  qsort(spreads, from->known_count, sizeof *spreads, by_value);
  out->spread = quantile(spreads, from->known_count, 0.5, users);
  for (size_t i = 0; i < COUNT(parts); i++)
    out->bytes[out->bytes_count++] = exp(quantile(needs, from->known_count, parts[i], users));
}

/* Replace the agent's file with PRIOR, and what it says at large. Returns 0 or -1 with ERR. */
static int write_prior(int state_fd, const ft_prior *prior, struct ft_error *err)
{
  ft_prior *told;
  int status;

  if (ft_record_write(FT_RECORD_PRIOR, prior, state_fd, FT_STATE_PRIOR_APPS, 0600, err) < 0)
    return -1;
  if (prior->known_count < LEAST_APPS || count_users(prior, NULL) < LEAST_USERS)
    return unlinkat(state_fd, FT_STATE_PRIOR, 0) < 0 && errno != ENOENT
               ? ft_error_errno(err, FT_STATE_PRIOR)
               : 0;
  told = malloc(sizeof *told);
  if (!told)
    return ft_error_errno(err, FT_STATE_PRIOR);
  summarise(prior, told);
  status = ft_record_write(FT_RECORD_PRIOR, told, state_fd, FT_STATE_PRIOR, 0644, err);
  free(told);
  return status;
}

static int note_needs(int state_fd, const ft_model *model, struct ft_error *err)
{
  ft_prior *prior = malloc(sizeof *prior);
  ft_prior_app app;
  int status = 0;

  if (!prior)
    return ft_error_errno(err, FT_STATE_PRIOR);
  if (!needs_of(model, &app))
    goto out;
  if (ft_record_read(FT_RECORD_PRIOR, state_fd, FT_STATE_PRIOR_APPS, prior, NULL) < 0)
    *prior = (ft_prior){ .schema = FT_SCHEMA };
  put(prior, &app);
  status = write_prior(state_fd, prior, err);
out:
  free(prior);
  return status;
}

void ft_similar_apps_index_remove(int state_fd, uint32_t uid, const char *app)
{
  ft_prior *prior = malloc(sizeof *prior);
  uint64_t key = key_of(uid, app);
  struct ft_error err;
  pb_size_t i = 0;

  if (prior && ft_record_read(FT_RECORD_PRIOR, state_fd, FT_STATE_PRIOR_APPS, prior, NULL) == 0) {
    while (i < prior->known_count && prior->known[i].key != key)
      i++;
    if (i < prior->known_count) {
      prior->known[i] = prior->known[--prior->known_count];
      if (write_prior(state_fd, prior, &err) < 0)
        tell(FT_STATE_PRIOR, &err);
    }
  }
  free(prior);
}

void ft_similar_apps_index_update(struct ft_publisher *publisher, int state_fd,
                                  const ft_model *model, const ft_observation *o)
{
  const char *const text[FT_SIMILARITIES] = { o->submission.job_name, o->submission.program };
  uint32_t runs = model->completed;
  char similarity_key[80];
  struct ft_error err;

  if (model->uid == FT_STATE_POOLED || !runs || o->censored)
    return;
  for (unsigned k = 0; k < FT_SIMILARITIES && !(runs & (runs - 1)); k++)
    if (ft_state_similarity((enum ft_similarity)k, text[k], similarity_key) &&
        note_likeness(publisher, state_fd, similarity_key, model, &err) < 0)
      tell(similarity_key, &err);
  if ((runs == APP_RUNS || (runs > APP_RUNS && !(runs & (runs - 1)))) &&
      note_needs(state_fd, model, &err) < 0)
    tell(FT_STATE_PRIOR, &err);
}
