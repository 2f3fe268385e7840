/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From an app's history to its evaluator. */
#ifndef FT_ONLINE_REFIT_H
#define FT_ONLINE_REFIT_H

#include "predictor/record/record.h"

struct ft_refit;

/* Working memory for one refit, or NULL; released with free. */
struct ft_refit *ft_refit_new(void);

/*
 * Make MODEL's evaluator anew from its history, which is in order of time.
 *
 * Runs that did not complete are lower bounds. One that stays below the centre
 * says nothing about it. One above it joins the fit at a value that it may have
 * needed. Among the residuals a bound's probability goes to what lies above it
 * (Kaplan and Meier 1958); while nothing has completed above it and fewer than 5
 * runs have completed since, it has at least a fifth of all: whoever's job died
 * is likely to submit it again.
 *
 * Where the residuals run together in time, the centre follows the last 5; the
 * upper quantiles still cover what the last 40 needed.
 */
void ft_refit_model(ft_model *model, struct ft_refit *work);

/* Of each run in the history, log(bytes / the centre of the model that WORK has just made). */
const double *ft_refit_log_residuals(const struct ft_refit *work);

/*
 * The newest run has just joined MODEL's history: take it into the evaluator by the centre that was
 * fitted last, in a tenth of the time. False where the model has to be made anew: an eighth of
 * its runs are new since the fit, they lie further from it than those before, the run has what no
 * run had or did not complete and says something, or a bound is fresh.
 */
bool ft_refit_incremental(ft_model *model, struct ft_refit *work);

#endif
