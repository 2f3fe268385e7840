/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Grows the trees of a forest from their roots, depth first. */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/core/array_grow.h"
#include "predictor/core/random.h"
#include "predictor/learn/trees/forest.h"

/* A row and its value in one column. */
struct cell {
  double x;
  uint32_t row;
};

/* A node to grow from COUNT rows, order[first] and the following. */
struct task {
  size_t first, count;
  uint32_t node;
  unsigned depth;
};

struct grower {
  const struct ft_samples *s;
  const struct ft_forest_settings *settings;
  struct ft_forest *forest;
  struct ft_random random;
  const double *y;     /* targets of this tree */
  uint32_t *order;     /* row indices, grouped by node */
  uint32_t *column;    /* all columns, shuffled */
  struct cell *cells;  /* rows of one node and their values in one column */
  struct task *task;   /* stack of the nodes to grow */
  double *total, *left; /* sums of the outputs of a node, and of its left side */
  double *residual; /* boosting: residuals */
  size_t node_capacity, leaf_capacity;
};

struct split {
  uint32_t column;
  double threshold, gain;
};

/* Returns the criterion that a split maximises: the sum, over outputs and both sides, of the
 * squared sum of the targets over their number. */
static double split_gain(const struct grower *g, size_t left, size_t count)
{
  double gain = 0, l = 1 / (double)left, r = 1 / (double)(count - left);

  for (size_t o = 0; o < g->s->outputs; o++) {
    double residual = g->total[o] - g->left[o];

    gain += g->left[o] * g->left[o] * l + residual * residual * r;
  }
  return gain;
}

static void add_row_outputs(const struct grower *g, double *sum, uint32_t row)
{
  const double *y = g->y + (size_t)row * g->s->outputs;

  for (size_t o = 0; o < g->s->outputs; o++)
    sum[o] += y[o];
}

/* Tries one random threshold between LOW and HIGH, and updates BEST. */
static void try_random_threshold(struct grower *g, const struct task *t, uint32_t column,
                                 double low, double high, struct split *best)
{
  double threshold = low + ft_random_double(&g->random) * (high - low), gain;
  size_t left = 0;

  threshold = threshold < high ? threshold : low;
  memset(g->left, 0, g->s->outputs * sizeof *g->left);
  for (size_t i = 0; i < t->count; i++)
    if (g->cells[i].x <= threshold) {
      add_row_outputs(g, g->left, g->cells[i].row);
      left++;
    }
  if (left < g->settings->min_leaf || t->count - left < g->settings->min_leaf)
    return;
  gain = split_gain(g, left, t->count);
  if (gain > best->gain)
    *best = (struct split){ column, threshold, gain };
}

static int compare_cells(const void *a, const void *b)
{
  const struct cell *p = a, *q = b;

  if (p->x < q->x || p->x > q->x)
    return p->x < q->x ? -1 : 1;
  return (p->row > q->row) - (p->row < q->row);
}

/* Tries every threshold halfway between two adjacent values, and updates BEST. */
static void try_all_thresholds(struct grower *g, const struct task *t, uint32_t column,
                               struct split *best)
{
  qsort(g->cells, t->count, sizeof *g->cells, compare_cells);
  memset(g->left, 0, g->s->outputs * sizeof *g->left);
  for (size_t i = 0; i + 1 < t->count; i++) {
    double low = g->cells[i].x, high = g->cells[i + 1].x, gain;

    add_row_outputs(g, g->left, g->cells[i].row);
    if (!(low < high) || i + 1 < g->settings->min_leaf || t->count - i - 1 < g->settings->min_leaf)
      continue;
    gain = split_gain(g, i + 1, t->count);
    if (gain > best->gain) {
      double half = low + (high - low) / 2;

      *best = (struct split){ column, half < high ? half : low, gain };
    }
  }
}

/* Returns the best split of the columns tried; its gain is -1 if there is none. */
static struct split find_best_split(struct grower *g, const struct task *t)
{
  size_t columns = g->s->columns, tried = 0;
  size_t max_tried = (size_t)fmax(1, ceil(g->settings->max_features * (double)columns));
  struct split best = { 0, 0, -1 };

