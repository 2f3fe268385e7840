/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * foretell fit: an equation for a column of a table. Splits the rows at random, or by a column,
 * into training and test part; the test part influences no choice. With several seeds it prints
 * medians over the splits, and with --json every test error.
 */
#include "config.h"

#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/cli/cli.h"
#include "predictor/cli/fit/fit.h"
#include "predictor/core/sort.h"
#include "predictor/core/text.h"

enum {
  SEEDS = 1000,
  DIGITS = 4 /* significant digits of a coefficient */
};

/* rows; below it an equation with five constants often fits by chance (two rows per constant) */
enum { FEW_ROWS = 10 };

struct options {
  const char *target, *features, *held, *method, *unit;
  double test;
  unsigned long seed, seeds, population, generations, tournament, digits;
  struct ft_fit_settings search; /* derived from the options above */
  bool front, skips, json;
};

static const char *const method_names[FT_FIT_METHODS] = {
  [FT_FIT_SYMBOLIC] = "symbolic", [FT_FIT_LINEAR] = "linear", [FT_FIT_LOGLINEAR] = "loglinear"
};

/* ---- printing ---- */

static double median_outcome(const struct ft_outcome *out, size_t count, size_t offset)
{
  double value[SEEDS];

  for (size_t i = 0; i < count; i++)
    memcpy(&value[i], (const char *)&out[i] + offset, sizeof *value);
  return ft_sort_median(value, count);
}

static json_t *outcome_json(const struct ft_outcome *out, size_t count)
{
  json_t *spread = json_array();

  for (size_t i = 0; i < count; i++)
    json_array_append_new(spread, ft_json_number(true, out[i].test_mape));
  return json_pack(
      "{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:o}", "equation", out[0].equation, "latex",
      out[0].latex[0] ? json_string(out[0].latex) : json_null(), "train_mape",
      ft_json_number(true, median_outcome(out, count, offsetof(struct ft_outcome, train_mape))),
      "test_mape",
      ft_json_number(true, median_outcome(out, count, offsetof(struct ft_outcome, test_mape))),
      "r2", ft_json_number(true, median_outcome(out, count, offsetof(struct ft_outcome, r2))),
      "seconds",
      ft_json_number(true, median_outcome(out, count, offsetof(struct ft_outcome, seconds))),
      "test_mapes", spread, "cancelled", out[count - 1].cancelled, "front",
      out[0].front ? json_incref(out[0].front) : json_null());
}

/* Formats PERCENT as "12.34 %", or as a dash without a test part. */
static const char *format_error(double percent, char out[16])
{
  if (isfinite(percent))
    (void)snprintf(out, 16, percent < 1e5 ? "%8.2f %%" : "%8.2g %%", percent);
  else
    (void)snprintf(out, 16, "%8s  ", "-");
  return out;
}

static void print_outcome(const char *name, const struct ft_outcome *out, size_t count)
{
  double r2 = median_outcome(out, count, offsetof(struct ft_outcome, r2));
  char train[16], test[16], fit[16];

  (void)snprintf(fit, sizeof fit, !isfinite(r2) ? "-" : r2 > -999 ? "%.4f" : "%.1e", r2);
  printf("%-10s %s %s %8s %8.3f s  %s%s\n", name,
         format_error(median_outcome(out, count, offsetof(struct ft_outcome, train_mape)), train),
         format_error(median_outcome(out, count, offsetof(struct ft_outcome, test_mape)), test),
         fit, median_outcome(out, count, offsetof(struct ft_outcome, seconds)), out[0].equation,
         out[count - 1].cancelled ? " (the best so far)" : "");
}

/* Prints the Pareto front of the first split, one equation per line. */
static void print_pareto_front(const json_t *front)
{
  size_t i;
  json_t *p;

  printf("%-10s %10s %10s  equation\n", "length", "train", "validated");
  json_array_foreach ((json_t *)(uintptr_t)front, i, p)
    printf("%s %8lld %8.2f %% %8.2f %%  %s\n",
           json_is_true(json_object_get(p, "chosen")) ? ">" : " ",
           (long long)json_integer_value(json_object_get(p, "length")),
           json_number_value(json_object_get(p, "train_mape")),
           json_number_value(json_object_get(p, "validated_mape")),
           json_string_value(json_object_get(p, "equation")));
}

