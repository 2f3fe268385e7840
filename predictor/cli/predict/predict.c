/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * foretell predict prints the plugin's decision for a submission, as text or JSON. The plugin calls
 * the same decision functions; only input and output differ.
 */
#include "config.h"

#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "predictor/cli/names/app_name.h"
#include "predictor/cli/cli.h"
#include "predictor/cli/predict/predict_model.h"
#include "predictor/cli/predict/predict_network.h"
#include "predictor/cli/predict/predict_perf.h"
#include "predictor/cli/predict/predict_time.h"
#include "predictor/cli/predict/submission.h"
#include "predictor/cli/sandbox.h"
#include "predictor/cli/state_dir.h"
#include "predictor/core/io.h"
#include "predictor/core/units.h"
#include "predictor/decide/forecast.h"
#include "predictor/decide/grounds.h"
#include "predictor/decide/submission.h"
#include "predictor/history/json.h"
#include "predictor/record/state_files.h"
#include "predictor/request/file_facts.h"

/* Upper limit of declared apps, the user's and the site's. */
enum { APPS = 64 };

/* State of one prediction; allocated because of its size. */
struct question {
  struct ft_asked asked;
  const char *name; /* command name, for error messages */
  int state_fd;
  struct ft_user user;
  struct ft_config config;
  ft_site site;
  ft_apps site_apps;
  ft_declared_app apps[APPS];
  size_t app_count;
  ft_submission submission;
  ft_job_array array;
  struct ft_predict_network network;
  struct ft_perf perf;
  struct ft_forecast told;   /* with --json */
  struct ft_candidate other; /* for `told` */
  struct ft_submission_knowledge known;
  struct ft_submission_decision decided;
  struct ft_predict_time time;
  struct ft_grounds grounds; /* with --explain */
};

/* Opens the state directory and reads the site settings and the declared apps.
 * Returns 0; -1 on error and fills ERR. */
static int open_site(struct question *q, struct ft_error *err)
{
  q->state_fd = ft_open_state(q->asked.state, &q->config, err);
  if (q->state_fd < 0)
    return -1;
  return ft_read_site(q->name, q->state_fd, &q->config, &q->site, &q->site_apps, err);
}

/* Collects the declared apps, the user's before the site's. An invalid apps.conf is reported and
 * ignored. Without --user, HOME locates the file, as in the plugin. */
static void collect_declared_apps(struct question *q)
{
  struct ft_error err;

  if (ft_site_collect_apps(&q->site, &q->site_apps, q->asked.user ? q->user.home : getenv("HOME"),
                           q->apps, APPS, &q->app_count, &err) < 0)
    ft_print_error(q->name, 0, "%s", err.text);
}

