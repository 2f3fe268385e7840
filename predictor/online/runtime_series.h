/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An app's run times as a series: the microseconds that each run takes on the first platform. */
#ifndef FT_ONLINE_RUNTIME_SERIES_H
#define FT_ONLINE_RUNTIME_SERIES_H

#include "predictor/learn/series/fit.h"
#include "predictor/online/facts.h"

/* Working memory of an update; the caller allocates it with ft_series_work_size() more bytes. */
struct ft_runtime_series {
  ft_performance next;
  struct ft_runtimes history; /* of next */
  size_t runs;
  ft_timed_run run[FT_RUNTIME_RUNS + 1]; /* in order of time, with the new one */
  struct ft_series series;
  ft_model model; /* of FACTS, the runs of the series */
  struct ft_fact_runs facts;
  double work[]; /* of the fit */
};

/* Adds RUN, of O, to W->history, and to the columns and the regression of W->next. Sets the column
 * values of RUN. */
void ft_runtime_series_add(struct ft_runtime_series *w, const ft_observation *o, ft_timed_run *run);

#endif
