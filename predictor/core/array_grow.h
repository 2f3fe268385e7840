/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Arrays that grow one element at a time, up to a limit. */
#ifndef FT_CORE_ARRAY_GROW_H
#define FT_CORE_ARRAY_GROW_H

#include <stddef.h>

/*
 * Ensures that ARRAY (NULL: empty) has space for one more element. ARRAY has COUNT elements of SIZE
 * bytes and space for *CAPACITY elements; a full one is reallocated at twice the capacity, at most
 * MAX elements. Returns the array, which the caller frees. Returns NULL, with ARRAY and *CAPACITY
 * unchanged, at MAX elements or out of memory.
 */
void *ft_array_grow(void *array, size_t *capacity, size_t count, size_t size, size_t max);

#endif
