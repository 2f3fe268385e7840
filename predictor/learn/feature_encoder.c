/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "predictor/learn/feature_encoder.h"
#include "predictor/learn/number_stream.h"

/* Ratio of the largest to the smallest positive value above which a column is encoded as a
 * logarithm. Half and twice were compared. */
#define MIN_SPAN 10
/* Clamp of an encoded value, in standard deviations. */
#define MAX_DEVIATIONS 6

/* Returns X or its logarithm, as column C is encoded; NAN: missing or not positive. */
static double raw_or_log(const struct ft_feature_encoder_column *c, double x)
{
  if (isnan(x) || !c->log_scale)
    return x;
  return x + c->offset > 0 ? log(x + c->offset) : NAN;
}

static double standardise_clamped(double value, double mean, double deviation)
{
  if (isnan(value) || !(deviation > 0))
    return 0;
  return fmin(fmax((value - mean) / deviation, -MAX_DEVIATIONS), MAX_DEVIATIONS);
}

/* Running mean and sum of squared deviations (Welford 1962). */
struct moments {
  double mean, squares, count;
};

static void add_moment(struct moments *m, double value)
{
  double delta;

  if (isnan(value))
    return;
  m->count++;
  delta = value - m->mean;
  m->mean += delta / m->count;
  m->squares += delta * (value - m->mean);
}

static void finish_moments(const struct moments *m, double *mean, double *deviation)
{
  *mean = m->mean;
  *deviation = m->count > 1 ? sqrt(m->squares / m->count) : 0;
  if (*deviation < 1e-9 * fmax(1, fabs(*mean)))
    *deviation = 0;
}

static void fit_encoder_column(const double *x, size_t rows, size_t raw,
                               struct ft_feature_encoder_column *c)
{
  double smallest = INFINITY, low = INFINITY, high = -INFINITY;
  struct moments m = { 0 };

  for (size_t r = 0; r < rows; r++) {
    double v = x[r * raw];

    c->indicator |= isnan(v);
    low = fmin(low, v); /* fmin ignores NAN */
    high = fmax(high, v);
    if (v > 0)
      smallest = fmin(smallest, v);
  }
  c->log_scale = low >= 0 && high > MIN_SPAN * smallest;
  c->offset = c->log_scale && low < smallest ? smallest : 0;
  for (size_t r = 0; r < rows; r++)
    add_moment(&m, raw_or_log(c, x[r * raw]));
  finish_moments(&m, &c->mean, &c->deviation);
}

int ft_feature_encoder_fit(const double *x, size_t rows, size_t raw, struct ft_feature_encoder *e,
                           struct ft_error *err)
{
  *e = (struct ft_feature_encoder){ .raw = raw, .plain = raw };
  e->column = calloc(raw ? raw : 1, sizeof *e->column);
  if (!e->column)
    return ft_error_set(err, "features: out of memory");
  for (size_t c = 0; c < raw; c++) {
    fit_encoder_column(x + c, rows, raw, &e->column[c]);
    e->plain += e->column[c].indicator;
  }
  e->columns = e->plain;
  return 0;
}

static double log_difference(const struct ft_feature_encoder *e,
                             const struct ft_feature_encoder_pair *p, const double *row)
{
  return raw_or_log(&e->column[p->a], row[p->a]) - raw_or_log(&e->column[p->b], row[p->b]);
}

/* Adds the difference of the logarithms of raw columns A and B. */
static void add_difference(struct ft_feature_encoder *e, const double *x, size_t rows, uint32_t a,
                           uint32_t b)
{
  struct ft_feature_encoder_pair *p = &e->pair[e->pairs + e->rates];
  struct moments m = { 0 };

  *p = (struct ft_feature_encoder_pair){ .a = a, .b = b };
  for (size_t r = 0; r < rows; r++)
    add_moment(&m, log_difference(e, p, x + r * e->raw));
  finish_moments(&m, &p->mean, &p->deviation);
  e->columns++;
}

void ft_feature_encoder_add_pairs(struct ft_feature_encoder *e, const double *x, size_t rows,
                                  const uint32_t *column, size_t count)
{
  for (size_t i = 0; i < count; i++)
    for (size_t j = 0; j < i && e->pairs < FT_FEATURE_ENCODER_PAIRS; j++) {
      add_difference(e, x, rows, column[j], column[i]);
      e->pairs++;
    }
}

void ft_feature_encoder_add_rates(struct ft_feature_encoder *e, const double *x, size_t rows)
{
  for (uint32_t c = 1; e->column[0].log_scale && c < e->raw && e->rates < FT_FEATURE_ENCODER_RATES;
       c++)
    if (e->column[c].log_scale) {
      add_difference(e, x, rows, 0, c);
      e->rates++;
    }
}

void ft_feature_encoder_row(const struct ft_feature_encoder *e, const double *row, double *out)
{
  size_t next = e->raw;

  for (size_t c = 0; c < e->raw; c++) {
    const struct ft_feature_encoder_column *column = &e->column[c];

    out[c] = standardise_clamped(raw_or_log(column, row[c]), column->mean, column->deviation);
    if (column->indicator)
      out[next++] = isnan(row[c]) ? 1 : 0;
  }
  for (size_t p = 0; p < e->pairs + e->rates; p++)
    out[next++] = standardise_clamped(log_difference(e, &e->pair[p], row), e->pair[p].mean,
                                      e->pair[p].deviation);
}

int ft_feature_encoder_serialise(struct ft_number_stream *s, size_t raw,
                                 struct ft_feature_encoder *e, struct ft_error *err)
{
  if (!s->out)
    e->column = calloc(raw ? raw : 1, sizeof *e->column);
  if (!e->column || !raw)
    return ft_error_set(err, "features: none, or out of memory");
  e->raw = e->plain = raw;
  for (size_t c = 0; c < raw; c++) {
    struct ft_feature_encoder_column *column = &e->column[c];

    ft_number_stream_bool(s, &column->log_scale);
    ft_number_stream_bool(s, &column->indicator);
    ft_number_stream_double(s, &column->offset);
    ft_number_stream_double(s, &column->mean);
    ft_number_stream_double(s, &column->deviation);
    e->plain += column->indicator;
  }
  ft_number_stream_count(s, &e->pairs, 0, FT_FEATURE_ENCODER_PAIRS);
  ft_number_stream_count(s, &e->rates, 0, FT_FEATURE_ENCODER_RATES);
  for (size_t p = 0; p < e->pairs + e->rates; p++) {
    ft_number_stream_index(s, &e->pair[p].a, 0, raw - 1);
    ft_number_stream_index(s, &e->pair[p].b, 0, raw - 1);
    ft_number_stream_double(s, &e->pair[p].mean);
    ft_number_stream_double(s, &e->pair[p].deviation);
  }
  e->columns = e->plain + e->pairs + e->rates;
  return s->failed ? ft_error_set(err, "features: cut short or out of range") : 0;
}

void ft_feature_encoder_free(struct ft_feature_encoder *e)
{
  if (!e)
    return;
  free(e->column);
  *e = (struct ft_feature_encoder){ 0 };
}
