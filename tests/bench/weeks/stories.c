/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Prints the apps with the worst results of foretell, attempt by attempt until the worst one. */
#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "predictor/core/units.h"
#include "tests/bench/weeks/figures.h"

enum {
  LINES = 14,       /* maximum of an app */
  FIRST_LINES = 3,  /* of them, the first attempts */
  PER_FAULT = 2,    /* apps with the same worst fault */
  LEAK_ATTEMPTS = 3 /* larger requests of a leak that are no fault */
};

/* Bad results of an attempt. */
enum fault { KILLED_BY, REJECTED, DIED_AGAIN, NOT_RECOVERED, TOO_MUCH, LEAKED, FAULTS };

static const char *const fault_names[FAULTS] = {
  "killed with foretell's request",
  "rejected, and would have completed",
  "killed again although a similar run was known",
  "not recovered from a kill in time",
  "given far too much",
  "a leak with ever larger requests",
};

/* Weight of each fault, chosen by judgement. Too much memory has the logarithm of its factor. */
static const double weights[FAULTS] = { 10, 10, 6, 5, 1, 3 };

struct story {
  uint32_t app;
  double score, worst; /* of all attempts, of the worst one */
  size_t worst_attempt;
  enum fault fault; /* of the worst attempt */
  unsigned deaths_of_leak;
};

static bool is_changed_attempt(const struct weeks_attempt *a)
{
  return a->action == FT_ACTION_SET || a->action == FT_ACTION_RAISE || a->action == FT_ACTION_TRIM;
}

/* Returns the weight of the fault in attempt I and sets FAULT; 0: no fault. */
static double find_fault(const struct weeks_world *w, size_t i, struct story *story,
                         enum fault *fault)
{
  const struct weeks_attempt *a = &w->attempt[i];
  double without = (double)a->without_bytes, given = (double)a->given_bytes;
  bool would_complete = a->peak_bytes <= without, recovered;

  if (is_changed_attempt(a) && a->deaths && would_complete)
    *fault = KILLED_BY;
  else if (a->action == FT_ACTION_REJECT && would_complete && a->all_complete)
    *fault = REJECTED;
  else if (a->deaths && a->like_known && weeks_may_raise(a))
    *fault = DIED_AGAIN;
  else if (weeks_recovers(w, i, &recovered) && !recovered)
    *fault = NOT_RECOVERED;
  else if (isinf(a->need_bytes) && is_changed_attempt(a) && given > without &&
           story->deaths_of_leak++ >= LEAK_ATTEMPTS)
    *fault = LEAKED;
  else if (is_changed_attempt(a) && given > 3 * a->need_bytes &&
           given > fmax(without, 100 * 0x1p20)) {
    *fault = TOO_MUCH;
    return log2(given / a->need_bytes) + fmax(log2(given / 0x1p30), 0);
  } else {
    return 0;
  }
  return weights[*fault];
}

static int compare_scores(const void *a, const void *b)
{
  const struct story *x = a, *y = b;

  return (x->score < y->score) - (x->score > y->score);
}

/* ---- one app ---- */

/* Writes BYTES as text to OUT; returns it, or the text for a leak. */
static const char *format_bytes(double bytes, char out[32])
{
  return isinf(bytes) ? "without end" : ft_units_show_bytes((uint64_t)bytes, out, 32);
}

static void print_features(const struct weeks_submission *s, FILE *out)
{
  for (uint32_t i = 0; i < s->values; i++)
    if (s->value[i].category)
      fprintf(out, " %s=%s", s->value[i].name, s->value[i].category);
    else
      fprintf(out, " %s=%.4g", s->value[i].name, s->value[i].number);
  if (s->array)
    fprintf(out, " array of %u", s->tasks);
  fprintf(out, " script %04x in %04x", s->script_hash & 0xffff, s->directory_hash & 0xffff);
}

static void print_outcome(const struct weeks_world *w, const struct weeks_attempt *a, FILE *out)
{
  static const char *const endings[] = { "completes", "fails",         "is cancelled",
                                         "times out", "node was full", "is requeued, completes" };
  const struct weeks_submission *s = &w->stream->submission[a->submission];

  if (a->action == FT_ACTION_REJECT)
    fprintf(out, "rejected");
  else if (a->deaths)
    fprintf(out, "KILLED%s", a->peak_bytes <= (double)a->without_bytes ? " by foretell" : "");
  else
    fprintf(out, "%s", endings[w->stream->task[s->first_task].ending]);
  if (s->array)
    fprintf(out, " (%u of %u killed)", a->deaths, a->runs);
}

