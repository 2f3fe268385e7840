/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Evaluates, writes and reads a forest. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "predictor/learn/number_stream.h"
#include "predictor/learn/trees/forest.h"

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

void ft_forest_save(const struct ft_forest *forest, struct ft_number_stream *out)
{
  ft_number_stream_write(out, (double)forest->trees);
  ft_number_stream_write(out, (double)forest->nodes);
  ft_number_stream_write(out, (double)forest->leaves);
  ft_number_stream_write(out, forest->scale);
  ft_number_stream_write_all(out, forest->base, forest->outputs);
  for (size_t t = 0; t < forest->trees; t++)
    ft_number_stream_write(out, forest->root[t]);
  for (size_t i = 0; i < forest->nodes; i++) {
    const struct ft_forest_node *n = &forest->node[i];

    ft_number_stream_write(out, n->column == UINT32_MAX ? -1.0 : (double)n->column);
    ft_number_stream_write(out, n->threshold);
    ft_number_stream_write(out, n->left);
    ft_number_stream_write(out, n->right);
  }
  ft_number_stream_write_all(out, forest->value, forest->leaves * forest->outputs);
}

/* Children have larger indices, so no walk can loop. */
static void load_node(struct ft_number_reader *in, struct ft_forest *forest, size_t i)
{
  struct ft_forest_node *n = &forest->node[i];
  double column = ft_number_reader_read(in);

  n->threshold = ft_number_reader_read(in);
  if (column < 0) {
    n->column = UINT32_MAX;
    n->left = (uint32_t)ft_number_reader_read_count(in, 0, forest->leaves - 1);
    n->right = (uint32_t)ft_number_reader_read_count(in, 0, 0);
  } else {
    n->column = column < (double)forest->columns ? (uint32_t)column : 0;
    in->failed |= !(column < (double)forest->columns) || i + 1 >= forest->nodes;
    n->left = (uint32_t)ft_number_reader_read_count(in, i + 1, forest->nodes - 1);
    n->right = (uint32_t)ft_number_reader_read_count(in, i + 1, forest->nodes - 1);
  }
}

int ft_forest_load(struct ft_number_reader *in, size_t columns, size_t outputs,
                   struct ft_forest *forest, struct ft_error *err)
{
  size_t trees = ft_number_reader_read_count(in, 1, 100000);
  size_t nodes = ft_number_reader_read_count(in, 1, 2 * (size_t)FT_FOREST_VALUES);
  size_t leaves = ft_number_reader_read_count(in, 1, FT_FOREST_VALUES / (outputs ? outputs : 1));
  double scale = ft_number_reader_read(in);

  *forest = (struct ft_forest){ .columns = columns, .outputs = outputs, .trees = trees,
                                .nodes = nodes, .leaves = leaves, .scale = scale };
  /* check the announced length against the data before allocating */
  if (in->failed || nodes > in->left / 4 || trees > in->left)
    return ft_error_set(err, "forest: cut short or out of range");
  forest->base = ft_number_reader_read_all(in, outputs);
  forest->root = malloc(trees * sizeof *forest->root);
  forest->node = malloc(nodes * sizeof *forest->node);
  if (!forest->base || !forest->root || !forest->node)
    return ft_error_set(err, "forest: cut short or out of memory");
  for (size_t t = 0; t < trees; t++)
    forest->root[t] = (uint32_t)ft_number_reader_read_count(in, 0, nodes - 1);
  for (size_t i = 0; i < nodes && !in->failed; i++)
    load_node(in, forest, i);
  forest->value = ft_number_reader_read_all(in, leaves * outputs);
  if (in->failed)
    return ft_error_set(err, "forest: cut short or out of range");
  return 0;
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
