/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include "predictor/estimate/ensemble_members.h"
#include "predictor/estimate/local_regression.h"

enum { ALL, NEAR, NEARER, NEAREST, RECENT, KERNELS = FT_ENSEMBLE_KERNELS };
/* Bits of the kernels over the primary column. */
enum { NEIGHBOURS = 1 << NEAR | 1 << NEARER | 1 << NEAREST };
enum { SHAPES = FT_ENSEMBLE_SHAPES, RUNS = FT_ENSEMBLE_RUNS };

/* Unless noted, constants are chosen by tests/bench/replay_constants. */

/* Width of the kernel NEAR in the covariate: a weight falls by e per NEAR_WIDTH. NEARER and NEAREST
 * are its third and ninth power. */
#define NEAR_WIDTH 0.3
/* Width of the kernel RECENT in runs: a weight falls by e per RECENT_RUNS later runs. */
#define RECENT_RUNS 8.0
/* Smallest weight of a run, relative to the largest. */
#define FAR_WEIGHT 0.003
/* Margin over an observed peak, as a factor. */
#define MARGIN 1.001
/* Largest extrapolation above the largest peak, in log units. */
#define MOST_BEYOND 0.4
/* Outlier limit of the local regression: distance from the middle half of the log peaks, in widths
 * of that half. Chosen by judgement. */
#define FAR_QUARTERS 8
/* The same, added in log units. Chosen by judgement. */
#define FAR_NEED 1.4
/* Outlier limit of the local regression: distance in the covariate. Chosen by judgement. */
#define FAR_PLACE 10
/* Largest prediction and allocation in bytes: 1 PiB. Chosen by judgement. */
#define MOST_BYTES 0x1p50
/* Smallest standard deviation of log peaks. */
#define LEAST_DEVIATION 0.0001
/* Degrees of freedom of Student's t: minimum. */
#define LEAST_DEGREES 1.5
/* Degrees of freedom of Student's t: maximum. */
#define MOST_DEGREES 30.0
/* Factor of the narrower deviation in the local regression: distant runs inflate the deviation. */
#define NARROWER 0.7
/* Largest distance of Student's t above its mean, in log units. Chosen by judgement. */
#define MOST_ABOVE 3.0
/* Growth factor of the score of Student's t after a failure. */
#define FURTHER 2.0

/* Kernels of each view, by bits. */
static const unsigned char kernels_of[FT_ENSEMBLE_PREDICTORS] = {
  1 << ALL | 1 << NEARER | 1 << RECENT,
  1 << ALL | 1 << NEAR | 1 << NEARER | 1 << NEAREST | 1 << RECENT,
  1 << ALL | 1 << NEAR | 1 << NEARER,
  1 << ALL | 1 << NEAR | 1 << NEARER,
  1 << ALL | 1 << NEAR | 1 << NEARER | 1 << NEAREST,
};

static float larger_float(float x, float least)
{
  return x > least ? x : least;
}

/* Clamp of one run's time: a quarter of the sum of all others. */
static float run_time_limit(const ft_evaluator *e)
{
  float total = 0, largest = 0;

  for (size_t i = 0; i < e->needs_count; i++) {
    total += e->seconds[i];
    largest = larger_float(e->seconds[i], largest);
  }
  return fmaxf((total - largest) / 4, FT_ENSEMBLE_MIN_SECONDS);
}

/*
 * Multiplies the kernel's weights by run times and adds a small equal weight to every run: the run
 * time of a distant run does not matter. Returns the mean run time near the submission.
 */
static double add_distant_weight(struct ft_ensemble_state *p, unsigned kernel)
{
  double near = 0, seconds = 0;
  float *weight = p->weight[kernel], far;
  size_t count = p->e->needs_count;

  for (size_t i = 0; i < count; i++) {
    near += (double)weight[i];
    weight[i] *= p->weight[ALL][i];
    seconds += (double)weight[i];
  }
  seconds = near > 1e-30 ? seconds / near : 1;
  p->far[kernel] = FAR_WEIGHT * seconds;
  far = (float)p->far[kernel];
  for (size_t i = 0; i < count; i++)
    weight[i] += far;
  return seconds;
}

