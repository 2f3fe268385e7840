/* SPDX-License-Identifier: GPL-3.0-or-later */
/* foretell predict for a script with --predict-model or --predict-mig. */
#ifndef FT_CLI_PREDICT_NETWORK_H
#define FT_CLI_PREDICT_NETWORK_H

#include <jansson.h>

#include "predictor/cli/helper.h"
#include "predictor/cli/predict/submission.h"
#include "predictor/decide/decide.h"

struct ft_predict_network {
  ft_network said; /* the answer that the plugin's helper process would give */
  struct ft_helper_gpu gpu;
  bool asked;
};

/*
 * Answers what the script of ASKED requests for its network, as USER, with the state directory
 * STATE. Adds figures to SUBMISSION's features and a GPU that would be set to its request.
 */
void ft_predict_network_ask(const struct ft_asked *asked, const char *state, const char *user,
                            ft_submission *submission, struct ft_predict_network *network);

/* Returns a new JSON object of SLICE and the probability that ESTIMATE exceeds it; null without
 * SLICE. */
json_t *ft_predict_slice_json(const struct ft_mig_profile *slice,
                              const struct ft_estimate *estimate);

/* For --json, new references: the slice, null if unknown; the decision about GPUs, NULL. */
json_t *ft_predict_network_slice(const struct ft_predict_network *network);
json_t *ft_predict_network_said(const struct ft_predict_network *network);

/* Returns a new list of the COUNT alternatives of LIST. */
json_t *ft_predict_instead_json(const struct ft_instead *list, size_t count);

#endif
