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
#include "predictor/online/change_point.h"
#include "predictor/online/facts.h"
#include "predictor/online/failure_cost.h"
#include "predictor/online/gpu_model.h"
#include "predictor/online/gpu_observations.h"
#include "predictor/online/interval_calibration.h"
#include "predictor/online/online.h"
#include "predictor/online/pool.h"
#include "predictor/online/refit.h"
#include "predictor/record/state_files.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

enum {
  MOST_RUNS = COUNT(((ft_model *)NULL)->history),
  MOST_COLUMNS = COUNT(((ft_model *)NULL)->columns),
  MOST_LEVELS = COUNT(((ft_column *)NULL)->categories)
};

/* No job on one node has used a pebibyte. */
#define ABSURD_BYTES 0x1p50
/* A killed run whose end nobody could tell had reached this part of its limit. */
#define NEAR_LIMIT 0.95
/* A step's limit below this part of its job's is its own: Slurm rounds to MiB. */
#define STEPS_OWN 0.95
/* One whose peak, by the kernel's own record too, stayed below this part of its limit was not
 * killed by it: what is missed between two samples is less. */
#define STARVED_BELOW 0.5

void ft_online_init(ft_model *model, const char *app, uint32_t uid, ft_rule rule)
{
  *model = (ft_model){ .schema = FT_SCHEMA, .uid = uid, .rule = rule };
  (void)ft_string_copy(app, model->app, sizeof model->app);
  (void)ft_string_copy(PACKAGE_VERSION, model->version, sizeof model->version);
}

/* What an observation says of its run: the submission's features and its variant. */
struct told {
  ft_feature features[COUNT(((ft_submission *)NULL)->features) + 1];
  size_t count;
};

/* ---- variants ---- */

enum {
  MOST_HASHES = COUNT(((ft_model *)NULL)->variant_hashes),
  MOST_VARIANTS = MOST_LEVELS
};

/* A variant that no known hash belongs to; of too many the one whose hashes are oldest. */
static unsigned free_variant(const ft_model *model)
{
  bool taken[MOST_VARIANTS + 1] = { false };

  for (size_t i = 0; i < model->variant_hashes_count; i++)
    if (model->variant_ids.bytes[i] <= MOST_VARIANTS)
      taken[model->variant_ids.bytes[i]] = true;
  for (unsigned v = 1; v <= MOST_VARIANTS; v++)
    if (!taken[v])
      return v;
  return model->variant_ids.bytes[0];
}

/* HASH belongs to VARIANT and is the newest. */
static void note_hash(ft_model *model, uint32_t hash, unsigned variant)
{
  size_t at = 0, count = model->variant_hashes_count;

  if (!hash)
    return;
  while (at < count && model->variant_hashes[at] != hash)
    at++;
  if (at == count && count < MOST_HASHES)
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
    variant = free_variant(model);
  note_hash(model, s->directory_hash, variant);
  note_hash(model, s->script_hash, variant);
}

static void gather_told(const ft_model *model, const ft_observation *o, struct told *out)
{
  const ft_submission *s = &o->submission;

  out->count = s->features_count;
  memcpy(out->features, s->features, out->count * sizeof *out->features);
  out->count += ft_variant_feature(model, s->script_hash, s->directory_hash,
                                   &out->features[out->count]);
}

/* ---- columns ---- */

static bool column_used(const ft_model *model, size_t column)
{
  for (size_t i = 0; i < model->history_count; i++)
    if (column < model->history[i].x_count && !isnan(model->history[i].x[column]))
      return true;
  return false;
}

/* What COLUMN (or its category LEVEL - 1) means changes: an equation that reads it is none any
 * more. */
static void forget_equation(ft_model *model, const ft_column *column, size_t level)
{
  ft_equation *q = &model->evaluator.equation;

  for (size_t v = 0; v < q->columns_count; v++)
    if (q->columns[v] == column - model->columns && (!level || q->levels[v] == level)) {
      q->code.size = q->columns_count = q->levels_count = q->scales_count = 0;
      for (size_t i = 0; i < model->history_count; i++)
        model->history[i].equation_log = 0;
    }
}

