/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The memory laws from which generate.c draws apps, each with WEEKS_NOISES levels of noise. A law
 * gives the memory relative to the app's typical one, for inputs relative to typical inputs.
 */
#ifndef FT_BENCH_WEEKS_LAWS_H
#define FT_BENCH_WEEKS_LAWS_H

#include "predictor/core/random.h"

enum weeks_law {
  LAW_CONSTANT,
  LAW_CONSTANT_HERRINGS, /* several features vary, none counts */
  LAW_LINEAR,
  LAW_AFFINE,
  LAW_LINEAR_HERRINGS,
  LAW_ROOT,
  LAW_POWER_03,
  LAW_POWER_07,
  LAW_POWER_13,
  LAW_DENSE,      /* N^2: matrices */
  LAW_DENSE_BASE, /* base and N^2 */
  LAW_GRID,       /* N^3 */
  LAW_SORT,       /* N log N */
  LAW_LOG,
  LAW_PRODUCT, /* of two features */
  LAW_IMAGES,  /* width^2 times batch */
  LAW_SUM,     /* of two features */
  LAW_THREADS, /* proportional to the CPUs */
  LAW_THREADS_INPUT,
  LAW_SHARED, /* a part that shrinks with the CPUs */
  LAW_CATEGORY,
  LAW_CATEGORY_INPUT, /* the category decides the slope */
  LAW_CATEGORY_KIND,  /* one category grows with the input, the others do not */
  LAW_THRESHOLD,
  LAW_STEPS,
  LAW_FLAT_FIRST, /* constant, from some size on linear */
  LAW_CAPPED,     /* linear, from some size on a buffer of fixed size */
  LAW_TOLD,       /* an argument states it, as java -Xmx */
  LAW_BIMODAL,    /* decided by its data, which no feature represents */
  LAW_HEAVY,      /* a heavy tail that no feature explains */
  WEEKS_LAWS
};

enum { WEEKS_NOISES = 7, WEEKS_LEVELS = 5, WEEKS_APP_KINDS = WEEKS_LAWS * WEEKS_NOISES };

/* Standard deviations of log(memory) between equal runs, 0.1 % to 30 %. */
extern const double weeks_noise[WEEKS_NOISES];

/* An app's own constants. */
struct weeks_need {
  enum weeks_law law;
  double noise;
  double base;                /* part of the typical need that does not vary */
  double knee, jump;          /* where a threshold lies, and what it does */
  double level[WEEKS_LEVELS]; /* of categories */
  double rare;                /* probability of the large mode */
};

/* Inputs of a run relative to a typical run of its app: 1. */
struct weeks_inputs {
  double u, v; /* first and second feature */
  double cpus;
  unsigned category; /* below WEEKS_LEVELS */
};

/* Draw the constants of an app of KIND, below WEEKS_APP_KINDS. */
void weeks_need_draw(struct ft_random *random, unsigned kind, struct weeks_need *out);

/* Memory of one run relative to the app's typical one, by the law alone. */
double weeks_need_of(const struct weeks_need *need, const struct weeks_inputs *inputs);

/* The random factor on it. */
double weeks_need_chance(const struct weeks_need *need, struct ft_random *random);

#endif
