/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A series: the runs of an app by one number each (a quantity), the fit that predicts the next
 * run's number from its columns, and the residuals of that fit. The numbers have no unit; all are
 * above 0. Columns are what a run's features became: a number or the index of a category.
 */
#ifndef FT_LEARN_SERIES_SERIES_H
#define FT_LEARN_SERIES_SERIES_H

#include <math.h>

#include "predictor/learn/regression/additive.h"
#include "predictor/learn/series/calibration.h"
#include "predictor/learn/series/point_prediction.h"

enum {
  FT_SERIES_RUNS = FT_ADDITIVE_RUNS, /* largest number of runs */
  FT_SERIES_COLUMNS = FT_POINT_COLUMNS
};

struct ft_series_run {
  double time;    /* end of the run; runs are in order of time */
  double seconds; /* duration; 0: unknown */
  double value;
  bool censored;      /* the run stopped early: `value` is a lower bound */
  bool exceeded;      /* with `censored`: a limit of `value` stopped it, so its number is larger */
  bool stopped;       /* with `censored`: not for its number, which may well be `value` */
  bool sampled;       /* the number may be larger than `value`, of a completed run, too */
  float equation_log; /* log of the prediction by an equation found without this run; 0: none */
  float residual;     /* out of sample: log(value / point prediction), without level tracking */
  float x[FT_SERIES_COLUMNS]; /* by column; NaN: missing */
  double units;               /* 1 or more: equal parts, of each of which `value` may be the sum */
};

/* A simple predictor and the residuals of completed runs around it. */
struct ft_series_baseline {
  bool factor;             /* residuals are factors; else differences */
  double intercept, slope; /* of the prediction, or its log with `factor`, over the covariate, or
                              |x| without `factor` */
  double min_prediction;
  size_t needs_count;
  float needs[FT_SERIES_RUNS];  /* residuals, ascending, leave-one-out */
  uint8_t runs[FT_SERIES_RUNS]; /* index of each residual's run in the fit's `needs` */
};

/* Indices of the baselines; the line and the power law need a primary column. */
enum { FT_BASELINE_CONSTANT, FT_BASELINE_LINE, FT_BASELINE_POWER, FT_BASELINES };

/* Minimum of a baseline's prediction, as a fraction of the smallest observed number. Half and twice
 * were compared. */
#define FT_BASELINE_MIN_FRACTION 0.5

struct ft_series_fit {
  char method[32]; /* "quantiles", "regression" or "equation" */
  struct ft_point_model point;
  size_t residuals_count;
  double residuals[FT_SERIES_RUNS]; /* ascending, out of sample: log(value / point prediction) */
  double max_value;                 /* largest value of all runs, per unit like the baselines */
  double bound_value;               /* largest bound above which no run has completed */
  bool has_bound_log;
  double bound_log; /* largest log(bound / point prediction) of recent censored runs */
  uint32_t fitted;  /* completed runs ever at the last full fit; 0: unknown */
  uint32_t stopped; /* runs that stopped and count as if they had completed */
  double followed;  /* sum of the incremental shifts of the point prediction since that fit */
  bool has_primary_column;
  uint32_t primary_column; /* runs close in it have similar numbers */
  /* completed runs in ascending order of `needs` */
  size_t needs_count;
  float needs[FT_SERIES_RUNS];      /* log(value / point prediction) */
  float covariates[FT_SERIES_RUNS]; /* log(1 + |x|) in the primary column; -1: the run lacks it */
  float seconds[FT_SERIES_RUNS];
  uint8_t ages[FT_SERIES_RUNS]; /* how many of them ended after it */
  size_t baselines_count;
  struct ft_series_baseline baselines[FT_BASELINES];
};

struct ft_series {
  size_t columns;
  unsigned levels[FT_SERIES_COLUMNS]; /* categories of each column; 0: it is numeric */
  bool by_many;                       /* many columns may matter a little each */
  bool shifts;                        /* the level may change at once, and a fall is no risk */
  bool by_unit;                       /* `units` of the runs may be a factor */
  size_t unit_column; /* the column of `units`; FT_SERIES_COLUMNS: none, all are 1 */
  uint32_t completed; /* completed runs ever */
  size_t runs;
  struct ft_series_run run[FT_SERIES_RUNS];
  struct ft_series_fit fit;
  struct ft_calibration calibration;
};

/* Returns RUN's value, of one unit if FIT predicts units; at least 1. */
static inline double ft_series_unit_value(const struct ft_series_fit *fit,
                                          const struct ft_series_run *run)
{
  return fmax(fit->point.per_unit ? run->value / run->units : run->value, 1);
}

/* Returns log1p(|x|) of the value x of COLUMN in RUN; -1 without a value. */
static inline float ft_series_covariate(const struct ft_series_run *run, size_t column)
{
  float x = run->x[column];

  return isnan(x) ? -1 : (float)log1p(fabs((double)x));
}

/* Returns the covariate of RUN: that of FIT's primary column; -1 without one. */
static inline float ft_series_primary_covariate(const struct ft_series_fit *fit,
                                                const struct ft_series_run *run)
{
  return fit->has_primary_column ? ft_series_covariate(run, fit->primary_column) : -1;
}

#endif
