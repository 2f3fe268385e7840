/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>
#include <string.h>

#include "predictor/graph/cost/position_tables.h"

/* Returns whether PyTorch's older exporter computed the constant T and named it for its reader; of
 * what it is computed is not stated. */
static bool is_unnamed(const struct ft_tensor *t)
{
  return t->name && strncmp(t->name, "onnx::", 6) == 0;
}

/* Returns the side of a square of COUNT places, at least 2; 0: it is none. */
static int64_t square_side(int64_t count)
{
  int64_t side = count > 0 && count < (int64_t)1 << 40 ? llround(sqrt((double)count)) : 0;

  return side >= 2 && side * side == count ? side : 0;
}

/* Returns the relative positions within a window of KEYS places, perhaps after a class token, which
 * has three of its own (BEiT); 0: it is no square. */
static int64_t relative_positions(int64_t keys)
{
  int64_t side = square_side(keys), token = side ? 0 : square_side(keys - 1);

  side = side ? side : token;
  return side ? (2 * side - 1) * (2 * side - 1) + (token ? 3 : 0) : 0;
}

int64_t ft_position_parameters(const struct ft_tensor *t, bool before_layer)
{
  int64_t d[3] = { 0 }, all = t->constant->elements, positions;

  if ((!t->constant->mixed && !is_unnamed(t)) || t->rank < 2)
    return 0;
  for (int i = 0; i < 3 && i < t->rank; i++)
    d[2 - i] = ft_dim_or(t->dims[t->rank - 1 - i], 0);
  if (before_layer)
    return d[0] > 1 && d[0] % 2 && d[0] == d[1] && d[0] * d[1] * d[2] == all ? 2 * d[2] : 0;
  if (t->rank == 2) {
    positions = relative_positions(square_side(d[1]));
    return positions < d[1] ? positions * d[2] : 0;
  }
  if (d[1] != d[2] && !(d[1] < d[2] && square_side(d[1]) && square_side(d[2])))
    return 0;
  positions = relative_positions(d[2]);
  return positions < d[1] * d[2] ? all / (d[1] * d[2]) * positions : 0;
}

bool ft_is_unnamed_mask(const struct ft_tensor *t)
{
  return is_unnamed(t) && t->rank > 3 && ft_dim_is(t->dims[t->rank - 3], 1) &&
         !ft_dim_is(t->dims[t->rank - 1], 1) &&
         ft_dim_equal(t->dims[t->rank - 1], t->dims[t->rank - 2]);
}
