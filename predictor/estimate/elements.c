/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <string.h>

#include "predictor/estimate/elements.h"
#include "predictor/estimate/memory.h"

static bool knows(const ft_model *model, const char *feature)
{
  for (size_t i = 0; i < model->columns_count; i++)
    if (strcmp(model->columns[i].name, feature) == 0)
      return true;
  return false;
}

/* Whether the model has a column for anything that elements differ in. */
static bool tells_apart(const ft_model *model, const ft_submission *s)
{
  if (s->has_elements && s->elements.index_count && knows(model, s->elements.feature))
    return true;
  for (size_t i = 0; i < s->features_count; i++)
    if (s->features[i].per_element && knows(model, s->features[i].name))
      return true;
  return false;
}

int ft_estimate_elements(const ft_model *model, const ft_submission *s,
                         struct ft_element_estimates *out, struct ft_error *err)
{
  enum { LIMIT = sizeof s->features / sizeof *s->features };
  const ft_elements *elements = s->has_elements ? &s->elements : NULL;
  ft_feature features[LIMIT];

  if (!out->count)
    return ft_error_set(err, "%s: a job array without elements", s->app);
  if (!tells_apart(model, s))
    out->count = 1;
  for (size_t i = 0; i < out->count; i++) {
    pb_size_t count = s->features_count;

    memcpy(features, s->features, count * sizeof *features);
    ft_features_of_element(features, &count, LIMIT, elements, &out->index[i]);
    if (ft_estimate_memory(model, features, count, &out->each[i], err) < 0)
      return -1;
  }
  return 0;
}