static volatile sig_atomic_t interrupted;

static void note_interrupt(int signal)
{
  (void)signal;
  interrupted = 1;
}

static bool is_not_interrupted(void)
{
  return !interrupted;
}

/* Buffers for the split of one seed, and the features selected for each split. */
struct work {
  struct ft_split split;
  size_t *order;
  struct ft_choice *choices; /* by seed, shared by all methods; NULL: use all features */
};

static void close_work(struct work *w)
{
  ft_split_free(&w->split);
  free(w->order);
  free(w->choices);
}

static int open_work(const struct ft_table *t, const struct options *o, struct work *w,
                     struct ft_error *err)
{
  struct ft_progress progress;
  int status = 0;

  w->order = malloc(t->rows * sizeof *w->order);
  if (!w->order || ft_split_open(t, &w->split) < 0)
    return ft_error_errno(err, "fit");
  if (t->columns <= FT_FIT_FEATURES)
    return 0;
  w->choices = calloc(o->seeds, sizeof *w->choices);
  if (!w->choices)
    return ft_error_errno(err, "fit");
  ft_progress_start(&progress, "features", (double)o->seeds);
  for (size_t i = 0; status == 0 && i < o->seeds; i++) {
    ft_split_draw(t, o->test, o->seed + i, w->order, &w->split);
    status = ft_split_choose(t, &w->split, &w->choices[i], err);
    ft_progress_step(&progress, (double)i + 1);
  }
  ft_progress_end(&progress);
  return status;
}

/* Fits METHOD on every split until interrupted. Appends its outcomes to METHODS_JSON, or prints
 * them. */
static int run_method(int method, const struct ft_table *t, const struct options *o, struct work *w,
                      json_t *methods, struct ft_error *err)
{
  struct ft_outcome *out = calloc(o->seeds, sizeof *out);
  size_t done = 0;
  struct ft_progress progress;
  /* without --primitives, a second search tries one more */
  double turns = (double)o->generations * (o->search.primitives ? 1 : 2);
  struct ft_method_settings settings = {
    o->target, o->unit, (int)o->digits, o->search, is_not_interrupted, &progress, 0
  };
  int status = out ? 0 : ft_error_errno(err, "fit");

  ft_progress_start(&progress, method_names[method], turns * (double)o->seeds);
  while (status == 0 && done < o->seeds && (!interrupted || !done)) {
    ft_split_draw(t, o->test, o->seed + done, w->order, &w->split);
    settings.before = turns * (double)done;
    status = ft_fit_split(method, t, &w->split, w->choices ? &w->choices[done] : NULL, &settings,
                          o->seed + done, &out[done], err);
    done++;
  }
  ft_progress_end(&progress);
  if (status == 0 && methods)
    json_object_set_new(methods, method_names[method], outcome_json(out, done));
  if (status == 0 && !methods)
    print_outcome(method_names[method], out, done);
  if (status == 0 && !methods && o->front && out[0].front)
    print_pareto_front(out[0].front);
  for (size_t i = 0; i < done; i++)
    ft_outcome_free(&out[i]);
  free(out);
  return status;
}

/* Clamps COUNT, so that one beyond a setting's range stays beyond it. */
static unsigned clamp_count(unsigned long count)
{
  return count > UINT_MAX ? UINT_MAX : (unsigned)count;
}

static int parse_search_options(struct options *o)
{
  struct ft_error err;

  o->search.population = clamp_count(o->population);
  o->search.generations = clamp_count(o->generations);
  o->search.tournament = clamp_count(o->tournament);
  return ft_fit_check(&o->search, &err) < 0 ? ft_print_error("fit", -1, "%s", err.text) : 0;
}

static int check_fit_options(const struct options *o)
{
  int known = strcmp(o->method, "all") == 0;

  for (int m = 0; m < FT_FIT_METHODS; m++)
    known |= strcmp(o->method, method_names[m]) == 0;
  if (!o->target)
    return ft_print_error("fit", -1, "missing --target=COLUMN");
  if (!known)
    return ft_print_error("fit", -1, "--method=%s: expected symbolic, linear, loglinear or all",
                          o->method);
  if (!(o->test >= 0 && o->test < 1))
    return ft_print_error("fit", -1, "--test=%g: expected a fraction of at least 0 and below 1",
                          o->test);
  if (o->digits < 1 || o->digits > 17)
    return ft_print_error("fit", -1, "--digits=%lu: expected 1 to 17", o->digits);
  if (o->seeds < 1 || o->seeds > SEEDS)
    return ft_print_error("fit", -1, "--seeds=%lu: expected 1 to %d", o->seeds, SEEDS);
  return 0;
}

