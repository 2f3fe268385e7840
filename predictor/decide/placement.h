/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Placement: compares partitions for a job by run time, speed relative to the current partition,
 * price, energy, and whether the job fits, and chooses among them. The current partition is the
 * first that the submission names, otherwise the site's default. Pure, except for
 * ft_placement_read. Unknown quantities are marked as unknown; no default replaces them.
 */
#ifndef FT_DECIDE_PLACEMENT_H
#define FT_DECIDE_PLACEMENT_H

#include <stdbool.h>
#include <stddef.h>

#include "predictor/core/error.h"
#include "predictor/decide/gpu_request.h"
#include "predictor/decide/partition_access.h"
#include "predictor/estimate/runtime.h"
#include "predictor/record/record.h"

/* Maximum number of compared partitions; named ones come first. */
#define FT_PLACEMENT_PARTITIONS 64
/* Maximum number of rows, one per platform of a partition; further rows are omitted. Two platforms
 * per partition. */
#define FT_PLACEMENT_ROWS 128

/* The goals of --predict-partition. */
enum ft_placement_goal {
  FT_PLACEMENT_FASTEST,
  FT_PLACEMENT_CHEAPEST,
  FT_PLACEMENT_GREENEST,
  FT_PLACEMENT_GOALS
};

/* Texts of a goal. */
struct ft_placement_goal_text {
  const char *name;    /* as in --predict-partition */
  const char *better;  /* comparative */
  const char *missing; /* what is unknown */
};

extern const struct ft_placement_goal_text ft_placement_goal_texts[FT_PLACEMENT_GOALS];

/* The records of the state directory that placement uses; 600 KiB. */
struct ft_placement_evidence {
  const ft_performance *performance; /* of the app, without history, borrowed; NULL: no recorded run
                                        time */
  ft_platforms platforms;
  ft_partition partition[FT_PLACEMENT_PARTITIONS];
  struct ft_partition_access access[FT_PLACEMENT_PARTITIONS]; /* of the user to each partition */
  size_t partition_count;
  size_t current; /* index of the current partition; partition_count: unknown */
};

/*
 * Reads the evidence for SUBMISSION of user UID at SITE from the state directory STATE_FD into OUT:
 * the current partition, and the partitions of LIST (comma-separated). If LIST is NULL or empty,
 * all partitions that are not hidden are read, up to FT_PLACEMENT_PARTITIONS. Partitions that
 * cannot be read are omitted. TIME has the run times and is borrowed; imported ones are of no known
 * platform. Returns 0; -1 and fills ERR if the platforms cannot be read.
 */
int ft_placement_read(int state_fd, const ft_site *site, uint32_t uid,
                      const ft_submission *submission, const char *list,
                      const struct ft_time_lookup *time, struct ft_placement_evidence *out,
                      struct ft_error *err);

/* Values of the options that request GPUs or select nodes; NULL: not given. All pointers are
 * borrowed. */
struct ft_placement_requested {
  struct ft_gpu_request gpus;
  const char *nodelist, *nodefile, *reservation, *exclude;
};

/* Sets the GPU option that the decision in NETWORK sets also in REQUESTED, which borrows the value.
 * NETWORK NULL, or with an error: no change. */
void ft_placement_apply(const ft_network *network, struct ft_placement_requested *requested);

/* Returns the option in REQUESTED that restricts the job to particular nodes ("--nodelist"), so
 * that the partition cannot change; a static string; NULL: none. */
const char *ft_placement_pinning_option(const struct ft_placement_requested *requested);

/* The input of placement; all pointers are borrowed. */
struct ft_placement_query {
  const ft_submission *submission;
  struct ft_placement_requested requested;
  const struct ft_placement_evidence *evidence;
  const struct ft_estimate *memory; /* peak on one node, in bytes; NULL: no estimate */
  double now;                       /* UTC seconds, for the age of partition data */
};

/* Whether a limit of memory or time suffices for a job. */
enum ft_placement_fit {
  FT_PLACEMENT_FIT_UNKNOWN,
  FT_PLACEMENT_FITS,
  FT_PLACEMENT_MAY_NOT_FIT, /* exceeded with a probability over 5 % */
  FT_PLACEMENT_DOES_NOT_FIT /* exceeded with a probability over 50 %, or by the request itself */
};

