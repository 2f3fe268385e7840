/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Collects the grounds of a decision. The effect of a feature is the change of the estimate's
 * median if the feature is missing.
 */
#include "config.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "predictor/core/text.h"
#include "predictor/core/units.h"
#include "predictor/decide/grounds.h"
#include "predictor/estimate/memory.h"
#include "predictor/estimate/point_prediction.h"
#include "predictor/estimate/variant.h"

enum { COLUMNS = sizeof((ft_model *)NULL)->columns / sizeof(ft_column) };

struct grounds {
  const struct ft_submission_query *query;
  const struct ft_submission_decision *decided;
  const ft_model *model; /* from which the estimate was computed; NULL: it has no features */
  ft_feature features[FT_TASK_FEATURES];
  size_t feature_count;
  struct ft_grounds *out;
};

const char *ft_rule_meaning(ft_decision_rule rule)
{
  switch (rule) {
  case FT_DECIDED_BY_REQUEST:
    return "as requested";
  case FT_DECIDED_BY_DEFAULT:
    return "no less than without foretell";
  case FT_DECIDED_BY_MAXIMUM:
    return "the partition allows no more";
  case FT_DECIDED_BY_LEAK:
    return "killed at increasing limits, it may leak memory";
  case FT_DECIDED_BY_FLOOR:
    return "at least what comparable runs needed";
  case FT_DECIDED_BY_CEILING:
    return "capped at a multiple of the largest need so far";
  case FT_DECIDED_BY_ESTIMATE:
    return "the amount with the least expected waste";
  case FT_DECIDED_BY_NONE:
    break;
  }
  return "no evidence, or mode off";
}

/* ---- features ---- */

/* Sets the features to those of the submission; of a job array, of its largest task. */
static void find_features(struct grounds *g)
{
  const struct ft_decision_input *q = &g->decided->input;
  const uint32_t *index = NULL;

  if (q->tasks)
    index = &q->tasks->index[q->estimate - q->tasks->each];
  g->feature_count =
      ft_task_features(g->model, g->query->submission, g->query->array, index, g->features);
}

/* Returns the term of COLUMN; NULL if the point prediction does not depend on it. */
static const ft_term *find_active_term(const ft_evaluator *e, size_t column)
{
  for (size_t i = 0; i < e->terms_count; i++)
    if (e->terms[i].column == column && ft_point_prediction_uses(e, column))
      return &e->terms[i];
  return NULL;
}

/* Returns the estimate's median, in bytes, without the feature NAME; 0: no estimate. */
static double median_without(const struct grounds *g, const char *name)
{
  ft_feature rest[FT_TASK_FEATURES];
  struct ft_estimate estimate;
  size_t count = 0;

  for (size_t i = 0; i < g->feature_count; i++)
    if (strcmp(g->features[i].name, name) != 0)
      rest[count++] = g->features[i];
  if (ft_estimate_memory(g->model, rest, count, &estimate, NULL) < 0)
    return 0;
  return ft_estimate_quantile(&estimate, 0.5);
}

static bool is_feature_in_bytes(const char *name)
{
  return ft_string_ends(name, "_bytes");
}

/* Formats NUMBER, a value of the feature NAME, into OUT of SIZE bytes. */
static void show_feature_value(const char *name, double number, char *out, size_t size)
{
  if (is_feature_in_bytes(name) && number >= 0 && number < 0x1p63)
    (void)ft_units_show_bytes((uint64_t)number, out, size);
  else
    (void)snprintf(out, size, "%.6g", number);
}

/* Fills OUT with the effect of the feature of COLUMN, whose term is TERM. */
static void fill_effect(const struct grounds *g, size_t column, const ft_term *term,
                        struct ft_effect *out)
{
  const ft_column *c = &g->model->columns[column];
  const ft_feature *f = ft_feature_find(g->features, g->feature_count, c->name);
  char category[40];

  *out = (struct ft_effect){ .low = NAN, .high = NAN };
  (void)ft_string_copy(c->name, out->name, sizeof out->name);
  if (!c->categorical) {
    out->low = term->low;
    out->high = term->high;
  }
  if (!f || (!c->categorical && !f->has_number))
    return;
  if (f->has_number)
    show_feature_value(c->name, f->number, out->value, sizeof out->value);
  else
    (void)ft_string_copy(f->category, out->value, sizeof out->value);
  if (c->categorical) {
    ft_column_category(f, category);
    out->unseen = ft_column_level(c, category) < 0;
  } else {
    out->unseen = f->number < term->low || f->number > term->high;
  }
  out->without_bytes = median_without(g, c->name);
}

