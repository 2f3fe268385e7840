/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An estimate is evaluated again without each feature that it depends on: how far it moves is what
 * that feature is worth. The rest is said by the numbers that the decision was made of.
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

/* What the sentences are made of. */
struct grounds {
  const struct ft_submission_question *question;
  const struct ft_submission_decision *decided;
  const ft_model *model; /* that the estimate is of; NULL: none that has features */
  ft_feature features[FT_TASK_FEATURES];
  size_t feature_count;
  struct ft_grounds *out;
};

const char *ft_rule_meaning(ft_decision_rule rule)
{
  switch (rule) {
  case FT_DECIDED_BY_REQUEST:
    return "what was asked for stays";
  case FT_DECIDED_BY_DEFAULT:
    return "no less than without foretell";
  case FT_DECIDED_BY_MAXIMUM:
    return "the partition gives no more";
  case FT_DECIDED_BY_LEAK:
    return "killed at growing limits, so no more than was tried";
  case FT_DECIDED_BY_FLOOR:
    return "at least what runs like it have needed";
  case FT_DECIDED_BY_CEILING:
    return "few runs set no more than a few times what they needed";
  case FT_DECIDED_BY_ESTIMATE:
    return "what is expected to waste least";
  case FT_DECIDED_BY_NONE:
    break;
  }
  return "nothing is known, or the mode is off";
}

/* ---- features ---- */

/* Whether the model is of the submission's app. That of a submission that borrows is overwritten by
 * others. */
static bool is_of_app(const struct grounds *g)
{
  const ft_submission *s = g->question->submission;
  const char *app = g->question->known->evidence.model.app;

  if (strcmp(app, s->app) == 0)
    return true;
  for (size_t i = 0; i < s->former_apps_count; i++)
    if (strcmp(app, s->former_apps[i]) == 0)
      return true;
  return false;
}

/* Whether the estimate is of the app's own model, or of one that stands in for it. */
static bool is_models(const struct grounds *g)
{
  const struct ft_model_lookup *e = &g->question->known->evidence;

  return g->decided->sizing.has_estimate && !g->decided->by_network && !e->similar &&
         !e->site_prior_apps && e->model.has_evaluator && (e->imported || is_of_app(g));
}

/* Those of the task that needs most, of a job array. */
static void find_features(struct grounds *g)
{
  const struct ft_decision_input *q = &g->decided->question;
  const uint32_t *index = NULL;

  if (q->elements)
    index = &q->elements->index[q->estimate - q->elements->each];
  g->feature_count = ft_task_features(g->model, g->question->submission, index, g->features);
}

static bool is_in_equation(const ft_evaluator *e, size_t column)
{
  for (size_t i = 0; e->by_equation && i < e->equation.columns_count; i++)
    if (e->equation.columns[i] == column)
      return true;
  return false;
}

/* The term of COLUMN, where the estimate depends on it. */
static const ft_term *term_of(const ft_evaluator *e, size_t column)
{
  for (size_t i = 0; i < e->terms_count; i++) {
    const ft_term *t = &e->terms[i];
    bool moves = t->coefficient != 0 || is_in_equation(e, column);

    for (size_t l = 0; l < t->levels_count; l++)
      moves |= t->levels[l] != 0;
    if (t->column == column && moves)
      return t;
  }
  return NULL;
}

/* The median of a job without the feature called NAME; 0: there is none. */
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

static bool is_bytes(const char *name)
{
  return ft_string_ends(name, "_bytes");
}

static void show_number(const char *name, double number, char *out, size_t size)
{
  if (is_bytes(name) && number >= 0 && number < 0x1p63)
    (void)ft_units_show_bytes((uint64_t)number, out, size);
  else
    (void)snprintf(out, size, "%.6g", number);
}

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
    show_number(c->name, f->number, out->value, sizeof out->value);
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

/* By how many times the estimate moves, as a logarithm. */
static double size_of(const struct grounds *g, const struct ft_effect *effect)
{
  double all = ft_estimate_quantile(g->decided->question.estimate, 0.5);

  return effect->without_bytes > 0 ? fabs(log(effect->without_bytes / all)) : 0;
}

