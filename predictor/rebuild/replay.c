/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/core/random.h"
#include "predictor/estimate/allocation.h"
#include "predictor/estimate/quantity.h"
#include "predictor/estimate/runtime.h"
#include "predictor/online/failure_cost.h"
#include "predictor/online/app_models.h"
#include "predictor/online/online.h"
#include "predictor/online/performance.h"
#include "predictor/rebuild/replay.h"

/* Minimum runs of a process, and fraction of runs learnt before the first replayed one, in the
 * published protocol (Sizey, Bader et al. 2024). */
enum { PUBLISHED_MIN_RUNS = 34 };
#define PUBLISHED_HISTORY_FRACTION 0.3

/* Maximum attempts per run: doubling one byte 64 times exceeds any memory. */
enum { MAX_ATTEMPTS = 64 };

/* The prediction of a run at its submission. */
struct prediction {
  double low, high;   /* 90 % interval */
  unsigned runs;      /* from which it was made; 0: no prediction */
  uint32_t submitted; /* observations made before the submission */
};

/* The state of one replay. */
struct replay {
  const struct ft_replay_run *runs;
  const struct ft_replay_options *options;
  struct ft_replay_score *scores;
  struct ft_past_runs past;
  struct ft_app_models *models;
  ft_observation *observation;    /* working memory */
  uint32_t observed;              /* observations made so far; serves the model as the time */
  size_t *order, *ends;           /* runs by submission and by end */
  struct prediction *predictions; /* by run */
};

const char *ft_replay_method_name(unsigned method)
{
  return method == FT_REPLAY_FORETELL ? "foretell"
                                      : ft_policy_name((enum ft_baseline_policy)method);
}

static bool is_of_time(const struct ft_replay_options *options)
{
  return options->quantity == FT_QUANTITY_RUNTIME;
}

bool ft_replay_has_method(const struct ft_replay_options *options, unsigned method)
{
  return method == FT_REPLAY_FORETELL ||
         ft_policy_is_for((enum ft_baseline_policy)method, is_of_time(options));
}

const char *ft_replay_waste_unit(const struct ft_replay_options *options)
{
  return is_of_time(options) ? "h" : "GB.h";
}

/* Returns what RUN needed of the quantity. */
static double need_of(const struct replay *p, const struct ft_replay_run *run)
{
  return is_of_time(p->options) ? run->seconds : run->bytes;
}

/* Returns what one unit of the quantity costs in RUN: memory is held for the run time. */
static double weight_of(const struct replay *p, const struct ft_replay_run *run)
{
  return is_of_time(p->options) ? 1 : run->seconds;
}

/* Returns the request of RUN; 0: none. */
static double request_of(const struct replay *p, const struct ft_replay_run *run)
{
  return is_of_time(p->options) ? run->request_seconds : run->request_bytes;
}

/* Returns what a job without a request gets. */
static double most_of(const struct replay *p)
{
  return is_of_time(p->options) ? p->options->max_seconds : p->options->node_bytes;
}

bool ft_replay_includes(const struct ft_replay_options *options, size_t count)
{
  return count >= (options->published ? PUBLISHED_MIN_RUNS : 1);
}

/* Returns the feature input_bytes, else the first numeric feature; NAN without one. */
static double run_input(const struct ft_replay_run *run)
{
  const ft_feature *f = ft_feature_find(run->features, run->feature_count, "input_bytes");

  for (size_t i = 0; i < run->feature_count && !(f && f->has_number); i++)
    f = &run->features[i];
  return f && f->has_number ? f->number : NAN;
}

/* ---- learning ---- */

/* Updates foretell's model by RUN, with the prediction of its submission as decision. Returns 0; -1
 * on error and fills ERR. */
