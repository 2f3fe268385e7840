/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <string.h>

#include "predictor/estimate/elements.h"
#include "predictor/estimate/memory.h"

int ft_estimate_elements(const ft_model *model, const ft_submission *s,
                         struct ft_element_estimates *out, struct ft_error *err)
{
  enum { LIMIT = sizeof s->features / sizeof *s->features };
  const ft_elements *elements = s->has_elements ? &s->elements : NULL;
  ft_feature features[LIMIT];

  if (!out->count)
    return ft_error_set(err, "%s: a job array without elements", s->app);
  if (!ft_features_vary(s->features, s->features_count, elements))
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
