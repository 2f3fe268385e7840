/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>
#include <string.h>

#include "predictor/core/hash.h"
#include "predictor/decide/tasks.h"
#include "predictor/estimate/memory.h"
#include "predictor/estimate/point_prediction.h"
#include "predictor/request/array.h"

enum {
  TASKS = sizeof((ft_task_predictions *)NULL)->index / sizeof(uint32_t),
  ROWS = sizeof((ft_task_predictions *)NULL)->p50_bytes / sizeof(float),
  LOOKED_AT = sizeof((ft_task_values *)NULL)->index / sizeof(uint32_t),
  LISTS = sizeof((ft_submission *)NULL)->task_values / sizeof(ft_task_values),
  COLUMNS = sizeof((ft_model *)NULL)->columns / sizeof(ft_column),
  /* Steps of a row's values in a doubling: 1.1 %, 2.2 % and 4.4 %, so they are off by half of that
   * at most. Below the scatter of equal runs. */
  FINE = 64,
  COARSENINGS = 3
};

/* The 5, 50 and 95 % quantiles, in bytes. */
struct row {
  float bytes[3];
};

/* The prediction of each task before equal ones become one. */
struct noted {
  size_t count;
  uint32_t index[TASKS];
  struct row row[TASKS];
  uint64_t hash[TASKS]; /* of the features that the row was made of */
};

static struct row row_of(const struct ft_estimate *e)
{
  return (struct row){ { (float)ft_estimate_quantile(e, 0.05), (float)ft_estimate_quantile(e, 0.5),
                         (float)ft_estimate_quantile(e, 0.95) } };
}

static void coarsen(struct row *row, unsigned steps)
{
  for (int i = 0; steps && i < 3; i++)
    if (row->bytes[i] > 0)
      row->bytes[i] = exp2f(roundf(log2f(row->bytes[i]) * (float)steps) / (float)steps);
}

/* Adds a task. Returns false when there is no room for one more row. */
static bool add(ft_task_predictions *out, uint32_t index, const struct row *row)
{
  pb_size_t at = out->p50_bytes_count;

  /* the last rows are the likeliest */
  while (at && (out->p05_bytes[at - 1] != row->bytes[0] ||
                out->p50_bytes[at - 1] != row->bytes[1] || out->p95_bytes[at - 1] != row->bytes[2]))
    at--;
  if (!at) {
    if (out->p50_bytes_count == ROWS)
      return false;
    out->p05_bytes[out->p05_bytes_count++] = row->bytes[0];
    out->p50_bytes[out->p50_bytes_count++] = row->bytes[1];
    out->p95_bytes[out->p95_bytes_count++] = row->bytes[2];
    at = out->p50_bytes_count;
  }
  out->index[out->index_count++] = index;
  out->row[out->row_count++] = (uint16_t)(at - 1);
  return true;
}

static void clear(ft_task_predictions *out)
{
  out->index_count = out->row_count = 0;
  out->p05_bytes_count = out->p50_bytes_count = out->p95_bytes_count = 0;
}

/* As exact as there are rows for; with the coarsest steps some tasks may find none. */
static void fill(const struct noted *noted, ft_task_predictions *out)
{
  for (unsigned level = 0; level <= COARSENINGS; level++) {
    bool fits = true;

    clear(out);
    for (size_t i = 0; i < noted->count && (fits || level == COARSENINGS); i++) {
      struct row row = noted->row[i];

      coarsen(&row, level ? FINE >> (level - 1) : 0);
      fits &= add(out, noted->index[i], &row);
    }
    if (fits)
      return;
  }
}

/* Whether the files that the task INDEX names were looked at, where that is not so of all. */
static bool is_looked_at(const ft_submission *s, uint32_t tasks, uint32_t index)
{
  if (tasks <= LOOKED_AT / LISTS)
    return true;
  for (size_t k = 0; k < s->task_values_count; k++) {
    const ft_task_values *e = &s->task_values[k];
    size_t low = 0, high = e->index_count;

    while (low < high) {
      size_t middle = (low + high) / 2;

      if (e->index[middle] < index)
        low = middle + 1;
      else
        high = middle;
    }
    if (low == e->index_count || e->index[low] != index)
      return false;
  }
  return true;
}

