/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads the parameters of a Snakemake rule from a job script: Snakemake writes a comment
 * "# properties = {...}" with a JSON object into the scripts that it submits.
 */
#ifndef FT_REQUEST_PROPERTIES_H
#define FT_REQUEST_PROPERTIES_H

#include "predictor/core/text.h"
#include "predictor/request/features.h"

/*
 * Adds the members of "params" in the properties of SCRIPT to FOUND (ft_feature_set_add_choice).
 * Skips lists and objects. Adds nothing if the comment is missing, and nothing after malformed
 * JSON.
 */
void ft_properties_add_features(struct ft_text script, struct ft_feature_set *found);

#endif
