/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/core/random.h"
#include "predictor/estimate/allocation.h"
#include "predictor/online/failure_cost.h"
#include "predictor/online/online.h"
#include "predictor/rebuild/replay.h"

/* Of the published comparison (Sizey, Bader et al. 2024): fewer runs are no process. */
enum { LEAST_RUNS = 34 };
#define HISTORY_PART 0.3

enum { MOST_ATTEMPTS = 64 };

/* The interval that was told of a run before it; of 0 runs: none was. */
struct told {
  double low, high;
  unsigned runs;
  uint32_t turn; /* observations that had been made when it was submitted */
};

/* What is played, and what is known at this point of it. */
struct play {
  const struct ft_replay_run *runs;
  const struct ft_replay_options *options;
  struct ft_replay_score *scores;
  struct ft_past_runs past;
  ft_model *model;
  ft_observation *observation; /* working memory */
  uint32_t turn;               /* observations made: the order in which the model has them */
  size_t *order, *ends;
  struct told *told; /* by run */
};

const char *ft_replay_method_name(unsigned method)
{
  return method == FT_REPLAY_FORETELL ? "foretell"
                                      : ft_policy_name((enum ft_baseline_policy)method);
}

bool ft_replay_includes(const struct ft_replay_options *options, size_t count)
{
  return count >= (options->published ? LEAST_RUNS : 1);
}

/* The size of the input where it is known, else the first number. */
static double input_of(const struct ft_replay_run *run)
{
  const ft_feature *f = ft_feature_find(run->features, run->feature_count, "input_bytes");

  for (size_t i = 0; i < run->feature_count && !(f && f->has_number); i++)
    f = &run->features[i];
  return f && f->has_number ? f->number : NAN;
}

/* ---- learning ---- */

static int observe(struct play *p, const struct ft_replay_run *run, struct ft_error *err)
{
  const struct told *told = &p->told[run - p->runs];
  ft_observation *o = p->observation;
  size_t most = sizeof o->submission.features / sizeof *o->submission.features;

  *o = (ft_observation){ .schema = FT_SCHEMA,
                         .job_id = ++p->turn,
                         .submit_time = 1.0 + told->turn, /* 0 is not known */
                         .end_time = 1.0 + p->turn,
                         .runtime_seconds = run->seconds,
                         .source = FT_SOURCE_TRACE,
                         .rule = FT_RULE_RSS,
                         .outcome = FT_OUTCOME_COMPLETED,
                         .has_rss_bytes = true,
                         .rss_bytes = (uint64_t)run->bytes };
  o->submission.features_count = (pb_size_t)(run->feature_count < most ? run->feature_count : most);
  for (size_t i = 0; i < o->submission.features_count; i++)
    o->submission.features[i] = run->features[i];
  o->submission.has_decision = o->submission.decision.has_p05_bytes =
      o->submission.decision.has_p95_bytes = told->runs > 0;
  o->submission.decision.p05_bytes = told->low;
  o->submission.decision.p95_bytes = told->high;
  o->submission.decision.runs = told->runs;
  return ft_online_update(p->model, o, err) < 0 ? -1 : 0;
}

static int learn(struct play *p, const struct ft_replay_run *run, struct ft_error *err)
{
  struct ft_past_run past = { run->bytes, run->seconds, input_of(run) };

  if (ft_past_runs_add(&p->past, &past) < 0)
    return ft_error_set(err, "out of memory");
  return observe(p, run, err);
}

/* ---- one run ---- */

static void failed(struct ft_replay_score *s, const struct play *p, const struct ft_replay_run *run,
                   double bytes)
{
  s->failures++;
  s->byte_seconds += bytes * run->seconds * p->options->failure_time_fraction;
}

static void succeeded(struct ft_replay_score *s, const struct ft_replay_run *run, double bytes)
{
  s->runs++;
  s->byte_seconds += (bytes - run->bytes) * run->seconds;
}

static void judge(struct ft_replay_score *s, const struct ft_replay_run *run, double foreseen)
{
  s->predicted_runs++;
  s->error_sum += fabs(foreseen - run->bytes) / run->bytes;
}

static void play_policy(struct play *p, const struct ft_replay_run *run,
                        enum ft_baseline_policy policy)
{
  struct ft_policy_task task = { run->request_bytes, input_of(run), p->options->node_bytes,
                                 p->options->failure_time_fraction };
  struct ft_replay_score *s = &p->scores[policy];
  double bytes = ft_policy_first_allocation(policy, &p->past, &task);

  if (p->past.count)
    judge(s, run, bytes);
  for (int i = 0; bytes < run->bytes && i < MOST_ATTEMPTS; i++) {
    failed(s, p, run, bytes);
    bytes = ft_policy_next_allocation(policy, &p->past, &task, bytes);
  }
  succeeded(s, run, fmax(bytes, run->bytes));
}

/* What foretell would ask for, above FAILED_BYTES; what it foresaw in OUT. False: it knows nothing.
 */
static bool allocate(const struct play *p, const struct ft_replay_run *run, double failed_bytes,
                     struct ft_estimate *out, double *bytes)
{
  if (ft_allocate_memory(p->model, run->features, run->feature_count, failed_bytes,
                         p->options->price, out, bytes, NULL) < 0)
    return false;
  /* users know something too: more than they asked for only once that has failed */
  if (run->request_bytes > failed_bytes)
    *bytes = fmin(*bytes, run->request_bytes);
  return true;
}

