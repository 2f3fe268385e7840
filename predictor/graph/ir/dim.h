/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A dimension of a tensor, or a product or sum of dimensions: a number that is known, one that is
 * not, or, in the shape that a reshape asks for, one that follows from the others. A struct, so
 * that no arithmetic and no comparison takes a dimension that is not known for a number.
 */
#ifndef FT_GRAPH_DIM_H
#define FT_GRAPH_DIM_H

#include <stdbool.h>
#include <stdint.h>

#ifdef FT_DIM_STRICT
typedef struct {
  int64_t private_value; /* 0 or more: known; else one of the two below */
} ft_dim;
#define FT_DIM_UNKNOWN ((ft_dim){ -1 })
#define FT_DIM_INFER ((ft_dim){ -2 })
#define FT_DIM_RAW(dim) (dim).private_value
#define FT_DIM_MAKE(n) ((ft_dim){ n })
#else
typedef int64_t ft_dim;
#define FT_DIM_UNKNOWN ((ft_dim)-1)
#define FT_DIM_INFER ((ft_dim)-2)
#define FT_DIM_RAW(dim) (dim)
#define FT_DIM_MAKE(n) (n)
#endif

/* The largest product or sum: past it a dimension counts as this much. */
#define FT_DIM_MOST (INT64_C(1) << 62)

/* N as a dimension; unknown if N is negative. */
static inline ft_dim ft_dim_of(int64_t n)
{
  return n < 0 ? FT_DIM_UNKNOWN : FT_DIM_MAKE(n);
}

static inline bool ft_dim_known(ft_dim dim)
{
  return FT_DIM_RAW(dim) >= 0;
}

/* Whether a reshape is to compute DIM from the others. */
static inline bool ft_dim_inferred(ft_dim dim)
{
  return FT_DIM_RAW(dim) == -2;
}

/* The number of a known DIM, else OTHERWISE. */
static inline int64_t ft_dim_or(ft_dim dim, int64_t otherwise)
{
  return ft_dim_known(dim) ? FT_DIM_RAW(dim) : otherwise;
}

/* Sets *N and returns true if DIM is known. */
static inline bool ft_dim_get(ft_dim dim, int64_t *n)
{
  if (ft_dim_known(dim))
    *n = FT_DIM_RAW(dim);
  return ft_dim_known(dim);
}

/* Whether DIM is known to be N. */
static inline bool ft_dim_is(ft_dim dim, int64_t n)
{
  return n >= 0 && FT_DIM_RAW(dim) == n;
}

/* Whether A and B are known and equal. */
static inline bool ft_dim_equal(ft_dim a, ft_dim b)
{
  return ft_dim_known(a) && FT_DIM_RAW(a) == FT_DIM_RAW(b);
}

/* Whether A and B are known and differ: a contradiction where they must be equal. */
static inline bool ft_dim_differ(ft_dim a, ft_dim b)
{
  return ft_dim_known(a) && ft_dim_known(b) && FT_DIM_RAW(a) != FT_DIM_RAW(b);
}

/* A x B, at most FT_DIM_MOST; unknown if either is. */
static inline ft_dim ft_dim_times(ft_dim a, ft_dim b)
{
  int64_t product;

  if (!ft_dim_known(a) || !ft_dim_known(b))
    return FT_DIM_UNKNOWN;
  if (__builtin_mul_overflow(FT_DIM_RAW(a), FT_DIM_RAW(b), &product) || product > FT_DIM_MOST)
    product = FT_DIM_MOST;
  return ft_dim_of(product);
}

/* A + B, at most FT_DIM_MOST; unknown if either is. */
static inline ft_dim ft_dim_plus(ft_dim a, ft_dim b)
{
  if (!ft_dim_known(a) || !ft_dim_known(b))
    return FT_DIM_UNKNOWN;
  if (FT_DIM_RAW(a) > FT_DIM_MOST - FT_DIM_RAW(b))
    return ft_dim_of(FT_DIM_MOST);
  return ft_dim_of(FT_DIM_RAW(a) + FT_DIM_RAW(b));
}

#endif