static void print_attempt(const struct weeks_world *w, const struct weeks_attempt *a, FILE *out)
{
  const struct weeks_submission *s = &w->stream->submission[a->submission];
  char typed[32], given[32], need[32], chance[32] = "";
  long minutes = lround(a->time / 60);

  fprintf(out, "  day %2ld %02ld:%02ld %-5s %4u runs known; ", minutes / 1440, minutes / 60 % 24,
          minutes % 60, ft_mode_name(a->mode), a->known);
  fprintf(out, a->mem_unit == FT_MEM_NONE ? "default %s" : "requested %s",
          format_bytes((double)a->without_bytes, typed));
  if (a->number)
    fprintf(out, " (try %u)", a->number + 1);
  if (a->p_oom >= 0)
    (void)snprintf(chance, sizeof chance, ", p %.2g", a->p_oom);
  fprintf(out, ": %s", ft_action_name(a->action));
  if (is_changed_attempt(a))
    fprintf(out, " %s", format_bytes((double)a->given_bytes, given));
  fprintf(out, "%s (%s: %s); needs %s: ", chance, ft_decision_rule_name(a->rule), a->reason,
          format_bytes(a->need_bytes, need));
  print_outcome(w, a, out);
  fprintf(out, ";");
  print_features(s, out);
  fprintf(out, "\n");
}

static int compare_attempt_times(const void *a, const void *b)
{
  const struct weeks_attempt *x = *(const struct weeks_attempt *const *)a;
  const struct weeks_attempt *y = *(const struct weeks_attempt *const *)b;

  if (x->time != y->time)
    return x->time < y->time ? -1 : 1;
  return (x > y) - (x < y);
}

/* Returns the attempts of STORY's app up to the worst one, by time. The caller frees the list; NULL
 * if out of memory. */
static const struct weeks_attempt **list_attempts(const struct weeks_world *w,
                                                  const struct story *story, size_t *count)
{
  const struct weeks_attempt **list = malloc(w->attempts * sizeof(struct weeks_attempt *));

  *count = 0;
  for (size_t i = 0; list && i < w->attempts; i++)
    if (w->stream->submission[w->attempt[i].submission].app == story->app &&
        w->attempt[i].time <= w->attempt[story->worst_attempt].time)
      list[(*count)++] = &w->attempt[i];
  if (list)
    qsort(list, *count, sizeof *list, compare_attempt_times);
  return list;
}

/* Prints one app. Returns 0; -1 if out of memory. */
static int print_story(const struct weeks_world *w, const struct story *story, FILE *out)
{
  const struct weeks_app *app = &w->stream->app[story->app];
  const struct weeks_site *site = &w->stream->site[app->site];
  const struct weeks_attempt **list;
  char node[32], given[32];
  size_t count;

  list = list_attempts(w, story, &count);
  if (!list)
    return -1;
  fprintf(out, "\n%s (%s): %s. Default %s%s, node %s\n", app->name, w->stream->kind_name[app->kind],
          fault_names[story->fault], format_bytes((double)site->default_bytes, given),
          site->default_per_cpu ? " a CPU" : "", format_bytes((double)site->node_bytes, node));
  for (size_t i = 0; i < count; i++) {
    if (i == FIRST_LINES && count > LINES)
      fprintf(out, "  ... %zu more\n", count - LINES);
    if (i < FIRST_LINES || i + LINES >= count + FIRST_LINES)
      print_attempt(w, list[i], out);
  }
  free(list);
  return 0;
}

/* ---- all apps ---- */

/* Computes the score and the worst attempt of every app. */
static void score_apps(const struct weeks_world *w, struct story *story)
{
  for (size_t i = 0; i < w->stream->apps; i++)
    story[i].app = (uint32_t)i;
  for (size_t i = 0; i < w->attempts; i++) {
    struct story *of = &story[w->stream->submission[w->attempt[i].submission].app];
    enum fault fault = FAULTS;
    double bad = find_fault(w, i, of, &fault);

    of->score += bad;
    if (bad >= of->worst && bad > 0) {
      of->worst = bad;
      of->worst_attempt = i;
      of->fault = fault;
    }
  }
  /* Frequent faults are worse than one, but less than proportionally. */
  for (size_t i = 0; i < w->stream->apps; i++)
    story[i].score = story[i].worst > 0 ? story[i].worst + 2 * log2(story[i].score) : 0;
}

int weeks_print_worst(const struct weeks_world *w, unsigned count, FILE *out, struct ft_error *err)
{
  struct story *story = calloc(w->stream->apps + 1, sizeof *story);
  unsigned printed[FAULTS] = { 0 }, done = 0;

  if (!story)
    return ft_error_errno(err, "the worst stories");
  score_apps(w, story);
  qsort(story, w->stream->apps, sizeof *story, compare_scores);
  /* PER_FAULT apps of each worst fault */
  for (size_t i = 0; i < w->stream->apps && done < count && story[i].score > 0; i++)
    if (printed[story[i].fault]++ < PER_FAULT) {
      if (print_story(w, &story[i], out) < 0)
        break;
      done++;
    }
  free(story);
  return 0;
}