/* Returns the fraction of rows that a column holds out. */
static double held_out_fraction(const struct ft_table *t)
{
  size_t held = 0;

  for (size_t r = 0; r < t->rows; r++)
    held += t->held[r];
  return (double)held / (double)t->rows;
}

/* During a search the first interrupt ends it and the best equation so far is printed; a second
 * one ends the command, as the first does at any other time. An ignored SIGINT (nohup) stays
 * ignored. */
static int run_search(const struct ft_table *t, const struct options *o, struct work *w,
                      json_t *methods, struct ft_error *err)
{
  struct sigaction action = { .sa_handler = note_interrupt, .sa_flags = (int)SA_RESETHAND }, prior;
  int status;

  (void)sigaction(SIGINT, NULL, &prior);
  if (prior.sa_handler != SIG_IGN)
    (void)sigaction(SIGINT, &action, NULL);
  status = run_method(FT_FIT_SYMBOLIC, t, o, w, methods, err);
  (void)sigaction(SIGINT, &prior, NULL);
  return status;
}

/* Runs the requested methods until interrupted. Returns true if any succeeded. */
static bool run_methods(const struct ft_table *t, const struct options *o, struct work *w,
                        json_t *methods)
{
  bool all = strcmp(o->method, "all") == 0, any = false;
  struct ft_error err;

  for (int m = 0; m < FT_FIT_METHODS; m++) {
    if (!all && strcmp(o->method, method_names[m]) != 0)
      continue;
    if (methods)
      json_object_set_new(methods, method_names[m], json_null());
    if (interrupted)
      continue;
    if ((m == FT_FIT_SYMBOLIC ? run_search(t, o, w, methods, &err)
                              : run_method(m, t, o, w, methods, &err)) == 0)
      any = true;
    else
      (void)ft_print_error("fit", 0, "%s", err.text);
    (void)fflush(stdout);
  }
  return any;
}

static void print_fit_head(const struct ft_table *t, const struct options *o)
{
  char skipped[64] = "";

  if (t->skipped)
    (void)snprintf(skipped, sizeof skipped, ", %zu incomplete ones skipped", t->skipped);
  printf("%zu rows%s, %zu feature%s, %g of the rows held out, %lu seed%s\n", t->rows, skipped,
         t->columns, ft_plural(t->columns), o->test, o->seeds, ft_plural(o->seeds));
  printf("%-10s %10s %10s %8s %10s  equation\n", "method", "train", "test", "R2", "time");
}

static int run_all_methods(const struct ft_table *t, const struct options *o)
{
  struct work w = { .order = NULL };
  json_t *methods = o->json ? json_object() : NULL;
  struct ft_error err;
  bool any = false;
  int status = 0;

  if (open_work(t, o, &w, &err) < 0) {
    status = ft_print_error("fit", FT_EXIT_SYSTEM, "%s", err.text);
    json_decref(methods);
    goto out;
  }
  if (!o->json)
    print_fit_head(t, o);
  any = run_methods(t, o, &w, methods);
  if (o->json)
    status = ft_json_print(json_pack("{s:s, s:i, s:i, s:i, s:f, s:o}", "target", o->target, "rows",
                                     (int)t->rows, "skipped", (int)t->skipped, "seeds",
                                     (int)o->seeds, "test", o->test, "methods", methods));
  else
    status = ft_flush("fit");
  if (status == FT_EXIT_DONE && !any)
    status = FT_EXIT_USAGE;
out:
  close_work(&w);
  return status;
}

/* Warns if T has too few rows: a search then finds equations that fit by chance. */
static void warn_few_rows(const struct ft_table *t, const struct options *o)
{
  size_t rows = t->rows - (size_t)floor(o->test * (double)t->rows + 0.5);

  if (rows < FEW_ROWS &&
      (strcmp(o->method, "all") == 0 || strcmp(o->method, method_names[FT_FIT_SYMBOLIC]) == 0))
    (void)ft_print_error(
        "fit", 0, "warning: an equation from %zu rows may fit them by chance; expected %d or more",
        rows, FEW_ROWS);
}

