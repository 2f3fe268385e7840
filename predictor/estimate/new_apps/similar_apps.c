/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>
#include <string.h>

#include "predictor/core/text.h"
#include "predictor/estimate/memory.h"
#include "predictor/estimate/new_apps/similar_apps.h"
#include "predictor/learn/distribution.h"
#include "predictor/record/state_files.h"

enum {
  LEVELS = FT_ESTIMATE_LEVELS,
  MIDDLE = 5,  /* index of the median in ft_interval_levels */
  HIGH = 8,    /* of the 95 % quantile */
  MIN_RUNS = 3 /* minimum of completed runs of a similar app; chosen by judgement */
};

/* Prior standard deviation of log(peak) between similar apps: a factor of 2. Chosen by judgement.
 */
#define BETWEEN 0.7
/* Weight of this prior, in apps. Chosen by judgement. */
#define BETWEEN_APPS 2
/* Weight of one own run, in similar apps. Chosen by judgement. */
#define OWN_WEIGHT 2.0
/* Maximum of the 95 % quantile, as the log of a multiple of the largest peak in the evidence: two
 * prior standard deviations between apps, a factor of 4. */
#define BEYOND (2 * BETWEEN)
/* Standard deviation of log(peak) within an app: minimum, and value if the site has no estimate.
 * Chosen by judgement. */
#define WITHIN 0.1

/* Sums over apps, each with a weight w and the log m of its median in bytes. */
struct pool {
  unsigned apps;
  double weights, sum, squares; /* of w, w m, w m^2 */
  double distance[LEVELS];      /* of w (log quantile - m) */
  double max_value;             /* largest peak */
};

/* Limits the quantiles of E to the largest peak: what an app extrapolates beyond its own runs is no
 * evidence about another app. */
static void limit_to_peak(struct ft_estimate *e)
{
  for (int i = 0; i < LEVELS; i++)
    e->quantile[i] = fmin(e->quantile[i], e->max_value);
}

/* Adds the app with the estimate E to POOL. */
static void add_to_pool(struct pool *pool, const struct ft_estimate *e, double weight)
{
  double middle = log(e->quantile[MIDDLE]);

  pool->weights += weight;
  pool->sum += weight * middle;
  pool->squares += weight * middle * middle;
  for (int i = 0; i < LEVELS; i++)
    pool->distance[i] += weight * (log(e->quantile[i]) - middle);
  pool->max_value = fmax(pool->max_value, e->max_value);
}

/* Whether APP is the app of S, also under a former name. */
static bool is_same_app(const ft_submission *s, const char *app)
{
  return strcmp(s->app, app) == 0 ||
         FT_ROWS_FIND_INLINED(s->former_apps, s->former_apps_count, app) < s->former_apps_count;
}

/* Returns the index of the most recently updated app in SIMILAR that is neither that of S nor DONE;
 * -1: none. */
static int find_newest_app(const ft_similar_apps *similar, const ft_submission *s, const bool *done)
{
  int best = -1;

  for (int i = 0; i < (int)similar->apps_count; i++)
    if (!done[i] && !is_same_app(s, similar->apps[i].app) &&
        (best < 0 || similar->apps[i].updated > similar->apps[best].updated))
      best = i;
  return best;
}

/* Estimates the peak of S by MODEL; of a job array, that of the task of TASKS with the largest 95 %
 * quantile. Returns false without an estimate. */
static bool estimate_by_similar(const ft_model *model, const ft_submission *s,
                                const struct ft_task_list *tasks, struct ft_estimate *out)
{
  enum { LIMIT = sizeof s->features / sizeof *s->features };
  ft_feature features[LIMIT];
  struct ft_estimate e;

  for (size_t i = 0; i < (tasks->count ? tasks->count : 1); i++) {
    pb_size_t count = s->features_count;

    memcpy(features, s->features, count * sizeof *features);
    if (tasks->count)
      ft_features_of_task(features, &count, LIMIT, tasks->array, &tasks->index[i]);
    if (ft_estimate_memory(model, features, count, &e, NULL) < 0)
      return false;
    if (!i || e.quantile[HIGH] > out->quantile[HIGH])
      *out = e;
  }
  return true;
}

static bool is_listed(const ft_similar_apps *similar, const char *app)
{
  for (size_t i = 0; i < similar->apps_count; i++)
    if (strcmp(similar->apps[i].app, app) == 0)
      return true;
  return false;
}

/* Adds the FT_SIMILAR_APPS_MAX most recently updated apps of SIMILAR to POOL, except those of
 * BEFORE, which were read. */
