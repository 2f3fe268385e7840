/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>
#include <string.h>

#include "predictor/estimate/facts.h"
#include "predictor/estimate/point_prediction.h"
#include "predictor/online/facts.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum {
  FACTS = COUNT(((ft_evaluator *)NULL)->fact_bytes),
  FACT_COLUMNS = COUNT(((ft_evaluator *)NULL)->fact_columns),
  COLUMNS = COUNT(((ft_model *)NULL)->columns),
  RUNS = COUNT(((ft_model *)NULL)->history),
  NEWEST = FACTS / 2, /* facts that are kept however little they needed */
  FITTED_RUNS = 20    /* completed runs from which on the fit alone says which categories matter */
};

/* ---- which runs ---- */

/* Marks the newest runs, and of the older ones those that needed most beside the centre. */
static void choose_runs(const ft_model *model, bool *chosen)
{
  size_t count = model->history_count, newest = count < FACTS ? count : NEWEST;
  size_t most[FACTS], found = 0; /* of the older ones, by falling residual */

  for (size_t i = 0; i < count; i++) {
    float residual = model->history[i].residual;
    size_t at;

    chosen[i] = i + newest >= count;
    if (chosen[i] || (found == FACTS - newest &&
                      (!found || residual <= model->history[most[found - 1]].residual)))
      continue;
    found += found < FACTS - newest;
    for (at = found - 1; at > 0 && residual > model->history[most[at - 1]].residual; at--)
      most[at] = most[at - 1];
    most[at] = i;
  }
  for (size_t i = 0; i < found; i++)
    chosen[most[i]] = true;
}

static ft_fact_kind kind_of(const ft_run *run)
{
  if (run->killed_by == FT_KILLED_BY_LIMIT)
    return FT_FACT_KILLED;
  if (run->killed_by == FT_KILLED_BY_STEP_LIMIT)
    return FT_FACT_STEP_LIMITED;
  return run->censored ? FT_FACT_STOPPED : FT_FACT_COMPLETED;
}

/* ---- which columns ---- */

static float value_of(const ft_run *run, size_t column)
{
  return column < run->x_count ? run->x[column] : NAN;
}

static bool is_alike(const ft_model *model, size_t column, const ft_run *a, const ft_run *b)
{
  return ft_facts_alike(&model->columns[column], (double)value_of(a, column),
                        (double)value_of(b, column));
}

enum comparison { UNDECIDED, AGREED, DIFFERED };

/* Whether A and B have needed the same. One that did not complete needed at least its bound. */
static enum comparison compare_needs(const ft_run *a, const ft_run *b)
{
  double need_a = ft_facts_bound(kind_of(a), a->bytes);
  double need_b = ft_facts_bound(kind_of(b), b->bytes);

  if (a->censored && b->censored)
    return UNDECIDED;
  if (a->censored)
    return need_a > FT_FACTS_FACTOR * need_b ? DIFFERED : UNDECIDED;
  if (b->censored)
    return need_b > FT_FACTS_FACTOR * need_a ? DIFFERED : UNDECIDED;
  return fmax(need_a, need_b) <= FT_FACTS_FACTOR * fmin(need_a, need_b) ? AGREED : DIFFERED;
}

/* Whether A and B are comparable in the columns that are known to explain the memory. */
static bool are_comparable(const ft_model *model, const ft_run *a, const ft_run *b)
{
  const ft_evaluator *e = &model->evaluator;

  for (size_t c = 0; c < e->facts_explained; c++)
    if (!is_alike(model, e->fact_columns[c], a, b))
      return false;
  return true;
}

/* What pairs of runs say of a column. */
struct pairs {
  unsigned alike_agreed, alike_differed; /* alike in it: have they needed the same? */
  unsigned apart_agreed, apart_differed; /* not alike in it */
};

static struct pairs compare_pairs(const ft_model *model, const bool *chosen, size_t column)
{
  struct pairs p = { 0 };

