/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include "predictor/estimate/ensemble_members.h"
#include "predictor/learn/series/local_regression.h"

enum { ALL, NEAR, NEARER, NEAREST, RECENT, KERNELS = FT_ENSEMBLE_KERNELS };
/* Bit mask of the kernels over the covariate. */
enum { NEIGHBOURS = 1 << NEAR | 1 << NEARER | 1 << NEAREST };
enum { SHAPES = FT_ENSEMBLE_SHAPES, RUNS = FT_ENSEMBLE_RUNS };

/* Unless noted, constants are chosen by tests/bench/replay_constants. */

/* Width of the kernel NEAR in the covariate: a weight falls by the factor e per NEAR_WIDTH. The
 * weights of NEARER and NEAREST are the third and ninth power of those of NEAR. */
#define NEAR_WIDTH 0.3
/* Width of the kernel RECENT: a weight falls by the factor e per RECENT_RUNS later runs. */
#define RECENT_RUNS 8.0
/* Minimum weight of a run, as a fraction of the maximum. */
#define FAR_WEIGHT 0.003
/* An allocation for an observed peak is this multiple of the peak. */
#define MARGIN 1.001
/* Maximum extrapolation above the largest peak, in log units. */
#define MAX_BEYOND 0.4
/* Runs whose log peak is further outside the quartiles than OUTLIER_QUARTILES interquartile ranges
 * plus OUTLIER_MARGIN are outliers for the local regression. Half and twice were compared. */
#define OUTLIER_QUARTILES 8
/* Log units, added to this distance. Half and twice were compared. */
#define OUTLIER_MARGIN 1.4
/* Runs whose covariate differs by more are outliers for the local regression. Half and twice were
 * compared. */
#define OUTLIER_COVARIATE 10
/* Maximum of a prediction and an allocation in bytes: 1 PiB. */
#define MAX_BYTES 0x1p50
/* Added to the standard deviation of log peaks, so that it is above 0. */
#define MIN_DEVIATION 0.0001
/* Minimum of the degrees of freedom of Student's t. */
#define MIN_DEGREES 1.5
/* Maximum of the degrees of freedom of Student's t. */
#define MAX_DEGREES 30.0
/* Factor on the scale of Student's t in the local regression's members with FT_SHAPE_EMPIRICAL:
 * distant runs inflate the standard deviation. */
#define LOCAL_SCALE 0.7
/* Maximum distance of an allocation by Student's t above the mean, in log units. Half and twice
 * were compared. */
#define MAX_ABOVE 3.0
/* After a failure, the distance of the next allocation above the mean, in standard deviations, is
 * at least this multiple of the failed allocation's distance, plus 0.5. */
#define RETRY_SCORE 2.0

/* Bit mask of the kernels of each predictor and shape. Chosen by tests/bench/replay_members: a
 * member is left out if the waste on six traces and a drift is the same without it. */
static const unsigned char kernels_of[FT_ENSEMBLE_PREDICTORS][FT_ENSEMBLE_SHAPES] = {
  { 1 << ALL | 1 << NEARER | 1 << RECENT, 1 << RECENT },
  { 1 << ALL | 1 << NEAR | 1 << NEARER | 1 << RECENT, 1 << ALL | 1 << NEARER | 1 << NEAREST },
  { 1 << ALL | 1 << NEAR, 1 << NEAR | 1 << NEARER },
  { 1 << ALL | 1 << NEAR | 1 << NEARER, 1 << NEAR },
  { 1 << ALL | 1 << NEAR | 1 << NEARER | 1 << NEAREST, 1 << ALL | 1 << NEARER | 1 << NEAREST },
};

static float larger_float(float a, float b)
{
  return a > b ? a : b;
}

/* Returns the maximum weight of one run's time: a quarter of the sum of all others. */
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
 * Multiplies the weights of KERNEL by the run times, then adds FAR_WEIGHT times the weighted mean
 * run time to the weight of every run, whatever its own run time. Returns this mean.
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
 * Sets the cost of a failure of a job with the expected run time SECONDS. Up to a failure price of
 * 1, the cost is a fraction of the attempt's memory x time. The excess over 1 is independent of the
 * job's size, like the effort of submitting again.
 */
static void set_failure_cost(struct ft_ensemble_state *p, double seconds)
{
  p->seconds = seconds;
  p->price = fmin(p->q->failure_price, 1) * p->q->failure_time;
  p->fixed = fmax(p->q->failure_price - 1, 0) * FT_FAILURE_BYTE_SECONDS / seconds;
}

/* Returns the minimum of a predicted peak in bytes. Extrapolated lines can predict almost 0, where
 * a failure would cost nothing. */
static double minimum_need(const ft_evaluator *e)
{
  const ft_baseline *peak = &e->baselines[FT_BASELINE_CONSTANT];

  return e->baselines_count && peak->needs_count
             ? fmax(FT_BASELINE_MIN_FRACTION * (double)peak->needs[0], 1)
             : 1;
}

