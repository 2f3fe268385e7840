/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * foretell relative predicts the speed of a table's runs on other platforms. A model file makes the
 * predictions; without one, each row is predicted by cross-validation over groups of rows.
 * foretell train relative fits the model and writes the file.
 */
#include "config.h"

#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "predictor/cli/relative/relative.h"
#include "predictor/cli/model/relative_store.h"
#include "predictor/core/io.h"
#include "predictor/core/text.h"

struct options {
  struct ft_relative_reading reading;
  const char *from, *learner, *model, *output, *plot, *state;
  unsigned long trees, seed, folds, which;
  bool json, store;
};

enum {
  TREES = 150, /* default of trees per forest; bounds time, as more never err more (Breiman 2001) */
  SEED = 1,    /* default seed */
  MAX_TREES = 2000, /* trees per forest */
  MAX_FOLDS = 1000  /* cross-validation folds */
};

/* Options shared by both commands. */
/* clang-format off */
#define TABLE_OPTIONS(o)                                                                          \
  { 0, "from", "PLATFORM", "the platform with known times; default: most measured",               \
    FT_OPTION_STRING, &(o).from },                                                                \
  { 'g', "group", "LIST", "columns that define a group, held out together",                       \
    FT_OPTION_STRING, &(o).reading.groups },                                                      \
  { 'f', "features", "LIST", "feature columns; default: all columns of numbers",                  \
    FT_OPTION_STRING, &(o).reading.features },                                                    \
  { 0, "platforms", "LIST", "platforms to use; default: all",                                     \
    FT_OPTION_STRING, &(o).reading.platforms }
#define LEARNER_OPTIONS(o)                                                                        \
  { 0, "learner", "LIST", "use these, without selection; default: best, a mixture",               \
    FT_OPTION_STRING, &(o).learner },                                                             \
  { 0, "trees", "N", "trees in a forest, 3 to 2000 (150)", FT_OPTION_COUNT, &(o).trees },               \
  { 0, "seed", "N", "seed of all random choices (1)", FT_OPTION_COUNT, &(o).seed }
#define STORE_OPTIONS(o)                                                                          \
  { 0, "store", NULL, "read the agent's observations instead of a table",                         \
    FT_OPTION_FLAG, &(o).store },                                                                 \
  { 0, "state", "DIR", "the state directory of the store", FT_OPTION_STRING, &(o).state },              \
  { 'j', "json", NULL, "print one JSON object", FT_OPTION_FLAG, &(o).json }
/* clang-format on */

/* Fills S from the options. Returns FT_EXIT_DONE, or prints an error and returns FT_EXIT_USAGE. */
static int make_settings(const struct options *o, const struct ft_relative_table *t,
                         const char *command, struct ft_relative_settings *s)
{
  struct ft_error err;

  *s = (struct ft_relative_settings){ 0 };
  s->trees = (unsigned)o->trees;
  s->seed = o->seed;
  s->unvalidated = strcmp(o->learner, "best") != 0;
  s->learners = ft_relative_learners(s->unvalidated ? o->learner : NULL);
  if (!s->learners)
    return ft_print_error(
        command, FT_EXIT_USAGE,
        "--learner=%s: expected best, or names of constant, trees, forest, boosting, "
        "ridge, ridge_trees, few_trees, process, rate_trees, "
        "rate_process, work_process, work_rates, autoencoder",
        o->learner);
  if (o->trees < 3 || o->trees > MAX_TREES || o->folds > MAX_FOLDS)
    return ft_print_error(command, FT_EXIT_USAGE, "expected 3 to %d trees and at most %d folds",
                          MAX_TREES, MAX_FOLDS);
  s->from = ft_relative_source(t, o->from, &err);
  return s->from == SIZE_MAX ? ft_print_error(command, FT_EXIT_USAGE, "%s", err.text)
                             : FT_EXIT_DONE;
}

static void warn_zero_times(const struct ft_relative_table *t, const char *command)
{
  if (t->zeros)
    (void)ft_print_error(command, 0, "skipped %zu time%s of 0 (not measured)", t->zeros,
                         ft_plural(t->zeros));
}

/* ---- JSON ---- */

static json_t *names_json(const ft_relative_name *names, size_t count)
{
  json_t *list = json_array();

  for (size_t i = 0; i < count; i++)
    json_array_append_new(list, json_string(names[i]));
  return list;
}

