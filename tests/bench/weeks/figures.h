/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Statistics of a simulated world (world.h), and their tables (table.c, stories.c, list.c). */
#ifndef FT_BENCH_WEEKS_FIGURES_H
#define FT_BENCH_WEEKS_FIGURES_H

#include <jansson.h>
#include <stdio.h>

#include "tests/bench/weeks/policies.h"

enum weeks_count {
  WEEKS_KILLED_BY,      /* changed attempts: killed, and would have completed without foretell */
  WEEKS_REJECTED_WRONG, /* changed or rejected: rejected, and would have completed */
  WEEKS_NOT_RECOVERED,  /* kills: still killed after ceil(log2(need / limit)) more submissions */
  WEEKS_TOO_MUCH,       /* changed: set above 3 times the required memory, above 100 MiB, and above
                           the memory without foretell */
  WEEKS_NOT_ACTED,      /* apps with too little memory: no action by their tenth run */
  WEEKS_COUNTS
};

/* COUNT events of OF cases. */
struct weeks_part {
  uint64_t count, of;
};

struct weeks_figures {
  uint64_t submissions; /* number of attempts */
  uint64_t changed, rejected;
  uint64_t died_again; /* kills in modes that set memory, although a similar run was known */
  struct weeks_part part[WEEKS_COUNTS];
  struct weeks_part acted_at_all; /* apps without action, of all apps whose mode permits it */
  /* by policy, of work whose memory the mode lets foretell set */
  struct {
    double wasted_gib_hours;
    double log_ratios;                 /* sum over apps of log(allocated / required memory-time) */
    uint64_t deaths, unfinished, apps; /* killed attempts, submissions given up, apps */
  } of[1 + WEEKS_PEERS];               /* foretell is the first */
};

enum {
  WEEKS_RULES = FT_DECIDED_BY_ESTIMATE + 1,
  WEEKS_KNOWN = 8, /* ranges of an app's ended submissions */
  WEEKS_TOLD = 10  /* ranges of a told probability */
};

/* First number of ended submissions of each range, and first probability. */
extern const uint32_t weeks_known[WEEKS_KNOWN];
extern const double weeks_told[WEEKS_TOLD];

struct weeks_table {
  const struct weeks_stream *stream;
  struct weeks_figures kind[WEEKS_KINDS + 1]; /* the last is the total */
  struct weeks_figures rule[WEEKS_RULES];     /* by the deciding rule; foretell only */
  struct weeks_figures known[WEEKS_KNOWN];    /* by ended submissions of the app, without leaks */
  /* attempts that are no arrays and no leaks, by the told probability of running out of memory */
  struct {
    struct weeks_part killed;
    double told; /* sum of the probabilities */
  } told[WEEKS_TOLD];
  bool *touched;                   /* by submission: foretell changed or rejected an attempt */
  struct weeks_figures of_touched; /* each policy's waste on touched submissions, without leaks */
};

/* Adds WORLD to TABLE: foretell's actions and waste if PEER is 0, else the waste of peer PEER - 1.
 * Foretell is the first. Returns 0; -1 on error and fills ERR. */
int weeks_count(struct weeks_table *table, const struct weeks_world *world, unsigned peer,
                struct ft_error *err);

/* Upper 95 % confidence limit of PART's probability (Clopper and Pearson 1934). */
double weeks_upper(struct weeks_part part);

/* Whether attempt n of WORLD starts a retry sequence that may recover; sets RECOVERED to whether it
 * did. */
bool weeks_recovers(const struct weeks_world *world, size_t attempt, bool *recovered);

/* Frees the members of TABLE. */
void weeks_table_free(struct weeks_table *table);

void weeks_print(const struct weeks_table *table, FILE *out);

/* Returns TABLE as an object that the caller owns; NULL if out of memory. */
json_t *weeks_json(const struct weeks_table *table);

/* Prints the COUNT apps with the worst results of foretell. Returns 0; -1 on error and
 * fills ERR. */
int weeks_print_worst(const struct weeks_world *world, unsigned count, FILE *out,
                      struct ft_error *err);

/* Prints every attempt of WORLD as CSV, in bytes and seconds. */
void weeks_print_list(const struct weeks_world *world, FILE *out);

#endif
