/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Predictions for the tasks of a job array, in the form of the submission record. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "predictor/core/hash.h"
#include "predictor/decide/tasks.h"
#include "predictor/estimate/memory.h"
#include "predictor/estimate/point_prediction.h"
#include "predictor/request/array.h"

enum {
  /* capacities of the records */
  TASKS = sizeof((ft_task_predictions *)NULL)->index / sizeof(uint32_t),
  ROWS = sizeof((ft_task_predictions *)NULL)->p50_bytes / sizeof(float),
  EXAMINED_TASKS = sizeof((ft_task_values *)NULL)->index / sizeof(uint32_t),
  LISTS = sizeof((ft_job_array *)NULL)->values / sizeof(ft_task_values),
  COLUMNS = sizeof((ft_model *)NULL)->columns / sizeof(ft_column),
  /* Values are rounded to this number of steps per factor of 2 at the first coarsening level: steps
   * of 1.1 %, then 2.2 % and 4.4 %. The rounding error, half a step, is below the variation between
   * equal runs. */
  FINEST_STEPS = 64,
  COARSENINGS = 3 /* number of coarsening levels, each with half the steps of the one before */
};

/* The 5, 50 and 95 % quantiles, in bytes. */
struct row {
  float bytes[3];
};

/* The predictions of all tasks, before equal ones are merged. */
struct exact {
  size_t count;
  uint32_t index[TASKS];
  struct row row[TASKS];
  uint64_t hash[TASKS]; /* of the feature values from which the row was computed */
};

static struct row row_of_estimate(const struct ft_estimate *e)
{
  return (struct row){ { (float)ft_estimate_quantile(e, 0.05), (float)ft_estimate_quantile(e, 0.5),
                         (float)ft_estimate_quantile(e, 0.95) } };
}

/* Rounds the values of ROW to STEPS per factor of 2; 0: no rounding. */
static void coarsen_row(struct row *row, unsigned steps)
{
  for (int i = 0; steps && i < 3; i++)
    if (row->bytes[i] > 0)
      row->bytes[i] = exp2f(roundf(log2f(row->bytes[i]) * (float)steps) / (float)steps);
}

/* Adds the task INDEX with ROW to OUT. Returns false if it needs a new row and OUT has no room. */
static bool add_task(ft_task_predictions *out, uint32_t index, const struct row *row)
{
  pb_size_t at = out->p50_bytes_count;

  /* from the end: neighbouring tasks are most often equal */
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

static void clear_predictions(ft_task_predictions *out)
{
  out->index_count = out->row_count = 0;
  out->p05_bytes_count = out->p50_bytes_count = out->p95_bytes_count = 0;
}

/* Fills OUT with EXACT at the finest rounding for which OUT has enough rows; at the coarsest, tasks
 * without a row are omitted. */
static void merge_equal_rows(const struct exact *exact, ft_task_predictions *out)
{
  for (unsigned level = 0; level <= COARSENINGS; level++) {
    bool fits = true;

    clear_predictions(out);
    for (size_t i = 0; i < exact->count && (fits || level == COARSENINGS); i++) {
      struct row row = exact->row[i];

      coarsen_row(&row, level ? FINEST_STEPS >> (level - 1) : 0);
      fits &= add_task(out, exact->index[i], &row);
    }
    if (fits)
      return;
  }
}

/* Returns whether the files of the task INDEX of an array of TASKS tasks were examined. In arrays
 * of up to EXAMINED_TASKS / LISTS tasks, all were. */
static bool are_files_examined(const ft_job_array *array, uint32_t tasks, uint32_t index)
{
  if (tasks <= EXAMINED_TASKS / LISTS)
    return true;
  for (size_t k = 0; k < array->values_count; k++) {
    const ft_task_values *e = &array->values[k];
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

/* Sets OUT to the row of a task with the same features (HASH), or to the estimate of the task INDEX
 * in DONE, the decision's estimates. Returns false if there is neither. */
static bool find_existing_row(const struct exact *exact, const struct ft_array_estimates *done,
                              uint32_t index, uint64_t hash, struct row *out)
{
  for (size_t i = exact->count; i > 0; i--)
    if (exact->hash[i - 1] == hash) {
      *out = exact->row[i - 1];
      return true;
    }
  for (size_t i = 0; i < done->count; i++)
    if (done->index[i] == index) {
      *out = row_of_estimate(&done->each[i]);
      return true;
    }
  return false;
}

/* Adds the prediction of the task INDEX to EXACT. Returns false if MODEL cannot be evaluated. */
static bool evaluate_task(const ft_model *model, const ft_submission *s, const ft_job_array *array,
                          uint32_t index, const struct ft_array_estimates *done,
                          struct exact *exact)
{
  ft_feature features[FT_TASK_FEATURES];
  size_t count = ft_task_features(model, s, array, &index, features);
  struct row *row = &exact->row[exact->count];
  struct ft_estimate estimate;
  float x[COLUMNS];
  uint64_t hash;

  ft_columns_fill(model->columns, model->columns_count, features, count, x);
  hash = ft_hash64(FT_HASH_SEED, x, model->columns_count * sizeof *x);
  if (!find_existing_row(exact, done, index, hash, row)) {
    if (ft_estimate_memory(model, features, count, &estimate, NULL) < 0)
      return false;
    *row = row_of_estimate(&estimate);
  }
  exact->hash[exact->count] = hash;
  exact->index[exact->count++] = index;
  return true;
}

/* Fills INDEX with the tasks to predict: of a long array with files, those whose files were
 * examined. Returns their number. */
static size_t choose_tasks(const ft_job_array *array, const char *all, uint32_t index[TASKS])
{
  const ft_task_values *list = &array->values[0];

  if (!array->values_count || ft_array_count(all) <= TASKS)
    return ft_array_spread(all, index, TASKS);
  memcpy(index, list->index, list->index_count * sizeof *index);
  return list->index_count;
}

void ft_task_predictions_fill(const struct ft_submission_decision *decision, const ft_submission *s,
                              const char *array, ft_job_array *out)
{
  const struct ft_array_estimates *done = decision->input.tasks;
  uint32_t index[TASKS], tasks = ft_array_count(array);
  struct exact exact;
  size_t count;

  _Static_assert(EXAMINED_TASKS <= TASKS && ROWS <= UINT16_MAX,
                 "the record has room for every examined task");
  clear_predictions(&out->predictions);
  if (!decision->sizing.has_estimate || !done || done->count < 2)
    return;
  exact.count = 0;
  count = choose_tasks(out, array, index);
  for (size_t i = 0; i < count; i++)
    if (are_files_examined(out, tasks, index[i]) &&
        !evaluate_task(decision->input.model, s, out, index[i], done, &exact))
      break;
  merge_equal_rows(&exact, &out->predictions);
}

bool ft_task_predictions_shrink(ft_task_predictions *out, unsigned attempt)
{
  const bool thins = attempt > COARSENINGS;
  ft_task_predictions from = *out;

  if (thins && out->index_count < 2)
    return false;
  clear_predictions(out);
  for (size_t i = 0; i < from.index_count; i += thins ? 2 : 1) {
    size_t at = from.row_count ? from.row[i] : i;
    struct row row = { { from.p05_bytes[at], from.p50_bytes[at], from.p95_bytes[at] } };

    coarsen_row(&row, thins ? 0 : FINEST_STEPS >> (attempt - 1));
    (void)add_task(out, from.index[i], &row);
  }
  return true;
}
