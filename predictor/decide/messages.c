/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The message about a decision: estimate and evidence, then the action, in the user's units. A
 * function append_... appends a part to the current line; a function explain_... writes a message.
 */
#include "config.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "predictor/core/text.h"
#include "predictor/core/units.h"
#include "predictor/decide/messages.h"
#include "predictor/decide/sizing.h"

/* Array tasks are not reported as different if all medians are above this fraction of the largest.
 * Chosen by judgement. */
#define EQUAL_MEDIANS 0.98

/* ---- writing a message ---- */

struct message {
  const struct ft_decision_input *q;
  const struct ft_sizing *sizing;
  struct ft_explanation *out;
};

/* Appends formatted text to the current line. */
__attribute__((format(printf, 2, 3))) static void append_message_text(struct message *m,
                                                                      const char *format, ...)
{
  va_list ap;

  va_start(ap, format);
  ft_message_append(m->out->line[m->out->count - 1], format, ap);
  va_end(ap);
}

/* Starts a new line; a full message continues its last one. */
static void start_message_line(struct message *m)
{
  if (m->out->count < FT_MESSAGE_LINES)
    m->out->line[m->out->count++][0] = '\0';
}

/* Formats the estimate's quantile at P in TEXT. */
static const char *show_quantile(const struct message *m, double p, char text[FT_MESSAGE_BYTES])
{
  return ft_message_bytes(ft_estimate_quantile(m->q->estimate, p), text);
}

/* Appends BYTES as a value of --mem: "105M". */
static void append_slurm_bytes(struct message *m, uint64_t bytes)
{
  char text[32];

  append_message_text(m, "%s", ft_units_slurm_bytes(bytes, text, sizeof text));
}

/*
 * Appends P, the probability of running out of memory under BYTES: "99.7 %". For a job array, P is
 * the largest of a task: "3.0 % for one task, 26 % for any of 10".
 */
static void append_p_oom(struct message *m, double p, uint64_t bytes)
{
  uint32_t tasks = m->q->request->array_tasks;
  char text[FT_MESSAGE_PERCENT];

  append_message_text(m, "%s", ft_message_percent(p, text));
  if (tasks < 2)
    return;
  append_message_text(m, " for one task, %s for any of %u",
                      ft_message_percent(ft_sizing_p_any_task(m->q, bytes), text), (unsigned)tasks);
  if (m->q->tasks && m->q->tasks->count > 1 && m->q->tasks->count < tasks)
    append_message_text(m, ", estimated from %zu tasks", m->q->tasks->count);
}

/* Appends the evidence of the estimate: " (42 runs)", " (extrapolated from 2 runs)". */
static void append_evidence(struct message *m)
{
  unsigned runs = m->q->estimate->runs, stopped = m->q->estimate->stopped;
  const char *imported = m->q->imported_from ? "imported " : "";
  char killed[FT_MESSAGE_BYTES];

  if (m->q->network) {
    append_message_text(m, " (by its operators, without a GPU)");
    return;
  }
  if (m->q->similar) {
    append_message_text(m, " (");
    if (runs)
      append_message_text(m, "%u run%s, and ", runs, ft_plural(runs));
    append_message_text(m, "from %u similar app%s of yours)", m->q->similar,
                        ft_plural(m->q->similar));
    return;
  }
  append_message_text(m, " (%s", m->q->estimate->extrapolated ? "extrapolated from " : "");
  if (runs || !stopped)
    append_message_text(m, "%u %srun%s%s", runs, imported, ft_plural(runs), stopped ? " and " : "");
  if (stopped && runs)
    append_message_text(m, "%u that did not complete", stopped);
  else if (stopped)
    append_message_text(m, "%u %srun%s that did not complete", stopped, imported,
                        ft_plural(stopped));
  if (m->q->pooled)
    append_message_text(m, " of all users");
  if (m->q->imported_from)
    append_message_text(m, " of jobs named %s", m->q->imported_from);
  if (ft_message_names_last_kill(m->q, m->sizing))
    append_message_text(m, "; the last comparable one was killed at %s",
                        ft_message_bytes(m->q->facts->lately_killed_value, killed));
  append_message_text(m, ")");
}

/* Returns whether the medians of the array's tasks differ, so that the message names the largest
 * task. */
static bool do_tasks_differ(const struct message *m)
{
  double max = ft_estimate_quantile(m->q->estimate, 0.5);

  for (size_t i = 0; m->q->tasks && i < m->q->tasks->count; i++)
    if (ft_estimate_quantile(&m->q->tasks->each[i], 0.5) < EQUAL_MEDIANS * max)
      return true;
  return false;
}

