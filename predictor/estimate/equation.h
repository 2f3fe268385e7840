/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Equation of a model: decodes it from the model's record, and encodes it. */
#ifndef FT_ESTIMATE_EQUATION_H
#define FT_ESTIMATE_EQUATION_H

#include <stdbool.h>
#include <stddef.h>

#include "predictor/learn/series/law.h"
#include "predictor/record/record.h"

/*
 * Decodes EQUATION into LAW. Returns whether LAW is valid; false if EQUATION is empty or invalid.
 * Allocates nothing; about 50 ns.
 */
bool ft_equation_open(const ft_equation *equation, struct ft_law *law);

/*
 * Encodes CODE, a valid expression of VARIABLES, into EQUATION, without the variables that CODE
 * does not read. Returns false, and leaves EQUATION without code, if CODE reads more than 12
 * variables.
 */
bool ft_equation_pack(const struct ft_expression *code, const struct ft_variable *variables,
                      ft_equation *equation);

#endif
