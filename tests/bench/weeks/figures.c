/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <gsl/gsl_cdf.h>
#include <math.h>
#include <stdlib.h>

#include "tests/bench/weeks/figures.h"

/* A set amount counts as too much above these. */
#define TOO_MUCH 3
#define TOO_MUCH_LEAST (100 * 0x1p20)
#define GIB_HOUR (0x1p30 * 3600)

enum { TENTH = 10 };

static const struct {
  const char *key, *title;
  double goal;
} counts[WEEKS_COUNTS] = {
  [WEEKS_KILLED_BY] = { "killed_by_foretell", "killed", 0.001 },
  [WEEKS_REJECTED_WRONG] = { "rejected_wrongly", "rejected", 0.0001 },
  [WEEKS_NOT_RECOVERED] = { "not_recovered", "not recov.", 0.01 },
  [WEEKS_TOO_MUCH] = { "more_than_3_times", "over 3x", 0.03 },
  [WEEKS_NOT_ACTED] = { "not_acted_on", "not acted", 0.4 },
};

double weeks_upper(struct weeks_part p)
{
  double low = 0, high = 1;

  if (!p.of || p.count >= p.of)
    return 1;
  /* gsl_cdf_beta_Pinv gives up on some of these */
  for (int i = 0; i < 60; i++) {
    double middle = (low + high) / 2;
    bool below = gsl_cdf_beta_P(middle, (double)p.count + 1, (double)(p.of - p.count)) < 0.95;

    *(below ? &low : &high) = middle;
  }
  return high;
}

static bool changed(const struct weeks_attempt *a)
{
  return a->action == FT_ACTION_SET || a->action == FT_ACTION_RAISE || a->action == FT_ACTION_TRIM;
}

static uint64_t node_of(const struct weeks_world *w, const struct weeks_attempt *a)
{
  const struct weeks_stream *s = w->stream;

  return s->site[s->app[s->submission[a->submission].app].site].node_bytes;
}

/* ---- recovery ---- */

bool weeks_recovers(const struct weeks_world *w, size_t attempt, bool *recovered)
{
  const struct weeks_attempt *a = &w->attempt[attempt];
  const struct weeks_submission *s = &w->stream->submission[a->submission];
  double most = ceil(log2(a->peak_bytes / (double)a->given_bytes));

  *recovered = false;
  if (!a->deaths || isinf(a->need_bytes) || a->peak_bytes > (double)node_of(w, a) ||
      s->reaction == WEEKS_GIVES_UP || !weeks_may_raise(a) ||
      (a->previous != WEEKS_NO_ATTEMPT && w->attempt[a->previous].deaths))
    return false;
  for (uint32_t i = a->next; i != WEEKS_NO_ATTEMPT; i = w->attempt[i].next) {
    const struct weeks_attempt *later = &w->attempt[i];

    /* its user helps himself: at once, or because foretell has not */
    if (!weeks_may_raise(later))
      return later->number - a->number > 1;
    *recovered = !later->deaths && later->action != FT_ACTION_REJECT;
    if (*recovered || later->number - a->number >= most)
      return true;
  }
  return true;
}

/* ---- apps ---- */

/* Of an app where the mode lets foretell act: its submissions up to the first that is made when
 * nine of its runs have ended. */
struct acted {
  bool tenth;
  bool wrong; /* one of them had too little without foretell, and some run was known */
  bool acted;
};

static void note_acted(struct acted *app, const struct weeks_attempt *a)
{
  if (!weeks_may_raise(a) || app->tenth)
    return;
  app->acted |= changed(a);
  app->wrong |= a->known && a->peak_bytes > (double)a->without_bytes;
  app->tenth = a->known + 1 >= TENTH;
}

static void count_apps(struct weeks_table *t, const struct weeks_stream *s,
                       const struct acted *acted)
{
  for (size_t i = 0; i < s->apps; i++)
    for (int all = 0; all < 2 && acted[i].tenth; all++) {
      struct weeks_figures *f = &t->kind[all ? WEEKS_KINDS : s->app[i].kind];

      f->acted_at_all.of++;
      f->acted_at_all.count += !acted[i].acted;
      f->part[WEEKS_NOT_ACTED].of += acted[i].wrong;
      f->part[WEEKS_NOT_ACTED].count += acted[i].wrong && !acted[i].acted;
    }
}

/* ---- attempts ---- */

static void count_part(struct weeks_part *part, bool is)
{
  part->of++;
  part->count += is;
}

