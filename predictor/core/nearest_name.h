/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Suggests a name in place of an unknown one. */
#ifndef FT_CORE_NEAREST_NAME_H
#define FT_CORE_NEAREST_NAME_H

#include <stddef.h>

struct ft_nearest_name {
  const char *wanted; /* the unknown name */
  char name[64];      /* the nearest one so far; "": none */
  size_t distance;
};

/* Begins a search for WANTED, borrowed. */
void ft_nearest_name_begin(struct ft_nearest_name *nearest, const char *wanted);

/* Keeps NAME if it is nearer to the wanted name than those before: by at most two edits and fewer
 * than half the letters, or if one is the beginning of the other, as "batch" of "batch_size". */
void ft_nearest_name_consider(struct ft_nearest_name *nearest, const char *name);

#endif