  for (size_t i = 0; i < model->history_count; i++)
    for (size_t k = 0; k < i; k++) {
      const ft_run *a = &model->history[i], *b = &model->history[k];
      enum comparison needs = compare_needs(a, b);
      bool alike, agreed = needs == AGREED;

      if (!chosen[i] || !chosen[k] || needs == UNDECIDED || !are_comparable(model, a, b))
        continue;
      alike = is_alike(model, column, a, b);
      *(alike ? agreed ? &p.alike_agreed : &p.alike_differed
              : agreed ? &p.apart_agreed : &p.apart_differed) += 1;
    }
  return p;
}

static void add_column(ft_evaluator *e, size_t column)
{
  if (e->fact_columns_count < FACT_COLUMNS)
    e->fact_columns[e->fact_columns_count++] = (uint8_t)column;
}

/*
 * Of few runs the fit says little, and pairs of them more. A number explains the memory that runs
 * which are alike in it share, where others differ; one in which no two runs are alike may. A
 * category may matter until runs that differ in it, and are comparable else, have agreed.
 */
static void add_by_pairs(ft_model *model, const bool *chosen)
{
  ft_evaluator *e = &model->evaluator;
  size_t open[COLUMNS], opens = 0;
  bool explained = e->fact_columns_count > 0;

  for (size_t j = 0; j < model->columns_count && !explained; j++) {
    struct pairs p = { 0 };

    if (model->columns[j].categorical)
      continue;
    p = compare_pairs(model, chosen, j);
    if (p.apart_differed && p.alike_agreed && !p.alike_differed)
      add_column(e, j);
    else if (!p.alike_agreed && !p.alike_differed && !p.apart_agreed)
      open[opens++] = j;
  }
  e->facts_explained = e->fact_columns_count;
  for (size_t j = 0; j < model->columns_count; j++) {
    struct pairs p;

    if (!model->columns[j].categorical || ft_point_prediction_uses(e, j))
      continue;
    p = compare_pairs(model, chosen, j);
    if (!p.apart_agreed || p.apart_differed)
      add_column(e, j);
  }
  for (size_t i = 0; i < opens && !e->facts_explained; i++)
    add_column(e, open[i]);
}

/* Whether no two runs have differed, so that there is nothing to explain. */
static bool have_all_agreed(const ft_model *model, const bool *chosen)
{
  double least = INFINITY, most = 0;

  for (size_t i = 0; i < model->history_count; i++) {
    const ft_run *run = &model->history[i];

    if (!chosen[i])
      continue;
    if (!run->censored)
      least = fmin(least, run->bytes);
    most = fmax(most, ft_facts_bound(kind_of(run), run->bytes));
  }
  return most <= FT_FACTS_FACTOR * least;
}

static void choose_columns(ft_model *model, const bool *chosen)
{
  ft_evaluator *e = &model->evaluator;
  bool agreed = have_all_agreed(model, chosen);

  e->fact_columns_count = 0;
  for (size_t j = 0; j < model->columns_count && !agreed; j++)
    if (ft_point_prediction_uses(e, j))
      add_column(e, j);
  e->facts_explained = e->fact_columns_count;
  if (model->completed < FITTED_RUNS)
    add_by_pairs(model, chosen);
}

void ft_facts_fill(ft_model *model)
{
  ft_evaluator *e = &model->evaluator;
  bool chosen[RUNS];
  size_t count = 0;

  choose_runs(model, chosen);
  choose_columns(model, chosen);
  e->fact_x_count = 0;
  for (size_t i = 0; i < model->history_count; i++) {
    const ft_run *run = &model->history[i];

    if (!chosen[i])
      continue;
    e->fact_bytes[count] = (float)run->bytes;
    e->fact_kinds.bytes[count++] = (pb_byte_t)kind_of(run);
    for (size_t c = 0; c < e->fact_columns_count; c++)
      e->fact_x[e->fact_x_count++] = value_of(run, e->fact_columns[c]);
  }
  e->fact_bytes_count = (pb_size_t)count;
  e->fact_kinds.size = (pb_size_t)count;
}
