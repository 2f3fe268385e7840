/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The voice: one line for what was done, in the user's units, with the evidence. */
#include "config.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "predictor/core/units.h"
#include "predictor/decide/sizing.h"

/* Elements of an array whose medians are within this part of the largest need the same. */
#define ALIKE 0.98
/* An extrapolated interval that reaches this many times its median is not worth telling. */
#define VAGUE 4
/* A probability above which a limit is not called enough. */
#define LIKELY 0.05

/* ---- parts of sentences ---- */

const char *ft_message_count(unsigned runs, unsigned completed, char out[FT_MESSAGE_COUNT])
{
  int used = snprintf(out, FT_MESSAGE_COUNT, "%u run%s", runs, runs == 1 ? "" : "s");

  if (!completed)
    (void)snprintf(out + used, FT_MESSAGE_COUNT - (size_t)used, ", none completed");
  else if (completed < runs)
    (void)snprintf(out + used, FT_MESSAGE_COUNT - (size_t)used, ", %u completed", completed);
  return out;
}

const char *ft_message_percent(double p, char out[FT_MESSAGE_PERCENT])
{
  if (p < 0.001)
    return "under 0.1 %";
  if (p > 0.999)
    return "over 99.9 %";
  (void)snprintf(out, FT_MESSAGE_PERCENT, p < 0.0995 || p > 0.9 ? "%.1f %%" : "%.0f %%", 100 * p);
  return out;
}

const char *ft_message_option(ft_mem_unit unit)
{
  return unit == FT_MEM_CPU ? "--mem-per-cpu" : unit == FT_MEM_GPU ? "--mem-per-gpu" : "--mem";
}

const char *ft_message_bytes(double bytes, char out[32])
{
  return ft_units_show_bytes(bytes < 0x1p63 ? (uint64_t)fmax(bytes, 0) : INT64_MAX, out, 32);
}

const char *ft_message_facts(const struct ft_facts *f, const char *of, const char *killed,
                             char *out, size_t size)
{
  bool like = f->like_runs > 0;
  double used = like ? f->like_peak_bytes : f->peak_bytes;
  double least = like ? f->like_bound_bytes : f->bound_bytes;
  char most[32], limit[32], bound[32], count[FT_MESSAGE_COUNT], first[96] = "", second[96] = "";

  if (used > 0)
    (void)snprintf(first, sizeof first, "has used up to %s%s%s", ft_message_bytes(used, most), of,
                   like ? "" : ", by runs unlike this one");
  if (f->like_killed_bytes > 0)
    (void)snprintf(second, sizeof second, "%s%s %s%s", used > 0 ? " and " : "", killed,
                   ft_message_bytes(f->like_killed_bytes, limit), used > 0 ? "" : of);
  else if (!(used > 0))
    (void)snprintf(second, sizeof second, "has needed at least %s%s",
                   ft_message_bytes(least, bound), of);
  (void)snprintf(out, size, "%s%s (%s)", first, second,
                 ft_message_count(like ? f->like_runs : f->runs,
                                  like ? f->like_completed : f->completed, count));
  return out;
}

bool ft_message_is_vague(const struct ft_estimate *e)
{
  return e->extrapolated && ft_estimate_quantile(e, 0.95) > VAGUE * ft_estimate_quantile(e, 0.5);
}

const char *ft_message_rule(const struct ft_sizing *sizing, char *out, size_t size)
{
  const char *name = ft_decision_rule_name(sizing->rule);

  out[0] = '\0';
  if (sizing->rule == FT_DECIDED_BY_CEILING)
    (void)snprintf(out, size, ", at most %.3g times what was needed so far%s (%s)",
                   sizing->ceiling_factor, sizing->thin ? " until more runs are known" : "", name);
  else if (sizing->rule == FT_DECIDED_BY_LEAK)
    (void)snprintf(out, size,
                   " and no further (%s); to try more, ask for at least that much with "
                   "--predict-mem=raise",
                   name);
  else if (sizing->rule == FT_DECIDED_BY_FLOOR)
    (void)snprintf(out, size, " (%s)", name);
  return out;
}

/* ---- the sentences ---- */

struct voice {
  const struct ft_decision_input *q;
  const struct ft_sizing *sizing;
  struct ft_explanation *out;
};

void ft_message_append(char line[FT_MESSAGE_SIZE], const char *format, va_list ap)
{
  size_t used = strlen(line);

  (void)vsnprintf(line + used, FT_MESSAGE_SIZE - used, format, ap);
}

