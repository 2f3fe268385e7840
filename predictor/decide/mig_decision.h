/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The decision about GPU memory, from an estimate, the requested GPUs and the cluster's MIG slices:
 * the slice to request, a warning about the requested slice or GPU, or a rejection. Pure.
 */
#ifndef FT_DECIDE_MIG_DECISION_H
#define FT_DECIDE_MIG_DECISION_H

#include "predictor/decide/decide.h"
#include "predictor/estimate/gpu/mig_gres.h"
#include "predictor/record/record.h"

/* The input of the decision; all pointers are borrowed. */
struct ft_mig_query {
  ft_mode mode;                 /* given by the user; FT_MODE_UNSET: the policy's */
  bool advisory;                /* no job is rejected */
  bool dry_run;                 /* nothing is submitted (foretell predict) */
  bool choose;                  /* --predict-mig was given */
  const char *gpu;              /* value of --predict-mig; "": any GPU */
  const char *option;   /* name of the option that requests GPUs (gpu_request.h); "": none */
  const char *value;    /* value of `option` */
  const char *subject;  /* of the message: "training of batch 64 of net.onnx" */
  const char *evidence; /* of the estimate, for the message: "by its operators" */
  const struct ft_facts *facts; /* GPU memory of the app's own runs; NULL: `subject` is a network */
  double held_bytes; /* memory of the largest GPU with a completed run, if every run used nearly its
                        whole GPU (online/gpu_model.h); else 0 */
  const ft_policy *policy;                   /* resolved (ft_policy_resolve) */
  const ft_partition *partition;             /* NULL: unknown */
  const struct ft_merged_partitions *merged; /* if `partition` is merged; else NULL */
  const struct ft_mig_table *table;
};

/* The GPUs that the job requests. */
struct ft_mig_request {
  char gres[96];                      /* requested type, "gpu:a100_1g.5gb"; "": no type given */
  uint32_t count;                     /* number in the option; 0: none requested */
  bool several;                       /* of several types; the one with the least memory is here */
  const struct ft_mig_profile *slice; /* the requested slice; NULL: not a slice */
  const struct ft_mig_profile *largest; /* `slice`, or the largest slice to choose from; or NULL */
  const char *gpu;    /* name in the table of the requested GPU or of that of `largest`; or NULL */
  double limit_bytes; /* memory of the requested GPU or slice; 0: unknown */
  double max_bytes;   /* limit_bytes, or the memory of `largest`; 0: unknown */
};

/* Fills REQUEST from the option and value of QUERY. REQUEST borrows from query->table. */
void ft_mig_request_find(const struct ft_mig_query *query, struct ft_mig_request *request);

/* Returns the probability, 0.5 to 1, with which the memory of a chosen slice must suffice. */
double ft_mig_target_probability(const ft_policy *policy);

/*
 * Decides about REQUEST, filled from QUERY, with ESTIMATE (bytes of one GPU; NULL: facts only), and
 * fills NETWORK's action, lines, option and value. Returns whether the GPU that the job will have
 * is too small.
 *
 * The amount that a slice must hold is for a network the quantile at ft_mig_target_probability.
 * Otherwise the rules leak, floor, ceiling and estimate for host memory (decide.h) determine it,
 * with these differences:
 * - After a run that ran out of GPU memory the floor is 1.2 times that slice, not 2.4 times: this
 *   already selects the next larger slice, which has twice the memory.
 * - Completed runs of an app that uses all memory show that a slice of that size suffices
 *   (held_bytes), but not that the app needs that much: no job is rejected because of them.
 * - The policy's floor and rounding are for host memory and are ignored.
 * - --predict-mig is an explicit request: no number of runs (trim_runs) is required.
 *
 * If the job gives no GPU type, --predict-mig requests the smallest slice of the partition that
 * suffices, in the requested number. Of merged partitions, slices that more of them have are
 * preferred.
 * A requested slice or GPU is too small if the probability of exceeding it is over 5 % and over
 * twice oom_probability. Then the modes raise and trim replace it if --predict-mig was given.
 * Otherwise the job is rejected, as by ft_decide, if the probability is over reject_probability;
 * else a warning is written.
 */
bool ft_mig_decide(const struct ft_mig_query *query, const struct ft_mig_request *request,
                   const struct ft_estimate *estimate, ft_network *network);

#endif
