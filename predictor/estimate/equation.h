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

/* Encodes LAW, which reads each of its variables, into EQUATION. */
void ft_equation_pack(const struct ft_law *law, ft_equation *equation);

#endif