/* A row of the comparison: the nodes of one platform in a partition that satisfy --constraint. */
struct ft_placement_row {
  size_t partition;                          /* index in the evidence */
  const char *platform;                      /* "": unknown; borrowed from the evidence */
  const struct ft_platform_runtime *runtime; /* of the platform; NULL: unknown */
  bool compared;                             /* the speeds are set */
  /* run time in the current partition divided by run time here: median, 5 and 95 % quantile */
  double speed, speed_p05, speed_p95;
  double price_each;     /* of a CPU, node or GPU (ft_price_unit) per hour; negative: unknown */
  double price;          /* of a run of median length; negative: unknown */
  struct ft_power power; /* of the job there; watts 0: unknown */
  double joules;         /* of a run of median length; negative: unknown */
  /* memory that a job may have on the largest node, within the partition's maximum; 0: unknown */
  uint64_t memory_bytes;
  enum ft_placement_fit memory, time;
  bool free_known;             /* `free` is set */
  bool free;                   /* idle CPUs or nodes suffice to start the job at once */
  const char *blocking_reason; /* other reason why the job cannot run here; static; NULL: none */
  bool fits;                   /* no known reason prevents the job from running here */
};

/* The rows of all partitions, in the order of the evidence. Contains pointers into itself and must
 * not be copied. */
struct ft_placement {
  struct ft_platform_runtime runtimes[FT_RUNTIME_PLATFORMS];
  size_t runtime_count, count; /* numbers of elements of `runtimes` and of `row` */
  struct ft_placement_row row[FT_PLACEMENT_ROWS];
  /* indices of the best partition by each goal where the job fits; FT_PLACEMENT_PARTITIONS: unknown
   */
  size_t best[FT_PLACEMENT_GOALS];
};

/* Fills OUT with all rows for QUERY, whose evidence must outlive it. */
void ft_placement_evaluate(const struct ft_placement_query *query, struct ft_placement *out);

/* Sets the speeds of ROW relative to BASE; the run times of both must be known. */
void ft_placement_compare(struct ft_placement_row *row, const struct ft_placement_row *base);

/* Returns the slowest row of the current partition, whose index is CURRENT, also if the job does
 * not fit. NULL if it has no row, or if the run time of one of its rows is unknown. */
const struct ft_placement_row *ft_placement_current(const struct ft_placement *placement,
                                                    size_t current);

/* Returns what ROW costs by GOAL, the less the better: seconds, price or joules of a run of median
 * length; negative: unknown. */
double ft_placement_cost(const struct ft_placement_row *row, enum ft_placement_goal goal);

/* Returns the worst row of PARTITION, an index, by GOAL: of the platforms on which the job fits,
 * the slowest, for example. NULL if the job fits on no platform, or if the cost on one is unknown.
 */
const struct ft_placement_row *ft_placement_worst(const struct ft_placement *placement,
                                                  size_t partition, enum ft_placement_goal goal);

/* Returns the standard deviation of log(run time of A / run time of B); both must be known. */
double ft_placement_deviation(const struct ft_placement_row *a, const struct ft_placement_row *b);

/* Returns the same of the costs by GOAL. */
double ft_placement_cost_deviation(const struct ft_placement_row *a,
                                   const struct ft_placement_row *b, enum ft_placement_goal goal);

/* Calls PRINT(LINE, DATA) for each line of the table of PLACEMENT, or of a message if PLACEMENT has
 * no rows. LINE has no newline and is valid during the call. */
void ft_placement_table(const struct ft_placement_query *query,
                        const struct ft_placement *placement,
                        void (*print)(const char *line, void *data), void *data);

/*
 * Parses TEXT, the value of --predict-partition: a goal's name, optionally with ":LIST". Sets *LIST
 * to the list inside TEXT; NULL: no list. Returns the goal; FT_PLACEMENT_GOALS if TEXT is invalid,
 * also because the list is empty or contains blanks or control characters.
 */
enum ft_placement_goal ft_placement_goal_of(const char *text, const char **list);

struct ft_placement_choice {
  char partitions[1024]; /* new value of --partition; "": unchanged */
  char line[512];        /* message for the user, without "foretell: " */
};

/*
 * Fills OUT with the choice for GOAL among the partitions of LIST
 * (comma-separated; NULL: among those of --partition). MAY_CHANGE: a single partition that the user
 * gave may be replaced by one of LIST; otherwise it is unchanged.
 *
 * The partitions of --partition, or the default one, stay in the choice unless the job does not fit
 * or they are worse than the best partition of LIST: by more than 5 %, and with a probability of
 * 90 %. If none remains, the best partition is chosen. A partition with an unknown run time or
 * price stays. A partition that the user is perhaps not allowed to use cannot be the best.
 */
void ft_placement_choose(const struct ft_placement_query *query,
                         const struct ft_placement *placement, enum ft_placement_goal goal,
                         const char *list, bool may_change, struct ft_placement_choice *out);

/* Writes PRICE with the site's currency, "0.34 EUR", into OUT of SIZE bytes. Returns OUT. */
const char *ft_placement_show_price(const struct ft_placement_query *query, double price, char *out,
                                    size_t size);

#endif
