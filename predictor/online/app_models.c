/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include "predictor/estimate/quantity.h"
#include "predictor/online/app_models.h"
#include "predictor/online/online.h"
#include "predictor/online/performance.h"

void ft_app_models_init(struct ft_app_models *m, const char *app, uint32_t uid, ft_rule rule)
{
  m->has_model = m->has_performance = true;
  ft_online_init(&m->model, &m->history, app, uid, rule);
  ft_performance_init(&m->performance, &m->runtimes, app, uid);
}

int ft_app_models_update(struct ft_app_models *m, const ft_observation *o, struct ft_error *err)
{
  int learned = ft_online_update(&m->model, &m->history, o, err);
  int timed = learned < 0 ? -1 : ft_performance_update(&m->performance, &m->runtimes, o, err);

  if (timed < 0)
    return -1;
  return learned << FT_QUANTITY_MEMORY | timed << FT_QUANTITY_RUNTIME;
}

unsigned ft_app_models_all(const struct ft_app_models *m)
{
  return 1U << FT_QUANTITY_MEMORY | (m->runtimes.count > 0) << FT_QUANTITY_RUNTIME;
}

void ft_app_models_clamp_times(struct ft_app_models *m, double latest)
{
  ft_online_clamp_times(&m->model, &m->history, latest);
  ft_performance_clamp_times(&m->performance, &m->runtimes, latest);
}