static json_t *numbers_json(const double *value, size_t count)
{
  json_t *list = json_array();

  for (size_t i = 0; i < count; i++)
    json_array_append_new(list, ft_json_number(true, value[i]));
  return list;
}

static json_t *learners_json(const ft_relative_model *m)
{
  json_t *all = json_object();
  struct ft_relative_part part;

  for (size_t i = 0; ft_relative_part(m, i, &part); i++)
    if (part.weight > 0 || !isnan(part.held_out_error))
      json_object_set_new(all, part.name,
                          json_pack("{s:o, s:o}", "weight", ft_json_number(true, part.weight),
                                    "held_out_error", ft_json_number(true, part.held_out_error)));
  return all;
}

static json_t *trial_json(const struct ft_relative_table *t, const struct ft_relative_trial *y,
                          const struct ft_relative_score *s)
{
  json_t *rows = json_array();
  size_t n = t->platforms;

  for (size_t r = 0; r < t->rows; r++)
    json_array_append_new(rows, json_pack("{s:s, s:o, s:o, s:o, s:o}", "app", t->label[r], "speed",
                                          numbers_json(y->speed + r * n, n), "p05",
                                          numbers_json(y->low + r * n, n), "p95",
                                          numbers_json(y->high + r * n, n), "measured_speed",
                                          numbers_json(y->measured + r * n, n)));
  return json_pack("{s:o, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "platforms",
                   names_json(t->platform, n), "from", t->platform[y->from], "rows", rows, "r2",
                   ft_json_number(true, s->r2), "pairwise_order", ft_json_number(true, s->order),
                   "vector_order", ft_json_number(true, s->vectors), "chosen_slowdown",
                   ft_json_number(true, s->chosen), "median_error", ft_json_number(true, s->error),
                   "coverage90", ft_json_number(true, s->coverage), "platform_r2",
                   numbers_json(s->platform_r2, n));
}

/* ---- without a model: cross-validation ---- */

static const char *format_figure(double value, char out[16])
{
  (void)snprintf(out, 16, isfinite(value) ? "%.3f" : "-", value);
  return out;
}

static void print_trial(const struct ft_relative_table *t, const struct ft_relative_trial *y,
                        const struct ft_relative_score *s)
{
  char a[16], b[16], c[16], d[16];

  printf("%zu rows, %zu features, from %s; every row predicted by a model of the other groups\n"
         "%-24s %8s %12s\n",
         t->rows, t->features, t->platform[y->from], "platform", "R2", "median error");
  for (size_t p = 0; p < t->platforms; p++)
    if (p != y->from)
      printf("%-24s %8s %10s %%\n", t->platform[p], format_figure(s->platform_r2[p], a),
             format_figure(100 * s->platform_error[p], b));
  printf("R2 %s, pairs in order %s %%, chosen platform %s times as slow as the fastest, "
         "median error %s %%\n",
         format_figure(s->r2, a), format_figure(100 * s->order, b), format_figure(s->chosen, c),
         format_figure(100 * s->error, d));
  printf("90 %% interval: %s %% of the times within\n", format_figure(100 * s->coverage, a));
}

static int run_trial(const struct options *o, const struct ft_relative_table *t)
{
  struct ft_relative_settings settings;
  struct ft_relative_trial trial = { 0 };
  struct ft_relative_score score;
  struct ft_progress progress;
  struct ft_error err;
  int status = make_settings(o, t, "relative", &settings);

  if (status != FT_EXIT_DONE)
    return status;
  ft_progress_start(&progress, "relative", 0);
  status = FT_EXIT_USAGE;
  if (ft_relative_try(t, &settings, o->folds, &progress, &trial, &err) < 0 ||
      ft_relative_score(&trial, &score, &err) < 0) {
    ft_progress_end(&progress);
    (void)ft_print_error("relative", 0, "%s", err.text);
    goto out;
  }
  ft_progress_end(&progress);
  status = FT_EXIT_DONE;
  if (o->plot && ft_relative_plot(t, &trial, o->plot, &err) < 0)
    status = ft_print_error("relative", FT_EXIT_SYSTEM, "%s", err.text);
  else if (o->json)
    status = ft_json_print(trial_json(t, &trial, &score));
  else
    print_trial(t, &trial, &score);
out:
  ft_relative_trial_free(&trial);
  return status;
}

/* ---- prediction with a model ---- */