/* Returns the size of EFFECT: |log(median without the feature / median)|. */
static double log_effect_size(const struct grounds *g, const struct ft_effect *effect)
{
  double all = ft_estimate_quantile(g->decided->input.estimate, 0.5);

  return effect->without_bytes > 0 ? fabs(log(effect->without_bytes / all)) : 0;
}

/* Fills the effects with the largest ones, in descending order. */
static void find_effects(struct grounds *g)
{
  struct ft_grounds *out = g->out;

  for (size_t j = 0; j < g->model->columns_count && j < COLUMNS; j++) {
    const ft_term *term = find_active_term(&g->model->evaluator, j);
    struct ft_effect effect;
    size_t at = out->effect_count;

    if (!term || ft_is_text_feature(g->model->columns[j].name))
      continue;
    fill_effect(g, j, term, &effect);
    while (at > 0 && log_effect_size(g, &effect) > log_effect_size(g, &out->effect[at - 1]))
      at--;
    if (at == FT_GROUNDS_EFFECTS)
      continue;
    if (out->effect_count < FT_GROUNDS_EFFECTS)
      out->effect_count++;
    memmove(&out->effect[at + 1], &out->effect[at],
            (out->effect_count - 1 - at) * sizeof out->effect[0]);
    out->effect[at] = effect;
  }
}

/* ---- sentences ---- */

/* Starts a new line; a full list continues its last one. */
static void start_ground_line(struct grounds *g)
{
  if (g->out->count < FT_GROUNDS_LINES)
    g->out->line[g->out->count++][0] = '\0';
}

/* Appends to the current line. */
__attribute__((format(printf, 2, 3))) static void append_ground(struct grounds *g,
                                                                const char *format, ...)
{
  va_list ap;

  va_start(ap, format);
  ft_message_append(g->out->line[g->out->count - 1], format, ap);
  va_end(ap);
}

/* Returns the separator before item I of COUNT in "a, b and c". */
static const char *list_separator(size_t i, size_t count)
{
  return i == 0 ? "" : i + 1 == count ? " and " : ", ";
}

/* Writes median and 90 % interval of the estimate. */
static void explain_quantiles(struct grounds *g)
{
  const struct ft_estimate *e = g->decided->input.estimate;
  char half[FT_MESSAGE_BYTES], low[FT_MESSAGE_BYTES], high[FT_MESSAGE_BYTES];

  start_ground_line(g);
  append_ground(g, "estimate: half of such runs need %s or less, 90 %% need %s to %s",
                ft_message_bytes(ft_estimate_quantile(e, 0.5), half),
                ft_message_bytes(ft_estimate_quantile(e, 0.05), low),
                ft_message_bytes(ft_estimate_quantile(e, 0.95), high));
}

/* Writes that the estimate is not used. */
static void explain_misfit(struct grounds *g)
{
  start_ground_line(g);
  append_ground(g,
                "estimate: not used, because it does not fit the runs: its 95 %% bound is above ten"
                " times the largest run, or above the largest node");
}

/* Appends the form of the model: "a line on n through 12 completed runs", "an equation of ...". */
static void append_model_form(struct grounds *g)
{
  const ft_evaluator *e = &g->model->evaluator;
  const struct ft_grounds *out = g->out;
  bool line = out->effect_count == 1 && !e->log_target && !isnan(out->effect[0].low);

  if (!out->effect_count) {
    append_ground(g, "the peaks of %u completed runs; no feature explains their differences",
                  g->model->completed);
    return;
  }
  append_ground(g, "%s",
                e->by_equation    ? "an equation of "
                : e->has_products ? "a sum of products of "
                : line            ? "a line on "
                                  : "a regression on ");
  for (size_t i = 0; i < out->effect_count; i++)
    append_ground(g, "%s%s", list_separator(i, out->effect_count), out->effect[i].name);
  append_ground(g, " through %u completed runs", g->model->completed);
  if (e->by_equation)
    append_ground(g, ", error %.2g %%", 100 * e->equation.error);
}

