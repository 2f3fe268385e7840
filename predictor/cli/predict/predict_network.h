/* SPDX-License-Identifier: GPL-3.0-or-later */
/* foretell predict of a script that asks about its network, --predict-model or --predict-mig. */
#ifndef FT_CLI_PREDICT_NETWORK_H
#define FT_CLI_PREDICT_NETWORK_H

#include <jansson.h>

#include "predictor/cli/helper.h"
#include "predictor/cli/predict/submission.h"
#include "predictor/decide/decide.h"

struct ft_predict_network {
  ft_network said; /* what the plugin's child would have said */
  struct ft_helper_gpu gpu;
  bool asked;
};

/*
 * Ask what the script of ASKED asks about a network, as USER, with the state folder STATE. Figures
 * join SUBMISSION's features, a GPU that would be set its request.
 */
void ft_predict_network_ask(const struct ft_asked *asked, const char *state, const char *user,
                            ft_submission *submission, struct ft_predict_network *network);

/* A slice, and how probable it is that it does not hold what ESTIMATE tells, for --json: a new
 * reference, null without SLICE. */
json_t *ft_predict_slice_json(const struct ft_mig_profile *slice,
                              const struct ft_estimate *estimate);

/* For --json, new references: {"p05", "p50", "p95"}; the slice; what was decided about GPUs. The
 * first two are null where they are not known, the last NULL. */
json_t *ft_predict_network_gpu(const struct ft_predict_network *network);
json_t *ft_predict_network_slice(const struct ft_predict_network *network);
json_t *ft_predict_network_said(const struct ft_predict_network *network);

/* What would fit instead, COUNT of LIST, as a list of objects: a new reference. */
json_t *ft_predict_instead_json(const struct ft_instead *list, size_t count);

#endif
