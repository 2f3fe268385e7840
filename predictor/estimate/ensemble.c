/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>

#include "predictor/estimate/allocation_cap.h"
#include "predictor/estimate/ensemble_members.h"

enum { KERNELS = FT_ENSEMBLE_KERNELS, SHAPES = FT_ENSEMBLE_SHAPES, MEMBERS = FT_ENSEMBLE_MEMBERS };

/* Unless noted, constants are chosen by tests/bench/replay_constants. */

/* Memory of the losses in runs: a loss falls by e per MEMORY_RUNS. */
#define MEMORY_RUNS 100.0
/* Learning rate of the weights: exp(-SHARPNESS * excess loss / mean loss of the best). */
#define SHARPNESS 0.3
/* Members whose weight is below this fraction of the best member's are not evaluated. Chosen by
 * judgement, for time. */
#define NEGLIGIBLE 0.05
/* Members further than this from the best allocation, in log units, are not averaged: between two
 * modes of the need there is nothing to gain. */
#define ALIKE 0.3
/* Updates after which dominated members are updated rarely. Chosen by judgement, for time. */
#define ALL_JUDGED 60
/* A member is dominated if its excess loss is this multiple of the best member's mean loss. */
#define HOPELESS 20.0
/* Dominated members are updated in one of SELDOM runs, with this weight. By judgement, for time. */
#define SELDOM 4
/* Clamp of an update's peak, as a multiple of the largest earlier peak. */
#define MOST_PEAKS 2.0
/* Clamp of an update's run time, as a multiple of the mean run time. */
#define MOST_TIMES 20.0
/* Largest growth factor after a failure below the cap. */
#define NEAR_GROWTH 1.25
/* Largest growth factor after a failure above the app's largest peak: the tail is extrapolated. */
#define MOST_GROWTH 1.5

bool ft_ensemble_ready(const ft_evaluator *e)
{
  return e->needs_count >= FT_ENSEMBLE_MIN_RUNS && e->seconds_count == e->needs_count &&
         e->ages.size == e->needs_count;
}

/* Order of evaluation: the local regression reuses the runs of the constant baseline. */
static const unsigned char order[FT_ENSEMBLE_PREDICTORS] = { 0, 1 + FT_BASELINE_CONSTANT,
                                                        FT_ENSEMBLE_LOCAL, 1 + FT_BASELINE_LINE,
                                                        1 + FT_BASELINE_POWER };

/* Member I in the order of evaluation. */
static unsigned member_at(unsigned i)
{
  return order[i / (KERNELS * SHAPES)] * KERNELS * SHAPES + i % (KERNELS * SHAPES);
}

/* Whether MEMBER has runs. */
static bool has_member(const struct ft_ensemble_state *p, unsigned member)
{
  return p->kernels[member / SHAPES / KERNELS] >> member / SHAPES % KERNELS & 1;
}

static double member_loss(const ft_evaluator *e, unsigned member)
{
  return member < e->losses_count ? e->losses[member] : 0;
}

/* Evaluates the members whose loss is at most MOST. */
static void evaluate_members(struct ft_ensemble_state *p, double most,
                             double bytes[FT_ENSEMBLE_MEMBERS])
{
  for (unsigned i = 0; i < MEMBERS; i++) {
    unsigned member = member_at(i);

    bytes[member] = 0;
    if (has_member(p, member) && member_loss(p->e, member) <= most)
      bytes[member] = ft_ensemble_member_allocation(p, member);
  }
}

/* Smallest loss of the available members. */
static double least_loss(const struct ft_ensemble_state *p)
{
  double least = INFINITY;

  for (unsigned i = 0; i < MEMBERS; i++)
    if (has_member(p, i))
      least = fmin(least, member_loss(p->e, i));
  return least;
}

/* Mean loss per run of the best member. */
static double mean_loss(const ft_evaluator *e, double least)
{
  return least / fmax(e->loss_updates, 1) + 1e-9;
}

static unsigned best_member(const ft_evaluator *e, const double bytes[FT_ENSEMBLE_MEMBERS])
{
  unsigned best = MEMBERS;

  for (unsigned i = 0; i < MEMBERS; i++)
    if (bytes[i] > 0 && (best == MEMBERS || member_loss(e, i) < member_loss(e, best)))
      best = i;
  return best;
}

static unsigned best_empirical_member(const ft_evaluator *e,
                                      const double bytes[FT_ENSEMBLE_MEMBERS], unsigned best)
{
  if (best / SHAPES / KERNELS != FT_ENSEMBLE_LOCAL)
    return best / SHAPES * SHAPES + FT_SHAPE_EMPIRICAL;
  best = MEMBERS;
  for (unsigned i = FT_SHAPE_EMPIRICAL; i < FT_ENSEMBLE_LOCAL * KERNELS * SHAPES; i += SHAPES)
    if (bytes[i] > 0 && (best == MEMBERS || member_loss(e, i) < member_loss(e, best)))
      best = i;
  return best;
}

