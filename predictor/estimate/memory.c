/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include "predictor/estimate/memory.h"

int ft_estimate_memory(const ft_model *model, const ft_feature *features, size_t count,
                       struct ft_estimate *out, struct ft_error *err)
{
  (void)features;
  (void)count;
  (void)out;
  return ft_error_set(err, "%s: no completed run yet", model->app);
}
