/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What an app's runs have shown for a submission: facts, which hold from the first run on and which
 * a decision respects whatever the estimate says.
 *
 * A run is *comparable* to a submission when the columns that explain the app's memory agree:
 * numbers within FT_FACTS_FACTOR, categories exactly; all runs are where no column explains it. Of
 * numbers that few runs do not yet tell whether they matter, a run that was not killed is set aside
 * where the submission has less of each that differs. The *bound*
 * of a run that did not complete is the least that it needed: FT_FACTS_KILLED_FACTOR times the limit
 * of its own that killed it, else the peak that was seen.
 */
#ifndef FT_ESTIMATE_FACTS_H
#define FT_ESTIMATE_FACTS_H

#include <stdbool.h>
#include <stddef.h>

#include "predictor/record/record.h"

/* Peaks of runs whose features differ by less than this factor are compared. */
#define FT_FACTS_FACTOR 1.25
/* A run that its limit killed is taken to have needed this many times the limit. */
#define FT_FACTS_KILLED_FACTOR 1.2

/* Comparable completed runs from which on what all of them used is taken to be needed for sure.
 * Chosen by tests/bench/weeks. */
enum { FT_FACTS_SURE_RUNS = 2 };

struct ft_facts {
  /* of all its runs that the model remembers */
  unsigned runs, completed;
  double peak_bytes;  /* largest of a completed run; 0: none completed */
  double bound_bytes; /* largest of one that did not complete; 0: none */
  bool borrowed; /* they are of other variants (estimate/variant.h), which may need something else */
  bool unexplained; /* what the needs of runs differ by, the estimate does not know yet */
  bool less; /* each of them is set aside for having more of all that differs */
  /* of the comparable ones */
  unsigned like_runs, like_completed;
  double like_peak_bytes;   /* largest peak of a completed run; 0: none completed */
  double like_sure_bytes;   /* what each of FT_FACTS_SURE_RUNS or more completed runs used; 0: too few */
  double like_bound_bytes;  /* largest bound; 0: none */
  double like_killed_bytes; /* largest limit that killed one; 0: none was killed */
  unsigned like_killed;     /* runs that were killed by their own limit */
  /* of a job array the same of the task that has the fewest such runs, else equal to the above */
  unsigned least_runs, least_completed;
  /* of the newest comparable runs, those killed since the last that completed, and at what */
  unsigned lately_killed;
  double lately_killed_bytes;
  unsigned lately_step_limited; /* and in which a step was killed at a limit of its own */
  /* kills at limits that grew each time by more than a tenth, where no comparable run completed */
  unsigned growing_kills;
};

/* Whether values A and B of COLUMN, NaN where a run has none, are comparable. A category that no
 * run has had (FT_X_UNSEEN) is comparable to none. */
bool ft_facts_alike(const ft_column *column, double a, double b);

/* What a run of KIND needed at the least, bytes, BYTES being what is remembered of it: its peak, or the
 * limit that killed it. */
double ft_facts_bound(ft_fact_kind kind, double bytes);

/* Fills OUT with what MODEL's runs show for a submission with COUNT values X by column. */
void ft_facts_collect(const ft_model *model, const float *x, size_t count, struct ft_facts *out);

/* Makes INTO hold for one submission of both tasks: each need is the larger one's. */
void ft_facts_combine(struct ft_facts *into, const struct ft_facts *other);

#endif
