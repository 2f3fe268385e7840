/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fits the models of the quantities that are learnt from an app's history (ft_quantity.of_history).
 */
#ifndef FT_ONLINE_QUANTITY_MODELS_H
#define FT_ONLINE_QUANTITY_MODELS_H

#include "predictor/core/error.h"
#include "predictor/estimate/quantity.h"
#include "predictor/record/run_columns.h"

/*
 * Sets OUT to a copy of MODEL, an app's model of host memory, that is fitted to what those runs of
 * HISTORY needed of QUANTITY that have a value of it; the columns stay. Estimates and facts then
 * work as for host memory. Returns the number of these runs, with 0 OUT is undefined; -1 out of
 * memory and fills ERR.
 */
int ft_quantity_model_fit(const ft_model *model, const struct ft_history *history, size_t quantity,
                          ft_model *out, struct ft_error *err);

/* Sets OUT to the models of all such quantities, in their order. Returns the number of those with a
 * run; -1 out of memory and fills ERR. */
int ft_quantity_models_fit(const ft_model *model, const struct ft_history *history,
                           ft_model out[FT_QUANTITIES], struct ft_error *err);

#endif
