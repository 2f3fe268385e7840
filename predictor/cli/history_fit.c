/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Prints an app's fit, and lists the apps that have model files. */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/cli/cli.h"
#include "predictor/cli/model/model_equation.h"
#include "predictor/cli/history.h"
#include "predictor/core/array_grow.h"
#include "predictor/core/io.h"
#include "predictor/core/text.h"
#include "predictor/core/units.h"
#include "predictor/estimate/memory.h"
#include "predictor/estimate/point_prediction.h"
#include "predictor/estimate/quantity.h"
#include "predictor/history/json.h"
#include "predictor/record/state_files.h"

static const char *show_fit_bytes(double value, char out[32])
{
  return ft_units_show_bytes((uint64_t)fmin(fmax(value, 0), 0x1p63), out, 32);
}

/* The effect of OFFSET on the estimate into OUT: "x1.31" if the target is a logarithm, else "+28.3
 * MiB". */
static const char *show_term_effect(const ft_evaluator *e, double offset, char out[40])
{
  char bytes[32];

  if (e->log_target)
    (void)snprintf(out, 40, "x%.3g", exp(offset));
  else
    (void)snprintf(out, 40, "%c%s", offset < 0 ? '-' : '+', show_fit_bytes(fabs(offset), bytes));
  return out;
}

/* The forms of a number (enum ft_term_form), as printed after its unit. */
static const char *const form_names[FT_FORMS] = {
  [FT_FORM_PLAIN] = "",          [FT_FORM_LOG] = " of log(1+x)",
  [FT_FORM_INVERSE] = " of 1/x", [FT_FORM_X_LOG_X] = " of x log(1+x)",
  [FT_FORM_SQUARE] = " of x^2",  [FT_FORM_CUBE] = " of x^3"
};

static enum ft_term_form term_form(const ft_term *term)
{
  return term->form < FT_FORMS ? (enum ft_term_form)term->form : FT_FORM_PLAIN;
}

static void print_term(const ft_model *model, const ft_categories *categories, const ft_term *term)
{
  const ft_column *column = &model->columns[term->column];
  char effect[40];

  if (term->has_aliased_with) {
    printf("  %-20s varied only together with %s: either may have its effect\n", column->name,
           model->columns[term->aliased_with].name);
    return;
  }
  printf("  %-20s", column->name);
  if (column->categorical) {
    for (size_t i = 0; i < term->levels_count && i < column->categories_count; i++)
      printf(" %s %s", ft_category_name(categories, term->column, i),
             show_term_effect(&model->evaluator, term->levels[i], effect));
    printf("\n");
    return;
  }
  printf(" %s per %.4g%s around %.4g, observed from %.6g to %.6g\n",
         show_term_effect(&model->evaluator, term->coefficient, effect), term->scale,
         form_names[term_form(term)], term->mean, term->low, term->high);
}

static void print_equation(const ft_model *model, const ft_categories *categories)
{
  const ft_evaluator *e = &model->evaluator;
  struct ft_buf text;

  ft_buf_init(&text, FT_LIMIT_LINE);
  if (ft_show_equation(model, categories, false, &text) == 0 && text.length)
    printf("  equation from %" PRIu32 " runs, error %.2g %%%s: %s\n", e->equation.runs,
           100 * e->equation.error, e->by_equation ? "" : " (not used: not better than the terms)",
           text.data);
  ft_buf_free(&text);
}

static void print_products(const ft_model *model)
{
  const ft_products *p = &model->evaluator.products;
  char effect[32];
  size_t at = 0;

  for (size_t t = 0; model->evaluator.has_products && t < p->coefficients_count; t++) {
    printf("%s%s", t ? " + " : "  sum of products: ", show_fit_bytes(p->coefficients[t], effect));
    for (size_t c = 0; c < p->columns.size; c++) {
      int power = p->powers.bytes[at++] - FT_PRODUCTS_POWER_0;

      if (power == 0)
        continue;
      printf(" %s", model->columns[p->columns.bytes[c]].name);
      if (power != 1)
        printf("^%d", power);
    }
  }
  if (model->evaluator.has_products)
    printf("%s\n", model->evaluator.by_equation ? " (not used: the equation is better)" : "");
}

