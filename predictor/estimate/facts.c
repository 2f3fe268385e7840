/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>
#include <string.h>

#include "predictor/core/sort.h"
#include "predictor/estimate/facts.h"
#include "predictor/estimate/point_prediction.h"
#include "predictor/estimate/variant.h"

/* A limit has grown if it exceeds this multiple of the largest earlier limit and peak. Chosen by
 * judgement. */
#define GROWN 1.1
/* The bound of a run is ignored after this number of later completed comparable runs, whose peaks
 * and estimate are better evidence. Chosen by judgement. */
enum { OUTLIVED = 5 };
/* A completed run is evidence against a leak if its peak is at least this fraction of the largest
 * limit that killed a run. Half and twice were compared. */
#define NEAR 0.7

/* Fewest runs of a kind. By judgement. */
enum { MIN_KIND_RUNS = 3 };
/* Smallest ratio of the kinds' neighbouring peaks. By judgement. */
#define MIN_RATIO 1.3
/* The log of that ratio is at least this multiple of the log range of each kind. By judgement. */
#define MIN_SEPARATION 3

bool ft_facts_alike(const ft_column *column, double a, double b)
{
  if (isnan(a) || isnan(b))
    return isnan(a) && isnan(b);
  if (column->categorical)
    return a == b && a >= 0;
  if (a == b)
    return true;
  return a * b > 0 && fmax(fabs(a), fabs(b)) <= FT_FACTS_FACTOR * fmin(fabs(a), fabs(b));
}

/* Returns whether a submission with WANTED in COLUMN is like a run with X. Files of which only one
 * of both is known to run some are no difference. */
static bool is_alike(const ft_column *column, float wanted, float x)
{
  return ft_facts_alike(column, (double)wanted, (double)x) ||
         (isnan(wanted) != isnan(x) && strcmp(column->name, FT_CODE_FEATURE) == 0);
}

/* Relation of a run to a submission. */
enum relation {
  RUN_DIFFERS,
  RUN_HAS_MORE,      /* not comparable: only numbers differ, and the run's are larger */
  RUN_IS_COMPARABLE, /* and numbers differ */
  RUN_IS_ALIKE       /* comparable, and of the same work */
};

static bool was_killed(ft_fact_kind kind)
{
  return kind == FT_FACT_KILLED || kind == FT_FACT_KILLED_TOGETHER;
}

/* Returns the relation of the run with index FACT to a submission whose values in the fact columns
 * are WANTED. */
static enum relation compare_fact(const ft_model *model, size_t fact, const float *wanted)
{
  const ft_evaluator *e = &model->evaluator;
  const float *x = &e->fact_x[fact * e->fact_columns_count];
  bool less = false, more = false, explained = false;

  for (size_t c = 0; c < e->fact_columns_count; c++) {
    const ft_column *column = &model->columns[e->fact_columns[c]];

    if (is_alike(column, wanted[c], x[c]))
      continue;
    if (column->categorical)
      return RUN_DIFFERS;
    explained |= c < e->facts_explained;
    less |= wanted[c] < x[c];
    more |= !(wanted[c] < x[c]);
  }
  if (explained)
    return less && !more ? RUN_HAS_MORE : RUN_DIFFERS;
  if (!less && !more)
    return RUN_IS_ALIKE;
  /* a killed run is always comparable: too low a limit costs more than one that is too high */
  return less && !more && !was_killed((ft_fact_kind)e->fact_kinds.bytes[fact]) ? RUN_HAS_MORE
                                                                               : RUN_IS_COMPARABLE;
}

double ft_facts_bound(ft_fact_kind kind, double value)
{
  return was_killed(kind) ? FT_FACTS_KILLED_FACTOR * value : value;
}

/* Returns the bound of a run; 0 if it completed. */
static double incomplete_run_bound(ft_fact_kind kind, double value)
{
  return kind == FT_FACT_COMPLETED ? 0 : ft_facts_bound(kind, value);
}

/* Adds a comparable run to F; runs are added in the order in which they are evidence
 * (online/facts.c). ALIKE: it had the same work. SUPERSEDED: at least OUTLIVED
 * comparable runs completed later, so the bound is ignored. */
