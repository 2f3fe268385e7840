/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "predictor/core/hash.h"
#include "predictor/core/text.h"
#include "predictor/core/units.h"
#include "predictor/estimate/equation.h"
#include "predictor/estimate/point_prediction.h"

/* Largest number of tasks on a node that counts. */
#define MAX_TASKS 65536

void ft_column_category(const ft_feature *feature, char out[40])
{
  enum { PREFIX = 22 }; /* bytes of a long category, before "~" and 16 digits of its hash */

  if (feature->has_number && !feature->category[0])
    (void)snprintf(out, 40, "%.9g", feature->number);
  else if (!ft_string_copy(feature->category, out, 40))
    (void)snprintf(out + PREFIX, 40 - PREFIX, "~%016" PRIx64,
                   ft_hash64(FT_HASH_SEED, feature->category, strlen(feature->category)));
}

int ft_column_level(const ft_column *column, const char *category)
{
  uint64_t hash = ft_category_hash(category);

  for (size_t l = 0; l < column->categories_count; l++)
    if (column->categories[l] == hash)
      return (int)l;
  return -1;
}

double ft_tasks_per_node(const ft_feature *features, size_t count)
{
  const ft_feature *tasks = ft_feature_find(features, count, FT_FEATURE_TASKS);
  const ft_feature *nodes = ft_feature_find(features, count, FT_FEATURE_NODES);
  double per_node = tasks && tasks->has_number ? tasks->number : 1;

  if (nodes && nodes->has_number && nodes->number > 1)
    per_node = ceil(per_node / nodes->number);
  return per_node > 1 && per_node < MAX_TASKS ? per_node : 1;
}

size_t ft_tasks_column(const ft_column *columns, size_t count)
{
  size_t j = 0;

  while (j < count && (columns[j].categorical || strcmp(columns[j].name, FT_FEATURE_TASKS) != 0))
    j++;
  return j < count ? j : FT_POINT_COLUMNS;
}

void ft_columns_fill(const ft_column *columns, size_t column_count, const ft_feature *features,
                     size_t count, float *x)
{
  char category[40];

  for (size_t j = 0; j < column_count; j++) {
    const ft_feature *f = ft_feature_find(features, count, columns[j].name);

    x[j] = NAN;
    if (!f)
      continue;
    if (columns[j].categorical) {
      ft_column_category(f, category);
      x[j] = (float)ft_column_level(&columns[j], category);
    } else if (f->has_number && isfinite(f->number)) {
      x[j] = (float)fmin(fmax(f->number, -1e30), 1e30);
    }
  }
  if (ft_tasks_column(columns, column_count) < column_count)
    x[ft_tasks_column(columns, column_count)] = (float)ft_tasks_per_node(features, count);
}

/* Fills TERM from the record T. */
static void read_point_term(const ft_term *t, struct ft_point_term *term)
{
  *term = (struct ft_point_term){ .column = t->column,
                                  .form = t->form < FT_FORMS ? (enum ft_term_form)t->form
                                                             : FT_FORM_PLAIN,
                                  .aliased = t->has_aliased_with,
                                  .aliased_with = t->aliased_with,
                                  .mean = t->mean,
                                  .scale = t->scale,
                                  .coefficient = t->coefficient,
                                  .low = t->low,
                                  .high = t->high,
                                  .levels_count = t->levels_count };
  memcpy(term->levels, t->levels, t->levels_count * sizeof *t->levels);
}

static void read_products(const ft_products *from, struct ft_posynomial *to)
{
  size_t powers = 0;

  to->columns = from->columns.size;
  memcpy(to->column, from->columns.bytes, to->columns);
  to->terms = from->coefficients_count;
  for (size_t t = 0; t < to->terms; t++) {
    to->term[t].coefficient = from->coefficients[t];
    for (size_t c = 0; c < to->columns; c++)
      to->term[t].power[c] = (int8_t)(from->powers.bytes[powers++] - FT_PRODUCTS_POWER_0);
  }
}

void ft_point_model_read(const ft_evaluator *e, struct ft_point_model *model)
{
  model->log_target = e->log_target;
  model->by_law = e->by_equation;
  model->intercept = e->intercept;
  model->law_shift = e->equation_shift;
  model->per_unit = e->per_task;
  model->unit_column = FT_POINT_COLUMNS;
  if (!e->has_equation || !ft_equation_open(&e->equation, &model->law))
    model->law.code.length = 0;
  model->products = (struct ft_posynomial){ 0 };
  if (e->has_products)
    read_products(&e->products, &model->products);
  model->terms_count = e->terms_count;
  for (size_t i = 0; i < e->terms_count; i++)
    read_point_term(&e->terms[i], &model->terms[i]);
}

void ft_predict_point(const ft_evaluator *e, const float *x, size_t count,
                      struct ft_point_prediction *out)
{
  struct ft_point_model model;

  ft_point_model_read(e, &model);
  ft_point_predict(&model, x, count, 1, out);
}

double ft_predict_submission(const ft_model *model, const ft_feature *features, size_t count,
                             float x[FT_POINT_COLUMNS], struct ft_point_prediction *out)
{
  double tasks = model->evaluator.per_task ? ft_tasks_per_node(features, count) : 1;
  struct ft_point_model point;

  ft_columns_fill(model->columns, model->columns_count, features, count, x);
  ft_point_model_read(&model->evaluator, &point);
  point.unit_column = ft_tasks_column(model->columns, model->columns_count);
  ft_point_predict(&point, x, model->columns_count, tasks, out);
  return tasks;
}

bool ft_term_has_effect(const ft_term *t)
{
  struct ft_point_term term;

  read_point_term(t, &term);
  return ft_point_has_effect(&term);
}

bool ft_point_prediction_uses(const ft_evaluator *e, size_t column)
{
  for (size_t i = 0; i < e->terms_count; i++)
    if (e->terms[i].column == column && ft_term_has_effect(&e->terms[i]))
      return true;
  for (size_t c = 0; e->has_products && !e->by_equation && c < e->products.columns.size; c++)
    if (e->products.columns.bytes[c] == column)
      return true;
  for (size_t v = 0; e->by_equation && v < e->equation.columns_count; v++)
    if (e->equation.columns[v] == column)
      return true;
  return false;
}

struct ft_calibration ft_evaluator_calibration(const ft_evaluator *e)
{
  return (struct ft_calibration){ e->log_interval_scale, e->cohorts, e->cohort_ended };
}

double ft_evaluator_interval(const ft_evaluator *e, const struct ft_quantity *quantity,
                             uint32_t completed, const struct ft_point_prediction *centre,
                             bool unwidened, double log_quantile[FT_INTERVAL_LEVELS])
{
  const struct ft_interval_question q = { .residual = e->residuals,
                                          .residuals = e->residuals_count,
                                          .completed = completed,
                                          .has_bound = e->has_bound_log,
                                          .unwidened = unwidened,
                                          .calibration = ft_evaluator_calibration(e),
                                          .prior = quantity->prior.deviation,
                                          .min_deviation = quantity->prior.min_fraction +
                                                           quantity->prior.min_value /
                                                               exp(fmax(centre->log, log(FT_MIB))),
                                          .added_variance = centre->added_variance };

  return ft_interval_find(&q, log_quantile);
}
