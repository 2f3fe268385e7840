/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Converts observations and their lists to JSON and back. Returned json_t are owned by the caller;
 * NULL out of memory.
 */
#ifndef FT_HISTORY_JSON_H
#define FT_HISTORY_JSON_H

#include <jansson.h>

#include "predictor/core/error.h"
#include "predictor/record/record.h"

/* Returns TEXT as a JSON string; bytes that are not UTF-8 become '?'. */
json_t *ft_json_text(const char *text);

/* Sets the key NAME (invalid bytes become '?') of OBJECT to VALUE and takes ownership of VALUE.
 * Returns 0; -1 if VALUE is NULL or out of memory. */
int ft_json_set(json_t *object, const char *name, json_t *value);

/* Returns {"batch": 32, "arch": "resnet50"}. */
json_t *ft_json_features(const ft_feature *features, size_t count);

/* Returns {"instructions": 12000015}. */
json_t *ft_json_counters(const ft_counter *counters, size_t count);

/* Replace the lists of OBSERVATION by the parsed TEXT. Return 0; -1 on error and fill ERR with the
 * expected form. */
int ft_json_read_features(const char *text, ft_observation *observation, struct ft_error *err);
int ft_json_read_counters(const char *text, ft_observation *observation, struct ft_error *err);

/* Returns the observation with one key per field, null if it was not measured. */
json_t *ft_json_observation(const ft_observation *observation);

#endif