void ft_fit_print(const ft_model *model, const ft_categories *categories)
{
  const ft_evaluator *e = &model->evaluator;
  struct ft_estimate estimate;
  struct ft_error why;
  char text[4][32];

  printf("%s of uid %" PRIu32 ": %" PRIu32 " run%s, %" PRIu32 " completed, %" PRIu32
         " not completed; memory rule %s; updated %s\n",
         model->app, model->uid, model->runs, ft_plural(model->runs), model->completed,
         model->censored, ft_rule_name(model->rule), ft_show_time(model->updated, text[0]));
  if (ft_estimate_memory(model, NULL, 0, &estimate, &why) < 0) {
    printf("  no estimate: %s\n", why.text);
    return;
  }
  printf("  method %s, %zu residuals; highest peak %s\n", e->method, (size_t)e->residuals_count,
         show_fit_bytes(e->max_value, text[3]));
  printf("  with typical features %s, from %s (5 %%) to %s (95 %%)\n",
         show_fit_bytes(ft_estimate_quantile(&estimate, 0.5), text[0]),
         show_fit_bytes(ft_estimate_quantile(&estimate, 0.05), text[1]),
         show_fit_bytes(ft_estimate_quantile(&estimate, 0.95), text[2]));
  print_equation(model, categories);
  print_products(model);
  for (size_t i = 0; i < e->terms_count; i++)
    if (ft_term_has_effect(&e->terms[i]) || e->terms[i].has_aliased_with)
      print_term(model, categories, &e->terms[i]);
}

static json_t *json_of_term(const ft_model *model, const ft_categories *categories,
                            const ft_term *term)
{
  const ft_column *column = &model->columns[term->column];
  json_t *levels = column->categorical ? json_object() : json_null();

  for (size_t i = 0; i < term->levels_count && i < column->categories_count; i++)
    (void)json_object_set_new_nocheck(levels, ft_category_name(categories, term->column, i),
                                      json_real(term->levels[i]));
  return json_pack(
      "{s:o, s:b, s:b, s:f, s:f, s:f, s:f, s:f, s:o, s:o}", "feature", ft_json_text(column->name),
      "categorical", column->categorical, "log", term->form == FT_FORM_LOG, "mean", term->mean,
      "scale", term->scale, "coefficient", term->coefficient, "low", term->low, "high", term->high,
      "levels", levels, "aliased_with",
      term->has_aliased_with ? ft_json_text(model->columns[term->aliased_with].name) : json_null());
}

/* Returns the sum of products of MODEL: a coefficient and the power of each feature; null: none. */
static json_t *json_of_products(const ft_model *model)
{
  const ft_products *p = &model->evaluator.products;
  json_t *list = model->evaluator.has_products ? json_array() : json_null();
  size_t at = 0;

  for (size_t t = 0; model->evaluator.has_products && t < p->coefficients_count; t++) {
    json_t *powers = json_object();

    for (size_t c = 0; c < p->columns.size; c++)
      (void)json_object_set_new(powers, model->columns[p->columns.bytes[c]].name,
                                json_integer(p->powers.bytes[at++] - FT_PRODUCTS_POWER_0));
    json_array_append_new(
        list, json_pack("{s:f, s:o}", "coefficient", p->coefficients[t], "powers", powers));
  }
  return list;
}

json_t *ft_fit_json(const ft_model *model, const ft_categories *categories)
{
  const ft_evaluator *e = &model->evaluator;
  json_t *terms = json_array(), *peak = json_null();
  struct ft_estimate estimate;

  for (size_t i = 0; i < e->terms_count; i++)
    json_array_append_new(terms, json_of_term(model, categories, &e->terms[i]));
  if (ft_estimate_memory(model, NULL, 0, &estimate, NULL) == 0)
    peak = json_pack("{s:f, s:f, s:f}", "p05", ft_estimate_quantile(&estimate, 0.05), "p50",
                     ft_estimate_quantile(&estimate, 0.5), "p95",
                     ft_estimate_quantile(&estimate, 0.95));
  return json_pack(
      "{s:o, s:I, s:s, s:I, s:I, s:I, s:o, s:o, s:b, s:f, s:o, s:o, s:o, s:I, s:o, s:o}", "app",
      ft_json_text(model->app), "uid", (json_int_t)model->uid, "rule", ft_rule_name(model->rule),
      "runs", (json_int_t)model->runs, "completed", (json_int_t)model->completed, "censored",
      (json_int_t)model->censored, "updated", ft_json_number(model->updated > 0, model->updated),
      "method", e->method[0] ? ft_json_text(e->method) : json_null(), "log_target", e->log_target,
      "intercept", e->intercept, "terms", terms, "products", json_of_products(model), "equation",
      ft_equation_json(model, categories), "residuals", (json_int_t)e->residuals_count, "max_bytes",
      ft_json_number(e->max_value > 0, e->max_value), "peak_memory_bytes", peak);
}

