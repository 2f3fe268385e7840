/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Outputs that few rows know: a platform that joined lately. */
#ifndef FT_LEARN_SPEEDUP_SPARSE_H
#define FT_LEARN_SPEEDUP_SPARSE_H

#include "predictor/learn/relative/speedup_model.h"

/*
 * Fit of OUT what predicts, and into HELD, of a number a cell of TABLE, what it said of rows held
 * out (0: settings->untried, or too few rows). HONEST tells whether any were. 0; -1 with ERR.
 */
int ft_speedup_fit_mixture(const struct ft_speedup_table *table,
                           const struct ft_speedup_settings *settings, struct ft_speedup_model *out,
                           double *held, bool *honest, struct ft_error *err);

/*
 * Each output of OUT that few rows of TABLE know is learnt again, from these rows alone; where that
 * misses less on rows held out it becomes one of out->per_output, and HELD has what it said of
 * them. 0; -1 with ERR.
 */
int ft_speedup_fit_per_output(const struct ft_speedup_table *table,
                              const struct ft_speedup_settings *settings,
                              struct ft_speedup_model *out, double *held, struct ft_error *err);

#endif
