/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * foretell history: lists apps, the runs of an app or of a job, and an app's model. Runs come from
 * the store or, for users without access to it, from the learner. Without a learner the user's
 * model files are shown.
 */
#include "config.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "predictor/cli/names/app_name.h"
#include "predictor/cli/cli.h"
#include "predictor/cli/history.h"
#include "predictor/cli/store_access.h"
#include "predictor/core/units.h"
#include "predictor/decide/decide.h"
#include "predictor/estimate/quantity.h"
#include "predictor/history/json.h"
#include "predictor/rebuild/rebuild.h"
#include "predictor/record/state_files.h"

struct query {
  const char *name; /* of the command, for messages */
  const char *word; /* the operand: an app, a part of its name, or a job; NULL: none */
  const char *user, *since, *state;
  bool job; /* shows runs of a job, not of an app */
  unsigned long limit;
  bool fit, json;
  struct ft_store_filter filter;
  struct ft_store_access records;
  struct ft_user viewer;
  json_t *list; /* the apps or runs, with --json */
  unsigned long shown;
  bool more;       /* --limit left some out */
  bool damaged;    /* the store exists and its permissions allow reading, but reading it failed */
  unsigned owners; /* users that have an app named WORD */
  uint32_t owner;  /* the user who ran it last */
  char part[sizeof((struct ft_store_app *)0)->app]; /* the most recent app that contains WORD */
  bool several;                                     /* other apps contain WORD, too */
  char similar[FT_SUGGESTION];                      /* names of apps that WORD may mean */
};

/* Returns whether runs can be read, from the store or from the learner. */
static bool has_run_source(const struct query *query)
{
  return query->records.store || query->records.runs;
}

static const char *show_bytes_or_dash(double value, char out[32])
{
  if (value <= 0)
    return "-";
  return ft_units_show_bytes((uint64_t)value, out, 32);
}

/* Returns whether --limit rows have been shown; the caller has one more then. */
static bool reached_limit(struct query *query)
{
  bool full = query->limit && query->shown == query->limit;

  query->more |= full;
  return full;
}

static bool is_selected_app(const struct query *query, const struct ft_store_app *app)
{
  if (query->filter.by_uid && app->uid != query->filter.uid)
    return false;
  return !query->word || strcasestr(app->app, query->word);
}

static bool show_app(const struct ft_store_app *app, void *data)
{
  struct query *query = data;
  char low[32], high[32], time[32];

  if (app->last_time < query->filter.since || !is_selected_app(query, app) || reached_limit(query))
    return true;
  if (query->json) {
    json_array_append_new(query->list,
                          json_pack("{s:o, s:I, s:o, s:I, s:I, s:I, s:o, s:o, s:o}", "app",
                                    ft_json_text(app->app), "uid", (json_int_t)app->uid, "user",
                                    app->user[0] ? ft_json_text(app->user) : json_null(), "runs",
                                    (json_int_t)app->runs, "completed", (json_int_t)app->completed,
                                    "censored", (json_int_t)app->censored, "last_time",
                                    ft_json_number(app->last_time > 0, app->last_time), "min_bytes",
                                    ft_json_number(app->min_bytes > 0, app->min_bytes), "max_bytes",
                                    ft_json_number(app->max_bytes > 0, app->max_bytes)));
  } else {
    if (!query->shown)
      printf("%-32s %-10s %6s %9s %8s  %-20s  %s\n", "APP", "USER", "RUNS", "COMPLETED", "AT LEAST",
             "LAST", "PEAK");
    ft_print_column(app->app, 32);
    printf(" ");
    ft_print_column(app->user, 10);
    printf(" %6" PRIu64 " %9" PRIu64 " %8" PRIu64 "  %-20s  %s to %s\n", app->runs, app->completed,
           app->censored, ft_show_time(app->last_time, time),
           show_bytes_or_dash(app->min_bytes, low), show_bytes_or_dash(app->max_bytes, high));
  }
  query->shown++;
  return true;
}

