/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>
#include <string.h>

#include "predictor/core/text.h"
#include "predictor/estimate/point_prediction.h"
#include "predictor/online/series_record.h"
#include "predictor/record/run_columns.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

_Static_assert((int)FT_HISTORY_RUNS == (int)FT_SERIES_RUNS, "run_columns.h");
_Static_assert(COUNT(((ft_model *)NULL)->columns) == FT_SERIES_COLUMNS, "foretell.options");
_Static_assert(COUNT(((ft_column *)NULL)->categories) == FT_POINT_LEVELS, "foretell.options");
_Static_assert(COUNT(((ft_category_names *)NULL)->name) == FT_POINT_LEVELS, "foretell.options");
_Static_assert(COUNT(((ft_categories *)NULL)->columns) == FT_SERIES_COLUMNS, "foretell.options");
_Static_assert(COUNT(((ft_evaluator *)NULL)->residuals) == FT_SERIES_RUNS, "foretell.options");
_Static_assert(COUNT(((ft_evaluator *)NULL)->needs) == FT_SERIES_RUNS, "foretell.options");
_Static_assert(COUNT(((ft_evaluator *)NULL)->terms) == FT_SERIES_COLUMNS, "foretell.options");
_Static_assert(COUNT(((ft_evaluator *)NULL)->baselines) == FT_BASELINES, "foretell.options");
_Static_assert(COUNT(((ft_products *)NULL)->columns.bytes) == FT_POSYNOMIAL_COLUMNS &&
                   COUNT(((ft_products *)NULL)->coefficients) == FT_POSYNOMIAL_TERMS,
               "foretell.options");

/* Copies COUNT elements of an array to one of the same type. */
#define COPY(to, from, count) memcpy(to, from, (count) * sizeof *(to))

void ft_series_run_read_x(const float *x, size_t count, struct ft_series_run *run)
{
  COPY(run->x, x, count);
  run->units = 1;
  for (size_t j = count; j < FT_SERIES_COLUMNS; j++)
    run->x[j] = NAN;
}

void ft_series_read_columns(const ft_column *columns, size_t count, struct ft_series *s)
{
  s->by_many = s->shifts = s->by_unit = false;
  s->unit_column = FT_SERIES_COLUMNS;
  s->columns = count;
  for (size_t j = 0; j < count; j++)
    s->levels[j] = columns[j].categorical ? columns[j].categories_count : 0;
}

/* ---- reading ---- */

static void read_baseline(const ft_baseline *from, struct ft_series_baseline *to)
{
  to->factor = from->factor;
  to->intercept = from->intercept;
  to->slope = from->slope;
  to->min_prediction = from->min_prediction;
  to->needs_count = from->needs_count;
  COPY(to->needs, from->needs, from->needs_count);
  COPY(to->runs, from->runs.bytes, from->runs.size);
}

void ft_series_read_evaluator(const ft_evaluator *e, struct ft_series *s)
{
  struct ft_series_fit *fit = &s->fit;

  s->calibration = (struct ft_calibration){ e->log_interval_scale, e->cohorts, e->cohort_ended };
  ft_point_model_read(e, &fit->point);
  (void)ft_string_copy(e->method, fit->method, sizeof fit->method);
  fit->residuals_count = e->residuals_count;
  COPY(fit->residuals, e->residuals, e->residuals_count);
  fit->max_value = e->max_value;
  fit->bound_value = e->bound_value;
  fit->has_bound_log = e->has_bound_log;
  fit->bound_log = e->bound_log;
  fit->fitted = e->fitted;
  fit->stopped = e->stopped;
  fit->followed = e->followed;
  fit->has_primary_column = e->has_primary_column;
  fit->primary_column = e->primary_column;
  /* without all lists the needs belong to no runs, and the next update fits */
  fit->needs_count = e->seconds_count == e->needs_count && e->ages.size == e->needs_count &&
                             e->covariates_count == e->needs_count
                         ? e->needs_count
                         : 0;
  COPY(fit->needs, e->needs, fit->needs_count);
  COPY(fit->covariates, e->covariates, fit->needs_count);
  COPY(fit->seconds, e->seconds, fit->needs_count);
  COPY(fit->ages, e->ages.bytes, fit->needs_count);
  fit->baselines_count = e->baselines_count;
  for (size_t v = 0; v < e->baselines_count; v++)
    read_baseline(&e->baselines[v], &fit->baselines[v]);
}

