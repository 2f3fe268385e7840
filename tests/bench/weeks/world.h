/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Simulates a stream under one policy: time, Slurm's behaviour, and users' reactions to an OOM
 * kill. A policy receives a run only after its end.
 */
#ifndef FT_BENCH_WEEKS_WORLD_H
#define FT_BENCH_WEEKS_WORLD_H

#include "tests/bench/weeks/stream.h"

#define WEEKS_NO_ATTEMPT UINT32_MAX

/* One submission: the stream's, or one that its user made after an OOM kill. */
struct weeks_attempt {
  uint32_t submission;     /* index into the stream's submissions */
  uint32_t number;         /* 0: the first attempt at this work */
  uint32_t previous, next; /* attempts at the same work; WEEKS_NO_ATTEMPT: none */
  double time;             /* seconds since the first day */
  ft_mem_unit mem_unit;    /* unit of the user's present request */
  uint64_t mem_bytes;      /* the request, in mem_unit */
  ft_mode mode;            /* effective mode */
  bool reacted;            /* the request is the user's reaction to a kill */
  uint64_t without_bytes;  /* limit without the policy */
  uint64_t given_bytes;    /* limit with the policy */
  ft_action action;
  ft_decision_rule rule;
  double p_oom; /* predicted probability of running out of memory; negative: none */
  char reason[80];
  uint32_t known;             /* ended runs of the app at submission */
  uint32_t known_submissions; /* ended submissions of the app at submission */
  double need_bytes; /* memory required to complete, largest of its runs; INFINITY: a leak */
  double peak_bytes; /* peak with enough memory, largest of its runs; lower if a run ends early */
  uint32_t runs, deaths, completed, pending; /* numbers of runs; deaths: OOM kills */
  bool all_complete;                         /* every run completes if its memory suffices */
  bool like_known; /* an ended run of the app had a similar peak; set only for killed attempts */
  double wasted;   /* byte seconds above the required memory; the whole limit of killed runs */
};

/* One ended run, as the agent of its node reports it. */
struct weeks_result {
  uint32_t attempt;
  uint32_t element; /* array task of the submission */
  uint32_t restart;
  double start, end;
  double peak_bytes; /* as measured */
  ft_outcome outcome;
  bool killed; /* at its own limit */
};

struct weeks_world {
  const struct weeks_stream *stream;
  struct weeks_attempt *attempt;
  size_t attempts, attempt_size;
  bool *done;                  /* by task of the stream: it has ended, not by a kill */
  uint64_t *learnt;            /* by app: bytes that the user requests since a kill; 0: no kill */
  uint32_t *ended;             /* by app: number of ended runs */
  uint32_t *ended_submissions; /* by app */
  /* private */
  struct weeks_peaks *peaks; /* by app: peaks of the latest ended runs */
  struct weeks_event *event;
  size_t events, event_size;
};

/* A sizing policy. */
struct weeks_policy {
  const char *name;
  /* Returns the policy's state, with rule WITHOUT (NULL: none) off; NULL if out of memory. STREAM
   * must outlive the state. */
  void *(*make)(const struct weeks_stream *stream, const char *without);
  /* Sets given_bytes, action, rule, reason and p_oom of ATTEMPT, which has the values without the
   * policy. Returns 0; -1 on error and fills ERR. */
  int (*decide)(void *state, const struct weeks_world *world, struct weeks_attempt *attempt,
                struct ft_error *err);
  /* Learns from an ended run. Returns 0; -1 on error and fills ERR. */
  int (*learn)(void *state, const struct weeks_world *world, const struct weeks_result *result,
               struct ft_error *err);
  void (*free)(void *state);
};

/* Simulates STREAM under POLICY with rule WITHOUT (NULL: none) off into OUT, which the caller
 * frees. Returns 0; -1 on error, fills ERR and leaves OUT empty. */
int weeks_play(const struct weeks_stream *stream, const struct weeks_policy *policy,
               const char *without, struct weeks_world *out, struct ft_error *err);

/* Frees the members of WORLD. */
void weeks_world_free(struct weeks_world *world);

/* Whether ATTEMPT's mode lets a policy raise its memory. */
bool weeks_may_raise(const struct weeks_attempt *attempt);

/* Whether ATTEMPT's mode lets a policy also lower its memory, after enough runs. */
bool weeks_may_lower(const struct weeks_attempt *attempt);

#endif
