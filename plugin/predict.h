/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Predicts a job while it is being submitted: decision, Slurm's options, messages, and the record
 * that the job carries. */
#ifndef FT_PLUGIN_PREDICT_H
#define FT_PLUGIN_PREDICT_H

#include <slurm/spank.h>
#include <stdbool.h>

#include "plugin/options.h"

/* Predicts component COMPONENT (0 first) of a submission and sets its options; LOCAL: by srun.
 * After any failure the job is submitted unchanged. Returns 0; -1 if the site's policy rejects the
 * job. */
int ft_predict(spank_t spank, const struct ft_plugin_arguments *settings, bool local,
               unsigned component);

#endif
