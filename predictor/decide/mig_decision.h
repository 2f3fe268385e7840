/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * GPU memory: estimate + what is asked of GPUs + the cluster's slices -> which slice to ask for, or
 * what is wrong with the one asked for. Pure.
 */
#ifndef FT_DECIDE_MIG_DECISION_H
#define FT_DECIDE_MIG_DECISION_H

#include "predictor/decide/decide.h"
#include "predictor/estimate/mig_gres.h"
#include "predictor/record/record.h"

struct ft_mig_query {
  ft_mode mode;                   /* the user's; FT_MODE_UNSET: the policy's */
  bool advisory;                  /* nothing is rejected */
  bool choose;                    /* --predict-mig was given */
  const char *gpu;                /* its value; "": any GPU */
  const char *option; /* where the job asks for GPUs, one of gpu_request.h; "": nowhere */
  const char *value;              /* what it says there */
  const char *subject;            /* "training of batch 64 of net.onnx" */
  const char *evidence;           /* "by its operators" */
  const struct ft_facts *facts;   /* of GPU memory, by the app's own runs; NULL: it is a network */
  double held_bytes;              /* the same runs' (online/gpu_model.h) */
  const ft_policy *policy;        /* resolved */
  const ft_partition *partition;  /* NULL: not known */
  const struct ft_merged_partitions *merged; /* where that is several in one; NULL: it is not */
  const struct ft_mig_table *table;
};

/* What the job runs on as far as it says. */
struct ft_mig_request {
  char gres[96];                      /* its typed GPU: "gpu:a100_1g.5gb"; "": it names no type */
  uint32_t count;                     /* of GPUs, as the option has it; 0: none is asked for */
  bool several;                       /* other GPUs are asked for too: this is the smallest */
  const struct ft_mig_profile *slice; /* NULL: it names none */
  const struct ft_mig_profile *most;  /* the same, or the largest that it could be given; or NULL */
  const char *gpu;    /* as the table calls it; where it names none, of the largest slice that it
                         could be given; NULL: not known */
  double limit_bytes; /* of what it names; 0: not known */
  double most_bytes;  /* the same, or of the largest slice that it could be given; 0: not known */
};

void ft_mig_request_find(const struct ft_mig_query *question, struct ft_mig_request *place);

/* The probability with which a slice holds what is chosen for it. */
double ft_mig_target_probability(const ft_policy *policy);

/*
 * Decide about PLACE, found for QUESTION, by ESTIMATE (bytes of one GPU; NULL: there are facts
 * alone); NETWORK gets action, lines, option and value.
 *
 * Without a network the amount that a slice has to hold is made by the rules for host memory
 * (decide.h), leak, floor, ceiling and estimate, with these differences:
 * - A run that ran out of GPU memory makes it 1.2 times that slice: the next larger one, as slices
 *   of a GPU double.
 * - What all completed runs filled, whatever its size, holds it (held_bytes).
 * - The floor and rounding of the policy are of host memory and do not count.
 * - --predict-mig is the user's wish: there is no trim_runs below which nothing is chosen.
 * - Nothing is rejected for a held_bytes, of which the peaks show no need.
 *
 * - Where the job names no type of GPU, --predict-mig sets the smallest slice of the partition that
 *   holds the estimate with the site's probability, as many as there were GPUs asked for. Of
 *   several partitions, any of which may be where it starts, one that most of them have.
 * - A slice, or a GPU, that it names is too small when the chance is over 5 % and over twice
 * oom_probability: raise and trim replace it when --predict-mig was given, a chance over
 * reject_probability rejects the job as in ft_decide, and else it is told. Returns whether
 * what it will have is too small.
 */
bool ft_mig_decide(const struct ft_mig_query *question, const struct ft_mig_request *place,
                   const struct ft_estimate *estimate, ft_network *network);

#endif