/* The row of a task that was estimated already: for the decision, or for one with the same
 * features, whose HASH is the same. */
static bool find_row(const struct noted *noted, const struct ft_array_estimates *done,
                     uint32_t index, uint64_t hash, struct row *out)
{
  for (size_t i = noted->count; i > 0; i--)
    if (noted->hash[i - 1] == hash) {
      *out = noted->row[i - 1];
      return true;
    }
  for (size_t i = 0; i < done->count; i++)
    if (done->index[i] == index) {
      *out = row_of(&done->each[i]);
      return true;
    }
  return false;
}

/* Evaluates MODEL for the task INDEX. */
static bool evaluate(const ft_model *model, const ft_submission *s, uint32_t index,
                     const struct ft_array_estimates *done, struct noted *noted)
{
  ft_feature features[FT_TASK_FEATURES];
  size_t count = ft_task_features(model, s, &index, features);
  struct row *row = &noted->row[noted->count];
  struct ft_estimate estimate;
  float x[COLUMNS];
  uint64_t hash;

  ft_columns_fill(model->columns, model->columns_count, features, count, x);
  hash = ft_hash64(FT_HASH_SEED, x, model->columns_count * sizeof *x);
  if (!find_row(noted, done, index, hash, row)) {
    if (ft_estimate_memory(model, features, count, &estimate, NULL) < 0)
      return false;
    *row = row_of(&estimate);
  }
  noted->hash[noted->count] = hash;
  noted->index[noted->count++] = index;
  return true;
}

/* The tasks to be predicted: those whose files were looked at where that is not so of all. */
static size_t choose(const ft_submission *s, const char *array, uint32_t index[TASKS])
{
  const ft_task_values *list = &s->task_values[0];

  if (!s->task_values_count || ft_array_count(array) <= TASKS)
    return ft_array_spread(array, index, TASKS);
  memcpy(index, list->index, list->index_count * sizeof *index);
  return list->index_count;
}

void ft_task_predictions_fill(const struct ft_submission_decision *decision,
                              const struct ft_submission_knowledge *known, const ft_submission *s,
                              const char *array, ft_task_predictions *out)
{
  const struct ft_array_estimates *done = decision->question.elements;
  uint32_t index[TASKS], tasks = ft_array_count(array);
  struct noted noted;
  size_t count;

  _Static_assert(LOOKED_AT <= TASKS && ROWS <= UINT16_MAX, "what tasks differ in is carried");
  clear(out);
  if (!decision->sizing.has_estimate || !done || done->count < 2)
    return;
  noted.count = 0;
  /* the model of an app that borrows is another one's by now */
  if (known->evidence.similar || known->evidence.site_prior_apps) {
    for (; noted.count < done->count; noted.count++) {
      noted.index[noted.count] = done->index[noted.count];
      noted.row[noted.count] = row_of(&done->each[noted.count]);
    }
  } else {
    count = choose(s, array, index);
    for (size_t i = 0; i < count; i++)
      if (is_looked_at(s, tasks, index[i]) &&
          !evaluate(&known->evidence.model, s, index[i], done, &noted))
        break;
  }
  fill(&noted, out);
}

bool ft_task_predictions_shrink(ft_task_predictions *out, unsigned attempt)
{
  const bool thins = attempt > COARSENINGS;
  ft_task_predictions from = *out;

  if (thins && out->index_count < 2)
    return false;
  clear(out);
  for (size_t i = 0; i < from.index_count; i += thins ? 2 : 1) {
    size_t at = from.row_count ? from.row[i] : i;
    struct row row = { { from.p05_bytes[at], from.p50_bytes[at], from.p95_bytes[at] } };

    coarsen(&row, thins ? 0 : FINE >> (attempt - 1));
    (void)add(out, from.index[i], &row);
  }
  return true;
}
