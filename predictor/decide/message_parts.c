/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parts of messages about a decision: amounts, counts, probabilities, facts, and lines after them.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "predictor/core/text.h"
#include "predictor/core/units.h"
#include "predictor/decide/messages.h"
#include "predictor/decide/sizing.h"
#include "predictor/estimate/variant.h"

/* A message gives the reason of an amount above this multiple of the median. Chosen by judgement.
 */
#define EXPLAINED_RATIO 1.5
/* Smallest probability that a message shows, and that is a reason of an amount. */
#define SHOWN_RISK 0.001

const char *ft_message_count(unsigned runs, unsigned completed, unsigned recorded, bool partial,
                             char out[FT_MESSAGE_COUNT])
{
  int used = snprintf(out, FT_MESSAGE_COUNT, "%u %srun%s", runs,
                      recorded > runs ? "comparable " : "", ft_plural(runs));

  if (recorded > runs)
    used += snprintf(out + used, FT_MESSAGE_COUNT - (size_t)used, " of %u", recorded);
  if (!completed)
    (void)snprintf(out + used, FT_MESSAGE_COUNT - (size_t)used,
                   partial ? ", none with all tasks measured" : ", none completed");
  else if (completed < runs)
    (void)snprintf(out + used, FT_MESSAGE_COUNT - (size_t)used, ", %u completed", completed);
  return out;
}

const char *ft_message_percent(double p, char out[FT_MESSAGE_PERCENT])
{
  if (p < SHOWN_RISK)
    return "under 0.1 %";
  if (p > 1 - SHOWN_RISK)
    return "over 99.9 %";
  (void)snprintf(out, FT_MESSAGE_PERCENT, p < 0.0995 || p > 0.9 ? "%.1f %%" : "%.0f %%", 100 * p);
  return out;
}

const char *ft_message_option(ft_mem_unit unit)
{
  return unit == FT_MEM_CPU ? "--mem-per-cpu" : unit == FT_MEM_GPU ? "--mem-per-gpu" : "--mem";
}

const char *ft_message_bytes(double bytes, char out[FT_MESSAGE_BYTES])
{
  return ft_units_show_bytes(bytes < 0x1p63 ? (uint64_t)fmax(bytes, 0) : INT64_MAX, out,
                             FT_MESSAGE_BYTES);
}

const char *ft_message_facts(const struct ft_facts *f, const char *of, const char *killed,
                             char *out, size_t size)
{
  bool comparable = f->comparable_runs > 0;
  double used = comparable ? f->comparable_peak_value : f->peak_value;
  double bound = comparable ? f->comparable_bound_value : f->bound_value;
  const char *unlike = comparable ? ""
                       : f->less  ? ", in larger runs"
                                  : ", in runs that are not comparable";
  char text[FT_MESSAGE_BYTES], count[FT_MESSAGE_COUNT], first[112] = "", second[112] = "";

  if (used > 0)
    (void)snprintf(first, sizeof first, "used up to %s%s%s", ft_message_bytes(used, text), of,
                   unlike);
  if (f->comparable_killed_value > 0)
    (void)snprintf(second, sizeof second, "%s%s %s%s", used > 0 ? " and " : "", killed,
                   ft_message_bytes(f->comparable_killed_value, text), used > 0 ? "" : of);
  else if (!(used > 0) && bound > 0 && !comparable)
    (void)snprintf(second, sizeof second, "needed at least %s%s%s", ft_message_bytes(bound, text),
                   of, unlike);
  else if (!(used > 0) && bound > 0)
    (void)snprintf(second, sizeof second, "needs at least %s%s", ft_message_bytes(bound, text), of);
  else if (!(used > 0))
    (void)snprintf(second, sizeof second, "needs an unknown amount%s", of);
  (void)snprintf(out, size, "%s%s (%s)", first, second,
                 ft_message_count(comparable ? f->comparable_runs : f->runs,
                                  comparable ? f->comparable_completed : f->completed, f->runs,
                                  f->partial > 0, count));
  return out;
}

