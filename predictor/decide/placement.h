/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How a job would run in each partition: how long, how much faster or slower than where it goes,
 * what that costs, and whether it fits there. Pure, but for what finds the evidence. What is not
 * known is told as not known.
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

/* As many partitions are looked at, those that the user names before others. */
#define FT_PLACEMENT_PARTITIONS 64
/* One for each platform of each partition; what is beyond is left out. */
#define FT_PLACEMENT_ROWS 128

/* What placement needs from the state directory; 600 KiB. */
struct ft_placement_evidence {
  ft_performance performance; /* of the app, without history; runs 0: none is known */
  ft_platforms platforms;
  ft_partition partition[FT_PLACEMENT_PARTITIONS];
  struct ft_partition_access access[FT_PLACEMENT_PARTITIONS]; /* the user's to each of them */
  size_t partition_count;
  size_t current; /* which of them the job goes to; partition_count: none */
};

/*
 * Read what the state folder STATE_FD knows for user UID's SUBMISSION: the partitions that LIST
 * (commas between) names and the one the job goes to, or where LIST is empty all of them, as far as
 * there is room; one that is hidden must be named. A partition that is not known is left out.
 * Returns 0; -1 with ERR where something is there and cannot be read.
 */
int ft_placement_read(int state_fd, const ft_site *site, uint32_t uid,
                      const ft_submission *submission, const char *list,
                      struct ft_placement_evidence *out, struct ft_error *err);

/* What else was asked of nodes, as it was typed; NULL: nothing. */
struct ft_placement_requested {
  struct ft_gpu_request gpus;
  const char *nodelist, *nodefile, *reservation, *exclude;
};

/* NETWORK (NULL: nothing), which has to stay, is going to set one of these: as if it were so. */
void ft_placement_apply(const ft_network *network, struct ft_placement_requested *asked);

/* The option that ties the job to nodes which are not known here; NULL: none does. */
const char *ft_placement_pinning_option(const struct ft_placement_requested *asked);

struct ft_placement_question {
  const ft_submission *submission;
  struct ft_placement_requested asked;
  const struct ft_placement_evidence *evidence;
  const struct ft_estimate *memory; /* of one node; NULL: not known */
  double now;                       /* UTC */
};

enum ft_placement_fit {
  FT_PLACEMENT_FIT_UNKNOWN,
  FT_PLACEMENT_FITS,
  FT_PLACEMENT_MAY_NOT_FIT, /* not enough with a chance of more than 5 % */
  FT_PLACEMENT_DOES_NOT_FIT /* of more than half, or by Slurm's own rules */
};

/* A partition, as far as its nodes are of one platform and --constraint leaves them. */
struct ft_placement_row {
  size_t partition;                     /* in the evidence */
  const char *platform;                 /* "": not known */
  const struct ft_platform_runtime *place; /* NULL: nothing is known of run times there */
  bool compared;                        /* with where it goes */
  double speed, speed_p05, speed_p95;   /* run time where it goes over that here */
  double price_each;                    /* what the unit costs for an hour; negative: not known */
  double price;                         /* of a run of median length; negative: not known */
  uint64_t memory_bytes; /* of the largest node, as far as the partition lets a job have it; 0: not
                            known */
  enum ft_placement_fit memory, time;
  bool free_known, free; /* whether it could begin now, as far as CPUs and nodes tell */
  const char *blocking_reason; /* for what other reason it cannot run here; NULL: none */
  bool fits;                   /* nothing is known that speaks against it */
};

struct ft_placement {
  struct ft_platform_runtime place[FT_RUNTIME_PLATFORMS];
  size_t place_count, count;
  struct ft_placement_row row[FT_PLACEMENT_ROWS]; /* by partition */
  size_t fastest, cheapest; /* of the partitions where it suits; FT_PLACEMENT_PARTITIONS: none */
};

void ft_placement_evaluate(const struct ft_placement_question *question, struct ft_placement *out);

/* Put the speed of ROW against BASE into ROW; both are known. */
void ft_placement_compare(struct ft_placement_row *row, const struct ft_placement_row *base);

/* The slowest row of the partition HOME, whether it suits there or not; NULL: not known. */
const struct ft_placement_row *ft_placement_current(const struct ft_placement *placement,
                                                    size_t home);

/* The row that tells of PARTITION as a whole: where a job may come onto several platforms, the one
 * that is worse; NULL: one of them is not known, or it suits nowhere there. */
const struct ft_placement_row *ft_placement_worst(const struct ft_placement *placement,
                                                  size_t partition, bool by_price);

/* The standard deviation of the logarithm of the run time in A over that in B, both of which are
 * known. */
double ft_placement_deviation(const struct ft_placement_row *a, const struct ft_placement_row *b);

/* The table: SAY is called with each line. */
void ft_placement_table(const struct ft_placement_question *question,
                        const struct ft_placement *placement,
                        void (*say)(const char *line, void *data), void *data);

/* --predict-partition, taken apart. */
enum ft_placement_goal {
  FT_PLACEMENT_GOAL_NONE,
  FT_PLACEMENT_GOAL_FASTEST,
  FT_PLACEMENT_GOAL_CHEAPEST
};

/*
 * Read "fastest", "cheapest" and either with ":LIST", which LIST then points to; else LIST is
 * NULL. FT_PLACEMENT_GOAL_NONE: it is none of these, or LIST is no list of names.
 */
enum ft_placement_goal ft_placement_goal_of(const char *text, const char **list);

struct ft_placement_choice {
  char partitions[1024]; /* what --partition is to be; "": as it was */
  char line[512];        /* what the user is told, without "foretell: " */
};

/*
 * Choose for WISH among LIST, or where that is NULL among those that --partition lists. MAY_CHANGE:
 * a single partition that was typed may be changed for one of LIST. Of the partitions where the job
 * may go now, those are dropped that are worse than the best by more than 5 %, with a probability
 * of 90 %; where none is left it goes to the best. Nothing that is not known is dropped, and
 * nothing for a partition of which it is not known whether the user may use it.
 */
void ft_placement_choose(const struct ft_placement_question *question,
                         const struct ft_placement *placement, enum ft_placement_goal goal,
                         const char *list, bool may_change, struct ft_placement_choice *out);

/* Numbers as the table and the choice show them: "2.1 min", "0.34 EUR". */
const char *ft_placement_show_price(const struct ft_placement_question *question, double price,
                                    char *out, size_t size);

#endif
