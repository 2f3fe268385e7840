/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Selects the facts of an app's runs that decisions use in addition to the estimate
 * (estimate/facts.h). */
#ifndef FT_ONLINE_FACTS_H
#define FT_ONLINE_FACTS_H

#include "predictor/online/need.h"
#include "predictor/record/record.h"

/*
 * Sets the facts of MODEL's evaluator from what NEED_OF says of HISTORY, and the columns that
 * may explain the memory: those used by the point prediction, and categories not yet shown to be
 * irrelevant. The evaluator's terms and the history's residuals must be set. Pure; takes some 10
 * microseconds.
 */
void ft_facts_fill(ft_model *model, const struct ft_history *history, ft_need_of *need_of);

#endif
