/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The message about a decision on a job's time limit: estimate and evidence, then the action. */
#include "config.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "predictor/core/text.h"
#include "predictor/decide/time_decision.h"

struct time_message {
  const struct ft_time_decision *d;
  char *line;
};

__attribute__((format(printf, 2, 3))) static void append_time_text(struct time_message *m,
                                                                   const char *format, ...)
{
  va_list ap;

  va_start(ap, format);
  ft_message_append(m->line, format, ap);
  va_end(ap);
}

/* Formats SECONDS with two digits: "7.3 min". */
static const char *show_time_seconds(double seconds, char text[FT_MESSAGE_BYTES])
{
  static const struct {
    double seconds;
    const char *name;
  } units[] = { { 86400, "d" }, { 3600, "h" }, { 60, "min" }, { 1, "s" } };
  size_t u = 0;

  while (u < sizeof units / sizeof *units - 1 && seconds < 0.995 * units[u].seconds)
    u++;
  seconds /= units[u].seconds;
  (void)snprintf(text, FT_MESSAGE_BYTES, seconds < 99.5 ? "%.2g %s" : "%.0f %s", seconds,
                 units[u].name);
  return text;
}

static const char *show_time_quantile(const struct time_message *m, double p,
                                      char text[FT_MESSAGE_BYTES])
{
  return show_time_seconds(ft_estimate_quantile(m->d->input.estimate, p), text);
}

/* Appends the limit without foretell: "--time=5", "the default of partition main, 1:00:00". */
static void append_time_limit(struct time_message *m)
{
  char value[FT_TIME_VALUE], name[FT_PARTITION_SHOWN];

  if (m->d->unlimited)
    (void)ft_string_copy("UNLIMITED", value, sizeof value);
  else
    (void)ft_time_value((double)m->d->sizing.limit, value);
  if (m->d->given) {
    append_time_text(m, "--time=%s", value);
    return;
  }
  (void)ft_partition_show_name(m->d->partition, name);
  append_time_text(m, "the default of %s, %s,", name, value);
}

/* Appends "x needs about 7.3 min, 95 % below 9.1 min (12 runs)"; without an estimate what the runs
 * took. */
static void append_time_need(struct time_message *m)
{
  const struct ft_decision_input *q = &m->d->input;
  const struct ft_facts *f = &m->d->time->facts;
  const struct ft_estimate *e = q->estimate;
  bool several = q->tasks && q->tasks->count > 1;
  char text[FT_MESSAGE_BYTES];

  append_time_text(m, "%s ", q->app);
  if (m->d->sizing.has_estimate) {
    append_time_text(m, "%s %sabout %s", e->extrapolated ? "may need" : "needs",
                     several ? "up to " : "", show_time_quantile(m, 0.5, text));
    if (several)
      append_time_text(m, " (task %u)", (unsigned)q->tasks->index[m->d->time->longest]);
    append_time_text(m, ", 95 %% below %s", show_time_quantile(m, 0.95, text));
    append_time_text(m, " (%u %srun%s%s%s", e->runs, q->imported_from ? "imported " : "",
                     ft_plural(e->runs), q->pooled ? " of all users" : "",
                     e->extrapolated && !m->d->time->elsewhere ? ", extrapolated" : "");
    if (!m->d->time->of_partition && strcmp(m->d->time->platform, FT_PLATFORM_UNKNOWN) != 0)
      append_time_text(m, " on %s", m->d->time->platform);
    append_time_text(m, ")");
    return;
  }
  if (f->peak_value > 0)
    append_time_text(m, "took up to %s", show_time_seconds(f->peak_value, text));
  if (f->bound_value > f->peak_value)
    append_time_text(m, "%sstopped unfinished after %s", f->peak_value > 0 ? " and " : "",
                     show_time_seconds(f->comparable_killed_value > 0 ? f->comparable_killed_value
                                                                      : f->bound_value,
                                       text));
  append_time_text(m, " (%u completed run%s)", f->completed, ft_plural(f->completed));
}

/* Appends the probability of a timeout P under LIMIT seconds, of an array for one task and any. */
static void append_p_timeout(struct time_message *m, double p, uint64_t limit)
{
  uint32_t tasks = m->d->request.array_tasks;
  char text[FT_MESSAGE_PERCENT];

  append_time_text(m, "probability of a timeout: %s", ft_message_percent(p, text));
  if (tasks > 1)
    append_time_text(m, " for one task, %s for any of %u",
                     ft_message_percent(ft_sizing_p_any_task(&m->d->input, limit), text),
                     (unsigned)tasks);
}

/* Appends ", the most that partition main allows" if the amount is that. */
static void append_time_max(struct time_message *m)
{
  char name[FT_PARTITION_SHOWN];
  bool several = ft_partition_show_name(m->d->partition, name);

  if (m->d->sizing.capped)
    append_time_text(m, ", the most that %s allow%s", name, several ? "" : "s");
}

