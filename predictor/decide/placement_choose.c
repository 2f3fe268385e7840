/* SPDX-License-Identifier: GPL-3.0-or-later */
/* --predict-partition: which of the partitions that the user names. */
#include "config.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "predictor/core/text.h"
#include "predictor/core/units.h"
#include "predictor/decide/placement_nodes.h"

/* A job is not moved for less than this, nor with less than this many standard deviations between:
 * the 90 % quantile of a normal distribution. */
#define WORTH 1.05
#define SCORE90 1.281551565545

enum { NAMES = FT_PLACEMENT_PARTITIONS };

/* A partition that is named, and what is known of it. */
struct named {
  struct ft_text name;
  size_t at;                          /* in the evidence; its partition_count: not known */
  const struct ft_placement_row *row; /* NULL: nothing is known of what is wished for */
  bool unfit;
};

struct choice {
  const struct ft_placement_question *q;
  const struct ft_placement *e;
  bool by_price;
  struct named now[NAMES]; /* where the job may go as it is */
  size_t now_count;
  struct named best;
  struct named shut; /* one that would be as good, but perhaps not for this user */
  struct ft_placement_choice *out;
};

enum ft_placement_goal ft_placement_goal_of(const char *text, const char **list)
{
  struct ft_text rest = ft_text_from(text);
  enum ft_placement_goal goal = ft_text_skip(&rest, "fastest")    ? FT_PLACEMENT_GOAL_FASTEST
                                : ft_text_skip(&rest, "cheapest") ? FT_PLACEMENT_GOAL_CHEAPEST
                                                                  : FT_PLACEMENT_GOAL_NONE;

  *list = NULL;
  if (goal == FT_PLACEMENT_GOAL_NONE || !ft_text_left(&rest))
    return goal;
  if (!ft_text_skip(&rest, ":") || !ft_text_left(&rest) || rest.at[0] == ',')
    return FT_PLACEMENT_GOAL_NONE;
  for (const char *p = rest.at; *p; p++)
    if ((unsigned char)*p <= ' ' || *p == 0x7f)
      return FT_PLACEMENT_GOAL_NONE;
  *list = rest.at;
  return goal;
}

__attribute__((format(printf, 2, 3))) static void say(struct choice *c, const char *format, ...)
{
  size_t used = strlen(c->out->line);
  va_list ap;

  va_start(ap, format);
  (void)vsnprintf(c->out->line + used, sizeof c->out->line - used, format, ap);
  va_end(ap);
}

static struct named look_up(const struct choice *c, struct ft_text name)
{
  const struct ft_placement_evidence *v = c->q->evidence;
  struct named n = { .name = name };
  bool suits = false, rows = false;

  while (n.at < v->partition_count && !ft_text_equals(name, v->partition[n.at].name))
    n.at++;
  if (n.at == v->partition_count)
    return n;
  n.row = ft_placement_worst(c->e, n.at, c->by_price);
  for (size_t i = 0; i < c->e->count; i++)
    if (c->e->row[i].partition == n.at) {
      rows = true;
      suits |= c->e->row[i].fits;
    }
  n.unfit = rows && !suits;
  return n;
}

static double value_of(const struct choice *c, const struct named *n)
{
  return c->by_price ? n->row->price : ft_estimate_quantile(&n->row->place->seconds, 0.5);
}

/* Whether N is worse than BEST by so much that it counts. What is not known is not. */
static bool worse(const struct choice *c, const struct named *n, const struct named *best)
{
  double far, deviation;

  if (n->unfit || !n->row)
    return n->unfit;
  if (!(value_of(c, best) > 0))
    return value_of(c, n) > 0;
  far = log(value_of(c, n) / value_of(c, best));
  deviation = ft_placement_deviation(n->row, best->row);
  return far > log(WORTH) && far > SCORE90 * deviation;
}