const char *ft_message_compared(const ft_model *model, char *out, size_t size)
{
  const ft_evaluator *e = &model->evaluator;
  size_t used = 0;

  out[0] = '\0';
  for (size_t c = 0; c < e->fact_columns_count && used < size; c++) {
    const ft_column *column = &model->columns[e->fact_columns[c]];
    const char *name = strcmp(column->name, FT_VARIANT_FEATURE) == 0 ? "script or directory"
                       : strcmp(column->name, FT_CODE_FEATURE) == 0
                           ? "text of the files that the script runs"
                           : column->name;

    used += (size_t)snprintf(out + used, size - used, "%s%s %s",
                             !c                              ? ""
                             : c + 1 < e->fact_columns_count ? ", "
                                                             : " and ",
                             column->categorical ? "the same" : "a similar", name);
  }
  return out;
}

const char *ft_message_groups(const struct ft_run_groups *g, char *out, size_t size)
{
  char first[FT_MESSAGE_BYTES], second[FT_MESSAGE_BYTES];

  (void)snprintf(
      out, size,
      g->changed ? "the need changed: about %s in %u comparable runs, then about %s in the last %u"
                 : "two kinds of runs: about %s (%u) and about %s (%u); what tells them apart is"
                   " unknown",
      ft_message_bytes(g->value[0], first), g->runs[0], ft_message_bytes(g->value[1], second),
      g->runs[1]);
  return out;
}

const char *ft_message_verb(const struct ft_decision_input *q, const struct ft_sizing *sizing)
{
  return q->similar || q->changes || q->estimate->extrapolated || !sizing->has_estimate ? "may need"
                                                                                        : "needs";
}

bool ft_message_is_vague(const struct ft_estimate *e)
{
  return e->extrapolated &&
         ft_estimate_quantile(e, 0.95) > FT_SIZING_NARROW_RATIO * ft_estimate_quantile(e, 0.5);
}

bool ft_message_reports_facts(const struct ft_decision_input *q, const struct ft_sizing *sizing)
{
  const struct ft_facts *f = q->facts;

  if (!sizing->has_estimate)
    return !sizing->shows_estimate || (f && (f->comparable_killed || f->partial));
  return f && (ft_message_is_vague(q->estimate) ||
               (!q->network && !f->comparable_completed &&
                f->lately_killed_value > ft_estimate_quantile(q->estimate, 0.5)));
}

bool ft_message_is_limit_doubtful(const struct ft_decision_input *q, const struct ft_sizing *sizing)
{
  return sizing->limit && sizing->shows_estimate && !sizing->has_estimate &&
         ft_estimate_quantile(q->estimate, 0.5) > (double)sizing->limit;
}

/* Returns whether the largest need by which SIZING limits the amount is that of the last comparable
 * run of F (NULL: unknown), which was killed. */
static bool is_capped_by_last_kill(const struct ft_sizing *sizing, const struct ft_facts *f)
{
  return f && f->lately_killed && sizing->rule == FT_DECIDED_BY_CEILING &&
         sizing->ceiling_basis <= FT_FACTS_KILLED_FACTOR * f->lately_killed_value;
}

bool ft_message_names_last_kill(const struct ft_decision_input *q, const struct ft_sizing *sizing)
{
  bool changes = sizing->action == FT_ACTION_SET || sizing->action == FT_ACTION_RAISE;
  bool named = sizing->floor_basis == FT_FLOOR_KILLED && sizing->rule == FT_DECIDED_BY_FLOOR;

  return q->facts && q->facts->lately_killed &&
         !(changes && (named || is_capped_by_last_kill(sizing, q->facts)));
}

