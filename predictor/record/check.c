/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <limits.h>
#include <math.h>

#include "predictor/core/text.h"
#include "predictor/record/check.h"
#include "predictor/record/policy_keys.h"

/* Bytes: 1 EiB. The tail of an estimate may exceed any observed peak. */
#define MAX_ESTIMATE_BYTES 0x1p60
/* Largest failure_price of foretell.conf(5); no unit. */
#define MAX_FAILURE_COST 1e6

/* (uid_t)-1 is no user: it marks models pooled over all users (FT_STATE_POOLED). */
#define POOLED_UID UINT32_MAX

/* Returns -1 and fills ERR with the name of the malformed field. */
static int bad(struct ft_error *err, const char *field)
{
  return ft_error_set(err, "%s: value not allowed by the schema", field);
}

/* Control characters are rejected because names appear on terminals, in SQL results and in SVG. */
static bool printable(const char *string)
{
  return !ft_string_has_control(string);
}

static int check_features(const ft_feature *feature, size_t count, struct ft_error *err)
{
  for (size_t i = 0; i < count; i++, feature++)
    if (!feature->name[0] || !printable(feature->name) || !printable(feature->category) ||
        (feature->has_number && !isfinite(feature->number)))
      return bad(err, "features");
  return 0;
}

static int check_request(const ft_request *r, struct ft_error *err)
{
  if ((unsigned)r->command > _ft_command_MAX || (unsigned)r->mem_unit > _ft_mem_unit_MAX ||
      !isfinite(r->time_limit_seconds) || !printable(r->partition) || !printable(r->account) ||
      !printable(r->qos) || !printable(r->constraint) || !printable(r->gres) ||
      !printable(r->container))
    return bad(err, "request");
  return 0;
}

static bool is_probability(double p)
{
  return p >= 0 && p <= 1;
}

/* Whether estimated quantiles, in bytes, are in range and ascend. An absent quantile is 0. */
static bool are_quantiles(double low, double median, double high)
{
  return low >= 0 && (!(median > 0) || median >= low) && (!(high > 0) || high >= median) &&
         median >= 0 && high >= 0 && low <= MAX_ESTIMATE_BYTES && median <= MAX_ESTIMATE_BYTES &&
         high <= MAX_ESTIMATE_BYTES;
}

static int check_decision(const ft_decision *d, struct ft_error *err)
{
  if ((unsigned)d->action > _ft_action_MAX || (unsigned)d->mode > _ft_mode_MAX ||
      (unsigned)d->time_action > _ft_action_MAX || (unsigned)d->time_mode > _ft_mode_MAX ||
      !isfinite(d->time_seconds) || !isfinite(d->p05_seconds) || !isfinite(d->p50_seconds) ||
      !isfinite(d->p95_seconds) || !isfinite(d->p_timeout) ||
      (unsigned)d->mem_unit > _ft_mem_unit_MAX || !is_probability(d->p_oom) ||
      !is_probability(d->p_oom_any) || !are_quantiles(d->p05_bytes, d->p50_bytes, d->p95_bytes) ||
      (unsigned)d->rule > _ft_decision_rule_MAX || !printable(d->reason) || !printable(d->method))
    return bad(err, "decision");
  return 0;
}

/* Whether the lists of T match (without rows, each task has its own), and its quantiles ascend. */
static bool are_task_predictions(const ft_task_predictions *t)
{
  if (t->index_count != (t->row_count ? t->row_count : t->p50_bytes_count) ||
      t->p05_bytes_count != t->p50_bytes_count || t->p95_bytes_count != t->p50_bytes_count)
    return false;
  for (size_t i = 0; i < t->row_count; i++)
    if (t->row[i] >= t->p50_bytes_count)
      return false;
  for (size_t i = 0; i < t->p50_bytes_count; i++)
    if (!((double)t->p95_bytes[i] <= MAX_ESTIMATE_BYTES) || !(t->p05_bytes[i] >= 0) ||
        !(t->p05_bytes[i] <= t->p50_bytes[i]) || !(t->p50_bytes[i] <= t->p95_bytes[i]))
      return false;
  return true;
}

static bool are_task_values(const ft_task_values *e)
{
  size_t i = 0;

  while (i < e->index_count && isfinite(e->value[i]) && (!i || e->index[i] > e->index[i - 1]))
    i++;
  return i == e->index_count && i == e->value_count && printable(e->feature) &&
         (!i || e->feature[0]);
}

