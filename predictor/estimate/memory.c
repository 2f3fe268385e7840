/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>

#include "predictor/core/text.h"
#include "predictor/estimate/memory.h"
#include "predictor/estimate/point_prediction.h"

unsigned ft_memory_cohorts(const ft_model *model)
{
  struct ft_calibration calibration = ft_evaluator_calibration(&model->evaluator);

  return ft_calibration_cohorts(&calibration, model->completed);
}

/* As ft_estimate_memory; with UNWIDENED as ft_estimate_memory_unwidened. */
static int estimate_distribution(const ft_model *model, const ft_feature *features, size_t count,
                                 bool unwidened, struct ft_estimate *out, struct ft_error *err)
{
  const struct ft_quantity *quantity =
      &ft_quantities[model->quantity < FT_QUANTITIES ? model->quantity : FT_QUANTITY_MEMORY];
  const ft_evaluator *e = &model->evaluator;
  float x[FT_POINT_COLUMNS];
  struct ft_point_prediction centre;
  double tasks;

  *out = (struct ft_estimate){ .runs = model->completed, .stopped = e->stopped };
  if (!model->has_evaluator || !e->residuals_count)
    return ft_error_set(err, "%s: no completed run yet", model->app);
  tasks = ft_predict_submission(model, features, count, x, &centre);
  out->shared = ft_evaluator_interval(e, quantity, model->completed + e->stopped, &centre,
                                      unwidened, out->quantile);
  for (int i = 0; i < FT_ESTIMATE_LEVELS; i++) {
    /* 2^-60 to 2^60 bytes: products and squares of quantiles stay finite */
    out->quantile[i] = exp(fmin(fmax(centre.log + out->quantile[i], -60 * M_LN2), 60 * M_LN2));
    if (i && !(out->quantile[i] >= out->quantile[i - 1]))
      return ft_error_set(err, "%s: invalid model: quantiles decrease", model->app);
  }
  (void)ft_string_copy(e->method, out->method, sizeof out->method);
  out->extrapolated = centre.extrapolated;
  out->max_value = tasks * e->max_value;
  if (e->has_bound_log)
    out->bound_value = exp(fmin(centre.log + e->bound_log, 50 * M_LN2));
  return 0;
}

int ft_estimate_memory(const ft_model *model, const ft_feature *features, size_t count,
                       struct ft_estimate *out, struct ft_error *err)
{
  return estimate_distribution(model, features, count, false, out, err);
}

int ft_estimate_memory_unwidened(const ft_model *model, const ft_feature *features, size_t count,
                                 struct ft_estimate *out, struct ft_error *err)
{
  return estimate_distribution(model, features, count, true, out, err);
}
