/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Complex numbers and Fourier transforms of ATen. */
#include "config.h"

#include <string.h>

#include "predictor/graph/aten/aten.h"

enum { DOUBLE = 11, COMPLEX = 14, COMPLEX_DOUBLE = 15 }; /* onnx.TensorProto.DataType */

static bool is_double(const struct ft_tensor *t)
{
  return t->element == DOUBLE || t->element == COMPLEX_DOUBLE;
}

static uint32_t cast_real_or_complex(struct ft_tracer *l, uint32_t x, bool complex)
{
  bool wide = x && is_double(ft_tracer_of(l, x));

  if (!x)
    return 0;
  return ft_tracer_cast(l, x, complex ? (wide ? COMPLEX_DOUBLE : COMPLEX) : wide ? DOUBLE : 1);
}

/* The requested sizes: argument s of n-dimensional transforms, n of the others; axes from the
 * last. */
static int transform_sizes(struct ft_call *c, int rank, const ft_dim *dims,
                           ft_dim out[FT_GRAPH_RANK])
{
  bool many = strstr(c->name, "2") || c->name[strlen(c->name) - 1] == 'n';
  int64_t given[FT_GRAPH_RANK], axes[FT_GRAPH_RANK], size;
  int n = ft_arg_ints(c, 1, many ? "s" : "n", given, FT_GRAPH_RANK);
  int m = ft_arg_ints(c, 2, "dim", axes, FT_GRAPH_RANK), count;

  memcpy(out, dims, (size_t)rank * sizeof *out);
  if (n < 0 || m < 0)
    return -1;
  count = m ? m : n ? n : !many ? 1 : strstr(c->name, "2") ? 2 : rank;
  if (count > rank || (n && n != count))
    return -1;
  for (int i = 0; i < count; i++) {
    int64_t axis = m ? axes[i] : i - count;

    axis += axis < 0 ? rank : 0;
    if (axis < 0 || axis >= rank)
      return -1;
    if (n && given[i] >= 0)
      out[axis] = ft_dim_of(given[i]);
    if (i < count - 1 || !ft_dim_get(out[axis], &size))
      continue;
    if (strstr(c->name, "irfft") || strstr(c->name, "hfft"))
      out[axis] = ft_dim_of(n ? size : 2 * (size - 1));
    else if (strstr(c->name, "rfft"))
      out[axis] = ft_dim_of(size / 2 + 1);
  }
  return 0;
}

/* fft(x, n, dim), rfft2(x, s, dim), irfftn(...): complex except the inverse real ones */
int ft_aten_fourier(struct ft_call *c)
{
  bool back = strstr(c->name, "irfft") || strstr(c->name, "_hfft");
  uint32_t x;
  const struct ft_tensor *t = ft_aten_shaped(c, &x);
  ft_dim dims[FT_GRAPH_RANK];
  bool wide;

  if (!t)
    return ft_aten_not_shaped(c, x);
  if (transform_sizes(c, t->rank, t->dims, dims) < 0)
    return ft_aten_unknown(c);
  wide = is_double(t);
  ft_tracer_op(c->l, "FFT");
  ft_tracer_in(c->l, x);
  ft_aten_result(c->l, dims, t->rank, back ? (wide ? DOUBLE : 1) : wide ? COMPLEX_DOUBLE : COMPLEX);
  return ft_give(c, ft_tracer_end(c->l, 1));
}

/* real(x), imag(x), angle(x) */
int ft_aten_complex_part(struct ft_call *c)
{
  return ft_give(c, cast_real_or_complex(c->l, ft_arg_tensor(c, 0), false));
}

/* complex(real, imaginary), polar(length, angle) */
int ft_aten_complex(struct ft_call *c)
{
  uint32_t a = ft_arg_tensor(c, 0), b = ft_arg_tensor(c, 1);

  return ft_give(c, a && b ? cast_real_or_complex(c->l, ft_tracer_binary(c->l, "Mul", a, b), true)
                           : 0);
}

/* (..., 2) real <-> (...) complex */
int ft_aten_view_complex(struct ft_call *c)
{
  bool real = strcmp(c->name, "view_as_real") == 0;
  uint32_t x;
  const struct ft_tensor *t = ft_aten_shaped(c, &x);
  ft_dim dims[FT_GRAPH_RANK + 1];
  int rank;

  if (!t || t->rank == FT_GRAPH_RANK || (!real && !t->rank))
    return ft_aten_not_shaped(c, x);
  rank = t->rank;
  memcpy(dims, t->dims, (size_t)rank * sizeof *dims);
  dims[real ? rank : rank - 1] = ft_dim_of(real ? 2 : 1);
  if (real) {
    ft_tracer_op(c->l, "FFT");
    ft_tracer_in(c->l, x);
    ft_aten_result(c->l, dims, rank + 1, is_double(t) ? DOUBLE : 1);
    return ft_give(c, ft_tracer_end(c->l, 1));
  }
  x = ft_tracer_slice(c->l, x, rank - 1, 0, 1, 1);
  x = x ? ft_tracer_reshape(c->l, x, dims, rank - 1) : 0;
  return ft_give(c, cast_real_or_complex(c->l, x, true));
}

/* affine_grid_generator(theta, size): N x H x W x 2, or N x D x H x W x 3 */
int ft_aten_affine_grid(struct ft_call *c)
{
  int64_t size[FT_GRAPH_RANK];
  int n = ft_arg_ints(c, 1, "size", size, FT_GRAPH_RANK);
  uint32_t x = ft_arg_tensor(c, 0), list;

  if (!x || n < 4 || n > 5)
    return ft_aten_not_shaped(c, x);
  list = ft_tracer_list(c->l, size, (size_t)n);
  ft_tracer_op(c->l, "AffineGrid");
  ft_tracer_in(c->l, x);
  ft_tracer_in(c->l, list);
  return ft_give(c, list ? ft_tracer_end(c->l, 1) : 0);
}

/* outer(a, b): N x M */
int ft_aten_outer(struct ft_call *c)
{
  uint32_t a, b = ft_arg_tensor(c, 1);
  const struct ft_tensor *t = ft_aten_shaped(c, &a);
  ft_dim dims[2];

  if (!t || !b || t->rank != 1)
    return ft_aten_not_shaped(c, b ? a : 0);
  dims[0] = t->dims[0];
  dims[1] = ft_dim_of(1);
  a = ft_tracer_reshape(c->l, a, dims, 2);
  return ft_give(c, a ? ft_tracer_binary(c->l, "Mul", a, b) : 0);
}