static void gather_similar_apps(int state_fd, uint32_t uid, const ft_submission *s,
                                const struct ft_task_list *tasks, const ft_similar_apps *similar,
                                const ft_similar_apps *before, struct pool *pool)
{
  ft_model model;
  bool done[sizeof similar->apps / sizeof *similar->apps] = { false };
  struct ft_estimate e;
  int i;

  while (pool->apps < FT_SIMILAR_APPS_MAX && (i = find_newest_app(similar, s, done)) >= 0) {
    done[i] = true;
    if (is_listed(before, similar->apps[i].app) ||
        ft_state_read_evaluator(state_fd, uid, similar->apps[i].app, &model, NULL) < 0 ||
        model.uid != uid || model.completed < MIN_RUNS ||
        !estimate_by_similar(&model, s, tasks, &e))
      continue;
    limit_to_peak(&e);
    add_to_pool(pool, &e, 1);
    pool->apps++;
  }
}

/* Returns the site's standard deviation of log(peak) within an app. */
static double within_app_deviation(int state_fd)
{
  ft_prior prior;

  if (ft_record_read(FT_RECORD_PRIOR, state_fd, FT_STATE_PRIOR, &prior, NULL) < 0)
    return WITHIN;
  return fmax(prior.spread, WITHIN);
}

/* Fills OUT with the distribution of a new app's peak from POOL, whose sum of weights is above 0:
 * the mean of the medians, with the quantile distances within and between apps added in quadrature.
 * Distances above are shortened in proportion if the 95 % quantile exceeds its maximum (BEYOND).
 * WITHIN: minimum standard deviation of log(peak) within an app. OWN: number of own runs. */
static void mix_pool(const struct pool *pool, double within, unsigned own, struct ft_estimate *out)
{
  double middle = pool->sum / pool->weights;
  double squares = fmax(pool->squares - pool->sum * middle, 0);
  double between_variance = (BETWEEN_APPS * BETWEEN * BETWEEN + squares) /
                            (BETWEEN_APPS + fmax(pool->weights - 1, 0)) * (1 + 1 / pool->weights);
  unsigned degrees = BETWEEN_APPS + (unsigned)pool->weights;

  double distance[LEVELS], farthest = fmax(log(pool->max_value) + BEYOND - middle, 0), shortened;

  *out = (struct ft_estimate){ .runs = own, .max_value = pool->max_value };
  (void)ft_string_copy("similar apps", out->method, sizeof out->method);
  for (int i = 0; i < LEVELS; i++) {
    double side = i < MIDDLE ? -1 : 1, level = ft_interval_levels[i];
    double inner =
        fmax(fabs(pool->distance[i] / pool->weights), within * fabs(ft_interval_scores[i]));
    double outer = sqrt(between_variance) * ft_student_quantile(level, degrees);

    distance[i] = i == MIDDLE ? 0 : side * hypot(inner, outer);
  }
  shortened = fmin(farthest / distance[HIGH], 1);
  for (int i = 0; i < LEVELS; i++)
    out->quantile[i] =
        exp(fmin(fmax(middle + distance[i] * (i > MIDDLE ? shortened : 1), 0), 50 * M_LN2));
}

unsigned ft_similar_apps_estimate(int state_fd, uint32_t uid, const ft_submission *s,
                                  const struct ft_task_list *tasks, const struct ft_estimate *own,
                                  struct ft_estimate *out)
{
  struct pool pool = { 0 };
  struct ft_estimate mixed;
  char similarity_key[80];
  double within;
  ft_similar_apps similar, before = { .apps_count = 0 };

  for (unsigned k = 0; k < FT_SIMILARITIES && !pool.apps; k++)
    if (ft_state_similarity((enum ft_similarity)k, s->job_name, s->program, similarity_key) &&
        ft_state_read_similar_apps(state_fd, uid, similarity_key, &similar, NULL) == 0) {
      gather_similar_apps(state_fd, uid, s, tasks, &similar, &before, &pool);
      before = similar;
    }
  if (!pool.apps)
    return 0;
  within = within_app_deviation(state_fd);
  mix_pool(&pool, within, 0, &mixed);
  if (own && own->max_value > ft_estimate_quantile(&mixed, 0.95))
    return 0;
  if (own) {
    add_to_pool(&pool, own, OWN_WEIGHT * (own->runs + own->stopped));
    mix_pool(&pool, within, own->runs, &mixed);
  }
  *out = mixed;
  return pool.apps;
}

unsigned ft_similar_apps_estimate_all(int state_fd, struct ft_estimate *out)
{
  /* index in prior.bytes for each level; the outermost quantiles repeat */
  static const unsigned char of[LEVELS] = { 0, 0, 0, 1, 2, 3, 4, 5, 6, 6, 6, 6, 6 };
  ft_prior prior;

  if (ft_record_read(FT_RECORD_PRIOR, state_fd, FT_STATE_PRIOR, &prior, NULL) < 0 ||
      prior.bytes_count != sizeof prior.bytes / sizeof *prior.bytes || !prior.apps)
    return 0;
  *out = (struct ft_estimate){ .runs = 0 };
  (void)ft_string_copy("all apps", out->method, sizeof out->method);
  for (int i = 0; i < LEVELS; i++)
    out->quantile[i] = prior.bytes[of[i]];
  return prior.apps;
}