const char *ft_message_rule(const struct ft_sizing *sizing, const struct ft_facts *facts, char *out,
                            size_t size)
{
  /* continued by the bytes of the basis */
  static const char *const because[] = {
    [FT_FLOOR_NONE] = NULL,
    [FT_FLOOR_USED] = "because a comparable run used",
    [FT_FLOOR_USED_BY_ANY] = "because an earlier run used",
    [FT_FLOOR_NEEDED] = "because a comparable run that did not complete used",
    [FT_FLOOR_KILLED] = "because a comparable run ran out of memory at",
    [FT_FLOOR_COMPLETED] = "because the last completed run had",
    [FT_FLOOR_STATED] = NULL, /* the message has it already */
  };
  char basis[FT_MESSAGE_BYTES];

  out[0] = '\0';
  if (is_capped_by_last_kill(sizing, facts))
    (void)snprintf(out, size, ", %.2g times the %s at which the last comparable run was killed",
                   (double)sizing->amount / facts->lately_killed_value,
                   ft_message_bytes(facts->lately_killed_value, basis));
  else if (sizing->rule == FT_DECIDED_BY_CEILING)
    (void)snprintf(out, size, ", capped at %.3g times the largest need %s, %s%s",
                   sizing->ceiling_factor, sizing->thin ? "so far" : "of comparable runs",
                   ft_message_bytes(sizing->ceiling_basis, basis),
                   sizing->thin ? ", until more runs complete" : "");
  else if (sizing->rule == FT_DECIDED_BY_LEAK)
    (void)snprintf(out, size,
                   " and not more; to allow more, request at least that with "
                   "--predict-mem=raise");
  else if (sizing->rule == FT_DECIDED_BY_FLOOR && because[sizing->floor_basis])
    (void)snprintf(out, size, ", %s %s", because[sizing->floor_basis],
                   ft_message_bytes(sizing->floor_basis_bytes, basis));
  return out;
}

const char *ft_message_leak(const struct ft_facts *f, char *out, size_t size)
{
  char killed[FT_MESSAGE_BYTES], peak[FT_MESSAGE_BYTES];
  bool completed = f->comparable_peak_value > 0;

  (void)snprintf(out, size,
                 "was killed at %u increasing limits, the last %s, and %s%s: possible memory leak",
                 f->growing_kills, ft_message_bytes(f->comparable_killed_value, killed),
                 completed ? "completed with at most " : "never completed",
                 completed ? ft_message_bytes(f->comparable_peak_value, peak) : "");
  return out;
}

const char *ft_message_margin(const struct ft_decision_input *q, const struct ft_sizing *sizing,
                              char *out, size_t size)
{
  const struct ft_facts *f = q->network ? NULL : q->facts;
  double spread =
      f && f->comparable_min_value > 0 ? f->comparable_peak_value / f->comparable_min_value : 0;
  char percent[FT_MESSAGE_PERCENT], cause[64] = "";

  out[0] = '\0';
  if (sizing->rule != FT_DECIDED_BY_ESTIMATE || sizing->p_amount < SHOWN_RISK ||
      (double)sizing->amount < EXPLAINED_RATIO * ft_estimate_quantile(q->estimate, 0.5))
    return out;
  if (q->estimate->extrapolated)
    (void)snprintf(cause, sizeof cause, " for a job unlike the recorded ones");
  else if (spread > EXPLAINED_RATIO)
    (void)snprintf(cause, sizeof cause, " for an app whose runs vary by a factor of %.2g", spread);
  (void)snprintf(out, size, ", which keeps the probability of running out of memory at %s%s",
                 ft_message_percent(sizing->p_amount, percent), cause);
  return out;
}

const char *ft_message_withheld(const struct ft_decision_input *q, const struct ft_sizing *sizing,
                                char *out, size_t size)
{
  const char *option = ft_message_option(sizing->unit);
  const char *verb = sizing->limit_kind == FT_LIMIT_REQUESTED ? "raised" : "set";
  char bytes[FT_MESSAGE_BYTES], amount[32];

  out[0] = '\0';
  if (!sizing->withheld || sizing->capped)
    return out;
  if (sizing->rule == FT_DECIDED_BY_LEAK)
    (void)snprintf(out, size,
                   "; %s is not %s; to allow more than %s, request it with --predict-mem=raise",
                   option, verb, ft_message_bytes(q->facts->comparable_killed_value, bytes));
  else
    (void)snprintf(out, size,
                   "; %s is not %s: runs of up to %s support at most %s, less than the likely need",
                   option, verb, ft_message_bytes(sizing->ceiling_basis, bytes),
                   ft_units_slurm_bytes(sizing->unit_amount, amount, sizeof amount));
  return out;
}

