/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The decision about GPU memory: estimate + requested GPUs + the cluster's MIG slices -> the slice
 * to request, or a warning about the requested one. Pure.
 */
#ifndef FT_DECIDE_MIG_DECISION_H
#define FT_DECIDE_MIG_DECISION_H

#include "predictor/decide/decide.h"
#include "predictor/estimate/gpu/mig_gres.h"
#include "predictor/record/record.h"

/* The input of the decision; all pointers are borrowed. */
struct ft_mig_query {
  ft_mode mode;                 /* the user's; FT_MODE_UNSET: the policy's */
  bool advisory;                /* nothing is rejected */
  bool dry_run;                 /* nothing is submitted (foretell predict) */
  bool choose;                  /* --predict-mig was given */
  const char *gpu;              /* its value; "": any GPU */
  const char *option;           /* that requests GPUs, by name (gpu_request.h); "": none */
  const char *value;            /* of that option */
  const char *subject;          /* "training of batch 64 of net.onnx" */
  const char *evidence;         /* "by its operators" */
  const struct ft_facts *facts; /* GPU memory of the app's own runs; NULL: it is a network */
  double held_bytes; /* memory that completed runs filled, whatever its size (online/gpu_model.h) */
  const ft_policy *policy;                   /* resolved */
  const ft_partition *partition;             /* NULL: not known */
  const struct ft_merged_partitions *merged; /* if that is several in one; else NULL */
  const struct ft_mig_table *table;
};

/* The GPUs that the job requests. */
struct ft_mig_request {
  char gres[96];                      /* the typed GPU, "gpu:a100_1g.5gb"; "": no type given */
  uint32_t count;                     /* as in the option; 0: none requested */
  bool several;                       /* of several types; this is the one with least memory */
  const struct ft_mig_profile *slice; /* of that type; NULL: no slice */
  const struct ft_mig_profile *most;  /* the same, or the largest slice to choose from; or NULL */
  const char *gpu;    /* name in the table, without a type that of `most`; NULL: not known */
  double limit_bytes; /* memory of the typed GPU or slice; 0: not known */
  double max_bytes;   /* the same, or of `most`; 0: not known */
};

/* Fills REQUEST from QUERY's option and value. REQUEST borrows from QUERY's table. */
void ft_mig_request_find(const struct ft_mig_query *query, struct ft_mig_request *request);

/* The probability, 0.5 to 1, with which a chosen slice must hold the estimate under POLICY. */
double ft_mig_target_probability(const ft_policy *policy);

/*
 * Decides about REQUEST, found for QUERY, with ESTIMATE (bytes of one GPU; NULL: facts only), and
 * fills NETWORK's action, lines, option and value. Returns whether the GPU that the job will have
 * is too small.
 *
 * Without a network the rules for host memory (decide.h) leak, floor, ceiling and estimate give the
 * amount that a slice must hold, with these differences:
 * - After a run that ran out of GPU memory the amount is 1.2 times that slice. That selects the
 * next larger slice, because slices of a GPU double.
 * - A slice that completed runs filled, whatever its size, holds the app (held_bytes).
 * - The policy's floor and rounding are for host memory and are ignored.
 * - --predict-mig is an explicit request: no number of runs (trim_runs) is required.
 * - No job is rejected because of held_bytes, which does not show a need.
 *
 * If the job names no GPU type, --predict-mig sets the smallest slice of the partition that holds
 * the estimate with the site's probability, as many as there were GPUs requested. Of several
 * partitions, any of which may start the job, it is a slice that most of them have.
 * A slice or GPU that the job names is too small if the probability of exceeding it is over 5 % and
 * over twice oom_probability. Then raise and trim replace it if --predict-mig was given, a
 * probability over reject_probability rejects the job as in ft_decide, and otherwise a warning is
 * written.
 */
bool ft_mig_decide(const struct ft_mig_query *query, const struct ft_mig_request *request,
                   const struct ft_estimate *estimate, ft_network *network);

#endif