static int check_submission(const ft_submission *s, struct ft_error *err)
{
  if (!printable(s->app) || !printable(s->job_name) || !printable(s->version) ||
      !printable(s->program) || !printable(s->code_files))
    return bad(err, "app");
  for (size_t i = 0; i < s->former_apps_count; i++)
    if (!s->former_apps[i][0] || !printable(s->former_apps[i]))
      return bad(err, "former_apps");
  if (check_features(s->features, s->features_count, err) < 0 ||
      check_request(&s->request, err) < 0)
    return -1;
  return check_decision(&s->decision, err);
}

static int check_job_array(const ft_job_array *array, struct ft_error *err)
{
  bool good = are_task_predictions(&array->predictions);

  for (size_t i = 0; good && i < array->values_count; i++)
    good = are_task_values(&array->values[i]);
  return good ? 0 : bad(err, "array");
}

static int check_observation(const ft_observation *o, struct ft_error *err)
{
  if (!printable(o->cluster) || !printable(o->node) || !printable(o->user) ||
      !printable(o->account) || !printable(o->partition))
    return bad(err, "name");
  if (o->uid == POOLED_UID)
    return bad(err, "uid");
  if ((unsigned)o->source > _ft_source_MAX || (unsigned)o->rule > _ft_rule_MAX ||
      (unsigned)o->outcome > _ft_outcome_MAX)
    return bad(err, "outcome");
  if (!isfinite(o->submit_time) || !isfinite(o->start_time) || !isfinite(o->end_time) ||
      !isfinite(o->runtime_seconds) || !isfinite(o->time_to_peak_seconds) ||
      !isfinite(o->cpu_seconds) || !isfinite(o->system_seconds) || !isfinite(o->gpu_utilisation) ||
      !isfinite(o->gpu_energy_joules) || !isfinite(o->package_energy_joules) ||
      !isfinite(o->package_energy_share) || !isfinite(o->node_energy_joules) ||
      !isfinite(o->sample_seconds))
    return bad(err, "time");
  for (size_t i = 0; i < o->counters_count; i++)
    if (!printable(o->counters[i].name) || !isfinite(o->counters[i].value))
      return bad(err, "counters");
  return check_submission(&o->submission, err);
}

static bool sorted(const double *value, size_t count)
{
  for (size_t i = 0; i < count; i++)
    if (!isfinite(value[i]) || (i && value[i] < value[i - 1]))
      return false;
  return true;
}

/* The postfix code is checked by its evaluator (estimate/equation.h), which has the symbols. */
static int check_equation(const ft_equation *q, size_t columns, struct ft_error *err)
{
  if (!isfinite(q->intercept) || !isfinite(q->slope) || !isfinite(q->fitted) ||
      !(q->error >= 0 && isfinite(q->error)) || q->levels_count != q->columns_count ||
      q->scales_count != q->columns_count)
    return bad(err, "equation");
  for (size_t i = 0; i < q->constants_count; i++)
    if (!isfinite(q->constants[i]))
      return bad(err, "constants");
  for (size_t i = 0; i < q->columns_count; i++)
    if (q->columns[i] >= columns || !isfinite(q->scales[i]) || q->scales[i] == 0)
      return bad(err, "equation");
  return 0;
}

/* Whether COUNT run indices are distinct. */
static bool are_distinct(const pb_byte_t *run, size_t count)
{
  bool seen[UCHAR_MAX + 1] = { false };

  for (size_t i = 0; i < count; i++) {
    if (seen[run[i]])
      return false;
    seen[run[i]] = true;
  }
  return true;
}

/* Checks the lists of an evaluator that have one entry per run, its baselines, and the losses of
 * its ensemble. */
