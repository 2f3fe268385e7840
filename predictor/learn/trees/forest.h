/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Regression trees whose leaves hold a vector: extremely randomised trees (Geurts, Ernst, Wehenkel
 * 2006), random forests (Breiman 2001) and gradient boosting of small trees (Friedman 2001).
 */
#ifndef FT_LEARN_FOREST_H
#define FT_LEARN_FOREST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "predictor/core/error.h"
#include "predictor/learn/samples.h"

struct ft_number_stream;
struct ft_number_reader;

enum { FT_FOREST_VALUES = 16 << 20 }; /* numbers in the leaves of a forest, at most */

struct ft_forest_settings {
  unsigned trees; /* 1 or more */
  unsigned leaf;  /* the fewest rows of a leaf, 1 or more */
  unsigned depth; /* the most splits above a leaf, 1 to 64 */
  double share;   /* of the columns tried at a split, (0, 1] */
  double rate;    /* above 0: boosting, each tree of what the last ones left, shrunk by this */
  bool drawn;     /* one drawn threshold a column tried; else the best of all thresholds */
  bool resampled; /* each tree of its own sample of the rows, with replacement */
  uint64_t seed;
};

struct ft_forest_node {
  double threshold; /* values up to it go left */
  uint32_t column;  /* UINT32_MAX: a leaf, whose values begin at value[left * outputs] */
  uint32_t left, right;
};

/* A fitted forest; all 0 is an empty one. A node's children stand behind it. */
struct ft_forest {
  size_t columns, outputs, trees, nodes, leaves;
  double scale; /* of the sum over the trees */
  double *base; /* added; one an output */
  uint32_t *root;
  struct ft_forest_node *node;
  double *value;
};

/*
 * Grow FOREST, which is to be freed in either case. Equal seeds give equal forests.
 * Returns 0; -1 with ERR, also where the leaves would hold more than FT_FOREST_VALUES numbers.
 */
int ft_forest_fit(const struct ft_samples *samples, const struct ft_forest_settings *settings,
                  struct ft_forest *forest, struct ft_error *err);

/* What FOREST says of one row X: OUT gets one number an output. Allocates nothing. */
void ft_forest_predict(const struct ft_forest *forest, const double *x, double *out);

void ft_forest_save(const struct ft_forest *forest, struct ft_number_stream *out);

/* A forest of COLUMNS and OUTPUTS, and no other. Returns 0; -1 with ERR; to be freed in either
 * case. */
int ft_forest_load(struct ft_number_reader *in, size_t columns, size_t outputs,
                   struct ft_forest *forest, struct ft_error *err);

void ft_forest_free(struct ft_forest *forest);

#endif
