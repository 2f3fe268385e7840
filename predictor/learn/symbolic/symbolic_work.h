/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shared by the search (symbolic.c) and its Pareto front (symbolic_front.c). */
#ifndef FT_LEARN_SYMBOLIC_WORK_H
#define FT_LEARN_SYMBOLIC_WORK_H

#include "predictor/learn/symbolic/expression_tree.h"
#include "predictor/learn/symbolic/interval_arithmetic.h"
#include "predictor/learn/symbolic/symbolic.h"

struct ft_symbolic_tree {
  struct ft_expression code; /* its scales are 1, because the table is scaled */
  double mape;               /* if known */
  bool known;
};

/* Cache entry: a structure (symbols and variables) and its best fit; fits: number of fits. */
struct ft_symbolic_cached {
  uint64_t hash;
  unsigned fits;
  struct ft_symbolic_tree best;
};

struct ft_symbolic_search {
  struct ft_row_blocks data;
  struct ft_symbolic_settings set;
  struct ft_grower grower;
  struct ft_sweep *sweep;
  double *copy; /* scaled table, followed by scratch memory for the table without a fold */
  struct ft_interval range[FT_EXPRESSION_VARIABLES]; /* of the columns */
  struct ft_symbolic_cached *cache;
  struct ft_symbolic_tree *slot; /* 2 * population */
  uint32_t *candidate;           /* slot indices: parents, then offspring */
  uint32_t *next;                /* slot indices of the next parents */
  double *mape;                  /* error of each candidate */
  uint8_t *length;               /* nodes of each candidate */
  uint8_t *used;                 /* per slot: whether a parent is in it */
  struct ft_symbolic_tree *best; /* per length: the tree with the smallest error */
  double *held_out;  /* per point of the front: held-out error of each row; then scratch memory */
  double best_error; /* smallest error so far */
};

/*
 * Fits the constants of E in STEPS steps and returns its error; infinite if a divisor may be 0 in
 * the range of the columns. Such a pole fits one row by chance and is arbitrary elsewhere.
 */
double ft_symbolic_fit_expression(const struct ft_symbolic_search *f, struct ft_expression *e,
                                  int steps);

/* Builds the Pareto front from the best trees of each length, and chooses a point. */
void ft_symbolic_build_front(struct ft_symbolic_search *f, struct ft_symbolic_result *out);

#endif
