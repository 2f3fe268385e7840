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

enum { FT_FOREST_VALUES = 16 << 20 }; /* largest number of values in all leaves: 128 MiB */

struct ft_forest_settings {
  unsigned trees;       /* 1 or more */
  unsigned min_leaf;    /* smallest number of rows in a leaf, 1 or more */
  unsigned max_depth;   /* 1 to 64 */
  double max_features;  /* fraction of the columns tried at a split, (0, 1] */
  double learning_rate; /* above 0: gradient boosting with this rate; 0: independent trees */
  bool random_split;    /* one random threshold per column tried; else the best threshold */
  bool bootstrap;       /* each tree has its own sample of the rows, drawn with replacement */
  uint64_t seed;
};

struct ft_forest_node {
  double threshold; /* rows with x[column] <= threshold go left */
  uint32_t column;  /* UINT32_MAX: a leaf, with its values at value[left * outputs] */
  uint32_t left, right;
};

/* A fitted forest; all 0 is an empty one. Children have larger indices than their parent. */
struct ft_forest {
  size_t columns, outputs, trees, nodes, leaves;
  double scale; /* factor of the sum over the trees */
  double *base; /* per output: constant added to the prediction */
  uint32_t *root;
  struct ft_forest_node *node;
  double *value;
};

/*
 * Grows FOREST. Equal seeds give equal forests. The caller frees FOREST in either case. Returns 0;
 * -1 on error, also if the leaves need more than FT_FOREST_VALUES numbers, and fills ERR.
 */
int ft_forest_fit(const struct ft_samples *samples, const struct ft_forest_settings *settings,
                  struct ft_forest *forest, struct ft_error *err);

/* Predicts row X into OUT, one number per output. FOREST is not empty. Allocates nothing. */
void ft_forest_predict(const struct ft_forest *forest, const double *x, double *out);

/*
 * Writes FOREST, of COLUMNS columns and OUTPUTS outputs, to STREAM, or reads it into a zeroed one
 * that the caller frees in either case. Returns 0; -1 on error and fills ERR.
 */
int ft_forest_serialise(struct ft_number_stream *stream, size_t columns, size_t outputs,
                        struct ft_forest *forest, struct ft_error *err);

void ft_forest_free(struct ft_forest *forest);

#endif
