/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a figure stands on: method, features and runs, as data and as sentences. */
#ifndef FT_DECIDE_GROUNDS_H
#define FT_DECIDE_GROUNDS_H

#include "predictor/decide/submission.h"

enum { FT_GROUNDS_EFFECTS = 6, FT_GROUNDS_LINES = 12 };

/* A feature that the estimate depends on. */
struct ft_effect {
  char name[48];
  char value[64];       /* as people read it; empty: the submission lacks it, so the usual counts */
  double without_bytes; /* the median where it is not known; 0: the submission lacks it */
  double low, high;     /* of numbers: the range in the runs; NaN: a category */
  bool unseen;          /* a number outside of that range, or a category that no run has had */
};

struct ft_grounds {
  size_t effect_count;
  struct ft_effect effect[FT_GROUNDS_EFFECTS]; /* the largest first */
  const struct ft_facts *facts;                /* NULL: no run is known */
  int count;
  char line[FT_GROUNDS_LINES][FT_MESSAGE_SIZE]; /* "method: a line on ...": a sentence each */
};

/*
 * Fills OUT whole with what DECIDED, which QUESTION was decided to, stands on. What similar apps or
 * a network say has no features. As long as the app's own runs make no estimate, a line names the
 * features that would count in one. Pure; OUT points into QUESTION's evidence. Text comes from runs
 * and may have any byte but NUL.
 */
void ft_grounds_find(const struct ft_submission_question *question,
                     const struct ft_submission_decision *decided, struct ft_grounds *out);

/* What it means that RULE decided, in words: "at least what runs like it have needed". */
const char *ft_rule_meaning(ft_decision_rule rule);

#endif