/* Appends the median: "unet3d needs 11.2 GiB"; of an array with different tasks "unet3d needs up to
 * 11.2 GiB (task 7)". */
static void append_median(struct message *m, const char *verb)
{
  const struct ft_array_estimates *all = m->q->tasks;
  bool differ = do_tasks_differ(m);
  char text[FT_MESSAGE_BYTES];

  append_message_text(m, "%s %s %s%s", m->q->network ? m->q->network : m->q->app, verb,
                      differ ? "up to " : "", show_quantile(m, 0.5, text));
  if (differ)
    append_message_text(m, " (task %u)", (unsigned)all->index[m->q->estimate - all->each]);
}

/* Appends the facts: "unet3d used up to 210 MiB and was killed at 227 MiB (4 runs, 1
 * completed)". */
static void append_facts(struct message *m)
{
  char text[FT_MESSAGE_SIZE];

  append_message_text(m, "%s %s", m->q->app,
                      ft_message_facts(m->q->facts, "", "was killed at", text, sizeof text));
}

/* Appends the estimate: "unet3d needs 11.2 GiB, 95 % below 12.6 GiB (42 runs)"; without an
 * estimate, or with a vague one, the facts. */
static void append_need(struct message *m)
{
  char text[FT_MESSAGE_BYTES];

  if (ft_message_reports_facts(m->q, m->sizing)) {
    append_facts(m);
    if (m->sizing->misfit)
      append_message_text(m, "; the estimate does not fit these runs and is not used");
    return;
  }
  append_median(m, ft_message_verb(m->q, m->sizing));
  append_message_text(m, ", 95 %% below %s", show_quantile(m, 0.95, text));
  append_evidence(m);
}

/* Appends "; its script gives a program 32.4 GiB", if that determines what is set. */
static void append_stated(struct message *m)
{
  char text[FT_MESSAGE_BYTES];

  if (m->sizing->stated)
    append_message_text(m, "; its script gives a program %s",
                        ft_message_bytes((double)m->sizing->stated, text));
}

/* Appends the need, or with LEAK the message about a possible leak. */
static void append_reason(struct message *m, bool leak)
{
  char text[FT_MESSAGE_SIZE];

  if (leak)
    append_message_text(m, "%s %s", m->q->app, ft_message_leak(m->q->facts, text, sizeof text));
  else
    append_need(m);
}

/* Appends "partition main allows" or "partitions a,b allow". VERB is the singular, or "". */
static void append_partition(struct message *m, const char *verb)
{
  char name[FT_PARTITION_SHOWN];
  bool several = ft_partition_show_name(m->q->partition, name);

  append_message_text(m, "%s%s%.*s", name, *verb ? " " : "", (int)strlen(verb) - (several && *verb),
                      verb);
}

/*
 * Appends the job's memory without foretell, "--mem=4G" or "the default of partition main, 1 GiB",
 * and REST, the continuation of the sentence. Between an apposition and a REST that begins with a
 * blank there is a comma.
 */
static void append_limit(struct message *m, const char *rest)
{
  const struct ft_sizing *s = m->sizing;
  bool apposition = s->limit_kind == FT_LIMIT_DEFAULT || s->limit_kind == FT_LIMIT_WHOLE_NODE;
  char text[FT_MESSAGE_BYTES];

  switch (s->limit_kind) {
  case FT_LIMIT_REQUESTED:
    append_message_text(m, "%s=", ft_message_option(s->unit));
    append_slurm_bytes(m, m->q->request->mem_bytes);
    break;
  case FT_LIMIT_DEFAULT:
    append_message_text(m, "the default of ");
    if (s->limit_partition)
      append_message_text(m, "partition %s", s->limit_partition);
    else
      append_partition(m, "");
    append_message_text(m, ", %s", ft_message_bytes((double)s->limit, text));
    break;
  case FT_LIMIT_WHOLE_NODE:
    append_message_text(m, "%sa whole node, %s",
                        m->q->request->mem_unit == FT_MEM_ALL ? "--mem=0, " : "",
                        ft_message_bytes((double)s->limit, text));
    break;
  case FT_LIMIT_UNKNOWN:
  case FT_LIMIT_NONE:
    append_message_text(m, "its memory");
    break;
  }
  append_message_text(m, "%s%s", apposition && rest[0] == ' ' ? "," : "", rest);
}

