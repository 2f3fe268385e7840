/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>
#include <stddef.h>

#include "predictor/estimate/allocation.h"
#include "predictor/estimate/facts.h"
#include "predictor/estimate/memory.h"
#include "predictor/estimate/point_prediction.h"
#include "predictor/estimate/retry_sequence.h"
#include "predictor/estimate/small_sample.h"

enum {
  EVEN = 50, /* evenly spaced quantiles that sample a distribution */
  TAIL = 5   /* quantiles that sample its upper tail */
};

/* Maximum factor from a failed limit to the next attempt above the largest peak of the app, where
 * the distribution is extrapolated. Chosen by judgement. */
#define MAX_GROWTH 2

/* Run time, in seconds, if no run has one. Chosen by judgement. */
#define DEFAULT_RUN_SECONDS 3600

/* Probabilities of the TAIL quantiles; those of the EVEN quantiles end at 0.985. */
static const double tail[TAIL] = { 0.99, 0.995, 0.998, 0.999, 0.9999 };

/* Fills SEQ with the sampled quantiles of E that exceed ABOVE bytes. The mass of each is the
 * difference of its probability from that of the quantile before. */
static void sample_quantiles(const struct ft_estimate *e, double above,
                             struct ft_retry_sequence *seq)
{
  double before = 0;

  ft_retry_sequence_start(seq);
  for (size_t i = 0; i < EVEN + TAIL; i++) {
    double level = i < EVEN ? ((double)i + 0.5) / EVEN * 0.985 : tail[i - EVEN];
    double bytes = ft_estimate_quantile(e, level);

    if (bytes > above)
      ft_retry_sequence_add(seq, bytes, level - before);
    before = level;
  }
}

double ft_allocation(const struct ft_estimate *estimate, double failed_bytes, double failure_price)
{
  struct ft_retry_sequence seq;
  double bytes;

  sample_quantiles(estimate, failed_bytes, &seq);
  bytes = ft_retry_first_allocation(&seq, failure_price, 0);
  if (!(bytes > 0))
    bytes = FT_RETRY_SEQUENCE_GROWTH * failed_bytes;
  return failed_bytes > 0 ? fmin(bytes, fmax(MAX_GROWTH * failed_bytes, estimate->max_value))
                          : bytes;
}

/* Returns the mean duration of a failed attempt, as a fraction of the run time. */
static double failure_time_fraction(const ft_evaluator *e)
{
  return e->failure_time > 0 ? e->failure_time : 1;
}

/* Returns the mean run time in seconds, 1 or more. */
static double mean_run_seconds(const ft_evaluator *e)
{
  double sum = 0;

  for (size_t i = 0; i < e->seconds_count; i++)
    sum += (double)e->seconds[i] / (double)e->seconds_count;
  return sum > 0 ? fmax(sum, 1) : DEFAULT_RUN_SECONDS;
}

double ft_allocation_query_fill(const ft_model *model, const ft_feature *features, size_t count,
                                double failed_bytes, double failure_price,
                                struct ft_allocation_query *out)
{
  const ft_evaluator *e = &model->evaluator;
  float x[FT_POINT_COLUMNS];
  struct ft_point_prediction centre;
  double tasks = ft_predict_submission(model, features, count, x, &centre);

  *out = (struct ft_allocation_query){ .centre_log = centre.log - log(tasks),
                                       .covariate = -1,
                                       .failed_bytes = failed_bytes / tasks,
                                       .failure_price = failure_price,
                                       .failure_time = failure_time_fraction(e) };
  if (e->has_primary_column && e->primary_column < model->columns_count &&
      !isnan(x[e->primary_column]))
    out->covariate = log1p(fabs((double)x[e->primary_column]));
  return tasks;
}

/* Returns whether no categorical column varies; the small-sample model is a line over one
 * number. */
static bool has_only_numbers(const ft_model *model)
{
  for (size_t j = 0; j < model->columns_count; j++)
    if (model->columns[j].categorical && model->columns[j].categories_count > 1)
      return false;
  return true;
}

int ft_allocate_memory(const ft_model *model, const ft_feature *features, size_t count,
                       double failed_bytes, double failure_price, struct ft_estimate *out,
                       double *bytes, struct ft_error *err)
{
  struct ft_allocation_query query;
  double tasks;

  if (ft_estimate_memory(model, features, count, out, err) < 0)
    return -1;
  tasks = ft_allocation_query_fill(model, features, count, failed_bytes, failure_price, &query);
  if (!model->evaluator.has_bound_log && ft_small_sample_applies(&model->evaluator) &&
      has_only_numbers(model)) {
    *bytes = tasks * ft_small_sample_allocation(&model->evaluator, &query);
    return 0;
  }
  if (model->evaluator.has_bound_log || !ft_ensemble_ready(&model->evaluator)) {
    double price = fmin(failure_price, 1) * failure_time_fraction(&model->evaluator);
    struct ft_estimate unwidened;

    if (ft_estimate_memory_unwidened(model, features, count, &unwidened, err) < 0)
      return -1;
    price += fmax(failure_price - 1, 0) * FT_FAILURE_BYTE_SECONDS /
             (mean_run_seconds(&model->evaluator) * ft_estimate_quantile(out, 0.5));
    *bytes = fmax(ft_allocation(&unwidened, failed_bytes, price),
                  out->bound_value * FT_FACTS_KILLED_FACTOR);
    return 0;
  }
  *bytes = tasks * ft_ensemble_allocation(&model->evaluator, &query);
  return 0;
}
