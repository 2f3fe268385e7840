/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/core/text.h"
#include "predictor/estimate/allocation.h"
#include "predictor/estimate/equation.h"
#include "predictor/estimate/memory.h"
#include "predictor/estimate/point_prediction.h"
#include "predictor/estimate/variant.h"
#include "predictor/learn/series/change_point.h"
#include "predictor/online/facts.h"
#include "predictor/online/failure_cost.h"
#include "predictor/online/gpu_model.h"
#include "predictor/online/gpu_observations.h"
#include "predictor/online/interval_calibration.h"
#include "predictor/online/limit_effect.h"
#include "predictor/online/online.h"
#include "predictor/online/pool.h"
#include "predictor/online/refit.h"
#include "predictor/record/state_files.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* Limits of a model (foretell.options). */
enum {
  MAX_RUNS = COUNT(((ft_model *)NULL)->history),
  MAX_COLUMNS = COUNT(((ft_model *)NULL)->columns),
  MAX_LEVELS = COUNT(((ft_column *)NULL)->categories)
};

/* Maximum valid peak on one node, 1 PiB, in bytes. Chosen by judgement. */
#define MAX_BYTES 0x1p50
/* Fraction of the limit from which the peak of a censored run without a known cause shows that the
 * limit killed it. Chosen by judgement. */
#define NEAR_LIMIT 0.95
/* A limit below this fraction of the job's limit was set for a step (srun --mem). Below 1, since
 * Slurm rounds limits to MiB. */
#define STEP_LIMIT_FRACTION 0.95
/* A killed run whose recorded peak is below this fraction of its limit was not killed by that
 * limit: a peak between two samples is not that much larger. Chosen by judgement.
 */
#define NODE_OOM_FRACTION 0.5

void ft_online_init(ft_model *model, const char *app, uint32_t uid, ft_rule rule)
{
  *model = (ft_model){ .schema = FT_SCHEMA, .uid = uid, .rule = rule };
  (void)ft_string_copy(app, model->app, sizeof model->app);
  (void)ft_string_copy(PACKAGE_VERSION, model->version, sizeof model->version);
}

/* The features of a run: those of its submission, and its variant. */
struct run_features {
  ft_feature features[COUNT(((ft_submission *)NULL)->features) + 1];
  size_t count;
};

/* ---- variants ---- */

enum { MAX_HASHES = COUNT(((ft_model *)NULL)->variant_hashes), MAX_VARIANTS = MAX_LEVELS };

/* Returns a variant (1 to MAX_VARIANTS) without hashes, else the variant of the oldest hash. */
static unsigned find_free_variant(const ft_model *model)
{
  bool used[MAX_VARIANTS + 1] = { false };

  for (size_t i = 0; i < model->variant_hashes_count; i++)
    if (model->variant_ids.bytes[i] <= MAX_VARIANTS)
      used[model->variant_ids.bytes[i]] = true;
  for (unsigned v = 1; v <= MAX_VARIANTS; v++)
    if (!used[v])
      return v;
  return model->variant_ids.bytes[0];
}

/* Adds HASH (0: none) of VARIANT as the newest hash; a full list loses its oldest hash. */
static void add_variant_hash(ft_model *model, uint32_t hash, unsigned variant)
{
  size_t at = 0, count = model->variant_hashes_count;

  if (!hash)
    return;
  while (at < count && model->variant_hashes[at] != hash)
    at++;
  if (at == count && count < MAX_HASHES)
    count++;
  else if (at == count)
    at = 0;
  for (; at + 1 < count; at++) {
    model->variant_hashes[at] = model->variant_hashes[at + 1];
    model->variant_ids.bytes[at] = model->variant_ids.bytes[at + 1];
  }
  model->variant_hashes[at] = hash;
  model->variant_ids.bytes[at] = (pb_byte_t)variant;
  model->variant_hashes_count = (pb_size_t)count;
  model->variant_ids.size = (pb_size_t)count;
}

static void learn_variant(ft_model *model, const ft_submission *s)
{
  unsigned variant = ft_variant_lookup(model, s->script_hash, s->directory_hash);

  if (!variant)
    variant = find_free_variant(model);
  add_variant_hash(model, s->directory_hash, variant);
  add_variant_hash(model, s->script_hash, variant);
}

