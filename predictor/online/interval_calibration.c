/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>

#include "predictor/estimate/memory.h"
#include "predictor/online/interval_calibration.h"

/* How fast the width of the 90 % interval follows what it covers, faster by this over the number of
 * runs. Where an interval covers nearly everything, what leads back by the
 * shortest way (Robbins and Monro 1951) is 1 over the number of runs and over the change of its
 * coverage with the logarithm of its width: 3 at 90 % of a normal distribution, 8 at 98 %. */
#define BAND_STEP 0.15
#define BAND_FIRST 8.0
/* Fewer runs than this say nothing of what an interval covers. */
#define BAND_RUNS 5

static bool is_within(double low, double high, double bytes)
{
  return bytes >= low && bytes <= high;
}

/* Whether the 90 % interval that was told when the run was submitted is known, is of this app's own
 * runs, and of this run alone. */
static bool was_told(const ft_observation *o)
{
  const ft_decision *d = &o->submission.decision;

  return o->submission.has_decision && d->has_p05_bytes && d->has_p95_bytes &&
         d->runs >= BAND_RUNS && !o->array_job_id;
}

/*
 * Adaptive conformal inference (Gibbs and Candes 2021) on the width of the 90 % interval, by what
 * was told: each run within it narrows it by a ninth of what one outside widens it. Where a run
 * ended long after it was told of, the interval may have become so narrow since that it would have
 * missed it: that run is no reason to narrow it further.
 */
void ft_interval_calibration_update(ft_model *model, const ft_observation *observation,
                                    const struct ft_estimate *estimate, double bytes)
{
  ft_evaluator *e = &model->evaluator;
  bool now =
      is_within(ft_estimate_quantile(estimate, 0.05), ft_estimate_quantile(estimate, 0.95), bytes);
  bool then = was_told(observation) ? is_within(observation->submission.decision.p05_bytes,
                                                observation->submission.decision.p95_bytes, bytes)
                                    : now;
  double step;

  if (estimate->runs < BAND_RUNS)
    return;
  step = BAND_STEP + BAND_FIRST / estimate->runs;
  if (!then)
    e->log_interval_scale += 0.9 * step;
  else if (now)
    e->log_interval_scale -= 0.1 * step;
  e->log_interval_scale = fmin(fmax(e->log_interval_scale, -FT_MEMORY_MAX_LOG_INTERVAL_SCALE),
                               FT_MEMORY_MAX_LOG_INTERVAL_SCALE);
}

/* When the run was submitted; where that is not known, when it began. */
static double begun(const ft_observation *o)
{
  if (o->submit_time > 0)
    return o->submit_time;
  return o->start_time > 0 ? o->start_time : o->end_time - o->runtime_seconds;
}

void ft_interval_calibration_count_cohort(ft_model *model, const ft_observation *observation)
{
  ft_evaluator *e = &model->evaluator;
  unsigned before = ft_memory_rounds(model);

  if (model->completed && begun(observation) < e->round_ended)
    return;
  e->round_ended = isfinite(observation->end_time) ? observation->end_time : 0;
  e->rounds = before < UINT32_MAX ? before + 1 : before;
  if (e->log_interval_scale < 0 && before)
    e->log_interval_scale = fmin(
        e->log_interval_scale + log(ft_memory_widening(before) / ft_memory_widening(e->rounds)), 0);
}

void ft_interval_calibration_recount_cohorts(ft_model *model)
{
  ft_evaluator *e = &model->evaluator;
  uint32_t rounds = 0;
  double ended = 0;

  for (size_t i = 0; i < model->history_count; i++) {
    const ft_run *run = &model->history[i];

    if (run->censored || (rounds && run->time - run->runtime_seconds < ended))
      continue;
    ended = run->time;
    rounds++;
  }
  /* runs that wait for one another begin apart, and may have been submitted together */
  e->rounds = e->rounds && e->rounds < rounds ? e->rounds : rounds;
}
