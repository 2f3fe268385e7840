/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Selects the facts of an app's runs that decisions use beside the estimate (estimate/facts.h). */
#ifndef FT_ONLINE_FACTS_H
#define FT_ONLINE_FACTS_H

#include "predictor/record/record.h"

/*
 * Writes the facts of MODEL's history into its evaluator, and the columns that may explain its
 * memory: those used by the point prediction, and categories not yet shown to be irrelevant. Needs
 * the evaluator's terms and the history's residuals. Pure; takes some 10 microseconds.
 */
void ft_facts_fill(ft_model *model);

#endif