/* Warns about model features missing in the table and table platforms missing in the model. */
static void warn_name_differences(const struct ft_relative_facts *m,
                                  const struct ft_relative_table *t)
{
  size_t absent = 0;

  for (size_t f = 0; f < m->features; f++)
    absent += !FT_ROWS_ROW_INLINED(t->feature, t->features, m->feature[f]);
  if (absent)
    (void)ft_print_error("relative", 0,
                         "%zu of the model's %zu features are not in the table; they count "
                         "as missing",
                         absent, m->features);
  for (size_t p = 0; p < t->platforms; p++)
    if (!FT_ROWS_ROW_INLINED(m->platform, m->platforms, t->platform[p]))
      (void)ft_print_error("relative", 0, "platform %s is not in the model; its times are ignored",
                           t->platform[p]);
}

static void print_answer(const struct ft_relative_facts *m, const char *label, double seconds,
                         const struct ft_relative_prediction *a)
{
  printf("%s\n", label);
  for (size_t p = 0; p < m->platforms; p++) {
    printf("  %-24s %8.3f times as fast (90 %%: %.3f to %.3f)", m->platform[p], a->speed[p],
           a->low[p], a->high[p]);
    if (isnan(seconds))
      printf("\n");
    else
      printf(", time %.6g\n", seconds / a->speed[p]);
  }
}

/* foretell relative --model: predicts the speeds of T's rows, relative to the model's first
 * platform, which is the source, by the model in O->model. Rows lack what T lacks. Returns the exit
 * status. */
static int run_model(const struct options *o, const struct ft_relative_table *t)
{
  ft_relative_model *model;
  struct ft_relative_facts m;
  double x[FT_RELATIVE_FEATURES], seconds[FT_RELATIVE_PLATFORMS];
  json_t *rows = o->json ? json_array() : NULL, *answer;
  struct ft_relative_prediction a;
  struct ft_error err;
  int status = FT_EXIT_USAGE;

  model = ft_relative_open(o->model, &err);
  if (!model)
    goto fail;
  ft_relative_describe(model, &m);
  warn_name_differences(&m, t);
  for (size_t r = 0; r < t->rows; r++) {
    for (size_t f = 0; f < m.features; f++) {
      size_t at = FT_ROWS_FIND_INLINED(t->feature, t->features, m.feature[f]);

      x[f] = at < t->features ? t->x[r * t->features + at] : NAN;
    }
    for (size_t p = 0; p < m.platforms; p++) {
      size_t at = FT_ROWS_FIND_INLINED(t->platform, t->platforms, m.platform[p]);

      seconds[p] = at < t->platforms ? t->seconds[r * t->platforms + at] : NAN;
    }
    if (ft_relative_predict(model, x, seconds, &a, &err) < 0)
      goto fail;
    if (rows)
      json_array_append_new(rows, json_pack("{s:s, s:o, s:o, s:o}", "app", t->label[r], "speed",
                                            numbers_json(a.speed, m.platforms), "p05",
                                            numbers_json(a.low, m.platforms), "p95",
                                            numbers_json(a.high, m.platforms)));
    else
      print_answer(&m, t->label[r], seconds[0], &a);
  }
  status = FT_EXIT_DONE;
  if (rows) {
    answer =
        json_pack("{s:o, s:s, s:o, s:o}", "platforms", names_json(m.platform, m.platforms), "from",
                  m.platform[0], "rows", json_incref(rows), "learners", learners_json(model));
    status = ft_json_print(answer);
  }
  goto out;
fail:
  (void)ft_print_error("relative", 0, "%s", err.text);
out:
  json_decref(rows);
  ft_relative_close(model);
  return status;
}

/* ---- selection of runs to measure ---- */

static int run_which(const struct options *o, const struct ft_relative_table *t)
{
  size_t *which = NULL, *share = NULL, from;
  size_t room = o->which < FT_RELATIVE_ROWS ? o->which : FT_RELATIVE_ROWS;
  json_t *rows = o->json ? json_array() : NULL;
  struct ft_error err;
  int status = FT_EXIT_USAGE;

  which = calloc(room + 1, sizeof *which);
  share = calloc(room + 1, sizeof *share);
  from = ft_relative_source(t, o->from, &err);
  if (!which || !share)
    ft_error_set(&err, "out of memory");
  if (!which || !share || from == SIZE_MAX ||
      ft_relative_which(t, from, o->which, o->seed, which, share, &err) < 0) {
    (void)ft_print_error("relative", 0, "%s", err.text);
    goto out;
  }
  status = FT_EXIT_DONE;
  for (size_t k = 0; k < o->which; k++)
    if (rows)
      json_array_append_new(rows,
                            json_pack("{s:s, s:I, s:I}", "app", t->label[which[k]], "row",
                                      (json_int_t)which[k], "stands_for", (json_int_t)share[k]));
    else
      printf("%-40s stands for %zu row%s\n", t->label[which[k]], share[k], ft_plural(share[k]));
  if (rows)
    status = ft_json_print(json_pack("{s:s, s:O}", "from", t->platform[from], "which", rows));
out:
  free(which);
  free(share);
  json_decref(rows);
  return status;
}

