/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What deciding and explaining both work out of a question. */
#ifndef FT_DECIDE_SIZING_H
#define FT_DECIDE_SIZING_H

#include <stdarg.h>

#include "predictor/decide/decide.h"

/* Of the nodes that a job may run on. */
struct ft_nodes {
  uint64_t cpus; /* that count where memory is per CPU, on the least favourable node */
  uint64_t smallest_bytes, largest_bytes; /* of those that have as many CPUs; 0: not known */
};

/* How much memory a node of the job has without foretell. */
enum ft_limit_kind {
  FT_LIMIT_UNKNOWN,   /* the partition is not known */
  FT_LIMIT_NONE,      /* nothing limits it */
  FT_LIMIT_ASKED,     /* the user's figure */
  FT_LIMIT_DEFAULT,   /* the partition's */
  FT_LIMIT_WHOLE_NODE /* asked by --mem=0, or for want of a default */
};

struct ft_sizing {
  ft_mode mode;
  bool explicit_mode; /* the user asked for this mode */
  bool has_estimate;  /* there is enough evidence to say how probable anything is */
  bool has_evidence;  /* or at least facts, which say what is enough and what is not */
  bool thin;     /* evidence that warns, but never rejects nor lowers (decide.h) */
  bool enforced; /* something here kills for memory */

  enum ft_limit_kind limit_kind;
  uint64_t limit;       /* per node without foretell; 0: unknown or none */
  const char *limit_partition; /* the partition whose default it is; NULL: the job's */
  uint64_t max;          /* per node: the partition's maximum and its largest node; 0: not known */
  uint64_t largest_node; /* the largest node; 0: not known */

  ft_mem_unit unit;     /* what an amount is set in */
  uint64_t per_node;    /* such units on a node */
  ft_decision_rule rule; /* that decided the amount */
  double ceiling_factor; /* times the largest peak or bound in the evidence, at most */
  uint64_t shown;       /* per node: what comparable runs have shown to be needed; 0: nothing */
  uint64_t amount;      /* per node: what it should have */
  uint64_t unit_amount; /* the same in the unit */
  uint64_t min_amount, unit_min_amount; /* and the least that it may be lowered to */
  bool capped;          /* less than the need calls for, because of `most` */
  bool no_node_fits;    /* more likely than not no node of the partition is large enough */

  bool too_low, too_high;
  double p_limit;     /* of running out of memory under `limit`; negative: not known */
  double p_amount;    /* under `amount` */
  double p_oom;       /* under what it will have, or would have had if it is not rejected */
  uint64_t oom_bytes; /* which is so much */

  ft_action action;
  bool overrides; /* it would be rejected but for the mode force */
  const char *reason;
};

void ft_sizing_make(const struct ft_decision_input *question, struct ft_sizing *sizing);

/* CPUs on a node by --cpus-per-gpu, or by PARTITION's DefCpuPerGPU where neither that nor
 * --cpus-per-task is there; 0: none. PARTITION may be NULL, here and below. */
uint64_t ft_sizing_cpus_of_gpus(const ft_request *request, const ft_partition *partition);

/* Per node of PARTITION, as REQUEST asks: its default memory and its maximum; 0: none. */
uint64_t ft_sizing_default(const ft_request *request, const ft_partition *partition,
                           bool memory_is_consumable);
uint64_t ft_sizing_partition_max(const ft_request *request, const ft_partition *partition);

/*
 * The probability that any task of the job array runs out of memory under BYTES, integrated over
 * what the tasks share (a one-factor Gaussian copula, Vasicek 2002, whose correlation is the
 * estimate's shared part); of tasks that were not looked at, as of those that were. Of a job that
 * is no array: that it does.
 */
double ft_sizing_p_any_task(const struct ft_decision_input *question, uint64_t bytes);

/* ---- parts of ft_sizing_make ---- */

/* A * B, or the largest number there is. */
uint64_t ft_multiply_saturating(uint64_t a, uint64_t b);

/* Whether the job has its nodes to itself. */
bool ft_sizing_exclusive(const struct ft_decision_input *question);

/* Of QUESTION only request and partition count. */
struct ft_nodes ft_sizing_nodes(const struct ft_decision_input *question);

/* Fill what the job has without foretell, and the most that it may have. */
void ft_sizing_find_limit(const struct ft_decision_input *question, struct ft_sizing *sizing,
                          const struct ft_nodes *nodes);
void ft_sizing_find_max(const struct ft_decision_input *question, struct ft_sizing *sizing,
                        const struct ft_nodes *nodes);

/* Fill claimed, known, thin, and by the rules rule, shown and amount (decide/rules.c). */
void ft_sizing_weigh_evidence(const struct ft_decision_input *question, struct ft_sizing *sizing);
void ft_sizing_find_amount(const struct ft_decision_input *question, struct ft_sizing *sizing);

/* ---- parts of sentences; each returns what it made, in OUT where there is one ---- */

enum { FT_MESSAGE_COUNT = 64, FT_MESSAGE_PERCENT = 24 };

/* "11.2 GiB"; what is negative or too large for a size is the nearest one. */
const char *ft_message_bytes(double bytes, char out[32]);

/* Append to LINE, cut where it is full. */
__attribute__((format(printf, 2, 0))) void ft_message_append(char line[FT_MESSAGE_SIZE],
                                                             const char *format, va_list ap);

/* "3.1 %", "over 99.9 %" of a probability. */
const char *ft_message_percent(double p, char out[FT_MESSAGE_PERCENT]);

/* "--mem-per-cpu": the option that is in UNIT. */
const char *ft_message_option(ft_mem_unit unit);

/* "3 runs", "4 runs, 1 completed", "6 runs, none completed". */
const char *ft_message_count(unsigned runs, unsigned completed, char out[FT_MESSAGE_COUNT]);

/* What FACTS show, without a claim about runs to come: "has used up to 210 MiB and was killed at 227
 * MiB (4 runs, 1 completed)"; OF (" of GPU memory") follows the first amount, KILLED says "was killed
 * at". */
const char *ft_message_facts(const struct ft_facts *facts, const char *of, const char *killed,
                             char *out, size_t size);

/* Whether ESTIMATE is not worth telling beside facts: extrapolated, and wide. */
bool ft_message_is_vague(const struct ft_estimate *estimate);

/* Why PLAN's rule made an amount other than the estimate's: " (floor)"; "" where it did not. */
const char *ft_message_rule(const struct ft_sizing *sizing, char *out, size_t size);

/*
 * Whether LIMIT, in bytes, does not suffice: facts show it, or it is exceeded with a probability P
 * (negative: not known) that POLICY minds. LESS: the job has less of all that matters than any run.
 */
bool ft_sizing_is_too_low(const struct ft_sizing *sizing, const ft_policy *policy, bool less,
                          double limit, double p);

/* What ESTIMATE alone asks for under POLICY, in bytes. */
double ft_sizing_need(const struct ft_estimate *estimate, const ft_policy *policy);

#endif