static int check_baselines(const ft_evaluator *e, struct ft_error *err)
{
  /* models of old versions have neither seconds nor ages */
  if (e->seconds_count && (e->seconds_count != e->needs_count || e->ages.size != e->needs_count))
    return bad(err, "seconds");
  for (size_t i = 0; i < e->seconds_count; i++)
    if (!(e->seconds[i] >= 0 && isfinite(e->seconds[i])) || e->ages.bytes[i] >= e->seconds_count)
      return bad(err, "seconds");
  if (!are_distinct(e->ages.bytes, e->ages.size))
    return bad(err, "ages");
  for (size_t v = 0; v < e->baselines_count; v++) {
    const ft_baseline *baseline = &e->baselines[v];

    if (!isfinite(baseline->intercept) || !isfinite(baseline->slope) ||
        !isfinite(baseline->min_prediction) || baseline->needs_count != baseline->runs.size ||
        !are_distinct(baseline->runs.bytes, baseline->runs.size))
      return bad(err, "baselines");
    for (size_t i = 0; i < baseline->needs_count; i++)
      if (!isfinite(baseline->needs[i]) || baseline->runs.bytes[i] >= e->seconds_count ||
          (i && baseline->needs[i] < baseline->needs[i - 1]))
        return bad(err, "baselines");
  }
  for (size_t i = 0; i < e->losses_count; i++)
    if (!(e->losses[i] >= 0 && isfinite(e->losses[i])))
      return bad(err, "losses");
  if (!(e->loss_updates >= 0 && isfinite(e->loss_updates)) ||
      !(e->failure_price >= 0 && e->failure_price <= MAX_FAILURE_COST) ||
      !isfinite(e->log_interval_scale) || !(e->failure_time >= 0 && e->failure_time <= 1) ||
      !isfinite(e->followed) || !isfinite(e->cohort_ended) || !isfinite(e->log_cap_correction))
    return bad(err, "losses");
  return 0;
}

/* Checks the facts of an evaluator whose model has COLUMNS columns. */
static int check_facts(const ft_evaluator *e, size_t columns, struct ft_error *err)
{
  if (e->fact_kinds.size != e->fact_values_count ||
      e->fact_x_count != (size_t)e->fact_values_count * e->fact_columns_count ||
      e->facts_explained > e->fact_columns_count)
    return bad(err, "fact_kinds");
  if ((unsigned)e->limit_effect > _ft_limit_effect_MAX ||
      !(e->completed_limit_bytes >= 0 && isfinite(e->completed_limit_bytes)))
    return bad(err, "limit_effect");
  for (size_t i = 0; i < e->fact_columns_count; i++)
    if (e->fact_columns[i] >= columns)
      return bad(err, "fact_columns");
  for (size_t i = 0; i < e->fact_values_count; i++)
    if (!(e->fact_values[i] >= 0 && isfinite(e->fact_values[i])) ||
        e->fact_kinds.bytes[i] > _ft_fact_kind_MAX)
      return bad(err, "fact_kinds");
  for (size_t i = 0; i < e->fact_x_count; i++)
    if (isinf(e->fact_x[i]))
      return bad(err, "fact_x");
  return 0;
}

/* Checks the products of a model that has COLUMNS columns. */
static int check_products(const ft_products *p, size_t columns, struct ft_error *err)
{
  if (!p->columns.size || p->powers.size != p->coefficients_count * p->columns.size)
    return bad(err, "products");
  for (size_t c = 0; c < p->columns.size; c++)
    if (p->columns.bytes[c] >= columns)
      return bad(err, "products");
  for (size_t t = 0; t < p->coefficients_count; t++)
    if (!(p->coefficients[t] >= 0 && isfinite(p->coefficients[t])))
      return bad(err, "products");
  for (size_t i = 0; i < p->powers.size; i++)
    if (p->powers.bytes[i] > 2 * FT_PRODUCTS_POWER_0)
      return bad(err, "products");
  return 0;
}

/* Checks an evaluator whose model has COLUMNS columns: lists of equal length, finite numbers in
 * range, sorted residuals and needs. Returns 0; -1 and fills ERR with the field. */
static int check_evaluator(const ft_evaluator *e, size_t columns, struct ft_error *err)
{
  if (!isfinite(e->intercept) || !isfinite(e->max_value) || !isfinite(e->bound_value) ||
      !isfinite(e->bound_log) || !printable(e->method))
    return bad(err, "evaluator");
  if (!sorted(e->residuals, e->residuals_count))
    return bad(err, "residuals");
  if (e->covariates_count != e->needs_count ||
      (e->has_primary_column && e->primary_column >= columns))
    return bad(err, "needs");
  if (check_baselines(e, err) < 0)
    return -1;
  if (check_facts(e, columns, err) < 0)
    return -1;
  if (!isfinite(e->equation_shift))
    return bad(err, "equation");
  if (e->has_products && check_products(&e->products, columns, err) < 0)
    return -1;
  if (e->has_equation && check_equation(&e->equation, columns, err) < 0)
    return -1;
  for (size_t i = 0; i < e->needs_count; i++)
    if (!isfinite(e->needs[i]) || !isfinite(e->covariates[i]) ||
        (i && e->needs[i] < e->needs[i - 1]))
      return bad(err, "needs");
  for (size_t i = 0; i < e->terms_count; i++) {
    const ft_term *t = &e->terms[i];

    if (t->column >= columns || t->aliased_with >= columns || !isfinite(t->mean) ||
        !isfinite(t->scale) || !isfinite(t->coefficient) || !isfinite(t->low) || !isfinite(t->high))
      return bad(err, "terms");
    for (size_t j = 0; j < t->levels_count; j++)
      if (!isfinite(t->levels[j]))
        return bad(err, "levels");
  }
  return 0;
}