/*
 * Sets the cost of a failure: up to 1 a fraction of the attempt's memory x time; the excess is
 * independent of the job's size, like the cost of submitting again.
 */
static void set_failure_cost(struct ft_ensemble_state *p, double seconds)
{
  p->seconds = seconds;
  p->price = fmin(p->q->failure_price, 1) * p->q->failure_time;
  p->fixed = fmax(p->q->failure_price - 1, 0) * FT_FAILURE_BYTE_SECONDS / seconds;
}

/* Smallest expected need in bytes. A line outside its range may predict far too little, where a
 * failure seems free. */
static double smallest_need(const ft_evaluator *e)
{
  const ft_baseline *peak = &e->baselines[FT_BASELINE_CONSTANT];

  return e->baselines_count && peak->needs_count
             ? fmax(FT_ENSEMBLE_MIN_FRACTION * (double)peak->needs[0], 1)
             : 1;
}

/* Whether view V has runs. */
static bool has_view(const struct ft_ensemble_state *p, unsigned v)
{
  const ft_evaluator *e = p->e;

  if (v == 0)
    return true;
  if (v == FT_ENSEMBLE_LOCAL)
    return p->has_covariate && has_view(p, 1 + FT_BASELINE_CONSTANT);
  return v - 1 < e->baselines_count && e->baselines[v - 1].needs_count >= FT_ENSEMBLE_MIN_RUNS &&
         (e->baselines[v - 1].slope == 0 || p->has_covariate);
}

void ft_ensemble_state_init(struct ft_ensemble_state *p, const ft_evaluator *e,
                            const struct ft_allocation_query *q)
{
  float most = run_time_limit(e);
  double total = 0;

  p->e = e;
  p->q = q;
  p->predictor = p->predictor_kernel = UINT_MAX;
  p->has_covariate = e->has_primary_column && q->covariate >= 0;
  p->min_need = smallest_need(e);
  p->local.selected = false;
  for (unsigned v = 0; v < FT_ENSEMBLE_PREDICTORS; v++)
    p->kernels[v] =
        has_view(p, v) ? kernels_of[v] & (p->has_covariate ? UCHAR_MAX : ~NEIGHBOURS) : 0;
  memset(p->has_weights, 0, sizeof p->has_weights);
  for (size_t i = 0; i < e->needs_count; i++) {
    float seconds = larger_float(e->seconds[i], FT_ENSEMBLE_MIN_SECONDS);

    p->weight[ALL][i] = seconds < most ? seconds : most;
    total += (double)p->weight[ALL][i];
  }
  p->has_weights[ALL] = true;
  p->far[ALL] = 0;
  if (!p->has_covariate) {
    set_failure_cost(p, total / (double)e->needs_count);
    return;
  }
  for (size_t i = 0; i < e->needs_count; i++) {
    p->near[i] = 0;
    if (e->covariates[i] >= 0)
      p->near[i] = exp(-fabs((double)e->covariates[i] - q->covariate) / NEAR_WIDTH);
    p->weight[NEAR][i] = (float)p->near[i];
  }
  p->has_weights[NEAR] = true;
  set_failure_cost(p, add_distant_weight(p, NEAR));
}

static double cube_of(double x)
{
  return x * (x * x);
}

/* Computes the weights of KERNEL. */
static void compute_kernel_weights(struct ft_ensemble_state *p, unsigned kernel)
{
  const ft_evaluator *e = p->e;
  double recent[RUNS], less = exp(-1 / RECENT_RUNS);

  if (p->has_weights[kernel])
    return;
  p->has_weights[kernel] = true;
  recent[0] = 1;
  for (size_t i = 1; kernel == RECENT && i < e->needs_count; i++)
    recent[i] = recent[i - 1] * less;
  for (size_t i = 0; i < e->needs_count; i++)
    p->weight[kernel][i] = (float)(kernel == RECENT   ? recent[e->ages.bytes[i]]
                                   : kernel == NEARER ? cube_of(p->near[i])
                                                      : cube_of(cube_of(p->near[i])));
  (void)add_distant_weight(p, kernel);
}

