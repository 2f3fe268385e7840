/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "predictor/core/array_grow.h"
#include "predictor/history/step_overlap.h"

int ft_step_overlap_add(struct ft_step_overlap *steps, double start, double end, double bytes)
{
  struct ft_step *step =
      ft_array_grow(steps->step, &steps->capacity, steps->count, sizeof *step, FT_STEP_OVERLAP_MAX);

  if (!step)
    return -1;
  steps->step = step;
  steps->untimed = steps->untimed || start <= 0 || end <= 0;
  /* times are whole seconds: a step that starts and ends in one second lasted about half of it */
  steps->step[steps->count++] = (struct ft_step){ start, end > start ? end : start + 0.5, bytes };
  return 0;
}

/* Start (bytes above 0) or end (bytes below 0) of a step. */
struct edge {
  double time, bytes;
};

static int compare_edges(const void *a, const void *b)
{
  const struct edge *x = a, *y = b;

  if (x->time != y->time)
    return x->time < y->time ? -1 : 1;
  return x->bytes < y->bytes ? -1 : x->bytes > y->bytes; /* ends before starts */
}

double ft_step_overlap_peak(const struct ft_step_overlap *steps)
{
  double now = 0, peak = 0;
  struct edge *edge = steps->untimed ? NULL : malloc((2 * steps->count + 1) * sizeof *edge);

  if (!edge) {
    for (size_t i = 0; i < steps->count; i++)
      peak = fmax(peak, steps->step[i].bytes);
    return peak;
  }
  for (size_t i = 0; i < steps->count; i++) {
    edge[2 * i] = (struct edge){ steps->step[i].start, steps->step[i].bytes };
    edge[2 * i + 1] = (struct edge){ steps->step[i].end, -steps->step[i].bytes };
  }
  qsort(edge, 2 * steps->count, sizeof *edge, compare_edges);
  for (size_t i = 0; i < 2 * steps->count; i++) {
    now += edge[i].bytes;
    peak = fmax(peak, now);
  }
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
