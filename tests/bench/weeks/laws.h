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
  LAW_CONSTANT_HERRINGS, /* several features vary, none is relevant */
  LAW_LINEAR,
  LAW_AFFINE,
  LAW_LINEAR_HERRINGS, /* one relevant feature among several */
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
  LAW_FLAT_FIRST, /* constant up to a size, then linear */
  LAW_CAPPED,     /* linear up to a size, then constant */
  LAW_STATED,     /* an argument states the memory, like java -Xmx */
  LAW_BIMODAL,    /* two modes by the data, which no feature represents */
  LAW_HEAVY,      /* a heavy tail that no feature explains */
  WEEKS_LAWS
};

enum { WEEKS_NOISES = 7, WEEKS_LEVELS = 5, WEEKS_APP_KINDS = WEEKS_LAWS * WEEKS_NOISES };

/* Standard deviations of log(memory) between equal runs, 0.1 % to 30 %. */
extern const double weeks_noise[WEEKS_NOISES];

/* Constants of an app. */
struct weeks_need {
  enum weeks_law law;
  double noise;
  double base;                /* share of the typical memory that does not vary */
  double knee, jump;          /* input at a threshold, and factor beyond it */
  double level[WEEKS_LEVELS]; /* factor of each category */
  double rare;                /* probability of the larger mode */
  double stray;               /* probability of a run with up to the factor jump */
};

/* Inputs of a run relative to a typical run of its app, which has 1. */
struct weeks_inputs {
  double u, v; /* first and second feature */
  double cpus;
  unsigned category; /* below WEEKS_LEVELS */
  unsigned ranks;    /* 0: one */
};

/* Draws the constants of an app of KIND, below WEEKS_APP_KINDS, into OUT. */
void weeks_need_draw(struct ft_random *random, unsigned kind, struct weeks_need *out);

/* Returns the memory of a run relative to the app's typical memory, by the law without noise. */
double weeks_need_of(const struct weeks_need *need, const struct weeks_inputs *inputs);

/* Returns the random factor on that memory. */
double weeks_need_chance(const struct weeks_need *need, struct ft_random *random);

#endif