static ft_column *column_of(ft_model *model, const ft_feature *feature, bool *changed)
{
  ft_column *column = NULL;

  for (size_t j = 0; j < model->columns_count; j++)
    if (strcmp(model->columns[j].name, feature->name) == 0)
      return &model->columns[j];
  if (model->columns_count < MOST_COLUMNS)
    column = &model->columns[model->columns_count++];
  for (size_t j = 0; !column && j < MOST_COLUMNS; j++)
    if (!column_used(model, j))
      column = &model->columns[j];
  if (!column)
    return NULL;
  *changed = true;
  forget_equation(model, column, 0);
  *column = (ft_column){ .categorical = !feature->has_number };
  (void)ft_string_copy(feature->name, column->name, sizeof column->name);
  return column;
}

static bool level_used(const ft_model *model, size_t column, size_t level)
{
  for (size_t i = 0; i < model->history_count; i++)
    if (column < model->history[i].x_count && model->history[i].x[column] == (float)level)
      return true;
  return false;
}

static bool learn_level(ft_model *model, ft_column *column, const ft_feature *feature)
{
  size_t index = (size_t)(column - model->columns), level;
  char category[sizeof column->categories[0]];

  ft_column_category(feature, category);
  if (ft_column_level(column, category) >= 0)
    return false;
  for (level = 0; level < column->categories_count; level++)
    if (column->categories_count == MOST_LEVELS && !level_used(model, index, level))
      break;
  if (level == MOST_LEVELS)
    return false;
  forget_equation(model, column, level + 1);
  (void)ft_string_copy(category, column->categories[level], sizeof column->categories[level]);
  if (level == column->categories_count)
    column->categories_count++;
  return true;
}

/* Whether any column, or a level of one, means something else now. */
static bool learn_columns(ft_model *model, const struct told *told)
{
  bool changed = false;

  for (size_t i = 0; i < told->count; i++) {
    const ft_feature *feature = &told->features[i];
    ft_column *column = column_of(model, feature, &changed);

    if (column && column->categorical)
      changed |= learn_level(model, column, feature);
  }
  return changed;
}

/* ---- history ---- */

static bool died_of_memory(const ft_observation *o, double bytes)
{
  if (o->outcome == FT_OUTCOME_OUT_OF_MEMORY)
    return true;
  /* OverMemoryKill is a plain SIGKILL, not told apart from scancel on the node */
  return o->censored && o->has_limit_bytes && o->limit_bytes > 0 &&
         bytes >= NEAR_LIMIT * (double)o->limit_bytes &&
         (o->outcome == FT_OUTCOME_UNKNOWN || o->outcome == FT_OUTCOME_FAILED ||
          o->outcome == FT_OUTCOME_CANCELLED);
}

/*
 * Whether the run was killed because its node was out of memory, by whomever, which says nothing of
 * what the run needs. The agent knows where the kernel counts what failed at a limit. Otherwise,
 * and as page cache may have filled the limit before, the run was if neither samples nor the
 * kernel's own record of its largest process came near its limit.
 */
static bool was_starved(const ft_observation *o, ft_rule rule)
{
  uint64_t limit = o->has_killed_at_bytes ? o->killed_at_bytes : o->limit_bytes;
  double peak = fmax(ft_observation_peak(o, rule), (double)o->largest_process_bytes);

  if (o->has_killed_at_bytes && !o->killed_at_bytes)
    return o->outcome == FT_OUTCOME_OUT_OF_MEMORY;
  return o->outcome == FT_OUTCOME_OUT_OF_MEMORY && o->has_largest_process_bytes && limit &&
         (o->has_killed_at_bytes || o->submission.request.nodes <= 1) &&
         peak < STARVED_BELOW * (double)limit;
}

/*
 * What the run needed at least: its peak, and where it was killed by a limit,
 * that limit, however little of the last moments was sampled: whoever killed it
 * had seen it pass there. Of a job on several nodes Slurm does not say on which.
 */
