/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Facts that an app's runs show for a submission. They hold from the first run on, and a decision
 * respects them whatever the estimate is.
 *
 * A run is *comparable* to a submission if the columns that explain the app's memory agree: numbers
 * within FT_FACTS_FACTOR, categories exactly. Without such a column, all runs are comparable. Few
 * runs do not show whether a number matters. Until they do, a run that was not killed is excluded
 * if the submission is smaller in every number that differs.
 *
 * The *bound* of an incomplete run is the least memory that it needed: FT_FACTS_KILLED_FACTOR times
 * the limit that killed it, otherwise its measured peak.
 */
#ifndef FT_ESTIMATE_FACTS_H
#define FT_ESTIMATE_FACTS_H

#include <stdbool.h>
#include <stddef.h>

#include "predictor/record/record.h"

/* Largest ratio of two numbers that are comparable. Chosen by judgement. */
#define FT_FACTS_FACTOR 1.25
/* Assumed need of a run, as a multiple of the limit that killed it. Chosen by judgement. */
#define FT_FACTS_KILLED_FACTOR 1.2

/* Comparable completed runs whose smallest peak counts as certainly needed. Chosen by
 * tests/bench/weeks. */
enum { FT_FACTS_SURE_RUNS = 2 };

struct ft_facts {
  /* all runs in the model */
  unsigned runs, completed;
  double peak_bytes;  /* largest peak of a completed run; 0: none completed */
  double bound_bytes; /* largest bound of an incomplete run; 0: none */
  bool borrowed;      /* all runs are of other variants (estimate/variant.h) */
  bool unexplained; /* a column explains the memory, and the point prediction does not use it yet */
  bool less;        /* every run is excluded: larger in each number that differs */
  /* comparable runs */
  unsigned like_runs, like_completed;
  double like_peak_bytes;   /* largest peak of a completed run; 0: none completed */
  double like_sure_bytes; /* smallest peak of FT_FACTS_SURE_RUNS or more completed runs; 0: fewer */
  double like_bound_bytes;  /* largest bound; 0: none */
  double like_killed_bytes; /* largest limit that killed a run; 0: none was killed */
  unsigned like_killed;     /* runs killed by their own limit */
  /* job array: like_runs and like_completed of the task with the fewest; otherwise equal to them */
  unsigned least_runs, least_completed;
  /* comparable runs killed since the last completed one, and their largest limit */
  unsigned lately_killed;
  double lately_killed_bytes;
  unsigned lately_step_limited; /* runs since then in which a step was killed by its own limit */
  /* kills at limits that each grew by more than a tenth, no comparable run having completed */
  unsigned growing_kills;
};

/* Returns whether the values A and B of COLUMN are comparable. NaN: the run lacks the feature.
 * FT_X_UNSEEN, an unknown category, is comparable to nothing. */
bool ft_facts_alike(const ft_column *column, double a, double b);

/* Returns the least memory, in bytes, that a run of KIND needed. BYTES is its stored value: the
 * peak, or the limit that killed the run. */
double ft_facts_bound(ft_fact_kind kind, double bytes);

/* Fills OUT with the facts of MODEL's runs for a submission with the COUNT values X, by column. */
void ft_facts_collect(const ft_model *model, const float *x, size_t count, struct ft_facts *out);

/* Combines the facts of two tasks of one array into INTO. Every need becomes the larger of both. */
void ft_facts_combine(struct ft_facts *into, const struct ft_facts *other);

#endif