/* Appends the recommended request: "--mem=105M". */
static void append_recommendation(struct message *m)
{
  append_message_text(m, "%s=", ft_message_option(m->sizing->unit));
  append_slurm_bytes(m, m->sizing->unit_amount);
}

/* Appends "no node of partition main has more than 64 GiB". */
static void append_no_node(struct message *m)
{
  char text[FT_MESSAGE_BYTES];

  append_message_text(m, "no node of ");
  append_partition(m, "");
  append_message_text(m, " has more than %s",
                      ft_message_bytes((double)m->sizing->largest_node, text));
}

/* Returns whether the message has the probability of running out of memory under the amount that is
 * set: a risk, or different ones for a task and for any of an array. */
static bool is_risk_reported(const struct message *m)
{
  const struct ft_sizing *s = m->sizing;

  return s->p_amount > FT_SIZING_LOW_MIN ||
         (s->p_amount >= 0 && (s->capped || m->q->request->array_tasks > 1));
}

/* Appends the reason of the amount, if it is not the need. */
static void append_rule(struct message *m)
{
  const struct ft_sizing *s = m->sizing;
  char text[FT_MESSAGE_SIZE];

  if (!is_risk_reported(m))
    append_message_text(m, "%s", ft_message_margin(m->q, s, text, sizeof text));
  append_message_text(m, "%s",
                      ft_message_rule(s, m->q->network ? NULL : m->q->facts, text, sizeof text));
}

/* ---- the messages ---- */

/* Returns whether the app may leak memory, also if the rule leak does not apply because the user
 * requests more. */
static bool may_leak(const struct message *m)
{
  const struct ft_facts *f = m->q->facts;

  return m->sizing->rule == FT_DECIDED_BY_LEAK ||
         (f && !m->q->network && m->q->policy->leak_runs &&
          f->growing_kills >= m->q->policy->leak_runs && f->lately_killed > 0);
}

/* Writes the message about a request that was set, raised or lowered. */
static void explain_change(struct message *m)
{
  const struct ft_sizing *s = m->sizing;

  append_reason(m, may_leak(m));
  append_stated(m);
  append_message_text(m, "; %s ", ft_message_option(s->unit));
  if (s->action == FT_ACTION_SET) {
    append_message_text(m, "set to ");
  } else {
    append_message_text(m, s->action == FT_ACTION_RAISE ? "raised from " : "lowered from ");
    if (s->limit_kind == FT_LIMIT_REQUESTED)
      append_slurm_bytes(m, m->q->request->mem_bytes);
    else
      append_message_text(m, "0 (a whole node)");
    append_message_text(m, " to ");
  }
  append_slurm_bytes(m, s->unit_amount);
  append_rule(m);
  if (s->no_node_fits) {
    append_message_text(m, ", but ");
    append_no_node(m);
  } else if (s->capped) {
    append_message_text(m, ", the most that ");
    append_partition(m, "allows");
  }
  if (is_risk_reported(m)) {
    append_message_text(m, "; probability of running out of memory: ");
    append_p_oom(m, s->p_amount, s->amount);
  }
}

/* Returns whether running out of memory under the limit is more likely than not, or was
 * observed. */
static bool would_fail(const struct message *m)
{
  const struct ft_sizing *s = m->sizing;
  const struct ft_facts *f = m->q->facts;

  if (s->p_limit > 0.5)
    return true;
  return f && (double)s->limit <= fmax(f->comparable_min_value,
                                       f->comparable_completed ? 0 : f->comparable_killed_value);
}

/* Returns whether the only evidence is the largest task of runs with several: the need may be many
 * times that. */
static bool is_only_bound(const struct message *m)
{
  const struct ft_facts *f = m->q->facts;

  return !m->sizing->has_estimate && f && f->partial && !f->completed;
}

/* Returns whether the message recommends the amount, which is above the limit. */
static bool is_recommended(const struct message *m)
{
  const struct ft_sizing *s = m->sizing;

  return s->amount > s->limit && !s->unsupported && s->rule != FT_DECIDED_BY_LEAK &&
         !is_only_bound(m);
}

