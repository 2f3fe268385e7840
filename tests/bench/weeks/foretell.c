/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * foretell as a policy: models in memory instead of files, the decision function, and the learner.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "predictor/core/text.h"
#include "predictor/core/units.h"
#include "predictor/decide/decide.h"
#include "predictor/estimate/allocation.h"
#include "predictor/online/online.h"
#include "predictor/request/array.h"
#include "tests/bench/weeks/policies.h"

/* The first day of a stream, in seconds since 1970: a Monday. */
#define FIRST_DAY 1700438400.0

/* A script's text names an app, as long as an edit makes a new one. */
struct known {
  uint32_t script_hash;
  struct known *next;
  ft_model model;
};

struct foretell {
  const struct weeks_stream *stream;
  const char *without;
  struct known **app;
};

static void *make(const struct weeks_stream *stream, const char *without)
{
  struct foretell *f = calloc(1, sizeof *f);

  if (!f)
    return NULL;
  *f = (struct foretell){ .stream = stream,
                          .without = without,
                          .app = calloc(stream->apps + 1, sizeof(struct known *)) };
  if (f->app)
    return f;
  free(f);
  return NULL;
}

static void free_foretell(void *state)
{
  struct foretell *f = state;

  for (size_t i = 0; i < f->stream->apps; i++)
    while (f->app[i]) {
      struct known *known = f->app[i];

      f->app[i] = known->next;
      free(known);
    }
  free(f->app);
  free(f);
}

static ft_model *find_model(const struct foretell *f, const struct weeks_submission *s)
{
  for (struct known *known = f->app[s->app]; known; known = known->next)
    if (known->script_hash == s->script_hash)
      return &known->model;
  return NULL;
}

static ft_model *find_or_make_model(struct foretell *f, const struct weeks_submission *s)
{
  const struct weeks_app *app = &f->stream->app[s->app];
  ft_model *model = find_model(f, s);
  struct known *known;

  if (model)
    return model;
  known = malloc(sizeof *known);
  if (!known)
    return NULL;
  known->script_hash = s->script_hash;
  known->next = f->app[s->app];
  f->app[s->app] = known;
  ft_online_init(&known->model, app->name, 1000 + app->user, FT_RULE_CGROUP);
  return &known->model;
}

/* ---- what the plugin would send ---- */

enum { FEATURES = sizeof((ft_submission *)NULL)->features / sizeof(ft_feature) };

static void add_elements(const struct weeks_world *w, const struct weeks_submission *s,
                         ft_submission *out)
{
  ft_elements *e = &out->elements[0];

  if (!s->input_feature) {
    ft_feature *feature = &out->features[out->features_count++];

    *feature = (ft_feature){ .per_element = true };
    (void)ft_string_copy(FT_ARRAY_FEATURE, feature->name, sizeof feature->name);
    (void)ft_string_copy("%a", feature->category, sizeof feature->category);
    return;
  }
  out->elements_count = 1;
  (void)ft_string_copy(s->input_feature, e->feature, sizeof e->feature);
  for (uint32_t i = 0; i < s->tasks; i++) {
    e->index[e->index_count++] = i;
    e->value[e->value_count++] = (float)w->stream->task[s->first_task + i].input;
  }
}

static void make_request(const struct weeks_submission *s, const struct weeks_attempt *a,
                         ft_request *out)
{
  *out = (ft_request){ .command = FT_COMMAND_SBATCH,
                       .mem_unit = a->mem_unit,
                       .mem_bytes = a->mem_unit == FT_MEM_NONE ? 0 : a->mem_bytes,
                       .nodes = 1,
                       .tasks = 1,
                       .cpus_per_task = s->cpus,
                       .array_tasks = s->array ? a->runs : 0 };
}

