/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shared by the features of arguments (features.c) and of declared apps (features_declared.c). */
#ifndef FT_REQUEST_FEATURES_WORK_H
#define FT_REQUEST_FEATURES_WORK_H

#include "predictor/request/features.h"

/* Parses VALUE as a number, or as a size with K, M, G, T or P in bytes; the index of an array task
 * counts as 1. Returns false for other text. */
bool ft_feature_value_number(const char *value, double *number);

/* Copies NAME to OUT without leading dashes, with '_' for all but letters, digits, '.', '_' and
 * '-'. Returns false for a NAME that has blanks, is empty or is longer than 47 bytes. */
bool ft_feature_clean_name(const char *name, char out[48]);

/* Adds the feature NAME with VALUE as a template for array tasks, or a query if VALUE is a look-up.
 * Returns false if VALUE has no task index. */
bool ft_feature_set_add_per_task(struct ft_feature_set *found, const char *name, const char *value);

/* Adds a query for COUNTS ("bytes", "lines", ...) of the file PATH; the result is added to FEATURE.
 * Ignores files of /proc, /sys and /dev, and relative paths in an unknown directory. */
void ft_feature_set_add_query(struct ft_feature_set *found, const char *path, const char *counts,
                              const char *feature);

#endif