/* Writes the warning about a limit that is too low. */
static void explain_low(struct message *m)
{
  const struct ft_sizing *s = m->sizing;
  bool recommended = is_recommended(m);
  char text[FT_MESSAGE_SIZE], most[FT_MESSAGE_BYTES];

  append_reason(m, s->rule == FT_DECIDED_BY_LEAK);
  append_message_text(m, "; ");
  if (!s->enforced) {
    append_limit(m, " is less");
  } else {
    append_message_text(m, "with ");
    append_limit(m, would_fail(m) ? " it would run out of memory" : " it may run out of memory");
  }
  /* a risk that the estimate does not see is one of the facts */
  if (s->p_limit > FT_SIZING_LOW_MIN) {
    append_message_text(m, " (");
    append_p_oom(m, s->p_limit, s->limit);
    append_message_text(m, ")");
  }
  if (s->no_node_fits) {
    append_message_text(m, "; ");
    append_no_node(m);
  } else if (recommended) {
    append_message_text(m, "; use ");
    append_recommendation(m);
  }
  if (s->capped && !s->no_node_fits) {
    append_message_text(m, recommended ? ", the most that " : "; ");
    append_partition(m, "allows");
    if (!recommended)
      append_message_text(m, " no more than %s", ft_message_bytes((double)s->max, most));
  }
  append_message_text(m, "%s", ft_message_withheld(m->q, s, text, sizeof text));
}

/* Writes the warning about a request that is too high: "unet3d needs 11.2 GiB (42 runs); --mem=64G
 * is 50 GiB more than any run used". */
static void explain_high(struct message *m)
{
  const struct ft_estimate *e = m->q->estimate;
  double used = fmax(e->max_value, ft_estimate_quantile(e, 0.5));
  char text[FT_MESSAGE_BYTES];

  append_median(m, ft_message_verb(m->q, m->sizing));
  append_evidence(m);
  append_message_text(m, "; ");
  append_limit(m, " is ");
  if ((double)m->sizing->limit > used)
    append_message_text(m, "%s more than %s",
                        ft_message_bytes((double)m->sizing->limit - used, text),
                        m->q->network ? "that" : "any run used");
  else
    append_message_text(m, "far more than that");
}

/*
 * Writes "job rejected: --mem=30M is too small; x needs 99.0 MiB (6 runs), probability of running
 * out of memory over 99.9 %", then a request that would be accepted, and the override.
 */
static void explain_rejection(struct message *m)
{
  const struct ft_sizing *s = m->sizing;
  bool passes = s->p_amount >= 0 && s->p_amount <= m->q->policy->reject_probability;
  char text[FT_MESSAGE_BYTES];

  m->out->error = true;
  append_message_text(m, m->q->dry_run ? "job would be rejected: " : "job rejected: ");
  if (passes)
    append_limit(m, " is too small; ");
  append_median(m, "needs");
  append_evidence(m);
  if (!passes && s->no_node_fits) {
    append_message_text(m, ", but ");
    append_no_node(m);
  } else if (!passes) {
    append_message_text(m, ", but ");
    append_partition(m, "allows");
    append_message_text(m, " no more than %s", ft_message_bytes((double)s->max, text));
  }
  append_message_text(m, ", probability of running out of memory ");
  append_p_oom(m, s->p_oom, s->oom_bytes);
  if (passes || m->q->policy->force || s->mode == FT_MODE_FORCE)
    start_message_line(m);
  if (passes) {
    append_message_text(m, "use ");
    append_recommendation(m);
  }
  if (m->q->policy->force)
    append_message_text(m, "%soverride with --predict-mem=force", passes ? ", or " : "");
  else if (s->mode == FT_MODE_FORCE)
    append_message_text(m, "%sthis site does not allow --predict-mem=force", passes ? "; " : "");
}

/* Appends "; of 57 apps on this site, half need at most 1.2 GiB and 95 % at most 30 GiB". */
static void append_site_prior(struct message *m)
{
  char half[FT_MESSAGE_BYTES], high[FT_MESSAGE_BYTES];

  append_message_text(m, "; of %u apps on this site, half need at most %s and 95 %% at most %s",
                      m->q->site_prior_apps, show_quantile(m, 0.5, half),
                      show_quantile(m, 0.95, high));
}

/* Writes the report of an app without a run: "x: no recorded run yet", and what is known of it.
 * What all apps of the site need says less than what its program needs. */
static void explain_new_app(struct message *m)
{
  const struct ft_new_app *n = m->q->new_app;
  char text[FT_MESSAGE_SIZE];

  append_message_text(m, "%s: no recorded run yet", m->q->app);
  if (m->q->site_prior_apps && !(n && (n->users || n->common)))
    append_site_prior(m);
  if (n)
    append_message_text(m, "%s", ft_message_new_app(n, text, sizeof text));
}

