/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Interface between the two programs of the plugin's helper process: foretell-helper, with few
 * libraries, hands queries about networks over to foretell-network, which contains the readers of
 * model files.
 */
#ifndef FT_CLI_HELPER_H
#define FT_CLI_HELPER_H

#include "predictor/cli/predict/predict_model.h"
#include "predictor/core/buf.h"
#include "predictor/estimate/gpu/mig.h"
#include "predictor/request/helper_protocol.h"

/* Executes the program that can answer INPUT, a question about a network, with ARGV. Returns if
 * this program can, or if the other one is missing. */
void ft_helper_hand_over(char *const argv[], const struct ft_buf *input);

/* Prediction of one GPU's memory; zeros if unknown. */
struct ft_helper_gpu {
  struct ft_estimate estimate;
  bool has_estimate, has_slice;
  struct ft_mig_profile slice; /* named by the job, or assigned to it */
  struct ft_instead instead[FT_INSTEADS];
  size_t instead_count;
};

struct ft_network_question {
  const struct ft_network_request *request;
  const ft_submission *submission;
  const ft_job_array *array; /* values of the tasks; NULL: none */
  const char *state;         /* the state directory */
  /* called with each preliminary answer, which is sent if time runs out; NULL: none */
  void (*keep)(void);
  struct ft_helper_gpu *gpu; /* receives the GPU prediction in the same process; NULL: not needed */
};

/* Fills ANSWER's network and the features of the model file. */
void ft_helper_network(const struct ft_network_question *question, ft_answer *answer);

#endif
