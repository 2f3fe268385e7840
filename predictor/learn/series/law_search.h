/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Searches a law for a series by symbolic regression. A search takes seconds. */
#ifndef FT_LEARN_SERIES_LAW_SEARCH_H
#define FT_LEARN_SERIES_LAW_SEARCH_H

#include "predictor/core/error.h"
#include "predictor/learn/series/series.h"

/* Whether a search uses RUN: its value is exact. */
static inline bool ft_law_search_uses(const struct ft_series_run *run)
{
  return !run->censored && !run->sampled && run->value > 0;
}

/* Returns the number of runs of SERIES that a search uses. */
size_t ft_law_search_runs(const struct ft_series *series);

/* Returns whether a numeric column of these runs varies. */
bool ft_law_search_possible(const struct ft_series *series);

/* Returns the mean relative error, each limited to 1, of the law over the last COUNT of these runs
 * that it predicted (equation_log); 0 with fewer. */
double ft_law_search_recent_error(const struct ft_series *series, size_t count);

/* What a search found. */
struct ft_law_found {
  struct ft_law law;                   /* code.length 0: none */
  double error;                        /* mean relative out-of-sample error, each limited to 1 */
  size_t runs;                         /* number of runs used */
  float predicted_log[FT_SERIES_RUNS]; /* by run of the series: logarithm of the out-of-sample
                                          prediction; 0: none */
};

/*
 * Searches a law in SERIES, and five more by cross-validation for out-of-sample predictions.
 * Deterministic for a SEED. GO_ON (may be NULL) is called repeatedly with DATA and returns false to
 * cancel. Returns 0; -1 if cancelled, without usable runs or out of memory, and fills ERR.
 */
int ft_law_search(const struct ft_series *series, uint64_t seed, bool (*go_on)(void *data),
                  void *data, struct ft_law_found *found, struct ft_error *err);

#endif
