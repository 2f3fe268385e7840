/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <string.h>

#include "predictor/estimate/allocation.h"
#include "predictor/estimate/array_estimates.h"
#include "predictor/estimate/memory.h"
#include "predictor/estimate/point_prediction.h"
#include "predictor/estimate/variant.h"

/* Probability of the quantile that selects the largest task: the upper end of the 90 % interval. */
#define LARGE 0.95

static bool model_has_column(const ft_model *model, const char *feature)
{
  for (size_t i = 0; i < model->columns_count; i++)
    if (strcmp(model->columns[i].name, feature) == 0)
      return true;
  return false;
}

bool ft_model_distinguishes_tasks(const ft_model *model, const ft_submission *s,
                                  const ft_job_array *array)
{
  for (size_t i = 0; array && i < array->values_count; i++)
    if (array->values[i].index_count && model_has_column(model, array->values[i].feature))
      return true;
  for (size_t i = 0; i < s->features_count; i++)
    if (s->features[i].per_task && model_has_column(model, s->features[i].name))
      return true;
  return false;
}

size_t ft_task_features(const ft_model *model, const ft_submission *s, const ft_job_array *array,
                        const uint32_t *index, ft_feature features[FT_TASK_FEATURES])
{
  enum { LIMIT = sizeof s->features / sizeof *s->features };
  pb_size_t count = s->features_count;

  memcpy(features, s->features, count * sizeof *features);
  if (index)
    ft_features_of_task(features, &count, LIMIT, array, index);
  return count + ft_text_features(model, s, &features[count]);
}

void ft_task_facts(const ft_model *model, const ft_feature *features, size_t count,
                   struct ft_facts *out)
{
  float x[sizeof model->columns / sizeof *model->columns];

  ft_columns_fill(model->columns, model->columns_count, features, count, x);
  ft_facts_collect(model, x, model->columns_count, out);
}

/* Returns the index in ALL of the task with the largest quantile at LARGE. */
static size_t find_largest_task(const struct ft_array_estimates *all)
{
  size_t largest = 0;

  for (size_t i = 1; i < all->count; i++)
    if (ft_estimate_quantile(&all->each[i], LARGE) >
        ft_estimate_quantile(&all->each[largest], LARGE))
      largest = i;
  return largest;
}

int ft_estimate_array(const ft_model *model, const ft_submission *s,
                      const struct ft_task_list *tasks, double failure_price,
                      struct ft_array_estimates *out, struct ft_facts *facts, struct ft_error *err)
{
  ft_feature features[FT_TASK_FEATURES];
  struct ft_estimate *largest;
  struct ft_facts of_task;
  size_t count;

  if (!tasks->count)
    return ft_error_set(err, "%s: job array without tasks", s->app);
  out->count = ft_model_distinguishes_tasks(model, s, tasks->array) ? tasks->count : 1;
  memcpy(out->index, tasks->index, out->count * sizeof *out->index);
  for (size_t i = 0; i < out->count; i++) {
    count = ft_task_features(model, s, tasks->array, &out->index[i], features);
    ft_task_facts(model, features, count, i ? &of_task : facts);
    if (i)
      ft_facts_combine(facts, &of_task);
  }
  for (size_t i = 0; i < out->count; i++) {
    count = ft_task_features(model, s, tasks->array, &out->index[i], features);
    if (ft_estimate_memory(model, features, count, &out->each[i], err) < 0)
      return -1;
    ft_estimate_weigh_change(model, s, &out->each[i]);
  }
  largest = &out->each[find_largest_task(out)];
  count = ft_task_features(model, s, tasks->array, &out->index[largest - out->each], features);
  return ft_allocate_memory(model, features, count, 0, failure_price, largest,
                            &largest->allocation_bytes, err);
}
