/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shapes of operators on signals: windows, Fourier transforms. */
#include "config.h"

#include <math.h>

#include "predictor/graph/shape/infer.h"

/* Window functions (HannWindow, ...): a vector whose length is the first input. */
int ft_infer_window(struct ft_infer *in)
{
  struct ft_tensor *y = ft_output(in, 0);

  y->element = ft_element_attribute(in, "output_datatype", FT_ELEMENT_FLOAT);
  if (!ft_shape(in, y, 1))
    return -1;
  y->dims[0] = ft_input_number(in, 0);
  return 0;
}

/* Returns the one-sided length of a transform of LENGTH real numbers. */
static ft_dim half_spectrum(ft_dim length)
{
  return ft_dim_plus(ft_dim_divide(length, 2), ft_dim_of(1));
}

/* (dft_length / 2 + 1, bins) */
int ft_infer_mel(struct ft_infer *in)
{
  struct ft_tensor *y = ft_output(in, 0);

  y->element = ft_element_attribute(in, "output_datatype", FT_ELEMENT_FLOAT);
  if (!ft_shape(in, y, 2))
    return -1;
  y->dims[0] = half_spectrum(ft_input_number(in, 1));
  y->dims[1] = ft_input_number(in, 0);
  return 0;
}

/* The last dimension is 1 (real) or 2 (complex). "onesided": half of the spectrum is the output, or
 * the input of an inverse transform, whose output is real. */
int ft_infer_dft(struct ft_infer *in)
{
  const struct ft_tensor *x = ft_input(in, 0), *given = ft_input(in, 2);
  bool one_side = ft_integer(in->op, "onesided", 0) != 0;
  bool back = ft_integer(in->op, "inverse", 0) != 0;
  struct ft_tensor *y = ft_output(in, 0);
  int axis;

  if (!x || x->rank < 2 || (given && (ft_value_count(given) != 1 || isnan(given->values[0]))))
    return 0;
  axis = ft_axis(in, given ? ft_whole(given->values[0]) : ft_integer(in->op, "axis", -2), x->rank);
  if (axis < 0 || ft_like(in, y, x) < 0)
    return -1;
  y->dims[axis] = ft_input(in, 1) ? ft_input_number(in, 1) : x->dims[axis];
  if (one_side && !back)
    y->dims[axis] = half_spectrum(y->dims[axis]);
  else if (one_side && !ft_input(in, 1) && !ft_dim_is(y->dims[axis], 0))
    y->dims[axis] = ft_dim_times(ft_dim_of(2), ft_dim_minus(y->dims[axis], ft_dim_of(1)));
  y->dims[x->rank - 1] = ft_dim_of(one_side && back ? 1 : 2);
  return 0;
}

/* (batch, length, 1 or 2) to (batch, frames, bins, 2) */
int ft_infer_stft(struct ft_infer *in)
{
  const struct ft_tensor *x = ft_input(in, 0), *window = ft_input(in, 2);
  int64_t step = ft_dim_or(ft_input_number(in, 1), 0);
  ft_dim length = ft_input_number(in, 3);
  struct ft_tensor *y = ft_output(in, 0);

  if (!x || x->rank != 3)
    return 0;
  if (!ft_dim_known(length) && window && window->rank == 1)
    length = window->dims[0];
  y->element = x->element;
  if (!ft_shape(in, y, 4))
    return -1;
  y->dims[0] = x->dims[0];
  y->dims[1] = ft_dim_plus(ft_dim_divide(ft_dim_minus(x->dims[1], length), step), ft_dim_of(1));
  y->dims[2] = ft_integer(in->op, "onesided", 1) ? half_spectrum(length) : length;
  y->dims[3] = ft_dim_of(2);
  return 0;
}
