/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>
#include <string.h>

#include "predictor/estimate/facts.h"
#include "predictor/estimate/point_prediction.h"
#include "predictor/online/facts.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum {
  FACTS = COUNT(((ft_evaluator *)NULL)->fact_values),
  FACT_COLUMNS = COUNT(((ft_evaluator *)NULL)->fact_columns),
  COLUMNS = COUNT(((ft_model *)NULL)->columns),
  RUNS = FT_HISTORY_RUNS,
  NEWEST = FACTS / 2 /* newest runs, selected whatever their peak */
};

/* From this number of completed runs the fit alone selects the columns. Half and twice were
 * compared. */
enum { FITTED_RUNS = 20 };
/* With fewer completed runs a fitted line may be chance and selects no column: FEW_RUNS of
 * learn/regression/additive_choose.c. */
enum { LINE_RUNS = 4 };

/* Returns the value of COLUMN in RUN; NAN without one. */
static float feature_of(const struct ft_fact_run *run, size_t column)
{
  return column < run->x_count ? run->x[column] : NAN;
}

/* ---- selection of runs ---- */

/* The run with the largest limit that killed one, and the first later run that completed with more,
 * as indices in the runs; their number: none. */
struct largest_kill {
  size_t killed, completed;
};

static struct largest_kill find_largest_kill(const struct ft_fact_runs *runs)
{
  struct largest_kill k = { runs->count, runs->count };
  double limit = 0;

  for (size_t i = 0; i < runs->count; i++) {
    if (runs->run[i].need.killed_by == FT_KILLED_BY_LIMIT && runs->run[i].need.value >= limit) {
      k = (struct largest_kill){ i, runs->count };
      limit = runs->run[i].need.value;
    } else if (limit > 0 && !runs->run[i].need.censored && runs->run[i].need.value > limit &&
               k.completed == runs->count) {
      k.completed = i;
    }
  }
  return k;
}

/*
 * Sets CHOSEN for the newest runs and for the older runs with the largest residuals. The two runs
 * of find_largest_kill come before these: a limit that killed a run would be set again if it were
 * forgotten, and doubled if only it were known.
 */
static void choose_fact_runs(const struct ft_fact_runs *runs, bool *chosen)
{
  size_t count = runs->count, newest = count < FACTS ? count : NEWEST;
  struct largest_kill kill = find_largest_kill(runs);
  size_t largest[FACTS], found = 0; /* older runs by descending rank */
  double rank[FACTS];

  for (size_t i = 0; i < count; i++) {
    bool kept = i == kill.killed || i == kill.completed;
    double own = kept ? INFINITY : (double)runs->run[i].residual;
    size_t at;

    chosen[i] = i + newest >= count;
    if (chosen[i] || (found == FACTS - newest && (!found || own <= rank[found - 1])))
      continue;
    found += found < FACTS - newest;
    for (at = found - 1; at > 0 && own > rank[at - 1]; at--) {
      largest[at] = largest[at - 1];
      rank[at] = rank[at - 1];
    }
    largest[at] = i;
    rank[at] = own;
  }
  for (size_t i = 0; i < found; i++)
    chosen[largest[i]] = true;
}

static ft_fact_kind fact_kind(const struct ft_need *need)
{
  if (need->killed_by == FT_KILLED_BY_LIMIT)
    return need->killed_together ? FT_FACT_KILLED_TOGETHER : FT_FACT_KILLED;
  if (need->killed_by == FT_KILLED_BY_STEP_LIMIT)
    return FT_FACT_STEP_LIMITED;
  if (need->censored)
    return need->sampled ? FT_FACT_PARTIAL : FT_FACT_STOPPED;
  return FT_FACT_COMPLETED;
}

/* Returns the time from which RUN is evidence. A completed run shows that a kill does not repeat
 * only if the job was submitted after it: the tasks of one array say nothing of each other. */
static double evidence_time(const struct ft_fact_run *run)
{
  bool submitted = fact_kind(&run->need) == FT_FACT_COMPLETED && run->submitted > 0;

  return submitted ? fmin(run->submitted, run->time) : run->time;
}

