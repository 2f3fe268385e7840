/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * foretell report: how good predictions were, what they saved and cost. foretell-report(1) defines
 * the terms in the same way.
 */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/cli/names/app_name.h"
#include "predictor/cli/cli.h"
#include "predictor/cli/store_access.h"
#include "predictor/core/array_grow.h"
#include "predictor/core/sort.h"
#include "predictor/core/text.h"
#include "predictor/history/json.h"

/*
 * Totals of an app, or of all. A run is a job or an array task on all of its nodes. Its peak is the
 * one of its site's memory rule, on the node with the largest.
 */
struct tally {
  char user[64];
  uint64_t runs, completed, censored;
  /*
   * predicted: runs that completed, with a measured peak that is not a lower bound and an estimate
   * at submission. error: |p50 - peak| / peak. covered: p05 <= peak <= p95; a calibrated estimate
   * covers 90 % of the runs.
   */
  uint64_t predicted, with_interval, covered;
  double *error;
  size_t errors, room;
  /*
   * Memory x run time in GB h (10^9 bytes x hours), summed over the nodes. asked: request without
   * foretell, else the partition's default. given: limit. used: peak. saved: asked minus given,
   * over the runs whose request foretell changed; negative if foretell raised more than it trimmed.
   */
  double asked, used, saved;
  uint64_t weighed;  /* runs that asked and used count: request, peak and run time are known */
  uint64_t suffered; /* ended out of memory */
  uint64_t caused; /* of those: under a limit that foretell's decision had set, raised or trimmed */
  uint64_t avoided; /* peak above asked, but below the limit that foretell had set or raised */
  /*
   * decided: runs whose request foretell changed, by action. freed: asked - given, where positive.
   * added: given - asked, where positive; saved = freed - added. lost: given, of the runs that
   * foretell's limit killed. overrides: runs submitted with --predict-mem=force despite a
   * rejection; overrides_died: of those, the runs that ended out of memory.
   */
  uint64_t decided[_ft_action_ARRAYSIZE];
  double freed, added, lost;
  uint64_t overrides, overrides_died;
  uint64_t rejected; /* rejected submissions, which have no run */
};

struct report {
  struct ft_app_set apps;
  struct tally *tally; /* by number in apps */
  size_t room;
  struct tally total;
  /* keys of the runs on several nodes, sorted after the first pass: the second weighs the memory of
   * each of their nodes */
  uint64_t *several;
  size_t several_count, several_room;
  bool failed;
};

static bool request_was_changed(const ft_observation *o)
{
  return o->submission.has_decision && o->submission.decision.mem_bytes > 0 &&
         (o->submission.decision.action == FT_ACTION_SET ||
          o->submission.decision.action == FT_ACTION_RAISE ||
          o->submission.decision.action == FT_ACTION_TRIM);
}

static int append_error(struct tally *t, double error)
{
  double *grown = ft_array_grow(t->error, &t->room, t->errors, sizeof *grown, SIZE_MAX);

  if (!grown)
    return -1;
  t->error = grown;
  t->error[t->errors++] = error;
  return 0;
}

static int add_prediction(struct tally *t, const ft_observation *o, double peak)
{
  const ft_decision *d = &o->submission.decision;

  if (o->outcome != FT_OUTCOME_COMPLETED || o->peak_is_bound || peak <= 0 ||
      !o->submission.has_decision || !d->has_p50_bytes || !(d->p50_bytes > 0))
    return 0;
  t->predicted++;
  if (d->has_p05_bytes && d->has_p95_bytes) {
    t->with_interval++;
    t->covered += d->p05_bytes <= peak && peak <= d->p95_bytes;
  }
  return append_error(t, fabs(d->p50_bytes - peak) / peak);
}

static void add_memory(struct tally *t, const ft_observation *o, double peak)
{
  double asked = ft_store_access_asked(o), gbh = o->runtime_seconds / 3600 / 1e9;

  if (asked > 0 && peak > 0 && gbh > 0) {
    t->weighed++;
    t->asked += asked * gbh;
    t->used += peak * gbh;
  }
  if (asked > 0 && gbh > 0 && request_was_changed(o) && o->has_limit_bytes && o->limit_bytes > 0)
    t->saved += (asked - (double)o->limit_bytes) * gbh;
}

