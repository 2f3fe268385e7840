/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The simulation: a queue of submissions and ends of runs, and the users' reactions. */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/core/hash.h"
#include "tests/bench/weeks/world.h"

enum {
  ATTEMPTS = 12,     /* attempts at one job until the user gives up */
  LEAK_ATTEMPTS = 6, /* attempts until the user notices a leak */
  TOGETHER = 16,     /* array tasks that run at once */
  LATEST_PEAKS = 64  /* ended runs of an app that are compared with a new one */
};

/* Seconds: wait in the queue, limits of a user's time until the next attempt. By judgement. */
#define QUEUE_SECONDS 30.0
#define THINKING_MIN 120.0
#define THINKING_MAX (6 * 3600.0)
/* Two peaks within this factor are similar; chosen by judgement. */
#define LIKE 1.25

struct weeks_event {
  double time;
  uint64_t order; /* order of events at the same time */
  bool ends;      /* the end of a run; else a submission */
  struct weeks_result result;
};

/* Peaks of the latest ended runs of an app. */
struct weeks_peaks {
  uint32_t count;
  float bytes[LATEST_PEAKS];
};

/* ---- events, in a binary heap ---- */

static bool before(const struct weeks_event *a, const struct weeks_event *b)
{
  return a->time != b->time ? a->time < b->time : a->order < b->order;
}

static int push(struct weeks_world *w, const struct weeks_event *event)
{
  size_t at = w->events;

  if (at == w->event_size) {
    size_t room = at ? 2 * at : 1024;
    struct weeks_event *grown = realloc(w->event, room * sizeof *grown);

    if (!grown)
      return -1;
    w->event = grown;
    w->event_size = room;
  }
  w->events++;
  for (; at > 0 && before(event, &w->event[(at - 1) / 2]); at = (at - 1) / 2)
    w->event[at] = w->event[(at - 1) / 2];
  w->event[at] = *event;
  return 0;
}

static struct weeks_event pop(struct weeks_world *w)
{
  struct weeks_event first = w->event[0], last = w->event[--w->events];
  size_t at = 0, child;

  while ((child = 2 * at + 1) < w->events) {
    if (child + 1 < w->events && before(&w->event[child + 1], &w->event[child]))
      child++;
    if (!before(&w->event[child], &last))
      break;
    w->event[at] = w->event[child];
    at = child;
  }
  w->event[at] = last;
  return first;
}

/* ---- random numbers ---- */

/* Returns a number from 0 to 1 by hash, the same under every policy. */
static double chance(uint64_t a, uint64_t b, uint64_t c)
{
  const uint64_t key[3] = { a, b, c };
  uint64_t hash = ft_hash64(FT_HASH_SEED, key, sizeof key);

  hash = (hash ^ hash >> 31) * UINT64_C(0x9e3779b97f4a7c15);
  return (double)(hash >> 11) * 0x1p-53;
}

/* ---- attempts ---- */

static struct weeks_attempt *add_attempt(struct weeks_world *w)
{
  if (w->attempts == w->attempt_size) {
    size_t room = w->attempts ? 2 * w->attempts : 1024;
    struct weeks_attempt *grown = realloc(w->attempt, room * sizeof *grown);

    if (!grown)
      return NULL;
    w->attempt = grown;
    w->attempt_size = room;
  }
  w->attempt[w->attempts] =
      (struct weeks_attempt){ .p_oom = -1, .previous = WEEKS_NO_ATTEMPT, .next = WEEKS_NO_ATTEMPT };
  return &w->attempt[w->attempts++];
}

bool weeks_may_raise(const struct weeks_attempt *a)
{
  if (a->mode == FT_MODE_RAISE || a->mode == FT_MODE_TRIM)
    return true;
  return a->mem_unit == FT_MEM_NONE && (a->mode == FT_MODE_SET || a->mode == FT_MODE_FORCE);
}

bool weeks_may_lower(const struct weeks_attempt *a)
{
  return weeks_may_raise(a) && (a->mem_unit == FT_MEM_NONE || a->mode == FT_MODE_TRIM);
}

/* Returns the memory of a node for attempt A, in bytes. */
static uint64_t node_bytes_of(const struct weeks_world *w, const struct weeks_attempt *a)
{
  return w->stream->site[w->stream->app[w->stream->submission[a->submission].app].site].node_bytes;
}

/* Returns the limit of attempt A without the policy, in bytes. */
static uint64_t limit_without_policy(const struct weeks_world *w, const struct weeks_attempt *a)
{
  const struct weeks_submission *s = &w->stream->submission[a->submission];

  if (a->mem_unit == FT_MEM_NONE)
    return weeks_default(w->stream, s);
  return a->mem_bytes * (a->mem_unit == FT_MEM_CPU ? s->cpus : 1);
}

