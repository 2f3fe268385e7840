/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/core/random.h"
#include "predictor/learn/relative/medoids.h"

enum {
  STARTS = 5, /* k-means++ starts */
  ROUNDS = 15 /* largest number of alternations per start */
};

struct problem {
  const double *x;
  size_t rows, columns, count;
  size_t *nearest;  /* per row: index of the nearest medoid */
  double *distance; /* per row: squared distance to it */
  double *centre;   /* cluster means: centre[medoid * columns + column] */
};

static double squared_distance(const double *a, const double *b, size_t columns)
{
  double sum = 0;

  for (size_t c = 0; c < columns; c++)
    sum += (a[c] - b[c]) * (a[c] - b[c]);
  return sum;
}

static int is_medoid(const size_t *medoid, size_t count, size_t row)
{
  for (size_t k = 0; k < count; k++)
    if (medoid[k] == row)
      return 1;
  return 0;
}

/* k-means++: each medoid is drawn with probability proportional to the squared distance to the
 * earlier ones. The medoids have different indices, even if rows are equal. */
static void draw_start(struct problem *p, struct ft_random *random, size_t *medoid)
{
  medoid[0] = (size_t)ft_random_below(random, p->rows);
  for (size_t r = 0; r < p->rows; r++)
    p->distance[r] = INFINITY;
  for (size_t k = 1; k <= p->count; k++) {
    double sum = 0, drawn;
    size_t at = 0;

    for (size_t r = 0; r < p->rows; r++) {
      double d =
          squared_distance(p->x + r * p->columns, p->x + medoid[k - 1] * p->columns, p->columns);

      p->distance[r] = r == medoid[k - 1] ? 0 : fmin(p->distance[r], d);
      sum += p->distance[r];
    }
    if (k == p->count)
      break;
    drawn = ft_random_double(random) * sum;
    while (at + 1 < p->rows && drawn >= p->distance[at])
      drawn -= p->distance[at++];
    while (is_medoid(medoid, k, at))
      at = (at + 1) % p->rows;
    medoid[k] = at;
  }
}

/* Assigns each row to its nearest medoid, a medoid to itself. Returns the sum of squares. */
static double assign_rows(struct problem *p, const size_t *medoid)
{
  double sum = 0;

  for (size_t r = 0; r < p->rows; r++) {
    p->distance[r] = INFINITY;
    for (size_t k = 0; k < p->count; k++) {
      double d = squared_distance(p->x + r * p->columns, p->x + medoid[k] * p->columns, p->columns);

      if (r == medoid[k] || d < p->distance[r]) {
        p->nearest[r] = k;
        p->distance[r] = d;
      }
      if (r == medoid[k])
        break;
    }
    sum += p->distance[r];
  }
  return sum;
}

/* Moves each medoid to the row nearest to its cluster's mean. Returns whether any moved. */
static int move_medoids(struct problem *p, size_t *medoid, size_t *cluster_size)
{
  int moved = 0;

  memset(p->centre, 0, p->count * p->columns * sizeof *p->centre);
  memset(cluster_size, 0, p->count * sizeof *cluster_size);
  for (size_t r = 0; r < p->rows; r++) {
    cluster_size[p->nearest[r]]++;
    for (size_t c = 0; c < p->columns; c++)
      p->centre[p->nearest[r] * p->columns + c] += p->x[r * p->columns + c];
  }
  for (size_t k = 0; k < p->count; k++) {
    double smallest = INFINITY;
    size_t which = medoid[k];

    for (size_t c = 0; c < p->columns; c++)
      p->centre[k * p->columns + c] /= cluster_size[k] ? (double)cluster_size[k] : 1;
    for (size_t r = 0; r < p->rows; r++) {
      double d = p->nearest[r] == k ? squared_distance(p->x + r * p->columns,
                                                       p->centre + k * p->columns, p->columns)
                                    : INFINITY;

      if (d < smallest) {
        smallest = d;
        which = r;
      }
    }
    moved |= which != medoid[k];
    medoid[k] = which;
  }
  return moved;
}

static int compare_rows_by_index(const void *a, const void *b)
{
  const size_t *p = a, *q = b;

  return (*p > *q) - (*p < *q);
}

int ft_medoids(const double *x, size_t rows, size_t columns, size_t count, uint64_t seed,
               size_t *medoid, size_t *cluster_size, struct ft_error *err)
{
  struct problem p = { .x = x, .rows = rows, .columns = columns, .count = count };
  size_t *trial = calloc(count + 1, sizeof *trial);
  struct ft_random random;
  double best = INFINITY;
  int status = -1;

  p.nearest = calloc(rows + 1, sizeof *p.nearest);
  p.distance = calloc(rows + 1, sizeof *p.distance);
  p.centre = calloc(count * columns + 1, sizeof *p.centre);
  if (!trial || !p.nearest || !p.distance || !p.centre) {
    ft_error_set(err, "k-medoids: out of memory");
    goto out;
  }
  ft_random_seed(&random, seed);
  for (int i = 0; i < STARTS; i++) {
    double sum;

    draw_start(&p, &random, trial);
    for (int round = 0; round < ROUNDS; round++) {
      (void)assign_rows(&p, trial);
      if (!move_medoids(&p, trial, cluster_size))
        break;
    }
    sum = assign_rows(&p, trial);
    if (sum < best) {
      best = sum;
      memcpy(medoid, trial, count * sizeof *medoid);
    }
  }
  qsort(medoid, count, sizeof *medoid, compare_rows_by_index);
  (void)assign_rows(&p, medoid);
  memset(cluster_size, 0, count * sizeof *cluster_size);
  for (size_t r = 0; r < rows; r++)
    cluster_size[p.nearest[r]]++;
  status = 0;
out:
  free(trial);
  free(p.nearest);
  free(p.distance);
  free(p.centre);
  return status;
}