static void add_comparable_run(struct ft_facts *f, ft_fact_kind kind, double value, bool alike,
                               bool superseded)
{
  f->comparable_runs++;
  if (!superseded)
    f->comparable_bound_value = fmax(f->comparable_bound_value, incomplete_run_bound(kind, value));
  if (kind == FT_FACT_COMPLETED) {
    if (!f->comparable_completed++ || value < f->comparable_min_value)
      f->comparable_min_value = value;
    f->comparable_peak_value = fmax(f->comparable_peak_value, value);
    f->lately_killed = 0;
    f->lately_killed_value = 0;
    f->lately_step_limited = 0;
    if (value >= NEAR * f->comparable_killed_value)
      f->growing_kills = 0;
  } else if (was_killed(kind)) {
    if (kind == FT_FACT_KILLED && alike &&
        value > GROWN * fmax(f->comparable_killed_value, f->comparable_peak_value))
      f->growing_kills++;
    f->comparable_killed++;
    f->comparable_killed_value = fmax(f->comparable_killed_value, value);
    f->lately_killed++;
    f->lately_killed_value = fmax(f->lately_killed_value, value);
  } else if (kind == FT_FACT_STEP_LIMITED) {
    f->lately_step_limited++;
  }
}

/* Sets in OUT whether all or some runs of MODEL have another text (estimate/variant.h), if a text
 * is a fact column, than WANTED, the values of a submission in the fact columns. */
static void compare_run_texts(const ft_model *model, const float *wanted, struct ft_facts *out)
{
  const ft_evaluator *e = &model->evaluator;

  for (size_t c = 0; c < e->fact_columns_count; c++) {
    const ft_column *column = &model->columns[e->fact_columns[c]];
    size_t others = 0;

    if (!ft_is_text_feature(column->name))
      continue;
    for (size_t i = 0; i < e->fact_values_count; i++)
      others += !is_alike(column, wanted[c], e->fact_x[i * e->fact_columns_count + c]);
    out->borrowed |= others && others == e->fact_values_count;
    out->other_texts |= others > 0;
  }
}

/* Returns the number of runs below the largest gap of SORTED that separates two kinds; 0: none. */
static size_t find_gap(const double *sorted, size_t count)
{
  size_t at = 0;
  double gap = 0, range;

  for (size_t i = MIN_KIND_RUNS; i + MIN_KIND_RUNS <= count; i++)
    if (log(sorted[i] / sorted[i - 1]) > gap) {
      gap = log(sorted[i] / sorted[i - 1]);
      at = i;
    }
  if (!at || gap < log(MIN_RATIO))
    return 0;
  range = fmax(log(sorted[at - 1] / sorted[0]), log(sorted[count - 1] / sorted[at]));
  return gap >= MIN_SEPARATION * range ? at : 0;
}

/* Fills OUT with the two kinds of the COUNT peaks BYTES, in order of time. */
static void find_run_groups(const double *value, size_t count, struct ft_run_groups *out)
{
  double sorted[sizeof((ft_evaluator *)NULL)->fact_values / sizeof(float)];
  size_t low, turns = 0;

  *out = (struct ft_run_groups){ .changed = false };
  for (size_t i = 0; i < count; i++)
    sorted[i] = fmax(value[i], 1);
  ft_sort_doubles(sorted, count);
  low = find_gap(sorted, count);
  if (!low)
    return;
  for (size_t i = 1; i < count; i++)
    turns += (value[i] < sorted[low]) != (value[i - 1] < sorted[low]);
  out->changed = turns == 1;
  for (int kind = 0; kind < 2; kind++) {
    int upper = out->changed && value[0] >= sorted[low] ? 1 - kind : kind;
    size_t from = upper ? low : 0, runs = upper ? count - low : low;

    out->runs[kind] = (unsigned)runs;
    out->value[kind] = sorted[from + runs / 2];
  }
}

