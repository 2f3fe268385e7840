/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The memory laws: each function of inputs returns memory relative to the typical memory. */
#include "config.h"

#include <math.h>

#include "tests/bench/weeks/laws.h"

/* Repeats of simulations and aligners differ by a thousandth; those of solvers that choose pivots
 * and of programs with garbage collectors by tens of per cent. */
const double weeks_noise[WEEKS_NOISES] = { 0.001, 0.005, 0.02, 0.05, 0.1, 0.2, 0.3 };

/* Logarithm of a typical input in bytes: 60 MB. */
#define TYPICAL_LOG 18.0

static double between(struct ft_random *random, double low, double high)
{
  return low + (high - low) * ft_random_double(random);
}

void weeks_need_draw(struct ft_random *random, unsigned kind, struct weeks_need *out)
{
  *out = (struct weeks_need){ .law = (enum weeks_law)(kind / WEEKS_NOISES),
                              .noise = weeks_noise[kind % WEEKS_NOISES],
                              .base = between(random, 0.1, 0.7),
                              .knee = between(random, 0.7, 1.8),
                              .jump = between(random, 1.5, 5),
                              .rare = between(random, 0.03, 0.3) };
  for (int i = 0; i < WEEKS_LEVELS; i++)
    out->level[i] = i ? exp(between(random, log(0.4), log(3))) : 1;
}

static double category_memory(const struct weeks_need *n, const struct weeks_inputs *in)
{
  double level = n->level[in->category % WEEKS_LEVELS];

  if (n->law == LAW_CATEGORY)
    return level;
  if (n->law == LAW_CATEGORY_INPUT)
    return n->base + (1 - n->base) * level * in->u;
  return in->category == 0 ? in->u : level * n->base;
}

static double two_inputs_memory(const struct weeks_need *n, const struct weeks_inputs *in)
{
  double rest = 1 - n->base;

  switch (n->law) {
  case LAW_PRODUCT:
    return in->u * in->v;
  case LAW_IMAGES:
    return 0.1 + 0.9 * in->u * in->u * in->v;
  case LAW_SUM:
    return n->base * in->u + rest * in->v;
  case LAW_THREADS:
    return n->base + rest * in->cpus;
  case LAW_THREADS_INPUT:
    return n->base + rest * in->cpus * in->u;
  default:
    return n->base + rest / in->cpus;
  }
}

static double threshold_memory(const struct weeks_need *n, const struct weeks_inputs *in)
{
  switch (n->law) {
  case LAW_THRESHOLD:
    return in->u < n->knee ? 1 : n->jump;
  case LAW_STEPS:
    return ceil(4 * in->u) / 4;
  case LAW_FLAT_FIRST:
    return fmax(1, in->u / n->knee);
  default:
    return fmin(in->u, n->knee);
  }
}

static double one_input_memory(const struct weeks_need *n, double u)
{
  double rest = 1 - n->base;

  switch (n->law) {
  case LAW_LINEAR:
  case LAW_LINEAR_HERRINGS:
  case LAW_STATED:
    return u;
  case LAW_AFFINE:
    return n->base + rest * u;
  case LAW_ROOT:
    return sqrt(u);
  case LAW_POWER_03:
    return pow(u, 0.3);
  case LAW_POWER_07:
    return pow(u, 0.7);
  case LAW_POWER_13:
    return pow(u, 1.3);
  case LAW_DENSE:
    return u * u;
  case LAW_DENSE_BASE:
    return n->base + rest * u * u;
  case LAW_GRID:
    return u * u * u;
  case LAW_SORT:
    return u * fmax(1 + log(u) / TYPICAL_LOG, 0.1);
  case LAW_LOG:
    return fmax(1 + log(u) / TYPICAL_LOG, 0.1);
  default:
    return 1;
  }
}

/* Returns the memory of one rank. */
static double rank_memory(const struct weeks_need *n, const struct weeks_inputs *in)
{
  switch (n->law) {
  case LAW_CATEGORY:
  case LAW_CATEGORY_INPUT:
  case LAW_CATEGORY_KIND:
    return category_memory(n, in);
  case LAW_PRODUCT:
  case LAW_IMAGES:
  case LAW_SUM:
  case LAW_THREADS:
  case LAW_THREADS_INPUT:
  case LAW_SHARED:
    return two_inputs_memory(n, in);
  case LAW_THRESHOLD:
  case LAW_STEPS:
  case LAW_FLAT_FIRST:
  case LAW_CAPPED:
    return threshold_memory(n, in);
  default:
    return one_input_memory(n, in->u);
  }
}

double weeks_need_of(const struct weeks_need *n, const struct weeks_inputs *in)
{
  double memory = rank_memory(n, in);

  /* a part is shared, or each rank has its own */
  return in->ranks > 1 ? memory * (n->base + (1 - n->base) * in->ranks) : memory;
}

double weeks_need_chance(const struct weeks_need *n, struct ft_random *random)
{
  double factor = exp(n->noise * ft_random_normal(random));

  if (n->law == LAW_BIMODAL && ft_random_double(random) < n->rare)
    factor *= n->jump;
  /* Lognormal, standard deviation 0.5: one run in a hundred needs three times the median. */
  if (n->law == LAW_HEAVY)
    factor *= exp(0.5 * ft_random_normal(random));
  if (n->stray > 0 && ft_random_double(random) < n->stray)
    factor *= exp(log(n->jump) * ft_random_double(random));
  return factor;
}
