/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From what is being submitted to a decision, its effect on the job, and the record the job
 * carries. */
#ifndef FT_PLUGIN_PREDICT_H
#define FT_PLUGIN_PREDICT_H

#include <slurm/spank.h>
#include <stdbool.h>

#include "plugin/options.h"

/*
 * Predict component COMPONENT of a submission; LOCAL: srun's. Whatever goes
 * wrong, the job stays as the user wrote it. Returns 0; -1 when the site's
 * policy refuses the job.
 */
int ft_predict(spank_t spank, const struct ft_plugin_arguments *settings, bool local,
               unsigned component);

#endif