static double known_need(const ft_observation *o, ft_rule rule)
{
  double peak = ft_observation_peak(o, rule), limit = 0;

  if (o->outcome != FT_OUTCOME_OUT_OF_MEMORY || rule == FT_RULE_NONE ||
      (o->rule != rule && o->rule != FT_RULE_UNKNOWN))
    return peak;
  if (o->has_killed_at_bytes)
    limit = (double)o->killed_at_bytes;
  else if (o->has_limit_bytes && (o->submission.request.nodes == 1 || o->submission.request.tasks <= 1))
    limit = (double)o->limit_bytes;
  return limit <= ABSURD_BYTES ? fmax(peak, limit) : peak;
}

/*
 * Whether a step was killed at a limit of its own (srun --mem in the script), which is not the
 * job's nor follows it: by node a step has what the job has, by CPU what its CPUs have.
 */
static bool was_step_limited(const ft_observation *o)
{
  const ft_request *asked = &o->submission.request;
  const ft_decision *decided = &o->submission.decision;
  ft_mem_unit unit = decided->mem_bytes ? decided->mem_unit : asked->mem_unit;

  return o->outcome == FT_OUTCOME_OUT_OF_MEMORY && o->has_killed_at_bytes && o->killed_at_bytes &&
         o->has_limit_bytes && unit == FT_MEM_NODE &&
         (double)o->killed_at_bytes < STEPS_OWN * (double)o->limit_bytes;
}

static double or_zero(double value)
{
  return isfinite(value) ? value : 0;
}

uint64_t ft_online_key(uint32_t uid, const ft_observation *o)
{
  uint64_t key = ft_observation_key(o);

  return uid == FT_STATE_POOLED ? ft_pool_key(key, o->uid) : key;
}

static ft_run run_of(const ft_model *model, const ft_observation *o, double bytes)
{
  ft_run run = { .key = ft_online_key(model->uid, o),
                 .time = or_zero(o->end_time),
                 .bytes = bytes,
                 .runtime_seconds = or_zero(o->runtime_seconds) };
  const ft_feature *network = ft_feature_find(o->submission.features, o->submission.features_count, FT_FEATURE_NETWORK);

  run.gpu_bytes = (float)ft_observation_gpu_bytes(o);
  if (network && network->has_number && network->number > 0 && network->number < ABSURD_BYTES)
    run.network_bytes = (float)network->number;
  run.gpu = ft_gpu_observations_hash(o->gpu_name);
  run.gpu_limit_bytes = (float)ft_gpu_model_limit(o);
  if (was_step_limited(o))
    run.killed_by = FT_KILLED_BY_STEP_LIMIT;
  else if (died_of_memory(o, bytes))
    run.killed_by = FT_KILLED_BY_LIMIT;
  run.censored = o->censored || run.killed_by;
  run.sampled = !run.censored && o->peak_is_bound;
  return run;
}

static void predict(ft_model *model, const ft_observation *o, const struct told *told, bool known,
                    ft_run *run)
{
  struct ft_estimate estimate;

  if (ft_estimate_memory(model, told->features, told->count, &estimate, NULL) < 0)
    return;
  run->predicted_log = (float)log(ft_estimate_quantile(&estimate, 0.5));
  if (!run->censored && !known)
    ft_interval_calibration_update(model, o, &estimate, run->bytes);
}

/* What the equation says of it, which never saw it. */
static void predict_by_equation(const ft_model *model, const struct told *told, ft_run *run)
{
  const ft_equation *q = &model->evaluator.equation;
  struct ft_expression code;
  float x[MOST_COLUMNS];
  double says;

  if (!model->evaluator.has_equation || !ft_equation_open(q, &code))
    return;
  ft_columns_fill(model->columns, model->columns_count, told->features, told->count, x);
  says = ft_equation_log(q, &code, x, model->columns_count);
  run->equation_log = isnan(says) ? 0 : (float)says;
}

/* What each member of the ensemble would have wasted on RUN, had it sized it. */
static void judge(ft_model *model, const struct told *told, const ft_run *run)
{
  const ft_evaluator *e = &model->evaluator;
  struct ft_allocation_query q;

  if (run->censored || !model->has_evaluator || !ft_ensemble_ready(e))
    return;
  ft_allocation_query_fill(model, told->features, told->count, 0,
                           e->failure_price > 0 ? e->failure_price : 1, &q);
  ft_ensemble_update(&model->evaluator, &q, run->bytes, run->runtime_seconds, model->completed);
}

