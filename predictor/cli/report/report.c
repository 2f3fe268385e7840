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
#include "predictor/cli/report/report_tally.h"
#include "predictor/cli/store_access.h"
#include "predictor/core/array_grow.h"
#include "predictor/core/text.h"
#include "predictor/core/units.h"
#include "predictor/history/json.h"

struct report {
  struct ft_app_set apps;
  struct ft_report_tally *tally; /* by number in apps */
  size_t room;
  struct ft_report_tally total;
  /* keys of the runs on several nodes, sorted after the first pass: the second weighs the memory of
   * each of their nodes */
  uint64_t *several;
  size_t several_count, several_room;
  double grams; /* of CO2 a kWh; 0: unknown */
  bool failed;
};

/* Returns the tally of UID's APP; NULL if out of memory. */
static struct ft_report_tally *tally_of(struct report *report, const char *app, uint32_t uid)
{
  long number = ft_app_set_add(&report->apps, app, uid);

  if (number >= 0 && (size_t)number >= report->room) {
    size_t room = report->apps.room;
    struct ft_report_tally *grown = realloc(report->tally, room * sizeof *grown);

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
  struct ft_report_tally *tally = tally_of(report, o->submission.app, o->uid);

  report->failed = !tally || ft_report_add_run(tally, o) < 0 ||
                   ft_report_add_run(&report->total, o) < 0 || remember_several(report, o) < 0;
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
  struct ft_report_tally *tally;

  if (!bsearch(&key, report->several, report->several_count, sizeof key, compare_keys))
    return true;
  tally = tally_of(report, o->submission.app, o->uid);
  report->failed = !tally;
  if (!tally)
    return false;
  ft_report_weigh_node(tally, o);
  ft_report_weigh_node(&report->total, o);
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
  struct ft_report_tally *tally = tally_of(report, one->app, one->uid);

  report->failed = !tally;
  if (!tally)
    return false;
  tally->rejected += one->count;
  report->total.rejected += one->count;
  return true;
}

/* Sets the key NAME with the SUFFIX of a quantity. */
static void set_json(json_t *object, const char *name, const char *suffix, json_t *value)
{
  char key[48];

  (void)snprintf(key, sizeof key, "%s%s", name, suffix);
  json_object_set_new(object, key, value);
}

/* Adds the keys of A to OBJECT: UNIT ends the sums, ENDS begins the counts of the ends at the
 * limit.
 */
static void add_account_json(json_t *object, struct ft_account *a, const char *unit,
                             const char *ends)
{
  static const struct {
    const char *name;
    ft_action action;
  } changes[] = { { "set", FT_ACTION_SET },
                  { "raised", FT_ACTION_RAISE },
                  { "lowered", FT_ACTION_TRIM } };
  double error = ft_report_error(a);

  json_object_set_new(object, "predicted", json_integer((json_int_t)a->predicted));
  json_object_set_new(object, "median_error", ft_json_number(error >= 0, error));
  json_object_set_new(object, "coverage90",
                      ft_json_number(a->with_interval, ft_report_coverage(a)));
  set_json(object, "asked_", unit, ft_json_number(a->weighed, a->asked));
  set_json(object, "used_", unit, ft_json_number(a->weighed, a->used));
  set_json(object, "saved_", unit, ft_json_number(a->weighed || a->saved != 0, a->saved));
  set_json(object, ends, "_suffered", json_integer((json_int_t)a->suffered));
  set_json(object, ends, "_avoided", json_integer((json_int_t)a->avoided));
  set_json(object, ends, "_caused", json_integer((json_int_t)a->caused));
  for (size_t i = 0; i < sizeof changes / sizeof *changes; i++)
    json_object_set_new(object, changes[i].name,
                        json_integer((json_int_t)a->decided[changes[i].action]));
  set_json(object, "freed_", unit, ft_json_number(true, a->freed));
  set_json(object, "added_", unit, ft_json_number(true, a->added));
  set_json(object, "lost_", unit, ft_json_number(true, a->lost));
}

static json_t *tally_json(struct ft_report_tally *t, double grams)
{
  json_t *object = json_object(), *time = json_object();
  double kwh = t->joules / FT_JOULES_PER_KWH;

  json_object_set_new(object, "runs", json_integer((json_int_t)t->runs));
  json_object_set_new(object, "completed", json_integer((json_int_t)t->completed));
  json_object_set_new(object, "censored", json_integer((json_int_t)t->censored));
  add_account_json(object, &t->of[FT_QUANTITY_MEMORY], "gbh", "ooms");
  json_object_set_new(object, "rejections", json_integer((json_int_t)t->rejected));
  json_object_set_new(object, "overrides", json_integer((json_int_t)t->overrides));
  json_object_set_new(object, "overrides_out_of_memory",
                      json_integer((json_int_t)t->overrides_died));
  add_account_json(time, &t->of[FT_QUANTITY_RUNTIME], "hours", "timeouts");
  json_object_set_new(object, ft_quantities[FT_QUANTITY_RUNTIME].name, time);
  json_object_set_new(object, "energy_runs", json_integer((json_int_t)t->energy_runs));
  json_object_set_new(object, "energy_kwh", ft_json_number(t->energy_runs, kwh));
  json_object_set_new(object, "co2_grams",
                      ft_json_number(t->energy_runs && grams > 0, kwh * grams));
  return object;
}

static int print_report_json(struct report *report)
{
  json_t *apps = json_array();

  for (size_t i = 0; i < report->apps.count; i++) {
    const struct ft_app_name *name = &report->apps.name[i];
    json_t *app = tally_json(&report->tally[i], report->grams);

    json_object_set_new(app, "app", ft_json_text(name->app));
    json_object_set_new(app, "uid", json_integer(name->uid));
    json_object_set_new(
        app, "user", report->tally[i].user[0] ? ft_json_text(report->tally[i].user) : json_null());
    json_array_append_new(apps, app);
  }
  return ft_json_print(
      json_pack("{s:o, s:o}", "apps", apps, "total", tally_json(&report->total, report->grams)));
}

static const char *show_percent(bool has, double part, char out[16])
{
  (void)snprintf(out, 16, has ? "%.*f %%" : "-", part < 0.0995 ? 1 : 0, 100 * part);
  return out;
}

static const char *show_sum(bool has, double sum, char out[16])
{
  int decimals = fabs(sum) < 0.0995 ? 4 : fabs(sum) < 99.5 ? 2 : 0;

  if (fabs(sum) < 0.00005)
    sum = 0; /* no "-0.0000" */
  (void)snprintf(out, 16, has ? "%.*f" : "-", decimals, sum);
  return out;
}

/* How the table of a quantity is printed. */
static const struct table {
  size_t quantity;
  const char *unit; /* of the sums */
  const char *ends; /* runs that the limit ended */
} tables[] = { { FT_QUANTITY_MEMORY, "GBh", "OOMS" }, { FT_QUANTITY_RUNTIME, "h", "TIMEOUTS" } };

static void print_tally_row(const struct table *table, const char *app, const char *user,
                            struct ft_report_tally *t)
{
  struct ft_account *a = &t->of[table->quantity];
  double error = ft_report_error(a);
  char text[5][16];