static int observe_run(struct replay *p, const struct ft_replay_run *run, struct ft_error *err)
{
  const struct prediction *prediction = &p->predictions[run - p->runs];
  ft_observation *o = p->observation;
  size_t max_features = sizeof o->submission.features / sizeof *o->submission.features;

  *o = (ft_observation){ .schema = FT_SCHEMA,
                         .job_id = ++p->observed,
                         .submit_time = 1.0 + prediction->submitted, /* 0 means unknown */
                         .end_time = 1.0 + p->observed,
                         .runtime_seconds = run->seconds,
                         .source = FT_SOURCE_TRACE,
                         .rule = FT_RULE_RSS,
                         .outcome = FT_OUTCOME_COMPLETED,
                         .has_rss_bytes = run->bytes > 0,
                         .rss_bytes = (uint64_t)run->bytes };
  o->submission.features_count =
      (pb_size_t)(run->feature_count < max_features ? run->feature_count : max_features);
  for (size_t i = 0; i < o->submission.features_count; i++)
    o->submission.features[i] = run->features[i];
  o->submission.has_decision = o->submission.decision.has_p05_bytes =
      o->submission.decision.has_p95_bytes = prediction->runs > 0;
  o->submission.decision.p05_bytes = prediction->low;
  o->submission.decision.p95_bytes = prediction->high;
  o->submission.decision.runs = prediction->runs;
  return (is_of_time(p->options)
              ? ft_performance_update(&p->models->performance, &p->models->runtimes, o, err)
              : ft_online_update(&p->models->model, &p->models->history, o, err)) < 0
             ? -1
             : 0;
}

/* Updates all methods by RUN. Returns 0; -1 on error and fills ERR. */
static int learn_run(struct replay *p, const struct ft_replay_run *run, struct ft_error *err)
{
  struct ft_past_run past = { need_of(p, run), weight_of(p, run), run_input(run) };

  if (ft_past_runs_add(&p->past, &past) < 0)
    return ft_error_set(err, "out of memory");
  return observe_run(p, run, err);
}

/* ---- one run ---- */

static void count_failure(struct ft_replay_score *s, const struct replay *p,
                          const struct ft_replay_run *run, double bytes)
{
  s->failures++;
  s->byte_seconds +=
      bytes * weight_of(p, run) * (is_of_time(p->options) ? 1 : p->options->failure_time_fraction);
}

static void count_success(struct ft_replay_score *s, const struct replay *p,
                          const struct ft_replay_run *run, double bytes)
{
  s->runs++;
  s->byte_seconds += (bytes - need_of(p, run)) * weight_of(p, run);
}

static void count_prediction(struct ft_replay_score *s, const struct replay *p,
                             const struct ft_replay_run *run, double predicted)
{
  s->predicted_runs++;
  s->error_sum += fabs(predicted - need_of(p, run)) / need_of(p, run);
}

static void replay_policy(struct replay *p, const struct ft_replay_run *run,
                          enum ft_baseline_policy policy)
{
  struct ft_policy_task task = { request_of(p, run), run_input(run), most_of(p),
                                 p->options->failure_time_fraction };
  struct ft_replay_score *s = &p->scores[policy];
  double bytes = ft_policy_first_allocation(policy, &p->past, &task);

  /* the longest limit predicts nothing */
  if (p->past.count &&
      !(policy == FT_POLICY_REQUEST && is_of_time(p->options) && !(task.request_bytes > 0)))
    count_prediction(s, p, run, bytes);
  for (int i = 0; bytes < need_of(p, run) && i < MAX_ATTEMPTS; i++) {
    count_failure(s, p, run, bytes);
    bytes = ft_policy_next_allocation(policy, &p->past, &task, bytes);
  }
  count_success(s, p, run, fmax(bytes, need_of(p, run)));
}

/* Sets *SECONDS to the limit that a run exceeds with the probability of a timeout, above
 * FAILED_SECONDS (0: first attempt), and OUT to the estimate. Returns false without a model. */
static bool limit_by_foretell(const struct replay *p, const struct ft_replay_run *run,
                              double failed_seconds, struct ft_estimate *out, double *seconds)
{
  struct ft_platform_runtime times[FT_RUNTIME_PLATFORMS];
  size_t count =
      ft_runtime_estimate(&p->models->performance, run->features, run->feature_count, times);

  if (!count || !times[0].known)
    return false;
  *out = times[0].seconds;
  *seconds =
      fmax(ft_estimate_quantile(out, 1 - p->options->timeout_probability), 2 * failed_seconds);
  return true;
}

/* Sets *BYTES to foretell's allocation above FAILED_BYTES (0: first attempt), and OUT to the
 * estimate. Returns false without a model. */