static int check_model(const ft_model *m, struct ft_error *err)
{
  if (!printable(m->app) || (unsigned)m->rule > _ft_rule_MAX || !isfinite(m->updated))
    return bad(err, "app");
  if (m->variant_ids.size != m->variant_hashes_count)
    return bad(err, "variant_hashes");
  for (size_t i = 0; i < m->columns_count; i++)
    if (!printable(m->columns[i].name))
      return bad(err, "columns");
  if (!(m->held_bytes >= 0 && isfinite(m->held_bytes)))
    return bad(err, "held_bytes");
  for (size_t i = 0; i < m->gpu_runs_count; i++)
    if (!isfinite(m->gpu_runs[i].network_bytes) || !isfinite(m->gpu_runs[i].gpu_bytes))
      return bad(err, "gpu_runs");
  return check_evaluator(&m->evaluator, m->columns_count, err);
}

static int check_categories(const ft_categories *all, struct ft_error *err)
{
  for (size_t j = 0; j < all->columns_count; j++)
    for (size_t i = 0; i < all->columns[j].name_count; i++)
      if (!printable(all->columns[j].name[i]))
        return bad(err, "categories");
  return 0;
}

static int check_platform_runs(const ft_platform_runs *p, struct ft_error *err)
{
  if (!p->platform[0] || !printable(p->platform) || !isfinite(p->last) || !isfinite(p->log_ratio) ||
      !(p->deviation >= 0 && isfinite(p->deviation)) || !isfinite(p->transferred_log_ratio) ||
      !(p->transferred_deviation >= 0 && isfinite(p->transferred_deviation)) ||
      !(p->watts >= 0 && isfinite(p->watts)) ||
      !(p->watts_deviation >= 0 && isfinite(p->watts_deviation)))
    return bad(err, "platforms");
  return 0;
}

static int check_performance(const ft_performance *p, struct ft_error *err)
{
  if (!printable(p->app) || !isfinite(p->updated))
    return bad(err, "app");
  for (size_t i = 0; i < p->platforms_count; i++)
    if (check_platform_runs(&p->platforms[i], err) < 0)
      return -1;
  for (size_t i = 0; i < p->columns_count; i++)
    if (!printable(p->columns[i].name))
      return bad(err, "columns");
  return check_evaluator(&p->runtime_model, p->columns_count, err);
}

static int check_platforms(const ft_platforms *all, struct ft_error *err)
{
  if (!printable(all->currency))
    return bad(err, "currency");
  for (size_t i = 0; i < all->platforms_count; i++) {
    const ft_platform *p = &all->platforms[i];

    if (!p->name[0] || !printable(p->name) || !(p->price >= 0 && isfinite(p->price)) ||
        !(p->watts >= 0 && isfinite(p->watts)) || (unsigned)p->price_unit > _ft_price_unit_MAX)
      return bad(err, "platforms");
  }
  return 0;
}

static int check_similar_apps(const ft_similar_apps *k, struct ft_error *err)
{
  if (!printable(k->similarity_key))
    return bad(err, "similarity_key");
  for (size_t i = 0; i < k->apps_count; i++)
    if (!k->apps[i].app[0] || !printable(k->apps[i].app) || !isfinite(k->apps[i].updated))
      return bad(err, "apps");
  return 0;
}

