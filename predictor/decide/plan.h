/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What deciding and explaining both work out of a question. */
#ifndef FT_DECIDE_PLAN_H
#define FT_DECIDE_PLAN_H

#include "predictor/decide/decide.h"

/* How much memory a node of the job has without foretell. */
enum ft_limit_kind {
  FT_LIMIT_UNKNOWN,   /* the partition is not known */
  FT_LIMIT_NONE,      /* nothing limits it */
  FT_LIMIT_ASKED,     /* the user's figure */
  FT_LIMIT_DEFAULT,   /* the partition's */
  FT_LIMIT_WHOLE_NODE /* asked by --mem=0, or for want of a default */
};

struct ft_plan {
  ft_mode mode;
  bool typed;    /* the user asked for this mode */
  bool claimed;  /* there is enough evidence to say anything */
  bool by_bound; /* too few completed runs, but it has died at a known peak */
  bool kills;    /* something here kills for memory */

  enum ft_limit_kind limit_kind;
  uint64_t limit;       /* per node without foretell; 0: unknown or none */
  const char *limit_of; /* the partition whose default it is; NULL: the job's */
  uint64_t most;        /* per node: the partition's maximum and its largest node; 0: not known */
  uint64_t node_most;   /* the largest node; 0: not known */

  ft_mem_unit unit;     /* what an amount is set in */
  uint64_t per_node;    /* such units on a node */
  uint64_t amount;      /* per node: what it should have */
  uint64_t unit_amount; /* the same in the unit */
  bool capped;          /* less than the need calls for, because of `most` */
  bool no_node;         /* more likely than not no node of the partition is large enough */

  bool too_low, too_high;
  double p_limit;     /* of running out of memory under `limit`; negative: not known */
  double p_amount;    /* under `amount` */
  double p_oom;       /* under what it will have, or would have had if it is not rejected */
  uint64_t oom_bytes; /* which is so much */

  ft_action action;
  bool would_reject; /* but for the mode check */
  const char *reason;
};

void ft_plan_make(const struct ft_question *question, struct ft_plan *plan);

/* CPUs on a node by --cpus-per-gpu, or by PARTITION's DefCpuPerGPU where neither that nor
 * --cpus-per-task is there; 0: none. PARTITION may be NULL, here and below. */
uint64_t ft_plan_cpus_of_gpus(const ft_request *request, const ft_partition *partition);

/* How many CPUs REQUEST takes on the node where it takes the fewest, nodes having NODE_CPUS. */
uint64_t ft_plan_cpus_on_node(const ft_request *request, const ft_partition *partition,
                              uint64_t node_cpus);

/* Per node of PARTITION, as REQUEST asks: its default memory and its maximum; 0: none. */
uint64_t ft_plan_default(const ft_request *request, const ft_partition *partition,
                         bool memory_is_consumable);
uint64_t ft_plan_most(const ft_request *request, const ft_partition *partition);

/*
 * The chance that any element of the job's array runs out under BYTES, each on its own; of elements
 * that were not looked at, as of those that were. Of a job that is no array: that it does.
 */
double ft_plan_any(const struct ft_question *question, uint64_t bytes);

#endif