/* Returns whether predictor V has runs. */
static bool has_predictor(const struct ft_ensemble_state *p, unsigned v)
{
  const ft_evaluator *e = p->e;

  if (v == 0)
    return true;
  if (v == FT_ENSEMBLE_LOCAL)
    return p->has_covariate && has_predictor(p, 1 + FT_BASELINE_CONSTANT);
  return v - 1 < e->baselines_count && e->baselines[v - 1].needs_count >= FT_ENSEMBLE_MIN_RUNS &&
         (e->baselines[v - 1].slope == 0 || p->has_covariate);
}

void ft_ensemble_state_init(struct ft_ensemble_state *p, const ft_evaluator *e,
                            const struct ft_allocation_query *q)
{
  float limit = run_time_limit(e);
  double total = 0;

  p->e = e;
  p->q = q;
  p->predictor = p->predictor_kernel = UINT_MAX;
  p->has_covariate = e->has_primary_column && q->covariate >= 0;
  p->min_need = minimum_need(e);
  p->local.selected = false;
  for (unsigned v = 0; v < FT_ENSEMBLE_PREDICTORS; v++)
    for (unsigned s = 0; s < SHAPES; s++)
      p->kernels[v][s] =
          has_predictor(p, v) ? kernels_of[v][s] & (p->has_covariate ? UCHAR_MAX : ~NEIGHBOURS) : 0;
  memset(p->has_weights, 0, sizeof p->has_weights);
  for (size_t i = 0; i < e->needs_count; i++) {
    float seconds = larger_float(e->seconds[i], FT_ENSEMBLE_MIN_SECONDS);

    p->weight[ALL][i] = seconds < limit ? seconds : limit;
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

/* Computes p->weight[KERNEL], unless it is set. */
static void compute_kernel_weights(struct ft_ensemble_state *p, unsigned kernel)
{
  const ft_evaluator *e = p->e;
  double recent[RUNS], decay = exp(-1 / RECENT_RUNS);

  if (p->has_weights[kernel])
    return;
  p->has_weights[kernel] = true;
  recent[0] = 1;
  for (size_t i = 1; kernel == RECENT && i < e->needs_count; i++)
    recent[i] = recent[i - 1] * decay;
  for (size_t i = 0; i < e->needs_count; i++)
    p->weight[kernel][i] = (float)(kernel == RECENT   ? recent[e->ages.bytes[i]]
                                   : kernel == NEARER ? cube_of(p->near[i])
                                                      : cube_of(cube_of(p->near[i])));
  (void)add_distant_weight(p, kernel);
}

/* Sets p->logs, p->bytes and p->run to the prediction of BASELINE plus the residual of each run. */
static void select_baseline(struct ft_ensemble_state *p, const ft_baseline *baseline)
{
  double centre = baseline->intercept;

  p->count = baseline->needs_count;
  memcpy(p->run, baseline->runs.bytes, p->count);
  if (baseline->slope != 0)
    centre += baseline->slope * (baseline->factor ? p->q->covariate : expm1(p->q->covariate));
  if (baseline->factor)
    centre = exp(fmin(centre, 50 * M_LN2));
  centre = fmin(fmax(centre, baseline->min_prediction), MAX_BYTES);
  for (size_t i = 0; i < p->count; i++) {
    double need = (double)baseline->needs[i];
    double bytes = baseline->factor ? centre * need : centre + need;

    bytes = bytes > p->min_need ? bytes : p->min_need;
    p->logs[i] = log(bytes);
    p->bytes[i] = bytes * MARGIN;
  }
  p->has_bytes = true;
}

/* Sets p->logs and p->run to the point prediction of predictor V, which must have runs, plus the
 * residual of each run. */
static void select_predictor(struct ft_ensemble_state *p, unsigned v)
{
  const ft_evaluator *e = p->e;
  double min_log = log(p->min_need);

  if (v == FT_ENSEMBLE_LOCAL)
    v = 1 + FT_BASELINE_CONSTANT;
  if (v == p->predictor)
    return;
  p->predictor = v;
  if (v) {
    select_baseline(p, &e->baselines[v - 1]);
    return;
  }
  p->count = e->needs_count;
  p->has_bytes = false;
  for (size_t i = 0; i < p->count; i++) {
    double need = p->q->centre_log + (double)e->needs[i];

    p->logs[i] = need > min_log ? need : min_log;
    p->run[i] = (unsigned char)i;
  }
}

/* Computes p->bytes from p->logs, unless set. */
static void fill_bytes(struct ft_ensemble_state *p)
{
  for (size_t i = 0; i < p->count && !p->has_bytes; i++)
    p->bytes[i] = exp(p->logs[i]) * MARGIN;
  p->has_bytes = true;
}

/* Sets p->mass to the weights of KERNEL. Returns the weighted moments of p->logs. */
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
  m.deviation += MIN_DEVIATION;
  return m;
}

/* Fills p->local with the runs that have a covariate and are no outliers. */
static void select_local_runs(struct ft_ensemble_state *p)
{
  double low = p->logs[p->count / 4], high = p->logs[p->count - 1 - p->count / 4];
  double far = OUTLIER_QUARTILES * (high - low) + OUTLIER_MARGIN;
  struct ft_local_runs *l = &p->local;

  l->count = 0;
  for (size_t i = 0; i < p->count; i++) {
    double covariate = (double)p->e->covariates[p->run[i]], distance = covariate - p->q->covariate;

    if (covariate < 0 || fabs(distance) > OUTLIER_COVARIATE || p->logs[i] < low - far ||
        p->logs[i] > high + far)
      continue;
    l->x[l->count] = distance;
    l->y[l->count] = p->logs[i];
    l->run[l->count++] = p->run[i];
  }
  l->selected = true;
}

/* Returns the moments by local regression; if too few runs have a covariate, the weighted ones. */
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
  return (struct ft_need_moments){ local.total, local.mean, local.deviation + MIN_DEVIATION,
                                   local.runs };
}

