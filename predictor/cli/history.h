/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Prints an app's fit, and lists the apps that model files describe. */
#ifndef FT_CLI_HISTORY_H
#define FT_CLI_HISTORY_H

#include <jansson.h>
#include <stdbool.h>

#include "predictor/history/store.h"
#include "predictor/record/model_file.h"
#include "predictor/record/run_columns.h"

/* Prints MODEL, with the names of its CATEGORIES, as text on standard output, or returns it as
 * JSON.
 */
void ft_fit_print(const ft_model *model, const ft_categories *categories);
json_t *ft_fit_json(const ft_model *model, const ft_categories *categories);

/* Prints what the runs of MODEL, with HISTORY, are worth under POLICY for a job like the last one
 * that completed; with JSON returns it instead. Returns json null otherwise, and if no run
 * completed. */
json_t *ft_trust_show(const ft_model *model, const struct ft_history *history,
                      const ft_policy *policy, bool json);

/*
 * Calls VISIT for each app of which UID has a model under the state directory STATE_FD, and for
 * the shared models of the site, most recent first. Counts only runs that the models keep. Returns
 * 0; -1 and fills ERR if UID's directory is not readable.
 */
int ft_models_each(int state_fd, uint32_t uid,
                   bool (*visit)(const struct ft_store_app *app, void *data), void *data,
                   struct ft_error *err);

#endif