/* Computes the remaining work of attempt A: number of runs and largest memory. */
static void set_remaining_work(const struct weeks_world *w, struct weeks_attempt *a)
{
  const struct weeks_submission *s = &w->stream->submission[a->submission];

  a->all_complete = true;
  for (size_t i = s->first_task; i < s->first_task + s->tasks; i++) {
    const struct weeks_task *task = &w->stream->task[i];

    if (w->done[i])
      continue;
    a->runs++;
    a->need_bytes = fmax(a->need_bytes, task->need_bytes);
    a->peak_bytes = fmax(a->peak_bytes, task->need_bytes * task->reached);
    a->all_complete &= task->ending == WEEKS_COMPLETES || task->ending == WEEKS_REQUEUED;
  }
}

/* ---- runs ---- */

/* Queues the end of a run. Returns 0; -1 if out of memory. */
static int push_end(struct weeks_world *w, struct weeks_result result)
{
  struct weeks_event event = { .time = result.end,
                               .order = ((uint64_t)result.attempt << 24) + result.element,
                               .ends = true,
                               .result = result };

  w->attempt[result.attempt].pending++;
  return push(w, &event);
}

/* Sets the result of a run that exceeds LIMIT bytes. */
static void kill_run(const struct weeks_task *task, double limit, struct weeks_result *r)
{
  double seconds = isinf(task->need_bytes)
                       ? task->seconds * limit / WEEKS_LEAK_BYTES
                       : task->seconds * task->peak_at * limit / task->need_bytes;

  r->outcome = FT_OUTCOME_OUT_OF_MEMORY;
  r->killed = true;
  r->end = r->start + fmax(seconds, 1);
  /* The last sample before a kill is up to 10 % below the limit. */
  r->peak_bytes = limit * (0.9 + 0.1 * chance(r->attempt, r->element, 1));
}

/* Sets the result of a run for which LIMIT bytes are enough. */
static void finish_run(const struct weeks_task *task, double limit, struct weeks_result *r)
{
  static const ft_outcome outcomes[] = {
    [WEEKS_COMPLETES] = FT_OUTCOME_COMPLETED,     [WEEKS_FAILS] = FT_OUTCOME_FAILED,
    [WEEKS_CANCELLED] = FT_OUTCOME_CANCELLED,     [WEEKS_TIMES_OUT] = FT_OUTCOME_TIMEOUT,
    [WEEKS_NODE_FULL] = FT_OUTCOME_OUT_OF_MEMORY, [WEEKS_REQUEUED] = FT_OUTCOME_COMPLETED,
  };

  r->outcome = outcomes[task->ending];
  r->end =
      r->start + fmax(task->seconds * (task->ending == WEEKS_TIMES_OUT ? 1 : task->reached), 1);
  /* Ten samples a second are up to 1 % below the peak. */
  r->peak_bytes = fmax(task->need_bytes * task->reached, task->fills * limit) *
                  (1 - 0.01 * chance(r->attempt, r->element, 2));
}

/* Queues the preemption of a run halfway, and moves its start behind it. Returns 0; -1 if out of
 * memory. */
static int preempt(struct weeks_world *w, const struct weeks_task *task, struct weeks_result *r)
{
  struct weeks_result first = *r;

  first.outcome = FT_OUTCOME_REQUEUED;
  first.end = r->start + fmax(task->seconds / 2, 1);
  first.peak_bytes = task->need_bytes * fmin(0.5 / task->peak_at, 0.99);
  r->restart = 1;
  r->start = first.end + QUEUE_SECONDS;
  return push_end(w, first);
}

/* Simulates the run of array task ELEMENT: queues its end, adds its waste. Returns 0; -1 if out of
 * memory. */
static int start_run(struct weeks_world *w, uint32_t attempt, uint32_t element)
{
  struct weeks_attempt *a = &w->attempt[attempt];
  const struct weeks_submission *s = &w->stream->submission[a->submission];
  const struct weeks_task *task = &w->stream->task[s->first_task + element];
  double limit = (double)a->given_bytes;
  struct weeks_result r = { .attempt = attempt,
                            .element = element,
                            .start = a->time + QUEUE_SECONDS +
                                     floor(element / TOGETHER) * task->seconds };

  if (task->need_bytes * task->reached > limit) {
    kill_run(task, limit, &r);
    a->wasted += limit * (r.end - r.start);
    return push_end(w, r);
  }
  if (task->ending == WEEKS_REQUEUED && preempt(w, task, &r) < 0)
    return -1;
  finish_run(task, limit, &r);
  a->wasted += (limit - task->need_bytes * task->reached) * (r.end - r.start);
  return push_end(w, r);
}

