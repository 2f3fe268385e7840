/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include "predictor/graph/shape/infer.h"
#include "predictor/graph/training/autograd_rules.h"

struct ft_autograd_rule ft_autograd_rule_of(const struct ft_operator *op)
{
  if (!op->kind)
    return (struct ft_autograd_rule){ .saves = FT_SAVES_FIRST | FT_SAVES_RESULT };
  if (op->idle)
    return (struct ft_autograd_rule){ .gradient = FT_GRADIENT_PASSES };
  return (struct ft_autograd_rule){ .saves = op->kind->saves,
                                    .gradient = op->kind->gradient,
                                    .in_place = ft_operator_has(op, FT_OPERATOR_REUSES_INPUT) };
}

bool ft_autograd_is_product(const struct ft_operator *op)
{
  return op->kind && op->kind->weight == 1 &&
         (op->kind->work == FT_WORK_PRODUCT || op->kind->work == FT_WORK_GEMM);
}

unsigned ft_autograd_saves(const struct ft_operator *op, bool first, bool second)
{
  unsigned saves = ft_autograd_rule_of(op).saves;

  if (ft_autograd_is_product(op) && !second)
    saves &= ~(unsigned)FT_SAVES_FIRST;
  if (saves & FT_SAVES_BOTH && second)
    saves |= FT_SAVES_FIRST;
  if (saves & FT_SAVES_BOTH &&
      (first || (second && (ft_operator_is(op, FT_OP_Div) || ft_operator_is(op, FT_OP_Addcdiv)))))
    saves |= FT_SAVES_SECOND;
  if (saves & FT_SAVES_BOTH && !second)
    saves &= ~(unsigned)FT_SAVES_THIRD;
  return saves & ~(unsigned)FT_SAVES_BOTH;
}

static bool is_rms_norm(const struct ft_operator *op)
{
  return ft_operator_is(op, FT_OP_RMSNormalization) ||
         ft_operator_is(op, FT_OP_SimplifiedLayerNormalization);
}

int64_t ft_autograd_groups(const struct ft_operator *op, const struct ft_tensor *y, int64_t batch)
{
  int64_t axis = ft_integer(op, "axis", -1);
  ft_dim groups = ft_dim_of(batch);

  if (y->rank < 2)
    return 0;
  if (ft_operator_is(op, FT_OP_BatchNormalization)) {
    groups = y->dims[1];
  } else if (ft_operator_is(op, FT_OP_LayerNormalization) || is_rms_norm(op)) {
    axis = axis < 0 ? axis + y->rank : axis;
    for (int i = 0; i < axis && i < y->rank; i++)
      groups = ft_dim_times(groups, y->dims[i]);
  } else {
    groups = ft_dim_times(groups, y->dims[0]);
    groups = ft_dim_times(groups, ft_operator_is(op, FT_OP_GroupNormalization)
                                      ? ft_dim_of(ft_integer(op, "num_groups", 1))
                                      : y->dims[1]);
  }
  return ft_dim_or(groups, 0);
}

unsigned ft_autograd_extras(const struct ft_operator *op, const struct ft_tensor *y, unsigned saves,
                            int64_t batch, int64_t sizes[FT_AUTOGRAD_EXTRAS])
{
  int64_t elements;
  unsigned count = 0;

  if (!ft_dim_get(ft_tensor_elements(y), &elements))
    return 0;
  elements = ft_known_times(elements, batch);
  if (saves & FT_SAVES_INDICES)
    sizes[count++] = ft_known_times(8, elements);
  if (saves & FT_SAVES_MASK)
    sizes[count++] = elements;
  if (saves & FT_SAVES_GATES)
    sizes[count++] = ft_known_times(4 * op->kind->gates, elements);
  /* mean, but not of rms_norm, and standard deviation */
  for (int k = is_rms_norm(op); saves & FT_SAVES_STATISTICS && k < 2; k++)
    sizes[count++] = ft_known_times(4, ft_autograd_groups(op, y, batch));
  return count;
}
