/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "predictor/cli/report/report_tally.h"
#include "predictor/cli/store_access.h"
#include "predictor/core/array_grow.h"
#include "predictor/core/sort.h"
#include "predictor/core/text.h"

#define SECONDS_PER_HOUR 3600.0

/* What a run had of a quantity with a limit. */
struct stake {
  /* without foretell; the actual limit; what the run used. 0: unknown */
  double asked, given, used;
  double weight;    /* of one unit in the sums: memory counts in GB h (10^9 bytes x hours), run time
                       in hours */
  ft_action action; /* foretell's change of the limit; FT_ACTION_LEAVE: none */
  bool exceeded;    /* the limit ended the run */
  bool bound;       /* USED may be too low */
};

static ft_action memory_change(const ft_observation *o)
{
  const ft_decision *d = &o->submission.decision;
  bool changed =
      o->submission.has_decision && d->mem_bytes > 0 &&
      (d->action == FT_ACTION_SET || d->action == FT_ACTION_RAISE || d->action == FT_ACTION_TRIM);

  return changed ? d->action : FT_ACTION_LEAVE;
}

/* Returns what O had of QUANTITY, an index. */
static struct stake stake_of(const ft_observation *o, size_t quantity)
{
  const struct ft_quantity *q = &ft_quantities[quantity];
  struct stake s = { .given = q->limit_of(o), .used = q->used_of(o) };
  const ft_decision *d = &o->submission.decision;

  if (quantity == FT_QUANTITY_RUNTIME) {
    s.asked = o->submission.request.time_limit_seconds;
    s.weight = 1 / SECONDS_PER_HOUR;
    s.action = o->submission.has_decision && d->time_seconds > 0 ? d->time_action : FT_ACTION_LEAVE;
    s.exceeded = o->outcome == FT_OUTCOME_TIMEOUT;
    return s;
  }
  s.asked = ft_store_access_asked(o);
  s.weight = o->runtime_seconds / SECONDS_PER_HOUR / 1e9;
  s.action = memory_change(o);
  s.exceeded = o->outcome == FT_OUTCOME_OUT_OF_MEMORY;
  s.bound = o->peak_is_bound;
  return s;
}

static int append_error(struct ft_account *a, double error)
{
  double *grown = ft_array_grow(a->error, &a->room, a->errors, sizeof *grown, SIZE_MAX);

  if (!grown)
    return -1;
  a->error = grown;
  a->error[a->errors++] = error;
  return 0;
}

static int add_prediction(struct ft_account *a, const ft_observation *o, size_t quantity,
                          const struct stake *s)
{
  double quantile[FT_QUANTITY_LEVELS];

  if (o->outcome != FT_OUTCOME_COMPLETED || s->bound || !(s->used > 0) ||
      !ft_quantity_predicted(&ft_quantities[quantity], o, quantile))
    return 0;
  a->predicted++;
  if (!isnan(quantile[0]) && !isnan(quantile[2])) {
    a->with_interval++;
    a->covered += quantile[0] <= s->used && s->used <= quantile[2];
  }
  return append_error(a, fabs(quantile[1] - s->used) / s->used);
}

/* Adds what the limit of S, of a run or of one of its nodes, was worth. */
static void weigh_stake(struct ft_account *a, const struct stake *s)
{
  if (!(s->weight > 0))
    return;
  if (s->asked > 0 && s->used > 0) {
    a->weighed++;
    a->asked += s->asked * s->weight;
    a->used += s->used * s->weight;
  }
  if (s->action == FT_ACTION_LEAVE || !(s->given > 0))
    return;
  if (s->asked > 0) {
    a->saved += (s->asked - s->given) * s->weight;
    a->freed += fmax(s->asked - s->given, 0) * s->weight;
    a->added += fmax(s->given - s->asked, 0) * s->weight;
  }
  if (s->exceeded)
    a->lost += s->given * s->weight;
}

void ft_report_weigh_node(struct ft_report_tally *t, const ft_observation *o)
{
  struct stake s = stake_of(o, FT_QUANTITY_MEMORY);

  weigh_stake(&t->of[FT_QUANTITY_MEMORY], &s);
}

static void count_outcome(struct ft_account *a, const struct stake *s)
{
  if (s->exceeded) {
    a->suffered++;
    a->caused += s->action != FT_ACTION_LEAVE;
  } else if (s->action != FT_ACTION_LEAVE && s->asked > 0 && s->used > s->asked &&
             s->given >= s->used) {
    a->avoided++;
  }
  if (s->action != FT_ACTION_LEAVE)
    a->decided[s->action]++;
}

int ft_report_add_run(struct ft_report_tally *t, const ft_observation *o)
{
  double joules = ft_quantities[FT_QUANTITY_ENERGY].used_of(o);

  t->runs++;
  t->completed += o->outcome == FT_OUTCOME_COMPLETED;
  t->censored += o->censored;
  if (o->user[0])
    (void)ft_string_copy(o->user, t->user, sizeof t->user);
  if (o->submission.has_decision && o->submission.decision.overrode) {
    t->overrides++;
    t->overrides_died += o->outcome == FT_OUTCOME_OUT_OF_MEMORY;
  }
  if (joules > 0) {
    t->energy_runs++;
    t->joules += joules;
  }
  for (size_t i = 0; i < FT_QUANTITIES; i++) {
    struct stake s;

    if (!ft_quantities[i].limit_of)
      continue;
    s = stake_of(o, i);
    if (i != FT_QUANTITY_MEMORY || o->recorded_nodes < 2)
      weigh_stake(&t->of[i], &s);
    count_outcome(&t->of[i], &s);
    if (add_prediction(&t->of[i], o, i, &s) < 0)
      return -1;
  }
  return 0;
}

double ft_report_error(struct ft_account *a)
{
  if (!a->errors)
    return -1;
  return ft_sort_median(a->error, a->errors);
}

double ft_report_coverage(const struct ft_account *a)
{
  return a->with_interval ? (double)a->covered / (double)a->with_interval : 0;
}

void ft_report_free(struct ft_report_tally *t)
{
  for (size_t i = 0; i < FT_QUANTITIES; i++)
    free(t->of[i].error);
}
