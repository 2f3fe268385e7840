/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Counts what a policy did in a simulated world, by kind of week and by deciding rule. */
#include "config.h"

#include <gsl/gsl_cdf.h>
#include <math.h>
#include <stdlib.h>

#include "tests/bench/weeks/figures.h"

/* A request counts as too large above both limits: a multiple of the required memory, and bytes. */
#define TOO_MUCH 3
#define TOO_MUCH_MIN (100 * 0x1p20)
/* Byte seconds. */
#define GIB_HOUR (0x1p30 * 3600)

enum { TENTH = 10 }; /* run of an app by which foretell should have acted */

const uint32_t weeks_known[WEEKS_KNOWN] = { 0, 1, 2, 3, 5, 10, 20, 50 };
const double weeks_told[WEEKS_TOLD] = { 0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 0.9 };

double weeks_upper(struct weeks_part p)
{
  double low = 0, high = 1;

  if (!p.of || p.count >= p.of)
    return 1;
  /* Bisection: gsl_cdf_beta_Pinv fails for some of these arguments. */
  for (int i = 0; i < 60; i++) {
    double middle = (low + high) / 2;
    bool below = gsl_cdf_beta_P(middle, (double)p.count + 1, (double)(p.of - p.count)) < 0.95;

    *(below ? &low : &high) = middle;
  }
  return high;
}

/* Whether foretell changed the request of A. */
static bool is_changed(const struct weeks_attempt *a)
{
  return a->action == FT_ACTION_SET || a->action == FT_ACTION_RAISE || a->action == FT_ACTION_TRIM;
}

/* Returns the memory of a node for attempt A, in bytes. */
static uint64_t attempt_node_bytes(const struct weeks_world *w, const struct weeks_attempt *a)
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
  if (!a->deaths || isinf(a->need_bytes) || a->peak_bytes > (double)attempt_node_bytes(w, a) ||
      s->reaction == WEEKS_GIVES_UP || !weeks_may_raise(a) ||
      (a->previous != WEEKS_NO_ATTEMPT && w->attempt[a->previous].deaths))
    return false;
  for (uint32_t i = a->next; i != WEEKS_NO_ATTEMPT; i = w->attempt[i].next) {
    const struct weeks_attempt *later = &w->attempt[i];

    /* From here the user reacts without foretell: at once, or because foretell has not acted. */
    if (!weeks_may_raise(later))
      return later->number - a->number > 1;
    *recovered = !later->deaths && later->action != FT_ACTION_REJECT;
    if (*recovered || later->number - a->number >= most)
      return true;
  }
  return true;
}

/* ---- apps ---- */

/* An app whose mode lets foretell act: its submissions up to the first after nine ended runs. */
struct app {
  bool tenth; /* the tenth run has been submitted */
  bool wrong; /* a submission after the first run had too little memory without foretell */
  bool acted; /* foretell changed a submission */
  double wasted, needed; /* byte seconds of work whose memory foretell may set */
};

/* Adds foretell's action in attempt A to its app. */
static void note_acted(struct app *app, const struct weeks_attempt *a)
{
  if (!weeks_may_raise(a) || app->tenth)
    return;
  app->acted |= is_changed(a);
  app->wrong |= a->known && a->peak_bytes > (double)a->without_bytes;
  app->tenth = a->known + 1 >= TENTH;
}

/* Adds the apps to the rows of their kind and of all kinds. */
static void count_apps(struct weeks_table *t, const struct weeks_stream *s, const struct app *app)
{
  for (size_t i = 0; i < s->apps; i++)
    for (int all = 0; all < 2 && app[i].tenth; all++) {
      struct weeks_figures *f = &t->kind[all ? WEEKS_KINDS : s->app[i].kind];

      f->acted_at_all.of++;
      f->acted_at_all.count += !app[i].acted;
      f->part[WEEKS_NOT_ACTED].of += app[i].wrong;
      f->part[WEEKS_NOT_ACTED].count += app[i].wrong && !app[i].acted;
    }
}

/* ---- attempts ---- */

static void count_part(struct weeks_part *part, bool is)
{
  part->of++;
  part->count += is;
}

/* Adds foretell's action in attempt I of W to F. */
static void count_attempt(struct weeks_figures *f, const struct weeks_world *w, size_t i)
{
  const struct weeks_attempt *a = &w->attempt[i];
  bool would_complete = a->peak_bytes <= (double)a->without_bytes, recovered;
  double given = (double)a->given_bytes;

  f->submissions++;
  f->changed += is_changed(a);
  f->rejected += a->action == FT_ACTION_REJECT;
  f->died_again += a->deaths && a->like_known && weeks_may_raise(a);
  if (is_changed(a)) {
    count_part(&f->part[WEEKS_KILLED_BY], a->deaths && would_complete);
    count_part(&f->part[WEEKS_TOO_MUCH], given > TOO_MUCH * a->need_bytes && given > TOO_MUCH_MIN &&
                                             a->given_bytes > a->without_bytes);
  }
  if (is_changed(a) || a->action == FT_ACTION_REJECT)
    count_part(&f->part[WEEKS_REJECTED_WRONG],
               a->action == FT_ACTION_REJECT && would_complete && a->all_complete);
  if (weeks_recovers(w, i, &recovered))
    count_part(&f->part[WEEKS_NOT_RECOVERED], !recovered);
}

/* Whether the mode lets foretell lower the memory of this work at its first submission. */
static bool may_lower_first(const struct weeks_world *w, const struct weeks_attempt *a)
{
  const struct weeks_submission *s = &w->stream->submission[a->submission];
  struct weeks_attempt first = { .mem_unit = s->mem_unit,
                                 .mode = s->typed_mode != FT_MODE_UNSET
                                             ? s->typed_mode
                                             : w->stream->site[w->stream->app[s->app].site].mode };

  return weeks_may_lower(&first);
}