/* Collects the features of O and its variant. */
static void collect_features(const ft_model *model, const ft_observation *o,
                             struct run_features *out)
{
  const ft_submission *s = &o->submission;

  out->count = s->features_count;
  memcpy(out->features, s->features, out->count * sizeof *out->features);
  out->count +=
      ft_variant_feature(model, s->script_hash, s->directory_hash, &out->features[out->count]);
}

/* ---- columns ---- */

static bool is_column_used(const ft_model *model, size_t column)
{
  for (size_t i = 0; i < model->history_count; i++)
    if (column < model->history[i].x_count && !isnan(model->history[i].x[column]))
      return true;
  return false;
}

/* Discards the equation if it reads the category LEVEL - 1 of COLUMN, with LEVEL 0 any value of
 * COLUMN, because the meaning of the column or category changes. */
static void discard_equation(ft_model *model, const ft_column *column, size_t level)
{
  ft_equation *q = &model->evaluator.equation;

  for (size_t v = 0; v < q->columns_count; v++)
    if (q->columns[v] == column - model->columns && (!level || q->levels[v] == level)) {
      q->code.size = q->columns_count = q->levels_count = q->scales_count = 0;
      for (size_t i = 0; i < model->history_count; i++)
        model->history[i].equation_log = 0;
    }
}

/* Returns the column of FEATURE. A new feature gets a free or unused column and sets *CHANGED.
 * Returns NULL if there is none. */
static ft_column *find_or_add_column(ft_model *model, const ft_feature *feature, bool *changed)
{
  ft_column *column = NULL;

  for (size_t j = 0; j < model->columns_count; j++)
    if (strcmp(model->columns[j].name, feature->name) == 0)
      return &model->columns[j];
  if (model->columns_count < MAX_COLUMNS)
    column = &model->columns[model->columns_count++];
  for (size_t j = 0; !column && j < MAX_COLUMNS; j++)
    if (!is_column_used(model, j))
      column = &model->columns[j];
  if (!column)
    return NULL;
  *changed = true;
  discard_equation(model, column, 0);
  *column = (ft_column){ .categorical = !feature->has_number };
  (void)ft_string_copy(feature->name, column->name, sizeof column->name);
  return column;
}

static bool is_level_used(const ft_model *model, size_t column, size_t level)
{
  for (size_t i = 0; i < model->history_count; i++)
    if (column < model->history[i].x_count && model->history[i].x[column] == (float)level)
      return true;
  return false;
}

/* Adds FEATURE's category to COLUMN. Returns whether a level's meaning changed. */
static bool add_level(ft_model *model, ft_column *column, const ft_feature *feature)
{
  size_t index = (size_t)(column - model->columns), level;
  char category[sizeof column->categories[0]];

  ft_column_category(feature, category);
  if (ft_column_level(column, category) >= 0)
    return false;
  for (level = 0; level < column->categories_count; level++)
    if (column->categories_count == MAX_LEVELS && !is_level_used(model, index, level))
      break;
  if (level == MAX_LEVELS)
    return false;
  discard_equation(model, column, level + 1);
  (void)ft_string_copy(category, column->categories[level], sizeof column->categories[level]);
  if (level == column->categories_count)
    column->categories_count++;
  return true;
}

/* Adds columns and levels of the features in IN. Returns whether the meaning of any changed. */
static bool add_columns_of_features(ft_model *model, const struct run_features *in)
{
  bool changed = false;

  for (size_t i = 0; i < in->count; i++) {
    const ft_feature *feature = &in->features[i];
    ft_column *column = find_or_add_column(model, feature, &changed);

    if (column && column->categorical)
      changed |= add_level(model, column, feature);
  }
  return changed;
}

/* ---- history ---- */

/* Returns whether the run of O was killed for its memory. */
static bool was_killed_for_memory(const ft_observation *o, double bytes)
{
  if (o->outcome == FT_OUTCOME_OUT_OF_MEMORY)
    return true;
  /* on the node a kill by Slurm's OverMemoryKill looks like scancel: a plain SIGKILL */
  return o->censored && o->has_limit_bytes && o->limit_bytes > 0 &&
         bytes >= NEAR_LIMIT * (double)o->limit_bytes &&
         (o->outcome == FT_OUTCOME_UNKNOWN || o->outcome == FT_OUTCOME_FAILED ||
          o->outcome == FT_OUTCOME_CANCELLED);
}

