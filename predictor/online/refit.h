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

#endif