/* Limits the allocation ASKED of a member after a failure. */
static double limit_retry(const struct ft_ensemble_state *p, double asked)
{
  double failed = p->q->failed_bytes, reach = ft_allocation_cap(p->e, p->q, p->fixed);

  asked = fmin(asked, fmax(MOST_GROWTH * failed, p->e->max_bytes));
  return failed < reach ? fmin(asked, fmax(NEAR_GROWTH * failed, reach)) : asked;
}

double ft_ensemble_allocation(const ft_evaluator *e, const struct ft_allocation_query *q)
{
  double bytes[MEMBERS], sum = 0, total = 0, least, scale;
  struct ft_ensemble_state p;
  unsigned best;

  ft_ensemble_state_init(&p, e, q);
  least = least_loss(&p);
  scale = mean_loss(e, least);
  /* after a failure the empirical shape decides, whose loss may be larger */
  evaluate_members(&p, q->failed_bytes > 0 ? INFINITY : least - log(NEGLIGIBLE) / SHARPNESS * scale,
                   bytes);
  best = best_member(e, bytes);
  if (q->failed_bytes > 0)
    return limit_retry(&p, bytes[best_empirical_member(e, bytes, best)]);
  for (unsigned i = 0; i < MEMBERS; i++) {
    double weight;

    if (!(bytes[i] > 0) || fabs(log(bytes[i] / bytes[best])) > ALIKE)
      continue;
    weight = exp(-SHARPNESS * (member_loss(e, i) - member_loss(e, best)) / scale);
    total += weight;
    sum += weight * log(bytes[i]);
  }
  return fmin(exp(sum / total), ft_allocation_cap(e, q, p.fixed));
}

/* Waste in bytes, per second, of MEMBER on a run that needed NEED bytes. Q is P's query. */
static double member_waste(struct ft_ensemble_state *p, struct ft_allocation_query *q,
                           unsigned member, double need)
{
  double waste = 0, bytes;

  q->failed_bytes = 0;
  bytes = ft_ensemble_member_allocation(p, member);
  for (int i = 0; bytes < need && i < FT_ENSEMBLE_MAX_ATTEMPTS; i++) {
    waste += p->price * bytes + p->fixed;
    q->failed_bytes = bytes;
    bytes = ft_ensemble_member_allocation(p, member);
  }
  return waste + fmax(bytes - need, 0);
}

/* Clamps BYTES and SECONDS of a run by the earlier runs. */
static void clamp_run(const ft_evaluator *e, double *bytes, double *seconds)
{
  double largest = 1, mean = FT_ENSEMBLE_MIN_SECONDS;

  for (size_t i = 0; i < e->needs_count; i++)
    mean += (double)fmaxf(e->seconds[i], 0) / (double)e->needs_count;
  if (e->baselines_count && e->baselines[FT_BASELINE_CONSTANT].needs_count)
    largest = (double)e->baselines[FT_BASELINE_CONSTANT]
                  .needs[e->baselines[FT_BASELINE_CONSTANT].needs_count - 1];
  *bytes = fmin(*bytes, MOST_PEAKS * largest);
  *seconds = fmin(fmax(*seconds, (double)FT_ENSEMBLE_MIN_SECONDS), MOST_TIMES * mean);
}

void ft_ensemble_update(ft_evaluator *e, const struct ft_allocation_query *query, double bytes,
                        double seconds, unsigned turn)
{
  struct ft_allocation_query q = *query;
  double keep = exp(-1 / MEMORY_RUNS), least, most;
  struct ft_ensemble_state p;

  clamp_run(e, &bytes, &seconds);
  ft_ensemble_state_init(&p, e, &q);
  ft_allocation_cap_update(e, bytes > ft_allocation_cap(e, &q, p.fixed));
  while (e->losses_count < MEMBERS)
    e->losses[e->losses_count++] = 0;
  /* run times vary by chance: the geometric mean of the actual and the expected one counts */
  seconds = sqrt(seconds * fmax(p.seconds, (double)FT_ENSEMBLE_MIN_SECONDS));
  least = least_loss(&p);
  most = e->loss_updates < ALL_JUDGED ? INFINITY : least + HOPELESS * mean_loss(e, least);
  e->loss_updates = e->loss_updates * keep + 1;
  for (unsigned i = 0; i < MEMBERS; i++) {
    unsigned member = member_at(i);
    bool hopeless = e->losses[member] > most;

    if (!has_member(&p, member))
      continue;
    e->losses[member] *= keep;
    if (!hopeless || (turn + member) % SELDOM == 0)
      e->losses[member] += (hopeless ? SELDOM : 1) * seconds * member_waste(&p, &q, member, bytes);
  }
}