void ft_facts_collect(const ft_model *model, const float *x, size_t count, struct ft_facts *out)
{
  const ft_evaluator *e = &model->evaluator;
  float wanted[sizeof e->fact_columns / sizeof *e->fact_columns];
  enum relation relation[sizeof e->fact_values / sizeof *e->fact_values];
  double peaks[sizeof e->fact_values / sizeof *e->fact_values]; /* of comparable completed runs */
  size_t tasks = ft_tasks_column(model->columns, model->columns_count);
  unsigned later = 0; /* comparable runs that completed after the current one */

  *out = (struct ft_facts){ .runs = model->runs,
                            .completed = model->completed,
                            .limit_effect = e->limit_effect,
                            .completed_limit_bytes = (double)e->completed_limit_bytes };
  out->less = e->fact_values_count > 0;
  for (size_t c = 0; c < e->fact_columns_count; c++)
    wanted[c] = e->fact_columns[c] < count ? x[e->fact_columns[c]] : NAN;
  compare_run_texts(model, wanted, out);
  for (size_t c = 0; c < e->facts_explained; c++)
    out->unexplained |= !ft_point_prediction_uses(e, e->fact_columns[c]) &&
                        !(e->per_task && e->fact_columns[c] == tasks);
  for (size_t i = 0; i < e->fact_values_count; i++) {
    relation[i] = compare_fact(model, i, wanted);
    out->less &= relation[i] == RUN_HAS_MORE;
    later += relation[i] >= RUN_IS_COMPARABLE && e->fact_kinds.bytes[i] == FT_FACT_COMPLETED;
  }
  for (size_t i = 0; i < e->fact_values_count; i++) {
    ft_fact_kind kind = (ft_fact_kind)e->fact_kinds.bytes[i];
    double value = (double)e->fact_values[i];

    out->bound_value = fmax(out->bound_value, incomplete_run_bound(kind, value));
    if (kind == FT_FACT_COMPLETED)
      out->peak_value = fmax(out->peak_value, value);
    out->partial += kind == FT_FACT_PARTIAL;
    if (relation[i] < RUN_IS_COMPARABLE)
      continue;
    later -= kind == FT_FACT_COMPLETED;
    add_comparable_run(out, kind, value, relation[i] == RUN_IS_ALIKE, later >= OUTLIVED);
    if (kind == FT_FACT_COMPLETED)
      peaks[out->comparable_completed - 1] = value;
  }
  find_run_groups(peaks, out->comparable_completed, &out->groups);
  if (out->comparable_completed < FT_FACTS_SURE_RUNS)
    out->comparable_min_value = 0;
  out->fewest_runs = out->comparable_runs;
  out->fewest_completed = out->comparable_completed;
}

static unsigned max_unsigned(unsigned a, unsigned b)
{
  return a > b ? a : b;
}

static unsigned min_unsigned(unsigned a, unsigned b)
{
  return a < b ? a : b;
}

void ft_facts_combine(struct ft_facts *into, const struct ft_facts *other)
{
  into->borrowed |= other->borrowed;
  into->other_texts |= other->other_texts;
  into->unexplained |= other->unexplained;
  into->less = into->less && other->less;
  into->fewest_runs = min_unsigned(into->fewest_runs, other->fewest_runs);
  into->fewest_completed = min_unsigned(into->fewest_completed, other->fewest_completed);
  into->comparable_runs = max_unsigned(into->comparable_runs, other->comparable_runs);
  into->comparable_completed =
      max_unsigned(into->comparable_completed, other->comparable_completed);
  into->comparable_peak_value = fmax(into->comparable_peak_value, other->comparable_peak_value);
  into->comparable_min_value = fmax(into->comparable_min_value, other->comparable_min_value);
  into->comparable_bound_value = fmax(into->comparable_bound_value, other->comparable_bound_value);
  into->comparable_killed_value =
      fmax(into->comparable_killed_value, other->comparable_killed_value);
  into->comparable_killed = max_unsigned(into->comparable_killed, other->comparable_killed);
  into->lately_killed = max_unsigned(into->lately_killed, other->lately_killed);
  into->lately_killed_value = fmax(into->lately_killed_value, other->lately_killed_value);
  into->lately_step_limited = max_unsigned(into->lately_step_limited, other->lately_step_limited);
  into->growing_kills = max_unsigned(into->growing_kills, other->growing_kills);
}
