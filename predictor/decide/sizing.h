/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The size of a job's memory request: the limit without foretell (limits.c), the recommended amount
 * (rules.c), and the action that follows from both (sizing.c). Bytes are per node. Pure.
 */
#ifndef FT_DECIDE_SIZING_H
#define FT_DECIDE_SIZING_H

#include "predictor/decide/decide.h"

/* Probability of running out of memory up to which a limit counts as enough; a larger one is
 * reported as a risk. Half and twice were compared. */
#define FT_SIZING_LOW_MIN 0.05
/* An estimate is narrow if its 95 % quantile is within this multiple of its median. Chosen by
 * tests/bench/weeks (rule ceiling). */
#define FT_SIZING_NARROW_RATIO 4

/* The nodes on which a job may run. */
struct ft_nodes {
  uint64_t cpus; /* CPUs that count for memory per CPU, on the node where the job has the fewest */
  uint64_t smallest_bytes, largest_bytes; /* memory of nodes with enough CPUs; 0: unknown */
};

/* Where the limit of a job without foretell comes from. */
enum ft_limit_kind {
  FT_LIMIT_UNKNOWN,   /* the partition is unknown */
  FT_LIMIT_NONE,      /* no limit */
  FT_LIMIT_REQUESTED, /* the user's request */
  FT_LIMIT_DEFAULT,   /* the partition's default */
  FT_LIMIT_WHOLE_NODE /* --mem=0, or a partition without a default */
};

/* What rule floor is based on. */
enum ft_floor_basis {
  FT_FLOOR_NONE,
  FT_FLOOR_USED,        /* peak of a comparable completed run */
  FT_FLOOR_USED_BY_ANY, /* peak of a completed run; none is comparable */
  FT_FLOOR_NEEDED,      /* peak of a comparable run that did not complete */
  FT_FLOOR_KILLED,      /* limit that killed a comparable run */
  FT_FLOOR_COMPLETED,   /* memory with which the last run completed */
  FT_FLOOR_STATED       /* memory that the script states for a program */
};

/* Amounts are in bytes; of a time limit (time_decision.h) in seconds. */
struct ft_sizing {
  ft_mode mode;
  bool explicit_mode;  /* the user gave this mode */
  bool has_estimate;   /* the evidence suffices for probabilities */
  bool shows_estimate; /* the estimate is reported, also one of so few runs that it decides nothing
                        */
  bool has_evidence;   /* there is an estimate, or facts */
  bool misfit;         /* the estimate does not fit the app's runs and is not used (ft_decide) */
  bool thin;           /* the evidence is thin (ft_decide) */
  bool enforced;       /* the site kills jobs that exceed their memory */

  enum ft_limit_kind limit_kind;
  uint64_t limit;              /* memory without foretell; 0: unknown or none */
  const char *limit_partition; /* partition of a default that is `limit`; NULL: the job's */
  struct ft_default_request default_request; /* of a job without a request */
  struct ft_default_request kept_default;    /* to request because the job is left to it; bytes 0:
                                                none */
  uint64_t max;          /* the partition's maximum or largest node; 0: unknown */
  uint64_t largest_node; /* memory of the largest node; 0: unknown */

  uint64_t step;            /* Slurm's smallest amount: a MiB, a minute */
  double lower_times;       /* how much rarer a lowered request may be exceeded than another */
  ft_mem_unit unit;         /* unit of the request */
  uint64_t per_node;        /* number of units (CPUs, GPUs) on a node */
  ft_decision_rule rule;    /* rule that determined the amount */
  double ceiling_factor;    /* rule ceiling: multiple of ceiling_basis */
  double ceiling_basis;     /* rule ceiling: largest peak or bound in the evidence; 0: none */
  double floor;             /* rule floor: bytes, with its margin; 0: none */
  double floor_basis_bytes; /* rule floor: bytes, without its margin */
  enum ft_floor_basis floor_basis;      /* of floor_basis_bytes */
  uint64_t min_need;                    /* lower bound of the need, from comparable runs; 0: none */
  uint64_t amount;                      /* recommended */
  uint64_t unit_amount;                 /* recommended, per unit */
  uint64_t min_amount, unit_min_amount; /* amount to which a request may be lowered */
  uint64_t stated;   /* memory that the script states, if it raised one of these amounts; else 0 */
  bool keeps_limit;  /* the app sizes itself by its limit, which is left to it */
  bool capped;       /* the amount is less than the need, because of `max` */
  bool no_node_fits; /* P(need > largest node) is over 0.5 */

  bool unsupported; /* `amount` must not be set: it is below the median of a task's estimate, or at
                       most the limit that killed the last comparable run */
  bool withheld;    /* so `amount` is not set, in a mode that would set it */

  bool too_low, too_high; /* `limit` is */
  double p_limit;     /* probability of running out of memory under `limit`; negative: unknown */
  double p_amount;    /* the same under `amount`; negative: unknown */
  double p_oom;       /* the same under `oom_bytes`; negative: unknown */
  uint64_t oom_bytes; /* memory that the job will have, or would have without a rejection */

