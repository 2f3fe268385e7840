/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Models of run times on several platforms, as foretell.h declares them. */
#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "predictor/core/text.h"
#include "predictor/estimate/relative.h"

_Static_assert((int)FT_RELATIVE_PLATFORMS == FT_MULTIVARIATE_NORMAL_OUTPUTS + 1,
               "a platform is an output, or the source");
_Static_assert((int)FT_RELATIVE_FEATURES == FT_FEATURE_ENCODER_COLUMNS - 1,
               "a feature is a column; the source's time is another");

unsigned ft_relative_learners(const char *list)
{
  unsigned bits = 0;

  for (int l = 0; l < FT_LEARNERS; l++)
    if (!list || ft_text_lists(ft_text_from(list), ft_learner_names[l]))
      bits |= 1u << l;
  return bits;
}

ft_relative_model *ft_relative_train(const struct ft_relative_table *table, const bool *keep,
                                     const struct ft_relative_settings *settings,
                                     struct ft_error *err)
{
  ft_relative_model *model = calloc(1, sizeof *model);

  if (!model)
    ft_error_errno(err, "ft_relative_train");
  else if (ft_relative_learn(table, keep, settings, model, err) == 0)
    return model;
  ft_relative_close(model);
  return NULL;
}

ft_relative_model *ft_relative_open(const char *path, struct ft_error *err)
{
  ft_relative_model *model = calloc(1, sizeof *model);

  if (!model)
    ft_error_errno(err, "%s", path);
  else if (ft_relative_load(path, model, err) == 0)
    return model;
  ft_relative_close(model);
  return NULL;
}

void ft_relative_close(ft_relative_model *model)
{
  if (model)
    ft_relative_model_free(model);
  free(model);
}

void ft_relative_describe(const ft_relative_model *model, struct ft_relative_facts *facts)
{
  const struct ft_speedup_model *ratios = &model->ratios;

  *facts = (struct ft_relative_facts){ .rows = ratios->rows,
                                       .features = model->features,
                                       .platforms = model->platforms,
                                       .feature = (const ft_relative_name *)model->feature,
                                       .platform = (const ft_relative_name *)model->platform,
                                       .held_out_error = NAN };
  /* unknown with one group of rows, or without validation */
  for (size_t o = 0; o < ratios->outputs; o++)
    if (ratios->count[o])
      facts->held_out_error = ratios->mixture_error;
}

bool ft_relative_part(const ft_relative_model *model, size_t i, struct ft_relative_part *part)
{
  if (i >= FT_LEARNERS)
    return false;
  *part = (struct ft_relative_part){ ft_learner_names[i], model->ratios.weight[i],
                                     model->ratios.error[i] };
  return true;
}