/*
 * Returns whether the run was killed because its node was out of memory, which is no evidence of
 * how much the run requires. The agent detects this if the kernel counts failures at a limit.
 * Otherwise it is assumed if both the sampled peak and the kernel's peak of the largest process are
 * far below the limit (page cache may have filled it).
 */
static bool was_killed_by_node_oom(const ft_observation *o, ft_rule rule)
{
  uint64_t limit = o->has_killed_at_bytes ? o->killed_at_bytes : o->limit_bytes;
  double peak = fmax(ft_observation_peak(o, rule), (double)o->largest_process_bytes);

  if (o->has_killed_at_bytes && !o->killed_at_bytes)
    return o->outcome == FT_OUTCOME_OUT_OF_MEMORY;
  return o->outcome == FT_OUTCOME_OUT_OF_MEMORY && o->has_largest_process_bytes && limit &&
         (o->has_killed_at_bytes || o->submission.request.nodes <= 1) &&
         peak < NODE_OOM_FRACTION * (double)limit;
}

/*
 * Returns the minimum of the memory that the run required, in bytes: its peak, or the limit that
 * killed it, which the run exceeded even if no sample shows this. For a job on several nodes Slurm
 * does not report on which node the limit was exceeded.
 */
static double min_required_bytes(const ft_observation *o, ft_rule rule)
{
  double peak = ft_observation_peak(o, rule), limit = 0;

  if (o->outcome != FT_OUTCOME_OUT_OF_MEMORY || rule == FT_RULE_NONE ||
      (o->rule != rule && o->rule != FT_RULE_UNKNOWN))
    return peak;
  if (o->has_killed_at_bytes)
    limit = (double)o->killed_at_bytes;
  else if (o->has_limit_bytes &&
           (o->submission.request.nodes == 1 || o->submission.request.tasks <= 1))
    limit = (double)o->limit_bytes;
  return limit <= MAX_BYTES ? fmax(peak, limit) : peak;
}

/*
 * Returns whether a step was killed at a limit of its own (srun --mem in the script). With --mem a
 * step otherwise has the limit of the job. With --mem-per-cpu it has that of its CPUs, which may be
 * lower; then the function returns false.
 */
static bool was_step_limited(const ft_observation *o)
{
  const ft_request *request = &o->submission.request;
  const ft_decision *decided = &o->submission.decision;
  ft_mem_unit unit = decided->mem_bytes ? decided->mem_unit : request->mem_unit;

  return o->outcome == FT_OUTCOME_OUT_OF_MEMORY && o->has_killed_at_bytes && o->killed_at_bytes &&
         o->has_limit_bytes && unit == FT_MEM_NODE &&
         (double)o->killed_at_bytes < STEP_LIMIT_FRACTION * (double)o->limit_bytes;
}

/* Returns whether the run of O with KEY was submitted before an earlier run of MODEL was killed by
 * its own limit, so that the two limits are no attempts one after the other. */
static bool was_submitted_before_kill(const ft_model *model, const ft_observation *o, uint64_t key)
{
  for (size_t i = 0; i < model->history_count; i++)
    if (model->history[i].killed_by == FT_KILLED_BY_LIMIT && model->history[i].key != key &&
        model->history[i].time > ft_observation_submitted(o))
      return true;
  return false;
}

static double finite_or_zero(double value)
{
  return isfinite(value) ? value : 0;
}

uint64_t ft_online_key(uint32_t uid, const ft_observation *o)
{
  uint64_t key = ft_observation_run_key(o);

  return uid == FT_STATE_POOLED ? ft_pool_key(key, o->uid) : key;
}

