/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The parameters of a rule, as Snakemake writes them into the script of a job that it submits by a
 * command: a comment "# properties = {...}" with an object of JSON.
 */
#ifndef FT_REQUEST_PROPERTIES_H
#define FT_REQUEST_PROPERTIES_H

#include "predictor/core/text.h"
#include "predictor/request/features.h"

/*
 * Adds to FOUND the members of "params" in SCRIPT's properties that are numbers or plain words, as
 * ft_feature_set_add_choice takes them. Lists and objects in it are passed over. Nothing is added
 * where the comment is missing or is no JSON up to there.
 */
void ft_properties_add_features(struct ft_text script, struct ft_feature_set *found);

#endif