static int check_prior(const ft_prior *p, struct ft_error *err)
{
  if (!sorted(p->bytes, p->bytes_count) || (p->bytes_count && !(p->bytes[0] > 0)) ||
      !(p->spread >= 0 && isfinite(p->spread)))
    return bad(err, "bytes");
  for (size_t i = 0; i < p->known_count; i++)
    if (!isfinite(p->known[i].log_bytes) ||
        !(p->known[i].spread >= 0 && isfinite(p->known[i].spread)))
      return bad(err, "known");
  return 0;
}

static int check_site_record(const ft_site *s, struct ft_error *err)
{
  if ((unsigned)s->rule > _ft_rule_MAX || !isfinite(s->updated) || !printable(s->cluster) ||
      !printable(s->keep_arguments) || !printable(s->drop_arguments) || !printable(s->socket) ||
      !printable(s->learner_socket))
    return bad(err, "rule, cluster or socket");
  for (size_t i = 0; i < s->overrides_count; i++)
    if (!ft_policy_is_valid(&s->overrides[i].policy))
      return bad(err, "policy");
  return ft_policy_is_valid(&s->policy) ? 0 : bad(err, "policy");
}

static int check_announcement(const ft_announcement *a, struct ft_error *err)
{
  if (!printable(a->node) || !printable(a->partition) || !printable(a->account))
    return bad(err, "node, partition or account");
  if (a->uid == POOLED_UID)
    return bad(err, "uid");
  if (a->which_event == ft_announcement_task_end_tag &&
      (!isfinite(a->event.task_end.cpu_seconds) || !isfinite(a->event.task_end.system_seconds)))
    return bad(err, "cpu_seconds or system_seconds");
  return 0;
}

static int check_partition(const ft_partition *p, struct ft_error *err)
{
  if (!printable(p->name) || !isfinite(p->updated) || (unsigned)p->cpu_unit > _ft_cpu_unit_MAX ||
      !(p->max_seconds >= 0 && isfinite(p->max_seconds)) ||
      !(p->default_seconds >= 0 && isfinite(p->default_seconds)))
    return bad(err, "partition");
  for (size_t i = 0; i < p->nodes_count; i++)
    if (!printable(p->nodes[i].gres) || !printable(p->nodes[i].platform) ||
        !printable(p->nodes[i].features))
      return bad(err, "nodes");
  for (size_t i = 0; i < p->gres_count; i++)
    if (!printable(p->gres[i].name))
      return bad(err, "gres");
  for (size_t i = 0; i < p->restrictions_count; i++)
    if ((unsigned)p->restrictions[i].by > _ft_restricts_MAX || !printable(p->restrictions[i].names))
      return bad(err, "restrictions");
  return 0;
}

static int check_apps(const ft_apps *apps, struct ft_error *err)
{
  for (size_t i = 0; i < apps->apps_count; i++) {
    const ft_declared_app *a = &apps->apps[i];

    if (!printable(a->name) || !printable(a->command))
      return bad(err, "apps");
    for (size_t j = 0; j < a->arguments_count; j++)
      if (!printable(a->arguments[j].name) || !printable(a->arguments[j].feature))
        return bad(err, "arguments");
    for (size_t j = 0; j < a->files_count; j++)
      if (!printable(a->files[j].argument) || !printable(a->files[j].counts) ||
          !printable(a->files[j].feature))
        return bad(err, "files");
  }
  return 0;
}

static int check_network(const ft_network *n, struct ft_error *err)
{
  if ((unsigned)n->action > _ft_action_MAX || !printable(n->error) || !printable(n->option) ||
      !printable(n->value) || !printable(n->subject))
    return bad(err, "network");
  for (size_t i = 0; i < n->lines_count; i++)
    if (!printable(n->lines[i]))
      return bad(err, "lines");
  for (size_t i = 0; i < n->quantiles_count; i++)
    if (!isfinite(n->quantiles[i]) || n->quantiles[i] <= 0 ||
        (i && n->quantiles[i] < n->quantiles[i - 1]))
      return bad(err, "quantiles");
  return 0;
}

static int check_answer(const ft_answer *a, struct ft_error *err)
{
  if (check_features(a->features, a->features_count, err) < 0 ||
      check_job_array(&a->array, err) < 0 ||
      (a->has_network && check_network(&a->network, err) < 0))
    return -1;
  return printable(a->error) ? 0 : bad(err, "error");
}

