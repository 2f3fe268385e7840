/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Prints the equation of an app's model in readable units. */
#ifndef FT_CLI_MODEL_EQUATION_H
#define FT_CLI_MODEL_EQUATION_H

#include <jansson.h>

#include "predictor/core/buf.h"
#include "predictor/record/run_columns.h"

/* Prints MODEL's equation with the names of its CATEGORIES; nothing if it has none. Returns 0; -1
 * past OUT's limit. */
int ft_show_equation(const ft_model *model, const ft_categories *categories, bool latex,
                     struct ft_buf *out);

/* Returns a new object with "equation", "latex", "error", "runs", "fitted" and "used"; null if
 * MODEL has no equation. */
json_t *ft_equation_json(const ft_model *model, const ft_categories *categories);

#endif
