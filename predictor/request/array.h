/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parses the task indices of a job array, the value of --array, "0-15:4,20,31%2". */
#ifndef FT_REQUEST_ARRAY_H
#define FT_REQUEST_ARRAY_H

#include <stddef.h>
#include <stdint.h>

#include "predictor/record/record.h"

/* Name of the feature with the index of an array task. */
#define FT_ARRAY_FEATURE "array_task_id"

/* Largest MaxArraySize of slurm.conf(5); every index is below it. */
#define FT_ARRAY_MAX_SIZE 4000001

/* Returns the number of tasks in LIST, at most FT_ARRAY_MAX_SIZE; 0 if LIST is malformed. */
uint32_t ft_array_count(const char *list);

/*
 * Writes at most LIMIT (2 or more) task indices of LIST to INDEX, ascending and distinct: all of
 * them, or evenly spaced ones from the first to the last. Returns their number. Takes time linear
 * in the length of LIST.
 */
size_t ft_array_spread(const char *list, uint32_t *index, size_t limit);

/* Selects at most LIMIT (16 or more) tasks of LIST to estimate, as ft_array_spread does. If LIST
 * has more tasks, half of the selection depends on the values per task of ARRAY: evenly spaced from
 * the smallest to the largest value of each feature. */
size_t ft_array_select_tasks(const char *list, const ft_job_array *array, uint32_t *index,
                             size_t limit);

#endif
