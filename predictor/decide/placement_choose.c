/* SPDX-License-Identifier: GPL-3.0-or-later */
/* --predict-partition: chooses among the partitions that the user names, and reports why. */
#include "config.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "predictor/core/text.h"
#include "predictor/core/units.h"
#include "predictor/decide/placement_nodes.h"

/* Ratio of run time or price to the best partition's above which a partition is dropped. Chosen by
 * judgement. */
#define MIN_GAIN 1.05
/* Standard normal quantile at 0.9: a partition is dropped only if it is worse with a probability of
 * 90 %. */
#define SCORE90 1.281551565545

enum { MAX_NAMES = FT_PLACEMENT_PARTITIONS };

/* A named partition with its evidence. */
struct candidate {
  struct ft_text name;
  size_t at;                          /* index in the evidence; its partition_count: unknown */
  const struct ft_placement_row *row; /* worst row; NULL: run time or price is unknown */
  bool unfit;                         /* the job fits no platform of the partition */
};

struct choice {
  const struct ft_placement_query *q;
  const struct ft_placement *e;
  enum ft_placement_goal goal;
  struct candidate now[MAX_NAMES]; /* the current partitions */
  size_t now_count;
  struct candidate best; /* best partition in which the job certainly may run */
  /* best partition in which the job may perhaps not run; row NULL: none is better than `best` */
  struct candidate uncertain;
  struct ft_placement_choice *out;
};

const struct ft_placement_goal_text ft_placement_goal_texts[FT_PLACEMENT_GOALS] = {
  [FT_PLACEMENT_FASTEST] = { "fastest", "faster", "run time" },
  [FT_PLACEMENT_CHEAPEST] = { "cheapest", "cheaper", "price" },
  [FT_PLACEMENT_GREENEST] = { "greenest", "greener", "energy" }
};

enum ft_placement_goal ft_placement_goal_of(const char *text, const char **list)
{
  struct ft_text rest = ft_text_from(text);
  int goal = 0;

  *list = NULL;
  while (goal < FT_PLACEMENT_GOALS && !ft_text_skip(&rest, ft_placement_goal_texts[goal].name))
    goal++;
  if (goal == FT_PLACEMENT_GOALS || !ft_text_left(&rest))
    return (enum ft_placement_goal)goal;
  if (!ft_text_skip(&rest, ":") || !ft_text_left(&rest) || rest.at[0] == ',')
    return FT_PLACEMENT_GOALS;
  for (const char *p = rest.at; *p; p++)
    if ((unsigned char)*p <= ' ' || *p == 0x7f)
      return FT_PLACEMENT_GOALS;
  *list = rest.at;
  return (enum ft_placement_goal)goal;
}

__attribute__((format(printf, 2, 3))) static void append_choice(struct choice *c,
                                                                const char *format, ...)
{
  size_t used = strlen(c->out->line);
  va_list ap;

  va_start(ap, format);
  (void)vsnprintf(c->out->line + used, sizeof c->out->line - used, format, ap);
  va_end(ap);
}

/* Returns the candidate with NAME. */
static struct candidate look_up_candidate(const struct choice *c, struct ft_text name)
{
  const struct ft_placement_evidence *v = c->q->evidence;
  struct candidate n = { .name = name };
  bool fits = false, rows = false;

  while (n.at < v->partition_count && !ft_text_equals(name, v->partition[n.at].name))
    n.at++;
  if (n.at == v->partition_count)
    return n;
  n.row = ft_placement_worst(c->e, n.at, c->goal);
  for (size_t i = 0; i < c->e->count; i++)
    if (c->e->row[i].partition == n.at) {
      rows = true;
      fits |= c->e->row[i].fits;
    }
  n.unfit = rows && !fits;
  return n;
}

/* Returns the cost of N, whose row is known. */
static double value_of_candidate(const struct choice *c, const struct candidate *n)
{
  return ft_placement_cost(n->row, c->goal);
}

/* Returns whether the job does not fit N, or N is worse than BEST by MIN_GAIN and with a
 * probability of 90 %. A partition with an unknown run time or price is not worse. */
static bool is_clearly_worse(const struct choice *c, const struct candidate *n,
                             const struct candidate *best)
{
  double log_ratio, deviation;

  if (n->unfit || !n->row)
    return n->unfit;
  if (!(value_of_candidate(c, best) > 0))
    return value_of_candidate(c, n) > 0;
  log_ratio = log(value_of_candidate(c, n) / value_of_candidate(c, best));
  deviation = ft_placement_cost_deviation(n->row, best->row, c->goal);
  return log_ratio > log(MIN_GAIN) && log_ratio > SCORE90 * deviation;
}

