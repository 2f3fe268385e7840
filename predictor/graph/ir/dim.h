/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A dimension of a tensor, or a product or sum of dimensions: known, unknown, or, in the requested
 * shape of a reshape, inferred from the other dimensions. A struct, so that arithmetic and
 * comparisons cannot use an unknown dimension as a number.
 */
#ifndef FT_GRAPH_DIM_H
#define FT_GRAPH_DIM_H

#include <stdbool.h>
#include <stdint.h>

typedef struct {
  int64_t private_value; /* 0 or more: known; else one of the two below */
} ft_dim;
#define FT_DIM_UNKNOWN ((ft_dim){ -1 })
#define FT_DIM_INFER ((ft_dim){ -2 })

/* Upper limit of products and sums, which saturate there. */
#define FT_DIM_MOST (INT64_C(1) << 62)

/* Returns A + B or A x B of known numbers, 0 or more, at most FT_DIM_MOST. */
static inline int64_t ft_known_plus(int64_t a, int64_t b)
{
  return a > FT_DIM_MOST - b ? FT_DIM_MOST : a + b;
}

static inline int64_t ft_known_times(int64_t a, int64_t b)
{
  int64_t product;

  return __builtin_mul_overflow(a, b, &product) || product > FT_DIM_MOST ? FT_DIM_MOST : product;
}

/* Returns N as a dimension; unknown if N is negative. */
static inline ft_dim ft_dim_of(int64_t n)
{
  return n < 0 ? FT_DIM_UNKNOWN : (ft_dim){ n };
}

/* Returns N of the requested shape of a reshape, in which -1 is inferred from the others. */
static inline ft_dim ft_dim_requested(int64_t n)
{
  return n == -1 ? FT_DIM_INFER : ft_dim_of(n);
}

static inline bool ft_dim_known(ft_dim dim)
{
  return dim.private_value >= 0;
}

/* Returns whether a reshape infers DIM from the other dimensions. */
static inline bool ft_dim_inferred(ft_dim dim)
{
  return dim.private_value == -2;
}

/* Returns the number of a known DIM, else OTHERWISE. */
static inline int64_t ft_dim_or(ft_dim dim, int64_t otherwise)
{
  return ft_dim_known(dim) ? dim.private_value : otherwise;
}

/* Sets *N and returns true if DIM is known. */
static inline bool ft_dim_get(ft_dim dim, int64_t *n)
{
  if (ft_dim_known(dim))
    *n = dim.private_value;
  return ft_dim_known(dim);
}

/* Returns DIM for the %lld of a message; -1 if it is unknown. */
static inline long long ft_dim_shown(ft_dim dim)
{
  return ft_dim_or(dim, -1);
}

/* Returns whether DIM is known and N. */
static inline bool ft_dim_is(ft_dim dim, int64_t n)
{
  return n >= 0 && dim.private_value == n;
}

/* Returns whether A and B are known and equal. */
static inline bool ft_dim_equal(ft_dim a, ft_dim b)
{
  return ft_dim_known(a) && a.private_value == b.private_value;
}

/* Returns whether A and B are known and differ: a contradiction if they have to be equal. */
static inline bool ft_dim_differ(ft_dim a, ft_dim b)
{
  return ft_dim_known(a) && ft_dim_known(b) && a.private_value != b.private_value;
}

/* Returns A x B, at most FT_DIM_MOST; unknown if either is. */
static inline ft_dim ft_dim_times(ft_dim a, ft_dim b)
{
  return ft_dim_known(a) && ft_dim_known(b)
             ? ft_dim_of(ft_known_times(a.private_value, b.private_value))
             : FT_DIM_UNKNOWN;
}

/* Returns the product of COUNT DIMS; unknown if one is. */
static inline ft_dim ft_dim_product(const ft_dim *dims, int count)
{
  ft_dim product = ft_dim_of(1);

  for (int i = 0; i < count; i++)
    product = ft_dim_times(product, dims[i]);
  return product;
}

/* Returns DIM / N rounded down; unknown if DIM is or N is below 1. */
static inline ft_dim ft_dim_divide(ft_dim dim, int64_t n)
{
  return ft_dim_known(dim) && n > 0 ? ft_dim_of(dim.private_value / n) : FT_DIM_UNKNOWN;
}

/* Returns A + B, at most FT_DIM_MOST; unknown if either is. */
static inline ft_dim ft_dim_plus(ft_dim a, ft_dim b)
{
  return ft_dim_known(a) && ft_dim_known(b)
             ? ft_dim_of(ft_known_plus(a.private_value, b.private_value))
             : FT_DIM_UNKNOWN;
}

/* Returns A - B; unknown if either is or B is larger than A. */
static inline ft_dim ft_dim_minus(ft_dim a, ft_dim b)
{
  return ft_dim_known(a) && ft_dim_known(b) ? ft_dim_of(a.private_value - b.private_value)
                                            : FT_DIM_UNKNOWN;
}

/* Returns the larger of A and B; unknown if either is. */
static inline ft_dim ft_dim_max(ft_dim a, ft_dim b)
{
  if (!ft_dim_known(a) || !ft_dim_known(b))
    return FT_DIM_UNKNOWN;
  return a.private_value > b.private_value ? a : b;
}

#endif