/* Returns --job-name or sbatch's default, the script name or "wrap"; NULL if there is none. */
static const char *job_name(const struct ft_asked *asked)
{
  const char *path = asked->script_name, *slash;

  if (asked->job_name)
    return asked->job_name;
  if (asked->wrap)
    return "wrap";
  if (asked->srun && asked->argument_count)
    path = asked->arguments[0];
  if (!path)
    return NULL;
  slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

static int describe_submission(struct question *q, const ft_request *request, struct ft_error *err)
{
  const struct ft_description what = { .app = q->asked.app,
                                       .params = q->asked.params,
                                       .job_name = job_name(&q->asked),
                                       .directory = q->asked.directory,
                                       .script = q->asked.script.data,
                                       .script_length = q->asked.script.length,
                                       .script_name = q->asked.script_name,
                                       .arguments = q->asked.arguments,
                                       .argument_count = q->asked.argument_count,
                                       .array = q->asked.array,
                                       .exported = { q->asked.exported,
                                                     (const char *const *)environ },
                                       .apps = q->apps,
                                       .app_count = q->app_count };

  return ft_describe_local(&what, q->user.uid, &q->site, request, &q->submission, &q->array, err);
}

static const char *user_name_callback(void *question)
{
  return ((struct question *)question)->user.name;
}

static struct ft_submitter make_submitter(struct question *q)
{
  return (struct ft_submitter){ q->user.uid, user_name_callback, q };
}

/* Returns the mode: --mode, else the site's. If the site's mode is off or unset, the effect of a
 * plain --predict-mem. */
static ft_mode submission_mode(const struct question *q)
{
  if (q->asked.mode)
    return (ft_mode)ft_mode_from_name(q->asked.mode);
  return q->known.policy.mode == FT_MODE_UNSET || q->known.policy.mode == FT_MODE_OFF
             ? FT_MODE_SET
             : FT_MODE_UNSET;
}

/* Returns the quantiles of P, of bytes and joules as whole numbers; null if P is not known. */
static json_t *quantiles_json(const ft_prediction *p)
{
  static const struct {
    const char *name;
    double probability;
  } levels[] = { { "p05", 0.05 }, { "p50", 0.5 }, { "p95", 0.95 } };
  bool whole = p && strcmp(ft_prediction_unit(p), "seconds") != 0;
  json_t *object = p ? json_object() : json_null();

  for (size_t i = 0; p && i < sizeof levels / sizeof *levels; i++) {
    double value = ft_prediction_quantile(p, levels[i].probability);

    (void)json_object_set_new(object, levels[i].name,
                              ft_json_number(true, whole ? round(value) : value));
  }
  return object;
}

/* Number of tasks of the job array, number of estimated tasks, index of the largest one. */
static json_t *array_json(const struct question *q, const ft_decision *decision)
{
  const struct ft_decision_input *of = &q->decided.input;
  json_t *largest = json_null();

  if (q->decided.sizing.shows_estimate && of->tasks && of->tasks->count > 1)
    largest = json_integer(of->tasks->index[of->estimate - of->tasks->each]);
  return json_pack(
      "{s:I, s:I, s:o, s:o}", "elements", (json_int_t)q->submission.request.array_tasks,
      "looked_at", (json_int_t)(of->tasks ? of->tasks->count : of->estimate != NULL), "largest",
      largest, "p_oom_any", ft_json_number(decision->has_p_oom_any, decision->p_oom_any));
}

static json_t *positive_bytes_json(double bytes)
{
  return ft_json_number(bytes > 0, round(bytes));
}

/* Returns the two kinds of comparable runs; NULL if there are none. */
static json_t *kinds_json(const struct ft_facts *f)
{
  json_t *kinds;

  if (!f || !f->groups.runs[0])
    return NULL;
  kinds = json_array();
  for (int i = 0; i < 2; i++)
    json_array_append_new(kinds, json_pack("{s:I, s:o}", "runs", (json_int_t)f->groups.runs[i],
                                           "bytes", positive_bytes_json(f->groups.value[i])));
  return json_pack("{s:b, s:o}", "changed", (int)f->groups.changed, "kinds", kinds);
}

/* Returns the names of what changed since the app's last runs; NULL: nothing did. */
static json_t *changes_json(const struct ft_decision_input *input)
{
  static const char *const names[] = { "script", "files", "program" };
  json_t *list = json_array();

  for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
    if (input->changes >> i & 1)
      json_array_append_new(list, json_string(names[i]));
  if (json_array_size(list))
    return list;
  json_decref(list);
  return NULL;
}

/* Returns what is known of an app without a run; NULL: nothing is. */
static json_t *new_app_json(const struct ft_decision_input *input)
{
  const struct ft_new_app *n = input->new_app;
  json_t *users = json_null(), *requests = json_null(), *documented = json_null();

  if (!n || (!n->users && !n->apps && !n->common))
    return NULL;
  if (n->users)
    users = json_pack("{s:o, s:I, s:o, s:o}", "program", ft_json_text(n->program), "users",
                      (json_int_t)n->users, "low_bytes", positive_bytes_json(n->low_bytes),
                      "high_bytes", positive_bytes_json(n->high_bytes));
  if (n->apps)
    requests = json_pack("{s:I, s:o}", "apps", (json_int_t)n->apps, "used_fraction",
                         ft_json_number(true, n->share));
  if (n->common)
    documented = json_pack("{s:s, s:o, s:o, s:s, s:s}", "program", n->common->name, "low_bytes",
                           positive_bytes_json(n->common->low_bytes), "high_bytes",
                           positive_bytes_json(n->common->high_bytes), "condition", n->common->of,
                           "source", n->common->source);
  return json_pack("{s:o, s:o, s:o}", "other_users", users, "own_requests", requests, "documented",
                   documented);
}

static json_t *effect_json(const struct ft_effect *e)
{
  return json_pack("{s:o, s:o, s:o, s:o, s:o, s:b}", "feature", ft_json_text(e->name), "value",
                   e->value[0] ? ft_json_text(e->value) : json_null(), "without_bytes",
                   positive_bytes_json(e->without_bytes), "low", ft_json_number(true, e->low),
                   "high", ft_json_number(true, e->high), "unseen", e->unseen);
}

static json_t *explanation_json(const struct ft_grounds *g)
{
  json_t *features = json_array(), *lines = json_array(), *runs = json_null();
  const struct ft_facts *f = g->facts;

  for (size_t i = 0; i < g->effect_count; i++)
    json_array_append_new(features, effect_json(&g->effect[i]));
  for (int i = 0; i < g->count; i++)
    json_array_append_new(lines, ft_json_text(g->line[i]));
  if (f)
    runs = json_pack("{s:I, s:I, s:I, s:o, s:o, s:o}", "runs", (json_int_t)f->runs, "comparable",
                     (json_int_t)f->comparable_runs, "comparable_completed",
                     (json_int_t)f->comparable_completed, "least_bytes",
                     positive_bytes_json(f->comparable_min_value), "peak_bytes",
                     positive_bytes_json(f->comparable_peak_value), "killed_bytes",
                     positive_bytes_json(f->comparable_killed_value));
  return json_pack("{s:o, s:o, s:o}", "features", features, "runs", runs, "lines", lines);
}

static void print_grounds(const struct ft_grounds *g)
{
  for (int i = 0; i < g->count; i++) {
    printf("  ");
    ft_print_plain(g->line[i]);
    printf("\n");
  }
}

/* Adds the distribution of each quantity to ANSWER. */
static void add_quantities(json_t *answer, const ft_forecast *forecast)
{
  const char *name;

  for (size_t i = 0; (name = ft_quantity_name(i)); i++)
    (void)json_object_set_new(answer, name, quantiles_json(ft_forecast_quantity(forecast, name)));
}

static json_t *decision_json(const struct ft_decided *d)
{
  return json_pack("{s:s, s:o, s:o, s:o, s:s}", "action", d->action, "mem_bytes",
                   ft_json_number(d->mem_bytes > 0, (double)d->mem_bytes), "p_oom",
                   ft_json_number(true, d->p_oom), "reason",
                   d->reason[0] ? ft_json_text(d->reason) : json_null(), "rule", d->rule);
}

/* Returns the power of the job on the platform of its run time: as measured of the app's runs, else
 * that of its part of the nodes. */
static struct ft_power find_power(const struct question *q)
{
  const struct ft_placement *e = &q->perf.placement;
  const char *platform = q->time.time.platform;
  struct ft_power power = ft_power_measured(&q->known.time.performance, platform);

  for (size_t i = 0; i < e->count && !(power.watts > 0); i++)
    if (e->row[i].fits && strcmp(e->row[i].platform, platform) == 0)
      power = e->row[i].power;
  return power;
}

/* Collects in TOLD what is predicted and DECISION. */
static void collect_forecast(struct question *q, const ft_decision *decision,
                             struct ft_forecast *told)
{
  const struct ft_submission_decision *d = &q->decided;
  const struct ft_helper_gpu *gpu = &q->network.gpu;
  struct ft_power power = find_power(q);

  ft_forecast_set(told, FT_QUANTITY_MEMORY, d->sizing.shows_estimate ? d->input.estimate : NULL);
  ft_forecast_set(told, FT_QUANTITY_GPU_MEMORY, gpu->has_estimate ? &gpu->estimate : NULL);
  ft_forecast_set_of_history(told, q->state_fd, q->user.uid, &q->submission, &q->known.policy,
                             &q->other);
  ft_forecast_set(told, FT_QUANTITY_RUNTIME, ft_job_time_longest(&q->time.time));
  ft_forecast_set_energy(told, &power);
  ft_forecast_set_decision(told, decision);
}

static int print_submission_json(struct question *q, const ft_decision *decision)
{
  const struct ft_submission_decision *d = &q->decided;
  const char *method = d->sizing.shows_estimate ? d->input.estimate->method : NULL;
  json_t *answer =
      json_pack("{s:o, s:I, s:o}", "app", ft_json_text(q->submission.app), "runs",
                (json_int_t)decision->runs, "method", method ? ft_json_text(method) : json_null());
  const ft_prediction *energy;
  json_t *rest;

  collect_forecast(q, decision, &q->told);
  energy = ft_forecast_quantity(&q->told, ft_quantities[FT_QUANTITY_ENERGY].name);
  rest = json_pack(
      "{s:o, s:o, s:o, s:o, s:I, s:o, s:o*, s:o*, s:o*, s:o*, s:o*, s:o*, s:o*, s:o*, s:o*, s:o*, "
      "s:o*}",
      "mig", ft_predict_network_slice(&q->network), "relative", ft_perf_relative(&q->perf),
      "decision", decision_json(ft_forecast_decision(&q->told)), "runtime_platform",
      ft_predict_time_platform(&q->time), "runtime_runs", (json_int_t)q->time.time.runs,
      "energy_method", energy ? ft_json_text(ft_prediction_method(energy)) : json_null(),
      "time_decision", ft_predict_time_decision(&q->time), "elsewhere", ft_perf_elsewhere(&q->perf),
      "network", ft_predict_network_said(&q->network), "imported_from",
      d->input.imported_from ? ft_json_text(q->submission.job_name) : NULL, "similar_apps",
      d->input.similar ? json_integer(d->input.similar) : NULL, "array",
      q->asked.array ? array_json(q, decision) : NULL, "explanation",
      q->asked.explain ? explanation_json(&q->grounds) : NULL, "groups",
      kinds_json(d->by_network ? NULL : d->input.facts), "changed", changes_json(&d->input),
      "new_app", d->sizing.has_evidence ? NULL : new_app_json(&d->input), "stopped_runs",
      method && d->input.estimate->stopped ? json_integer(d->input.estimate->stopped) : NULL);

  add_quantities(answer, &q->told);
  if (json_object_update(answer, rest) < 0) {
    json_decref(answer);
    answer = NULL;
  }
  json_decref(rest);
  return ft_json_print(answer);
}

/* Prints the error and the lines about the network. Returns true if there were any. */
static bool print_network(const struct question *q)
{
  const ft_network *n = &q->network.said;

  if (n->error[0])
    ft_print_error(q->name, 0, "no prediction: %s", n->error);
  for (pb_size_t i = 0; i < n->lines_count; i++)
    printf("%s\n", n->lines[i]);
  return n->error[0] || n->lines_count;
}

/* Prints the rejection of a job for its GPU request; the memory decision is skipped. */
static int print_rejection(struct question *q)
{
  const ft_network *n = &q->network.said;
  ft_decision decision = { .action = FT_ACTION_REJECT };
  int status;

  (void)ft_string_copy(n->lines_count ? n->lines[0] : "", decision.reason, sizeof decision.reason);
  if (q->asked.json) {
    status = print_submission_json(q, &decision);
  } else {
    (void)print_network(q);
    status = ft_flush(q->name);
  }
  return status == FT_EXIT_DONE ? FT_EXIT_NO : status;
}

static int answer_submission(struct question *q)
{
  const ft_decision *decision = &q->decided.decision;
  const struct ft_submission_query question = { .site = &q->site,
                                                .submission = &q->submission,
                                                .array = &q->array,
                                                .known = &q->known,
                                                .network = &q->network.said,
                                                .mode = submission_mode(q),
                                                .dry_run = true };
  struct ft_explanation said;
  int status = FT_EXIT_DONE;

  ft_submission_decide(&question, &q->decided);
  if (q->asked.explain)
    ft_grounds_find(&question, &q->decided, &q->grounds);
  if (q->asked.json) {
    status = print_submission_json(q, decision);
  } else {
    bool printed = print_network(q);

    ft_perf_print(&q->perf);
    ft_submission_explain(&q->decided, &said);
    /* behind the network's lines, the message that no run is recorded is redundant */
    if (printed && decision->action == FT_ACTION_LEAVE && !decision->has_p50_bytes)
      said.count = 0;
    for (int i = 0; i < said.count; i++)
      printf("%s\n", said.line[i]);
    print_grounds(&q->grounds);
    ft_predict_time_print(&q->time);
    status = ft_flush(q->name);
  }
  return status == FT_EXIT_DONE && (decision->action == FT_ACTION_REJECT ||
                                    q->time.decided.sizing.action == FT_ACTION_REJECT)
             ? FT_EXIT_NO
             : status;
}

/* Finds run times and the placement. If --choose changes the partition, the policy and the
 * partition data are read again. Returns 0; -1 on error and fills ERR. */
static int find_placement(struct question *q, struct ft_error *err)
{
  const ft_request *request = &q->submission.request;
  struct ft_submitter submitter = make_submitter(q);
  const struct ft_time_lookup *time =
      ft_known_read_runtimes(q->state_fd, &submitter, &q->submission, &q->known, err);

  ft_submission_decide(&(struct ft_submission_query){ .site = &q->site,
                                                      .submission = &q->submission,
                                                      .array = &q->array,
                                                      .known = &q->known,
                                                      .network = &q->network.said,
                                                      .mode = FT_MODE_CHECK },
                       &q->decided);
  if (!time ||
      ft_perf_find(&q->asked, q->state_fd, &q->site, q->user.uid,
                   q->decided.sizing.has_estimate ? q->decided.input.estimate : NULL, time,
                   q->network.asked ? &q->network.said : NULL, &q->submission, &q->perf, err) < 0)
    return -1;
  if (q->perf.choice.partitions[0]) {
    ft_known_resolve_policy(&q->site, &submitter, request, &q->known);
    ft_known_read_partition(q->state_fd, &q->site, request, &q->known);
  }
  return 0;
}

static int predict_time(struct question *q, struct ft_error *err)
{
  struct ft_submitter submitter = make_submitter(q);

  return ft_predict_time_find(&q->asked, q->state_fd, &submitter, &q->submission, &q->array,
                              &q->known, &q->time, err);
}

static int predict_submission(struct question *q)
{
  struct ft_submitter submitter;
  char line[FT_PARAMS_LINE];
  struct ft_error err;
  ft_request request;

  if (q->asked.mode && ft_mode_from_name(q->asked.mode) <= FT_MODE_UNSET)
    return ft_print_error(q->name, FT_EXIT_USAGE,
                          "--mode=%s: expected check, set, raise, trim, off or force",
                          q->asked.mode);
  if (!ft_predict_time_is_mode(q->asked.time_mode))
    return ft_print_error(q->name, FT_EXIT_USAGE,
                          "--predict-time=%s: expected check, set, raise, trim or off",
                          q->asked.time_mode);
  if (q->asked.choose && !ft_perf_is_choice(q->asked.choose))
    return ft_print_error(
        q->name, FT_EXIT_USAGE,
        "--choose=%.64s: expected fastest, cheapest or greenest, or one of them with"
        " :LIST",
        q->asked.choose);
  if (ft_asked_request(&q->asked, &request, &err) < 0 ||
      ft_find_user(q->asked.user, &q->user, &err) < 0)
    return ft_print_error(q->name, FT_EXIT_USAGE, "%s", err.text);
  if (open_site(q, &err) < 0)
    return ft_print_error(q->name, FT_EXIT_SYSTEM, "%s", err.text);
  collect_declared_apps(q);
  if (describe_submission(q, &request, &err) < 0)
    return ft_print_error(q->name, FT_EXIT_USAGE, "%s", err.text);
  ft_predict_network_ask(&q->asked, q->config.state_directory, q->user.name, &q->submission,
                         &q->network);
  submitter = make_submitter(q);
  ft_known_resolve_policy(&q->site, &submitter, &request, &q->known);
  ft_known_read_partition(q->state_fd, &q->site, &request, &q->known);
  if (q->network.said.action == FT_ACTION_REJECT)
    return print_rejection(q);
  if (ft_known_read_evidence(q->state_fd, &submitter, &q->submission, q->asked.array, &q->array,
                             true, &q->known, &err) < 0 ||
      find_placement(q, &err) < 0 || predict_time(q, &err) < 0)
    return ft_print_error(q->name, FT_EXIT_SYSTEM, "%s", err.text);
  if (ft_params_find_unknown(&q->known, &q->submission, q->asked.params, q->asked.network, line))
    (void)ft_print_error(q->name, FT_EXIT_DONE, "%s", line);
  return answer_submission(q);
}

static int answer_model(void *data)
{
  const struct question *q = data;

  return ft_predict_model(&q->asked, q->name);
}

static int predict_in_child(void *data)
{
  return predict_submission(data);
}

/* Runs a prediction that parses a model file in the sandbox, because the file is untrusted. */
static int answer_in_sandbox(struct question *q)
{
  if (q->asked.model)
    return ft_sandbox(q->name, q->asked.model, FT_SANDBOX_SECONDS, answer_model, q);
  if (q->asked.network)
    return ft_sandbox(q->name, q->asked.network, FT_SANDBOX_SECONDS, predict_in_child, q);
  return predict_submission(q);
}

/* Whether PATH is a readable file that begins as a batch script does. */
static bool is_batch_script(const char *path)
{
  int fd = ft_io_open_regular(AT_FDCWD, path, NULL);
  char start[2];
  bool is = fd >= 0 && read(fd, start, sizeof start) == 2 && memcmp(start, "#!", 2) == 0;

  if (fd >= 0)
    close(fd);
  return is;
}

bool ft_app_of_script(const char *command, const char *state, const char *user, const char *path,
                      char app[128])
{
  char *words[] = { (char *)command, (char *)path, NULL };
  struct question *q = is_batch_script(path) ? calloc(1, sizeof *q) : NULL;
  struct ft_error err;
  ft_request request;
  int status;
  bool done;

  if (!q)
    return false;
  q->name = command;
  q->state_fd = -1;
  done = ft_asked_parse(&q->asked, 2, words, &status) == 0;
  q->asked.state = state;
  q->asked.user = user;
  done = done && ft_asked_request(&q->asked, &request, &err) == 0 &&
         ft_find_user(user, &q->user, &err) == 0 &&
         (q->state_fd = ft_open_state(state, &q->config, &err)) >= 0;
  if (done) {
    if (ft_state_read_site(q->state_fd, &q->site, NULL) == 0 && q->site.apps)
      (void)ft_state_read_apps(q->state_fd, &q->site, &q->site_apps, NULL);
    collect_declared_apps(q);
    done = describe_submission(q, &request, &err) == 0;
  }
  if (done)
    (void)ft_string_copy(q->submission.app, app, 128);
  if (q->state_fd >= 0)
    close(q->state_fd);
  ft_asked_free(&q->asked);
  free(q);
  return done;
}

int ft_command_predict(int argc, char **argv)
{
  struct question *q = calloc(1, sizeof *q);
  int status = FT_EXIT_SYSTEM;

  if (!q)
    return ft_print_error(argv[0], FT_EXIT_SYSTEM, "out of memory");
  q->name = argv[0];
  q->state_fd = -1;
  if (ft_asked_parse(&q->asked, argc, argv, &status) == 0)
    status = answer_in_sandbox(q);
  if (q->state_fd >= 0)
    close(q->state_fd);
  ft_asked_free(&q->asked);
  free(q);
  return status;
}
