/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What an app's fit is, shown; and what a user may see without the store. */
#ifndef FT_CLI_HISTORY_H
#define FT_CLI_HISTORY_H

#include <jansson.h>
#include <stdbool.h>

#include "predictor/history/store.h"

/* MODEL as text on standard output, or as JSON. */
void ft_fit_print(const ft_model *model);
json_t *ft_fit_json(const ft_model *model);

/*
 * Call VISIT for the apps of which UID has a model under the state folder STATE_FD, and for those
 * the site shares, most recent first; counted as far as the models remember.
 * Returns 0; -1 with ERR when UID's folder may not be read.
 */
int ft_models_each(int state_fd, uint32_t uid,
                   bool (*visit)(const struct ft_store_app *app, void *data), void *data,
                   struct ft_error *err);

#endif
