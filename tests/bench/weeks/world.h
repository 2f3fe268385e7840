/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Plays a stream through one policy: the clock, what Slurm does, and what users do when a job has
 * died. A policy learns of a run when that has ended, and not before.
 */
#ifndef FT_BENCH_WEEKS_WORLD_H
#define FT_BENCH_WEEKS_WORLD_H

#include "tests/bench/weeks/stream.h"

#define WEEKS_NO_ATTEMPT UINT32_MAX

/* One submission as it was made: the stream's, or one that its user made after a death. */
struct weeks_attempt {
  uint32_t submission;     /* of the stream */
  uint32_t number;         /* 0: the first for this work */
  uint32_t previous, next; /* attempts at the same work; WEEKS_NO_ATTEMPT: none */
  double time;
  ft_mem_unit mem_unit; /* what its user types now */
  uint64_t mem_bytes;
  ft_mode mode;           /* that holds */
  bool reacted;           /* what is typed is what its user has learnt from a death */
  uint64_t without_bytes; /* what it has without the policy */
  uint64_t given_bytes;   /* and with it */
  ft_action action;
  ft_decision_rule rule;
  double p_oom; /* negative: none */
  char reason[80];
  uint32_t known;    /* runs of the app that had ended */
  double need_bytes; /* of its runs the most; INFINITY: it leaks */
  double peak_bytes; /* the most that they reach before they end otherwise */
  uint32_t runs, deaths, completed, pending;
  bool all_complete; /* every run completes if its memory suffices */
  bool like_known;   /* it died, and an ended run of its app had shown as much */
  double wasted;     /* byte seconds: above the need, or all that a killed run had */
};

/* One run that has ended, as the node's agent would tell of it. */
struct weeks_result {
  uint32_t attempt;
  uint32_t element; /* of the submission's tasks */
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
  bool *done;       /* of the stream's tasks: nothing is left to do */
  uint64_t *learnt; /* of the apps: bytes that their user types since a death; 0: none */
  uint32_t *ended;  /* of the apps: runs */
  /* private */
  struct weeks_shown *shown;
  struct weeks_event *event;
  size_t events, event_size;
};

/* A way to size jobs. */
struct weeks_policy {
  const char *name;
  /* STREAM outlives the state. NULL out of memory. */
  void *(*make)(const struct weeks_stream *stream, const char *without);
  /* Set given_bytes, action and why of ATTEMPT, which has what it would get without. -1 with ERR.
   */
  int (*decide)(void *state, const struct weeks_world *world, struct weeks_attempt *attempt,
                struct ft_error *err);
  int (*learn)(void *state, const struct weeks_world *world, const struct weeks_result *result,
               struct ft_error *err);
  void (*free)(void *state);
};

/* Play STREAM through POLICY with rule WITHOUT (NULL: none) switched off. OUT is to be freed.
 * Returns 0; -1 with ERR. */
int weeks_play(const struct weeks_stream *stream, const struct weeks_policy *policy,
               const char *without, struct weeks_world *out, struct ft_error *err);

void weeks_world_free(struct weeks_world *world);

/* Whether ATTEMPT's mode lets a policy raise what it has, and, from enough runs on, lower it. */
bool weeks_may_raise(const struct weeks_attempt *attempt);
bool weeks_may_lower(const struct weeks_attempt *attempt);

#endif
