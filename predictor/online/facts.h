/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The facts of an app's runs, which decisions respect beside the estimate (estimate/facts.h). */
#ifndef FT_ONLINE_FACTS_H
#define FT_ONLINE_FACTS_H

#include "predictor/record/record.h"

/*
 * Writes the facts of MODEL's history into its evaluator, and which columns may explain its memory:
 * those that move the centre, and categories of which few runs have not yet shown that they do
 * not matter. Needs the evaluator's terms and the residuals of the history. Pure; some 10
 * microseconds.
 */
void ft_facts_fill(ft_model *model);

#endif
