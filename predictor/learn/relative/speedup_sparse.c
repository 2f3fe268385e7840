/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The joint fit fills missing outputs from the other outputs, without the features. If most of an
 * output is missing, the imputed values outweigh the observed ones. Such an output is also fitted
 * to its observed rows only, and the held-out error decides. With too few rows for cross-validation
 * its mean is used.
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/learn/relative/speedup_sparse.h"

enum {
  MIN_ROWS = 4,                       /* fewest rows for a held-out comparison */
  MAX_ROWS = FT_GAUSSIAN_PROCESS_ROWS /* most rows of a separately fitted output; bounds time */
};

/* Table of the rows in which one output is known. */
struct part {
  double *x, *y, *held_out;
  size_t *group, *row; /* row: index in the whole table */
  size_t rows;
};

static void part_free(struct part *p)
{
  free(p->x);
  free(p->y);
  free(p->held_out);
  free(p->group);
  free(p->row);
}

static int part_create(const struct ft_speedup_table *t, size_t output, size_t known,
                       struct part *p, struct ft_error *err)
{
  *p = (struct part){ .x = calloc(known * t->columns, sizeof *p->x),
                      .y = calloc(known, sizeof *p->y),
                      .held_out = calloc(known, sizeof *p->held_out),
                      .group = calloc(known, sizeof *p->group),
                      .row = calloc(known, sizeof *p->row) };
  if (!p->x || !p->y || !p->held_out || !p->group || !p->row)
    return ft_error_set(err, "out of memory");
  for (size_t r = 0; r < t->rows && p->rows < known; r++) {
    if (isnan(t->y[r * t->outputs + output]))
      continue;
    memcpy(p->x + p->rows * t->columns, t->x + r * t->columns, t->columns * sizeof *p->x);
    p->y[p->rows] = t->y[r * t->outputs + output];
    p->group[p->rows] = t->group[r];
    p->row[p->rows++] = r;
  }
  return 0;
}

/* Returns the sum of held-out absolute errors of OUTPUT in P with the joint model, minus that with
 * the separate model. */
static double held_out_gain(const struct ft_speedup_table *t, size_t output, const struct part *p,
                            const double *held_out)
{
  double sum = 0;

  for (size_t i = 0; i < p->rows; i++)
    sum +=
        fabs(p->y[i] - held_out[p->row[i] * t->outputs + output]) - fabs(p->y[i] - p->held_out[i]);
  return sum;
}

static int try_own_model(const struct ft_speedup_table *t, size_t output, size_t known,
                         const struct ft_speedup_settings *settings, struct ft_speedup_model *out,
                         double *held_out, struct ft_error *err)
{
  struct ft_speedup_model *own = &out->per_output[out->per_output_count];
  struct part p;
  bool validated = false;
  int status = part_create(t, output, known, &p, err);

  if (status == 0) {
    const struct ft_speedup_table table = { p.x, p.y, p.group, p.rows, t->columns, 1 };

    status = ft_speedup_fit_mixture(&table, settings, own, p.held_out, &validated, err);
    if (status == 0 &&
        (known < MIN_ROWS || (validated && held_out_gain(t, output, &p, held_out) > 0))) {
      for (size_t i = 0; validated && i < p.rows; i++)
        held_out[p.row[i] * t->outputs + output] = p.held_out[i];
      out->per_output_index[out->per_output_count++] = output;
      own = NULL;
    }
    ft_speedup_free(own);
  }
  part_free(&p);
  return status;
}

int ft_speedup_fit_per_output(const struct ft_speedup_table *t,
                              const struct ft_speedup_settings *settings,
                              struct ft_speedup_model *out, double *held_out, struct ft_error *err)
{
  struct ft_speedup_settings quick = *settings;

  for (int l = 0; l < FT_LEARNERS; l++)
    if (ft_learner_slow((enum ft_learner_kind)l))
      quick.learners &= ~(1u << l);
  for (size_t o = 0; o < t->outputs; o++) {
    size_t known = 0;

    for (size_t r = 0; r < t->rows; r++)
      known += !isnan(t->y[r * t->outputs + o]);
    if (known < 1 || known > MAX_ROWS || 2 * known > t->rows)
      continue;
    if (!out->per_output && !(out->per_output = calloc(t->outputs, sizeof *out->per_output)))
      return ft_error_set(err, "out of memory");
    if (try_own_model(t, o, known, &quick, out, held_out, err) < 0)
      return -1;
  }
  return 0;
}
