/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Evaluates and serialises a forest. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "predictor/learn/number_stream.h"
#include "predictor/learn/trees/forest.h"

enum { TREES = 100000 }; /* trees of a stored forest at most */

void ft_forest_predict(const struct ft_forest *forest, const double *x, double *out)
{
  memset(out, 0, forest->outputs * sizeof *out);
  for (size_t t = 0; t < forest->trees; t++) {
    const struct ft_forest_node *n = &forest->node[forest->root[t]];
    const double *value;

    while (n->column != UINT32_MAX)
      n = &forest->node[x[n->column] <= n->threshold ? n->left : n->right];
    value = forest->value + (size_t)n->left * forest->outputs;
    for (size_t o = 0; o < forest->outputs; o++)
      out[o] += value[o];
  }
  for (size_t o = 0; o < forest->outputs; o++)
    out[o] = forest->base[o] + forest->scale * out[o];
}

/* Serialises node I. Children must have larger indices, so that no traversal can loop. */
static void serialise_node(struct ft_number_stream *s, struct ft_forest *forest, size_t i)
{
  struct ft_forest_node *n = &forest->node[i];
  double column = n->column == UINT32_MAX ? -1.0 : (double)n->column;

  ft_number_stream_double(s, &column);
  ft_number_stream_double(s, &n->threshold);
  if (column < 0) {
    n->column = UINT32_MAX;
    ft_number_stream_index(s, &n->left, 0, forest->leaves - 1);
    ft_number_stream_index(s, &n->right, 0, 0);
  } else {
    n->column = column < (double)forest->columns ? (uint32_t)column : 0;
    s->failed |= !(column < (double)forest->columns) || i + 1 >= forest->nodes;
    ft_number_stream_index(s, &n->left, i + 1, forest->nodes - 1);
    ft_number_stream_index(s, &n->right, i + 1, forest->nodes - 1);
  }
}

int ft_forest_serialise(struct ft_number_stream *s, size_t columns, size_t outputs,
                        struct ft_forest *forest, struct ft_error *err)
{
  forest->columns = columns;
  forest->outputs = outputs;
  ft_number_stream_count(s, &forest->trees, 1, TREES);
  ft_number_stream_count(s, &forest->nodes, 1, 2 * (size_t)FT_FOREST_VALUES);
  ft_number_stream_count(s, &forest->leaves, 1, FT_FOREST_VALUES / (outputs ? outputs : 1));
  ft_number_stream_double(s, &forest->scale);
  ft_number_stream_vector(s, &forest->base, outputs);
  forest->root = ft_number_stream_array(s, forest->root, forest->trees, sizeof *forest->root, 1);
  for (size_t t = 0; !s->failed && t < forest->trees; t++)
    ft_number_stream_index(s, &forest->root[t], 0, forest->nodes - 1);
  forest->node = ft_number_stream_array(s, forest->node, forest->nodes, sizeof *forest->node, 4);
  for (size_t i = 0; !s->failed && i < forest->nodes; i++)
    serialise_node(s, forest, i);
  ft_number_stream_vector(s, &forest->value, forest->leaves * outputs);
  return s->failed ? ft_error_set(err, "forest: cut short or out of range") : 0;
}

void ft_forest_free(struct ft_forest *forest)
{
  if (!forest)
    return;
  free(forest->base);
  free(forest->root);
  free(forest->node);
  free(forest->value);
  *forest = (struct ft_forest){ 0 };
}
