/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>

#include "predictor/estimate/retry_sequence.h"
#include "predictor/estimate/small_sample.h"
#include "predictor/learn/distribution.h"

/* Prior mean of the slope of log(peak) over log(input): of workflow tasks, half have slope 0 and a
 * few slope 1. Chosen by tests/bench/replay_constants. */
#define PRIOR_SLOPE 0.2
/* Prior standard deviation of the slope. Chosen by tests/bench/replay_constants. */
#define PRIOR_SLOPE_DEVIATION 0.4
/* Prior standard deviation of log(peak) between equal inputs. Chosen by
 * tests/bench/replay_constants. */
#define PRIOR_DEVIATION 0.03
/* Weight of the prior deviation in runs. Half and twice were compared. */
enum { PRIOR_DEGREES = 1 };

/* Probabilities of the quantiles that sample the distribution; the lower quartile is the minimum of
 * a first allocation. */
static const double level[] = { 0.25, 0.3,  0.35, 0.4,  0.45, 0.5,  0.55, 0.6,  0.65, 0.7,  0.75,
                                0.8,  0.83, 0.86, 0.88, 0.9,  0.92, 0.94, 0.96, 0.97, 0.98, 0.99 };
enum { LEVELS = sizeof level / sizeof *level };

/* Minimum of the mean run time, in seconds. */
#define LEAST_SECONDS 1.0

bool ft_small_sample_applies(const ft_evaluator *e)
{
  return e->baselines_count > 0 && e->baselines[FT_BASELINE_CONSTANT].needs_count > 0 &&
         e->baselines[FT_BASELINE_CONSTANT].needs_count < FT_ENSEMBLE_MIN_RUNS &&
         e->covariates_count == e->baselines[FT_BASELINE_CONSTANT].needs_count &&
         e->seconds_count == e->covariates_count;
}

/* Posterior predictive of log(peak): Student's t. */
struct posterior {
  double mean, scale;
  unsigned degrees;
};

/* Returns the posterior predictive at COVARIATE; negative: missing. */
static struct posterior fit_posterior(const ft_evaluator *e, double covariate)
{
  const ft_baseline *peak = &e->baselines[FT_BASELINE_CONSTANT];
  size_t count = peak->needs_count;
  double n = (double)count, x = 0, y = 0, xx = 0, xy = 0, yy = 0, ridge, slope, sigma2, shift;
  double distance[FT_ENSEMBLE_MIN_RUNS], need[FT_ENSEMBLE_MIN_RUNS];

  for (size_t i = 0; i < count; i++) {
    double other = (double)e->covariates[peak->runs.bytes[i]];

    /* a run without a covariate has no effect on the slope */
    distance[i] = covariate >= 0 && other >= 0 ? other - covariate : 0;
    need[i] = log(fmax((double)peak->needs[i], 1));
    x += distance[i] / n;
    y += need[i] / n;
  }
  for (size_t i = 0; i < count; i++) {
    xx += (distance[i] - x) * (distance[i] - x);
    xy += (distance[i] - x) * (need[i] - y);
    yy += (need[i] - y) * (need[i] - y);
  }
  ridge = PRIOR_DEVIATION * PRIOR_DEVIATION / (PRIOR_SLOPE_DEVIATION * PRIOR_SLOPE_DEVIATION);
  slope = (xy + ridge * PRIOR_SLOPE) / (xx + ridge);
  shift = slope - PRIOR_SLOPE;
  sigma2 = fmax(yy - 2 * slope * xy + slope * slope * xx, 0) + ridge * shift * shift;
  sigma2 = (sigma2 + PRIOR_DEGREES * PRIOR_DEVIATION * PRIOR_DEVIATION) / (PRIOR_DEGREES + n - 1);
  return (struct posterior){ .mean = y - slope * x,
                             .scale = sqrt(sigma2 * (1 + 1 / n + x * x / (xx + ridge))),
                             .degrees = (unsigned)(PRIOR_DEGREES + count - 1) };
}

static double mean_seconds(const ft_evaluator *e)
{
  double sum = 0;

  for (size_t i = 0; i < e->seconds_count; i++)
    sum += (double)e->seconds[i];
  return fmax(sum / (double)e->seconds_count, LEAST_SECONDS);
}

double ft_small_sample_allocation(const ft_evaluator *e, const struct ft_allocation_query *q)
{
  struct posterior b = fit_posterior(e, q->covariate);
  double min_bytes = q->failed_bytes * FT_RETRY_SEQUENCE_MIN_GROWTH, before = 0, fixed;
  struct ft_retry_sequence seq;

  ft_retry_sequence_start(&seq);
  for (size_t i = 0; i < LEVELS; i++) {
    double score = b.scale * ft_student_quantile(level[i], b.degrees);
    double bytes = exp(fmin(b.mean + score, 50 * M_LN2));

    if (bytes > min_bytes)
      ft_retry_sequence_add(&seq, bytes, level[i] - before);
    before = level[i];
  }
  if (!seq.count)
    return FT_RETRY_SEQUENCE_GROWTH * q->failed_bytes;
  fixed = fmax(q->failure_price - 1, 0) * FT_FAILURE_BYTE_SECONDS / mean_seconds(e);
  return ft_retry_first_allocation(&seq, fmin(q->failure_price, 1) * q->failure_time, fixed);
}
