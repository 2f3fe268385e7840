/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The size of a job's memory request: the limit without foretell (limits.c), the amount that the
 * rules give (rules.c), and the action that follows (sizing.c). Bytes are per node.
 */
#ifndef FT_DECIDE_SIZING_H
#define FT_DECIDE_SIZING_H

#include "predictor/decide/decide.h"

/* Smallest probability of running out of memory that is reported as a risk; up to it a limit is
 * enough. Chosen by judgement. */
#define FT_SIZING_LOW_MIN 0.05

/* The nodes on which a job may run. */
struct ft_nodes {
  uint64_t cpus; /* counted for memory per CPU, on the least favourable node */
  uint64_t smallest_bytes, largest_bytes; /* memory of nodes with enough CPUs; 0: not known */
};

/* Where the limit of a job without foretell comes from. */
enum ft_limit_kind {
  FT_LIMIT_UNKNOWN,   /* the partition is not known */
  FT_LIMIT_NONE,      /* no limit */
  FT_LIMIT_ASKED,     /* the user's request */
  FT_LIMIT_DEFAULT,   /* the partition's default */
  FT_LIMIT_WHOLE_NODE /* --mem=0, or a partition without a default */
};

struct ft_sizing {
  ft_mode mode;
  bool explicit_mode; /* the user gave this mode */
  bool has_estimate;  /* enough evidence for probabilities */
  bool has_evidence;  /* an estimate, or facts */
  bool thin;          /* evidence that warns, but never rejects or lowers (decide.h) */
  bool enforced;      /* the site kills jobs that exceed their memory */

  enum ft_limit_kind limit_kind;
  uint64_t limit;              /* without foretell; 0: unknown or none */
  const char *limit_partition; /* the partition with that default; NULL: the job's */
  uint64_t max;                /* the partition's maximum or largest node; 0: not known */
  uint64_t largest_node;       /* 0: not known */

  ft_mem_unit unit;      /* of the request */
  uint64_t per_node;     /* units (CPUs, GPUs) on a node */
  ft_decision_rule rule; /* that decided the amount */
  double ceiling_factor; /* rule ceiling: multiple of ceiling_basis */
  double ceiling_basis;  /* rule ceiling: largest peak or bound in the evidence; 0: none */
  double floor;          /* rule floor: bytes, with its margin; 0: nothing shown */
  uint64_t shown;        /* needed at least, as comparable runs show; 0: nothing shown */
  uint64_t amount;       /* recommended */
  uint64_t unit_amount;  /* recommended, per unit */
  uint64_t min_amount, unit_min_amount; /* a request may be lowered to this */
  bool capped;                          /* the amount is less than the need, because of `max` */
  bool no_node_fits;                    /* the largest node is too small, more likely than not */

  bool too_low, too_high; /* the limit */
  double p_limit;     /* probability of running out of memory under `limit`; negative: not known */
  double p_amount;    /* under `amount`; negative: not known */
  double p_oom;       /* under `oom_bytes`; negative: not known */
  uint64_t oom_bytes; /* that the job will have, or would have had if it is rejected */

  ft_action action;
  bool overrides; /* the mode force overrides a rejection */
  const char *reason;
};

/* Fills SIZING for INPUT. */
void ft_sizing_make(const struct ft_decision_input *input, struct ft_sizing *sizing);

/*
 * The probability that any task of the job array exceeds BYTES, integrated over the factor that
 * the tasks share (a one-factor Gaussian copula, Vasicek 2002; its correlation is the estimate's
 * shared part). Tasks without an estimate count like those with one. For a job that is no array:
 * the probability that the job exceeds BYTES.
 */
double ft_sizing_p_any_task(const struct ft_decision_input *input, uint64_t bytes);

/*
 * Whether LIMIT, in bytes, is too low: facts show a larger need, or the probability P (negative:
 * not known) of exceeding it is above what POLICY accepts. LESS: the job's features are smaller
 * than those of every recorded run.
 */
bool ft_sizing_is_too_low(const struct ft_sizing *sizing, const ft_policy *policy, bool less,
                          double limit, double p);

/* ---- limits.c ---- */

/* A * B, at most UINT64_MAX. */
uint64_t ft_multiply_saturating(uint64_t a, uint64_t b);

/* CPUs on a node by --cpus-per-gpu, or by PARTITION's DefCpuPerGPU if neither that nor
 * --cpus-per-task is given; 0: none. PARTITION may be NULL: not known. */
uint64_t ft_sizing_cpus_of_gpus(const ft_request *request, const ft_partition *partition);

/* Returns the default memory, in bytes, of REQUEST on a node of PARTITION (NULL: not known); 0:
 * none. MEMORY_IS_CONSUMABLE: Slurm allocates memory. */
uint64_t ft_sizing_default(const ft_request *request, const ft_partition *partition,
                           bool memory_is_consumable);
/* Returns the maximum memory, in bytes, of REQUEST on a node of PARTITION (not NULL); 0: none. */
uint64_t ft_sizing_partition_max(const ft_request *request, const ft_partition *partition);

/* Whether the job has its nodes to itself. */
bool ft_sizing_exclusive(const struct ft_decision_input *input);

/* The nodes of INPUT's partition that suit its request; nothing else of INPUT is read. */
struct ft_nodes ft_sizing_nodes(const struct ft_decision_input *input);

/* Fill SIZING's unit and limit, and its maximum, for jobs on NODES (ft_sizing_nodes). */
void ft_sizing_find_limit(const struct ft_decision_input *input, struct ft_sizing *sizing,
                          const struct ft_nodes *nodes);
void ft_sizing_find_max(const struct ft_decision_input *input, struct ft_sizing *sizing,
                        const struct ft_nodes *nodes);

/* ---- rules.c ---- */

/* Fill has_estimate, has_evidence and thin; and then rule, floor, shown and the amounts. */
void ft_sizing_weigh_evidence(const struct ft_decision_input *input, struct ft_sizing *sizing);
void ft_sizing_find_amount(const struct ft_decision_input *input, struct ft_sizing *sizing);

/* The request in bytes that ESTIMATE alone leads to under POLICY. */
double ft_sizing_need(const struct ft_estimate *estimate, const ft_policy *policy);

#endif