/* Reads the table from the store, or from the file that follows NOUNS operands in ARGV.
 * Returns FT_EXIT_DONE, or prints an error and returns FT_EXIT_USAGE. */
static int read_relative_table(const struct options *o, int argc, char **argv, int first, int nouns,
                               struct ft_store_access *records, struct ft_relative_table *t)
{
  struct ft_error err;
  int status;

  if (argc - first != nouns + !o->store)
    return ft_print_error(argv[0], FT_EXIT_USAGE,
                          "expected one DATA.csv, or --store without a file");
  if (o->store && (o->reading.features || o->reading.groups || o->reading.platforms))
    return ft_print_error(argv[0], FT_EXIT_USAGE,
                          "--features, --group and --platforms need a table, not --store");
  if (o->state && !o->store)
    return ft_print_error(argv[0], FT_EXIT_USAGE, "--state needs --store");
  status = o->store ? ft_relative_read_store(o->state, records, t, &err)
                    : ft_relative_read(argv[first + nouns], &o->reading, t, &err);
  if (status < 0)
    return ft_print_error(argv[0], FT_EXIT_USAGE, "%s", err.text);
  warn_zero_times(t, argv[0]);
  return FT_EXIT_DONE;
}

/* Whether O has an option of a fit, which a fitted model does not use. */
static bool has_fit_option(const struct options *o)
{
  return o->from || o->folds || strcmp(o->learner, "best") != 0 || o->trees != TREES ||
         o->seed != SEED;
}

int ft_command_relative(int argc, char **argv)
{
  struct options o = { .learner = "best", .trees = TREES, .seed = SEED, .which = ULONG_MAX };
  const struct ft_option options[] = {
    { 'm', "model", "FILE", "predict with this model of foretell train relative", FT_OPTION_STRING,
      &o.model },
    TABLE_OPTIONS(o),
    { 0, "folds", "N", "parts to hold out; default: each group, 10 parts of more than 60",
      FT_OPTION_COUNT, &o.folds },
    { 0, "which", "N", "show which N runs to measure on a new platform", FT_OPTION_COUNT,
      &o.which },
    LEARNER_OPTIONS(o),
    { 0, "plot", "PREFIX", "draw PREFIX-distribution.svg, -vector, -order, -error and -roc",
      FT_OPTION_STRING, &o.plot },
    STORE_OPTIONS(o),
    { 0 }
  };
  struct ft_relative_table t = { 0 };
  struct ft_store_access records = { .state_fd = -1 };
  int status, first;

  first = ft_options_parse(options, "[OPTION]... DATA.csv|--store",
                           "Predicts how fast the runs of a table are on other platforms.",
                           FT_OPERANDS_ANY, argc, argv, &status);
  if (first < 0)
    return status;
  if (o.model && o.plot)
    return ft_print_error(argv[0], FT_EXIT_USAGE, "--plot and --model exclude one another");
  if (o.model && has_fit_option(&o))
    return ft_print_error(
        argv[0], FT_EXIT_USAGE,
        "--from, --folds, --learner, --trees and --seed set how a model is fitted; "
        "--model is fitted already");
  if (o.which != ULONG_MAX && (o.model || o.plot))
    return ft_print_error(argv[0], FT_EXIT_USAGE, "--which excludes --model and --plot");
  status = read_relative_table(&o, argc, argv, first, 0, &records, &t);
  if (status == FT_EXIT_DONE)
    status = o.which != ULONG_MAX ? run_which(&o, &t)
             : o.model            ? run_model(&o, &t)
                                  : run_trial(&o, &t);
  ft_relative_table_free(&t);
  ft_store_access_close(&records);
  return status;
}

/* ---- foretell train relative ---- */

struct learning {
  struct ft_progress progress;
  double learners; /* fitted so far */
};

