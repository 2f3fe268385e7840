/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Statistics of a played world, printed beside their goals. */
#ifndef FT_BENCH_WEEKS_FIGURES_H
#define FT_BENCH_WEEKS_FIGURES_H

#include <jansson.h>
#include <stdio.h>

#include "tests/bench/weeks/policies.h"

enum weeks_count {
  WEEKS_KILLED_BY,      /* killed, and would have completed without foretell */
  WEEKS_REJECTED_WRONG, /* and would have completed */
  WEEKS_NOT_RECOVERED,  /* after a kill, within ceil(log2(need / limit)) further submissions */
  WEEKS_TOO_MUCH,       /* set above 3 times the required memory and above 100 MiB */
  WEEKS_NOT_ACTED,      /* apps with too little memory, by their tenth run */
  WEEKS_COUNTS
};

/* COUNT of OF. */
struct weeks_part {
  uint64_t count, of;
};

struct weeks_figures {
  uint64_t submissions; /* attempts */
  uint64_t changed, rejected;
  uint64_t died_again; /* in modes that set memory, with a similar run known */
  struct weeks_part part[WEEKS_COUNTS];
  struct weeks_part acted_at_all; /* apps without action, of all apps whose mode permits it */
  /* work that the mode lets foretell size, under every policy */
  struct {
    double wasted_gib_hours;
    double log_ratios; /* of apps: given over needed */
    uint64_t deaths, unfinished, apps;
  } of[1 + WEEKS_PEERS]; /* foretell's first */
};

enum { WEEKS_RULES = FT_DECIDED_BY_ESTIMATE + 1 };

struct weeks_table {
  const struct weeks_stream *stream;
  struct weeks_figures kind[WEEKS_KINDS + 1]; /* the last is the total */
  struct weeks_figures rule[WEEKS_RULES];     /* by the deciding rule; foretell only */
  /* submissions of which foretell changed or rejected an attempt, and each policy's waste on
   * them; without leaks */
  bool *touched;
  struct weeks_figures of_touched;
};

/* Counts foretell's actions in WORLD if PEER is 0, else the waste of peer PEER - 1. Returns 0;
 * -1 with ERR. */
int weeks_count(struct weeks_table *table, const struct weeks_world *world, unsigned peer,
                struct ft_error *err);

/* Upper 95 % confidence limit of PART's probability (Clopper and Pearson 1934). */
double weeks_upper(struct weeks_part part);

/* Whether attempt n of WORLD starts a retry sequence that may recover, and if so whether it did. */
bool weeks_recovers(const struct weeks_world *world, size_t attempt, bool *recovered);

void weeks_table_free(struct weeks_table *table);

void weeks_print(const struct weeks_table *table, FILE *out);
json_t *weeks_json(const struct weeks_table *table);

/* Prints the COUNT apps with the worst results of foretell. Returns 0; -1 with ERR. */
int weeks_print_worst(const struct weeks_world *world, unsigned count, FILE *out,
                      struct ft_error *err);

/* Prints every attempt of WORLD as CSV, in bytes and seconds. */
void weeks_print_list(const struct weeks_world *world, FILE *out);

#endif
