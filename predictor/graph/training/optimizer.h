/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What optimisers keep for each parameter, and allocate during a step. */
#ifndef FT_GRAPH_OPTIMIZER_H
#define FT_GRAPH_OPTIMIZER_H

#include "predictor/graph/ir/graph.h"

enum ft_optimizer {
  FT_OPTIMIZER_SGD,
  FT_OPTIMIZER_MOMENTUM,
  FT_OPTIMIZER_ADAM,
  FT_OPTIMIZER_ADAMW,
  FT_OPTIMIZER_ADAM8, /* 8-bit moments */
  FT_OPTIMIZER_ADADELTA,
  FT_OPTIMIZER_ADAFACTOR,
  FT_OPTIMIZER_ADAGRAD,
  FT_OPTIMIZER_ADAMAX,
  FT_OPTIMIZER_LION,
  FT_OPTIMIZER_NADAM,
  FT_OPTIMIZER_RADAM,
  FT_OPTIMIZER_RMSPROP,
  FT_OPTIMIZERS
};

#define FT_OPTIMIZERS_LISTED                                                                       \
  "sgd, momentum, adam, adamw, adam8bit, adadelta, adafactor, adagrad, adamax, lion, nadam, "      \
  "radam or rmsprop"

struct ft_optimizer_traits {
  const char *name;    /* the option's value, such as "adamw" */
  uint8_t states;      /* tensors of a parameter's size that it keeps */
  uint8_t temporaries; /* the same that a step allocates, unless one kernel does it all */
  bool factored;       /* keeps means of rows and columns instead */
  bool sequential;     /* its code steps through the parameters one by one */
};

const struct ft_optimizer_traits *ft_optimizer_traits(enum ft_optimizer optimizer);

/* Returns the bytes of the state for parameter T of BYTES. FT_OPTIMIZER_ADAM8: without what depends
 * on the number of blocks. */
int64_t ft_optimizer_state_bytes(enum ft_optimizer optimizer, const struct ft_tensor *t,
                                 int64_t bytes);

#endif
