/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Searches an equation for an app's memory by symbolic regression over its model's history. A
 * search takes seconds. The learner runs it in a child process, and adopts the result into the
 * model as it is after the search.
 */
#ifndef FT_ONLINE_EQUATION_SEARCH_H
#define FT_ONLINE_EQUATION_SEARCH_H

#include <stdbool.h>

#include "predictor/core/error.h"
#include "predictor/record/run_columns.h"

/*
 * Returns whether a search is due: MODEL, with HISTORY, has enough runs with numeric features, its
 * point prediction is not yet good enough, and it has no search result, or half as many new runs as
 * the last search used, or an equation whose recent error has grown. Takes microseconds.
 */
bool ft_equation_search_due(const ft_model *model, const struct ft_history *history);

/*
 * Searches an equation in MODEL's HISTORY, and five more by cross-validation for out-of-sample
 * predictions. Sets FOUND's app, user, rule, columns and evaluator.equation, and in FOUND_RUNS, for
 * each run used, key and equation_log (the out-of-sample prediction). An equation without code
 * means that none was found. Deterministic. GO_ON (may be NULL) is called repeatedly with DATA and
 * returns false to cancel. Returns 0; -1 if cancelled, without usable runs or out of memory, and
 * fills ERR.
 */
int ft_equation_search(const ft_model *model, const struct ft_history *history,
                       bool (*go_on)(void *data), void *data, ft_model *found,
                       struct ft_history *found_runs, struct ft_error *err);

/*
 * Adopts FOUND, with FOUND_RUNS, into MODEL and refits it to HISTORY. Returns false and leaves
 * MODEL as it was if FOUND belongs to another app, user or rule, if a column's meaning has changed,
 * or if fewer than half of the runs used are left.
 */
bool ft_equation_search_adopt(ft_model *model, struct ft_history *history, const ft_model *found,
                              const struct ft_history *found_runs);

#endif