/* Selects the runs around the prediction of VIEW, one of e->baselines. */
static void select_baseline_view(struct ft_ensemble_state *p, const ft_baseline *view)
{
  double centre = view->intercept;

  p->count = view->needs_count;
  memcpy(p->run, view->runs.bytes, p->count);
  if (view->slope != 0)
    centre += view->slope * (view->factor ? p->q->covariate : expm1(p->q->covariate));
  if (view->factor)
    centre = exp(fmin(centre, 50 * M_LN2));
  centre = fmin(fmax(centre, view->min_prediction), MOST_BYTES);
  for (size_t i = 0; i < p->count; i++) {
    double need = (double)view->needs[i];
    double bytes = view->factor ? centre * need : centre + need;

    bytes = bytes > p->min_need ? bytes : p->min_need;
    p->logs[i] = log(bytes);
    p->bytes[i] = bytes * MARGIN;
  }
  p->has_bytes = true;
}

/* Selects the runs around the prediction of view V, which must have runs. */
static void select_view(struct ft_ensemble_state *p, unsigned v)
{
  const ft_evaluator *e = p->e;
  double least = log(p->min_need);

  if (v == FT_ENSEMBLE_LOCAL)
    v = 1 + FT_BASELINE_CONSTANT;
  if (v == p->predictor)
    return;
  p->predictor = v;
  if (v) {
    select_baseline_view(p, &e->baselines[v - 1]);
    return;
  }
  p->count = e->needs_count;
  p->has_bytes = false;
  for (size_t i = 0; i < p->count; i++) {
    double need = p->q->centre_log + (double)e->needs[i];

    p->logs[i] = need > least ? need : least;
    p->run[i] = (unsigned char)i;
  }
}

/* Computes the bytes of the selected runs from their logarithms. */
static void fill_bytes(struct ft_ensemble_state *p)
{
  for (size_t i = 0; i < p->count && !p->has_bytes; i++)
    p->bytes[i] = exp(p->logs[i]) * MARGIN;
  p->has_bytes = true;
}

static struct ft_need_moments weighted_moments(struct ft_ensemble_state *p, unsigned kernel)
{
  double total = 0, squares = 0, sum = 0, sum2 = 0;
  double origin = p->logs[p->count / 2];
  struct ft_need_moments m;

  for (size_t i = 0; i < p->count; i++) {
    double w = (double)p->weight[kernel][p->run[i]], x = p->logs[i] - origin;

    p->mass[i] = w;
    total += w;
    squares += w * w;
    sum += w * x;
    sum2 += w * x * x;
  }
  m.total = total;
  m.runs = total * total / squares;
  sum /= total;
  m.mean = origin + sum;
  m.deviation = sqrt(fmax(sum2 / total - sum * sum, 0) * m.runs / fmax(m.runs - 1, 0.5));
  m.deviation += LEAST_DEVIATION;
  return m;
}

static void select_local_runs(struct ft_ensemble_state *p)
{
  double low = p->logs[p->count / 4], high = p->logs[p->count - 1 - p->count / 4];
  double far = FAR_QUARTERS * (high - low) + FAR_NEED;
  struct ft_local_runs *l = &p->local;

  l->count = 0;
  for (size_t i = 0; i < p->count; i++) {
    double place = (double)p->e->covariates[p->run[i]], away = place - p->q->covariate;

    if (place < 0 || fabs(away) > FAR_PLACE || p->logs[i] < low - far || p->logs[i] > high + far)
      continue;
    l->x[l->count] = away;
    l->y[l->count] = p->logs[i];
    l->run[l->count++] = p->run[i];
  }
  l->selected = true;
}

/* Moments by local regression; by the weighted mean if too few runs have a covariate. */
static struct ft_need_moments local_moments(struct ft_ensemble_state *p, unsigned kernel)
{
  const struct ft_local_runs *l = &p->local;
  double weight[RUNS];
  struct ft_local_regression local;

  if (!l->selected)
    select_local_runs(p);
  for (size_t i = 0; i < l->count; i++) {
    double near = (double)p->weight[kernel][l->run[i]] - p->far[kernel];

    weight[i] = near > 0 ? near : 0;
  }
  if (!ft_local_regression_fit(l->x, l->y, weight, l->count, &local))
    return weighted_moments(p, kernel);
  return (struct ft_need_moments){ local.total, local.mean, local.deviation + LEAST_DEVIATION,
                                   local.runs };
}