static void find_effects(struct grounds *g)
{
  struct ft_grounds *out = g->out;

  for (size_t j = 0; j < g->model->columns_count && j < COLUMNS; j++) {
    const ft_term *term = term_of(&g->model->evaluator, j);
    struct ft_effect effect;
    size_t at = out->effect_count;

    if (!term || strcmp(g->model->columns[j].name, FT_VARIANT_FEATURE) == 0)
      continue;
    fill_effect(g, j, term, &effect);
    while (at > 0 && size_of(g, &effect) > size_of(g, &out->effect[at - 1]))
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

static void new_line(struct grounds *g)
{
  if (g->out->count < FT_GROUNDS_LINES)
    g->out->line[g->out->count++][0] = '\0';
}

/* Go on with the current line. */
__attribute__((format(printf, 2, 3))) static void say(struct grounds *g, const char *format, ...)
{
  va_list ap;

  va_start(ap, format);
  ft_message_append(g->out->line[g->out->count - 1], format, ap);
  va_end(ap);
}

static void say_bytes(struct grounds *g, double bytes)
{
  char text[32];

  say(g, "%s", ft_message_bytes(bytes, text));
}

static void say_chance(struct grounds *g, double p)
{
  char text[FT_MESSAGE_PERCENT];

  say(g, "%s", ft_message_percent(p, text));
}

/* "a, b and c" */
static const char *between(size_t i, size_t count)
{
  return i == 0 ? "" : i + 1 == count ? " and " : ", ";
}

static void say_estimate(struct grounds *g)
{
  const struct ft_estimate *e = g->decided->question.estimate;

  new_line(g);
  say(g, "estimate: half of such runs need ");
  say_bytes(g, ft_estimate_quantile(e, 0.5));
  say(g, " or less, 90 %% need ");
  say_bytes(g, ft_estimate_quantile(e, 0.05));
  say(g, " to ");
  say_bytes(g, ft_estimate_quantile(e, 0.95));
}

/* "a line on", "an equation of" the features, or that none tells runs apart */
static void say_shape(struct grounds *g)
{
  const ft_evaluator *e = &g->model->evaluator;
  const struct ft_grounds *out = g->out;
  bool line = out->effect_count == 1 && !e->log_target && !isnan(out->effect[0].low);

  if (!out->effect_count) {
    say(g, "the peaks of %u completed runs, which no feature tells apart", g->model->completed);
    return;
  }
  say(g, "%s", e->by_equation ? "an equation of " : line ? "a line on " : "a regression on ");
  for (size_t i = 0; i < out->effect_count; i++)
    say(g, "%s%s", between(i, out->effect_count), out->effect[i].name);
  say(g, " through %u completed runs", g->model->completed);
  if (e->by_equation)
    say(g, ", %.2g %% off", 100 * e->equation.error);
}

static void say_without(struct grounds *g)
{
  const struct ft_grounds *out = g->out;
  size_t known = 0, at = 0;

  for (size_t i = 0; i < out->effect_count; i++)
    known += out->effect[i].without_bytes > 0;
  for (size_t i = 0; i < out->effect_count; i++) {
    const struct ft_effect *effect = &out->effect[i];

    if (!(effect->without_bytes > 0))
      continue;
    say(g, "%swithout %s ", at ? between(at, known) : "; ",
        known == 1 && out->effect_count == 1 ? "it" : effect->name);
    say_bytes(g, effect->without_bytes);
    at++;
  }
}

static void say_method(struct grounds *g)
{
  const struct ft_decision_input *q = &g->decided->question;

  new_line(g);
  say(g, "method: ");
  if (g->model) {
    say_shape(g);
    if (q->pooled)
      say(g, " of all users");
    if (q->imported_from)
      say(g, " imported for jobs named %s", q->imported_from);
    say_without(g);
  } else if (q->network) {
    say(g, "the operators of the model file");
  } else if (q->similar) {
    say(g, "what %u similar app%s of yours needed", q->similar, q->similar == 1 ? "" : "s");
  } else {
    say(g, "%s of %u completed run%s", q->estimate->method, q->estimate->runs,
        q->estimate->runs == 1 ? "" : "s");
  }
}

/* "n=3"; of what differs from task to task the name alone, once. */
static void say_features(struct grounds *g)
{
  const ft_submission *s = g->question->submission;
  const char *separator = "features of this job: ";
  char text[64];

  new_line(g);
  for (size_t i = 0; i < s->features_count; i++) {
    const ft_feature *f = &s->features[i];

    say(g, "%s%s", separator, f->name);
    separator = ", ";
    if (f->per_task) {
      say(g, " (of each task)");
      continue;
    }
    if (f->has_number)
      show_number(f->name, f->number, text, sizeof text);
    say(g, "=%s", f->has_number ? text : f->category);
  }
  for (size_t i = 0; i < s->task_values_count; i++) {
    if (ft_feature_find(s->features, s->features_count, s->task_values[i].feature))
      continue;
    say(g, "%s%s (of each task)", separator, s->task_values[i].feature);
    separator = ", ";
  }
  if (separator[0] != ',')
    say(g, "features of this job: none; --predict-params names some");
}

static bool has_feature(const ft_submission *s, const char *name)
{
  bool found = ft_feature_find(s->features, s->features_count, name);

  for (size_t i = 0; i < s->task_values_count; i++)
    found |= strcmp(s->task_values[i].feature, name) == 0;
  return found;
}

/* What the app's runs had and this job lacks. */
static void say_missing(struct grounds *g)
{
  const ft_model *model = &g->question->known->evidence.model;
  bool any = false;

  for (size_t j = 0; is_of_app(g) && j < model->columns_count && j < COLUMNS; j++) {
    const char *name = model->columns[j].name;

    if (strcmp(name, FT_VARIANT_FEATURE) == 0 || has_feature(g->question->submission, name))
      continue;
    if (!any)
      new_line(g);
    say(g, "%s%s", any ? ", " : "features of earlier runs that this job lacks: ", name);
    any = true;
  }
}

static void say_effects(struct grounds *g)
{
  for (size_t i = 0; i < g->out->effect_count; i++) {
    const struct ft_effect *effect = &g->out->effect[i];
    char low[32], high[32];

    if (effect->value[0] && !effect->unseen)
      continue;
    new_line(g);
    if (!effect->value[0]) {
      say(g, "%s: not known of this job; the usual value counts", effect->name);
    } else if (isnan(effect->low)) {
      say(g, "%s=%s: no run had this value", effect->name, effect->value);
    } else {
      show_number(effect->name, effect->low, low, sizeof low);
      show_number(effect->name, effect->high, high, sizeof high);
      say(g, "%s=%s: outside of the runs' %s to %s, so extrapolated", effect->name, effect->value,
          low, high);
    }
  }
}

/* "runs like this one: 4 of 42; they used 4.6 GiB to 5.1 GiB; 1 was killed, at 4 GiB" */
static void say_runs(struct grounds *g)
{
  const struct ft_facts *f = g->out->facts;

  if (!f)
    return;
  new_line(g);
  say(g, "runs like this one: %u of %u", f->like_runs, f->runs);
  if (!f->like_runs && f->peak_bytes > 0) {
    say(g, "; the others used up to ");
    say_bytes(g, f->peak_bytes);
  }
  if (f->like_peak_bytes > 0) {
    say(g, "; %u completed and used ", f->like_completed);
    if (f->like_sure_bytes > 0 && f->like_sure_bytes < 0.995 * f->like_peak_bytes) {
      say_bytes(g, f->like_sure_bytes);
      say(g, " to ");
    }
    say_bytes(g, f->like_peak_bytes);
  }
  if (f->like_killed) {
    say(g, "; %u %s killed, at up to ", f->like_killed, f->like_killed == 1 ? "was" : "were");
    say_bytes(g, f->like_killed_bytes);
  }
}

static void say_probabilities(struct grounds *g)
{
  const struct ft_sizing *p = &g->decided->sizing;
  char text[32];

  if (p->p_limit < 0 && p->p_amount < 0)
    return;
  new_line(g);
  say(g, "out of memory: ");
  if (p->p_limit >= 0) {
    say_chance(g, p->p_limit);
    say(g, " with ");
    say_bytes(g, (double)p->limit);
    say(g, "%s", p->limit_kind == FT_LIMIT_ASKED ? ", as asked" : ", without foretell");
  }
  if (p->p_amount >= 0 && p->amount != p->limit) {
    say(g, "%s", p->p_limit >= 0 ? "; " : "");
    say_chance(g, p->p_amount);
    say(g, " with %s=%s", ft_message_option(p->unit),
        ft_units_slurm_bytes(p->unit_amount, text, sizeof text));
  }
}

void ft_grounds_find(const struct ft_submission_question *question,
                     const struct ft_submission_decision *decided, struct ft_grounds *out)
{
  struct grounds g = { .question = question, .decided = decided, .out = out };
  const struct ft_sizing *sizing = &decided->sizing;

  out->effect_count = 0;
  out->count = 0;
  out->facts = decided->by_network ? NULL : decided->question.facts;
  if (is_models(&g)) {
    g.model = &question->known->evidence.model;
    find_features(&g);
    find_effects(&g);
  }
  if (sizing->has_estimate) {
    say_estimate(&g);
    say_method(&g);
    say_effects(&g);
  }
  if (!g.model && !decided->by_network) {
    say_features(&g);
    say_missing(&g);
  }
  say_runs(&g);
  say_probabilities(&g);
  if (!sizing->has_evidence)
    return;
  new_line(&g);
  say(&g, "rule: %s, %s", ft_decision_rule_name(sizing->rule), ft_rule_meaning(sizing->rule));
}