static bool allocate_by_foretell(const struct replay *p, const struct ft_replay_run *run,
                                 double failed_bytes, struct ft_estimate *out, double *bytes)
{
  if (is_of_time(p->options)) {
    if (!limit_by_foretell(p, run, failed_bytes, out, bytes))
      return false;
  } else if (ft_allocate_memory(&p->models->model, run->features, run->feature_count, failed_bytes,
                                p->options->price, out, bytes, NULL) < 0) {
    return false;
  }
  /* the user's request limits the allocation until an attempt at the request has failed */
  if (request_of(p, run) > failed_bytes)
    *bytes = fmin(*bytes, request_of(p, run));
  return true;
}

static void replay_foretell(struct replay *p, const struct ft_replay_run *run)
{
  struct ft_replay_score *s = &p->scores[FT_REPLAY_FORETELL];
  double bytes = request_of(p, run) > 0 ? request_of(p, run) : most_of(p);
  struct prediction *prediction = &p->predictions[run - p->runs];
  struct ft_estimate estimate;

  *prediction = (struct prediction){ .submitted = p->observed };
  if (allocate_by_foretell(p, run, 0, &estimate, &bytes)) {
    *prediction =
        (struct prediction){ ft_estimate_quantile(&estimate, 0.05),
                             ft_estimate_quantile(&estimate, 0.95), estimate.runs, p->observed };
    count_prediction(s, p, run, ft_estimate_quantile(&estimate, 0.5));
    s->interval_runs++;
    s->covered_runs += need_of(p, run) >= prediction->low && need_of(p, run) <= prediction->high;
  }
  for (int i = 0; bytes < need_of(p, run) && i < MAX_ATTEMPTS; i++) {
    double before = bytes;

    count_failure(s, p, run, bytes);
    if (!allocate_by_foretell(p, run, before, &estimate, &bytes))
      bytes = 2 * before;
  }
  count_success(s, p, run, fmax(bytes, need_of(p, run)));
}

static void replay_one_run(struct replay *p, const struct ft_replay_run *run)
{
  for (unsigned m = 0; m < FT_POLICY_COUNT; m++)
    if (ft_replay_has_method(p->options, m))
      replay_policy(p, run, (enum ft_baseline_policy)m);
  replay_foretell(p, run);
  if (p->options->progress)
    p->options->progress(1, p->options->data);
}

/* ---- protocols ---- */

/* Resets all methods to no runs. */
static void reset_methods(struct replay *p)
{
  ft_past_runs_clear(&p->past);
  ft_app_models_init(p->models, "replay", 0, FT_RULE_RSS);
  ft_failure_cost_set(&p->models->model, p->options->price);
  p->models->model.evaluator.failure_time = p->options->failure_time_fraction;
  p->observed = 0;
}

/* Replays one seed of the published protocol. Returns 0; -1 on error and fills ERR. */
static int replay_published(struct replay *p, size_t count, uint64_t seed, struct ft_error *err)
{
  size_t history = (size_t)(PUBLISHED_HISTORY_FRACTION * (double)count);
  struct ft_random random;

  ft_random_seed(&random, seed);
  for (size_t i = 0; i < count; i++)
    p->order[i] = i;
  for (size_t i = count; i > 1; i--) {
    size_t j = (size_t)ft_random_below(&random, i), other = p->order[i - 1];

    p->order[i - 1] = p->order[j];
    p->order[j] = other;
  }
  reset_methods(p);
  memset(p->predictions, 0, count * sizeof *p->predictions);
  for (size_t i = 0; i < count; i++) {
    p->predictions[p->order[i]].submitted = p->observed;
    if (i >= history)
      replay_one_run(p, &p->runs[p->order[i]]);
    if (learn_run(p, &p->runs[p->order[i]], err) < 0)
      return -1;
  }
  return 0;
}

/* The submission or the end of a run, by index. */
struct moment {
  double time;
  size_t run;
};

static int compare_moments(const void *a, const void *b)
{
  const struct moment *x = a, *y = b;

  if (x->time != y->time)
    return (x->time > y->time) - (x->time < y->time);
  return (x->run > y->run) - (x->run < y->run);
}

/* Sets P's order and ends to the COUNT runs by submission and by end, with WORK of COUNT elements.
 * Returns 1; 0 if a time is unknown, both orders are then that of the runs. */
