/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The grounds of a decision: method of the estimate, features and runs, as data and sentences. */
#ifndef FT_DECIDE_GROUNDS_H
#define FT_DECIDE_GROUNDS_H

#include "predictor/decide/submission.h"

/* Maximum number of features, and of sentences. */
enum { FT_GROUNDS_EFFECTS = 6, FT_GROUNDS_LINES = 12 };

/* A feature on which the estimate depends. */
struct ft_effect {
  char name[48];
  char value[64];       /* with its unit; "": missing in the submission */
  double without_bytes; /* median of the estimate without this feature; 0: missing or unknown */
  double low, high;     /* range of a number in the runs; NaN: a category */
  bool unseen;          /* a number outside this range, or a category that no run has had */
};

struct ft_grounds {
  size_t effect_count;
  struct ft_effect effect[FT_GROUNDS_EFFECTS]; /* in descending order of the effect's size */
  const struct ft_facts *facts;                /* NULL: no recorded run */
  int count;                                   /* number of lines */
  char line[FT_GROUNDS_LINES][FT_MESSAGE_SIZE]; /* a sentence each: "method: a line on ..." */
};

/*
 * Fills OUT with the grounds of DECIDED, the decision for QUERY. OUT has effects only if the
 * estimate is from runs of the app itself or imported ones; otherwise a line lists the features of
 * the job. Pure. out->facts points into QUERY's evidence. Names and values come from runs and may
 * contain any byte but NUL.
 */
void ft_grounds_find(const struct ft_submission_query *query,
                     const struct ft_submission_decision *decided, struct ft_grounds *out);

/* Returns a description of RULE, "at least what comparable runs needed"; a static string. */
const char *ft_rule_meaning(ft_decision_rule rule);

#endif
