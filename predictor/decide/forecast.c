/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Predictions and the decision as foretell.h shows them. */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/core/text.h"
#include "predictor/decide/forecast.h"
#include "predictor/record/state_files.h"

void ft_forecast_set(struct ft_forecast *forecast, size_t quantity,
                     const struct ft_estimate *estimate)
{
  struct ft_prediction *p = &forecast->prediction[quantity];

  p->quantity = estimate ? &ft_quantities[quantity] : NULL;
  if (estimate)
    p->estimate = *estimate;
}

void ft_forecast_set_of_history(struct ft_forecast *forecast, int state_fd, uint32_t uid,
                                const ft_submission *submission, const ft_policy *policy,
                                struct ft_candidate *work)
{
  const struct ft_task_list none = { .count = 0 };

  for (size_t i = 0; i < FT_QUANTITIES; i++)
    if (ft_quantities[i].of_history && !forecast->prediction[i].quantity &&
        ft_state_read_model(state_fd, uid, submission->app, (uint32_t)i, &work->model, NULL,
                            NULL) == 0 &&
        ft_candidate_evaluate(work, submission, &none, policy) &&
        work->alone.runs >= policy->min_runs)
      ft_forecast_set(forecast, i, &work->alone);
}

void ft_forecast_set_energy(struct ft_forecast *forecast, const struct ft_power *power)
{
  const struct ft_prediction *time = &forecast->prediction[FT_QUANTITY_RUNTIME];
  bool known = time->quantity && power->watts > 0;
  struct ft_estimate energy;

  if (known)
    ft_energy_estimate(&time->estimate, power, &energy);
  ft_forecast_set(forecast, FT_QUANTITY_ENERGY, known ? &energy : NULL);
}

void ft_forecast_set_decision(struct ft_forecast *forecast, const ft_decision *decision)
{
  (void)ft_string_copy(decision->reason, forecast->reason, sizeof forecast->reason);
  forecast->decided = (struct ft_decided){ .action = ft_action_name(decision->action),
                                           .mem_bytes = decision->mem_bytes,
                                           .p_oom = decision->has_p_oom ? decision->p_oom : NAN,
                                           .reason = forecast->reason,
                                           .rule = ft_decision_rule_name(decision->rule) };
}

/* ---- foretell.h ---- */

void ft_forecast_free(ft_forecast *forecast)
{
  free(forecast);
}

const char *ft_forecast_app(const ft_forecast *forecast)
{
  return forecast->app;
}

const char *ft_quantity_name(size_t i)
{
  return i < FT_QUANTITIES ? ft_quantities[i].name : NULL;
}

const ft_prediction *ft_forecast_quantity(const ft_forecast *forecast, const char *name)
{
  size_t i = FT_TABLE_FIND(ft_quantities, name);

  return i < FT_QUANTITIES && forecast->prediction[i].quantity ? &forecast->prediction[i] : NULL;
}

const struct ft_decided *ft_forecast_decision(const ft_forecast *forecast)
{
  return &forecast->decided;
}

const char *ft_prediction_unit(const ft_prediction *prediction)
{
  return ft_quantity_unit(prediction->quantity);
}

double ft_prediction_quantile(const ft_prediction *prediction, double probability)
{
  return ft_estimate_quantile(&prediction->estimate, probability);
}

double ft_prediction_exceeds(const ft_prediction *prediction, double value)
{
  return ft_estimate_exceeds(&prediction->estimate, value);
}

unsigned ft_prediction_runs(const ft_prediction *prediction)
{
  return prediction->estimate.runs;
}

const char *ft_prediction_method(const ft_prediction *prediction)
{
  return prediction->estimate.method;
}
