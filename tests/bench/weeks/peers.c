/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Alternatives to foretell: the partition's default, the user's request, doubling after a kill, 1.2
 * times the largest peak, and the percentile of Kubernetes. Each stores a few numbers of every app
 * and acts in every mode. A user's own request after an OOM kill counts for "default".
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "tests/bench/weeks/policies.h"

#define MIB 0x1p20

/*
 * Constants of Kubernetes' Vertical Pod Autoscaler (autoscaler/vertical-pod-autoscaler,
 * recommender): the weight of a memory peak halves with each day, in seconds below; the
 * recommendation is a weighted percentile and a safety margin of 15 %, at least 250 MiB. An OOM
 * kill counts as a peak of 1.2 times the memory, at least 100 MiB more.
 */
#define VPA_PERCENTILE 0.95
#define VPA_MARGIN 1.15
#define VPA_MIN (250 * MIB)
#define VPA_HALF_LIFE 86400.0
#define VPA_BUMP 1.2
#define VPA_BUMP_MIN (100 * MIB)

/* Of the policy "largest x 1.2". */
#define LARGEST_MARGIN 1.2

enum { SAMPLES = 256 }; /* latest peaks for the percentile; chosen by judgement */

struct sample {
  double bytes, weight, time;
};

struct app {
  double limit;          /* bytes, doubled after each kill; 0: no kill */
  double largest;        /* largest peak in bytes; 0: none */
  uint32_t count;        /* number of samples ever added */
  struct sample *sample; /* ring of the latest SAMPLES */
};

struct peer {
  size_t apps;
  bool sampled;
  struct app *app;
};

static void *make_peer(const struct weeks_stream *stream, const char *without)
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

/* Returns the state of the app of attempt A. */
static struct app *find_app(void *state, const struct weeks_world *w, const struct weeks_attempt *a)
{
  return &((struct peer *)state)->app[w->stream->submission[a->submission].app];
}

/* Returns the limit in bytes at which the previous attempt was killed; 0: not killed. */
static double previous_kill_bytes(const struct weeks_world *w, const struct weeks_attempt *a)
{
  if (a->previous == WEEKS_NO_ATTEMPT || !w->attempt[a->previous].deaths)
    return 0;
  return (double)w->attempt[a->previous].given_bytes;
}

/* Allocates BYTES, at most a node, rounded up to MiB. */
static void allocate(const struct weeks_world *w, struct weeks_attempt *a, double bytes)
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
    allocate(w, a, (double)weeks_default(w->stream, &w->stream->submission[a->submission]));
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
  allocate(w, a, fmax((double)a->without_bytes, find_app(state, w, a)->limit));
  return 0;
}

static int learn_doubling(void *state, const struct weeks_world *w, const struct weeks_result *r,
                          struct ft_error *err)
{
  const struct weeks_attempt *a = &w->attempt[r->attempt];
  struct app *app = find_app(state, w, a);

  (void)err;
  if (r->killed)
    app->limit = fmax(app->limit, 2 * (double)a->given_bytes);
  return 0;
}

static int decide_largest(void *state, const struct weeks_world *w, struct weeks_attempt *a,
                          struct ft_error *err)
{
  const struct app *app = find_app(state, w, a);
  double bytes = app->largest > 0 ? LARGEST_MARGIN * app->largest : (double)a->without_bytes;

  (void)err;
  allocate(w, a, fmax(bytes, 2 * previous_kill_bytes(w, a)));
  return 0;
}

static int learn_largest(void *state, const struct weeks_world *w, const struct weeks_result *r,
                         struct ft_error *err)
{
  struct app *app = find_app(state, w, &w->attempt[r->attempt]);

  (void)err;
  app->largest = fmax(app->largest, r->peak_bytes);
  return 0;
}

static int compare_bytes(const void *a, const void *b)
{
  double x = ((const struct sample *)a)->bytes, y = ((const struct sample *)b)->bytes;

  return (x > y) - (x < y);
}

/* Returns the percentile of APP's peaks in bytes, weighted by age at NOW in seconds. */
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
  qsort(sorted, count, sizeof *sorted, compare_bytes);
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
  const struct app *app = find_app(state, w, a);
  double bytes = (double)a->without_bytes, killed = previous_kill_bytes(w, a);

  (void)err;
  if (app->count)
    bytes = fmax(VPA_MARGIN * weighted_percentile(app, a->time), VPA_MIN);
  if (killed > 0)
    bytes = fmax(bytes, VPA_MARGIN * fmax(VPA_BUMP * killed, killed + VPA_BUMP_MIN));
  allocate(w, a, bytes);
  return 0;
}

static int learn_vpa(void *state, const struct weeks_world *w, const struct weeks_result *r,
                     struct ft_error *err)
{
  const struct weeks_attempt *a = &w->attempt[r->attempt];
  struct app *app = find_app(state, w, a);
  double bytes = r->peak_bytes, limit = (double)a->given_bytes;

  if (!app->sample)
    app->sample = calloc(SAMPLES, sizeof *app->sample);
  if (!app->sample)
    return ft_error_errno(err, "a percentile's samples");
  if (r->killed)
    bytes = fmax(VPA_BUMP * limit, limit + VPA_BUMP_MIN);
  app->sample[app->count++ % SAMPLES] = (struct sample){ .bytes = bytes, .time = r->end };
  return 0;
}

const struct weeks_policy weeks_peers[WEEKS_PEERS] = {
  { "default", make_peer, decide_default, learn_nothing, free_peer },
  { "request", make_peer, decide_request, learn_nothing, free_peer },
  { "doubling", make_peer, decide_doubling, learn_doubling, free_peer },
  { "largest x 1.2", make_peer, decide_largest, learn_largest, free_peer },
  { "VPA", make_peer, decide_vpa, learn_vpa, free_peer },
};
