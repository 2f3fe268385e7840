/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Second symbolic search with more primitives; the description lengths decide. */
#include "config.h"

#include <stdlib.h>

#include "predictor/learn/symbolic/symbolic.h"

/* The second search is cancelled if its error is not smaller after 1 / TRIAL of its generations. */
enum { TRIAL = 3 };

/* Cross-validated error below which no second search runs; as in symbolic_front.c. */
#define EXACT 1e-6

/* Progress of two consecutive searches, reported as one. */
struct trial {
  const struct ft_symbolic_settings *settings;
  unsigned before; /* generations of the first search */
  double limit;    /* error that the search must undercut; negative: none */
  bool behind;
};

static bool stop_if_behind(void *data, unsigned generation, double best)
{
  struct trial *t = data;

  if (t->settings->progress &&
      !t->settings->progress(t->settings->data, t->before + generation, best))
    return false;
  t->behind = t->limit >= 0 && generation >= t->settings->generations / TRIAL && best >= t->limit;
  return !t->behind;
}

static const struct ft_symbolic_point *chosen_point(const struct ft_symbolic_result *r)
{
  return &r->front[r->chosen];
}

int ft_symbolic_fit_more(const double *x, const double *y, size_t rows, size_t columns,
                         const struct ft_symbolic_settings *settings, unsigned more,
                         struct ft_symbolic_result *result, struct ft_error *err)
{
  struct ft_symbolic_settings own = *settings;
  struct trial trial = { .settings = settings, .limit = -1 };
  struct ft_symbolic_result *other;

  own.progress = stop_if_behind;
  own.data = &trial;
  if (ft_symbolic_fit(x, y, rows, columns, &own, result, err) < 0)
    return -1;
  if (!more || result->cancelled || chosen_point(result)->validated < EXACT)
    return 0;
  other = malloc(sizeof *other);
  if (!other)
    return ft_error_errno(err, "symbolic regression");
  own.primitives |= more;
  trial.before = settings->generations;
  trial.limit = result->front[result->count - 1].mape;
  if (ft_symbolic_fit(x, y, rows, columns, &own, other, NULL) == 0 && !trial.behind) {
    bool cancelled = other->cancelled;

    if (chosen_point(other)->description < chosen_point(result)->description)
      *result = *other;
    result->cancelled = cancelled;
  }
  free(other);
  return 0;
}