/* Stop callback, called before each learner is fitted. Returns false: training never stops. */
static bool count_fitted_learner(void *data)
{
  struct learning *l = data;

  ft_progress_step(&l->progress, l->learners++);
  return false;
}

static void print_model(const char *path, const ft_relative_model *model,
                        const struct ft_relative_facts *m)
{
  struct ft_relative_part part;

  printf("%s: from %s to %zu platforms, learnt from %zu rows", path, m->platform[0],
         m->platforms - 1, m->rows);
  if (!isnan(m->held_out_error))
    printf("; typically within a factor of %.2f on rows held out", exp(m->held_out_error));
  printf("\n");
  for (size_t i = 0; ft_relative_part(model, i, &part); i++)
    if (part.weight > 0)
      printf("  %-12s %3.0f %%\n", part.name, 100 * part.weight);
}

static int train_model(const struct options *o, const struct ft_relative_table *t)
{
  struct ft_relative_settings settings;
  struct ft_relative_facts m;
  ft_relative_model *model;
  struct learning learning = { .learners = 0 };
  struct ft_error err;
  int status = make_settings(o, t, "train", &settings);

  if (status != FT_EXIT_DONE)
    return status;
  status = FT_EXIT_USAGE;
  ft_progress_start(&learning.progress, "train", 0);
  settings.stop = count_fitted_learner;
  settings.data = &learning;
  model = ft_relative_train(t, NULL, &settings, &err);
  ft_progress_end(&learning.progress);
  if (model)
    ft_relative_describe(model, &m);
  if (!model || ft_relative_save(model, o->output, o->store ? 0600 : 0644, &err) < 0) {
    (void)ft_print_error("train", 0, "%s", err.text);
  } else if (o->json) {
    status = ft_json_print(json_pack("{s:o, s:s, s:i, s:o, s:o}", "platforms",
                                     names_json(m.platform, m.platforms), "from", m.platform[0],
                                     "rows", (int)m.rows, "learners", learners_json(model),
                                     "held_out_error", ft_json_number(true, m.held_out_error)));
  } else {
    status = FT_EXIT_DONE;
    print_model(o->output, model, &m);
  }
  ft_relative_close(model);
  return status;
}

/* Gives the model that root has written as PATH to the learner's user. Returns the exit status. */
static int give_model_to_learner(const char *path)
{
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  int status = fd < 0 ? -1 : ft_io_give_to_owner(fd, path);
  struct ft_error err;

  if (status < 0)
    ft_error_errno(&err, "%s", path);
  if (fd >= 0)
    close(fd);
  return status < 0 ? ft_print_error("train", FT_EXIT_SYSTEM, "%s", err.text) : FT_EXIT_DONE;
}

int ft_command_train(int argc, char **argv)
{
  struct options o = { .learner = "best", .trees = TREES, .seed = SEED };
  const struct ft_option options[] = {
    { 'o', "output", "FILE", "file of the model; with --store: relative.model in its directory",
      FT_OPTION_STRING, &o.output },
    TABLE_OPTIONS(o),
    LEARNER_OPTIONS(o),
    STORE_OPTIONS(o),
    { 0 }
  };
  struct ft_relative_table t = { 0 };
  struct ft_store_access records = { .state_fd = -1 };
  char path[PATH_MAX + 64];
  int status, first;

  first = ft_options_parse(options, "relative [OPTION]... DATA.csv|--store",
                           "Trains the cross-platform model of foretell relative from a table.",
                           FT_OPERANDS_ANY, argc, argv, &status);
  if (first < 0)
    return status;
  if (argc == first || strcmp(argv[first], "relative") != 0)
    return ft_print_error(argv[0], FT_EXIT_USAGE, "expected \"relative\" and one DATA.csv");
  if (!o.output && !o.store)
    return ft_print_error(argv[0], FT_EXIT_USAGE, "missing --output=FILE");
  status = read_relative_table(&o, argc, argv, first, 1, &records, &t);
  if (status == FT_EXIT_DONE) {
    bool in_state = !o.output;

    if (in_state)
      ft_relative_store_path(&records, path, sizeof path);
    o.output = in_state ? path : o.output;
    status = train_model(&o, &t);
    if (in_state && status == FT_EXIT_DONE)
      status = give_model_to_learner(path);
  }
  ft_relative_table_free(&t);
  ft_store_access_close(&records);
  return status;
}
