/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>

#include "predictor/estimate/allocation_cap.h"
#include "predictor/estimate/ensemble_members.h"

enum { KERNELS = FT_ENSEMBLE_KERNELS, SHAPES = FT_ENSEMBLE_SHAPES, MEMBERS = FT_ENSEMBLE_MEMBERS };

/* Unless noted, constants are chosen by tests/bench/replay_constants. */

/* Forgetting of losses: a loss falls by the factor e per MEMORY_RUNS updates. */
#define MEMORY_RUNS 100.0
/* Learning rate: a member's weight is exp(-SHARPNESS * excess loss / mean loss), where the excess
 * is over the best member's loss and the mean is the best member's per run. */
#define SHARPNESS 0.3
/* Members whose weight is below this fraction of the best member's are not evaluated. Half and
 * twice were compared. */
#define NEGLIGIBLE 0.05
/* Maximum distance of an averaged member from the best member's allocation, in log units. The mean
 * of two modes of a bimodal need is a bad allocation for both. */
#define MAX_AVERAGE_DISTANCE 0.3
/* Number of updates during which all members are updated; later, dominated members are updated less
 * often. Half and twice were compared. */
#define FULL_UPDATES 60
/* A member is dominated if its excess loss is over this multiple of the best member's mean loss. */
#define DOMINATED_LOSS 20.0
/* Dominated members are updated in one of DOMINATED_INTERVAL runs, with weight DOMINATED_INTERVAL.
 * Half and twice were compared. */
#define DOMINATED_INTERVAL 4
/* Maximum of an update's peak, as a multiple of the largest earlier peak. */
#define MAX_UPDATE_PEAK 2.0
/* Maximum of an update's run time, as a multiple of the mean run time. */
#define MAX_UPDATE_TIME 20.0
/* Maximum growth factor after a failure below the cap, unless the cap is larger. */
#define CAPPED_GROWTH 1.25
/* Maximum growth factor after a failure above the app's largest peak, where the distribution is
 * extrapolated. */
#define MAX_GROWTH 1.5

bool ft_ensemble_ready(const ft_evaluator *e)
{
  return e->needs_count >= FT_ENSEMBLE_MIN_RUNS && e->seconds_count == e->needs_count &&
         e->ages.size == e->needs_count;
}

/* Order in which predictors are evaluated: the local regression uses the runs that the constant
 * baseline selected. */
static const unsigned char order[FT_ENSEMBLE_PREDICTORS] = {
  0, 1 + FT_BASELINE_CONSTANT, FT_ENSEMBLE_LOCAL, 1 + FT_BASELINE_LINE, 1 + FT_BASELINE_POWER
};

/* Returns the number of the member at position I in the order of evaluation. */
static unsigned member_at(unsigned i)
{
  return order[i / (KERNELS * SHAPES)] * KERNELS * SHAPES + i % (KERNELS * SHAPES);
}

/* Returns whether MEMBER can be evaluated: its predictor has runs, and its kernel applies. */
static bool has_member(const struct ft_ensemble_state *p, unsigned member)
{
  return p->kernels[member / SHAPES / KERNELS][member % SHAPES] >> member / SHAPES % KERNELS & 1;
}

/* Returns the cumulative loss of MEMBER; 0 before the first update. */
static double member_loss(const ft_evaluator *e, unsigned member)
{
  return member < e->losses_count ? e->losses[member] : 0;
}

/* Fills BYTES with the allocations of the members whose loss is at most MAX_LOSS; 0 for others. */
static void evaluate_members(struct ft_ensemble_state *p, double max_loss,
                             double bytes[FT_ENSEMBLE_MEMBERS])
{
  for (unsigned i = 0; i < MEMBERS; i++) {
    unsigned member = member_at(i);

    bytes[member] = 0;
    if (has_member(p, member) && member_loss(p->e, member) <= max_loss)
      bytes[member] = ft_ensemble_member_allocation(p, member);
  }
}

/* Returns the minimum loss of the members that can be evaluated. */
static double minimum_loss(const struct ft_ensemble_state *p)
{
  double minimum = INFINITY;

  for (unsigned i = 0; i < MEMBERS; i++)
    if (has_member(p, i))
      minimum = fmin(minimum, member_loss(p->e, i));
  return minimum;
}

/* Returns the mean loss per run of a member with the cumulative loss LOSS; above 0. */
static double mean_loss(const ft_evaluator *e, double loss)
{
  return loss / fmax(e->loss_updates, 1) + 1e-9;
}

/* Returns the evaluated member with the smallest loss. */
static unsigned best_member(const ft_evaluator *e, const double bytes[FT_ENSEMBLE_MEMBERS])
{
  unsigned best = MEMBERS;

  for (unsigned i = 0; i < MEMBERS; i++)
    if (bytes[i] > 0 && (best == MEMBERS || member_loss(e, i) < member_loss(e, best)))
      best = i;
  return best;
}

/* Returns the member with BEST's predictor and kernel and the empirical shape. If there is none, or
 * BEST is a local regression, which has no such shape: the member with the smallest loss among
 * those with the empirical shape. */
