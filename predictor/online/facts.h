/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Selects the facts of an app's runs that decisions use in addition to the estimate
 * (estimate/facts.h). */
#ifndef FT_ONLINE_FACTS_H
#define FT_ONLINE_FACTS_H

#include "predictor/online/need.h"
#include "predictor/record/record.h"

/* What a run tells, for facts. */
struct ft_fact_run {
  struct ft_need need;
  double time, submitted; /* of its end, and of its submission; 0: unknown */
  float residual;         /* as in ft_run */
  const float *x;         /* borrowed: values by column, of which there are x_count */
  size_t x_count;
};

/* The runs of an app, oldest first. */
struct ft_fact_runs {
  size_t count;
  struct ft_fact_run run[FT_HISTORY_RUNS];
};

/*
 * Sets the facts of MODEL's evaluator from RUNS, and the columns that
 * may explain the memory: those used by the point prediction, and categories not yet shown to be
 * irrelevant. The evaluator's terms and the runs' residuals must be set. Pure; takes some 10
 * microseconds.
 */
void ft_facts_fill_runs(ft_model *model, const struct ft_fact_runs *runs);

/* The same from what the runs of HISTORY needed of MODEL's quantity. */
void ft_facts_fill(ft_model *model, const struct ft_history *history);

#endif