static void count_run(ft_model *model, const ft_run *run, int by)
{
  uint32_t *kind = run->censored ? &model->censored : &model->completed;

  if (by > 0 ? *kind < UINT32_MAX : *kind > 0)
    *kind += (uint32_t)by;
  if (by > 0 ? model->runs < UINT32_MAX : model->runs > 0)
    model->runs += (uint32_t)by;
}

static void remove_run(ft_model *model, size_t at)
{
  model->history_count--;
  memmove(&model->history[at], &model->history[at + 1],
          (model->history_count - at) * sizeof *model->history);
}

/* Put RUN among the history in order of time; of too many the oldest leaves. Whether it is the
 * newest. */
static bool insert_run(ft_model *model, const ft_run *run)
{
  size_t at;

  if (model->uid == FT_STATE_POOLED && !ft_pool_make_room(model, run))
    return false;
  if (model->history_count == MOST_RUNS) {
    if (run->time < model->history[0].time)
      return false;
    remove_run(model, 0);
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
    remove_run(model, 0);
  model->runs = (uint32_t)model->history_count;
  model->completed = 0;
  for (size_t i = 0; i < model->history_count; i++) {
    model->completed += !model->history[i].censored;
    model->history[i].equation_log = 0;
  }
  model->censored = model->runs - model->completed;
  *e = (ft_evaluator){ .failure_price = e->failure_price,
                       .failure_time = e->failure_time,
                       .rounds = e->rounds,
                       .round_ended = e->round_ended };
  ft_interval_calibration_recount_cohorts(model);
}

void ft_online_refit(ft_model *model, struct ft_refit *work)
{
  size_t before;

  ft_refit_model(model, work);
  before = ft_change_point_find(model, ft_refit_log_residuals(work));
  if (before) {
    ft_online_drop_oldest(model, before);
    ft_refit_model(model, work);
  }
  ft_failure_cost_estimate_time(model);
}

int ft_online_update(ft_model *model, const ft_observation *observation, struct ft_error *err)
{
  double bytes = known_need(observation, model->rule);
  struct ft_refit *work;
  bool known = false, follows;
  struct told told;
  ft_run run;

  if (!(bytes > 0 && bytes <= ABSURD_BYTES) || was_starved(observation, model->rule) ||
      (model->uid == FT_STATE_POOLED && !ft_pool_accepts(observation)))
    return 0;
  work = ft_refit_new();
  if (!work)
    return ft_error_errno(err, "%s: update", model->app);
  run = run_of(model, observation, bytes);
  for (size_t i = 0; i < model->history_count; i++)
    known = known || model->history[i].key == run.key;
  gather_told(model, observation, &told);
  predict(model, observation, &told, known, &run);
  predict_by_equation(model, &told, &run);
  for (size_t i = 0; i < model->history_count; i++) {
    if (model->history[i].key != run.key)
      continue;
    /* what was said before anything of this run was known stands */
    run.predicted_log = model->history[i].predicted_log;
    run.equation_log = model->history[i].equation_log;
    count_run(model, &model->history[i], -1);
    remove_run(model, i);
    break;
  }
  if (!known)
    judge(model, &told, &run);
  if (!known && !run.censored)
    ft_interval_calibration_count_cohort(model, observation);
  learn_variant(model, &observation->submission);
  gather_told(model, observation, &told);
  follows = !learn_columns(model, &told) && !known;
  run.x_count = model->columns_count;
  ft_columns_fill(model->columns, model->columns_count, told.features, told.count, run.x);
  count_run(model, &run, 1);
  follows &= insert_run(model, &run);
  model->updated = fmax(model->updated, run.time);
  if (!follows || !ft_refit_incremental(model, work))
    ft_online_refit(model, work);
  ft_facts_fill(model);
  free(work);
  return 1;
}

void ft_online_clamp_times(ft_model *model, double latest)
{
  for (size_t i = 0; i < model->history_count; i++)
    model->history[i].time = fmin(model->history[i].time, latest);
  model->updated = fmin(model->updated, latest);
  model->evaluator.round_ended = fmin(model->evaluator.round_ended, latest);
}
