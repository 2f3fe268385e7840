/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>

#include "predictor/learn/series/calibration.h"

/* Step of the log width per run, in the limit of many runs. Chosen by the coverage on eight traces
 * (tests/bench/replay_constants). */
#define STEP 0.15
/* INITIAL_STEP / runs is added to STEP. The optimal gain (Robbins and Monro 1951) is
 * the inverse slope of coverage over log width: 3 at 90 % coverage of a normal distribution, 8 at
 * 98 %. Chosen by tests/bench/replay_constants. */
#define INITIAL_STEP 8.0
/* Nominal fractions of runs inside and outside the interval. */
#define COVERAGE 0.9
#define MISS_RATE 0.1
/* Number of cohorts at which the interval is twice as wide as the residuals show. Runs of one
 * cohort resemble each other. Chosen by tests/bench/replay_constants. */
#define FEW_COHORTS 4.0
/* Smallest log width with which the intervals of ranks begin: that of fewer runs was narrowed while
 * the extreme residuals held their ends. Chosen by the coverage in
 * tests/unit/test_interval_calibration. */
#define FIRST_LOG_SCALE -0.3

/*
 * Adaptive conformal inference (Gibbs and Candes 2021) on the log width: a run inside the submitted
 * interval narrows it by 1/9 of the widening by a run outside. If the current interval, narrower
 * since the submission, misses the run, it is not narrowed further.
 */
void ft_calibration_update(struct ft_calibration *c, unsigned runs, bool then, bool now)
{
  double step;

  if (runs < FT_CALIBRATION_MIN_RUNS)
    return;
  step = STEP + INITIAL_STEP / runs;
  if (runs == FT_CALIBRATION_RANKED_RUNS)
    c->log_scale = fmax(c->log_scale, FIRST_LOG_SCALE);
  if (!then)
    c->log_scale += COVERAGE * step;
  else if (now)
    c->log_scale -= MISS_RATE * step;
  c->log_scale =
      fmin(fmax(c->log_scale, -FT_CALIBRATION_MAX_LOG_SCALE), FT_CALIBRATION_MAX_LOG_SCALE);
}

unsigned ft_calibration_cohorts(const struct ft_calibration *c, uint32_t completed)
{
  return c->cohorts > 0 && c->cohorts < completed ? c->cohorts : completed;
}

double ft_calibration_widening(unsigned cohorts)
{
  return 1 + FEW_COHORTS / fmax(cohorts, 1);
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
    c->log_scale = fmin(
        c->log_scale + log(ft_calibration_widening(before) / ft_calibration_widening(c->cohorts)),
        0);
}
