/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>
#include <stdbool.h>

#include "predictor/online/change_point.h"

enum {
  RUNS = sizeof((ft_model *)NULL)->history / sizeof(ft_run),
  NEAREST = 20,  /* earlier runs that one is held against */
  SOON = 6,      /* runs after a change that are enough where some need more */
  LATER = 40,    /* and where they only need less */
  LEAST_PART = 6 /* all but one in so many contradict */
};

/* However alike the earlier runs were. */
#define LEAST_WIDTH 0.05
/* So much of their width outside. */
#define OUTSIDE 0.5

/* The completed runs, in order of time. */
struct runs {
  size_t count;
  size_t at[RUNS];
  double above[RUNS]; /* log(bytes / centre) */
  float place[RUNS];
};

static void gather(const ft_model *model, const double *above, struct runs *r)
{
  const ft_evaluator *e = &model->evaluator;

  r->count = 0;
  for (size_t i = 0; i < model->history_count; i++) {
    const ft_run *run = &model->history[i];
    float x =
        e->has_primary_column && e->primary_column < run->x_count ? run->x[e->primary_column] : NAN;

    if (run->censored)
      continue;
    r->at[r->count] = i;
    r->above[r->count] = above[i];
    r->place[r->count++] = isnan(x) ? -1 : (float)log1p(fabs((double)x));
  }
}

/* Of the first COUNT runs the NEAREST to PLACE, of equally near ones the latest; how many. */
static size_t find_near(const struct runs *r, size_t count, float place, size_t near[NEAREST])
{
  float away[NEAREST];
  size_t found = 0;

  for (size_t i = count; i-- > 0;) {
    float d = fabsf(r->place[i] - place);
    size_t k = found < NEAREST ? found++ : NEAREST;

    if (k == NEAREST && d >= away[NEAREST - 1])
      continue;
    for (k -= k == NEAREST; k > 0 && away[k - 1] > d; k--) {
      away[k] = away[k - 1];
      near[k] = near[k - 1];
    }
    away[k] = d;
    near[k] = i;
  }
  return found;
}

/* 1 where run I needed more than any of the first COUNT would have, -1 less, 0 neither. */
static int contradicts(const struct runs *r, size_t count, size_t i)
{
  double least = INFINITY, most = -INFINITY, own = r->above[i], outside;
  size_t near[NEAREST], found = find_near(r, count, r->place[i], near);

  for (size_t k = 0; k < found; k++) {
    least = fmin(least, r->above[near[k]]);
    most = fmax(most, r->above[near[k]]);
  }
  outside = OUTSIDE * fmax(most - least, LEAST_WIDTH);
  return (own > most + outside) - (own < least - outside);
}

/* The first of the last LAST runs that contradicts those before them, where all but one in
 * LEAST_PART do; with UPWARDS one of them has to need more. 0: it is not so. */
static size_t first_changed(const struct runs *r, size_t last, bool upwards)
{
  size_t before = r->count - last, agree = 0, first = 0;

  for (size_t i = r->count; i-- > before;) {
    int sign = contradicts(r, before, i);

    upwards = upwards && sign <= 0;
    if (sign)
      first = i;
    else if (++agree > last / LEAST_PART)
      return 0;
  }
  return upwards ? 0 : first;
}

size_t ft_change_point_find(const ft_model *model, const double *above)
{
  struct runs r;
  size_t first = 0;

  if (!model->has_evaluator)
    return 0;
  gather(model, above, &r);
  if (r.count >= SOON + NEAREST)
    first = first_changed(&r, SOON, true);
  if (!first && r.count >= LATER + NEAREST)
    first = first_changed(&r, LATER, false);
  return first ? r.at[first] : 0;
}