/* Adds what the decision about O freed, added or lost, in GB h. */
static void add_worth(struct tally *t, const ft_observation *o)
{
  double asked = ft_store_access_asked(o), gbh = o->runtime_seconds / 3600 / 1e9;
  double given = o->has_limit_bytes ? (double)o->limit_bytes : 0;

  if (!request_was_changed(o) || !(given > 0 && gbh > 0))
    return;
  if (asked > 0) {
    t->freed += fmax(asked - given, 0) * gbh;
    t->added += fmax(given - asked, 0) * gbh;
  }
  if (o->outcome == FT_OUTCOME_OUT_OF_MEMORY)
    t->lost += given * gbh;
}

/* Adds the memory of O, a run on one node or the record of one of several. */
static void weigh_node(struct tally *t, const ft_observation *o)
{
  add_memory(t, o, ft_observation_peak(o, o->rule));
  add_worth(t, o);
}

static void count_decision(struct tally *t, const ft_observation *o)
{
  bool died = o->outcome == FT_OUTCOME_OUT_OF_MEMORY;

  if (o->submission.has_decision && o->submission.decision.overrode) {
    t->overrides++;
    t->overrides_died += died;
  }
  if (request_was_changed(o))
    t->decided[o->submission.decision.action]++;
}

static void add_oom(struct tally *t, const ft_observation *o, double peak)
{
  double asked = ft_store_access_asked(o);

  if (o->outcome == FT_OUTCOME_OUT_OF_MEMORY) {
    t->suffered++;
    t->caused += request_was_changed(o);
  } else if (request_was_changed(o) && asked > 0 && peak > asked && o->has_limit_bytes &&
             (double)o->limit_bytes >= peak) {
    t->avoided++;
  }
}

static int add_observation(struct tally *t, const ft_observation *o)
{
  double peak = ft_observation_peak(o, o->rule);

  t->runs++;
  t->completed += o->outcome == FT_OUTCOME_COMPLETED;
  t->censored += o->censored;
  if (o->user[0])
    (void)ft_string_copy(o->user, t->user, sizeof t->user);
  if (o->recorded_nodes < 2)
    weigh_node(t, o);
  add_oom(t, o, peak);
  count_decision(t, o);
  return add_prediction(t, o, peak);
}

/* Returns the tally of UID's APP; NULL if out of memory. */
static struct tally *tally_of(struct report *report, const char *app, uint32_t uid)
{
  long number = ft_app_set_add(&report->apps, app, uid);

  if (number >= 0 && (size_t)number >= report->room) {
    size_t room = report->apps.room;
    struct tally *grown = realloc(report->tally, room * sizeof *grown);

    if (!grown)
      return NULL;
    memset(grown + report->room, 0, (room - report->room) * sizeof *grown);
    report->tally = grown;
    report->room = room;
  }
  return number < 0 ? NULL : &report->tally[number];
}

static int remember_several(struct report *report, const ft_observation *o)
{
  uint64_t *grown;

  if (o->recorded_nodes < 2)
    return 0;
  grown = ft_array_grow(report->several, &report->several_room, report->several_count,
                        sizeof *grown, SIZE_MAX);
  if (!grown)
    return -1;
  report->several = grown;
  report->several[report->several_count++] = ft_observation_run_key(o);
  return 0;
}

static bool visit_run(const ft_observation *o, void *data)
{
  struct report *report = data;
  struct tally *tally = tally_of(report, o->submission.app, o->uid);

  report->failed = !tally || add_observation(tally, o) < 0 ||
                   add_observation(&report->total, o) < 0 || remember_several(report, o) < 0;
  return !report->failed;
}

static int compare_keys(const void *a, const void *b)
{
  const uint64_t *x = a, *y = b;

  return *x < *y ? -1 : *x > *y;
}

static bool visit_node_record(const ft_observation *o, void *data)
{
  struct report *report = data;
  uint64_t key = ft_observation_run_key(o);
  struct tally *tally;

  if (!bsearch(&key, report->several, report->several_count, sizeof key, compare_keys))
    return true;
  tally = tally_of(report, o->submission.app, o->uid);
  report->failed = !tally;
  if (!tally)
    return false;
  weigh_node(tally, o);
  weigh_node(&report->total, o);
  return true;
}

/* Weighs the memory of the runs on several nodes. Returns 0; -1 and ERR. */
static int weigh_several(const char *state, const struct ft_store_filter *filter,
                         struct report *report, struct ft_error *err)
{
  struct ft_store_access *records;
  struct ft_store_filter by_node = *filter;
  int status = -1;

