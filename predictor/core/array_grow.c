/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <stdlib.h>

#include "predictor/core/array_grow.h"

enum { FIRST = 16 };

void *ft_array_grow(void *array, size_t *room, size_t count, size_t size, size_t most)
{
  size_t more = *room < FIRST / 2 ? FIRST : 2 * *room;
  size_t bytes;
  void *grown;

  if (count < *room)
    return array;
  more = more < most ? more : most;
  if (count >= most || __builtin_mul_overflow(more, size, &bytes))
    return NULL;
  grown = realloc(array, bytes);
  if (grown)
    *room = more;
  return grown;
}
