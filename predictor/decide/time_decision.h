/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The decision about a job's time limit, by the rules of memory (decide.h): what these say of the
 * memory request holds for --time, of oom_probability for timeout_probability, of a kill for a
 * timeout. Pure.
 */
#ifndef FT_DECIDE_TIME_DECISION_H
#define FT_DECIDE_TIME_DECISION_H

#include "predictor/decide/messages.h"
#include "predictor/estimate/runtime.h"

/* The input; all pointers are borrowed. */
struct ft_time_query {
  ft_mode mode; /* given by the user; FT_MODE_UNSET: the policy's time_mode */
  const ft_submission *submission;
  bool unlimited;          /* the user requests no limit (--time=UNLIMITED) */
  double time_min_seconds; /* --time-min; 0: not given */
  const struct ft_job_time *time;
  const ft_policy *policy;       /* resolved */
  const ft_partition *partition; /* NULL: unknown */
  bool cannot_reject;            /* Slurm would ignore a rejection */
  bool dry_run;                  /* nothing is submitted: report also if nothing changes */
};

/* A decision; it points into the query's data, and into itself: it must not be copied. */
struct ft_time_decision {
  const struct ft_job_time *time;
  const ft_partition *partition; /* not the input's, whose other rules are of memory */
  bool unlimited;                /* without foretell there is no time limit */
  bool given;                    /* the user gave one, or none explicitly */
  ft_policy policy;
  ft_request request;
  struct ft_decision_input input;
  struct ft_sizing sizing; /* in seconds */
};

/* Fills OUT with the decision. Of the array's tasks the longest decides; Slurm rounds limits up to
 * minutes. A job without a limit counts as limited to a year, as in Slurm. */
void ft_time_decide(const struct ft_time_query *query, struct ft_time_decision *out);

/* Returns the mode of QUERY: the user's, else the policy's. */
ft_mode ft_time_mode(ft_mode given, const ft_policy *policy);

/* Returns whether DECISION changes --time, to sizing.amount. */
bool ft_time_is_changed(const struct ft_time_decision *decision);

/* Writes the estimate and the decision into the fields of INTO about time. */
void ft_time_record(const struct ft_time_decision *decision, ft_decision *into);

/* Size of a value of --time with its NUL. */
enum { FT_TIME_VALUE = 32 };

/* Writes SECONDS as a value of --time into OUT: "45", "2:00:00", "3-00:00:00". Returns OUT. */
const char *ft_time_value(double seconds, char out[FT_TIME_VALUE]);

/* Fills OUT with the message about DECISION. */
void ft_time_explain(const struct ft_time_decision *decision, struct ft_explanation *out);

#endif