  memset(g->total, 0, g->s->outputs * sizeof *g->total);
  for (size_t i = 0; i < t->count; i++)
    add_row_outputs(g, g->total, g->order[t->first + i]);
  for (size_t c = 0; c < columns && tried < max_tried; c++) {
    size_t other = c + ft_random_below(&g->random, columns - c);
    uint32_t column = g->column[other];
    double low = INFINITY, high = -INFINITY;

    g->column[other] = g->column[c];
    g->column[c] = column;
    for (size_t i = 0; i < t->count; i++) {
      uint32_t row = g->order[t->first + i];

      g->cells[i] = (struct cell){ g->s->x[(size_t)row * columns + column], row };
      low = fmin(low, g->cells[i].x);
      high = fmax(high, g->cells[i].x);
    }
    if (!(low < high))
      continue;
    tried++;
    if (g->settings->random_split)
      try_random_threshold(g, t, column, low, high, &best);
    else
      try_all_thresholds(g, t, column, &best);
  }
  return best;
}

static uint32_t append_node(struct grower *g)
{
  struct ft_forest *f = g->forest;

  struct ft_forest_node *more =
      ft_array_grow(f->node, &g->node_capacity, f->nodes, sizeof *more, UINT32_MAX);

  if (!more)
    return UINT32_MAX;
  f->node = more;
  return (uint32_t)f->nodes++;
}

/* Makes the task's node a leaf with the mean of its rows. */
static int append_leaf(struct grower *g, const struct task *t, struct ft_error *err)
{
  struct ft_forest *f = g->forest;
  size_t outputs = f->outputs;
  double *value,
      scale = (g->settings->learning_rate > 0 ? g->settings->learning_rate : 1) / (double)t->count;

  if ((f->leaves + 1) * outputs > FT_FOREST_VALUES)
    return ft_error_set(err, "forest: more than %d numbers in its leaves", FT_FOREST_VALUES);
  value = ft_array_grow(f->value, &g->leaf_capacity, f->leaves, outputs * sizeof *value,
                        FT_FOREST_VALUES);
  if (!value)
    return ft_error_set(err, "forest: out of memory");
  f->value = value;
  value = f->value + f->leaves * outputs;
  memset(value, 0, outputs * sizeof *value);
  for (size_t i = 0; i < t->count; i++)
    add_row_outputs(g, value, g->order[t->first + i]);
  for (size_t o = 0; o < outputs; o++)
    value[o] *= scale;
  f->node[t->node] = (struct ft_forest_node){ .column = UINT32_MAX, .left = (uint32_t)f->leaves++ };
  return 0;
}

/* Moves the rows on the left side of SPLIT to the front. Returns their number. */
static size_t partition_rows(struct grower *g, const struct task *t, const struct split *split)
{
  size_t left = 0;

  for (size_t i = 0; i < t->count; i++) {
    uint32_t row = g->order[t->first + i];

    if (g->s->x[(size_t)row * g->s->columns + split->column] <= split->threshold) {
      g->order[t->first + i] = g->order[t->first + left];
      g->order[t->first + left++] = row;
    }
  }
  return left;
}

static int grow_tree(struct grower *g, uint32_t *root, struct ft_error *err)
{
  size_t tasks = 1, rows = g->s->rows;

  for (size_t i = 0; i < rows; i++)
    g->order[i] = (uint32_t)(g->settings->bootstrap ? ft_random_below(&g->random, rows) : i);
  *root = append_node(g);
  g->task[0] = (struct task){ 0, rows, *root, 0 };
  while (tasks) {
    struct task t = g->task[--tasks];
    struct split split = { 0, 0, -1 };
    uint32_t l, r;
    size_t left;

    if (t.node == UINT32_MAX)
      return ft_error_set(err, "forest: out of memory");
    if (t.count >= 2 * (size_t)g->settings->min_leaf && t.count > 1 &&
        t.depth < g->settings->max_depth)
      split = find_best_split(g, &t);
    if (split.gain < 0) {
      if (append_leaf(g, &t, err) < 0)
        return -1;
      continue;
    }
    left = partition_rows(g, &t, &split);
    l = append_node(g);
    r = l == UINT32_MAX ? l : append_node(g);
    g->forest->node[t.node] = (struct ft_forest_node){ split.threshold, split.column, l, r };
    g->task[tasks++] = (struct task){ t.first + left, t.count - left, r, t.depth + 1 };
    g->task[tasks++] = (struct task){ t.first, left, l, t.depth + 1 };
  }
  return 0;
}

