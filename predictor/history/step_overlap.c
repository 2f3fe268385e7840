/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/core/array_grow.h"
#include "predictor/core/hash.h"
#include "predictor/history/step_overlap.h"

int ft_step_overlap_add(struct ft_step_overlap *steps, const char *node, double start, double end,
                        double bytes)
{
  struct ft_step *step =
      ft_array_grow(steps->step, &steps->capacity, steps->count, sizeof *step, FT_STEP_OVERLAP_MAX);

  if (!step)
    return -1;
  steps->step = step;
  steps->untimed = steps->untimed || start <= 0 || end <= 0;
  /* times are whole seconds: a step that starts and ends in one second lasted about half of it */
  steps->step[steps->count++] =
      (struct ft_step){ start, end > start ? end : start + 0.5, bytes,
                        node ? ft_hash64(FT_HASH_SEED, node, strlen(node)) : 0 };
  return 0;
}

/* Start (bytes above 0) or end (bytes below 0) of a step. */
struct edge {
  double time, bytes;
  uint64_t node;
};

static int compare_edges(const void *a, const void *b)
{
  const struct edge *x = a, *y = b;

  if (x->time != y->time)
    return x->time < y->time ? -1 : 1;
  return x->bytes < y->bytes ? -1 : x->bytes > y->bytes; /* ends before starts */
}

static int compare_nodes(const void *a, const void *b)
{
  const uint64_t *x = a, *y = b;

  return *x < *y ? -1 : *x > *y;
}

/* The memory of the steps on one node each, in a tree of maxima: inner node I has the children 2 I
 * and 2 I + 1, the leaves are the sums of the nodes. */
struct node_sums {
  uint64_t *node; /* ascending hashes */
  double *sum;
  size_t count, leaves;
};

/* Collects the nodes of STEPS. Returns 0; -1 out of memory. Free the members of SUMS in any case.
 */
static int open_sums(struct node_sums *sums, const struct ft_step_overlap *steps)
{
  size_t distinct = 0;

  sums->node = malloc((steps->count + 1) * sizeof *sums->node);
  if (!sums->node)
    return -1;
  for (size_t i = 0; i < steps->count; i++)
    if (steps->step[i].node)
      sums->node[sums->count++] = steps->step[i].node;
  qsort(sums->node, sums->count, sizeof *sums->node, compare_nodes);
  for (size_t i = 0; i < sums->count; i++)
    if (!distinct || sums->node[distinct - 1] != sums->node[i])
      sums->node[distinct++] = sums->node[i];
  sums->count = distinct;
  for (sums->leaves = 1; sums->leaves < sums->count; sums->leaves *= 2)
    ;
  sums->sum = calloc(2 * sums->leaves, sizeof *sums->sum);
  return sums->sum ? 0 : -1;
}

static void add_to_node(struct node_sums *sums, uint64_t node, double bytes)
{
  const uint64_t *found = bsearch(&node, sums->node, sums->count, sizeof node, compare_nodes);
  size_t i = sums->leaves + (size_t)(found - sums->node);

  sums->sum[i] += bytes;
  for (i /= 2; i > 0; i /= 2)
    sums->sum[i] = fmax(sums->sum[2 * i], sums->sum[2 * i + 1]);
}

/* Returns the largest sum of COUNT EDGES in order of time. */
static double sweep_edges(const struct edge *edge, size_t count, struct node_sums *sums)
{
  double common = 0, peak = 0;

  for (size_t i = 0; i < count; i++) {
    if (edge[i].node)
      add_to_node(sums, edge[i].node, edge[i].bytes);
    else
      common += edge[i].bytes;
    peak = fmax(peak, common + sums->sum[1]);
  }
  return peak;
}

static double largest_step(const struct ft_step_overlap *steps)
{
  double peak = 0;

  for (size_t i = 0; i < steps->count; i++)
    peak = fmax(peak, steps->step[i].bytes);
  return peak;
}

double ft_step_overlap_peak(const struct ft_step_overlap *steps)
{
  struct edge *edge = steps->untimed ? NULL : malloc((2 * steps->count + 1) * sizeof *edge);
  struct node_sums sums = { 0 };
  double peak;

  if (!edge || open_sums(&sums, steps) < 0) {
    peak = largest_step(steps);
    goto out;
  }
  for (size_t i = 0; i < steps->count; i++) {
    const struct ft_step *step = &steps->step[i];

    edge[2 * i] = (struct edge){ step->start, step->bytes, step->node };
    edge[2 * i + 1] = (struct edge){ step->end, -step->bytes, step->node };
  }
  qsort(edge, 2 * steps->count, sizeof *edge, compare_edges);
  peak = sweep_edges(edge, 2 * steps->count, &sums);
out:
  free(sums.node);
  free(sums.sum);
  free(edge);
  return peak;
}

void ft_step_overlap_clear(struct ft_step_overlap *steps)
{
  steps->count = 0;
  steps->untimed = false;
}

void ft_step_overlap_free(struct ft_step_overlap *steps)
{
  free(steps->step);
  *steps = (struct ft_step_overlap){ 0 };
}
