/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Symbolic regression by genetic programming, as the memory-modelling paper
 * (Chenna, Patel, Lam: Memory Consumption Modeling of Deep Learning Workloads,
 * Dell 2023) describes Pandora: plus-selection, double tournament, one-point
 * crossover, five mutation operators, constants by Levenberg-Marquardt, MAPE.
 */
#ifndef FT_LEARN_SYMBOLIC_H
#define FT_LEARN_SYMBOLIC_H

#include "predictor/core/error.h"
#include "predictor/learn/symbolic/expression.h"

struct ft_symbolic_settings {
  unsigned population;    /* 300 */
  unsigned generations;   /* 150 */
  unsigned fitness_size;  /* of the double tournament: 3 */
  double parsimony_size;  /* 1.1: the shorter of two wins with probability 0.55 */
  double crossover;       /* probability 1.0 */
  double mutation;        /* probability 0.5 */
  unsigned primitives;    /* bits 1 << FT_SYMBOL_...: add, multiply, square, cube */
  bool constants;         /* fit them; false: only those that were drawn */
  uint64_t seed;
  /* Told how many generations are done after each, and within one of many trees; returning false
   * cancels. May be NULL. */
  bool (*progress)(void *data, unsigned generation, double best);
  void *data;
};

enum {
  FT_SYMBOLIC_FRONT = FT_EXPRESSION_NODES,
  FT_SYMBOLIC_POPULATION = 100000, /* at most */
  FT_SYMBOLIC_ROWS = 2000 /* of more, so many drawn at random are used: bounded time */
};

/* Values are at most of this size, targets at least of its reciprocal: squares stay finite. */
#define FT_SYMBOLIC_MOST 1e100

struct ft_symbolic_point {
  struct ft_expression expression;
  unsigned parameters; /* fitted: slope, intercept unless it is 0, constants */
  double mape;       /* over the rows that were given */
  double validated;  /* MAPE in 5 folds, constants fitted anew to the other rows */
  double description; /* nats that it and the errors take to say: the less, the better */
};

struct ft_symbolic_result {
  unsigned count;    /* of the Pareto front of error against length, shortest first */
  struct ft_symbolic_point front[FT_SYMBOLIC_FRONT];
  unsigned chosen; /* the simplest within the noise */
  bool cancelled;
};

/* The paper's values. */
void ft_symbolic_defaults(struct ft_symbolic_settings *settings);

/*
 * Find y = f(x) for ROWS rows; X[row * COLUMNS + column]. All are at most
 * FT_SYMBOLIC_MOST, and no y is 0, for MAPE divides by it. No equation divides by what could be 0
 * while the columns are in their ranges (interval_arithmetic.h). The same seed gives the same
 * result. RESULT is some 40 KB. Returns 0; -1 with ERR.
 */
int ft_symbolic_fit(const double *x, const double *y, size_t rows, size_t columns,
                    const struct ft_symbolic_settings *settings,
                    struct ft_symbolic_result *result, struct ft_error *err);

/*
 * The same, and once more with the primitives MORE switched on: which of the two answers, their
 * descriptions decide. The second is given up after a third of its generations when it has found
 * nothing better than the first. PROGRESS is told up to twice as many generations.
 */
int ft_symbolic_fit_more(const double *x, const double *y, size_t rows, size_t columns,
                         const struct ft_symbolic_settings *settings, unsigned more,
                         struct ft_symbolic_result *result, struct ft_error *err);

#endif
