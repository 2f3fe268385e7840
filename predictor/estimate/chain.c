/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include "predictor/estimate/chain.h"

/* Needs within this of the least of them are one, as large as the largest. */
#define SAME 0.002

void ft_chain_start(struct ft_chain *c)
{
  c->count = 0;
  c->below[0] = c->needed[0] = 0;
}

void ft_chain_add(struct ft_chain *c, double bytes, double mass)
{
  size_t i = c->count;

  if (i && bytes <= c->same) {
    c->bytes[i - 1] = bytes;
    c->below[i] += mass;
    c->needed[i] += mass * bytes;
    return;
  }
  if (i == FT_CHAIN_POINTS)
    return;
  c->same = bytes * (1 + SAME);
  c->bytes[i] = bytes;
  c->below[i + 1] = c->below[i] + mass;
  c->needed[i + 1] = c->needed[i] + mass * bytes;
  c->count++;
}

/* What allocating the bytes of POINT wastes, as a line over the probability that has failed before.
 */
struct line {
  double slope, height;
  size_t point;
};

static double at(const struct line *l, double x)
{
  return l->slope * x + l->height;
}

/* Whether B, between A and C by slope, is nowhere the lowest. */
static int covered(const struct line *a, const struct line *b, const struct line *c)
{
  return (c->height - a->height) * (a->slope - b->slope) >=
         (b->height - a->height) * (a->slope - c->slope);
}

double ft_chain_first(const struct ft_chain *c, double price, double fixed)
{
  struct line hull[FT_CHAIN_POINTS];
  size_t first = 0, end = 0, n = c->count;
  double rest = 0; /* expected waste of the needs past a point, when all before have failed */

  if (!n)
    return 0;
  for (size_t i = n; i-- > 0;) {
    struct line l = { -c->bytes[i],
                      c->bytes[i] * c->below[i + 1] - c->needed[i + 1] + rest +
                          (price * c->bytes[i] + fixed) * (c->below[n] - c->below[i + 1]),
                      i };

    while (end - first >= 2 && covered(&hull[end - 2], &hull[end - 1], &l))
      end--;
    hull[end++] = l;
    while (end - first >= 2 && at(&hull[first + 1], c->below[i]) <= at(&hull[first], c->below[i]))
      first++;
    rest = at(&hull[first], c->below[i]) + c->needed[i];
  }
  return c->bytes[hull[first].point];
}
