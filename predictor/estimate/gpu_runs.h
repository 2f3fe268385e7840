/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the past runs of an app took of a GPU's memory. */
#ifndef FT_ESTIMATE_GPU_RUNS_H
#define FT_ESTIMATE_GPU_RUNS_H

#include "predictor/estimate/estimate.h"
#include "predictor/record/record.h"

/*
 * The estimate, in bytes of one GPU, by the completed runs of MODEL, with its history, of which
 * that was measured. Returns false where there is none.
 */
bool ft_gpu_runs_estimate(const ft_model *model, struct ft_estimate *estimate);

#endif
