/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * foretell history: the apps, an app's runs, a job's, and what was learnt from them. The
 * store is the agent's: who may not read it asks the agent, and where there is none sees what model
 * files tell.
 */
#include "config.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "predictor/cli/cli.h"
#include "predictor/cli/history.h"
#include "predictor/cli/store_access.h"
#include "predictor/core/units.h"
#include "predictor/history/json.h"
#include "predictor/rebuild/rebuild.h"
#include "predictor/record/state_files.h"

struct look {
  const char *name; /* of the command */
  const char *word; /* that was typed: an app, a part of its name, or a job; NULL: none */
  const char *user, *since, *state;
  bool job; /* runs of a job are shown */
  unsigned long limit;
  bool fit, json;
  struct ft_store_filter filter;
  struct ft_store_access records;
  struct ft_user viewer;
  json_t *list; /* of apps or runs, with --json */
  unsigned long shown;
  bool more;      /* than --limit lets be shown */
  bool damaged;   /* the store is there, and whoever may read it cannot */
  uint32_t owner; /* of the app, the most recent one */
  unsigned owners;
  char part[sizeof((struct ft_store_app *)0)->app]; /* whose name the word is part of; the latest */
  bool several;                                     /* and others */
};

/* From the store or from the agent; else model files are all there is. */
static bool has_run_source(const struct look *look)
{
  return look->records.store || look->records.runs;
}

static const char *show_bytes_or_dash(double value, char out[32])
{
  if (value <= 0)
    return "-";
  return ft_units_show_bytes((uint64_t)value, out, 32);
}

/* Whether all have been shown that --limit lets be; then there is one more. */
static bool reached_limit(struct look *look)
{
  bool full = look->limit && look->shown == look->limit;

  look->more |= full;
  return full;
}

static bool is_selected_app(const struct look *look, const struct ft_store_app *app)
{
  if (look->filter.by_uid && app->uid != look->filter.uid)
    return false;
  return !look->word || strcasestr(app->app, look->word);
}

static bool show_app(const struct ft_store_app *app, void *data)
{
  struct look *look = data;
  char low[32], high[32], time[32];

  if (app->last_time < look->filter.since || !is_selected_app(look, app) || reached_limit(look))
    return true;
  if (look->json) {
    json_array_append_new(look->list,
                          json_pack("{s:o, s:I, s:o, s:I, s:I, s:I, s:o, s:o, s:o}", "app",
                                    ft_json_text(app->app), "uid", (json_int_t)app->uid, "user",
                                    app->user[0] ? ft_json_text(app->user) : json_null(), "runs",
                                    (json_int_t)app->runs, "completed", (json_int_t)app->completed,
                                    "censored", (json_int_t)app->censored, "last_time",
                                    ft_json_number(app->last_time > 0, app->last_time), "min_bytes",
                                    ft_json_number(app->min_bytes > 0, app->min_bytes), "max_bytes",
                                    ft_json_number(app->max_bytes > 0, app->max_bytes)));
  } else {
    if (!look->shown)
      printf("%-32s %-10s %6s %9s %8s  %-20s  %s\n", "APP", "USER", "RUNS", "COMPLETED", "CENSORED",
             "LAST", "PEAK");
    ft_print_column(app->app, 32);
    printf(" ");
    ft_print_column(app->user, 10);
    printf(" %6" PRIu64 " %9" PRIu64 " %8" PRIu64 "  %-20s  %s to %s\n", app->runs, app->completed,
           app->censored, ft_show_time(app->last_time, time),
           show_bytes_or_dash(app->min_bytes, low), show_bytes_or_dash(app->max_bytes, high));
  }
  look->shown++;
  return true;
}