/* Returns a run of the history for O, with the peak or bound BYTES and without feature values. */
static ft_run make_history_run(const ft_model *model, const ft_observation *o, double bytes)
{
  ft_run run = { .key = ft_online_key(model->uid, o),
                 .time = finite_or_zero(o->end_time),
                 .bytes = bytes,
                 .runtime_seconds = finite_or_zero(o->runtime_seconds) };
  const ft_feature *network =
      ft_feature_find(o->submission.features, o->submission.features_count, FT_FEATURE_NETWORK);

  run.gpu_bytes = (float)ft_observation_gpu_bytes(o);
  if (network && network->has_number && network->number > 0 && network->number < MAX_BYTES)
    run.network_bytes = (float)network->number;
  run.gpu = ft_gpu_observations_hash(o->gpu_name);
  run.gpu_limit_bytes = (float)ft_gpu_model_limit(o);
  if (was_step_limited(o))
    run.killed_by = FT_KILLED_BY_STEP_LIMIT;
  else if (was_killed_for_memory(o, bytes))
    run.killed_by = FT_KILLED_BY_LIMIT;
  run.censored = o->censored || run.killed_by;
  run.sampled = run.killed_by == FT_KILLED_BY_LIMIT
                    ? was_submitted_before_kill(model, o, run.key)
                    : o->peak_is_bound && !run.killed_by &&
                          (!run.censored || o->outcome == FT_OUTCOME_COMPLETED);
  return run;
}

/* Sets RUN's out-of-sample prediction. Calibrates the interval by a completed run that is not KNOWN
 * from an earlier record. */
static void predict_run(ft_model *model, const ft_observation *o, const struct run_features *in,
                        bool known, ft_run *run)
{
  struct ft_estimate estimate;

  if (ft_estimate_memory(model, in->features, in->count, &estimate, NULL) < 0)
    return;
  run->predicted_log = (float)log(ft_estimate_quantile(&estimate, 0.5));
  if (!run->censored && !known)
    ft_interval_calibration_update(model, o, &estimate, run->bytes);
}

/* Sets RUN's out-of-sample prediction by the equation. */
static void predict_by_equation(const ft_model *model, const struct run_features *in, ft_run *run)
{
  const ft_equation *q = &model->evaluator.equation;
  struct ft_expression code;
  float x[MAX_COLUMNS];
  double predicted;

  if (!model->evaluator.has_equation || !ft_equation_open(q, &code))
    return;
  ft_columns_fill(model->columns, model->columns_count, in->features, in->count, x);
  predicted = ft_equation_log(q, &code, x, model->columns_count);
  run->equation_log = isnan(predicted) ? 0 : (float)predicted;
}

/* Adds to the loss of each ensemble member the waste of its allocation for RUN. */
static void update_ensemble(ft_model *model, const struct run_features *in, const ft_run *run)
{
  const ft_evaluator *e = &model->evaluator;
  struct ft_allocation_query q;

  if (run->censored || !model->has_evaluator || !ft_ensemble_ready(e))
    return;
  ft_allocation_query_fill(model, in->features, in->count, 0,
                           e->failure_price > 0 ? e->failure_price : 1, &q);
  ft_ensemble_update(&model->evaluator, &q, run->bytes, run->runtime_seconds, model->completed);
}

/* Adds DELTA (1 or -1) to MODEL's counts of runs that include RUN. */
static void adjust_run_counts(ft_model *model, const ft_run *run, int delta)
{
  uint32_t *kind = run->censored ? &model->censored : &model->completed;

  if (delta > 0 ? *kind < UINT32_MAX : *kind > 0)
    *kind += (uint32_t)delta;
  if (delta > 0 ? model->runs < UINT32_MAX : model->runs > 0)
    model->runs += (uint32_t)delta;
}

/* Inserts RUN into the history in order of time; a full history loses its oldest run. Returns 1 if
 * RUN is now the newest, 0 if not; -1 if the history refuses it: full of newer runs, or pooled and
 * full of this user's. */
static int insert_history_run(ft_model *model, const ft_run *run)
{
  size_t at;

  if (model->uid == FT_STATE_POOLED && !ft_pool_make_room(model, run))
    return -1;
  if (model->history_count == MAX_RUNS) {
    if (run->time < model->history[0].time)
      return -1;
    ft_refit_remove_run(model, 0);
  }
  for (at = model->history_count; at > 0 && model->history[at - 1].time > run->time; at--)
    ;
  memmove(&model->history[at + 1], &model->history[at],
          (model->history_count - at) * sizeof *model->history);
  model->history[at] = *run;
  model->history_count++;
  return at + 1 == model->history_count;
}