void ft_message_append(char line[FT_MESSAGE_SIZE], const char *format, va_list ap)
{
  size_t used = strlen(line);

  (void)vsnprintf(line + used, FT_MESSAGE_SIZE - used, format, ap);
}

/* ---- lines after the message ---- */

/* Adds a line of formatted text; a full message gets no more. */
__attribute__((format(printf, 2, 3))) static void add_line(struct ft_explanation *out,
                                                           const char *format, ...)
{
  va_list ap;

  if (out->count == FT_MESSAGE_LINES)
    return;
  out->line[out->count][0] = '\0';
  va_start(ap, format);
  ft_message_append(out->line[out->count++], format, ap);
  va_end(ap);
}

bool ft_message_is_step_limited(const struct ft_decision_input *q)
{
  return q->facts && !q->network && q->facts->lately_step_limited;
}

const char *ft_message_changes(const struct ft_decision_input *q, char *out, size_t size)
{
  bool script = q->changes & FT_CHANGED_SCRIPT, code = q->changes & FT_CHANGED_CODE;
  char when[32] = "since the last run";

  if (q->changed_runs == 1)
    (void)ft_string_copy("before the last run", when, sizeof when);
  else if (q->changed_runs)
    (void)snprintf(when, sizeof when, "before the last %u runs", q->changed_runs);
  if (q->changes & FT_CHANGED_PROGRAM)
    (void)snprintf(out, size,
                   "the last runs of %s ran another program; their memory may say nothing"
                   " of this job",
                   q->app);
  else if (script || code)
    (void)snprintf(out, size, "%s%s%s changed %s; runs from before may not be comparable",
                   script ? "your script" : "", script && code ? " and " : "",
                   code ? q->code_files : "", when);
  else
    out[0] = '\0';
  return out;
}

void ft_explain_notes(const struct ft_decision_input *q, struct ft_explanation *out)
{
  char text[FT_MESSAGE_SIZE];

  if (!q->facts || q->network)
    return;
  if (ft_message_is_step_limited(q))
    add_line(out,
             "in %u run%s a step or a container was killed at its own memory limit, which the job's"
             " --mem does not change; change that of srun or of the container",
             q->facts->lately_step_limited, ft_plural(q->facts->lately_step_limited));
  if (q->facts->groups.runs[0])
    add_line(out, "%s", ft_message_groups(&q->facts->groups, text, sizeof text));
  if (q->facts->runs && ft_message_changes(q, text, sizeof text)[0])
    add_line(out, "%s", text);
}

/* Writes "; by its documentation bowtie2 needs 3.2 GB for the human genome". */
static void write_common(const struct ft_common_program *c, char *out, size_t size)
{
  char low[24] = "";

  if (c->low_bytes < c->high_bytes)
    (void)snprintf(low, sizeof low, "%g to ", c->low_bytes / 1e9);
  (void)snprintf(out, size, "; by its documentation %s needs %s%g GB %s", c->name, low,
                 c->high_bytes / 1e9, c->of);
}

const char *ft_message_new_app(const struct ft_new_app *n, char *out, size_t size)
{
  char low[FT_MESSAGE_BYTES], high[FT_MESSAGE_BYTES];
  size_t used = 0;

  out[0] = '\0';
  if (n->users)
    (void)snprintf(out, size, "; runs of %s by %u other users here used %s%s%s", n->program,
                   n->users, ft_message_bytes(n->low_bytes, low),
                   n->high_bytes > n->low_bytes ? " to " : "",
                   n->high_bytes > n->low_bytes ? ft_message_bytes(n->high_bytes, high) : "");
  else if (n->common)
    write_common(n->common, out, size);
  used = strlen(out);
  if (n->apps)
    (void)snprintf(out + used, size - used,
                   "; your other jobs used %.*f %% of the memory that they requested (median of %u"
                   " apps)",
                   n->share < 0.01, 100 * n->share, n->apps);
  return out;
}