/* Fits the table at PATH by the options. */
static int run_fit(const char *path, struct options *o)
{
  struct ft_table t = { .skips = o->skips };
  struct ft_error err;
  int status;

  if (check_fit_options(o) < 0 || parse_search_options(o) < 0)
    return FT_EXIT_USAGE;
  if (ft_table_read(path, o->target, o->features, o->held, &t, &err) < 0)
    status = ft_print_error("fit", FT_EXIT_USAGE, "%s", err.text);
  else {
    if (t.held)
      o->test = held_out_fraction(&t);
    warn_few_rows(&t, o);
    status = run_all_methods(&t, o);
  }
  ft_table_free(&t);
  if (interrupted) {
    /* die by the signal: the parent shell sees the interrupt and ends its script */
    (void)signal(SIGINT, SIG_DFL);
    (void)raise(SIGINT);
  }
  return status;
}

int ft_command_fit(int argc, char **argv)
{
  struct options o = { .method = "symbolic",
                       .test = 0.3,
                       .seed = 1,
                       .seeds = 1,
                       .population = 300,
                       .generations = 150,
                       .tournament = 3,
                       .digits = DIGITS };
  const struct ft_option options[] = {
    { 't', "target", "COLUMN", "the column to model", FT_OPTION_STRING, &o.target },
    { 'f', "features", "LIST", "feature columns, separated by commas; default: all others",
      FT_OPTION_STRING, &o.features },
    { 'm', "method", "NAME", "symbolic (default), linear, loglinear or all", FT_OPTION_STRING,
      &o.method },
    { 0, "skip-missing", NULL, "skip rows that lack a number", FT_OPTION_FLAG, &o.skips },
    { 0, "test", "PART", "fraction of the rows to hold out (0.3)", FT_OPTION_DOUBLE, &o.test },
    { 0, "held", "COLUMN", "hold out the rows in which COLUMN is not 0, instead of --test",
      FT_OPTION_STRING, &o.held },
    { 0, "seed", "N", "seed of the split and of the search (1)", FT_OPTION_COUNT, &o.seed },
    { 0, "seeds", "K", "fit with K seeds and print medians (1)", FT_OPTION_COUNT, &o.seeds },
    { 0, "population", "N", "equations in a generation (300)", FT_OPTION_COUNT, &o.population },
    { 0, "generations", "N", "number of generations (150)", FT_OPTION_COUNT, &o.generations },
    { 0, "tournament", "N", "equations in a fitness tournament (3)", FT_OPTION_COUNT,
      &o.tournament },
    { 0, "parsimony", "SIZE", "size of the length tournament, 1 to 2 (1.1)", FT_OPTION_DOUBLE,
      &o.search.parsimony },
    { 0, "crossover", "P", "probability of crossover (1)", FT_OPTION_DOUBLE, &o.search.crossover },
    { 0, "mutation", "P", "probability of mutation (0.5)", FT_OPTION_DOUBLE, &o.search.mutation },
    { 0, "primitives", "LIST", "default: add,multiply,square,cube, and min if it helps",
      FT_OPTION_STRING, &o.search.primitives },
    { 0, "drawn-constants", NULL, "keep constants as drawn, do not fit them", FT_OPTION_FLAG,
      &o.search.drawn_constants },
    { 0, "front", NULL, "show the Pareto front of error against length", FT_OPTION_FLAG, &o.front },
    { 0, "digits", "N", "digits of coefficients and powers, 1 to 17 (4)", FT_OPTION_COUNT,
      &o.digits },
    { 'u', "unit", "UNIT", "unit of the target, shown with the equation", FT_OPTION_STRING,
      &o.unit },
    { 'j', "json", NULL, "print one JSON object", FT_OPTION_FLAG, &o.json },
    { 0 }
  };
  int status, first;

  ft_fit_defaults(&o.search);
  first = ft_options_parse(options, "[OPTION]... DATA.csv",
                           "Finds an equation for a column of a table.", 1, argc, argv, &status);
  if (first < 0)
    return status;
  if (first == argc)
    return ft_print_error("fit", FT_EXIT_USAGE, "expected one table; see foretell fit --help");
  return run_fit(argv[first], &o);
}
