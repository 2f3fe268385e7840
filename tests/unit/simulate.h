/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Apps with known memory requirements, for tests of the learners. */
#ifndef FT_TESTS_SIMULATE_H
#define FT_TESTS_SIMULATE_H

#include "predictor/core/random.h"
#include "predictor/record/record.h"

/* One kind of app: draws the features of a submission and its required memory in bytes. */
struct app {
  const char *name;
  double (*run)(struct ft_random *random, unsigned turn, ft_observation *observation);
  double least, most; /* limits for the measured coverage of the 90 % interval */
  double error;       /* maximum mean |log(required / median)| after 50 runs */
};

static inline void feature(ft_observation *o, const char *name, double value)
{
  (void)ft_feature_number(o->submission.features, &o->submission.features_count,
                          sizeof o->submission.features / sizeof *o->submission.features, name,
                          value);
}

static inline void category(ft_observation *o, const char *name, const char *value)
{
  (void)ft_feature_category(o->submission.features, &o->submission.features_count,
                            sizeof o->submission.features / sizeof *o->submission.features, name,
                            value);
}

/* Adds features that every submission has: constants, and an irrelevant number. */
static inline void usual(struct ft_random *random, ft_observation *o)
{
  feature(o, "nodes", 1);
  feature(o, "tasks", 1);
  feature(o, "cpus", 4);
  feature(o, "seed", (double)ft_random_below(random, 100000));
}

#define GIB 0x1p30

static inline double run_constant(struct ft_random *random, unsigned turn, ft_observation *o)
{
  (void)turn;
  usual(random, o);
  return 4 * GIB * exp(0.04 * ft_random_normal(random));
}

static inline double run_linear(struct ft_random *random, unsigned turn, ft_observation *o)
{
  double batch = 1 + (double)ft_random_below(random, 64);

  (void)turn;
  usual(random, o);
  feature(o, "batch", batch);
  return (1 + 0.2 * batch) * GIB * exp(0.04 * ft_random_normal(random));
}

static inline double run_power(struct ft_random *random, unsigned turn, ft_observation *o)
{
  double bytes = exp(15 + 8 * ft_random_double(random));

  (void)turn;
  usual(random, o);
  feature(o, "input_bytes", bytes);
  return 3e4 * pow(bytes, 0.6) * exp(0.08 * ft_random_normal(random));
}

static inline double run_categories(struct ft_random *random, unsigned turn, ft_observation *o)
{
  static const char *const arch[] = { "resnet18", "resnet50", "vgg16" };
  static const double need[] = { 2, 5, 11 };
  uint64_t a = ft_random_below(random, 3), opt = ft_random_below(random, 2);

  (void)turn;
  usual(random, o);
  category(o, "arch", arch[a]);
  category(o, "optimizer", opt ? "adam" : "sgd");
  return need[a] * (opt ? 1.5 : 1) * GIB * exp(0.05 * ft_random_normal(random));
}

static inline double run_drift(struct ft_random *random, unsigned turn, ft_observation *o)
{
  usual(random, o);
  return 2 * GIB * exp(0.01 * turn + 0.05 * ft_random_normal(random));
}

static inline double run_heavy(struct ft_random *random, unsigned turn, ft_observation *o)
{
  double u = ft_random_double(random);

  (void)turn;
  usual(random, o);
  return GIB * pow(1 - u, -1 / 2.5);
}

#endif