static int sort_by_time(struct replay *p, size_t count, struct moment *work)
{
  bool known = true;

  for (size_t i = 0; i < count; i++)
    known = known && p->runs[i].submit_time > 0 && p->runs[i].end_time > 0;
  for (int ends = 0; ends < 2; ends++) {
    for (size_t i = 0; i < count; i++) {
      work[i].run = i;
      if (!known)
        work[i].time = (double)i;
      else if (ends)
        /* a clock set back must not end a job before its submission */
        work[i].time = fmax(p->runs[i].end_time, p->runs[i].submit_time);
      else
        work[i].time = p->runs[i].submit_time;
    }
    qsort(work, count, sizeof *work, compare_moments);
    for (size_t i = 0; i < count; i++)
      (ends ? p->ends : p->order)[i] = work[i].run;
  }
  return known;
}

/* Replays in order of submission. Returns 0; -1 on error and fills ERR. */
static int replay_arrivals(struct replay *p, size_t count, struct ft_error *err)
{
  struct moment *work = reallocarray(NULL, count, sizeof *work);
  size_t ended = 0;
  int status = 0, known;

  if (!work)
    return ft_error_set(err, "out of memory");
  known = sort_by_time(p, count, work);
  free(work);
  reset_methods(p);
  for (size_t i = 0; i < count && status == 0; i++) {
    const struct ft_replay_run *run = &p->runs[p->order[i]];

    while (known && ended < i && status == 0) {
      const struct ft_replay_run *other = &p->runs[p->ends[ended]];

      if (fmax(other->end_time, other->submit_time) >= run->submit_time)
        break;
      status = learn_run(p, other, err);
      ended++;
    }
    if (status == 0)
      replay_one_run(p, run);
    if (!known && status == 0)
      status = learn_run(p, run, err);
  }
  return status;
}

int ft_replay_process(const struct ft_replay_run *runs, size_t count,
                      const struct ft_replay_options *options,
                      struct ft_replay_score scores[FT_REPLAY_METHODS], struct ft_error *err)
{
  struct replay p = { .runs = runs, .options = options, .scores = scores };
  int status = 0;

  if (!ft_replay_includes(options, count))
    return 0;
  p.models = malloc(sizeof *p.models);
  p.observation = malloc(sizeof *p.observation);
  p.order = reallocarray(NULL, count, sizeof *p.order);
  p.ends = reallocarray(NULL, count, sizeof *p.ends);
  p.predictions = calloc(count, sizeof *p.predictions);
  if (!p.models || !p.observation || !p.order || !p.ends || !p.predictions)
    status = ft_error_set(err, "out of memory");
  else if (!options->published)
    status = replay_arrivals(&p, count, err);
  for (unsigned s = 0; options->published && s < options->seeds && status == 0; s++)
    status = replay_published(&p, count, options->seed + s, err);
  ft_past_runs_free(&p.past);
  free(p.models);
  free(p.observation);
  free(p.order);
  free(p.ends);
  free(p.predictions);
  return status;
}

/* ---- figures ---- */

void ft_replay_add_scores(struct ft_replay_score scores[FT_REPLAY_METHODS],
                          const struct ft_replay_score more[FT_REPLAY_METHODS])
{
  for (unsigned m = 0; m < FT_REPLAY_METHODS; m++) {
    scores[m].byte_seconds += more[m].byte_seconds;
    scores[m].failures += more[m].failures;
    scores[m].runs += more[m].runs;
    scores[m].predicted_runs += more[m].predicted_runs;
    scores[m].error_sum += more[m].error_sum;
    scores[m].interval_runs += more[m].interval_runs;
    scores[m].covered_runs += more[m].covered_runs;
  }
}

void ft_replay_compute_figures(const struct ft_replay_score *score,
                               const struct ft_replay_options *options,
                               struct ft_replay_figures *out)
{
  double times = options->published ? options->seeds : 1;

  *out = (struct ft_replay_figures){ .wastage_gbh = score->byte_seconds / times / 3600 /
                                                    (is_of_time(options) ? 1 : 1e9),
                                     .failures = score->failures / times,
                                     .has_mape = score->predicted_runs > 0,
                                     .has_coverage90 = score->interval_runs > 0 };
  if (out->has_mape)
    out->mape = 100 * score->error_sum / score->predicted_runs;
  if (out->has_coverage90)
    out->coverage90 = score->covered_runs / score->interval_runs;
}