static void count_attempt(struct weeks_figures *f, const struct weeks_world *w, size_t i)
{
  const struct weeks_attempt *a = &w->attempt[i];
  bool would_live = a->peak_bytes <= (double)a->without_bytes, recovered;
  double given = (double)a->given_bytes;

  f->submissions++;
  f->changed += changed(a);
  f->rejected += a->action == FT_ACTION_REJECT;
  f->died_again += a->deaths && a->like_known && weeks_may_raise(a);
  if (changed(a)) {
    count_part(&f->part[WEEKS_KILLED_BY], a->deaths && would_live);
    count_part(&f->part[WEEKS_TOO_MUCH],
               given > TOO_MUCH * a->need_bytes && given > TOO_MUCH_LEAST);
  }
  if (changed(a) || a->action == FT_ACTION_REJECT)
    count_part(&f->part[WEEKS_REJECTED_WRONG],
               a->action == FT_ACTION_REJECT && would_live && a->all_complete);
  if (weeks_recovers(w, i, &recovered))
    count_part(&f->part[WEEKS_NOT_RECOVERED], !recovered);
}

/* Whether foretell is free to size this work, as it is first submitted. */
static bool is_free(const struct weeks_world *w, const struct weeks_attempt *a)
{
  const struct weeks_submission *s = &w->stream->submission[a->submission];
  struct weeks_attempt first = { .mem_unit = s->mem_unit,
                                 .mode = s->typed_mode != FT_MODE_UNSET
                                             ? s->typed_mode
                                             : w->stream->site[w->stream->app[s->app].site].mode };

  return weeks_may_lower(&first);
}

static void count_waste(struct weeks_figures *f, const struct weeks_world *w,
                        const struct weeks_attempt *a, unsigned policy)
{
  const struct weeks_submission *s = &w->stream->submission[a->submission];
  bool unfinished = false;

  if (!is_free(w, a))
    return;
  f->of[policy].wasted_gib_hours += a->wasted / GIB_HOUR;
  f->of[policy].deaths += a->deaths;
  if (a->number)
    return;
  for (uint32_t i = 0; i < s->tasks; i++)
    unfinished |= !w->done[s->first_task + i];
  f->of[policy].unfinished += unfinished;
}

int weeks_count(struct weeks_table *t, const struct weeks_world *w, unsigned policy,
                struct ft_error *err)
{
  struct acted *acted = calloc(w->stream->apps + 1, sizeof *acted);

  if (!acted)
    return ft_error_errno(err, "counting");
  t->stream = w->stream;
  for (size_t i = 0; i < w->attempts; i++) {
    uint32_t app = w->stream->submission[w->attempt[i].submission].app;

    for (int all = 0; all < 2; all++) {
      struct weeks_figures *f = &t->kind[all ? WEEKS_KINDS : w->stream->app[app].kind];

      /* what a leak needs is not known, and one of them weighs more than a thousand jobs */
      if (!all || !isinf(w->attempt[i].need_bytes))
        count_waste(f, w, &w->attempt[i], policy);
      if (!policy)
        count_attempt(f, w, i);
    }
    if (!policy) {
      count_waste(&t->rule[w->attempt[i].rule], w, &w->attempt[i], policy);
      count_attempt(&t->rule[w->attempt[i].rule], w, i);
      note_acted(&acted[app], &w->attempt[i]);
    }
  }
  if (!policy)
    count_apps(t, w->stream, acted);
  free(acted);
  return 0;
}

/* ---- the tables ---- */

static const char *name_of(const struct weeks_table *t, uint32_t row)
{
  return row == WEEKS_KINDS ? "all" : t->stream->kind_name[row];
}

/* The row behind ROW: a kind's, and at last that of them all. */
static uint32_t next_row(const struct weeks_table *t, uint32_t row)
{
  return row + 1 == t->stream->kinds ? WEEKS_KINDS : row + 1;
}

/* The peer that wastes least. */
static unsigned best_peer(const struct weeks_figures *f)
{
  unsigned best = 1;

  for (unsigned p = 2; p <= WEEKS_PEERS; p++)
    if (f->of[p].wasted_gib_hours < f->of[best].wasted_gib_hours)
      best = p;
  return best;
}

static void print_part(struct weeks_part p, FILE *out)
{
  if (p.of)
    fprintf(out, " %6llu %6.2f<%6.2f", (unsigned long long)p.count,
            100 * (double)p.count / (double)p.of, 100 * weeks_upper(p));
  else
    fprintf(out, " %20s", "-");
}

