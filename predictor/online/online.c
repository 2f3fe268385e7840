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
#include "predictor/estimate/quantity.h"
#include "predictor/estimate/variant.h"
#include "predictor/online/columns.h"
#include "predictor/online/facts.h"
#include "predictor/online/failure_cost.h"
#include "predictor/online/gpu_model.h"
#include "predictor/online/gpu_observations.h"
#include "predictor/online/interval_calibration.h"
#include "predictor/online/limit_effect.h"
#include "predictor/online/need.h"
#include "predictor/online/online.h"
#include "predictor/online/pool.h"
#include "predictor/online/refit.h"
#include "predictor/record/request_memory.h"
#include "predictor/record/state_files.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* Limits of a model (foretell.options). */
enum { MAX_RUNS = FT_HISTORY_RUNS, MAX_COLUMNS = COUNT(((ft_model *)NULL)->columns) };

/* The number of a full history's oldest runs that can be kept for their rare inputs. Half and twice
 * were compared. */
enum { RARE_RUNS = 50 };

void ft_online_init(ft_model *model, struct ft_history *history, const char *app, uint32_t uid,
                    ft_rule rule)
{
  history->count = 0;
  history->categories = (ft_categories){ .schema = FT_SCHEMA };
  *model = (ft_model){ .schema = FT_SCHEMA, .uid = uid, .rule = rule };
  (void)ft_string_copy(app, model->app, sizeof model->app);
  (void)ft_string_copy(PACKAGE_VERSION, model->version, sizeof model->version);
}

/* The features of a run: those of its submission, and of its texts. */
struct run_features {
  ft_feature features[COUNT(((ft_submission *)NULL)->features) + FT_TEXT_FEATURES];
  size_t count;
};

/* ---- variants ---- */

enum { MAX_HASHES = COUNT(((ft_model *)NULL)->variant_hashes), MAX_VARIANTS = FT_POINT_LEVELS };

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

/* Appends HASH (0: unknown) to the COUNT hashes of the last runs; a full list loses its oldest. */
static void add_last_hash(uint32_t *last, pb_size_t *count, uint32_t hash)
{
  enum { LAST = COUNT(((ft_model *)NULL)->last_scripts) };

  if (!hash)
    return;
  if (*count == LAST)
    memmove(last, last + 1, --*count * sizeof *last);
  last[(*count)++] = hash;
}

/* Stores what the run of S ran, with which ft_changes_find compares the next submission. */
static void learn_last_hashes(ft_model *model, const ft_submission *s)
{
  add_last_hash(model->last_scripts, &model->last_scripts_count, s->script_hash);
  add_last_hash(model->last_code, &model->last_code_count, s->code_hash);
  add_last_hash(model->last_programs, &model->last_programs_count, ft_program_hash(s->program));
}

static void learn_variant(ft_model *model, const ft_submission *s)
{
  unsigned variant = ft_variant_lookup(model, s->script_hash, s->directory_hash);

  if (!variant)
    variant = find_free_variant(model);
  add_variant_hash(model, s->directory_hash, variant);
  add_variant_hash(model, s->script_hash, variant);
}

/* Collects the features of O and of its texts. */
static void collect_features(const ft_model *model, const ft_observation *o,
                             struct run_features *out)
{
  const ft_submission *s = &o->submission;

  out->count = s->features_count;
  memcpy(out->features, s->features, out->count * sizeof *out->features);
  out->count += ft_text_features(model, s, &out->features[out->count]);
}

/* ---- columns ---- */

static bool has_value(const void *data, size_t column, float value)
{
  const struct ft_history *history = data;
  size_t i = 0;

  while (i < history->count &&
         !ft_column_has_value(history->run[i].x, history->run[i].x_count, column, value))
    i++;
  return i < history->count;
}

/* Sets the tasks of runs of HISTORY that are older than MODEL's column of tasks. */
static void complete_tasks(const ft_model *model, struct ft_history *history)
{
  size_t column = ft_tasks_column(model->columns, model->columns_count);

  for (size_t i = 0; i < history->count && column < model->columns_count; i++) {
    struct ft_run *run = &history->run[i];

    while (run->x_count <= column)
      run->x[run->x_count++] = NAN;
    if (isnan(run->x[column]))
      run->x[column] = 1;
  }
}

/* Adds columns and levels of the features in IN. Returns whether the meaning of any changed. */
static bool add_columns_of_features(ft_model *model, struct ft_history *history,
                                    const struct run_features *in)
{
  ft_equation *q = &model->evaluator.equation;
  struct ft_column_table table = {
    model->columns, &model->columns_count, &history->categories, q, history, has_value
  };
  bool had_equation = q->code.size, changed = ft_columns_add(&table, in->features, in->count);

  for (size_t i = 0; had_equation && !q->code.size && i < history->count; i++)
    history->run[i].equation_log = 0;
  complete_tasks(model, history);
  return changed;
}