static void find_best(struct choice *c, const char *list)
{
  struct ft_text rest = ft_text_from(list), name;

  while (ft_text_until(&rest, ',', &name)) {
    struct named n = look_up(c, name), *to;

    if (!n.row || n.unfit)
      continue;
    /* a job that goes where its user may not is refused, or waits for ever */
    to = ft_placement_unknown_condition(c->q, n.at) ? &c->shut : &c->best;
    if (!to->row || value_of(c, &n) < value_of(c, to))
      *to = n;
  }
  if (c->best.row && c->shut.row && value_of(c, &c->best) <= value_of(c, &c->shut))
    c->shut.row = NULL;
}

static void gather_now(struct choice *c, const char *list)
{
  struct ft_text rest = ft_text_from(list), name;

  while (c->now_count < NAMES && ft_text_until(&rest, ',', &name))
    if (ft_text_left(&name))
      c->now[c->now_count++] = look_up(c, name);
}

static const char *wish_name(const struct choice *c)
{
  return c->by_price ? "cheapest" : "fastest";
}

static int width(struct ft_text text)
{
  return (int)ft_text_left(&text);
}

/* "2.1 min, 90 % 1.9 to 2.4 min", or what it costs. */
static void say_value(struct choice *c, const struct named *n)
{
  const struct ft_estimate *e = &n->row->place->seconds;
  char text[3][40];

  if (c->by_price) {
    say(c, "%s", ft_placement_show_price(c->q, n->row->price, text[0], sizeof *text));
    return;
  }
  say(c, "%s, 90 %% from %s to %s",
      ft_units_show_seconds(ft_estimate_quantile(e, 0.5), text[0], sizeof *text),
      ft_units_show_seconds(ft_estimate_quantile(e, 0.05), text[1], sizeof *text),
      ft_units_show_seconds(ft_estimate_quantile(e, 0.95), text[2], sizeof *text));
}

static void say_against(struct choice *c, const struct named *n)
{
  double ratio = n->row ? value_of(c, n) / value_of(c, &c->best) : 0;

  if (n->unfit)
    say(c, "; it does not fit into %.*s", width(n->name), n->name.at);
  else if (!n->row)
    return;
  else if (!isfinite(ratio))
    say(c, "; %.*s costs something", width(n->name), n->name.at);
  else if (c->by_price)
    say(c, "; %.2f of what %.*s costs", 1 / ratio, width(n->name), n->name.at);
  else
    say(c, "; %.*g times as fast as %.*s", ratio < 9.95 ? 2 : 3, ratio, width(n->name), n->name.at);
}

/* Why the one that would be as good does not count. */
static void say_shut(struct choice *c)
{
  if (c->shut.row)
    say(c, "%.*s, %s, is left out", width(c->shut.name), c->shut.name.at,
        ft_placement_unknown_condition(c->q, c->shut.at));
}

/* What there is to know is not known. */
static void say_unknown(struct choice *c, const struct named *n)
{
  const struct ft_placement_evidence *v = c->q->evidence;

  if (n->at == v->partition_count)
    say(c, "partition %.*s is not known", width(n->name), n->name.at);
  else if (c->by_price && ft_placement_worst(c->e, n->at, false))
    say(c, "it is not known what %.*s costs", width(n->name), n->name.at);
  else
    say(c, "it is not known how long it takes on %.*s", width(n->name), n->name.at);
}

/* The job stays: why. KEPT of those where it may go are as good as the best. */
static void say_stays(struct choice *c)
{
  for (size_t i = 0; i < c->now_count; i++)
    if (!c->now[i].row && !c->now[i].unfit) {
      say_unknown(c, &c->now[i]);
      say(c, "; it stays there");
      return;
    }
  if (c->now_count == 1 && c->now[0].at == c->best.at)
    say(c, "%.*s, where it goes, is the %s (", width(c->best.name), c->best.name.at, wish_name(c));
  else
    say(c, "%.*s is not %s for certain, or by less than 5 %%; --partition stays (",
        width(c->best.name), c->best.name.at, c->by_price ? "cheaper" : "faster");
  say_value(c, &c->best);
  say(c, ")");
}