/* Distribution of a new maximum: standard deviations above the largest peak, and probability.
 * Chosen by judgement. */
static const struct {
  double above, part;
} beyond[] = { { 0.2, 0.4 }, { 0.6, 0.3 }, { 1.5, 0.2 }, { 4, 0.1 } };

/* Allocation from the empirical distribution with one pseudo-run beyond the largest peak. */
static double empirical_allocation(struct ft_ensemble_state *p, const struct ft_need_moments *m)
{
  double top, failed = p->q->failed_bytes;
  size_t first = 0;

  fill_bytes(p);
  top = p->bytes[p->count - 1];
  while (first < p->count && p->bytes[first] <= failed)
    first++;
  ft_retry_sequence_start(&p->sequence);
  ft_retry_sequence_add_all(&p->sequence, &p->bytes[first], &p->mass[first], p->count - first);
  for (size_t i = 0; i < sizeof beyond / sizeof *beyond; i++) {
    double bytes = top * exp(fmin(beyond[i].above * m->deviation, MOST_BEYOND));

    if (bytes > failed)
      ft_retry_sequence_add(&p->sequence, bytes, beyond[i].part * m->total / (m->runs + 1));
  }
  return p->sequence.count ? ft_retry_first_allocation(&p->sequence, p->price, p->fixed)
                        : FT_RETRY_SEQUENCE_GROWTH * failed;
}

/* Score at which the density of Student's t is DENSITY. */
static double student_score(double density, double degrees)
{
  double peak = 0.398942 * (1 - 1 / (4 * degrees));

  if (density >= peak)
    return 0;
  return sqrt(degrees * (pow(peak / density, 2 / (degrees + 1)) - 1));
}

/* Tail probability beyond SCORE, whose density is DENSITY. */
static double tail_probability(double score, double density, double degrees)
{
  if (score < 0.3)
    return 0.5;
  return fmin(density * (degrees + score * score) / (degrees * score), 0.5);
}

/*
 * Allocation from Student's t. Expected waste is minimal where the density times the cost of a
 * failure equals the cost of a larger allocation.
 */
static double student_allocation(const struct ft_ensemble_state *p, const struct ft_need_moments *m,
                                 double wide)
{
  double degrees = fmin(fmax(m->runs - 1, LEAST_DEGREES), MOST_DEGREES);
  double scale = wide * m->deviation * sqrt(1 + 1 / m->runs);
  double density = scale / (p->price + p->fixed / exp(m->mean) + 1.5 * scale);
  double score = student_score(density, degrees), failed;

  if (p->q->failed_bytes > 0) {
    failed = (log(p->q->failed_bytes) - m->mean) / scale;
    for (int i = 0; i < FT_ENSEMBLE_MAX_ATTEMPTS && score <= failed; i++) {
      density *= tail_probability(score, density, degrees);
      score = fmax(student_score(density, degrees), score + 0.3);
    }
    /* the tail is less certain further out */
    score = fmax(score, FURTHER * failed + 0.5);
  }
  return exp(m->mean + fmin(scale * score, MOST_ABOVE));
}

double ft_ensemble_member_allocation(struct ft_ensemble_state *p, unsigned member)
{
  unsigned view = member / SHAPES / KERNELS, kernel = member / SHAPES % KERNELS;
  double bytes;

  compute_kernel_weights(p, kernel);
  select_view(p, view);
  if (p->predictor_kernel != member / SHAPES)
    p->moments = view == FT_ENSEMBLE_LOCAL ? local_moments(p, kernel) : weighted_moments(p, kernel);
  p->predictor_kernel = member / SHAPES;
  if (member % SHAPES == FT_SHAPE_STUDENT || view == FT_ENSEMBLE_LOCAL)
    bytes = student_allocation(p, &p->moments, member % SHAPES == FT_SHAPE_STUDENT ? 1 : NARROWER);
  else
    bytes = empirical_allocation(p, &p->moments);
  bytes = bytes < MOST_BYTES ? bytes : MOST_BYTES;
  return p->q->failed_bytes > 0 ? fmax(bytes, p->q->failed_bytes * FT_RETRY_SEQUENCE_MIN_GROWTH)
                                : bytes;
}