static void play_foretell(struct play *p, const struct ft_replay_run *run)
{
  struct ft_replay_score *s = &p->scores[FT_REPLAY_FORETELL];
  double bytes = run->request_bytes > 0 ? run->request_bytes : p->options->node_bytes;
  struct told *told = &p->told[run - p->runs];
  struct ft_estimate estimate;

  *told = (struct told){ .turn = p->turn };
  if (allocate(p, run, 0, &estimate, &bytes)) {
    *told = (struct told){ ft_estimate_quantile(&estimate, 0.05),
                           ft_estimate_quantile(&estimate, 0.95), estimate.runs, p->turn };
    judge(s, run, ft_estimate_quantile(&estimate, 0.5));
    s->interval_runs++;
    s->covered_runs += run->bytes >= told->low && run->bytes <= told->high;
  }
  for (int i = 0; bytes < run->bytes && i < MOST_ATTEMPTS; i++) {
    double before = bytes;

    failed(s, p, run, bytes);
    if (!allocate(p, run, before, &estimate, &bytes))
      bytes = 2 * before;
  }
  succeeded(s, run, fmax(bytes, run->bytes));
}

static void play_run(struct play *p, const struct ft_replay_run *run)
{
  for (unsigned m = 0; m < FT_POLICY_COUNT; m++)
    play_policy(p, run, (enum ft_baseline_policy)m);
  play_foretell(p, run);
  if (p->options->progress)
    p->options->progress(1, p->options->data);
}

/* ---- protocols ---- */

static void begin(struct play *p)
{
  ft_past_runs_clear(&p->past);
  ft_online_init(p->model, "replay", 0, FT_RULE_RSS);
  ft_failure_cost_set(p->model, p->options->price);
  p->model->evaluator.failure_time = p->options->failure_time_fraction;
  p->turn = 0;
}

static int play_published(struct play *p, size_t count, uint64_t seed, struct ft_error *err)
{
  size_t history = (size_t)(HISTORY_PART * (double)count);
  struct ft_random random;

  ft_random_seed(&random, seed);
  for (size_t i = 0; i < count; i++)
    p->order[i] = i;
  for (size_t i = count; i > 1; i--) {
    size_t j = (size_t)ft_random_below(&random, i), other = p->order[i - 1];

    p->order[i - 1] = p->order[j];
    p->order[j] = other;
  }
  begin(p);
  memset(p->told, 0, count * sizeof *p->told);
  for (size_t i = 0; i < count; i++) {
    p->told[p->order[i]].turn = p->turn;
    if (i >= history)
      play_run(p, &p->runs[p->order[i]]);
    if (learn(p, &p->runs[p->order[i]], err) < 0)
      return -1;
  }
  return 0;
}

struct moment {
  double time;
  size_t run;
};

static int rising(const void *a, const void *b)
{
  const struct moment *x = a, *y = b;

  if (x->time != y->time)
    return (x->time > y->time) - (x->time < y->time);
  return (x->run > y->run) - (x->run < y->run);
}

/* Indices by submission and by end; where any time is missing, one after the other as they stand.
 */
static int sort_times(struct play *p, size_t count, struct moment *work)
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
        /* a clock that was put back ends no job before it began */
        work[i].time = fmax(p->runs[i].end_time, p->runs[i].submit_time);
      else
        work[i].time = p->runs[i].submit_time;
    }
    qsort(work, count, sizeof *work, rising);
    for (size_t i = 0; i < count; i++)
      (ends ? p->ends : p->order)[i] = work[i].run;
  }
  return known;
}

static int play_arrival(struct play *p, size_t count, struct ft_error *err)
{
  struct moment *work = reallocarray(NULL, count, sizeof *work);
  size_t ended = 0;
  int status = 0, known;

  if (!work)
    return ft_error_set(err, "out of memory");
  known = sort_times(p, count, work);
  free(work);
  begin(p);
  for (size_t i = 0; i < count && status == 0; i++) {
    const struct ft_replay_run *run = &p->runs[p->order[i]];

    while (known && ended < i && status == 0) {
      const struct ft_replay_run *other = &p->runs[p->ends[ended]];

      if (fmax(other->end_time, other->submit_time) >= run->submit_time)
        break;
      status = learn(p, other, err);
      ended++;
    }
    if (status == 0)
      play_run(p, run);
    if (!known && status == 0)
      status = learn(p, run, err);
  }
  return status;
}

int ft_replay_process(const struct ft_replay_run *runs, size_t count,
                      const struct ft_replay_options *options,
                      struct ft_replay_score scores[FT_REPLAY_METHODS], struct ft_error *err)
{
  struct play p = { .runs = runs, .options = options, .scores = scores };
  int status = 0;

  if (!ft_replay_includes(options, count))
    return 0;
  p.model = malloc(sizeof *p.model);
  p.observation = malloc(sizeof *p.observation);
  p.order = reallocarray(NULL, count, sizeof *p.order);
  p.ends = reallocarray(NULL, count, sizeof *p.ends);
  p.told = calloc(count, sizeof *p.told);
  if (!p.model || !p.observation || !p.order || !p.ends || !p.told)
    status = ft_error_set(err, "out of memory");
  else if (!options->published)
    status = play_arrival(&p, count, err);
  for (unsigned s = 0; options->published && s < options->seeds && status == 0; s++)
    status = play_published(&p, count, options->seed + s, err);
  ft_past_runs_free(&p.past);
  free(p.model);
  free(p.observation);
  free(p.order);
  free(p.ends);
  free(p.told);
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

  *out = (struct ft_replay_figures){ .wastage_gbh = score->byte_seconds / times / 3600 / 1e9,
                                     .failures = score->failures / times,
                                     .has_mape = score->predicted_runs > 0,
                                     .has_coverage90 = score->interval_runs > 0 };
  if (out->has_mape)
    out->mape = 100 * score->error_sum / score->predicted_runs;
  if (out->has_coverage90)
    out->coverage90 = score->covered_runs / score->interval_runs;
}
