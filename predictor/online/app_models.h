/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Updates all that an app has learnt of, its memory and its run times, by one observation. Pure. */
#ifndef FT_ONLINE_APP_MODELS_H
#define FT_ONLINE_APP_MODELS_H

#include "predictor/record/state_files.h"

/* Sets MODELS to empty ones of UID's APP (of all users for FT_STATE_POOLED) under the accounting
 * RULE. */
void ft_app_models_init(struct ft_app_models *models, const char *app, uint32_t uid, ft_rule rule);

/* Learns from OBSERVATION (ft_online_update, ft_performance_update). Returns which models changed,
 * a sum of 1 << FT_QUANTITY_...; -1 out of memory and fills ERR. */
int ft_app_models_update(struct ft_app_models *models, const ft_observation *observation,
                         struct ft_error *err);

/* Returns the quantities that MODELS have runs of, a sum of 1 << FT_QUANTITY_... */
unsigned ft_app_models_all(const struct ft_app_models *models);

/* Limits all times to LATEST (UTC seconds), as ft_online_clamp_times does. */
void ft_app_models_clamp_times(struct ft_app_models *models, double latest);

#endif
