/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Alternatives to foretell. Each keeps a few numbers of every app in every site mode. A user's own
 * request after an OOM kill counts for policies that set nothing themselves.
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "tests/bench/weeks/policies.h"

#define MIB 0x1p20

/*
 * Kubernetes' Vertical Pod Autoscaler (autoscaler/vertical-pod-autoscaler, recommender): memory
 * peaks weigh half as much for each day of age, the recommendation is a percentile of them and a
 * safety margin of 15 %, at least 250 MiB. An OOM counts as a peak of 1.2 times the memory, at
 * least 100 MiB more.
 */
#define VPA_PERCENTILE 0.95
#define VPA_MARGIN 1.15
#define VPA_LEAST (250 * MIB)
#define VPA_HALF_LIFE 86400.0
#define VPA_BUMP 1.2
#define VPA_BUMP_LEAST (100 * MIB)

#define LARGEST_MARGIN 1.2

enum { SAMPLES = 256 };

struct sample {
  double bytes, weight, time;
};

struct app {
  double limit;   /* doubled after each kill; 0: no kill */
  double largest; /* peak so far; 0: none */
  uint32_t count;
  struct sample *sample; /* SAMPLES, the oldest replaced */
};

struct peer {
  size_t apps;
  bool sampled;
  struct app *app;
};

static void *make(const struct weeks_stream *stream, const char *without)
{
  struct peer *p = calloc(1, sizeof *p);

  (void)without;
  if (!p)
    return NULL;
  p->apps = stream->apps;
  p->app = calloc(stream->apps + 1, sizeof *p->app);
  if (!p->app) {
    free(p);
    return NULL;
  }
  return p;
}

static void free_peer(void *state)
{
  struct peer *p = state;

  for (size_t i = 0; i < p->apps; i++)
    free(p->app[i].sample);
  free(p->app);
  free(p);
}

static struct app *app_of(void *state, const struct weeks_world *w, const struct weeks_attempt *a)
{
  return &((struct peer *)state)->app[w->stream->submission[a->submission].app];
}

/* Bytes at which this work was killed; 0: not killed. */
static double killed_at(const struct weeks_world *w, const struct weeks_attempt *a)
{
  if (a->previous == WEEKS_NO_ATTEMPT || !w->attempt[a->previous].deaths)
    return 0;
  return (double)w->attempt[a->previous].given_bytes;
}

static void give(const struct weeks_world *w, struct weeks_attempt *a, double bytes)
{
  const struct weeks_submission *s = &w->stream->submission[a->submission];
  const struct weeks_site *site = &w->stream->site[w->stream->app[s->app].site];

  a->given_bytes = (uint64_t)ceil(fmin(bytes, (double)site->node_bytes) / MIB) * (uint64_t)MIB;
  a->action = a->given_bytes == a->without_bytes ? FT_ACTION_LEAVE : FT_ACTION_SET;
}

static int learn_nothing(void *state, const struct weeks_world *w, const struct weeks_result *r,
                         struct ft_error *err)
{
  (void)state;
  (void)w;
  (void)r;
  (void)err;
  return 0;
}

static int decide_default(void *state, const struct weeks_world *w, struct weeks_attempt *a,
                          struct ft_error *err)
{
  (void)state;
  (void)err;
  if (!a->reacted)
    give(w, a, (double)weeks_default(w->stream, &w->stream->submission[a->submission]));
  return 0;
}

static int decide_request(void *state, const struct weeks_world *w, struct weeks_attempt *a,
                          struct ft_error *err)
{
  (void)state;
  (void)w;
  (void)a;
  (void)err;
  return 0;
}

static int decide_doubling(void *state, const struct weeks_world *w, struct weeks_attempt *a,
                           struct ft_error *err)
{
  (void)err;
  give(w, a, fmax((double)a->without_bytes, app_of(state, w, a)->limit));
  return 0;
}

static int learn_doubling(void *state, const struct weeks_world *w, const struct weeks_result *r,
                          struct ft_error *err)
{
  const struct weeks_attempt *a = &w->attempt[r->attempt];
  struct app *app = app_of(state, w, a);

  (void)err;
  if (r->killed)
    app->limit = fmax(app->limit, 2 * (double)a->given_bytes);
  return 0;
}

static int decide_largest(void *state, const struct weeks_world *w, struct weeks_attempt *a,
                          struct ft_error *err)
{
  const struct app *app = app_of(state, w, a);
  double bytes = app->largest > 0 ? LARGEST_MARGIN * app->largest : (double)a->without_bytes;

  (void)err;
  give(w, a, fmax(bytes, 2 * killed_at(w, a)));
  return 0;
}

static int learn_largest(void *state, const struct weeks_world *w, const struct weeks_result *r,
                         struct ft_error *err)
{
  struct app *app = app_of(state, w, &w->attempt[r->attempt]);

  (void)err;
  app->largest = fmax(app->largest, r->peak_bytes);
  return 0;
}

static int by_bytes(const void *a, const void *b)
{
  double x = ((const struct sample *)a)->bytes, y = ((const struct sample *)b)->bytes;

  return (x > y) - (x < y);
}

static double weighted_percentile(const struct app *app, double now)
{
  struct sample sorted[SAMPLES];
  uint32_t count = app->count < SAMPLES ? app->count : SAMPLES, i;
  double sum = 0, below = 0;

  for (i = 0; i < count; i++) {
    sorted[i] = app->sample[i];
    sorted[i].weight = exp2((sorted[i].time - now) / VPA_HALF_LIFE);
    sum += sorted[i].weight;
  }
  qsort(sorted, count, sizeof *sorted, by_bytes);
  for (i = 0; i + 1 < count; i++) {
    below += sorted[i].weight;
    if (below >= VPA_PERCENTILE * sum)
      break;
  }
  return sorted[i].bytes;
}

static int decide_vpa(void *state, const struct weeks_world *w, struct weeks_attempt *a,
                      struct ft_error *err)
{
  const struct app *app = app_of(state, w, a);
  double bytes = (double)a->without_bytes, died = killed_at(w, a);

  (void)err;
  if (app->count)
    bytes = fmax(VPA_MARGIN * weighted_percentile(app, a->time), VPA_LEAST);
  if (died > 0)
    bytes = fmax(bytes, VPA_MARGIN * fmax(VPA_BUMP * died, died + VPA_BUMP_LEAST));
  give(w, a, bytes);
  return 0;
}

static int learn_vpa(void *state, const struct weeks_world *w, const struct weeks_result *r,
                     struct ft_error *err)
{
  const struct weeks_attempt *a = &w->attempt[r->attempt];
  struct app *app = app_of(state, w, a);
  double bytes = r->peak_bytes, limit = (double)a->given_bytes;

  if (!app->sample)
    app->sample = calloc(SAMPLES, sizeof *app->sample);
  if (!app->sample)
    return ft_error_errno(err, "a percentile's samples");
  if (r->killed)
    bytes = fmax(VPA_BUMP * limit, limit + VPA_BUMP_LEAST);
  app->sample[app->count++ % SAMPLES] = (struct sample){ .bytes = bytes, .time = r->end };
  return 0;
}

const struct weeks_policy weeks_peers[WEEKS_PEERS] = {
  { "default", make, decide_default, learn_nothing, free_peer },
  { "request", make, decide_request, learn_nothing, free_peer },
  { "doubling", make, decide_doubling, learn_doubling, free_peer },
  { "largest x 1.2", make, decide_largest, learn_largest, free_peer },
  { "VPA", make, decide_vpa, learn_vpa, free_peer },
};