/* Go on with the current line. */
__attribute__((format(printf, 2, 3))) static void say(struct voice *v, const char *format, ...)
{
  va_list ap;

  va_start(ap, format);
  ft_message_append(v->out->line[v->out->count - 1], format, ap);
  va_end(ap);
}

static void new_line(struct voice *v)
{
  if (v->out->count < FT_MESSAGE_LINES)
    v->out->line[v->out->count++][0] = '\0';
}

static void say_bytes(struct voice *v, double bytes)
{
  char text[32];

  say(v, "%s", ft_message_bytes(bytes, text));
}

static void say_slurm(struct voice *v, uint64_t bytes)
{
  char text[32];

  say(v, "%s", ft_units_slurm_bytes(bytes, text, sizeof text));
}

static void say_percent(struct voice *v, double p)
{
  char text[FT_MESSAGE_PERCENT];

  say(v, "%s", ft_message_percent(p, text));
}

/*
 * "99.7 %" under BYTES, P being the worst element's of an array: "3.0 % for one element, 26 % for
 * any of 10".
 */
static void say_chance(struct voice *v, double p, uint64_t bytes)
{
  uint32_t elements = v->q->request->array_tasks;

  say_percent(v, p);
  if (elements < 2)
    return;
  say(v, " for one element, ");
  say_percent(v, ft_sizing_p_any_task(v->q, bytes));
  say(v, " for any of %u", (unsigned)elements);
  if (v->q->elements && v->q->elements->count > 1 && v->q->elements->count < elements)
    say(v, ", by %zu of them", v->q->elements->count);
}

static void say_runs(struct voice *v)
{
  unsigned runs = v->q->estimate->runs;

  if (v->q->network) {
    say(v, "(by its operators, without a GPU)");
    return;
  }
  if (v->q->similar) {
    say(v, "(");
    if (runs)
      say(v, "%u run%s, and ", runs, runs == 1 ? "" : "s");
    say(v, "from %u similar app%s of yours)", v->q->similar, v->q->similar == 1 ? "" : "s");
    return;
  }
  say(v, "(%u %srun%s", runs, v->q->imported_from ? "imported " : "", runs == 1 ? "" : "s");
  if (v->q->pooled)
    say(v, " of all users");
  if (v->q->imported_from)
    say(v, " of jobs named %s", v->q->imported_from);
  say(v, "%s)", v->q->estimate->extrapolated ? ", extrapolated" : "");
}

/* Whether the elements of the array need so different amounts that the largest is to be named. */
static bool differ(const struct voice *v)
{
  double most = ft_estimate_quantile(v->q->estimate, 0.5);

  for (size_t i = 0; v->q->elements && i < v->q->elements->count; i++)
    if (ft_estimate_quantile(&v->q->elements->each[i], 0.5) < ALIKE * most)
      return true;
  return false;
}

/* "needs 11.2 GiB"; of an array whose elements differ "needs up to 11.2 GiB (element 7)" */
static void say_middle(struct voice *v, const char *verb)
{
  const struct ft_array_estimates *all = v->q->elements;

  say(v, "%s %s %s", v->q->network ? v->q->network : v->q->app, verb, differ(v) ? "up to " : "");
  say_bytes(v, ft_estimate_quantile(v->q->estimate, 0.5));
  if (differ(v))
    say(v, " (element %u)", (unsigned)all->index[v->q->estimate - all->each]);
}

/* "(3 runs)", "(4 runs, 1 completed)", "(6 runs, none completed)" */
static void say_count(struct voice *v, unsigned runs, unsigned completed)
{
  char text[FT_MESSAGE_COUNT];

  say(v, " (%s)", ft_message_count(runs, completed, text));
}

/* What runs have shown, without a claim about those to come: "x has used up to 210 MiB and was
 * killed at 227 MiB (4 runs, 1 completed)". */
static void say_facts(struct voice *v)
{
  char text[FT_MESSAGE_SIZE];

  say(v, "%s %s", v->q->app, ft_message_facts(v->q->facts, "", "was killed at", text, sizeof text));
}

/* "unet3d needs 11.2 GiB, 95 % below 12.6 GiB (42 runs)" */
static void say_need(struct voice *v)
{
  const struct ft_estimate *e = v->q->estimate;

  if (!v->sizing->has_estimate || (v->q->facts && ft_message_is_vague(e))) {
    say_facts(v);
    return;
  }
  say_middle(v, v->q->similar || e->extrapolated ? "may need" : "needs");
  say(v, ", 95 %% below ");
  say_bytes(v, ft_estimate_quantile(e, 0.95));
  say(v, " ");
  say_runs(v);
}

