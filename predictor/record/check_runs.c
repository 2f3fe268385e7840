/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks the runs of an app, and what the runs of several apps used. */
#include "config.h"

#include <math.h>

#include "predictor/record/check.h"

/* Bytes: 1 PiB, more than the memory of any node. The learners accept no more either. */
#define MAX_PEAK_BYTES 0x1p50

/* Checks a run's values by column, or without columns any values. A value is NaN if missing; in a
 * categorical column it is a level, or -1 for an unknown one. */
static bool are_values(const float *x, size_t count, const ft_column *columns, size_t column_count)
{
  for (size_t j = 0; j < count; j++) {
    double highest =
        j < column_count && columns[j].categorical ? columns[j].categories_count - 1.0 : INFINITY;

    if (isinf(x[j]) || (double)x[j] > highest || (highest < INFINITY && x[j] < -1))
      return false;
  }
  return true;
}

static bool are_finite(const float *values, size_t count)
{
  size_t i = 0;

  while (i < count && isfinite(values[i]))
    i++;
  return i == count;
}

static int reject_run(struct ft_error *err, size_t run)
{
  return ft_error_set(err, "history: run %zu: invalid value", run);
}

int ft_record_check_history(const struct ft_history *history, const ft_model *m,
                            struct ft_error *err)
{
  for (size_t i = 0; i < history->count; i++) {
    const ft_run *r = &history->run[i];

    if (!isfinite(r->time) || !(r->bytes >= 0 && r->bytes <= MAX_PEAK_BYTES) ||
        !isfinite(r->predicted_log) || !isfinite(r->runtime_seconds) ||
        !isfinite(r->equation_log) || !isfinite(r->residual) ||
        !are_finite(r->values, FT_RUN_VALUES) || !isfinite(r->network_bytes) ||
        !isfinite(r->gpu_limit_bytes) ||
        !(r->requested_bytes >= 0 && isfinite(r->requested_bytes)) ||
        r->killed_by > _ft_killer_MAX || r->censored > 1 || r->sampled > 1 ||
        r->out_of_memory > 1 || !are_values(r->x, r->x_count, m->columns, m->columns_count))
      return reject_run(err, i);
  }
  return 0;
}

int ft_record_check_runtimes(const struct ft_runtimes *runtimes, const ft_performance *p,
                             struct ft_error *err)
{
  for (size_t i = 0; i < runtimes->count; i++) {
    const ft_timed_run *r = &runtimes->run[i];

    if (!isfinite(r->time) || !(r->seconds > 0 && isfinite(r->seconds)) ||
        r->platform >= p->platforms_count ||
        !are_values(r->x, r->x_count, p->columns, p->columns_count) ||
        !are_values(r->run_features, r->run_features_count, NULL, 0) ||
        !are_values(r->values, r->values_count, NULL, 0))
      return reject_run(err, i);
  }
  return 0;
}

static bool is_amount(double value)
{
  return value >= 0 && isfinite(value);
}

int ft_record_check_usage(const ft_usage *u, struct ft_error *err)
{
  for (size_t i = 0; i < u->apps_count; i++)
    if (!is_amount((double)u->apps[i].bytes) || !is_amount((double)u->apps[i].share) ||
        !isfinite(u->apps[i].updated))
      return ft_error_set(err, "usage: app %zu: invalid value", i);
  return 0;
}

int ft_record_check_program(const ft_program *p, struct ft_error *err)
{
  for (size_t i = 0; i < p->bytes_count; i++)
    if (!is_amount(p->bytes[i]))
      return ft_error_set(err, "program: amount %zu: invalid value", i);
  for (size_t i = 0; i < p->apps_count; i++)
    if (!is_amount((double)p->apps[i].bytes) || !isfinite(p->apps[i].updated))
      return ft_error_set(err, "program: app %zu: invalid value", i);
  return 0;
}
