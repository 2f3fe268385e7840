/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>

#include "predictor/learn/series/calibration.h"

/* Step of the log width per run. Chosen by the coverage on eight traces
 * (tests/bench/replay_constants). */
#define STEP 0.2
/* Nominal fractions of runs inside and outside the interval. */
#define COVERAGE 0.9
#define MISS_RATE 0.1
/* Number of cohorts at which the interval is twice as wide as that of as many runs. Runs of one
 * cohort resemble each other. Chosen by tests/bench/replay_constants. */
#define FEW_COHORTS 4.0
/*
 * Adaptive conformal inference (Gibbs and Candes 2021) on the log width: a run inside the submitted
 * interval narrows it by 1/9 of the widening by a run outside. If the current interval, narrower
 * since the submission, misses the run, it is not narrowed further.
 */
void ft_calibration_update(struct ft_calibration *c, unsigned runs, bool then, bool now)
{
  if (runs < FT_CALIBRATION_MIN_RUNS)
    return;
  if (runs == FT_CALIBRATION_RANKED_RUNS)
    c->log_scale = 0;
  if (!then)
    c->log_scale += COVERAGE * STEP;
  else if (now)
    c->log_scale -= MISS_RATE * STEP;
  c->log_scale =
      fmin(fmax(c->log_scale, -FT_CALIBRATION_MAX_LOG_SCALE), FT_CALIBRATION_MAX_LOG_SCALE);
}

unsigned ft_calibration_cohorts(const struct ft_calibration *c, uint32_t completed)
{
  return c->cohorts > 0 && c->cohorts < completed ? c->cohorts : completed;
}

/* Returns the factor of COHORTS cohorts without that of their runs. */
static double widening_of(unsigned cohorts)
{
  return 1 + FEW_COHORTS / fmax(cohorts, 1);
}

double ft_calibration_widening(unsigned cohorts, uint32_t completed)
{
  return widening_of(cohorts) / widening_of(completed);
}

void ft_calibration_count_cohort(struct ft_calibration *c, uint32_t completed, double submitted,
                                 double ended)
{
  unsigned before = ft_calibration_cohorts(c, completed);

  if (completed && submitted < c->cohort_ended)
    return;
  c->cohort_ended = isfinite(ended) ? ended : 0;
  c->cohorts = before < UINT32_MAX ? before + 1 : before;
  if (c->log_scale < 0 && before)
    c->log_scale = fmin(c->log_scale + log(widening_of(before) / widening_of(c->cohorts)), 0);
}