  ft_print_column(app, 28);
  printf(" ");
  ft_print_column(user, 10);
  printf(" %7" PRIu64 " %7s %8s %10s %10s %10s %*" PRIu64 " %7" PRIu64 " %6" PRIu64 "\n", t->runs,
         show_percent(error >= 0, error, text[0]),
         show_percent(a->with_interval, ft_report_coverage(a), text[1]),
         show_sum(a->weighed, a->asked, text[2]), show_sum(a->weighed, a->used, text[3]),
         show_sum(a->weighed || a->saved != 0, a->saved, text[4]),
         (int)fmax(5, (double)strlen(table->ends)), a->suffered, a->avoided, a->caused);
}

/* Prints the effect of the decisions on the limits of a quantity, over all runs shown. */
static void print_worth(const struct table *table, const struct ft_account *a)
{
  char text[3][16];

  printf("%s: %" PRIu64 " set, %" PRIu64 " raised, %" PRIu64 " lowered; %s %s freed, %s %s added,"
         " %s %s lost in %" PRIu64 " run%s that foretell's limit %s\n",
         table->quantity == FT_QUANTITY_MEMORY ? "requests" : "time limits",
         a->decided[FT_ACTION_SET], a->decided[FT_ACTION_RAISE], a->decided[FT_ACTION_TRIM],
         show_sum(true, a->freed, text[0]), table->unit, show_sum(true, a->added, text[1]),
         table->unit, show_sum(true, a->lost, text[2]), table->unit, a->caused,
         ft_plural(a->caused), table->quantity == FT_QUANTITY_MEMORY ? "killed" : "ended");
}

static void print_table(const struct table *table, struct report *report)
{
  char sums[3][16];

  (void)snprintf(sums[0], sizeof *sums, "ASKED %s", table->unit);
  (void)snprintf(sums[1], sizeof *sums, "USED %s", table->unit);
  (void)snprintf(sums[2], sizeof *sums, "SAVED %s", table->unit);
  printf("%-28s %-10s %7s %7s %8s %10s %10s %10s %5s %7s %6s\n", "APP", "USER", "RUNS", "ERROR",
         "COVERAGE", sums[0], sums[1], sums[2], table->ends, "AVOIDED", "CAUSED");
  for (size_t i = 0; i < report->apps.count; i++)
    print_tally_row(table, report->apps.name[i].app, report->tally[i].user, &report->tally[i]);
  print_tally_row(table, "total", "", &report->total);
  print_worth(table, &report->total.of[table->quantity]);
}

static void print_energy_line(const struct report *report)
{
  const struct ft_report_tally *t = &report->total;
  char text[32];

  if (!t->energy_runs)
    return;
  printf("energy: %.3g kWh in the %" PRIu64 " of %" PRIu64 " run%s where it was measured",
         t->joules / FT_JOULES_PER_KWH, t->energy_runs, t->runs, ft_plural(t->runs));
  if (report->grams > 0)
    printf("; %.3g g of CO2 at %.4g g/kWh", t->joules / FT_JOULES_PER_KWH * report->grams,
           report->grams);
  printf("; a run needs %s\n",
         ft_units_show_joules(t->joules / (double)t->energy_runs, text, sizeof text));
}

/* Returns whether the limits or predictions of A's runs are known. */
static bool has_entries(const struct ft_account *a)
{
  return a->weighed || a->predicted || a->suffered;
}

static int print_report_text(const char *name, struct report *report)
{
  const struct ft_report_tally *t = &report->total;

  for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
    if (!i || has_entries(&t->of[tables[i].quantity])) {
      if (i)
        printf("\n%s\n", ft_quantities[tables[i].quantity].title);
      print_table(&tables[i], report);
      if (!i && (t->rejected || t->overrides))
        printf("rejections: %" PRIu64 " submission%s rejected, %" PRIu64
               " overridden (force), of which %" PRIu64 " ran out of memory\n",
               t->rejected, ft_plural(t->rejected), t->overrides, t->overrides_died);
    }
  print_energy_line(report);
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
  else {
    report.grams = records->config.co2_grams_per_kwh;
    status = json ? print_report_json(&report) : print_report_text(name, &report);
  }
  for (size_t i = 0; i < report.apps.count && i < report.room; i++)
    ft_report_free(&report.tally[i]);
  ft_report_free(&report.total);
  free(report.tally);
  free(report.several);
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