/* Appends the median without each feature: "; without n 4.6 GiB". */
static void append_effects(struct grounds *g)
{
  const struct ft_grounds *out = g->out;
  size_t known = 0, at = 0;
  char bytes[FT_MESSAGE_BYTES];

  for (size_t i = 0; i < out->effect_count; i++)
    known += out->effect[i].without_bytes > 0;
  for (size_t i = 0; i < out->effect_count; i++) {
    const struct ft_effect *effect = &out->effect[i];

    if (!(effect->without_bytes > 0))
      continue;
    append_ground(g, "%swithout %s %s", at ? list_separator(at, known) : "; ",
                  known == 1 && out->effect_count == 1 ? "it" : effect->name,
                  ft_message_bytes(effect->without_bytes, bytes));
    at++;
  }
}

/* Writes the method of the estimate: its model, or the other source. */
static void explain_method(struct grounds *g)
{
  const struct ft_decision_input *q = &g->decided->input;

  start_ground_line(g);
  append_ground(g, "method: ");
  if (g->model) {
    append_model_form(g);
    if (q->pooled)
      append_ground(g, " of all users");
    if (q->imported_from)
      append_ground(g, " imported for jobs named %s", q->imported_from);
    append_effects(g);
  } else if (q->network) {
    append_ground(g, "the operators of the model file");
  } else if (q->similar) {
    append_ground(g, "what %u similar app%s of yours needed", q->similar, ft_plural(q->similar));
  } else {
    append_ground(g, "%s of %u completed run%s", q->estimate->method, q->estimate->runs,
                  ft_plural(q->estimate->runs));
  }
}

/* Writes the features of the job as "n=3". A feature that differs between array tasks is listed
 * once, without a value. */
static void explain_features(struct grounds *g)
{
  const ft_submission *s = g->query->submission;
  const ft_job_array *array = g->query->array;
  const char *separator = "features of this job: ";
  char text[64];

  start_ground_line(g);
  for (size_t i = 0; i < s->features_count; i++) {
    const ft_feature *f = &s->features[i];

    append_ground(g, "%s%s", separator, f->name);
    separator = ", ";
    if (f->per_task) {
      append_ground(g, " (of each task)");
      continue;
    }
    if (f->has_number)
      show_feature_value(f->name, f->number, text, sizeof text);
    append_ground(g, "=%s", f->has_number ? text : f->category);
  }
  for (size_t i = 0; array && i < array->values_count; i++) {
    if (ft_feature_find(s->features, s->features_count, array->values[i].feature))
      continue;
    append_ground(g, "%s%s (of each task)", separator, array->values[i].feature);
    separator = ", ";
  }
  if (separator[0] != ',')
    append_ground(g, "features of this job: none; add some with --predict-params");
}

static bool submission_has_feature(const struct ft_submission_query *q, const char *name)
{
  bool found = ft_feature_find(q->submission->features, q->submission->features_count, name);

  for (size_t i = 0; q->array && i < q->array->values_count; i++)
    found |= strcmp(q->array->values[i].feature, name) == 0;
  return found;
}

/* Writes the names of features that runs of the app have and this job lacks. */
static void explain_missing_features(struct grounds *g)
{
  const ft_model *model = ft_model_lookup_of_app(&g->query->known->evidence);
  bool any = false;

  for (size_t j = 0; model && j < model->columns_count && j < COLUMNS; j++) {
    const char *name = model->columns[j].name;

    if (ft_is_text_feature(name) || submission_has_feature(g->query, name))
      continue;
    if (!any)
      start_ground_line(g);
    append_ground(g, "%s%s", any ? ", " : "features of earlier runs missing from this job: ", name);
    any = true;
  }
}

/* Writes a line for each feature that is missing or has a value outside the runs'. */
static void explain_unseen_values(struct grounds *g)
{
  for (size_t i = 0; i < g->out->effect_count; i++) {
    const struct ft_effect *effect = &g->out->effect[i];
    char low[32], high[32];

    if (effect->value[0] && !effect->unseen)
      continue;
    start_ground_line(g);
    if (!effect->value[0]) {
      append_ground(g, "%s: missing from this job; the usual value is used", effect->name);
    } else if (isnan(effect->low)) {
      append_ground(g, "%s=%s: no run had this value", effect->name, effect->value);
    } else {
      show_feature_value(effect->name, effect->low, low, sizeof low);
      show_feature_value(effect->name, effect->high, high, sizeof high);
      append_ground(g, "%s=%s: outside the runs' range %s to %s, extrapolated", effect->name,
                    effect->value, low, high);
    }
  }
}

