/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An app's run times as a series: the microseconds that each run takes on the first platform. */
#ifndef FT_ONLINE_RUNTIME_SERIES_H
#define FT_ONLINE_RUNTIME_SERIES_H

#include "predictor/learn/series/fit.h"
#include "predictor/record/run_columns.h"

enum {
  /* maximum of stored runs (foretell.options) */
  FT_RUNTIME_RUNS = sizeof((ft_performance *)NULL)->history / sizeof(ft_timed_run)
};

/* Working memory of an update; the caller allocates it with ft_series_work_size() more bytes. */
struct ft_runtime_series {
  ft_performance next;
  size_t runs;
  ft_timed_run run[FT_RUNTIME_RUNS + 1]; /* in order of time, with the new one */
  struct ft_series series;
  ft_model model; /* of the facts, with HISTORY */
  struct ft_history history;
  double work[]; /* of the fit */
};

/* Adds RUN, of O, to W->next: its history, its columns and its regression. Sets the column values
 * of RUN. */
void ft_runtime_series_add(struct ft_runtime_series *w, const ft_observation *o, ft_timed_run *run);

#endif
