/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>

#include "predictor/core/text.h"
#include "predictor/estimate/point_prediction.h"
#include "predictor/online/columns.h"

/* Limits of a model (foretell.options). */
enum { MAX_COLUMNS = FT_POINT_COLUMNS, MAX_LEVELS = FT_POINT_LEVELS };

/* Discards the equation if it reads the category LEVEL - 1 of column INDEX, with LEVEL 0 any value,
 * because the meaning of the column or category changes. */
static void discard_equation(struct ft_column_table *t, size_t index, size_t level)
{
  ft_equation *q = t->equation;

  for (size_t v = 0; q && v < q->columns_count; v++)
    if (q->columns[v] == index && (!level || q->levels[v] == level))
      q->code.size = q->columns_count = q->levels_count = q->scales_count = 0;
}

/* Returns the column of FEATURE. A new feature gets a free or unused column and sets *CHANGED.
 * Returns NULL if there is none. */
static ft_column *find_or_add_column(struct ft_column_table *t, const ft_feature *feature,
                                     bool *changed)
{
  size_t j = FT_ROWS_FIND_INLINED(t->columns, *t->count, feature->name);

  if (j < *t->count)
    return &t->columns[j];
  if (*t->count < MAX_COLUMNS)
    ++*t->count;
  else
    for (j = 0; j < MAX_COLUMNS && t->has_value(t->model, j, NAN);)
      j++;
  if (j == MAX_COLUMNS)
    return NULL;
  *changed = true;
  discard_equation(t, j, 0);
  t->columns[j] = (ft_column){ .categorical = !feature->has_number };
  (void)ft_string_copy(feature->name, t->columns[j].name, sizeof t->columns[j].name);
  if (t->names) {
    t->names->columns_count = *t->count;
    t->names->columns[j].name_count = 0;
  }
  return &t->columns[j];
}

/* Adds FEATURE's category to COLUMN. Returns whether a level's meaning changed. */
static bool add_level(struct ft_column_table *t, ft_column *column, const ft_feature *feature)
{
  size_t index = (size_t)(column - t->columns), level;
  char category[sizeof *t->names->columns->name];

  ft_column_category(feature, category);
  if (ft_column_level(column, category) >= 0)
    return false;
  for (level = 0; level < column->categories_count; level++)
    if (column->categories_count == MAX_LEVELS && !t->has_value(t->model, index, (float)level))
      break;
  if (level == MAX_LEVELS)
    return false;
  discard_equation(t, index, level + 1);
  column->categories[level] = ft_category_hash(category);
  if (level == column->categories_count)
    column->categories_count++;
  if (t->names) {
    ft_category_names *names = &t->names->columns[index];

    (void)ft_string_copy(category, names->name[level], sizeof *names->name);
    names->name_count = column->categories_count;
  }
  return true;
}

bool ft_columns_add(struct ft_column_table *t, const ft_feature *features, size_t count)
{
  bool changed = false;

  for (size_t i = 0; i < count; i++) {
    ft_column *column = find_or_add_column(t, &features[i], &changed);

    if (column && column->categorical)
      changed |= add_level(t, column, &features[i]);
  }
  return changed;
}
