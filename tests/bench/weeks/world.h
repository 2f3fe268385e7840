/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Plays a stream through one policy: the clock, Slurm's behaviour, and users' reactions to an OOM
 * kill. A policy learns of a run only after its end.
 */
#ifndef FT_BENCH_WEEKS_WORLD_H
#define FT_BENCH_WEEKS_WORLD_H

#include "tests/bench/weeks/stream.h"

#define WEEKS_NO_ATTEMPT UINT32_MAX

/* One submission: the stream's, or one that its user made after an OOM kill. */
struct weeks_attempt {
  uint32_t submission;     /* of the stream */
  uint32_t number;         /* 0: the first for this work */
  uint32_t previous, next; /* attempts at the same work; WEEKS_NO_ATTEMPT: none */
  double time;
  ft_mem_unit mem_unit; /* unit of the user's present request */
  uint64_t mem_bytes;
  ft_mode mode;           /* effective mode */
  bool reacted;           /* the request is the user's reaction to a kill */
  uint64_t without_bytes; /* limit without the policy */
  uint64_t given_bytes;   /* limit with the policy */
  ft_action action;
  ft_decision_rule rule;
  double p_oom; /* negative: none */
  char reason[80];
  uint32_t known;    /* runs of the app that had ended */
  double need_bytes; /* the largest of its runs; INFINITY: a leak */
  double peak_bytes; /* largest peak of runs that end otherwise */
  uint32_t runs, deaths, completed, pending;
  bool all_complete; /* every run completes if its memory suffices */
  bool like_known;   /* killed, although an ended run of the app had a similar peak */
  double wasted; /* byte seconds: above the required memory, or the whole limit of a killed run */
};

/* One ended run, as the node's agent reports it. */
struct weeks_result {
  uint32_t attempt;
  uint32_t element; /* array task of the submission */
  uint32_t restart;
  double start, end;
  double peak_bytes; /* as measured */
  ft_outcome outcome;
  bool killed; /* by its own limit */
};

struct weeks_world {
  const struct weeks_stream *stream;
  struct weeks_attempt *attempt;
  size_t attempts, attempt_size;
  bool *done;       /* by task of the stream: nothing is left to do */
  uint64_t *learnt; /* by app: bytes that the user requests since a kill; 0: none */
  uint32_t *ended;  /* of the apps: runs */
  /* private */
  struct weeks_shown *shown;
  struct weeks_event *event;
  size_t events, event_size;
};

/* A sizing policy. */
struct weeks_policy {
  const char *name;
  /* STREAM outlives the state. Returns NULL if out of memory. */
  void *(*make)(const struct weeks_stream *stream, const char *without);
  /* Sets given_bytes, action and why of ATTEMPT, which has the values without the policy.
   * Returns -1 with ERR. */
  int (*decide)(void *state, const struct weeks_world *world, struct weeks_attempt *attempt,
                struct ft_error *err);
  int (*learn)(void *state, const struct weeks_world *world, const struct weeks_result *result,
               struct ft_error *err);
  void (*free)(void *state);
};

/* Plays STREAM through POLICY with rule WITHOUT (NULL: none) off. The caller frees OUT. Returns
 * 0; -1 with ERR. */
int weeks_play(const struct weeks_stream *stream, const struct weeks_policy *policy,
               const char *without, struct weeks_world *out, struct ft_error *err);

void weeks_world_free(struct weeks_world *world);

/* Whether ATTEMPT's mode lets a policy raise its memory and, after enough runs, lower it. */
bool weeks_may_raise(const struct weeks_attempt *attempt);
bool weeks_may_lower(const struct weeks_attempt *attempt);

#endif