/* Distribution of a new maximum: standard deviations above the largest peak, with probabilities.
 * Chosen by judgement. */
static const struct {
  double above, probability;
} beyond[] = { { 0.2, 0.4 }, { 0.6, 0.3 }, { 1.5, 0.2 }, { 4, 0.1 } };

/* Returns the allocation from the empirical distribution of p->bytes and one pseudo-run, which is
 * distributed above the largest peak. */
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
    double bytes = top * exp(fmin(beyond[i].above * m->deviation, MAX_BEYOND));

    if (bytes > failed)
      ft_retry_sequence_add(&p->sequence, bytes, beyond[i].probability * m->total / (m->runs + 1));
  }
  return p->sequence.count ? ft_retry_first_allocation(&p->sequence, p->price, p->fixed)
                           : FT_RETRY_SEQUENCE_GROWTH * failed;
}

/* Returns the score, 0 or more, at which Student's t with DEGREES of freedom has DENSITY; 0 if
 * DENSITY exceeds the maximum. The maximum is approximated to first order in 1 / DEGREES. */
static double student_score(double density, double degrees)
{
  double peak = 0.398942 * (1 - 1 / (4 * degrees));

  if (density >= peak)
    return 0;
  return sqrt(degrees * (pow(peak / density, 2 / (degrees + 1)) - 1));
}

/* Returns the approximate probability that Student's t exceeds SCORE, where its density is
 * DENSITY. */
static double tail_probability(double score, double density, double degrees)
{
  if (score < 0.3)
    return 0.5;
  return fmin(density * (degrees + score * score) / (degrees * score), 0.5);
}

/*
 * Returns the allocation from Student's t with the moments M and the scale times WIDE. The expected
 * waste is minimal where density x cost of a failure equals the cost of a larger allocation.
 */
static double student_allocation(const struct ft_ensemble_state *p, const struct ft_need_moments *m,
                                 double wide)
{
  double degrees = fmin(fmax(m->runs - 1, MIN_DEGREES), MAX_DEGREES);
  double scale = wide * m->deviation * sqrt(1 + 1 / m->runs);
  double density = scale / (p->price + p->fixed / exp(m->mean) + 1.5 * scale);
  double score = student_score(density, degrees), failed;

  if (p->q->failed_bytes > 0) {
    failed = (log(p->q->failed_bytes) - m->mean) / scale;
    for (int i = 0; i < FT_ENSEMBLE_MAX_ATTEMPTS && score <= failed; i++) {
      density *= tail_probability(score, density, degrees);
      score = fmax(student_score(density, degrees), score + 0.3);
    }
    /* the further out, the less certain is the tail: a larger step */
    score = fmax(score, RETRY_SCORE * failed + 0.5);
  }
  return exp(m->mean + fmin(scale * score, MAX_ABOVE));
}

double ft_ensemble_member_allocation(struct ft_ensemble_state *p, unsigned member)
{
  unsigned predictor = member / SHAPES / KERNELS, kernel = member / SHAPES % KERNELS;
  double bytes;

  compute_kernel_weights(p, kernel);
  select_predictor(p, predictor);
  if (p->predictor_kernel != member / SHAPES)
    p->moments =
        predictor == FT_ENSEMBLE_LOCAL ? local_moments(p, kernel) : weighted_moments(p, kernel);
  p->predictor_kernel = member / SHAPES;
  if (member % SHAPES == FT_SHAPE_STUDENT || predictor == FT_ENSEMBLE_LOCAL)
    bytes =
        student_allocation(p, &p->moments, member % SHAPES == FT_SHAPE_STUDENT ? 1 : LOCAL_SCALE);
  else
    bytes = empirical_allocation(p, &p->moments);
  bytes = bytes < MAX_BYTES ? bytes : MAX_BYTES;
  return p->q->failed_bytes > 0 ? fmax(bytes, p->q->failed_bytes * FT_RETRY_SEQUENCE_MIN_GROWTH)
                                : bytes;
}