/* ---- users ---- */

/* Queues another attempt at the remaining work of attempt LAST with a request of BYTES (0:
 * unchanged) in MODE. Returns 0; -1 if out of memory. */
static int try_again(struct weeks_world *w, uint32_t last, double now, uint64_t bytes, ft_mode mode)
{
  struct weeks_attempt from = w->attempt[last], *a = add_attempt(w);
  const struct weeks_submission *s = &w->stream->submission[from.submission];
  uint64_t most = node_bytes_of(w, &from);
  struct weeks_event event = { 0 };

  if (!a)
    return -1;
  a->submission = from.submission;
  a->number = from.number + 1;
  a->previous = last;
  w->attempt[last].next = (uint32_t)(w->attempts - 1);
  a->mem_unit = from.mem_unit;
  a->mem_bytes = from.mem_bytes;
  a->mode = mode;
  a->reacted = from.reacted || bytes;
  a->time = floor(now + THINKING_MIN * pow(THINKING_MAX / THINKING_MIN,
                                           chance(from.submission, from.number, 3)));
  if (bytes) {
    a->mem_unit = FT_MEM_NODE;
    a->mem_bytes = bytes < most ? bytes : most;
    if (a->mem_bytes > w->learnt[s->app])
      w->learnt[s->app] = a->mem_bytes;
  }
  event.time = a->time;
  event.order = (uint64_t)(w->attempts - 1) << 24;
  event.result.attempt = (uint32_t)(w->attempts - 1);
  return push(w, &event);
}

/* Half of the users insist on a rejected request; the others double it. Returns 0; -1 if out of
 * memory. */
static int react_to_rejection(struct weeks_world *w, uint32_t attempt)
{
  const struct weeks_attempt *a = &w->attempt[attempt];
  bool insists = chance(a->submission, 0, 4) < 0.5;

  if (a->number + 1 >= ATTEMPTS || (!insists && a->without_bytes >= node_bytes_of(w, a)))
    return 0;
  if (insists)
    return try_again(w, attempt, a->time, 0, FT_MODE_FORCE);
  return try_again(w, attempt, a->time, 2 * a->without_bytes, a->mode);
}

/* The user's reaction to an OOM kill. Returns 0; -1 if out of memory. */
static int react_to_kill(struct weeks_world *w, uint32_t attempt, double now)
{
  const struct weeks_attempt *a = &w->attempt[attempt];
  const struct weeks_submission *s = &w->stream->submission[a->submission];
  uint64_t bytes = 2 * a->given_bytes;
  unsigned most = isinf(a->need_bytes) ? LEAK_ATTEMPTS : ATTEMPTS;

  if (s->reaction == WEEKS_GIVES_UP || a->number + 1 >= most ||
      a->given_bytes >= node_bytes_of(w, a))
    return 0;
  if (s->reaction == WEEKS_UNCHANGED &&
      (!a->number || a->given_bytes > w->attempt[a->previous].given_bytes))
    bytes = 0;
  return try_again(w, attempt, now, bytes, a->mode);
}

/* ---- events in order of time ---- */

/* Whether an ended run of APP had a peak above the limit of attempt A and similar to A's required
 * memory. */
static bool has_similar_run(const struct weeks_world *w, uint32_t app,
                            const struct weeks_attempt *a)
{
  const struct weeks_peaks *peaks = &w->peaks[app];

  for (uint32_t i = 0; i < peaks->count && i < LATEST_PEAKS; i++)
    if (peaks->bytes[i] > (double)a->given_bytes && peaks->bytes[i] > a->need_bytes / LIKE &&
        peaks->bytes[i] < a->need_bytes * LIKE)
      return true;
  return false;
}

/* Lets the policy decide, then starts the runs. Returns 0; -1 on error and fills ERR. */
static int submit_attempt(struct weeks_world *w, uint32_t attempt,
                          const struct weeks_policy *policy, void *state, struct ft_error *err)
{
  struct weeks_attempt *a = &w->attempt[attempt];
  const struct weeks_submission *s = &w->stream->submission[a->submission];

  a->without_bytes = a->given_bytes = limit_without_policy(w, a);
  a->known = w->ended[s->app];
  a->known_submissions = w->ended_submissions[s->app];
  set_remaining_work(w, a);
  if (policy->decide(state, w, a, err) < 0)
    return -1;
  if (a->action == FT_ACTION_REJECT)
    return react_to_rejection(w, attempt);
  a->like_known = a->peak_bytes > (double)a->given_bytes && has_similar_run(w, s->app, a);
  for (uint32_t i = 0; i < s->tasks; i++)
    if (!w->done[s->first_task + i] && start_run(w, attempt, i) < 0)
      return -1;
  return 0;
}