  if (!report->several_count)
    return 0;
  qsort(report->several, report->several_count, sizeof *report->several, compare_keys);
  by_node.by_node = true;
  records = calloc(1, sizeof *records);
  if (!records)
    return ft_error_set(err, "out of memory");
  if (ft_store_access_ask(records, state, &by_node, err) == 0)
    status = ft_store_access_each(records, &by_node, visit_node_record, report, err);
  ft_store_access_close(records);
  free(records);
  return status;
}

static bool visit_rejections(const struct ft_rejections *one, void *data)
{
  struct report *report = data;
  struct tally *tally = tally_of(report, one->app, one->uid);

  report->failed = !tally;
  if (!tally)
    return false;
  tally->rejected += one->count;
  report->total.rejected += one->count;
  return true;
}

/* Returns the median absolute relative error; negative without predictions. */
static double median_error(struct tally *t)
{
  if (!t->errors)
    return -1;
  return ft_sort_median(t->error, t->errors);
}

static json_t *tally_json(struct tally *t)
{
  double error = median_error(t);

  return json_pack(
      "{s:I, s:I, s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:o, s:o,"
      " s:I, s:I, s:I}",
      "runs", (json_int_t)t->runs, "completed", (json_int_t)t->completed, "censored",
      (json_int_t)t->censored, "predicted", (json_int_t)t->predicted, "median_error",
      ft_json_number(error >= 0, error), "coverage90",
      ft_json_number(t->with_interval,
                     t->with_interval ? (double)t->covered / (double)t->with_interval : 0),
      "asked_gbh", ft_json_number(t->weighed, t->asked), "used_gbh",
      ft_json_number(t->weighed, t->used), "saved_gbh",
      ft_json_number(t->weighed || t->saved != 0, t->saved), "ooms_suffered",
      (json_int_t)t->suffered, "ooms_avoided", (json_int_t)t->avoided, "ooms_caused",
      (json_int_t)t->caused, "set", (json_int_t)t->decided[FT_ACTION_SET], "raised",
      (json_int_t)t->decided[FT_ACTION_RAISE], "lowered", (json_int_t)t->decided[FT_ACTION_TRIM],
      "freed_gbh", ft_json_number(true, t->freed), "added_gbh", ft_json_number(true, t->added),
      "lost_gbh", ft_json_number(true, t->lost), "rejections", (json_int_t)t->rejected, "overrides",
      (json_int_t)t->overrides, "overrides_out_of_memory", (json_int_t)t->overrides_died);
}

static int print_report_json(struct report *report)
{
  json_t *apps = json_array();

  for (size_t i = 0; i < report->apps.count; i++) {
    const struct ft_app_name *name = &report->apps.name[i];
    json_t *app = tally_json(&report->tally[i]);

    json_object_set_new(app, "app", ft_json_text(name->app));
    json_object_set_new(app, "uid", json_integer(name->uid));
    json_object_set_new(
        app, "user", report->tally[i].user[0] ? ft_json_text(report->tally[i].user) : json_null());
    json_array_append_new(apps, app);
  }
  return ft_json_print(json_pack("{s:o, s:o}", "apps", apps, "total", tally_json(&report->total)));
}

static const char *show_percent(bool has, double part, char out[16])
{
  (void)snprintf(out, 16, has ? "%.*f %%" : "-", part < 0.0995 ? 1 : 0, 100 * part);
  return out;
}

static const char *show_gbh(bool has, double gbh, char out[16])
{
  int decimals = fabs(gbh) < 0.0995 ? 4 : fabs(gbh) < 99.5 ? 2 : 0;

  if (fabs(gbh) < 0.00005)
    gbh = 0; /* no "-0.0000" */
  (void)snprintf(out, 16, has ? "%.*f" : "-", decimals, gbh);
  return out;
}

static void print_tally_row(const char *app, const char *user, struct tally *t)
{
  double error = median_error(t);
  char text[5][16];

  ft_print_column(app, 28);
  printf(" ");
  ft_print_column(user, 10);
  printf(
      " %7" PRIu64 " %7s %8s %10s %10s %10s %5" PRIu64 " %7" PRIu64 " %6" PRIu64 "\n", t->runs,
      show_percent(error >= 0, error, text[0]),
      show_percent(t->with_interval,
                   t->with_interval ? (double)t->covered / (double)t->with_interval : 0, text[1]),
      show_gbh(t->weighed, t->asked, text[2]), show_gbh(t->weighed, t->used, text[3]),
      show_gbh(t->weighed || t->saved != 0, t->saved, text[4]), t->suffered, t->avoided, t->caused);
}