static void explain_time_change(struct time_message *m)
{
  const struct ft_sizing *s = &m->d->sizing;
  char value[FT_TIME_VALUE];

  append_time_need(m);
  append_time_text(m, "; --time ");
  if (s->action == FT_ACTION_SET)
    append_time_text(m, "set to ");
  else if (m->d->unlimited)
    append_time_text(m, "lowered from UNLIMITED to ");
  else
    append_time_text(m, "%s from %s to ", s->action == FT_ACTION_RAISE ? "raised" : "lowered",
                     ft_time_value((double)s->limit, value));
  append_time_text(m, "%s", ft_time_value((double)s->amount, value));
  append_time_max(m);
  if (s->p_amount > FT_SIZING_LOW_MIN || (s->p_amount >= 0 && m->d->request.array_tasks > 1)) {
    append_time_text(m, "; ");
    append_p_timeout(m, s->p_amount, s->amount);
  }
}

/* Appends "; use --time=10", an amount above the limit. */
static void append_time_advice(struct time_message *m)
{
  const struct ft_sizing *s = &m->d->sizing;
  char value[FT_TIME_VALUE];

  if (s->amount <= s->limit || s->unsupported)
    return;
  append_time_text(m, "; use --time=%s", ft_time_value((double)s->amount, value));
  append_time_max(m);
}

/* Appends "--time=5 is too short: x needs ..., probability of a timeout: 95 %". */
static void append_too_short(struct time_message *m)
{
  const struct ft_sizing *s = &m->d->sizing;

  append_time_limit(m);
  append_time_text(m, s->p_limit > 0.5 || !s->has_estimate ? " is too short: "
                                                           : " may be too short: ");
  append_time_need(m);
  if (s->p_limit >= 0) {
    append_time_text(m, "; ");
    append_p_timeout(m, s->p_limit, s->limit);
  }
}

static void explain_time_warning(struct time_message *m)
{
  const struct ft_sizing *s = &m->d->sizing;

  if (s->too_high && !s->too_low) {
    append_time_need(m);
    append_time_text(m, "; ");
    append_time_limit(m);
    append_time_text(m, " is far more, and a shorter limit can start earlier");
    return;
  }
  append_too_short(m);
  append_time_advice(m);
}

static void explain_unchanged_time(struct time_message *m)
{
  const struct ft_time_decision *d = m->d;
  const struct ft_sizing *s = &d->sizing;
  char percent[FT_MESSAGE_PERCENT];

  if (!s->has_evidence) {
    append_time_text(m, "%s: ", d->input.app);
    if (d->time->runs)
      append_time_text(m, "no run time predicted yet: %u completed run%s, %u needed (min_runs)",
                       d->time->runs, ft_plural(d->time->runs), (unsigned)d->policy.min_runs);
    else
      append_time_text(m, "no recorded run time yet");
    return;
  }
  append_time_need(m);
  if (s->misfit)
    append_time_text(m, "; the estimate does not fit these runs and is not used");
  if (s->mode == FT_MODE_OFF || s->limit_kind == FT_LIMIT_UNKNOWN || d->unlimited)
    ;
  else if (s->p_limit >= 0) {
    append_time_text(m, "; ");
    append_time_limit(m);
    append_time_text(m, " is enough (probability of a timeout: %s)",
                     ft_message_percent(s->p_limit, percent));
  }
  if (d->input.interactive && s->mode > FT_MODE_CHECK)
    append_time_text(m, "; the time of interactive sessions is not set");
  else if (!d->given && s->mode > FT_MODE_CHECK && s->amount < s->limit && d->input.estimate &&
           d->input.estimate->runs < d->policy.trim_runs)
    append_time_text(m, "; no --time set: less than the default takes %u runs (trim_runs)",
                     (unsigned)d->policy.trim_runs);
}

/* Returns whether nothing is reported. */
static bool is_time_silent(const struct ft_time_decision *d)
{
  const struct ft_sizing *s = &d->sizing;
  bool reported = s->explicit_mode || (s->mode == FT_MODE_CHECK && s->has_evidence);

  if (s->mode == FT_MODE_OFF)
    return true;
  if (d->input.dry_run || s->action == FT_ACTION_REJECT)
    return false;
  if (s->action == FT_ACTION_LEAVE && !reported)
    return true;
  return d->policy.quiet && !ft_time_is_changed(d) &&
         !(s->explicit_mode && s->mode == FT_MODE_CHECK);
}

void ft_time_explain(const struct ft_time_decision *d, struct ft_explanation *out)
{
  struct time_message m = { d, out->line[0] };

  out->count = 0;
  out->error = d->sizing.action == FT_ACTION_REJECT;
  out->line[0][0] = '\0';
  if (is_time_silent(d))
    return;
  out->count = 1;
  switch (d->sizing.action) {
  case FT_ACTION_SET:
  case FT_ACTION_RAISE:
  case FT_ACTION_TRIM:
    explain_time_change(&m);
    break;
  case FT_ACTION_WARN:
    explain_time_warning(&m);
    break;
  case FT_ACTION_REJECT:
    append_time_text(&m, d->input.dry_run ? "job would be rejected: " : "job rejected: ");
    append_too_short(&m);
    m.line = out->line[out->count++];
    m.line[0] = '\0';
    append_time_text(&m, "override with --predict-time=off");
    append_time_advice(&m);
    break;
  case FT_ACTION_LEAVE:
    explain_unchanged_time(&m);
    break;
  }
}