/* Processes the end of a run: the policy learns, the user reacts. Returns 0; -1 on error and fills
 * ERR. */
static int process_end(struct weeks_world *w, const struct weeks_result *r,
                       const struct weeks_policy *policy, void *state, struct ft_error *err)
{
  struct weeks_attempt *a = &w->attempt[r->attempt];
  const struct weeks_submission *s = &w->stream->submission[a->submission];
  struct weeks_peaks *peaks = &w->peaks[s->app];

  if (policy->learn(state, w, r, err) < 0)
    return -1;
  if (r->outcome != FT_OUTCOME_REQUEUED)
    w->ended[s->app]++;
  peaks->bytes[peaks->count++ % LATEST_PEAKS] = (float)r->peak_bytes;
  a->pending--;
  a->deaths += r->killed;
  a->completed += r->outcome == FT_OUTCOME_COMPLETED;
  if (!r->killed && r->outcome != FT_OUTCOME_REQUEUED)
    w->done[s->first_task + r->element] = true;
  if (a->pending)
    return 0;
  w->ended_submissions[s->app]++;
  if (!a->deaths)
    return 0;
  return react_to_kill(w, r->attempt, r->end);
}

/* Creates the first attempt at submission NEXT of the stream. Returns 0; -1 if out of memory. */
static int add_first_attempt(struct weeks_world *w, size_t next, uint32_t *attempt)
{
  const struct weeks_submission *s = &w->stream->submission[next];
  struct weeks_attempt *a = add_attempt(w);

  if (!a)
    return -1;
  *attempt = (uint32_t)(w->attempts - 1);
  a->submission = (uint32_t)next;
  a->time = s->time;
  a->mode = s->typed_mode != FT_MODE_UNSET ? s->typed_mode
                                           : w->stream->site[w->stream->app[s->app].site].mode;
  a->mem_unit = s->mem_unit;
  a->mem_bytes = s->mem_bytes;
  /* A user who requested more after a kill continues to do so. */
  if (w->learnt[s->app] > (s->mem_unit == FT_MEM_NONE ? 0 : weeks_limit(w->stream, s))) {
    a->mem_unit = FT_MEM_NODE;
    a->mem_bytes = w->learnt[s->app];
    a->reacted = true;
  }
  return 0;
}

/* Processes submissions and events until none is left. Returns 0; -1 on error and fills ERR. */
static int run_simulation(struct weeks_world *w, const struct weeks_policy *policy, void *state,
                          struct ft_error *err)
{
  size_t next = 0;
  uint32_t attempt;

  while (next < w->stream->submissions || w->events) {
    struct weeks_event event;

    if (next < w->stream->submissions &&
        (!w->events || w->stream->submission[next].time < w->event[0].time)) {
      if (add_first_attempt(w, next++, &attempt) < 0 ||
          submit_attempt(w, attempt, policy, state, err) < 0)
        return -1;
      continue;
    }
    event = pop(w);
    if (event.ends ? process_end(w, &event.result, policy, state, err) < 0
                   : submit_attempt(w, event.result.attempt, policy, state, err) < 0)
      return -1;
  }
  return 0;
}

int weeks_play(const struct weeks_stream *stream, const struct weeks_policy *policy,
               const char *without, struct weeks_world *out, struct ft_error *err)
{
  void *state = policy->make(stream, without);
  int status = -1;

  *out = (struct weeks_world){ .stream = stream,
                               .done = calloc(stream->tasks + 1, sizeof *out->done),
                               .learnt = calloc(stream->apps + 1, sizeof *out->learnt),
                               .ended = calloc(stream->apps + 1, sizeof *out->ended),
                               .ended_submissions =
                                   calloc(stream->apps + 1, sizeof *out->ended_submissions),
                               .peaks = calloc(stream->apps + 1, sizeof *out->peaks) };
  (void)ft_error_set(err, "%s: out of memory", policy->name);
  if (state && out->done && out->learnt && out->ended && out->ended_submissions && out->peaks)
    status = run_simulation(out, policy, state, err);
  if (state)
    policy->free(state);
  if (status < 0)
    weeks_world_free(out);
  return status;
}

void weeks_world_free(struct weeks_world *w)
{
  free(w->attempt);
  free(w->done);
  free(w->learnt);
  free(w->ended);
  free(w->ended_submissions);
  free(w->peaks);
  free(w->event);
  *w = (struct weeks_world){ 0 };
}