/* Fills ORDER with the indices of the CHOSEN runs in the order of evidence_time; equal times keep
 * their order. Returns their number. */
static size_t order_fact_runs(const struct ft_fact_runs *runs, const bool *chosen,
                              size_t order[FACTS])
{
  size_t count = 0, at;

  for (size_t i = 0; i < runs->count; i++) {
    double time = evidence_time(&runs->run[i]);

    if (!chosen[i])
      continue;
    for (at = count++; at > 0 && evidence_time(&runs->run[order[at - 1]]) > time; at--)
      order[at] = order[at - 1];
    order[at] = i;
  }
  return count;
}

/* ---- selection of columns ---- */

/* Returns whether A and B have similar values in COLUMN. */
static bool has_similar_value(const ft_model *model, size_t column, const struct ft_fact_run *a,
                              const struct ft_fact_run *b)
{
  return ft_facts_alike(&model->columns[column], (double)feature_of(a, column),
                        (double)feature_of(b, column));
}

/* Whether two runs needed similar memory (within FT_FACTS_FACTOR). */
enum comparison { UNDECIDED, AGREED, DIFFERED };

/* Compares the required memory of A and B. A censored run has only a lower bound of it. */
static enum comparison compare_needs(const struct ft_need *a, const struct ft_need *b)
{
  double need_a = ft_facts_bound(fact_kind(a), a->value);
  double need_b = ft_facts_bound(fact_kind(b), b->value);

  if (a->censored && b->censored)
    return UNDECIDED;
  if (a->censored)
    return need_a > FT_FACTS_FACTOR * need_b ? DIFFERED : UNDECIDED;
  if (b->censored)
    return need_b > FT_FACTS_FACTOR * need_a ? DIFFERED : UNDECIDED;
  return fmax(need_a, need_b) <= FT_FACTS_FACTOR * fmin(need_a, need_b) ? AGREED : DIFFERED;
}

/* Returns whether A and B are similar in all columns known to explain the memory. */
static bool are_comparable(const ft_model *model, const struct ft_fact_run *a,
                           const struct ft_fact_run *b)
{
  const ft_evaluator *e = &model->evaluator;

  for (size_t c = 0; c < e->facts_explained; c++)
    if (!has_similar_value(model, e->fact_columns[c], a, b))
      return false;
  return true;
}

/* Numbers of comparable pairs of runs, by similarity in a column and in required memory. */
struct pairs {
  unsigned similar_agreed, similar_differed;
  unsigned different_agreed, different_differed;
};

static struct pairs count_pairs(const ft_model *model, const struct ft_fact_runs *runs,
                                const bool *chosen, size_t column)
{
  struct pairs p = { 0 };

  for (size_t i = 0; i < runs->count; i++)
    for (size_t k = 0; k < i; k++) {
      const struct ft_fact_run *a = &runs->run[i], *b = &runs->run[k];
      enum comparison needs = compare_needs(&runs->run[i].need, &runs->run[k].need);
      bool similar, agreed = needs == AGREED;

      if (!chosen[i] || !chosen[k] || needs == UNDECIDED || !are_comparable(model, a, b))
        continue;
      similar = has_similar_value(model, column, a, b);
      *(similar  ? agreed ? &p.similar_agreed : &p.similar_differed
        : agreed ? &p.different_agreed
                 : &p.different_differed) += 1;
    }
  return p;
}

static void add_fact_column(ft_evaluator *e, size_t column)
{
  if (e->fact_columns_count < FACT_COLUMNS)
    e->fact_columns[e->fact_columns_count++] = (uint8_t)column;
}

/*
 * Adds columns by comparing pairs of runs, because a fit of few runs is unreliable. A numeric
 * column explains the memory if runs with similar values needed similar memory and others did not;
 * without pairs of similar values it may explain it. A category may explain the memory until
 * comparable runs of different categories have needed similar memory.
 */
