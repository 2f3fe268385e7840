/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Features and predictions of one task of a job array. */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "predictor/core/text.h"
#include "predictor/core/units.h"
#include "predictor/record/index_arithmetic.h"
#include "predictor/record/record.h"

bool ft_feature_parse(const char *value, double *number)
{
  struct ft_text text = ft_text_from(value);
  uint64_t bytes;

  if (ft_text_is_double(text, number))
    return true;
  if (!ft_units_parse_bytes(text, 1, &bytes))
    return false;
  *number = (double)bytes;
  return true;
}

/* Parses "%a" or "%(EXPRESSION)" at *TEMPLATE, moves it after that and computes the number for
 * INDEX. */
static bool read_index(const char **template, uint32_t index, int64_t *number)
{
  const char *end;

  if (strncmp(*template, "%a", 2) == 0) {
    *template += 2;
    *number = index;
    return true;
  }
  if (strncmp(*template, "%(", 2) != 0)
    return false;
  end = *template + 1 + strspn(*template + 1, "0123456789axdm+-()");
  if (!ft_index_compute(ft_text_of(*template + 1, (size_t)(end - *template - 1)), index, number))
    return false;
  *template = end;
  return true;
}

/* Copies TEMPLATE to OUT with the number for INDEX in place of each "%a" and "%(EXPRESSION)" (see
 * index_arithmetic.h). Returns false if SIZE is too small. */
static bool insert_index(const char *template, uint32_t index, char *out, size_t size)
{
  size_t used = 0;

  while (*template) {
    int64_t number;
    int length;

    if (used >= size)
      return false;
    if (read_index(&template, index, &number)) {
      length = snprintf(out + used, size - used, "%" PRId64, number);
    } else {
      length = snprintf(out + used, size - used, "%c", *template ++);
    }
    used += (size_t)length;
  }
  return used < size;
}

/* Resolves F, a template, for the task INDEX. Returns false if the result is empty or too long. */
static bool resolve_feature(ft_feature *f, uint32_t index)
{
  char text[sizeof f->category];

  f->per_task = false;
  if (!insert_index(f->category, index, text, sizeof text) || !text[0])
    return false;
  f->has_number = ft_feature_parse(text, &f->number);
  if (f->has_number)
    f->category[0] = '\0';
  else
    (void)ft_string_copy(text, f->category, sizeof f->category);
  return true;
}

void ft_features_of_task(ft_feature *features, pb_size_t *count, size_t limit,
                         const ft_job_array *array, const uint32_t *index)
{
  pb_size_t kept = 0;

  for (pb_size_t i = 0; i < *count; i++) {
    ft_feature feature = features[i];

    if (!feature.per_task || (index && resolve_feature(&feature, *index)))
      features[kept++] = feature;
  }
  *count = kept;
  for (size_t k = 0; index && array && k < array->values_count; k++) {
    const ft_task_values *values = &array->values[k];

    for (size_t i = 0; i < values->index_count; i++)
      if (values->index[i] == *index)
        (void)ft_feature_number(features, count, limit, values->feature, (double)values->value[i]);
  }
}

void ft_prediction_of_task(const ft_task_predictions *tasks, uint32_t index, ft_decision *d)
{
  pb_size_t i = 0;
  size_t row;

  if (!tasks->index_count)
    return;
  while (i < tasks->index_count && tasks->index[i] != index)
    i++;
  d->has_p05_bytes = d->has_p50_bytes = d->has_p95_bytes = i < tasks->index_count;
  if (i == tasks->index_count)
    return;
  row = tasks->row_count ? tasks->row[i] : i;
  d->p05_bytes = (double)tasks->p05_bytes[row];
  d->p50_bytes = (double)tasks->p50_bytes[row];
  d->p95_bytes = (double)tasks->p95_bytes[row];
}