  ft_action action;
  bool overrides;     /* the mode force overrides a rejection */
  const char *reason; /* of the action; a static string */
};

/* Fills SIZING for INPUT, which must outlive SIZING. */
void ft_sizing_make(const struct ft_decision_input *input, struct ft_sizing *sizing);

/* Fills SIZING by the rules, for any quantity: its mode, limit, max, step, lower_times, unit,
 * per_node and whether the limit is enforced are set (ft_sizing_init), the rest is zero. */
void ft_sizing_apply_rules(const struct ft_decision_input *input, struct ft_sizing *sizing);

/* Sets SIZING to one without limits, with INPUT's mode and steps of STEP. */
void ft_sizing_init(const struct ft_decision_input *input, uint64_t step, struct ft_sizing *sizing);

/*
 * Returns the probability that any task of INPUT's job array exceeds BYTES, by integration over a
 * factor that is common to the tasks (one-factor Gaussian copula, Vasicek 2002; the correlation is
 * ft_estimate.shared). Tasks without an estimate have the mean of the estimated tasks. For a job
 * that is no array: the probability that the job exceeds BYTES.
 */
double ft_sizing_p_any_task(const struct ft_decision_input *input, uint64_t bytes);

/*
 * Returns whether LIMIT, in bytes, is too low: LIMIT is below sizing->min_need, or the probability
 * P (negative: unknown) of exceeding LIMIT is above what POLICY accepts. LESS: P is ignored,
 * because the job's features are smaller than those of every recorded run.
 */
bool ft_sizing_is_too_low(const struct ft_sizing *sizing, const ft_policy *policy, bool less,
                          double limit, double p);

/* ---- limits.c ---- */

/* Returns A * B, at most UINT64_MAX. */
uint64_t ft_multiply_saturating(uint64_t a, uint64_t b);

/* Returns the number of CPUs on a node that REQUEST implies for its GPUs: by --cpus-per-gpu, or by
 * DefCpuPerGPU of PARTITION (NULL: unknown) if --cpus-per-task is not given either; 0: none. */
uint64_t ft_sizing_cpus_of_gpus(const ft_request *request, const ft_partition *partition);

/* Returns the default memory, in bytes, of a job with REQUEST on a node of PARTITION (NULL:
 * unknown); 0: none. MEMORY_IS_CONSUMABLE: Slurm allocates memory. */
uint64_t ft_sizing_default(const ft_request *request, const ft_partition *partition,
                           bool memory_is_consumable);
/* Returns that default as a request. */
struct ft_default_request ft_sizing_default_request(const ft_request *request,
                                                    const ft_partition *partition,
                                                    bool memory_is_consumable);
/* Returns the maximum memory, in bytes, of a job with REQUEST on a node of PARTITION (not NULL); 0:
 * none. */
uint64_t ft_sizing_partition_max(const ft_request *request, const ft_partition *partition);

/* Returns whether the job has exclusive nodes. */
bool ft_sizing_exclusive(const struct ft_decision_input *input);

/* Returns the nodes of input->partition on which input->request may run; reads only these two. */
struct ft_nodes ft_sizing_nodes(const struct ft_decision_input *input);

/* Fill unit and limit, and maximum and largest node, of SIZING for a job on NODES
 * (ft_sizing_nodes). */
void ft_sizing_find_limit(const struct ft_decision_input *input, struct ft_sizing *sizing,
                          const struct ft_nodes *nodes);
void ft_sizing_find_max(const struct ft_decision_input *input, struct ft_sizing *sizing,
                        const struct ft_nodes *nodes);

/* ---- rules.c ---- */

/* ft_sizing_weigh_evidence fills misfit, has_estimate, has_evidence and thin of SIZING. Then
 * ft_sizing_find_amount fills rule, ceiling, floor, min_need, the amounts, capped and
 * no_node_fits. */
void ft_sizing_weigh_evidence(const struct ft_decision_input *input, struct ft_sizing *sizing);
void ft_sizing_find_amount(const struct ft_decision_input *input, struct ft_sizing *sizing);

/* Returns whether the evidence is from other apps, imported runs or other variants, or from before
 * the program or a file that the script runs changed. */
bool ft_sizing_is_borrowed(const struct ft_decision_input *input);

/* Returns whether the app sizes itself by its memory limit (ft_decide). */
bool ft_sizing_follows_limit(const struct ft_decision_input *input);

/* Sets the amounts of SIZING to the limit under which the app's last run completed, if that is
 * above every limit that killed a comparable run. SIZING then has no estimate. */
void ft_sizing_use_completed_limit(const struct ft_decision_input *input, struct ft_sizing *sizing);

/* Returns the bytes that ESTIMATE alone recommends under POLICY, without other rules. */
double ft_sizing_need(const struct ft_estimate *estimate, const ft_policy *policy);

#endif
