/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The grounds of an estimate: method, features and runs, as data and as sentences. */
#ifndef FT_DECIDE_GROUNDS_H
#define FT_DECIDE_GROUNDS_H

#include "predictor/decide/submission.h"

enum { FT_GROUNDS_EFFECTS = 6, FT_GROUNDS_LINES = 12 };

/* A feature on which the estimate depends. */
struct ft_effect {
  char name[48];
  char value[64];       /* with its unit; "": the submission lacks it, the usual value is used */
  double without_bytes; /* the median without this feature; 0: the submission lacks it */
  double low, high;     /* range of a number in the runs; NaN: a category */
  bool unseen;          /* a number outside that range, or a category that no run has had */
};

struct ft_grounds {
  size_t effect_count;
  struct ft_effect effect[FT_GROUNDS_EFFECTS]; /* the largest first */
  const struct ft_facts *facts;                /* NULL: no recorded run */
  int count;
  char line[FT_GROUNDS_LINES][FT_MESSAGE_SIZE]; /* "method: a line on ...": a sentence each */
};

/*
 * Fills OUT with the grounds of DECIDED, the decision for QUESTION. Estimates from similar apps and
 * from networks have no features. If the app has no estimate of its own runs, a line names the
 * features of the job. Pure; OUT points into QUESTION's evidence. Text comes from runs and may have
 * any byte but NUL.
 */
void ft_grounds_find(const struct ft_submission_question *question,
                     const struct ft_submission_decision *decided, struct ft_grounds *out);

/* The meaning of RULE in words: "at least what comparable runs needed". A static string. */
const char *ft_rule_meaning(ft_decision_rule rule);

#endif