/* Counts the users that have an app named WORD, and finds the apps whose names contain it. */
static bool match_app_name(const struct ft_store_app *app, void *data)
{
  struct query *query = data;

  if (!is_selected_app(query, app))
    return true;
  if (strcmp(app->app, query->word) == 0 && !query->owners++)
    query->owner = app->uid;
  if (!query->part[0])
    (void)ft_string_copy(app->app, query->part, sizeof query->part);
  query->several |= strcmp(app->app, query->part) != 0;
  return true;
}

static void print_run_features(const ft_observation *o)
{
  for (size_t i = 0; i < o->submission.features_count; i++) {
    const ft_feature *f = &o->submission.features[i];

    printf("%s", i ? "," : "");
    ft_print_plain(f->name);
    if (f->has_number) {
      printf("=%.10g", f->number);
    } else {
      printf("=");
      ft_print_plain(f->category);
    }
  }
}

/* Quantities with columns in the list of runs. */
static const struct {
  size_t quantity;
  const char *used; /* heading of what the run used */
} columns[] = { { FT_QUANTITY_MEMORY, "PEAK" }, { FT_QUANTITY_RUNTIME, "TIME" } };

enum { QUANTITY_COLUMNS = sizeof columns / sizeof *columns };

static void print_run_headings(bool job)
{
  printf("%-20s %10s %-12s %-13s", "END", "JOB", "NODE", "OUTCOME");
  for (size_t i = 0; i < QUANTITY_COLUMNS; i++)
    printf(" %9s %9s %9s", columns[i].used, "PREDICTED", "LIMIT");
  printf("  %s%s\n", job ? "APP  " : "", "FEATURES");
}

/* Prints what O used of each quantity, what was predicted, and its limit. */
static void print_run_quantities(const ft_observation *o)
{
  char text[32];

  for (size_t i = 0; i < QUANTITY_COLUMNS; i++) {
    const struct ft_quantity *q = &ft_quantities[columns[i].quantity];
    double quantile[FT_QUANTITY_LEVELS];
    bool predicted = ft_quantity_predicted(q, o, quantile);
    const double values[] = { q->used_of(o), predicted ? quantile[1] : 0, q->limit_of(o) };

    for (size_t v = 0; v < sizeof values / sizeof *values; v++)
      printf(" %9s", values[v] > 0 ? ft_quantity_show(q, values[v], text) : "-");
  }
}

static bool show_run(const ft_observation *o, void *data)
{
  double peak = ft_observation_peak(o, o->rule);
  double joules = ft_quantities[FT_QUANTITY_ENERGY].used_of(o);
  struct query *query = data;
  char time[32], job[24], node[sizeof o->node + 16];

  if (reached_limit(query))
    return true;
  if (query->json) {
    json_t *run = ft_json_observation(o);

    json_object_set_new(run, "peak_bytes", ft_json_number(peak > 0, peak));
    json_object_set_new(run, ft_quantities[FT_QUANTITY_ENERGY].name,
                        ft_json_number(joules > 0, joules));
    json_object_set_new(run, "recorded_nodes",
                        json_integer(o->recorded_nodes ? o->recorded_nodes : 1));
    json_array_append_new(query->list, run);
    query->shown++;
    return true;
  }
  if (!query->shown++)
    print_run_headings(query->job);
  printf("%-20s %10s ", ft_show_time(o->end_time, time), ft_store_access_job_name(o, job));
  if (o->recorded_nodes > 1)
    (void)snprintf(node, sizeof node, "%s +%" PRIu32, o->node, o->recorded_nodes - 1);
  ft_print_column(o->recorded_nodes > 1 ? node : o->node, 12);
  printf(" %-13s", ft_outcome_name(o->outcome));
  print_run_quantities(o);
  printf("  ");
  if (query->job) {
    ft_print_plain(o->submission.app);
    printf("  ");
  }
  print_run_features(o);
  printf("%s\n", o->peak_is_bound && o->outcome == FT_OUTCOME_COMPLETED ? " (at least)" : "");
  return true;
}