/* ---- history ---- */

/* Returns whether the run of O with KEY was submitted before an earlier run of HISTORY was killed
 * by its own limit, so that the two limits are no attempts one after the other. */
static bool was_submitted_before_kill(const struct ft_history *history, const ft_observation *o,
                                      uint64_t key)
{
  for (size_t i = 0; i < history->count; i++)
    if (ft_need_of(&history->run[i], FT_QUANTITY_MEMORY).killed_by == FT_KILLED_BY_LIMIT &&
        history->run[i].key != key && history->run[i].time > ft_observation_submitted(o))
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

/* Returns a run of the history for O, with the peak BYTES, or CENSORED its bound, and without
 * feature values. */
static ft_run make_history_run(const ft_model *model, const struct ft_history *history,
                               const ft_observation *o, double bytes, bool censored)
{
  ft_run run = { .key = ft_online_key(model->uid, o),
                 .time = finite_or_zero(o->end_time),
                 .submitted = finite_or_zero(ft_observation_submitted(o)),
                 .bytes = bytes,
                 .censored = censored,
                 .killed_by = (uint8_t)ft_memory_killer(o, bytes),
                 .out_of_memory = o->outcome == FT_OUTCOME_OUT_OF_MEMORY,
                 .runtime_seconds = finite_or_zero(o->runtime_seconds) };
  const ft_feature *network =
      ft_feature_find(o->submission.features, o->submission.features_count, FT_FEATURE_NETWORK);
  double value;
  bool bound;

  for (size_t i = 0; i < FT_QUANTITIES; i++)
    if (ft_quantities[i].of_history &&
        ft_quantity_measured(&ft_quantities[i], o, model->rule, &value, &bound))
      run.values[i] = (float)value;
  if (network && network->has_number && network->number > 0 &&
      network->number < ft_quantities[FT_QUANTITY_MEMORY].max_value)
    run.network_bytes = (float)network->number;
  run.gpu = ft_gpu_observations_hash(o->gpu_name);
  run.gpu_limit_bytes = (float)ft_gpu_model_limit(o);
  if (o->submission.has_request)
    run.requested_bytes = (float)ft_request_node_bytes(&o->submission.request, o->cpus);
  run.sampled =
      o->peak_is_bound && !run.killed_by && (!run.censored || o->outcome == FT_OUTCOME_COMPLETED);
  if (run.killed_by == FT_KILLED_BY_LIMIT && was_submitted_before_kill(history, o, run.key))
    run.killed_by = FT_KILLED_BY_LIMIT_TOGETHER;
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
    ft_interval_calibration_update(&model->evaluator, &ft_quantities[FT_QUANTITY_MEMORY], o,
                                   &estimate, run->bytes);
}

/* Sets RUN's out-of-sample prediction by the equation. */
static void predict_by_equation(const ft_model *model, const struct run_features *in, ft_run *run)
{
  struct ft_law law;
  float x[MAX_COLUMNS];
  double predicted;

  if (!model->evaluator.has_equation || !ft_equation_open(&model->evaluator.equation, &law))
    return;
  ft_columns_fill(model->columns, model->columns_count, in->features, in->count, x);
  predicted = ft_law_log(&law, x, model->columns_count);
  run->equation_log = isnan(predicted) ? 0 : (float)predicted;
}

/* Adds to the loss of each ensemble member the waste of its allocation for RUN. */
static void update_ensemble(ft_model *model, const struct run_features *in, const ft_run *run)
{
  const ft_evaluator *e = &model->evaluator;
  struct ft_allocation_query q;
  double tasks;

  if (run->censored || !model->has_evaluator || !ft_ensemble_ready(e))
    return;
  tasks = ft_allocation_query_fill(model, in->features, in->count, 0,
                                   e->failure_price > 0 ? e->failure_price : 1, &q);
  ft_ensemble_update(&model->evaluator, &q, run->bytes / tasks, run->runtime_seconds,
                     model->completed);
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

/* Makes room for RUN in the HISTORY of a pooled model. Sets *LEFT to the index of the run that
 * leaves. Returns false if RUN stays out. */
static bool make_room_in_pool(struct ft_history *history, const ft_run *run, size_t *left)
{
  struct ft_pool_run runs[MAX_RUNS];
  size_t at;

  for (size_t i = 0; i < history->count; i++)
    runs[i] = (struct ft_pool_run){ history->run[i].key, history->run[i].time };
  at = ft_pool_leaving(runs, history->count, (struct ft_pool_run){ run->key, run->time });
  if (at < history->count) {
    ft_refit_remove_run(history, at);
    *left = at;
  }
  return at != SIZE_MAX;
}

/* Returns the index of the run that leaves the full HISTORY for RUN. So that a rare input is not
 * forgotten, that is the first of the RARE_RUNS oldest that is not the last completed one with its
 * value of E's primary column; if all are, the oldest. */
static size_t leaving_run(const ft_evaluator *e, const struct ft_history *history,
                          const ft_run *run)
{
  float x[MAX_RUNS + 1];

  if (!e->has_primary_column)
    return 0;
  for (size_t i = 0; i < MAX_RUNS; i++)
    x[i] = history->run[i].censored ? NAN : ft_refit_feature(&history->run[i], e->primary_column);
  x[MAX_RUNS] = run->censored ? NAN : ft_refit_feature(run, e->primary_column);
  for (size_t i = 0; i < RARE_RUNS; i++) {
    bool last = !isnan(x[i]);

    for (size_t k = i + 1; k <= MAX_RUNS && last; k++)
      last = x[k] != x[i];
    if (!last)
      return i;
  }
  return 0;
}

/* Inserts RUN into the history in order of time; a full history loses a run. Sets
 * *LEFT to the index that it had. Returns 1 if RUN is now the newest, 0 if not; -1 if the history
 * refuses it: full of newer runs, or pooled and full of this user's. */
static int insert_history_run(const ft_model *model, struct ft_history *history, const ft_run *run,
                              size_t *left)
{
  size_t at;

  if (model->uid == FT_STATE_POOLED && !make_room_in_pool(history, run, left))
    return -1;
  if (history->count == MAX_RUNS) {
    if (run->time < history->run[0].time)
      return -1;
    *left = leaving_run(&model->evaluator, history, run);
    ft_refit_remove_run(history, *left);
  }
  for (at = history->count; at > 0 && history->run[at - 1].time > run->time; at--)
    ;
  memmove(&history->run[at + 1], &history->run[at], (history->count - at) * sizeof *history->run);
  history->run[at] = *run;
  history->count++;
  return at + 1 == history->count;
}

int ft_online_update(ft_model *model, struct ft_history *history, const ft_observation *observation,
                     struct ft_error *err)
{
  struct ft_refit *work;
  bool known = false, incremental, censored;
  double bytes;
  int inserted;
  size_t left = 0;
  struct run_features features;
  ft_run run;

  if (!ft_quantity_measured(&ft_quantities[FT_QUANTITY_MEMORY], observation, model->rule, &bytes,
                            &censored) ||
      (model->uid == FT_STATE_POOLED && !ft_pool_accepts(observation)))
    return 0;
  work = ft_refit_new();
  if (!work)
    return ft_error_errno(err, "%s: update", model->app);
  run = make_history_run(model, history, observation, bytes, censored);
  for (size_t i = 0; i < history->count; i++)
    known = known || history->run[i].key == run.key;
  collect_features(model, observation, &features);
  predict_run(model, observation, &features, known, &run);
  predict_by_equation(model, &features, &run);
  for (size_t i = 0; i < history->count; i++) {
    if (history->run[i].key != run.key)
      continue;
    /* keep the predictions that were made before the first record of this run */
    run.predicted_log = history->run[i].predicted_log;
    run.equation_log = history->run[i].equation_log;
    adjust_run_counts(model, &history->run[i], -1);
    ft_refit_remove_run(history, i);
    break;
  }
  if (!known) {
    update_ensemble(model, &features, &run);
    learn_last_hashes(model, &observation->submission);
  }
  if (!known && !run.censored)
    ft_interval_calibration_count_cohort(&model->evaluator, model->completed, observation);
  learn_variant(model, &observation->submission);
  collect_features(model, observation, &features);
  incremental = !add_columns_of_features(model, history, &features) && !known;
  run.x_count = model->columns_count;
  ft_columns_fill(model->columns, model->columns_count, features.features, features.count, run.x);
  inserted = insert_history_run(model, history, &run, &left);
  if (inserted >= 0)
    adjust_run_counts(model, &run, 1);
  incremental &= inserted > 0;
  model->updated = fmax(model->updated, run.time);
  if (!incremental || !ft_refit_incremental(model, history, left, work))
    ft_refit_since_change(model, history, work);
  ft_facts_fill(model, history);
  ft_limit_effect_update(model, history, run.key, observation);
  free(work);
  return 1;
}

void ft_online_clamp_times(ft_model *model, struct ft_history *history, double latest)
{
  for (size_t i = 0; i < history->count; i++)
    history->run[i].time = fmin(history->run[i].time, latest);
  model->updated = fmin(model->updated, latest);
  model->evaluator.cohort_ended = fmin(model->evaluator.cohort_ended, latest);
}