/* "partition main allows", "partitions a,b allow": VERB is of one. */
static void say_partition(struct voice *v, const char *verb)
{
  char called[FT_PARTITION_SHOWN];
  bool several = ft_partition_show_name(v->q->partition, called);

  say(v, "%s%s%.*s", called, *verb ? " " : "", (int)strlen(verb) - (several && *verb), verb);
}

/* What it has without foretell: "--mem=4G", "the default of partition main, 1 GiB"; FOLLOWS: the
 * sentence goes on. */
static void say_limit(struct voice *v, const char *follows)
{
  bool apposed =
      v->sizing->limit_kind == FT_LIMIT_DEFAULT || v->sizing->limit_kind == FT_LIMIT_WHOLE_NODE;

  switch (v->sizing->limit_kind) {
  case FT_LIMIT_ASKED:
    say(v, "%s=", ft_message_option(v->sizing->unit));
    say_slurm(v, v->q->request->mem_bytes);
    break;
  case FT_LIMIT_DEFAULT:
    say(v, "the default of ");
    if (v->sizing->limit_partition)
      say(v, "partition %s", v->sizing->limit_partition);
    else
      say_partition(v, "");
    say(v, ", ");
    say_bytes(v, (double)v->sizing->limit);
    break;
  case FT_LIMIT_WHOLE_NODE:
    say(v, "%sa whole node, ", v->q->request->mem_unit == FT_MEM_ALL ? "--mem=0, " : "");
    say_bytes(v, (double)v->sizing->limit);
    break;
  case FT_LIMIT_UNKNOWN:
  case FT_LIMIT_NONE:
    say(v, "what it has");
    break;
  }
  say(v, "%s%s", apposed && follows[0] == ' ' ? "," : "", follows);
}

static void say_amount(struct voice *v)
{
  say(v, "%s=", ft_message_option(v->sizing->unit));
  say_slurm(v, v->sizing->unit_amount);
}

static void say_no_node(struct voice *v)
{
  say(v, "no node of ");
  say_partition(v, "");
  say(v, " has more than ");
  say_bytes(v, (double)v->sizing->largest_node);
}

/* Why it is that much, where the estimate alone would have said otherwise. */
static void say_rule(struct voice *v)
{
  char text[FT_MESSAGE_SIZE];

  say(v, "%s", ft_message_rule(v->sizing, text, sizeof text));
}

/* "(maximum)" */
static void say_maximum(struct voice *v)
{
  say(v, " (%s)", ft_decision_rule_name(FT_DECIDED_BY_MAXIMUM));
}

/* "x was killed at 3 growing limits, the last 400 MiB, and never completed: it may leak memory" */
static void say_leak(struct voice *v)
{
  const struct ft_facts *f = v->q->facts;

  say(v, "%s was killed at %u growing limits, the last ", v->q->app, f->growing_kills);
  say_bytes(v, f->like_killed_bytes);
  if (f->like_peak_bytes > 0) {
    say(v, ", and completed with at most ");
    say_bytes(v, f->like_peak_bytes);
  } else {
    say(v, ", and never completed");
  }
  say(v, ": it may leak memory");
}

static bool is_step_limited(const struct voice *v)
{
  return v->q->facts && !v->q->network && v->q->facts->lately_step_limited;
}

/* What the job's memory does not help against. */
static void say_step_limit(struct voice *v)
{
  unsigned runs = v->q->facts->lately_step_limited;

  new_line(v);
  say(v, "in %u run%s a step of it was killed at a limit of its own, ", runs, runs == 1 ? "" : "s");
  say(v, "which the job's --mem does not change: see --mem of srun in the script");
}

/* Also where the user asks for more nevertheless. */
static bool may_leak(const struct voice *v)
{
  const struct ft_facts *f = v->q->facts;

  return v->sizing->rule == FT_DECIDED_BY_LEAK ||
         (f && !v->q->network && v->q->policy->leak_runs &&
          f->growing_kills >= v->q->policy->leak_runs && f->lately_killed > 0);
}

