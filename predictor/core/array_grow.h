/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Arrays that grow one element at a time, up to a limit. */
#ifndef FT_CORE_ARRAY_GROW_H
#define FT_CORE_ARRAY_GROW_H

#include <stddef.h>

/*
 * Make room behind the COUNT elements, of SIZE bytes each, of ARRAY (NULL: none yet), which has
 * *ROOM places. Where they are all taken there are twice as many then, MOST at most. Returns the
 * array; NULL, with ARRAY and *ROOM as they were, when there are MOST elements or memory is out.
 */
void *ft_array_grow(void *array, size_t *room, size_t count, size_t size, size_t most);

#endif