static void count_model_runs(const ft_model *model, const struct ft_history *history,
                             struct ft_store_app *app)
{
  const struct passwd *entry = getpwuid(model->uid);

  *app = (struct ft_store_app){ .uid = model->uid,
                                .runs = model->runs,
                                .completed = model->completed,
                                .censored = model->censored,
                                .last_time = model->updated };
  (void)ft_string_copy(model->app, app->app, sizeof app->app);
  (void)ft_string_copy(entry ? entry->pw_name : "", app->user, sizeof app->user);
  for (size_t i = 0; i < history->count; i++) {
    const ft_run *run = &history->run[i];

    app->last_time = fmax(app->last_time, run->time);
    app->max_bytes = fmax(app->max_bytes, run->bytes);
    if (!run->censored && (app->min_bytes <= 0 || run->bytes < app->min_bytes))
      app->min_bytes = run->bytes;
  }
}

struct apps {
  struct ft_store_app *app;
  size_t count, room;
};

/* Adds the apps of the models in DIRECTORY to APPS. Returns 0, also without such a directory; -1
 * with ERR if it cannot be read. */
static int add_model_apps(int state_fd, const char *directory, ft_model *model,
                          struct ft_history *history, struct apps *apps, struct ft_error *err)
{
  DIR *dir = ft_io_open_directory(state_fd, directory);
  struct ft_store_app *grown;
  struct dirent *entry;
  int status = 0;

  if (!dir)
    return errno == ENOENT ? 0 : ft_error_errno(err, "%s", directory);
  while (status == 0 && (entry = readdir(dir))) {
    size_t length = strlen(entry->d_name);

    /* foretell doctor reports unreadable models; the others are still shown */
    if (entry->d_name[0] == '.' || length < 6 ||
        strcmp(entry->d_name + length - 6, ".model") != 0 ||
        ft_model_file_read(dirfd(dir), entry->d_name, FT_QUANTITY_MEMORY, model, history, NULL) < 0)
      continue;
    grown = ft_array_grow(apps->app, &apps->room, apps->count, sizeof *grown, SIZE_MAX);
    if (grown) {
      apps->app = grown;
      count_model_runs(model, history, &grown[apps->count++]);
    } else {
      status = ft_error_set(err, "out of memory");
    }
  }
  closedir(dir);
  return status;
}

/* Most recent first, like the store. */
static int compare_last_times(const void *a, const void *b)
{
  const struct ft_store_app *x = a, *y = b;

  if (x->last_time != y->last_time)
    return x->last_time < y->last_time ? 1 : -1;
  return strcmp(x->app, y->app);
}

int ft_models_each(int state_fd, uint32_t uid,
                   bool (*visit)(const struct ft_store_app *app, void *data), void *data,
                   struct ft_error *err)
{
  ft_model *model = malloc(sizeof *model);
  struct ft_history *history = malloc(sizeof *history);
  struct apps apps = { .count = 0 };
  char directory[48];
  int status;

  (void)snprintf(directory, sizeof directory, FT_STATE_MODELS "/%" PRIu32, uid);
  status = model && history ? add_model_apps(state_fd, directory, model, history, &apps, err)
                            : ft_error_set(err, "out of memory");
  /* shared models are optional */
  if (status == 0)
    (void)add_model_apps(state_fd, FT_STATE_SHARED, model, history, &apps, NULL);
  free(model);
  free(history);
  if (status == 0 && apps.count)
    qsort(apps.app, apps.count, sizeof *apps.app, compare_last_times);
  for (size_t i = 0; status == 0 && i < apps.count; i++)
    if (!visit(&apps.app[i], data))
      break;
  free(apps.app);
  return status;
}
