/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>
#include <string.h>

#include "predictor/core/text.h"
#include "predictor/estimate/runtime.h"
#include "predictor/learn/series/interval.h"

/* Standard deviation of the logarithm of a job's power, if only that of its node is known: with
 * ln(2) / 1.645 nine of ten jobs use from half to twice their part of it. Chosen by judgement. */
#define NODE_POWER_DEVIATION 0.42

struct ft_power ft_power_measured(const ft_performance *p, const char *platform)
{
  for (size_t i = 0; i < p->platforms_count; i++)
    if (strcmp(p->platforms[i].platform, platform) == 0 && p->platforms[i].energy_runs)
      return (struct ft_power){ p->platforms[i].watts, p->platforms[i].watts_deviation,
                                p->platforms[i].energy_runs };
  return (struct ft_power){ 0 };
}

struct ft_power ft_power_of_nodes(double node_watts, double nodes, double part)
{
  return (struct ft_power){ .watts = node_watts * nodes * part, .deviation = NODE_POWER_DEVIATION };
}

void ft_energy_estimate(const struct ft_estimate *seconds, const struct ft_power *power,
                        struct ft_estimate *out)
{
  double centre = ft_estimate_quantile(seconds, 0.5), relative[FT_ESTIMATE_LEVELS];

  *out = *seconds;
  for (int i = 0; i < FT_ESTIMATE_LEVELS; i++)
    relative[i] = log(seconds->quantile[i] / centre);
  ft_interval_widen(relative, power->deviation * power->deviation);
  for (int i = 0; i < FT_ESTIMATE_LEVELS; i++)
    out->quantile[i] = power->watts * centre * exp(relative[i]);
  if (power->runs)
    out->runs = power->runs;
  (void)ft_string_copy(power->runs ? "measured power" : "power of the node", out->method,
                       sizeof out->method);
}
