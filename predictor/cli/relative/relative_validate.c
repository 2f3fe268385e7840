/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Cross-validation over groups of rows, and its accuracy scores. */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/cli/relative/relative.h"
#include "predictor/core/random.h"
#include "predictor/core/sort.h"

enum {
  ALONE = 60, /* up to this many groups: leave one group out; bounds time */
  FOLDS = 10  /* folds for more groups: 10-fold cross-validation */
};

/* Writes the fold of each row into FOLD and returns the number of folds. FOLDS 0: the default.
 * DEALT is work space for one value per row. */
static size_t assign_folds(const struct ft_relative_table *t, size_t folds, uint64_t seed,
                           size_t *fold, size_t *dealt)
{
  struct ft_random random;
  size_t groups = 0;

  /* group numbers are below the number of rows; renumber them without gaps */
  for (size_t r = 0; r < t->rows; r++)
    dealt[r] = SIZE_MAX;
  for (size_t r = 0; r < t->rows; r++)
    if (dealt[t->group[r]] == SIZE_MAX)
      dealt[t->group[r]] = groups++;
  if (folds == 0)
    folds = groups <= ALONE ? groups : FOLDS;
  folds = folds < groups ? folds : groups;
  for (size_t i = 0; i < groups; i++)
    fold[i] = i;
  ft_random_seed(&random, seed);
  for (size_t i = groups; i > 1; i--) {
    size_t j = ft_random_below(&random, i), swap = fold[i - 1];

    fold[i - 1] = fold[j];
    fold[j] = swap;
  }
  for (size_t r = 0; r < t->rows; r++)
    if (dealt[r] != SIZE_MAX)
      dealt[r] = fold[dealt[r]] % (folds ? folds : 1);
  for (size_t r = 0; r < t->rows; r++)
    fold[r] = dealt[t->group[r]];
  return folds;
}

/* Predicts row R from its features and its time on the source platform only.
 * Returns 0, also without such a time; -1 on error and fills ERR. */
static int predict_row(const struct ft_relative_table *t, const ft_relative_model *m, size_t r,
                       struct ft_relative_trial *trial, struct ft_error *err)
{
  double seconds[FT_RELATIVE_PLATFORMS];
  struct ft_relative_prediction answer;
  size_t at = 1;

  for (size_t p = 0; p < t->platforms; p++)
    seconds[p] = NAN;
  seconds[0] = t->seconds[r * t->platforms + trial->from];
  if (isnan(seconds[0]))
    return 0;
  if (ft_relative_predict(m, t->x + r * t->features, seconds, &answer, err) < 0)
    return -1;
  for (size_t p = 0; p < t->platforms; p++) {
    size_t i = p == trial->from ? 0 : at++, cell = r * t->platforms + p;

    trial->speed[cell] = answer.speed[i];
    trial->low[cell] = answer.low[i];
    trial->high[cell] = answer.high[i];
    trial->measured[cell] = seconds[0] / t->seconds[cell];
  }
  return 0;
}

int ft_relative_try(const struct ft_relative_table *t, const struct ft_relative_settings *settings,
                    size_t folds, struct ft_progress *progress, struct ft_relative_trial *trial,
                    struct ft_error *err)
{
  size_t cells = t->rows * t->platforms, *fold = calloc(t->rows + 1, sizeof *fold);
  size_t *dealt = calloc(t->rows + 1, sizeof *dealt);
  bool *keep = calloc(t->rows + 1, sizeof *keep);
  double **all[] = { &trial->speed, &trial->low, &trial->high, &trial->measured };
  int status = -1;

  *trial = (struct ft_relative_trial){ .rows = t->rows,
                                       .platforms = t->platforms,
                                       .from = settings->from };
  for (size_t i = 0; i < 4; i++) {
    *all[i] = malloc(cells * sizeof **all[i] + 1);
    for (size_t c = 0; *all[i] && c < cells; c++)
      (*all[i])[c] = NAN;
  }
  if (!fold || !dealt || !keep || !trial->speed || !trial->low || !trial->high ||
      !trial->measured) {
    ft_error_set(err, "out of memory");
    goto out;
  }
  folds = assign_folds(t, folds, settings->seed, fold, dealt);
  if (folds < 2) {
    ft_error_set(err, "one group of rows; cross-validation needs at least two");
    goto out;
  }
  progress->total = (double)folds;
  for (size_t f = 0; f < folds; f++) {
    ft_relative_model *m;
    bool fine;

    ft_progress_step(progress, (double)f);
    for (size_t r = 0; r < t->rows; r++)
      keep[r] = fold[r] != f;
    m = ft_relative_train(t, keep, settings, err);
    fine = m != NULL;
    for (size_t r = 0; fine && r < t->rows; r++)
      fine = keep[r] || predict_row(t, m, r, trial, err) == 0;
    ft_relative_close(m);
    if (!fine)
      goto out;
  }
  status = 0;
out:
  free(fold);
  free(dealt);
  free(keep);
  return status;
}