/* Set, raised or lowered. */
static void say_change(struct voice *v)
{
  const struct ft_sizing *p = v->sizing;

  say(v, "; %s ", ft_message_option(p->unit));
  if (p->action == FT_ACTION_SET) {
    say(v, "set to ");
  } else {
    say(v, p->action == FT_ACTION_RAISE ? "raised from " : "lowered from ");
    if (p->limit_kind == FT_LIMIT_ASKED)
      say_slurm(v, v->q->request->mem_bytes);
    else
      say(v, "0 (a whole node)");
    say(v, " to ");
  }
  say_slurm(v, p->unit_amount);
  say_rule(v);
  if (p->no_node_fits) {
    say(v, ", but ");
    say_no_node(v);
    say_maximum(v);
  } else if (p->capped) {
    say(v, ", the most that ");
    say_partition(v, "allows");
    say_maximum(v);
  }
  if (p->p_amount >= 0 && (p->capped || v->q->request->array_tasks > 1)) {
    say(v, "; out of memory: ");
    say_chance(v, p->p_amount, p->amount);
  }
}

/* Whether running out of memory is likelier than not, or has been seen. */
static bool would_fail(const struct voice *v)
{
  const struct ft_sizing *p = v->sizing;

  if (p->p_limit > 0.5)
    return true;
  return v->q->facts && (double)p->limit <= fmax(v->q->facts->like_sure_bytes,
                                                 v->q->facts->like_completed
                                                     ? 0
                                                     : v->q->facts->like_killed_bytes);
}

/* Whether the amount is worth a word: it is more, and not likelier than not too little. */
static bool is_advised(const struct ft_sizing *p)
{
  return p->amount > p->limit && !(p->p_amount > 0.5) && p->rule != FT_DECIDED_BY_LEAK;
}

static void explain_low(struct voice *v)
{
  const struct ft_sizing *p = v->sizing;
  bool advised = is_advised(p) || (p->capped && p->amount > p->limit);

  if (p->rule == FT_DECIDED_BY_LEAK)
    say_leak(v);
  else
    say_need(v);
  if (!p->enforced) {
    say(v, v->q->request->mem_unit == FT_MEM_NONE ? "; it has " : "; you asked for ");
    say_limit(v, ", less than that");
  } else {
    say(v, "; with ");
    say_limit(v, would_fail(v) ? " it would run out of memory" : " it may run out of memory");
  }
  if (p->p_limit >= 0) {
    say(v, " (");
    say_chance(v, p->p_limit, p->limit);
    say(v, ")");
  }
  if (p->no_node_fits) {
    say(v, "; ");
    say_no_node(v);
  } else if (advised) {
    say(v, "; ask for ");
    say_amount(v);
  }
  if (p->capped && !p->no_node_fits) {
    say(v, advised ? ", the most that " : "; ");
    say_partition(v, "allows");
    say(v, advised ? "" : " no more");
  }
}

/* "unet3d needs 11.2 GiB (42 runs); you asked for --mem=64G, 50 GiB more than it has ever used" */
static void explain_high(struct voice *v)
{
  const struct ft_estimate *e = v->q->estimate;
  double used = fmax(e->max_bytes, ft_estimate_quantile(e, 0.5));

  say_middle(v, "needs");
  say(v, " ");
  say_runs(v);
  say(v, v->q->request->mem_unit == FT_MEM_NONE ? "; it has " : "; you asked for ");
  say_limit(v, "");
  if ((double)v->sizing->limit > used) {
    say(v, ", ");
    say_bytes(v, (double)v->sizing->limit - used);
    say(v, v->q->network ? " more than that" : " more than it has ever used");
  }
}

static void explain_warning(struct voice *v)
{
  if (v->sizing->too_high && !v->sizing->too_low)
    explain_high(v);
  else
    explain_low(v);
}

/* "--mem=4G, but unet3d has needed 11.2 GiB (42 runs)"; or the partition allows too little. */
static void explain_rejection(struct voice *v)
{
  const struct ft_sizing *p = v->sizing;
  bool passes = p->p_amount >= 0 && p->p_amount <= v->q->policy->reject_probability;

  v->out->error = true;
  say(v, "not submitted: ");
  if (passes) {
    say_limit(v, ", but ");
  }
  /* what no run was like has not been seen */
  say_middle(v, v->q->network || v->q->estimate->extrapolated ? "needs" : "has needed");
  say(v, " ");
  say_runs(v);
  if (!passes && p->no_node_fits) {
    say(v, ", but ");
    say_no_node(v);
  } else if (!passes) {
    say(v, ", but ");
    say_partition(v, "allows");
    say(v, " no more than ");
    say_bytes(v, (double)p->max);
  }
  say(v, ": it would run out of memory (");
  say_chance(v, p->p_oom, p->oom_bytes);
  say(v, ").");
  if (passes || v->q->policy->force || p->mode == FT_MODE_FORCE)
    new_line(v);
  if (passes) {
    say(v, "ask for ");
    say_amount(v);
  }
  if (v->q->policy->force)
    say(v, "%ssubmit it all the same with --predict-mem=force", passes ? ", or " : "");
  else if (p->mode == FT_MODE_FORCE)
    say(v, "%s--predict-mem=force does not override that here", passes ? "; " : "");
}