/* Prints the newest first, like runs from the store. */
static void show_model_runs(struct query *query, const struct ft_history *history)
{
  char peak[32], time[32], seconds[32];

  for (size_t i = history->count; i > 0; i--) {
    const ft_run *run = &history->run[i - 1];
    const char *outcome = run->killed_by  ? "out_of_memory"
                          : run->censored ? "censored"
                                          : "completed";

    if (run->time < query->filter.since || reached_limit(query))
      continue;
    if (query->json) {
      json_array_append_new(
          query->list, json_pack("{s:o, s:s, s:b, s:o, s:o}", "end_time",
                                 ft_json_number(run->time > 0, run->time), "outcome", outcome,
                                 "censored", run->censored, "peak_bytes",
                                 ft_json_number(run->bytes > 0, run->bytes), "runtime_seconds",
                                 ft_json_number(run->runtime_seconds > 0, run->runtime_seconds)));
    } else {
      if (!query->shown)
        printf("%-20s %-13s %9s %9s\n", "END", "OUTCOME", "PEAK", "TIME");
      printf("%-20s %-13s %9s %9s\n", ft_show_time(run->time, time),
             run->censored && !run->killed_by ? "not completed" : outcome,
             show_bytes_or_dash(run->bytes, peak),
             run->runtime_seconds > 0
                 ? ft_units_show_seconds(run->runtime_seconds, seconds, sizeof seconds)
                 : "-");
    }
    query->shown++;
  }
}

/* Returns the owner of the shown runs. */
static uint32_t shown_user(const struct query *query)
{
  return has_run_source(query) && query->owners ? query->owner
         : query->filter.by_uid                 ? query->filter.uid
                                                : query->viewer.uid;
}

/* Reads the published model with its runs. Returns 0; -1 with ERR. */
static int read_published_model(const struct query *query, ft_model *model,
                                struct ft_history *history, struct ft_error *err)
{
  return ft_state_read_model(query->records.state_fd, shown_user(query), query->word,
                             FT_QUANTITY_MEMORY, model, history, err);
}

/* Reads the published model with its runs, else builds one from the store as the learner would.
 * Returns 0; -1 with ERR. */
static int find_model(struct query *query, ft_model *model, struct ft_history *history,
                      struct ft_error *err)
{
  ft_rule rule = query->records.config.rule;
  uint32_t uid = shown_user(query);
  ft_site *site;

  if (read_published_model(query, model, history, err) == 0)
    return 0;
  if (!query->records.store || !query->owners)
    return -1;
  site = malloc(sizeof *site);
  if (site && rule == FT_RULE_UNKNOWN &&
      ft_state_read_site(query->records.state_fd, site, NULL) == 0)
    rule = site->rule;
  free(site);
  return ft_rebuild_model(query->records.store, uid, query->word, rule, model, err);
}

static int finish_output(struct query *query, json_t *answer)
{
  return query->json ? ft_json_print(answer) : ft_flush(query->name);
}

/* Prints why no rows or not all rows are shown. */
static void print_footer(const struct query *query)
{
  if (query->json)
    return;
  if (query->more)
    printf("older ones not shown; --limit=0 shows all\n");
  else if (query->damaged)
    return;
  else if (!query->shown && query->since)
    printf("no runs since %s\n", query->since);
  else if (!query->shown)
    printf("no runs yet\n");
}

/* Calls VISIT for each app, from the store, the learner or the model files. Returns 0; -1 with ERR.
 */
static int visit_each_app(struct query *query,
                          bool (*visit)(const struct ft_store_app *app, void *data),
                          struct ft_error *err)
{
  if (has_run_source(query))
    return ft_store_access_apps(&query->records, visit, query, err);
  return ft_models_each(query->records.state_fd,
                        query->filter.by_uid ? query->filter.uid : query->viewer.uid, visit, query,
                        err);
}

static int list_apps(struct query *query)
{
  struct ft_error err;
  int status;

  if (visit_each_app(query, show_app, &err) < 0)
    return ft_print_error(query->name, FT_EXIT_SYSTEM, "%s", err.text);
  print_footer(query);
  status = finish_output(query, query->json ? json_pack("{s:O}", "apps", query->list) : NULL);
  return query->damaged && !query->shown ? FT_EXIT_SYSTEM : status;
}

static int show_job(struct query *query, const char *job)
{
  print_footer(query);
  return finish_output(
      query,
      query->json ? json_pack("{s:o, s:O}", "job", ft_json_text(job), "runs", query->list) : NULL);
}

