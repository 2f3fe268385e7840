/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Facts: bounds of a submission's peak that the app's runs show. Facts apply from the first run on,
 * and a decision respects them whatever the estimate is.
 *
 * A run is *comparable* to a submission if the columns that explain the app's memory have similar
 * values: numbers within FT_FACTS_FACTOR, categories equal. Without such a column, all runs are
 * comparable, with one exception, because a few runs do not show whether a number matters: a run
 * that was not killed is excluded if the submission has a smaller value in every number that
 * differs.
 *
 * The *bound* of an incomplete run is a lower bound of the memory that the run needed:
 * FT_FACTS_KILLED_FACTOR times the limit that killed the run, otherwise its measured peak.
 */
#ifndef FT_ESTIMATE_FACTS_H
#define FT_ESTIMATE_FACTS_H

#include <stdbool.h>
#include <stddef.h>

#include "predictor/record/record.h"

/* Largest ratio of two numbers that are comparable. Half and twice were compared. */
#define FT_FACTS_FACTOR 1.25
/* Assumed need of a killed run, as a multiple of the limit that killed it. Half and twice were
 * compared. */
#define FT_FACTS_KILLED_FACTOR 1.2

/* Minimum number of comparable completed runs from which their smallest peak counts as certainly
 * needed. Chosen by tests/bench/weeks. */
enum { FT_FACTS_SURE_RUNS = 2 };

/* Two kinds of runs that needed clearly different memory: of a cause that no feature shows, or
 * before and after a change of the app. */
struct ft_run_groups {
  unsigned runs[2]; /* of each kind; 0: the runs are of one kind */
  double value[2];  /* medians, ascending; if `changed` in order of time */
  bool changed;     /* all runs of one kind came before all of the other */
};

/* Values are in the unit of the model's quantity; a peak is the run's number of it. */
struct ft_facts {
  /* all runs in the model */
  unsigned runs, completed;
  double peak_value;  /* largest peak of a completed run; 0: none completed */
  double bound_value; /* largest bound of an incomplete run; 0: none */
  unsigned partial;   /* runs that completed, but of which only the largest task was measured */
  bool borrowed;      /* all runs are of other texts (estimate/variant.h) */
  bool other_texts;   /* some are, which explains a difference of their memory */
  bool unexplained; /* a column explains the memory, and the point prediction does not use it yet */
  ft_limit_effect limit_effect; /* of the memory limit on the peak */
  double completed_limit_bytes; /* memory that the last completed run had; 0: unknown */
  bool less; /* no run is comparable: all have larger values in every number that differs */
  /* of comparable runs */
  unsigned comparable_runs, comparable_completed;
  double comparable_peak_value;   /* largest peak of a completed run; 0: none completed */
  double comparable_min_value;    /* smallest such peak; 0: fewer than FT_FACTS_SURE_RUNS runs */
  double comparable_bound_value;  /* largest bound; 0: none */
  double comparable_killed_value; /* largest limit that killed a run; 0: none was killed */
  unsigned comparable_killed;     /* runs killed by their own limit */
  struct ft_run_groups groups;    /* two kinds of completed runs; of an array, the first task's */
  /* minima of comparable_runs and comparable_completed over the tasks of a job array */
  unsigned fewest_runs, fewest_completed;
  /* since the last comparable run that completed; one submitted before a kill is no later one */
  unsigned lately_killed;       /* comparable runs killed by their own limit */
  double lately_killed_value;   /* largest limit of these; 0: none */
  unsigned lately_step_limited; /* comparable runs with a step killed by the step's own limit */
  /* kills at limits each more than a tenth above the largest earlier limit and peak, of runs with
   * similar numbers, too, that were submitted after the earlier kills; 0 after a comparable run
   * completed near the largest limit */
  unsigned growing_kills;
};

/* Returns whether A and B, values of COLUMN in two runs, are similar enough to be comparable. A
 * value is NaN if the run lacks the feature. FT_X_UNSEEN (unknown category) equals no value. */
bool ft_facts_alike(const ft_column *column, double a, double b);

/* Returns the lower bound of what a run of KIND needed. VALUE is the stored value of the run: its
 * peak, or the limit that killed the run. */
double ft_facts_bound(ft_fact_kind kind, double value);

/* Fills OUT with the facts of MODEL's runs for a submission with the COUNT values X, one per column
 * (ft_columns_fill). */
void ft_facts_collect(const ft_model *model, const float *x, size_t count, struct ft_facts *out);

/* Merges OTHER into INTO, facts of two tasks of one job array: the maximum of each bound and count,
 * the minimum of fewest_runs and fewest_completed. */
void ft_facts_combine(struct ft_facts *into, const struct ft_facts *other);

#endif