/* "x: no run of it is known yet; half of the 57 apps here need 1.2 GiB or less, 95 % at most 30
 * GiB" */
static void say_at_large(struct voice *v)
{
  say(v, "%s: no run of it is known yet; half of %u apps here need ", v->q->app, v->q->at_large);
  say_bytes(v, ft_estimate_quantile(v->q->estimate, 0.5));
  say(v, " or less, 95 %% of them ");
  say_bytes(v, ft_estimate_quantile(v->q->estimate, 0.95));
}

/* Nothing is wrong, and somebody asked to be told. */
static void explain_nothing_done(struct voice *v)
{
  const struct ft_sizing *p = v->sizing;

  if (!p->has_evidence) {
    if (v->q->at_large)
      say_at_large(v);
    else if (v->q->facts && v->q->facts->runs)
      say(v, "%s: no run of it tells what it needs", v->q->app), say_count(v, v->q->facts->runs,
                                                                           v->q->facts->completed);
    else
      say(v, "%s: no run of it is known yet", v->q->app);
    return;
  }
  if (p->rule == FT_DECIDED_BY_LEAK)
    say_leak(v);
  else
    say_need(v);
  if (p->mode == FT_MODE_OFF)
    return;
  if (v->q->interactive && p->mode != FT_MODE_CHECK) {
    say(v, "; an interactive session is not set from that");
  } else if (!p->enforced) {
    say(v, "; nothing here kills a job for its memory");
  } else if (p->limit && p->p_limit >= 0 && p->p_limit <= LIKELY) {
    say(v, "; ");
    say_limit(v, " is enough (out of memory: ");
    say_chance(v, p->p_limit, p->limit);
    say(v, ")");
  } else if (p->limit && p->p_limit >= 0) {
    say(v, "; ");
    say_limit(v, " may not be enough (out of memory: ");
    say_chance(v, p->p_limit, p->limit);
    say(v, ")");
  } else if (p->limit && p->mode == FT_MODE_CHECK) {
    say(v, "; nothing known says that ");
    say_limit(v, " is too little");
  } else if (p->limit) {
    say(v, "; ");
    say_limit(v, " stays (");
    say(v, "%s)", ft_decision_rule_name(p->rule));
  }
}

void ft_explain(const struct ft_decision_input *question, const struct ft_sizing *sizing,
                const ft_decision *decision, struct ft_explanation *out)
{
  struct voice v = { question, sizing, out };
  ft_action action = decision->action;

  out->count = 0;
  out->error = false;
  if (sizing->mode == FT_MODE_OFF && !question->answer && action != FT_ACTION_REJECT)
    return;
  if (question->policy->quiet && !question->answer &&
      !(sizing->explicit_mode && sizing->mode == FT_MODE_CHECK) &&
      (action == FT_ACTION_LEAVE || action == FT_ACTION_WARN))
    return;
  if (action == FT_ACTION_LEAVE && !sizing->explicit_mode && !question->answer)
    return;
  new_line(&v);
  switch (action) {
  case FT_ACTION_SET:
  case FT_ACTION_RAISE:
  case FT_ACTION_TRIM:
    if (may_leak(&v))
      say_leak(&v);
    else
      say_need(&v);
    say_change(&v);
    break;
  case FT_ACTION_WARN:
    if (sizing->too_low || sizing->too_high || sizing->no_node_fits || !is_step_limited(&v))
      explain_warning(&v);
    else
      explain_nothing_done(&v);
    break;
  case FT_ACTION_REJECT:
    explain_rejection(&v);
    break;
  case FT_ACTION_LEAVE:
    explain_nothing_done(&v);
    break;
  }
  if (is_step_limited(&v))
    say_step_limit(&v);
}
