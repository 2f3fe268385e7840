/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is counted of a world that has been played, and how it is printed beside its goals. */
#ifndef FT_BENCH_WEEKS_FIGURES_H
#define FT_BENCH_WEEKS_FIGURES_H

#include <jansson.h>
#include <stdio.h>

#include "tests/bench/weeks/policies.h"

enum weeks_count {
  WEEKS_KILLED_BY,      /* died, and would have lived without */
  WEEKS_REJECTED_WRONG, /* and would have completed */
  WEEKS_NOT_RECOVERED,  /* from a death, within ceil(log2(need / limit)) further submissions */
  WEEKS_TOO_MUCH,       /* set above 3 times the need, and above 100 MiB */
  WEEKS_NOT_ACTED,      /* apps, by their tenth run; of those that had too little */
  WEEKS_COUNTS
};

/* COUNT of OF. */
struct weeks_part {
  uint64_t count, of;
};

struct weeks_figures {
  uint64_t submissions; /* attempts */
  uint64_t changed, rejected;
  uint64_t died_again; /* where the mode lets memory be set and a like run was known */
  struct weeks_part part[WEEKS_COUNTS];
  struct weeks_part acted_at_all; /* not acted on, of all apps where the mode lets it */
  /* of work whose size the mode lets foretell choose: all policies' */
  struct {
    double wasted_gib_hours;
    double log_ratios; /* of apps: given over needed */
    uint64_t deaths, unfinished, apps;
  } of[1 + WEEKS_PEERS]; /* foretell's first */
};

enum { WEEKS_RULES = FT_DECIDED_BY_ESTIMATE + 1 };

struct weeks_table {
  const struct weeks_stream *stream;
  struct weeks_figures kind[WEEKS_KINDS + 1]; /* the last: all of them */
  struct weeks_figures rule[WEEKS_RULES];     /* by the rule that decided; foretell's alone */
  /* submissions of which foretell changed or rejected an attempt, and what each policy wasted on
   * them; leaks left out */
  bool *touched;
  struct weeks_figures of_touched;
};

/* Count what foretell did in WORLD; PEER 0, or what peer PEER - 1 wasted in it. 0; -1 with ERR. */
int weeks_count(struct weeks_table *table, const struct weeks_world *world, unsigned peer,
                struct ft_error *err);

/* The upper bound of PART's probability that holds with 95 % (Clopper and Pearson 1934). */
double weeks_upper(struct weeks_part part);

/* Whether the n-th attempt of WORLD starts a chain after a death, that may be recovered from; and
 * if so whether it has been. */
bool weeks_recovers(const struct weeks_world *world, size_t attempt, bool *recovered);

void weeks_table_free(struct weeks_table *table);

void weeks_print(const struct weeks_table *table, FILE *out);
json_t *weeks_json(const struct weeks_table *table);

/* The COUNT stories of apps that went worst under foretell. 0; -1 with ERR. */
int weeks_print_worst(const struct weeks_world *world, unsigned count, FILE *out,
                      struct ft_error *err);

/* Print every attempt of WORLD as CSV, bytes and seconds. */
void weeks_print_list(const struct weeks_world *world, FILE *out);

#endif