/* Keep those of where it may go that are as good as the best; returns how many, which are in TO. */
static size_t keep(struct choice *c, char *to, size_t size)
{
  size_t kept = 0, used = 0;

  to[0] = '\0';
  for (size_t i = 0; i < c->now_count; i++) {
    const struct named *n = &c->now[i];

    if (worse(c, n, &c->best))
      continue;
    kept++;
    if (used + (size_t)width(n->name) + 2 < size)
      used += (size_t)snprintf(to + used, size - used, "%s%.*s", used ? "," : "", width(n->name),
                               n->name.at);
  }
  return kept;
}

static void choose(struct choice *c)
{
  struct ft_placement_choice *out = c->out;
  size_t kept = keep(c, out->partitions, sizeof out->partitions);

  if (kept && kept == c->now_count) {
    out->partitions[0] = '\0';
    say_stays(c);
    return;
  }
  if (!kept)
    (void)ft_text_copy(c->best.name, out->partitions, sizeof out->partitions);
  say(c, "--partition set to %s, the %s (", out->partitions, wish_name(c));
  say_value(c, &c->best);
  for (size_t i = 0; i < c->now_count; i++)
    if (worse(c, &c->now[i], &c->best)) {
      say_against(c, &c->now[i]);
      break;
    }
  say(c, ")");
}

/* None of them is known to fit: why. */
static void say_none(struct choice *c, const char *list)
{
  struct ft_text rest = ft_text_from(list), name;
  struct named n = { .at = 0 };

  if (!c->e->place_count) {
    say(c, "no run time of it is known yet; --partition stays");
    return;
  }
  while (ft_text_until(&rest, ',', &name)) {
    n = look_up(c, name);
    if (!n.unfit)
      break;
  }
  if (c->shut.row)
    say_shut(c);
  else if (n.unfit)
    say(c, "it fits into none of %s", list);
  else
    say_unknown(c, &n);
  say(c, "; --partition stays");
}

void ft_placement_choose(const struct ft_placement_question *question,
                         const struct ft_placement *placement, enum ft_placement_goal goal,
                         const char *list, bool may_change, struct ft_placement_choice *out)
{
  const char *typed = question->submission->request.partition;
  bool single = typed[0] && !strchr(typed, ',');
  struct choice c = {
    .q = question, .e = placement, .by_price = goal == FT_PLACEMENT_GOAL_CHEAPEST, .out = out
  };
  const struct ft_placement_evidence *v = question->evidence;

  out->partitions[0] = out->line[0] = '\0';
  say(&c, "%s: ", question->submission->app);
  if (single && !(list && may_change)) {
    say(&c, "--partition=%s was asked for and stays; name others in --predict-partition=%s:LIST",
        typed, wish_name(&c));
    return;
  }
  if (!list && !typed[0]) {
    say(&c,
        "--predict-partition=%s chooses among the partitions of --partition, or of "
        "--predict-partition=%s:LIST; none is named",
        wish_name(&c), wish_name(&c));
    return;
  }
  if (!list)
    list = typed;
  if (ft_placement_pinning_option(&question->asked)) {
    say(&c, "%s says where it goes; --partition stays",
        ft_placement_pinning_option(&question->asked));
    return;
  }
  find_best(&c, list);
  if (!c.best.row) {
    say_none(&c, list);
    return;
  }
  if (typed[0])
    gather_now(&c, typed);
  else if (v->current < v->partition_count &&
           ft_text_lists(ft_text_from(list), v->partition[v->current].name))
    gather_now(&c, v->partition[v->current].name);
  choose(&c);
  if (c.shut.row) {
    say(&c, "; ");
    say_shut(&c);
  }
}
