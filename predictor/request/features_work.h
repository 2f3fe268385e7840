/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shared by the features of arguments (features.c) and of declared apps (features_declared.c). */
#ifndef FT_REQUEST_FEATURES_WORK_H
#define FT_REQUEST_FEATURES_WORK_H

#include "predictor/request/features.h"

/* Parses a number, or a size with K, M, G, T or P in bytes. An index of an array task counts as 1.
 */
bool ft_feature_value_number(const char *value, double *number);

/* Copies NAME to OUT without leading dashes, with '_' for all but letters, digits, '.', '_' and
 * '-'. Returns false for a name with blanks, an empty or a long one. */
bool ft_feature_clean_name(const char *name, char out[48]);

/* Adds VALUE as a template per task, or as a query if it is a look-up. Returns false if VALUE has
 * no index. */
bool ft_feature_set_add_per_task(struct ft_feature_set *found, const char *name, const char *value);

/* Adds a query for COUNTS of the file PATH, to be added to FEATURE. */
void ft_feature_set_add_query(struct ft_feature_set *found, const char *path, const char *counts,
                              const char *feature);

#endif
