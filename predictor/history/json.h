/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Observations and their lists as JSON. Every json_t returned is the caller's; NULL out of memory.
 */
#ifndef FT_HISTORY_JSON_H
#define FT_HISTORY_JSON_H

#include <jansson.h>

#include "predictor/core/error.h"
#include "predictor/record/record.h"

/* A string of JSON; a byte that is not UTF-8 becomes '?'. */
json_t *ft_json_text(const char *text);

/* Set NAME, mended likewise, to VALUE (stolen; NULL fails). Returns 0, or -1 out of memory. */
int ft_json_set(json_t *object, const char *name, json_t *value);

/* {"batch": 32, "arch": "resnet50"} */
json_t *ft_json_features(const ft_feature *features, size_t count);
json_t *ft_json_counters(const ft_counter *counters, size_t count);

/* The other way, from text. Return 0; -1 with ERR naming what was expected. */
int ft_json_read_features(const char *text, ft_observation *observation, struct ft_error *err);
int ft_json_read_counters(const char *text, ft_observation *observation, struct ft_error *err);

/* The whole observation, one key a field, null where it was not measured. */
json_t *ft_json_observation(const ft_observation *observation);

#endif