/* Shows what the runs are worth by the published MODEL, if the runs are one user's. Returns it with
 * --json, else null. */
static json_t *show_trust(struct query *query, ft_model *model, struct ft_history *history)
{
  ft_site *site = query->owners > 1 ? NULL : calloc(1, sizeof *site);
  ft_policy policy;
  json_t *trust = NULL;

  if (site && query->shown && read_published_model(query, model, history, NULL) == 0) {
    bool known = ft_state_read_site(query->records.state_fd, site, NULL) == 0;

    ft_policy_resolve(known ? site : NULL, NULL, NULL, NULL, &policy);
    trust = ft_trust_show(model, history, &policy, query->json);
  }
  free(site);
  return trust ? trust : json_null();
}

static int show_app_runs(struct query *query, ft_model *model, struct ft_history *history)
{
  bool from_store = has_run_source(query), learnt = false;
  struct ft_error err, why = { "" };
  json_t *fit, *trust;

  if (from_store && query->fit && query->owners > 1)
    return ft_print_error(query->name, FT_EXIT_USAGE,
                          "%s: %u users have an app of this name; select one with --user",
                          query->word, query->owners);
  query->filter.app = query->word;
  if (from_store &&
      ft_store_access_each(&query->records, &query->filter, show_run, query, &err) < 0)
    return ft_print_error(query->name, FT_EXIT_SYSTEM, "%s", err.text);
  if (query->fit || !from_store)
    learnt = find_model(query, model, history, &why) == 0;
  if (!from_store && !learnt)
    return ft_print_error(query->name, query->damaged ? FT_EXIT_SYSTEM : FT_EXIT_NO,
                          "%s: no model of this app: %s", query->word, why.text);
  if (!from_store)
    show_model_runs(query, history);
  print_footer(query);
  if (query->fit && !learnt && !query->json)
    ft_print_error(query->name, 0, "%s: %s", query->word, why.text);
  if (query->fit && learnt && !query->json)
    ft_fit_print(model, &history->categories);
  fit =
      query->json && query->fit && learnt ? ft_fit_json(model, &history->categories) : json_null();
  trust = show_trust(query, model, history); /* reads MODEL again */
  if (!query->json) {
    json_decref(fit);
    json_decref(trust);
    return finish_output(query, NULL);
  }
  return finish_output(query, json_pack("{s:o, s:O, s:o, s:o}", "app", ft_json_text(query->word),
                                        "runs", query->list, "fit", fit, "trust", trust));
}

/* Shows the runs of WORD if it is a job. Returns whether there were any; -1 with ERR. */
static int show_matching_job(struct query *query, const char *word, struct ft_error *err)
{
  struct ft_store_filter filter = query->filter;

  if (!has_run_source(query) || query->fit || !ft_store_access_job(word, &filter))
    return 0;
  query->job = true;
  if (ft_store_access_each(&query->records, &filter, show_run, query, err) < 0)
    return -1;
  query->job = query->shown > 0;
  return query->job;
}

/* Finds the app that WORD names. A part of a single app's name is replaced by the whole name. */
static int resolve_app_word(struct query *query, struct ft_error *err)
{
  if (visit_each_app(query, match_app_name, err) < 0)
    return -1;
  if (query->owners || !query->part[0] || query->several)
    return 0;
  query->word = query->part;
  return visit_each_app(query, match_app_name, err);
}

/* Finds the app whose script or program WORD names, or names that are similar. */
static int find_meant_app(struct query *query, struct ft_error *err)
{
  struct ft_app_search found;

  if (ft_app_search(query->name, query->state, &query->records, &query->filter, query->word, &found,
                    err) < 0)
    return -1;
  ft_app_search_suggest(&found, query->similar);
  if (!found.app[0])
    return 0;
  (void)ft_string_copy(found.app, query->part, sizeof query->part);
  query->word = query->part;
  if (found.several && !query->json)
    printf("several apps; the last one is %s\n", found.app);
  return visit_each_app(query, match_app_name, err);
}