/* ---- writing ---- */

static void write_term(const struct ft_point_term *from, ft_term *to)
{
  *to = (ft_term){ .column = from->column,
                   .form = (uint8_t)from->form,
                   .mean = from->mean,
                   .scale = from->scale,
                   .coefficient = from->coefficient,
                   .levels_count = (pb_size_t)from->levels_count,
                   .low = from->low,
                   .high = from->high,
                   .has_aliased_with = from->aliased,
                   .aliased_with = from->aliased_with };
  COPY(to->levels, from->levels, from->levels_count);
}

static void write_baseline(const struct ft_series_baseline *from, ft_baseline *to)
{
  to->factor = from->factor;
  to->intercept = from->intercept;
  to->slope = from->slope;
  to->min_prediction = from->min_prediction;
  to->needs_count = to->runs.size = (pb_size_t)from->needs_count;
  COPY(to->needs, from->needs, from->needs_count);
  COPY(to->runs.bytes, from->runs, from->needs_count);
}

static void write_products(const struct ft_posynomial *from, ft_products *to)
{
  pb_size_t powers = 0;

  to->columns.size = (pb_size_t)from->columns;
  COPY(to->columns.bytes, from->column, from->columns);
  to->coefficients_count = (pb_size_t)from->terms;
  for (size_t t = 0; t < from->terms; t++) {
    to->coefficients[t] = from->term[t].coefficient;
    for (size_t c = 0; c < from->columns; c++)
      to->powers.bytes[powers++] = (pb_byte_t)(from->term[t].power[c] + FT_PRODUCTS_POWER_0);
  }
  to->powers.size = powers;
}

void ft_series_write_evaluator(const struct ft_series *s, ft_evaluator *e)
{
  const struct ft_series_fit *fit = &s->fit;

  e->log_interval_scale = s->calibration.log_scale;
  e->cohorts = s->calibration.cohorts;
  e->cohort_ended = s->calibration.cohort_ended;
  (void)ft_string_copy(fit->method, e->method, sizeof e->method);
  e->log_target = fit->point.log_target;
  e->by_equation = fit->point.by_law;
  e->per_task = fit->point.per_unit;
  e->intercept = fit->point.intercept;
  e->equation_shift = fit->point.law_shift;
  e->terms_count = (pb_size_t)fit->point.terms_count;
  for (size_t i = 0; i < fit->point.terms_count; i++)
    write_term(&fit->point.terms[i], &e->terms[i]);
  e->has_products = fit->point.products.columns > 0;
  write_products(&fit->point.products, &e->products);
  e->residuals_count = (pb_size_t)fit->residuals_count;
  COPY(e->residuals, fit->residuals, fit->residuals_count);
  e->max_value = fit->max_value;
  e->bound_value = fit->bound_value;
  e->has_bound_log = fit->has_bound_log;
  e->bound_log = fit->bound_log;
  e->fitted = fit->fitted;
  e->stopped = fit->stopped;
  e->followed = fit->followed;
  e->has_primary_column = fit->has_primary_column;
  e->primary_column = fit->primary_column;
  e->needs_count = e->covariates_count = e->seconds_count = e->ages.size =
      (pb_size_t)fit->needs_count;
  COPY(e->needs, fit->needs, fit->needs_count);
  COPY(e->covariates, fit->covariates, fit->needs_count);
  COPY(e->seconds, fit->seconds, fit->needs_count);
  COPY(e->ages.bytes, fit->ages, fit->needs_count);
  e->baselines_count = (pb_size_t)fit->baselines_count;
  for (size_t v = 0; v < fit->baselines_count; v++)
    write_baseline(&fit->baselines[v], &e->baselines[v]);
}