/* Prints the effect of the decisions, over all runs shown. */
static void print_worth(const struct tally *t)
{
  char text[3][16];

  printf("requests: %" PRIu64 " set, %" PRIu64 " raised, %" PRIu64
         " lowered; %s GBh freed, %s GBh added,"
         " %s GBh lost in %" PRIu64 " run%s that foretell's limit killed\n",
         t->decided[FT_ACTION_SET], t->decided[FT_ACTION_RAISE], t->decided[FT_ACTION_TRIM],
         show_gbh(true, t->freed, text[0]), show_gbh(true, t->added, text[1]),
         show_gbh(true, t->lost, text[2]), t->caused, ft_plural(t->caused));
  if (t->rejected || t->overrides)
    printf("rejections: %" PRIu64 " submission%s rejected, %" PRIu64
           " overridden (force), of which %" PRIu64 " ran out of memory\n",
           t->rejected, ft_plural(t->rejected), t->overrides, t->overrides_died);
}

static int print_table(const char *name, struct report *report)
{
  printf("%-28s %-10s %7s %7s %8s %10s %10s %10s %5s %7s %6s\n", "APP", "USER", "RUNS", "ERROR",
         "COVERAGE", "ASKED GBh", "USED GBh", "SAVED GBh", "OOMS", "AVOIDED", "CAUSED");
  for (size_t i = 0; i < report->apps.count; i++)
    print_tally_row(report->apps.name[i].app, report->tally[i].user, &report->tally[i]);
  print_tally_row("total", "", &report->total);
  print_worth(&report->total);
  return ft_flush(name);
}

/* Returns an exit status; -1 if there is no run of FILTER's app. */
static int make_report(const char *name, const char *state, const struct ft_store_filter *filter,
                       bool json)
{
  struct ft_store_access *records = calloc(1, sizeof *records);
  struct report report = { 0 };
  int status = FT_EXIT_SYSTEM;
  struct ft_error err;

  if (!records)
    return ft_print_error(name, FT_EXIT_SYSTEM, "out of memory");
  if (ft_store_access_ask(records, state, filter, &err) < 0 ||
      ft_store_access_each(records, filter, visit_run, &report, &err) < 0 ||
      weigh_several(state, filter, &report, &err) < 0 ||
      ft_store_access_rejections(records, filter, visit_rejections, &report, &err) < 0)
    ft_print_error(name, 0, "%s", err.text);
  else if (report.failed)
    ft_print_error(name, 0, "out of memory");
  else if (filter->app && !report.apps.count)
    status = -1;
  else
    status = json ? print_report_json(&report) : print_table(name, &report);
  for (size_t i = 0; i < report.apps.count && i < report.room; i++)
    free(report.tally[i].error);
  free(report.tally);
  free(report.several);
  free(report.total.error);
  ft_app_set_free(&report.apps);
  ft_store_access_close(records);
  free(records);
  return status;
}

int ft_command_report(int argc, char **argv)
{
  const char *app = NULL, *user = NULL, *since = NULL, *state = NULL;
  bool json = false;
  const struct ft_option options[] = {
    { 0, "app", "NAME", "runs of this app", FT_OPTION_STRING, &app },
    { 0, "user", "USER", "runs of this user", FT_OPTION_STRING, &user },
    { 0, "since", "TIME", "runs that ended since a day, a time or an age such as 30d",
      FT_OPTION_STRING, &since },
    { 0, "state", "DIR", "state directory", FT_OPTION_STRING, &state },
    { 0, "json", NULL, "print one JSON object", FT_OPTION_FLAG, &json },
    { 0 }
  };
  char meant[128], similar[FT_SUGGESTION] = "";
  struct ft_store_filter filter;
  struct ft_error err;
  int status, first;

  first = ft_options_parse(options, "[OPTION]...",
                           "Shows per app and in total how good predictions were, what memory they"
                           " saved and what they cost.",
                           0, argc, argv, &status);
  if (first < 0)
    return status;
  if (ft_store_access_filter(app, user, since, &filter, &err) < 0)
    return ft_print_error(argv[0], FT_EXIT_USAGE, "%s", err.text);
  status = make_report(argv[0], state, &filter, json);
  if (status < 0 && ft_app_search_again(argv[0], state, &filter, app, meant, similar)) {
    filter.app = meant;
    status = make_report(argv[0], state, &filter, json);
  }
  return status < 0 ? ft_print_error(argv[0], FT_EXIT_NO, "%s: no runs of this app%s", app, similar)
                    : status;
}