static int show_word(struct query *query)
{
  const char *given = query->word;
  struct ft_error err;
  struct ft_history *history;
  ft_model *model;
  int status;

  if (resolve_app_word(query, &err) < 0 && has_run_source(query))
    return ft_print_error(query->name, FT_EXIT_SYSTEM, "%s", err.text);
  if (strcmp(given, query->word) != 0 || !query->owners) {
    status = show_matching_job(query, given, &err);
    if (status < 0)
      return ft_print_error(query->name, FT_EXIT_SYSTEM, "%s", err.text);
    if (status)
      return show_job(query, given);
  }
  if (!query->owners && query->several)
    return query->fit ? ft_print_error(query->name, FT_EXIT_USAGE,
                                       "%s: several apps contain this name; --fit needs one app",
                                       query->word)
                      : list_apps(query);
  if (!query->owners && has_run_source(query)) {
    status = find_meant_app(query, &err);
    if (status < 0)
      return ft_print_error(query->name, FT_EXIT_SYSTEM, "%s", err.text);
    if (!query->owners)
      return ft_print_error(query->name, FT_EXIT_NO, "%s: no runs of an app or job of this name%s",
                            query->word, query->similar);
  }
  model = malloc(sizeof *model);
  history = malloc(sizeof *history);
  status = model && history ? show_app_runs(query, model, history)
                            : ft_print_error(query->name, FT_EXIT_SYSTEM, "out of memory");
  free(model);
  free(history);
  return status;
}

static int show_history(struct query *query)
{
  struct ft_error err;

  if (ft_store_access_filter(NULL, query->user, query->since, &query->filter, &err) < 0 ||
      ft_find_user(NULL, &query->viewer, &err) < 0)
    return ft_print_error(query->name, FT_EXIT_USAGE, "%s", err.text);
  /* one more shows whether runs are left out; with a limit the store returns the newest first */
  query->filter.limit = query->limit && query->limit < ULONG_MAX ? query->limit + 1 : UINT64_MAX;
  if (ft_store_access_ask(&query->records, query->state, &query->filter, &err) < 0) {
    if (query->records.state_fd < 0)
      return ft_print_error(query->name, FT_EXIT_SYSTEM, "%s", err.text);
    if (query->records.refused)
      return ft_print_error(query->name, FT_EXIT_NO, "%s", err.text);
    ft_print_error(query->name, 0, "%s; showing model files instead", err.text);
    query->damaged = access(query->records.path, R_OK) == 0;
  }
  query->list = json_array();
  return query->word ? show_word(query) : list_apps(query);
}

int ft_command_history(int argc, char **argv)
{
  struct query *query = calloc(1, sizeof *query);
  int first, status;

  if (!query)
    return ft_print_error(argv[0], FT_EXIT_SYSTEM, "out of memory");
  *query = (struct query){ .name = argv[0], .limit = 20, .records.state_fd = -1 };
  const struct ft_option options[] = {
    { 0, "fit", NULL, "show the app's model", FT_OPTION_FLAG, &query->fit },
    { 0, "user", "USER", "apps and runs of this user", FT_OPTION_STRING, &query->user },
    { 0, "since", "TIME", "runs that ended since a day, a time or an age such as 30d",
      FT_OPTION_STRING, &query->since },
    { 'n', "limit", "N", "the newest N at most (20; 0: all)", FT_OPTION_COUNT, &query->limit },
    { 0, "state", "DIR", "state directory", FT_OPTION_STRING, &query->state },
    { 0, "json", NULL, "print one JSON object", FT_OPTION_FLAG, &query->json },
    { 0 }
  };

  first =
      ft_options_parse(options, "[OPTION]... [WORD]",
                       "List the apps, or those with WORD in their names; the runs of one app, with"
                       " --fit its model, or of a job.",
                       1, argc, argv, &status);
  if (first >= 0) {
    query->word = first < argc ? argv[first] : NULL;
    status = query->fit && !query->word
                 ? ft_print_error(argv[0], FT_EXIT_USAGE, "--fit: expected an app")
                 : show_history(query);
  }
  ft_store_access_close(&query->records);
  json_decref(query->list);
  free(query);
  return status;
}
