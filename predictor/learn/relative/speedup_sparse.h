/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Models of single outputs that few rows have, such as a new platform. */
#ifndef FT_LEARN_SPEEDUP_SPARSE_H
#define FT_LEARN_SPEEDUP_SPARSE_H

#include "predictor/learn/relative/speedup_model.h"

/*
 * Fits the mixture of OUT to TABLE. HELD_OUT, one number per element of table->y, gets the held-out
 * predictions; 0 if settings->unvalidated or if there are too few rows. VALIDATED: set to whether
 * rows were held out. Returns 0; -1 on error and fills ERR.
 */
int ft_speedup_fit_mixture(const struct ft_speedup_table *table,
                           const struct ft_speedup_settings *settings, struct ft_speedup_model *out,
                           double *held_out, bool *validated, struct ft_error *err);

/*
 * Fits a separate model to each output that few rows of TABLE have, from these rows only. If its
 * held-out error is smaller, the model is added to out->per_output and its predictions replace
 * those in HELD_OUT. Returns 0; -1 on error and fills ERR.
 */
int ft_speedup_fit_per_output(const struct ft_speedup_table *table,
                              const struct ft_speedup_settings *settings,
                              struct ft_speedup_model *out, double *held_out, struct ft_error *err);

#endif
