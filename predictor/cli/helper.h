/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The plugin's child in two programs: foretell-helper, linked with as little as can be, hands what
 * is asked about networks over to foretell-network, which has the readers of model files.
 */
#ifndef FT_CLI_HELPER_H
#define FT_CLI_HELPER_H

#include "predictor/cli/predict/predict_model.h"
#include "predictor/core/buf.h"
#include "predictor/estimate/gpu/mig.h"
#include "predictor/request/helper_protocol.h"

/* Become the program that can answer INPUT, a frame about a network, with the same ARGV. Returns
 * where that is this one, or where there is none. */
void ft_helper_hand_over(char **argv, const struct ft_buf *input);

/* What is known of one GPU's memory; zeros where nothing is. */
struct ft_helper_gpu {
  struct ft_estimate estimate;
  bool has_estimate, has_slice;
  struct ft_mig_profile slice; /* that the job names, or is given */
  struct ft_instead instead[FT_INSTEADS];
  size_t instead_count;
};

struct ft_helper_question {
  const struct ft_helper_message *frame;
  const char *state; /* the state folder */
  /* called with the answer so far, which is given if there is none in time */
  void (*keep)(void);
  struct ft_helper_gpu *gpu; /* for who asks in the same process; NULL: nobody */
};

/* Answer what is asked about a network: its figures join SUBMISSION's features, NETWORK the rest.
 */
void ft_helper_network(const struct ft_helper_question *question, ft_submission *submission,
                       ft_network *network);

#endif