void ft_online_drop_oldest(ft_model *model, size_t count)
{
  ft_evaluator *e = &model->evaluator;

  while (count--)
    ft_refit_remove_run(model, 0);
  model->runs = (uint32_t)model->history_count;
  model->completed = 0;
  for (size_t i = 0; i < model->history_count; i++) {
    model->completed += !model->history[i].censored;
    model->history[i].equation_log = 0;
  }
  model->censored = model->runs - model->completed;
  *e = (ft_evaluator){ .failure_price = e->failure_price,
                       .failure_time = e->failure_time,
                       .cohorts = e->cohorts,
                       .cohort_ended = e->cohort_ended };
  ft_interval_calibration_recount_cohorts(model);
}

/* Returns the number of oldest runs in MODEL's history before its change point; 0: none.
 * LOG_RESIDUALS: of each run of the history. */
static size_t count_before_change(const ft_model *model, const double *log_residuals)
{
  enum { RUNS = COUNT(model->history) };
  double log_residual[RUNS];
  float covariate[RUNS];
  size_t at[RUNS], count = 0, first;

  if (!model->has_evaluator)
    return 0;
  for (size_t i = 0; i < model->history_count; i++) {
    const ft_run *run = &model->history[i];

    if (run->censored)
      continue;
    at[count] = i;
    log_residual[count] = log_residuals[i];
    covariate[count++] = ft_refit_primary_covariate(&model->evaluator, run);
  }
  first = ft_change_point_find(log_residual, covariate, count);
  return first ? at[first] : 0;
}

void ft_online_refit(ft_model *model, struct ft_refit *work)
{
  size_t before;

  ft_refit_model(model, work);
  before = count_before_change(model, ft_refit_log_residuals(work));
  if (before) {
    ft_online_drop_oldest(model, before);
    ft_refit_model(model, work);
  }
  ft_failure_cost_estimate_time(model);
}

int ft_online_update(ft_model *model, const ft_observation *observation, struct ft_error *err)
{
  double bytes = min_required_bytes(observation, model->rule);
  struct ft_refit *work;
  bool known = false, incremental;
  int inserted;
  struct run_features features;
  ft_run run;

  if (!(bytes > 0 && bytes <= MAX_BYTES) || was_killed_by_node_oom(observation, model->rule) ||
      (model->uid == FT_STATE_POOLED && !ft_pool_accepts(observation)))
    return 0;
  work = ft_refit_new();
  if (!work)
    return ft_error_errno(err, "%s: update", model->app);
  run = make_history_run(model, observation, bytes);
  for (size_t i = 0; i < model->history_count; i++)
    known = known || model->history[i].key == run.key;
  collect_features(model, observation, &features);
  predict_run(model, observation, &features, known, &run);
  predict_by_equation(model, &features, &run);
  for (size_t i = 0; i < model->history_count; i++) {
    if (model->history[i].key != run.key)
      continue;
    /* keep the predictions that were made before the first record of this run */
    run.predicted_log = model->history[i].predicted_log;
    run.equation_log = model->history[i].equation_log;
    adjust_run_counts(model, &model->history[i], -1);
    ft_refit_remove_run(model, i);
    break;
  }
  if (!known)
    update_ensemble(model, &features, &run);
  if (!known && !run.censored)
    ft_interval_calibration_count_cohort(model, observation);
  learn_variant(model, &observation->submission);
  collect_features(model, observation, &features);
  incremental = !add_columns_of_features(model, &features) && !known;
  run.x_count = model->columns_count;
  ft_columns_fill(model->columns, model->columns_count, features.features, features.count, run.x);
  inserted = insert_history_run(model, &run);
  if (inserted >= 0)
    adjust_run_counts(model, &run, 1);
  incremental &= inserted > 0;
  model->updated = fmax(model->updated, run.time);
  if (!incremental || !ft_refit_incremental(model, work))
    ft_online_refit(model, work);
  ft_facts_fill(model);
  ft_limit_effect_update(model, run.key, observation);
  free(work);
  return 1;
}

void ft_online_clamp_times(ft_model *model, double latest)
{
  for (size_t i = 0; i < model->history_count; i++)
    model->history[i].time = fmin(model->history[i].time, latest);
  model->updated = fmin(model->updated, latest);
  model->evaluator.cohort_ended = fmin(model->evaluator.cohort_ended, latest);
}