/* Writes the facts: "comparable runs: 4 of 42; 3 completed and used 4.6 GiB to 5.1 GiB; 1 was
 * killed, at up to 4 GiB". */
static void explain_runs(struct grounds *g)
{
  const struct ft_facts *f = g->out->facts;
  char bytes[FT_MESSAGE_BYTES], compared[FT_MESSAGE_SIZE];

  if (!f)
    return;
  start_ground_line(g);
  append_ground(g, "comparable runs: %u of %u", f->comparable_runs, f->runs);
  if (!f->comparable_runs && f->peak_value > 0)
    append_ground(g, "; the others used up to %s", ft_message_bytes(f->peak_value, bytes));
  if (f->comparable_peak_value > 0) {
    append_ground(g, "; %u completed and used ", f->comparable_completed);
    if (f->comparable_min_value > 0 && f->comparable_min_value < 0.995 * f->comparable_peak_value)
      append_ground(g, "%s to ", ft_message_bytes(f->comparable_min_value, bytes));
    append_ground(g, "%s", ft_message_bytes(f->comparable_peak_value, bytes));
  }
  if (f->comparable_killed)
    append_ground(g, "; %u %s killed, at up to %s", f->comparable_killed,
                  f->comparable_killed == 1 ? "was" : "were",
                  ft_message_bytes(f->comparable_killed_value, bytes));
  if (f->comparable_runs < f->runs && g->model &&
      ft_message_compared(g->model, compared, sizeof compared)[0]) {
    start_ground_line(g);
    append_ground(g, "comparable are runs with %s", compared);
  }
}

/* Writes the probabilities of running out of memory under limit and amount. */
static void explain_probabilities(struct grounds *g)
{
  const struct ft_sizing *p = &g->decided->sizing;
  char text[32], percent[FT_MESSAGE_PERCENT];

  if (p->p_limit < 0 && p->p_amount < 0)
    return;
  start_ground_line(g);
  append_ground(g, "probability of running out of memory%s: ",
                g->decided->input.request->array_tasks > 1 ? ", one task" : "");
  if (p->p_limit >= 0)
    append_ground(g, "%s with %s, %s", ft_message_percent(p->p_limit, percent),
                  ft_message_bytes((double)p->limit, text),
                  p->limit_kind == FT_LIMIT_REQUESTED ? "as requested" : "without foretell");
  if (p->p_amount >= 0 && p->amount != p->limit)
    append_ground(g, "%s%s with %s=%s", p->p_limit >= 0 ? "; " : "",
                  ft_message_percent(p->p_amount, percent), ft_message_option(p->unit),
                  ft_units_slurm_bytes(p->unit_amount, text, sizeof text));
}

void ft_grounds_find(const struct ft_submission_query *query,
                     const struct ft_submission_decision *decided, struct ft_grounds *out)
{
  struct grounds g = { .query = query, .decided = decided, .out = out };
  const struct ft_sizing *sizing = &decided->sizing;

  out->effect_count = 0;
  out->count = 0;
  out->facts = decided->by_network ? NULL : decided->input.facts;
  if ((sizing->has_estimate || sizing->misfit) && decided->input.model) {
    g.model = decided->input.model;
    find_features(&g);
    find_effects(&g);
  }
  if (sizing->misfit)
    explain_misfit(&g);
  else if (sizing->has_estimate)
    explain_quantiles(&g);
  if (sizing->misfit || sizing->has_estimate) {
    explain_method(&g);
    explain_unseen_values(&g);
  }
  if (!g.model && !decided->by_network) {
    explain_features(&g);
    explain_missing_features(&g);
  }
  explain_runs(&g);
  explain_probabilities(&g);
  if (!sizing->has_evidence)
    return;
  start_ground_line(&g);
  append_ground(&g, "reason: %s", ft_rule_meaning(sizing->rule));
}
