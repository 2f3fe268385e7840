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
  /* in parentheses: the paper's value */
  unsigned population;   /* trees (300) */
  unsigned generations;  /* (150) */
  unsigned fitness_size; /* trees of a fitness tournament (3) */
  double parsimony_size; /* (1.1): the shorter of two wins with probability 0.55 */
  double crossover;      /* probability (1.0) */
  double mutation;       /* probability (0.5) */
  unsigned primitives;   /* bits 1 << FT_SYMBOL_... (add, multiply, square, cube) */
  bool constants;        /* fit constants; false: keep the random ones */
  uint64_t seed;
  /* Called after each generation, and within a generation of many trees, with the number of
   * finished generations and the smallest error so far. Returns false to cancel. NULL: none. */
  bool (*progress)(void *data, unsigned generation, double best);
  void *data;
};

enum {
  FT_SYMBOLIC_FRONT = FT_EXPRESSION_NODES,
  FT_SYMBOLIC_POPULATION = 100000, /* largest population; bounds memory */
  FT_SYMBOLIC_ROWS = 2000 /* largest number of rows; larger tables are sampled; bounds time */
};

/* Largest absolute value, and reciprocal of the smallest target; their squares and cubes are
 * finite. */
#define FT_SYMBOLIC_MAX 1e100

struct ft_symbolic_point {
  struct ft_expression expression;
  unsigned parameters; /* number of fitted ones: slope, intercept unless 0, constants */
  double mape;         /* training error, a fraction */
  double validated;    /* cross-validated MAPE in 5 folds, a fraction */
  double description;  /* description length in nats; smaller is better */
};

struct ft_symbolic_result {
  unsigned count; /* points of the Pareto front of error and length, shortest first */
  struct ft_symbolic_point front[FT_SYMBOLIC_FRONT];
  unsigned chosen; /* index of the simplest point within one standard error of the best */
  bool cancelled;
};

/* Sets SETTINGS to the paper's values. */
void ft_symbolic_defaults(struct ft_symbolic_settings *settings);

/*
 * Searches equations y = f(x) for ROWS rows of X[row * COLUMNS + column]. Absolute values must be
 * at most FT_SYMBOLIC_MAX, and no y may be 0, because MAPE divides by y. Divisors of the equations
 * are non-zero in the range of the columns (interval_arithmetic.h). Equal seeds give equal results.
 * RESULT is about 40 KB. Returns 0; -1 on error and fills ERR.
 */
int ft_symbolic_fit(const double *x, const double *y, size_t rows, size_t columns,
                    const struct ft_symbolic_settings *settings,
                    struct ft_symbolic_result *result, struct ft_error *err);

/*
 * As ft_symbolic_fit, with a second search that also uses the primitives MORE (0: none). The result
 * with the shorter description length is returned. The second search is cancelled after a third of
 * its generations if it is not better. The generations reported to the callback count up to twice
 * settings->generations. Returns 0; -1 on error and fills ERR.
 */
int ft_symbolic_fit_more(const double *x, const double *y, size_t rows, size_t columns,
                         const struct ft_symbolic_settings *settings, unsigned more,
                         struct ft_symbolic_result *result, struct ft_error *err);

#endif