static void make_submission(const struct weeks_world *w, const struct weeks_attempt *a,
                            ft_submission *out)
{
  const struct weeks_submission *s = &w->stream->submission[a->submission];
  const struct weeks_app *app = &w->stream->app[s->app];

  memset(out, 0, sizeof *out);
  out->schema = FT_SCHEMA;
  out->default_app = true;
  out->script_hash = s->script_hash;
  out->directory_hash = s->directory_hash;
  (void)ft_string_copy(app->name, out->app, sizeof out->app);
  (void)ft_string_copy(app->job_name, out->job_name, sizeof out->job_name);
  (void)ft_string_copy(app->program, out->program, sizeof out->program);
  make_request(s, a, &out->request);
  for (uint32_t i = 0; i < s->values; i++)
    if (s->value[i].category)
      (void)ft_feature_category(out->features, &out->features_count, FEATURES, s->value[i].name,
                                s->value[i].category);
    else
      (void)ft_feature_number(out->features, &out->features_count, FEATURES, s->value[i].name,
                              s->value[i].number);
  (void)ft_feature_number(out->features, &out->features_count, FEATURES, "nodes", 1);
  (void)ft_feature_number(out->features, &out->features_count, FEATURES, "tasks", 1);
  (void)ft_feature_number(out->features, &out->features_count, FEATURES, "cpus", s->cpus);
  if (s->array)
    add_elements(w, s, out);
}

/* ---- the decision ---- */

static void make_partition(const struct weeks_site *site, ft_partition *out)
{
  *out = (ft_partition){ .schema = FT_SCHEMA,
                         .is_default = true,
                         .def_mem_bytes = site->default_bytes,
                         .def_per_cpu = site->default_per_cpu,
                         .nodes_count = 1 };
  (void)ft_string_copy("main", out->name, sizeof out->name);
  out->nodes[0] =
      (ft_node_kind){ .count = 10, .cpus = site->node_cpus, .mem_bytes = site->node_bytes };
}

static void make_policy(const struct weeks_site *site, ft_policy *out)
{
  *out = ft_policy_defaults;
  out->mode = site->mode;
  out->reject_probability = site->reject_probability;
}

static void evaluate(const ft_model *model, const ft_submission *s, const ft_policy *policy,
                     struct ft_evidence *out)
{
  struct ft_error why;
  int status;

  if (out->elements.count) {
    out->estimate = out->elements.each;
    status = ft_estimate_elements(model, s, policy->failure_price, &out->elements, &why);
  } else {
    out->estimate = &out->alone;
    status = ft_allocate_memory(model, s->features, s->features_count, 0, policy->failure_price,
                                &out->alone, &out->alone.allocation_bytes, &why);
  }
  if (status < 0)
    out->estimate = NULL;
}

/*
 * The one place in which the bench asks foretell: SUBMISSION on SITE, MODEL being what is known of
 * its app (NULL: nothing), ELEMENTS of its array having their indices.
 */
static void decide_submission(const ft_submission *submission, const struct weeks_site *site,
                              ft_mode mode, const ft_model *model,
                              const struct ft_element_estimates *elements, ft_decision *out)
{
  static struct ft_evidence evidence;
  static ft_partition partition;
  ft_policy policy;
  struct ft_question question = { .mode = mode,
                                  .app = submission->app,
                                  .request = &submission->request,
                                  .policy = &policy,
                                  .partition = &partition,
                                  .memory_is_consumable = true,
                                  .rule = FT_RULE_CGROUP };

  make_partition(site, &partition);
  make_policy(site, &policy);
  evidence.elements = *elements;
  evidence.estimate = NULL;
  if (model)
    evaluate(model, submission, &policy, &evidence);
  ft_question_take(&question, &evidence, submission->job_name);
  ft_decide(&question, out);
}

static void note_decision(const struct weeks_submission *s, const ft_decision *d,
                          struct weeks_attempt *a)
{
  a->action = d->action;
  a->rule = d->rule;
  a->p_oom = d->has_p_oom ? d->p_oom : -1;
  (void)ft_string_copy(d->reason, a->reason, sizeof a->reason);
  if (d->action == FT_ACTION_SET || d->action == FT_ACTION_RAISE || d->action == FT_ACTION_TRIM)
    a->given_bytes = d->mem_bytes * (d->mem_unit == FT_MEM_CPU ? s->cpus : 1);
}