/* Sets the best and the uncertain candidate of LIST. */
static void find_best_candidate(struct choice *c, const char *list)
{
  struct ft_text rest = ft_text_from(list), name;

  while (ft_text_until(&rest, ',', &name)) {
    struct candidate n = look_up_candidate(c, name), *to;

    if (!n.row || n.unfit)
      continue;
    /* Slurm rejects a job in a partition that its user may not use, or never starts it */
    to = ft_placement_unknown_condition(c->q, n.at) ? &c->uncertain : &c->best;
    if (!to->row || value_of_candidate(c, &n) < value_of_candidate(c, to))
      *to = n;
  }
  if (c->best.row && c->uncertain.row &&
      value_of_candidate(c, &c->best) <= value_of_candidate(c, &c->uncertain))
    c->uncertain.row = NULL;
}

/* Sets the current candidates to the partitions of LIST. */
static void collect_current(struct choice *c, const char *list)
{
  struct ft_text rest = ft_text_from(list), name;

  while (c->now_count < MAX_NAMES && ft_text_until(&rest, ',', &name))
    if (ft_text_left(&name))
      c->now[c->now_count++] = look_up_candidate(c, name);
}

static const char *goal_name(const struct choice *c)
{
  return ft_placement_goal_texts[c->goal].name;
}

/* Returns the precision for printing TEXT with "%.*s". */
static int table_text_width(struct ft_text text)
{
  return (int)ft_text_left(&text);
}

/* Appends the run time of N, "2.1 min, 90 % from 1.9 min to 2.4 min", its price, or its energy,
 * "12.3 Wh by the power of 12 runs". */
static void append_choice_value(struct choice *c, const struct candidate *n)
{
  const struct ft_estimate *e = &n->row->runtime->seconds;
  char text[3][40];

  if (c->goal == FT_PLACEMENT_CHEAPEST) {
    append_choice(c, "%s", ft_placement_show_price(c->q, n->row->price, text[0], sizeof *text));
    return;
  }
  if (c->goal == FT_PLACEMENT_GREENEST) {
    append_choice(c, "%s", ft_units_show_joules(n->row->joules, text[0], sizeof *text));
    if (n->row->power.runs)
      append_choice(c, " by the power of %u run%s", n->row->power.runs,
                    ft_plural(n->row->power.runs));
    else
      append_choice(c, " by the power of the node, not measured");
    return;
  }
  append_choice(c, "%s, 90 %% from %s to %s",
                ft_units_show_seconds(ft_estimate_quantile(e, 0.5), text[0], sizeof *text),
                ft_units_show_seconds(ft_estimate_quantile(e, 0.05), text[1], sizeof *text),
                ft_units_show_seconds(ft_estimate_quantile(e, 0.95), text[2], sizeof *text));
}

/* Appends the reason why N is worse than the best candidate: "; 2.1 times as fast as slow". */
static void append_disadvantage(struct choice *c, const struct candidate *n)
{
  double ratio = n->row ? value_of_candidate(c, n) / value_of_candidate(c, &c->best) : 0;

  if (n->unfit)
    append_choice(c, "; it does not fit %.*s", table_text_width(n->name), n->name.at);
  else if (!n->row)
    return;
  else if (!isfinite(ratio))
    append_choice(c, "; %.*s is not free", table_text_width(n->name), n->name.at);
  else if (c->goal != FT_PLACEMENT_FASTEST)
    append_choice(c, "; %.2f times the %s of %.*s", 1 / ratio,
                  ft_placement_goal_texts[c->goal].missing, table_text_width(n->name), n->name.at);
  else
    append_choice(c, "; %.*g times as fast as %.*s", ratio < 9.95 ? 2 : 3, ratio,
                  table_text_width(n->name), n->name.at);
}

/* Appends why the uncertain candidate is not chosen, if there is one. */
static void append_uncertain(struct choice *c)
{
  if (c->uncertain.row)
    append_choice(c, "%.*s is not considered (%s)", table_text_width(c->uncertain.name),
                  c->uncertain.name.at, ft_placement_unknown_condition(c->q, c->uncertain.at));
}

/* Appends which quantity of N is unknown. */
static void append_missing_data(struct choice *c, const struct candidate *n)
{
  const struct ft_placement_evidence *v = c->q->evidence;

  if (n->at == v->partition_count)
    append_choice(c, "partition %.*s is unknown", table_text_width(n->name), n->name.at);
  else if (c->goal != FT_PLACEMENT_FASTEST && ft_placement_worst(c->e, n->at, FT_PLACEMENT_FASTEST))
    append_choice(c, "the %s of %.*s is unknown", ft_placement_goal_texts[c->goal].missing,
                  table_text_width(n->name), n->name.at);
  else
    append_choice(c, "the run time on %.*s is unknown", table_text_width(n->name), n->name.at);
}

