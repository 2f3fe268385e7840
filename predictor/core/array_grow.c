/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <stdlib.h>

#include "predictor/core/array_grow.h"

enum { FIRST = 16 }; /* elements of the first allocation */

void *ft_array_grow(void *array, size_t *capacity, size_t count, size_t size, size_t max)
{
  size_t larger = *capacity < FIRST / 2 ? FIRST : 2 * *capacity;
  size_t bytes;
  void *grown;

  if (count < *capacity)
    return array;
  larger = larger < max ? larger : max;
  if (count >= max || __builtin_mul_overflow(larger, size, &bytes))
    return NULL;
  grown = realloc(array, bytes);
  if (grown)
    *capacity = larger;
  return grown;
}