/* Writes the report of a job whose app has no usable runs. */
static void explain_no_evidence(struct message *m)
{
  const struct ft_facts *f = m->q->facts;
  char count[FT_MESSAGE_COUNT];

  if (m->sizing->misfit)
    append_message_text(m, "%s: the estimate does not fit the recorded runs and is not used",
                        m->q->app);
  else if (f && f->runs)
    append_message_text(m, "%s: no recorded run shows what it needs (%s)", m->q->app,
                        ft_message_count(f->runs, f->completed, f->runs, f->partial > 0, count));
  else
    explain_new_app(m);
}

/* Writes "x: its script sizes the program by the memory of the job; --mem=4G is unchanged". */
static void explain_kept_limit(struct message *m)
{
  bool shown = m->q->facts && m->q->facts->limit_effect == FT_LIMIT_FOLLOWED;

  append_message_text(m, "%s: %s; ", m->q->app,
                      shown
                          ? "its runs used more when they were given more, and less when given less"
                          : "its script sizes the program by the memory of the job");
  append_limit(m, " is unchanged");
}

/* Writes the report of a job that is unchanged, without a warning. */
static void explain_no_change(struct message *m)
{
  const struct ft_sizing *s = m->sizing;

  if (!s->has_evidence) {
    explain_no_evidence(m);
    return;
  }
  if (s->keeps_limit) {
    explain_kept_limit(m);
    return;
  }
  append_reason(m, s->rule == FT_DECIDED_BY_LEAK);
  append_stated(m);
  if (s->mode == FT_MODE_OFF)
    return;
  if (m->q->interactive && s->mode != FT_MODE_CHECK) {
    append_message_text(m, "; memory of interactive sessions is not set");
  } else if (!s->enforced) {
    append_message_text(m, "; this cluster does not enforce memory limits");
  } else if (s->limit && s->p_limit >= 0) {
    append_message_text(m, "; ");
    append_limit(m, s->p_limit <= FT_SIZING_LOW_MIN ? " is enough" : " may not be enough");
    append_message_text(m, " (probability of running out of memory: ");
    append_p_oom(m, s->p_limit, s->limit);
    append_message_text(m, ")");
  } else if (ft_message_is_limit_doubtful(m->q, s)) {
    append_message_text(m, "; ");
    append_limit(m, " may not be enough, by too few runs to decide");
  } else if (s->limit && s->mode == FT_MODE_CHECK) {
    append_message_text(m, "; no evidence that ");
    append_limit(m, " is too small");
  } else if (s->limit) {
    append_message_text(m, "; ");
    append_limit(m, " is unchanged: ");
    append_message_text(m, "%s", s->reason);
  }
}

/* Writes the message of the action warn. */
static void explain_warning(struct message *m)
{
  const struct ft_sizing *s = m->sizing;

  if (!s->too_low && !s->too_high && !s->no_node_fits && ft_message_is_step_limited(m->q))
    explain_no_change(m);
  else if (s->too_high && !s->too_low)
    explain_high(m);
  else
    explain_low(m);
}

/* Returns whether the settings of the user and the site suppress a message about ACTION. */
static bool is_silent(const struct ft_decision_input *q, const struct ft_sizing *sizing,
                      ft_action action)
{
  bool unchanged = action == FT_ACTION_LEAVE || action == FT_ACTION_WARN;
  bool reported = sizing->explicit_mode || (sizing->mode == FT_MODE_CHECK && sizing->has_evidence);

  if (q->dry_run || action == FT_ACTION_REJECT)
    return false;
  if (sizing->mode == FT_MODE_OFF || (action == FT_ACTION_LEAVE && !reported))
    return true;
  return q->policy->quiet && unchanged && !(sizing->explicit_mode && sizing->mode == FT_MODE_CHECK);
}

void ft_explain(const struct ft_decision_input *input, const struct ft_sizing *sizing,
                const ft_decision *decision, struct ft_explanation *out)
{
  struct message m = { input, sizing, out };

  out->count = 0;
  out->error = false;
  if (is_silent(input, sizing, decision->action))
    return;
  start_message_line(&m);
  switch (decision->action) {
  case FT_ACTION_SET:
  case FT_ACTION_RAISE:
  case FT_ACTION_TRIM:
    explain_change(&m);
    break;
  case FT_ACTION_WARN:
    explain_warning(&m);
    break;
  case FT_ACTION_REJECT:
    explain_rejection(&m);
    break;
  case FT_ACTION_LEAVE:
    explain_no_change(&m);
    break;
  }
  ft_explain_notes(input, out);
}