static int decide(void *state, const struct weeks_world *w, struct weeks_attempt *a,
                  struct ft_error *err)
{
  struct foretell *f = state;
  const struct weeks_submission *s = &w->stream->submission[a->submission];
  const struct weeks_site *site = &w->stream->site[w->stream->app[s->app].site];
  static struct ft_element_estimates elements;
  static ft_submission submission;
  ft_decision decision;

  (void)err;
  make_submission(w, a, &submission);
  elements.count = 0;
  for (uint32_t i = 0; s->array && i < s->tasks && elements.count < FT_ELEMENT_ESTIMATES; i++)
    if (!w->done[s->first_task + i])
      elements.index[elements.count++] = i;
  decide_submission(&submission, site, a->mode == site->mode ? FT_MODE_UNSET : a->mode,
                    find_model(f, s), &elements, &decision);
  note_decision(s, &decision, a);
  return 0;
}

/* ---- what the agent would tell ---- */

static void make_observation(const struct weeks_world *w, const struct weeks_result *r,
                             ft_observation *out)
{
  static ft_submission submission;
  const struct weeks_attempt *a = &w->attempt[r->attempt];
  const struct weeks_submission *s = &w->stream->submission[a->submission];
  const struct weeks_app *app = &w->stream->app[s->app];

  make_submission(w, a, &submission);
  memset(out, 0, sizeof *out);
  *out = (ft_observation){ .schema = FT_SCHEMA,
                           .job_id = r->attempt + 1,
                           .submit_time = FIRST_DAY + a->time,
                           .restart_count = r->restart,
                           .uid = 1000 + app->user,
                           .source = FT_SOURCE_AGENT,
                           .rule = FT_RULE_CGROUP,
                           .request = submission.request,
                           .has_partition_default_bytes = true,
                           .partition_default_bytes = weeks_default(w->stream, s),
                           .has_limit_bytes = true,
                           .limit_bytes = a->given_bytes,
                           .start_time = FIRST_DAY + r->start,
                           .end_time = FIRST_DAY + r->end,
                           .runtime_seconds = r->end - r->start,
                           .outcome = r->outcome,
                           .censored = r->outcome != FT_OUTCOME_COMPLETED,
                           .exit_code = r->outcome == FT_OUTCOME_FAILED,
                           .has_killed_at_bytes = r->killed,
                           .killed_at_bytes = r->killed ? a->given_bytes : 0,
                           .has_charge_less_cache_bytes = true,
                           .charge_less_cache_bytes = (uint64_t)r->peak_bytes,
                           .has_rss_bytes = true,
                           .rss_bytes = (uint64_t)r->peak_bytes,
                           .cpus = s->cpus };
  if (s->array) {
    out->array_job_id = r->attempt + 1;
    out->array_task_id = r->element;
  }
  (void)ft_string_copy("n1", out->node, sizeof out->node);
  (void)ft_string_copy(app->name, out->app, sizeof out->app);
  (void)ft_string_copy(app->job_name, out->job_name, sizeof out->job_name);
  (void)ft_string_copy(app->program, out->program, sizeof out->program);
  memcpy(out->features, submission.features, sizeof out->features);
  out->features_count = submission.features_count;
  if (s->array)
    ft_features_of_element(out->features, &out->features_count, FEATURES, submission.elements,
                           submission.elements_count, &r->element);
}

static int learn(void *state, const struct weeks_world *w, const struct weeks_result *r,
                 struct ft_error *err)
{
  struct foretell *f = state;
  const struct weeks_submission *s = &w->stream->submission[w->attempt[r->attempt].submission];
  static ft_observation observation;
  ft_model *model = find_or_make_model(f, s);

  if (!model)
    return ft_error_errno(err, "a model");
  make_observation(w, r, &observation);
  return ft_online_update(model, &observation, err) < 0 ? -1 : 0;
}

const struct weeks_policy weeks_foretell = { "foretell", make, decide, learn, free_foretell };
