/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The columns of a model: which features its runs had, and which categories. */
#ifndef FT_ONLINE_COLUMNS_H
#define FT_ONLINE_COLUMNS_H

#include "predictor/record/record.h"

/* The columns of a model, and what uses them. */
struct ft_column_table {
  ft_column *columns; /* COUNT of at most 24 */
  pb_size_t *count;
  ft_categories *names;  /* of the categories; NULL: they are not kept */
  ft_equation *equation; /* loses its code if it reads what gets another meaning; NULL: none */
  const void *model;     /* for has_value */
  /* Returns whether a run of MODEL has VALUE (NaN: any value) in COLUMN. */
  bool (*has_value)(const void *model, size_t column, float value);
};

/* Adds columns and categories of the COUNT FEATURES to TABLE; if it is full, in place of unused
 * ones. Returns whether the meaning of any changed. */
bool ft_columns_add(struct ft_column_table *table, const ft_feature *features, size_t count);

/* Returns whether X, the COUNT column values of a run, has VALUE (NaN: any value) in COLUMN. */
static inline bool ft_column_has_value(const float *x, size_t count, size_t column, float value)
{
  return column < count && (value == x[column] || (value != value && x[column] == x[column]));
}

#endif