void ft_relative_trial_free(struct ft_relative_trial *trial)
{
  free(trial->speed);
  free(trial->low);
  free(trial->high);
  free(trial->measured);
  *trial = (struct ft_relative_trial){ 0 };
}

/* Computes R2 of the log speed-ups on platform P and the median relative error of its times.
 * ROOM is work space for one value per row. */
static void score_platform(const struct ft_relative_trial *t, size_t p, double *room,
                           struct ft_relative_score *score)
{
  double sum = 0, squares = 0, missed = 0;
  size_t count = 0;

  for (size_t r = 0; r < t->rows; r++) {
    double truth = log(t->measured[r * t->platforms + p]),
           said = log(t->speed[r * t->platforms + p]);

    if (isnan(truth) || isnan(said))
      continue;
    room[count++] = fabs(exp(truth - said) - 1);
    sum += truth;
    squares += truth * truth;
    missed += (truth - said) * (truth - said);
  }
  squares -= count ? sum * sum / (double)count : 0;
  score->platform_r2[p] = count > 1 && squares > 1e-12 ? 1 - missed / squares : NAN;
  score->platform_error[p] = count ? ft_sort_median(room, count) : NAN;
}

struct tally {
  double pairs, right, vectors, whole, slower, rows, cells, inside;
};

/* Adds row R to the tally: order of its platforms, coverage, slowdown of the predicted fastest. */
static void score_row(const struct ft_relative_trial *t, size_t r, struct tally *y)
{
  const double *said = t->speed + r * t->platforms, *truth = t->measured + r * t->platforms;
  size_t chosen = SIZE_MAX, best = SIZE_MAX, pairs = 0, right = 0;

  for (size_t p = 0; p < t->platforms; p++) {
    if (isnan(said[p]) || isnan(truth[p]))
      continue;
    if (chosen == SIZE_MAX || said[p] > said[chosen])
      chosen = p;
    if (best == SIZE_MAX || truth[p] > truth[best])
      best = p;
    if (p != t->from) {
      y->cells++;
      y->inside +=
          truth[p] >= t->low[r * t->platforms + p] && truth[p] <= t->high[r * t->platforms + p];
    }
    for (size_t q = 0; q < p; q++)
      if (!isnan(said[q]) && !isnan(truth[q])) {
        pairs++;
        right += (said[p] > said[q]) == (truth[p] > truth[q]);
      }
  }
  if (!pairs)
    return;
  y->pairs += (double)pairs;
  y->right += (double)right;
  y->vectors++;
  y->whole += pairs == right;
  y->rows++;
  y->slower += log(truth[best] / truth[chosen]);
}

int ft_relative_score(const struct ft_relative_trial *t, struct ft_relative_score *score,
                      struct ft_error *err)
{
  double *room = malloc(t->rows * t->platforms * sizeof *room + 1);
  double sum = 0, squares = 0, missed = 0;
  struct tally y = { 0 };
  size_t count = 0;

  if (!room)
    return ft_error_set(err, "out of memory");
  *score = (struct ft_relative_score){ 0 };
  for (size_t p = 0; p < t->platforms; p++) {
    score->platform_r2[p] = score->platform_error[p] = NAN;
    if (p == t->from)
      continue;
    score_platform(t, p, room, score);
  }
  for (size_t r = 0; r < t->rows; r++)
    score_row(t, r, &y);
  for (size_t c = 0; c < t->rows * t->platforms; c++)
    if (c % t->platforms != t->from && !isnan(t->measured[c]) && !isnan(t->speed[c])) {
      double truth = log(t->measured[c]);

      room[count++] = fabs(t->measured[c] / t->speed[c] - 1);
      sum += truth;
      squares += truth * truth;
      missed += (truth - log(t->speed[c])) * (truth - log(t->speed[c]));
    }
  squares -= count ? sum * sum / (double)count : 0;
  score->r2 = count > 1 && squares > 1e-12 ? 1 - missed / squares : NAN;
  score->order = y.pairs > 0 ? y.right / y.pairs : NAN;
  score->vectors = y.vectors > 0 ? y.whole / y.vectors : NAN;
  score->chosen = y.rows > 0 ? exp(y.slower / y.rows) : NAN;
  score->coverage = y.cells > 0 ? y.inside / y.cells : NAN;
  score->error = count ? ft_sort_median(room, count) : NAN;
  free(room);
  return 0;
}