static void print_row(const char *name, const struct weeks_figures *f, FILE *out)
{
  fprintf(out, "%-22s %8llu %8llu %8llu", name, (unsigned long long)f->submissions,
          (unsigned long long)f->changed, (unsigned long long)f->rejected);
  for (unsigned c = 0; c < WEEKS_COUNTS; c++)
    print_part(f->part[c], out);
  fprintf(out, " %12.1f%% %10llu %10.0f\n",
          100 * (double)f->acted_at_all.count / fmax((double)f->acted_at_all.of, 1),
          (unsigned long long)f->died_again, f->of[0].wasted_gib_hours);
}

static void print_counts(const struct weeks_table *t, FILE *out)
{
  fprintf(out, "Of what foretell changed or rejected: count, %% and its upper 95 %% bound\n%-22s",
          "");
  fprintf(out, " %8s %8s %8s", "attempts", "changed", "rejected");
  for (unsigned c = 0; c < WEEKS_COUNTS; c++)
    fprintf(out, " %20s", counts[c].title);
  fprintf(out, " %13s %10s %10s\n%-22s %26s", "all not acted", "died again", "GiB h", "goal", "");
  for (unsigned c = 0; c < WEEKS_COUNTS; c++)
    fprintf(out, " %20.2f", 100 * counts[c].goal);
  fprintf(out, "\n");
  for (uint32_t row = 0; row <= WEEKS_KINDS; row = next_row(t, row))
    print_row(name_of(t, row), &t->kind[row], out);
  fprintf(out, "By the rule that decided; GiB h of foretell's as below\n");
  for (unsigned r = 0; r < WEEKS_RULES; r++)
    print_row(ft_decision_rule_name((ft_decision_rule)r), &t->rule[r], out);
}

static void print_waste(const struct weeks_table *t, FILE *out)
{
  fprintf(out,
          "\nWhere the mode lets foretell size the job: GiB h above the need / killed runs / "
          "work given up; foretell's part of the best peer's (goal 50 %% at no more kills). "
          "\"all\" is without leaking runs\n"
          "%-14s %24s",
          "", "foretell");
  for (unsigned p = 0; p < WEEKS_PEERS; p++)
    fprintf(out, " %24s", weeks_peers[p].name);
  fprintf(out, " %8s\n", "of best");
  for (uint32_t row = 0; row <= WEEKS_KINDS; row = next_row(t, row)) {
    const struct weeks_figures *f = &t->kind[row];

    fprintf(out, "%-14s", name_of(t, row));
    for (unsigned p = 0; p <= WEEKS_PEERS; p++)
      fprintf(out, " %10.0f/%6llu/%6llu", f->of[p].wasted_gib_hours,
              (unsigned long long)f->of[p].deaths, (unsigned long long)f->of[p].unfinished);
    fprintf(out, " %7.0f%%\n",
            100 * f->of[0].wasted_gib_hours / fmax(f->of[best_peer(f)].wasted_gib_hours, 1e-9));
  }
}

void weeks_print(const struct weeks_table *t, FILE *out)
{
  print_counts(t, out);
  print_waste(t, out);
}

static json_t *figures_json(const struct weeks_figures *f)
{
  json_t *object = json_pack("{s:I, s:I, s:I, s:I}", "attempts", (json_int_t)f->submissions,
                             "changed", (json_int_t)f->changed, "rejected", (json_int_t)f->rejected,
                             "died_again", (json_int_t)f->died_again);

  for (unsigned c = 0; object && c < WEEKS_COUNTS; c++)
    (void)json_object_set_new(object, counts[c].key,
                              json_pack("{s:I, s:I, s:f, s:f}", "count",
                                        (json_int_t)f->part[c].count, "of",
                                        (json_int_t)f->part[c].of, "upper95",
                                        weeks_upper(f->part[c]), "goal", counts[c].goal));
  for (unsigned p = 0; object && p <= WEEKS_PEERS; p++)
    (void)json_object_set_new(
        object, p ? weeks_peers[p - 1].name : weeks_foretell.name,
        json_pack("{s:f, s:I, s:I}", "wasted_gib_hours", f->of[p].wasted_gib_hours, "killed",
                  (json_int_t)f->of[p].deaths, "given_up", (json_int_t)f->of[p].unfinished));
  return object;
}

json_t *weeks_json(const struct weeks_table *t)
{
  json_t *object = json_object();

  for (uint32_t row = 0; object && row <= WEEKS_KINDS; row = next_row(t, row))
    (void)json_object_set_new(object, name_of(t, row), figures_json(&t->kind[row]));
  return object;
}