/* Counts the users of the app that the word names, and the apps that have it in their names. */
static bool match_app_name(const struct ft_store_app *app, void *data)
{
  struct look *look = data;

  if (!is_selected_app(look, app))
    return true;
  if (strcmp(app->app, look->word) == 0 && !look->owners++)
    look->owner = app->uid;
  if (!look->part[0])
    (void)ft_string_copy(app->app, look->part, sizeof look->part);
  look->several |= strcmp(app->app, look->part) != 0;
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

static bool show_run(const ft_observation *o, void *data)
{
  double peak = ft_observation_peak(o, o->rule);
  const ft_decision *d = &o->submission.decision;
  struct look *look = data;
  char text[5][32], job[24];

  if (reached_limit(look))
    return true;
  if (look->json) {
    json_t *run = ft_json_observation(o);

    json_object_set_new(run, "peak_bytes", ft_json_number(peak > 0, peak));
    json_array_append_new(look->list, run);
    look->shown++;
    return true;
  }
  if (!look->shown++)
    printf("%-20s %10s %-12s %-13s %9s %9s %9s %9s  %s%s\n", "END", "JOB", "NODE", "OUTCOME",
           "PEAK", "PREDICTED", "LIMIT", "TIME", look->job ? "APP  " : "", "FEATURES");
  printf("%-20s %10s ", ft_show_time(o->end_time, text[0]), ft_store_access_job_name(o, job));
  ft_print_column(o->node, 12);
  printf(" %-13s %9s %9s %9s %9s  ", ft_outcome_name(o->outcome), show_bytes_or_dash(peak, text[1]),
         show_bytes_or_dash(o->submission.has_decision && d->has_p50_bytes ? d->p50_bytes : 0,
                            text[2]),
         show_bytes_or_dash(o->has_limit_bytes ? (double)o->limit_bytes : 0, text[3]),
         o->runtime_seconds > 0 ? ft_units_show_seconds(o->runtime_seconds, text[4], 32) : "-");
  if (look->job) {
    ft_print_plain(o->submission.app);
    printf("  ");
  }
  print_run_features(o);
  printf("%s\n", o->peak_is_bound && !o->censored ? " (at least)" : "");
  return true;
}

/* the newest first, as the store gives them */
static void show_model_runs(struct look *look, const ft_model *model)
{
  char peak[32], time[32];

  for (size_t i = model->history_count; i > 0; i--) {
    const ft_run *run = &model->history[i - 1];
    const char *outcome = run->killed_by  ? "out_of_memory"
                          : run->censored ? "censored"
                                          : "completed";

    if (run->time < look->filter.since || reached_limit(look))
      continue;
    if (look->json) {
      json_array_append_new(
          look->list, json_pack("{s:o, s:s, s:b, s:o, s:o}", "end_time",
                                ft_json_number(run->time > 0, run->time), "outcome", outcome,
                                "censored", run->censored, "peak_bytes",
                                ft_json_number(run->bytes > 0, run->bytes), "runtime_seconds",
                                ft_json_number(run->runtime_seconds > 0, run->runtime_seconds)));
    } else {
      if (!look->shown)
        printf("%-20s %-13s %9s\n", "END", "OUTCOME", "PEAK");
      printf("%-20s %-13s %9s\n", ft_show_time(run->time, time), outcome,
             show_bytes_or_dash(run->bytes, peak));
    }
    look->shown++;
  }
}

/* the published model, else one made from the store as the agent would */
static int find_model(struct look *look, ft_model *model, struct ft_error *err)
{
  ft_rule rule = look->records.config.rule;
  uint32_t uid = has_run_source(look) && look->owners ? look->owner
                 : look->filter.by_uid                ? look->filter.uid
                                                      : look->viewer.uid;
  ft_site *site;

  if (ft_state_read_model(look->records.state_fd, uid, look->word, model, err) == 0)
    return 0;
  if (!look->records.store || !look->owners)
    return -1;
  site = malloc(sizeof *site);
  if (site && rule == FT_RULE_UNKNOWN &&
      ft_state_read_site(look->records.state_fd, site, NULL) == 0)
    rule = site->rule;
  free(site);
  return ft_rebuild_model(look->records.store, uid, look->word, rule, model, err);
}

static int finish_output(struct look *look, json_t *answer)
{
  return look->json ? ft_json_print(answer) : ft_flush(look->name);
}

/* What the lines shown do not tell. */
static void print_footer(const struct look *look)
{
  if (look->json)
    return;
  if (look->more)
    printf("and older ones; --limit=0 shows all\n");
  else if (look->damaged)
    return;
  else if (!look->shown && look->since)
    printf("no runs since %s\n", look->since);
  else if (!look->shown)
    printf("no runs yet\n");
}

/* VISIT for each app, of the store or of the model files that may be read. */
static int visit_each_app(struct look *look,
                          bool (*visit)(const struct ft_store_app *app, void *data),
                          struct ft_error *err)
{
  if (has_run_source(look))
    return ft_store_access_apps(&look->records, visit, look, err);
  return ft_models_each(look->records.state_fd,
                        look->filter.by_uid ? look->filter.uid : look->viewer.uid, visit, look,
                        err);
}

static int list_apps(struct look *look)
{
  struct ft_error err;
  int status;

  if (visit_each_app(look, show_app, &err) < 0)
    return ft_print_error(look->name, FT_EXIT_SYSTEM, "%s", err.text);
  print_footer(look);
  status = finish_output(look, look->json ? json_pack("{s:O}", "apps", look->list) : NULL);
  return look->damaged && !look->shown ? FT_EXIT_SYSTEM : status;
}

static int show_job(struct look *look, const char *job)
{
  print_footer(look);
  return finish_output(
      look,
      look->json ? json_pack("{s:o, s:O}", "job", ft_json_text(job), "runs", look->list) : NULL);
}

static int show_app_runs(struct look *look, ft_model *model)
{
  bool from_store = has_run_source(look), learnt = false;
  struct ft_error err, why = { "" };
  json_t *fit;

  if (from_store && look->fit && look->owners > 1)
    return ft_print_error(look->name, FT_EXIT_USAGE,
                          "%s: %u users have such an app; say which with"
                          " --user",
                          look->word, look->owners);
  look->filter.app = look->word;
  if (from_store && ft_store_access_each(&look->records, &look->filter, show_run, look, &err) < 0)
    return ft_print_error(look->name, FT_EXIT_SYSTEM, "%s", err.text);
  if (look->fit || !from_store)
    learnt = find_model(look, model, &why) == 0;
  if (!from_store && !learnt)
    return ft_print_error(look->name, look->damaged ? FT_EXIT_SYSTEM : FT_EXIT_NO,
                          "%s: no model of such an app: %s", look->word, why.text);
  if (!from_store)
    show_model_runs(look, model);
  print_footer(look);
  if (look->fit && !learnt && !look->json)
    ft_print_error(look->name, 0, "%s: %s", look->word, why.text);
  if (look->fit && learnt && !look->json)
    ft_fit_print(model);
  if (!look->json)
    return finish_output(look, NULL);
  fit = look->fit && learnt ? ft_fit_json(model) : json_null();
  return finish_output(look, json_pack("{s:o, s:O, s:o}", "app", ft_json_text(look->word), "runs",
                                       look->list, "fit", fit));
}

/* Whether WORD is a job of which there are runs; they have been shown then. -1 with ERR. */
static int show_matching_job(struct look *look, const char *word, struct ft_error *err)
{
  struct ft_store_filter filter = look->filter;

  if (!has_run_source(look) || look->fit || !ft_store_access_job(word, &filter))
    return 0;
  look->job = true;
  if (ft_store_access_each(&look->records, &filter, show_run, look, err) < 0)
    return -1;
  look->job = look->shown > 0;
  return look->job;
}

/* The word is an app; or else part of the names of apps. Of one alone it is taken for that. */
static int resolve_app_word(struct look *look, struct ft_error *err)
{
  if (visit_each_app(look, match_app_name, err) < 0)
    return -1;
  if (look->owners || !look->part[0] || look->several)
    return 0;
  look->word = look->part;
  return visit_each_app(look, match_app_name, err);
}

static int show_word(struct look *look)
{
  const char *typed = look->word;
  struct ft_error err;
  ft_model *model;
  int status;

  if (resolve_app_word(look, &err) < 0 && has_run_source(look))
    return ft_print_error(look->name, FT_EXIT_SYSTEM, "%s", err.text);
  if (strcmp(typed, look->word) != 0 || !look->owners) {
    status = show_matching_job(look, typed, &err);
    if (status < 0)
      return ft_print_error(look->name, FT_EXIT_SYSTEM, "%s", err.text);
    if (status)
      return show_job(look, typed);
  }
  if (!look->owners && look->several)
    return look->fit ? ft_print_error(look->name, FT_EXIT_USAGE,
                                      "%s: part of the names of several apps; which?", look->word)
                     : list_apps(look);
  if (!look->owners && has_run_source(look))
    return ft_print_error(look->name, FT_EXIT_NO, "%s: no run of such an app or job", look->word);
  model = malloc(sizeof *model);
  if (!model)
    return ft_print_error(look->name, FT_EXIT_SYSTEM, "out of memory");
  status = show_app_runs(look, model);
  free(model);
  return status;
}

static int show_history(struct look *look)
{
  struct ft_error err;

  if (ft_store_access_filter(NULL, look->user, look->since, &look->filter, &err) < 0 ||
      ft_find_user(NULL, &look->viewer, &err) < 0)
    return ft_print_error(look->name, FT_EXIT_USAGE, "%s", err.text);
  /* one more tells whether there are more; a limit of any size has the newest first */
  look->filter.limit = look->limit && look->limit < ULONG_MAX ? look->limit + 1 : UINT64_MAX;
  if (ft_store_access_ask(&look->records, look->state, &look->filter, &err) < 0) {
    if (look->records.state_fd < 0)
      return ft_print_error(look->name, FT_EXIT_SYSTEM, "%s", err.text);
    if (look->records.refused)
      return ft_print_error(look->name, FT_EXIT_NO, "%s", err.text);
    ft_print_error(look->name, 0, "%s; what follows is from model files", err.text);
    look->damaged = access(look->records.path, R_OK) == 0;
  }
  look->list = json_array();
  return look->word ? show_word(look) : list_apps(look);
}

int ft_command_history(int argc, char **argv)
{
  struct look *look = calloc(1, sizeof *look);
  int first, status;

  if (!look)
    return ft_print_error(argv[0], FT_EXIT_SYSTEM, "out of memory");
  *look = (struct look){ .name = argv[0], .limit = 20, .records.state_fd = -1 };
  const struct ft_option options[] = {
    { 0, "fit", NULL, "show what was learnt from the app's runs", FT_OPTION_FLAG, &look->fit },
    { 0, "user", "USER", "apps and runs of this user", FT_OPTION_STRING, &look->user },
    { 0, "since", "TIME", "what ended since a day, a time or an age such as 30d", FT_OPTION_STRING,
      &look->since },
    { 'n', "limit", "N", "at most so many, the newest (20; 0: all)", FT_OPTION_COUNT,
      &look->limit },
    { 0, "state", "DIR", "the state folder", FT_OPTION_STRING, &look->state },
    { 0, "json", NULL, "answer in JSON", FT_OPTION_FLAG, &look->json },
    { 0 }
  };

  first =
      ft_options_parse(options, "[OPTION]... [WORD]",
                       "List the apps, or those with WORD in their names; the runs of one app, with"
                       " --fit its model, or of a job.",
                       false, argc, argv, &status);
  if (first >= 0) {
    look->word = first < argc ? argv[first] : NULL;
    if (argc - first > 1)
      status = ft_print_error(argv[0], FT_EXIT_USAGE, "'%s': one app or job was expected",
                              argv[first + 1]);
    else if (look->fit && !look->word)
      status = ft_print_error(argv[0], FT_EXIT_USAGE, "--fit: expected an app");
    else
      status = show_history(look);
  }
  ft_store_access_close(&look->records);
  json_decref(look->list);
  free(look);
  return status;
}
