/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>

#include "predictor/estimate/memory.h"
#include "predictor/online/interval_calibration.h"

/* Step of the log width per run, in the limit of many runs. Chosen by the coverage on eight traces
 * (tests/bench/replay_constants). */
#define STEP 0.15
/* INITIAL_STEP / runs is added to STEP. The optimal gain (Robbins and Monro 1951) is
 * the inverse slope of coverage over log width: 3 at 90 % coverage of a normal distribution, 8 at
 * 98 %. Chosen by tests/bench/replay_constants. */
#define INITIAL_STEP 8.0
/* Minimum number of runs behind an interval whose coverage counts. Chosen by the coverage of four
 * traces in order of arrival. */
#define MIN_RUNS 5
/* Nominal fractions of runs inside and outside the interval. */
#define COVERAGE 0.9
#define MISS_RATE 0.1

static bool is_within(double low, double high, double bytes)
{
  return bytes >= low && bytes <= high;
}

/* Returns whether the 90 % interval at submission is known, based on enough runs, and valid for
 * this run only (not for a job array). */
static bool has_submitted_interval(const ft_observation *o)
{
  const ft_decision *d = &o->submission.decision;

  return o->submission.has_decision && d->has_p05_bytes && d->has_p95_bytes &&
         d->runs >= MIN_RUNS && !o->array_job_id;
}

/*
 * Adaptive conformal inference (Gibbs and Candes 2021) on the log width: a run inside the submitted
 * interval narrows it by 1/9 of the widening by a run outside. If the current interval, narrower
 * since the submission, misses the run, it is not narrowed further.
 */
void ft_interval_calibration_update(ft_model *model, const ft_observation *observation,
                                    const struct ft_estimate *estimate, double bytes)
{
  ft_evaluator *e = &model->evaluator;
  bool now =
      is_within(ft_estimate_quantile(estimate, 0.05), ft_estimate_quantile(estimate, 0.95), bytes);
  bool then = has_submitted_interval(observation)
                  ? is_within(observation->submission.decision.p05_bytes,
                              observation->submission.decision.p95_bytes, bytes)
                  : now;
  double step;

  if (estimate->runs < MIN_RUNS)
    return;
  step = STEP + INITIAL_STEP / estimate->runs;
  if (!then)
    e->log_interval_scale += COVERAGE * step;
  else if (now)
    e->log_interval_scale -= MISS_RATE * step;
  e->log_interval_scale = fmin(fmax(e->log_interval_scale, -FT_MEMORY_MAX_LOG_INTERVAL_SCALE),
                               FT_MEMORY_MAX_LOG_INTERVAL_SCALE);
}

void ft_interval_calibration_count_cohort(ft_model *model, const ft_observation *observation)
{
  ft_evaluator *e = &model->evaluator;
  unsigned before = ft_memory_cohorts(model);

  if (model->completed && ft_observation_submitted(observation) < e->cohort_ended)
    return;
  e->cohort_ended = isfinite(observation->end_time) ? observation->end_time : 0;
  e->cohorts = before < UINT32_MAX ? before + 1 : before;
  if (e->log_interval_scale < 0 && before)
    e->log_interval_scale = fmin(
        e->log_interval_scale + log(ft_memory_widening(before) / ft_memory_widening(e->cohorts)),
        0);
}

void ft_interval_calibration_recount_cohorts(ft_model *model)
{
  ft_evaluator *e = &model->evaluator;
  uint32_t cohorts = 0;
  double ended = 0;

  for (size_t i = 0; i < model->history_count; i++) {
    const ft_run *run = &model->history[i];

    if (run->censored || (cohorts && run->time - run->runtime_seconds < ended))
      continue;
    ended = run->time;
    cohorts++;
  }
  /* runs with later starts may have been submitted together, so their number is an upper limit */
  e->cohorts = e->cohorts && e->cohorts < cohorts ? e->cohorts : cohorts;
}