/* Writes why the partition is unchanged. */
static void explain_unchanged(struct choice *c)
{
  for (size_t i = 0; i < c->now_count; i++)
    if (!c->now[i].row && !c->now[i].unfit) {
      append_missing_data(c, &c->now[i]);
      append_choice(c, "; --partition unchanged");
      return;
    }
  if (c->now_count == 1 && c->now[0].at == c->best.at)
    append_choice(c, "%.*s, the current partition, is the %s (", table_text_width(c->best.name),
                  c->best.name.at, goal_name(c));
  else
    append_choice(
        c, "%.*s: not clearly %s (difference uncertain or below 5 %%); --partition unchanged (",
        table_text_width(c->best.name), c->best.name.at, ft_placement_goal_texts[c->goal].better);
  append_choice_value(c, &c->best);
  append_choice(c, ")");
}

/* Writes the current partitions that are not clearly worse than the best, comma-separated, into TO
 * of SIZE bytes. Returns their number. */
static size_t keep_equal_candidates(struct choice *c, char *to, size_t size)
{
  size_t kept = 0, used = 0;

  to[0] = '\0';
  for (size_t i = 0; i < c->now_count; i++) {
    const struct candidate *n = &c->now[i];

    if (is_clearly_worse(c, n, &c->best))
      continue;
    kept++;
    if (used + (size_t)table_text_width(n->name) + 2 < size)
      used += (size_t)snprintf(to + used, size - used, "%s%.*s", used ? "," : "",
                               table_text_width(n->name), n->name.at);
  }
  return kept;
}

/* Drops clearly worse partitions from the current ones, and writes the message. */
static void choose_among_current(struct choice *c)
{
  struct ft_placement_choice *out = c->out;
  size_t kept = keep_equal_candidates(c, out->partitions, sizeof out->partitions);

  if (kept && kept == c->now_count) {
    out->partitions[0] = '\0';
    explain_unchanged(c);
    return;
  }
  if (!kept)
    (void)ft_text_copy(c->best.name, out->partitions, sizeof out->partitions);
  append_choice(c, "--partition set to %s, the %s (", out->partitions, goal_name(c));
  append_choice_value(c, &c->best);
  for (size_t i = 0; i < c->now_count; i++)
    if (is_clearly_worse(c, &c->now[i], &c->best)) {
      append_disadvantage(c, &c->now[i]);
      break;
    }
  append_choice(c, ")");
}

/* Writes why no partition of LIST can be chosen. */
static void explain_no_candidate(struct choice *c, const char *list)
{
  struct ft_text rest = ft_text_from(list), name;
  struct candidate n = { .at = 0 };

  if (!c->e->runtime_count) {
    append_choice(c, "no recorded run time yet; --partition unchanged");
    return;
  }
  while (ft_text_until(&rest, ',', &name)) {
    n = look_up_candidate(c, name);
    if (!n.unfit)
      break;
  }
  if (c->uncertain.row)
    append_uncertain(c);
  else if (n.unfit)
    append_choice(c, "it fits none of %s", list);
  else
    append_missing_data(c, &n);
  append_choice(c, "; --partition unchanged");
}

void ft_placement_choose(const struct ft_placement_query *query,
                         const struct ft_placement *placement, enum ft_placement_goal goal,
                         const char *list, bool may_change, struct ft_placement_choice *out)
{
  const char *typed = query->submission->request.partition;
  bool single = typed[0] && !strchr(typed, ',');
  struct choice c = { .q = query, .e = placement, .goal = goal, .out = out };
  const struct ft_placement_evidence *v = query->evidence;

  out->partitions[0] = out->line[0] = '\0';
  append_choice(&c, "%s: ", query->submission->app);
  if (single && !(list && may_change)) {
    append_choice(&c, "--partition=%s unchanged; list alternatives in --predict-partition=%s:LIST",
                  typed, goal_name(&c));
    return;
  }
  if (!list && !typed[0]) {
    append_choice(&c,
                  "--predict-partition=%s needs partitions to choose from, in --partition or "
                  "--predict-partition=%s:LIST",
                  goal_name(&c), goal_name(&c));
    return;
  }
  if (!list)
    list = typed;
  if (ft_placement_pinning_option(&query->requested)) {
    append_choice(&c, "%s fixes the nodes; --partition unchanged",
                  ft_placement_pinning_option(&query->requested));
    return;
  }
  find_best_candidate(&c, list);
  if (!c.best.row) {
    explain_no_candidate(&c, list);
    return;
  }
  if (typed[0])
    collect_current(&c, typed);
  else if (v->current < v->partition_count &&
           ft_text_lists(ft_text_from(list), v->partition[v->current].name))
    collect_current(&c, v->partition[v->current].name);
  choose_among_current(&c);
  if (c.uncertain.row) {
    append_choice(&c, "; ");
    append_uncertain(&c);
  }
}
