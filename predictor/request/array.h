/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The elements of a job array: a list as --array takes it, "0-15:4,20,31%2". */
#ifndef FT_REQUEST_ARRAY_H
#define FT_REQUEST_ARRAY_H

#include <stddef.h>
#include <stdint.h>

#include "predictor/record/record.h"

/* What the index of an element is called as a feature. */
#define FT_ARRAY_FEATURE "array_task_id"

/* slurm.conf(5): MaxArraySize, which every index is below, may not exceed 4,000,001. */
#define FT_ARRAY_MAX_SIZE 4000001

/* How many elements LIST has, at most FT_ARRAY_MAX_SIZE; 0 where it is not understood. */
uint32_t ft_array_count(const char *list);

/*
 * Elements of LIST, at most LIMIT (2 or more): all of them where they are no more, else evenly
 * spread from its first to its last. INDEX gets them rising, each once. Returns how many; in time
 * linear in the length of LIST.
 */
size_t ft_array_spread(const char *list, uint32_t *index, size_t limit);

/*
 * Which elements of LIST to estimate, at most LIMIT (16 or more): as above, but where they are
 * more, half of them by what SUBMISSION's elements say of their files, from the smallest to the
 * largest of each feature.
 */
size_t ft_array_select_tasks(const char *list, const ft_submission *submission, uint32_t *index,
                             size_t limit);

#endif