/* Subtracts the prediction of the tree at ROOT from the residuals of all rows. */
static void subtract_tree(struct grower *g, uint32_t root)
{
  const struct ft_forest *f = g->forest;

  for (size_t r = 0; r < g->s->rows; r++) {
    const double *x = g->s->x + r * g->s->columns;
    const struct ft_forest_node *n = &f->node[root];

    while (n->column != UINT32_MAX)
      n = &f->node[x[n->column] <= n->threshold ? n->left : n->right];
    for (size_t o = 0; o < f->outputs; o++)
      g->residual[r * f->outputs + o] -= f->value[(size_t)n->left * f->outputs + o];
  }
}

/* Initialises boosting: the constant is the mean, and the first tree fits the residuals. */
static void begin_boosting(struct grower *g)
{
  size_t rows = g->s->rows, outputs = g->s->outputs;

  for (size_t r = 0; r < rows; r++)
    for (size_t o = 0; o < outputs; o++)
      g->forest->base[o] += g->s->y[r * outputs + o] / (double)rows;
  for (size_t r = 0; r < rows; r++)
    for (size_t o = 0; o < outputs; o++)
      g->residual[r * outputs + o] = g->s->y[r * outputs + o] - g->forest->base[o];
  g->y = g->residual;
}

static void *allocate_array(size_t count, size_t size)
{
  return calloc(count ? count : 1, size);
}

int ft_forest_fit(const struct ft_samples *s, const struct ft_forest_settings *settings,
                  struct ft_forest *forest, struct ft_error *err)
{
  struct grower g = { .s = s, .settings = settings, .forest = forest, .y = s->y };
  bool boosts = settings->learning_rate > 0;
  int status = -1;

  *forest = (struct ft_forest){ .columns = s->columns,
                                .outputs = s->outputs,
                                .scale = boosts ? 1 : 1 / (double)settings->trees };
  if (!s->rows || !s->outputs || !settings->trees)
    return ft_error_set(err, "forest: nothing to learn from");
  g.order = allocate_array(s->rows, sizeof *g.order);
  g.column = allocate_array(s->columns, sizeof *g.column);
  g.cells = allocate_array(s->rows, sizeof *g.cells);
  g.task = allocate_array(s->rows + 2, sizeof *g.task);
  g.total = allocate_array(s->outputs, sizeof *g.total);
  g.left = allocate_array(s->outputs, sizeof *g.left);
  g.residual = allocate_array(boosts ? s->rows * s->outputs : 1, sizeof *g.residual);
  forest->base = allocate_array(s->outputs, sizeof *forest->base);
  forest->root = allocate_array(settings->trees, sizeof *forest->root);
  if (!g.order || !g.column || !g.cells || !g.task || !g.total || !g.left || !g.residual ||
      !forest->base || !forest->root) {
    ft_error_set(err, "forest: out of memory");
    goto out;
  }
  for (size_t c = 0; c < s->columns; c++)
    g.column[c] = (uint32_t)c;
  ft_random_seed(&g.random, settings->seed);
  if (boosts)
    begin_boosting(&g);
  for (; forest->trees < settings->trees; forest->trees++) {
    if (grow_tree(&g, &forest->root[forest->trees], err) < 0)
      goto out;
    if (boosts)
      subtract_tree(&g, forest->root[forest->trees]);
  }
  status = 0;
out:
  free(g.order);
  free(g.column);
  free(g.cells);
  free(g.task);
  free(g.total);
  free(g.left);
  free(g.residual);
  return status;
}