static void add_columns_by_pairs(ft_model *model, const struct ft_fact_runs *runs,
                                 const bool *chosen)
{
  ft_evaluator *e = &model->evaluator;
  size_t undecided[COLUMNS], undecided_count = 0;
  bool explained = e->fact_columns_count > 0;

  for (size_t j = 0; j < model->columns_count && !explained; j++) {
    struct pairs p = { 0 };

    if (model->columns[j].categorical)
      continue;
    p = count_pairs(model, runs, chosen, j);
    if (p.different_differed && p.similar_agreed && !p.similar_differed)
      add_fact_column(e, j);
    else if (!p.similar_agreed && !p.similar_differed && !p.different_agreed)
      undecided[undecided_count++] = j;
  }
  e->facts_explained = e->fact_columns_count;
  for (size_t j = 0; j < model->columns_count; j++) {
    struct pairs p;

    if (!model->columns[j].categorical || ft_point_prediction_uses(e, j))
      continue;
    p = count_pairs(model, runs, chosen, j);
    if (!p.different_agreed || p.different_differed)
      add_fact_column(e, j);
  }
  for (size_t i = 0; i < undecided_count && !e->facts_explained; i++)
    add_fact_column(e, undecided[i]);
}

/* Returns whether all chosen runs needed similar memory, so that no column has to explain a
 * difference. */
static bool have_all_agreed(const struct ft_fact_runs *runs, const bool *chosen)
{
  double min = INFINITY, max = 0;

  for (size_t i = 0; i < runs->count; i++) {
    if (!chosen[i])
      continue;
    if (!runs->run[i].need.censored)
      min = fmin(min, runs->run[i].need.value);
    max = fmax(max, ft_facts_bound(fact_kind(&runs->run[i].need), runs->run[i].need.value));
  }
  return max <= FT_FACTS_FACTOR * min;
}

/* Returns whether two runs of RUNS have different values in COLUMN. */
static bool differ_in(const struct ft_fact_runs *runs, size_t column)
{
  for (size_t i = 1; i < runs->count; i++)
    if (feature_of(&runs->run[i], column) != feature_of(runs->run, column))
      return true;
  return false;
}

static void choose_fact_columns(ft_model *model, const struct ft_fact_runs *runs,
                                const bool *chosen)
{
  ft_evaluator *e = &model->evaluator;
  bool agreed = have_all_agreed(runs, chosen);
  size_t tasks = ft_tasks_column(model->columns, model->columns_count);

  e->fact_columns_count = 0;
  for (size_t j = 0; j < model->columns_count && !agreed; j++)
    if ((model->completed >= LINE_RUNS && ft_point_prediction_uses(e, j)) ||
        (e->per_task && j == tasks && differ_in(runs, j)))
      add_fact_column(e, j);
  e->facts_explained = e->fact_columns_count;
  if (model->completed < FITTED_RUNS)
    add_columns_by_pairs(model, runs, chosen);
}

void ft_facts_fill_runs(ft_model *model, const struct ft_fact_runs *runs)
{
  ft_evaluator *e = &model->evaluator;
  bool chosen[RUNS];
  size_t order[FACTS], count;

  choose_fact_runs(runs, chosen);
  choose_fact_columns(model, runs, chosen);
  count = order_fact_runs(runs, chosen, order);
  e->fact_x_count = 0;
  for (size_t i = 0; i < count; i++) {
    const struct ft_fact_run *run = &runs->run[order[i]];

    e->fact_values[i] = (float)run->need.value;
    e->fact_kinds.bytes[i] = (pb_byte_t)fact_kind(&run->need);
    for (size_t c = 0; c < e->fact_columns_count; c++)
      e->fact_x[e->fact_x_count++] = feature_of(run, e->fact_columns[c]);
  }
  e->fact_values_count = (pb_size_t)count;
  e->fact_kinds.size = (pb_size_t)count;
}

void ft_facts_fill(ft_model *model, const struct ft_history *history)
{
  struct ft_fact_runs runs = { .count = history->count };

  for (size_t i = 0; i < history->count; i++) {
    const ft_run *run = &history->run[i];

    runs.run[i] = (struct ft_fact_run){ ft_need_of(run, model->quantity),
                                        run->time,
                                        run->submitted,
                                        run->residual,
                                        run->x,
                                        run->x_count };
  }
  ft_facts_fill_runs(model, &runs);
}