/* Adds the waste of attempt A under POLICY to F. */
static void count_waste(struct weeks_figures *f, const struct weeks_world *w,
                        const struct weeks_attempt *a, unsigned policy)
{
  const struct weeks_submission *s = &w->stream->submission[a->submission];
  bool unfinished = false;

  if (!may_lower_first(w, a))
    return;
  f->of[policy].wasted_gib_hours += a->wasted / GIB_HOUR;
  f->of[policy].deaths += a->deaths > 0;
  if (a->number)
    return;
  for (uint32_t i = 0; i < s->tasks; i++)
    unfinished |= !w->done[s->first_task + i];
  f->of[policy].unfinished += unfinished;
}

/* Returns the byte seconds that the work of attempt A requires. */
static double needed_byte_seconds(const struct weeks_world *w, const struct weeks_attempt *a)
{
  const struct weeks_submission *s = &w->stream->submission[a->submission];
  double sum = 0;

  for (size_t i = s->first_task; i < s->first_task + s->tasks; i++)
    sum += w->stream->task[i].need_bytes * w->stream->task[i].reached * w->stream->task[i].seconds;
  return sum;
}

/* Adds the log-ratio of every app whose memory foretell may set, with equal weight. */
static void count_ratios(struct weeks_table *t, const struct weeks_stream *s, const struct app *app,
                         unsigned policy)
{
  for (size_t i = 0; i < s->apps; i++)
    for (int all = 0; all < 2 && app[i].needed > 0; all++) {
      struct weeks_figures *f = &t->kind[all ? WEEKS_KINDS : s->app[i].kind];

      f->of[policy].apps++;
      f->of[policy].log_ratios += log1p(app[i].wasted / app[i].needed);
    }
}

/* Returns the figures of the attempts with A's number of ended submissions. */
static struct weeks_figures *known_figures(struct weeks_table *t, const struct weeks_attempt *a)
{
  unsigned i = WEEKS_KNOWN - 1;

  while (a->known_submissions < weeks_known[i])
    i--;
  return &t->known[i];
}

/* Counts whether attempt A ran out of memory, beside the probability that was told. */
static void count_told(struct weeks_table *t, const struct weeks_world *w,
                       const struct weeks_attempt *a)
{
  unsigned i = WEEKS_TOLD - 1;

  if (a->p_oom < 0 || a->action == FT_ACTION_REJECT || isinf(a->need_bytes) ||
      w->stream->submission[a->submission].array)
    return;
  while (a->p_oom < weeks_told[i])
    i--;
  t->told[i].told += a->p_oom;
  count_part(&t->told[i].killed, a->deaths > 0);
}

/* Counts foretell's action in attempt I of W. */
static void count_foretell(struct weeks_table *t, const struct weeks_world *w, size_t i,
                           struct app *app)
{
  const struct weeks_attempt *a = &w->attempt[i];
  uint32_t kind = w->stream->app[w->stream->submission[a->submission].app].kind;

  count_attempt(&t->kind[kind], w, i);
  count_attempt(&t->kind[WEEKS_KINDS], w, i);
  count_attempt(&t->rule[a->rule], w, i);
  if (!isinf(a->need_bytes))
    count_attempt(known_figures(t, a), w, i);
  count_told(t, w, a);
  count_waste(&t->rule[a->rule], w, a, 0);
  note_acted(app, a);
}

/* Marks the submissions that foretell changed or rejected, if POLICY is foretell (0). Returns 0; -1
 * if out of memory. */
static int note_touched(struct weeks_table *t, const struct weeks_world *w, unsigned policy)
{
  if (policy)
    return 0;
  t->touched = calloc(w->stream->submissions + 1, sizeof *t->touched);
  for (size_t i = 0; t->touched && i < w->attempts; i++)
    t->touched[w->attempt[i].submission] |=
        is_changed(&w->attempt[i]) || w->attempt[i].action == FT_ACTION_REJECT;
  return t->touched ? 0 : -1;
}

void weeks_table_free(struct weeks_table *t)
{
  free(t->touched);
  t->touched = NULL;
}

int weeks_count(struct weeks_table *t, const struct weeks_world *w, unsigned policy,
                struct ft_error *err)
{
  struct app *apps = calloc(w->stream->apps + 1, sizeof *apps);

  if (!apps || note_touched(t, w, policy) < 0) {
    free(apps);
    return ft_error_errno(err, "counting");
  }
  t->stream = w->stream;
  for (size_t i = 0; i < w->attempts; i++) {
    const struct weeks_attempt *a = &w->attempt[i];
    uint32_t number = w->stream->submission[a->submission].app;
    struct app *app = &apps[number];

    if (!policy)
      count_foretell(t, w, i, app);
    count_waste(&t->kind[w->stream->app[number].kind], w, a, policy);
    /* The totals exclude leaks: their required memory is unknown, and one has the waste of a
     * thousand jobs. */
    if (isinf(a->need_bytes))
      continue;
    count_waste(&t->kind[WEEKS_KINDS], w, a, policy);
    count_waste(known_figures(t, a), w, a, policy);
    if (t->touched[a->submission])
      count_waste(&t->of_touched, w, a, policy);
    if (may_lower_first(w, a)) {
      app->wasted += a->wasted;
      app->needed += a->number ? 0 : needed_byte_seconds(w, a);
    }
  }
  if (!policy)
    count_apps(t, w->stream, apps);
  count_ratios(t, w->stream, apps, policy);
  free(apps);
  return 0;
}
