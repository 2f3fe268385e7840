/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include "predictor/graph/training/optimizer.h"

/* torch.optim 2.11 with foreach=True, counted tensor by tensor in its second step; SGD's copy of
 * the gradients is for weight decay. Lion, which torch.optim lacks, keeps one momentum (Chen 2023,
 * arXiv 2302.06675) and takes one tensor after the other; its update was not measured. */
static const struct ft_optimizer_traits traits[FT_OPTIMIZERS] = {
  [FT_OPTIMIZER_SGD] = { "sgd", .temporaries = 1 },
  [FT_OPTIMIZER_MOMENTUM] = { "momentum", .states = 1, .temporaries = 1 },
  [FT_OPTIMIZER_ADAM] = { "adam", .states = 2, .temporaries = 1 },
  [FT_OPTIMIZER_ADAMW] = { "adamw", .states = 2, .temporaries = 1 },
  [FT_OPTIMIZER_ADAM8] = { .name = "adam8bit" },
  [FT_OPTIMIZER_ADADELTA] = { "adadelta", .states = 2, .temporaries = 2 },
  [FT_OPTIMIZER_ADAFACTOR] = { "adafactor", .temporaries = 1, .factored = true },
  [FT_OPTIMIZER_ADAGRAD] = { "adagrad", .states = 1, .temporaries = 2 },
  [FT_OPTIMIZER_ADAMAX] = { "adamax", .states = 2, .temporaries = 1 },
  [FT_OPTIMIZER_LION] = { "lion", .states = 1, .temporaries = 1, .sequential = true },
  [FT_OPTIMIZER_NADAM] = { "nadam", .states = 2, .temporaries = 1 },
  [FT_OPTIMIZER_RADAM] = { "radam", .states = 2, .temporaries = 1 },
  [FT_OPTIMIZER_RMSPROP] = { "rmsprop", .states = 1, .temporaries = 1 },
};

const struct ft_optimizer_traits *ft_optimizer_traits(enum ft_optimizer optimizer)
{
  return &traits[optimizer];
}

int64_t ft_optimizer_state_bytes(enum ft_optimizer optimizer, const struct ft_tensor *t,
                                 int64_t bytes)
{
  if (optimizer == FT_OPTIMIZER_ADAM8)
    return bytes / 2;
  if (!traits[optimizer].factored)
    return ft_known_times(traits[optimizer].states, bytes);
  if (t->rank < 2)
    return bytes;
  return ft_known_plus(
      ft_dim_or(ft_dim_divide(ft_dim_of(bytes), ft_dim_or(t->dims[t->rank - 1], 0)), 0),
      ft_dim_or(ft_dim_divide(ft_dim_of(bytes), ft_dim_or(t->dims[t->rank - 2], 0)), 0));
}