static unsigned best_empirical_member(const ft_evaluator *e,
                                      const double bytes[FT_ENSEMBLE_MEMBERS], unsigned best)
{
  unsigned same = best / SHAPES * SHAPES + FT_SHAPE_EMPIRICAL;

  if (best / SHAPES / KERNELS != FT_ENSEMBLE_LOCAL && bytes[same] > 0)
    return same;
  best = MEMBERS;
  for (unsigned i = FT_SHAPE_EMPIRICAL; i < FT_ENSEMBLE_LOCAL * KERNELS * SHAPES; i += SHAPES)
    if (bytes[i] > 0 && (best == MEMBERS || member_loss(e, i) < member_loss(e, best)))
      best = i;
  return best;
}

/* Returns BYTES, a member's allocation after a failure, limited by the growth factors and the
 * cap. */
static double limit_retry(const struct ft_ensemble_state *p, double bytes)
{
  double failed = p->q->failed_bytes, cap = ft_allocation_cap(p->e, p->q, p->fixed);

  bytes = fmin(bytes, fmax(MAX_GROWTH * failed, p->e->max_value));
  return failed < cap ? fmin(bytes, fmax(CAPPED_GROWTH * failed, cap)) : bytes;
}

double ft_ensemble_allocation(const ft_evaluator *e, const struct ft_allocation_query *q)
{
  double bytes[MEMBERS], sum = 0, total = 0, min_loss, scale;
  struct ft_ensemble_state p;
  unsigned best;

  ft_ensemble_state_init(&p, e, q);
  min_loss = minimum_loss(&p);
  scale = mean_loss(e, min_loss);
  /* after a failure a member with the empirical shape decides, whose loss may be larger */
  evaluate_members(
      &p, q->failed_bytes > 0 ? INFINITY : min_loss - log(NEGLIGIBLE) / SHARPNESS * scale, bytes);
  best = best_member(e, bytes);
  if (q->failed_bytes > 0)
    return limit_retry(&p, bytes[best_empirical_member(e, bytes, best)]);
  for (unsigned i = 0; i < MEMBERS; i++) {
    double weight;

    if (!(bytes[i] > 0) || fabs(log(bytes[i] / bytes[best])) > MAX_AVERAGE_DISTANCE)
      continue;
    weight = exp(-SHARPNESS * (member_loss(e, i) - member_loss(e, best)) / scale);
    total += weight;
    sum += weight * log(bytes[i]);
  }
  return fmin(exp(sum / total), ft_allocation_cap(e, q, p.fixed));
}

/* Returns the waste, in byte seconds per second of run time, that MEMBER would have had on a run
 * with a peak of NEED bytes. Q is p->q; its failed_bytes changes. */
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

/* Clamps peak BYTES and run time SECONDS of a run to multiples of those of the earlier runs. */
static void clamp_run(const ft_evaluator *e, double *bytes, double *seconds)
{
  double largest = 1, mean = FT_ENSEMBLE_MIN_SECONDS;

  for (size_t i = 0; i < e->needs_count; i++)
    mean += (double)fmaxf(e->seconds[i], 0) / (double)e->needs_count;
  if (e->baselines_count && e->baselines[FT_BASELINE_CONSTANT].needs_count)
    largest = (double)e->baselines[FT_BASELINE_CONSTANT]
                  .needs[e->baselines[FT_BASELINE_CONSTANT].needs_count - 1];
  *bytes = fmin(*bytes, MAX_UPDATE_PEAK * largest);
  *seconds = fmin(fmax(*seconds, (double)FT_ENSEMBLE_MIN_SECONDS), MAX_UPDATE_TIME * mean);
}

void ft_ensemble_update(ft_evaluator *e, const struct ft_allocation_query *query, double bytes,
                        double seconds, unsigned turn)
{
  struct ft_allocation_query q = *query;
  double decay = exp(-1 / MEMORY_RUNS), min_loss, max_loss;
  struct ft_ensemble_state p;

  clamp_run(e, &bytes, &seconds);
  ft_ensemble_state_init(&p, e, &q);
  ft_allocation_cap_update(e, bytes > ft_allocation_cap(e, &q, p.fixed));
  while (e->losses_count < MEMBERS)
    e->losses[e->losses_count++] = 0;
  /* run times vary by chance: the geometric mean of actual and expected run time is used */
  seconds = sqrt(seconds * fmax(p.seconds, (double)FT_ENSEMBLE_MIN_SECONDS));
  min_loss = minimum_loss(&p);
  max_loss = e->loss_updates < FULL_UPDATES ? INFINITY
                                            : min_loss + DOMINATED_LOSS * mean_loss(e, min_loss);
  e->loss_updates = e->loss_updates * decay + 1;
  for (unsigned i = 0; i < MEMBERS; i++) {
    unsigned member = member_at(i);
    bool dominated = e->losses[member] > max_loss;

    if (!has_member(&p, member))
      continue;
    e->losses[member] *= decay;
    if (!dominated || (turn + member) % DOMINATED_INTERVAL == 0)
      e->losses[member] +=
          (dominated ? DOMINATED_INTERVAL : 1) * seconds * member_waste(&p, &q, member, bytes);
  }
}