static int check_gpus(const ft_gpus *g, struct ft_error *err)
{
  for (size_t i = 0; i < g->kinds_count; i++) {
    if (!printable(g->kinds[i].name))
      return bad(err, "kinds");
    for (size_t j = 0; j < g->kinds[i].runs_count; j++)
      if (!(isfinite(g->kinds[i].runs[j].network_bytes) && g->kinds[i].runs[j].network_bytes > 0 &&
            isfinite(g->kinds[i].runs[j].gpu_bytes) && g->kinds[i].runs[j].gpu_bytes > 0))
        return bad(err, "runs");
  }
  return 0;
}

static int check_question(const ft_question *q, struct ft_error *err)
{
  const ft_forget *f = &q->asked.forget;
  const ft_run_query *w = &q->asked.run_query;
  const ft_rejected *r = &q->asked.rejected;
  const ft_rebuild_request *b = &q->asked.rebuild;

  if (q->which_asked == ft_question_forget_tag && (!printable(f->app) || !isfinite(f->before)))
    return bad(err, "forget");
  if (q->which_asked == ft_question_run_query_tag && (!printable(w->app) || !isfinite(w->since)))
    return bad(err, "run_query");
  if (q->which_asked == ft_question_rejected_tag && !printable(r->app))
    return bad(err, "rejected");
  if (q->which_asked == ft_question_rebuild_tag && !printable(b->app))
    return bad(err, "rebuild");
  if (q->which_asked == ft_question_file_tag && !printable(q->asked.file.name))
    return bad(err, "file");
  return 0;
}

static int check_reply(const ft_reply *r, struct ft_error *err)
{
  if (!printable(r->error))
    return bad(err, "error");
  return printable(r->rejections.app) ? 0 : bad(err, "rejections");
}

static int check_verdicts(const ft_verdicts *v, struct ft_error *err)
{
  for (pb_size_t i = 0; i < v->verdict.size; i++)
    if (v->verdict.bytes[i] > _ft_verdict_MAX)
      return bad(err, "verdict");
  return printable(v->why) ? 0 : bad(err, "why");
}

static int check_settings(const ft_settings *s, struct ft_error *err)
{
  if ((unsigned)s->rule > _ft_rule_MAX)
    return bad(err, "rule");
  return printable(s->run_query.app) && isfinite(s->run_query.since) ? 0 : bad(err, "run_query");
}

int ft_record_check(enum ft_record record, const void *message, struct ft_error *err)
{
  switch (record) {
  case FT_RECORD_SUBMISSION:
    return check_submission(message, err);
  case FT_RECORD_OBSERVATION:
    return check_observation(message, err);
  case FT_RECORD_MODEL:
    return check_model(message, err);
  case FT_RECORD_SITE:
    return check_site_record(message, err);
  case FT_RECORD_ANNOUNCEMENT:
    return check_announcement(message, err);
  case FT_RECORD_PARTITION:
    return check_partition(message, err);
  case FT_RECORD_APPS:
    return check_apps(message, err);
  case FT_RECORD_ANSWER:
    return check_answer(message, err);
  case FT_RECORD_PERFORMANCE:
    return check_performance(message, err);
  case FT_RECORD_PLATFORMS:
    return check_platforms(message, err);
  case FT_RECORD_SIMILAR_APPS:
    return check_similar_apps(message, err);
  case FT_RECORD_PRIOR:
    return check_prior(message, err);
  case FT_RECORD_USAGE:
    return ft_record_check_usage(message, err);
  case FT_RECORD_PROGRAM:
    return ft_record_check_program(message, err);
  case FT_RECORD_GPUS:
    return check_gpus(message, err);
  case FT_RECORD_QUESTION:
    return check_question(message, err);
  case FT_RECORD_REPLY:
    return check_reply(message, err);
  case FT_RECORD_VERDICTS:
    return check_verdicts(message, err);
  case FT_RECORD_SETTINGS:
    return check_settings(message, err);
  case FT_RECORD_RUNNING:
    return check_reply(&((const ft_running *)message)->reply, err);
  case FT_RECORD_HOST:
    return isfinite(((const ft_host *)message)->time) ? 0 : bad(err, "time");
  case FT_RECORD_JOB_ARRAY:
    return check_job_array(message, err);
  case FT_RECORD_CATEGORIES:
    return check_categories(message, err);
  case FT_RECORD_JOBS_QUERY:
  case FT_RECORD_JOBS_REPLY:
  case FT_RECORD_SETTINGS_QUERY:
  case FT_RECORD_HOST_QUERY:
    return 0;
  }
  return 0;
}
