/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <string.h>

#include "predictor/core/text.h"
#include "predictor/graph/shape/infer.h"
#include "predictor/graph/training/decomposed.h"

/*
 * Saved tensors of each form, at each enum ft_decomposed_width (transformers 5.23,
 * src/transformers: activations.py and each family's normalisation). A power saves its base, a
 * product both factors if both need a gradient, tanh its result. Autocast runs powers in fp32.
 */
static const struct {
  const char *name;
  bool widens, weighted; /* a weight multiplies the last of the saved tensors */
  struct ft_decomposed kept[FT_DECOMPOSED_WIDTHS];
} table[] = {
  /* w * (x.float() * rsqrt(mean(x.float()^2))).to(x) */
  { "llama", true, true, { { true, 0, 1 }, { false, 1, 1 }, { false, 1, 1 } } },
  /* (w * (x.float() * rsqrt(...))).to(x) */
  { "gemma", false, true, { { true, 0, 1 }, { false, 0, 2 }, { false, 0, 2 } } },
  /* w * (x * rsqrt(mean(x.float()^2))).to(w) */
  { "t5", true, true, { { true, 0, 1 }, { true, 1, 1 }, { true, 0, 2 } } },
  /*
   * w.float() * ((x.float() - m) * rsqrt(mean((x.float() - m)^2))); computes the difference twice
   */
  { "cohere", false, true, { { false, 0, 3 }, { false, 0, 3 }, { false, 0, 3 } } },
  /* layer_norm(x.float()).to(x) */
  { "olmo", false, false, { { true, 0, 0 }, { false, 0, 1 }, { false, 0, 1 } } },
  /* x.float() * rsqrt(mean(x.float()^2)), without a weight (Llama4TextL2Norm) */
  { "l2", false, false, { { true, 0, 0 }, { false, 0, 1 }, { false, 0, 1 } } },
  /* layer_norm with autocast disabled, of an input cast to 16 bits (NemotronLayerNorm1P) */
  { "nemotron", false, false, { { true, 0, 0 }, { true, 0, 0 }, { true, 0, 0 } } },
  /* x cos + rotate(x) sin, angles in fp32: saves nothing */
  { "rotary", true, false, { { false, 0, 0 }, { false, 0, 0 }, { false, 0, 0 } } },
  /* KV cache: values have the width of keys, which fp32 angles widen (cache_utils.py) */
  { "cache", true, false, { { false, 0, 0 }, { false, 0, 0 }, { false, 0, 0 } } },
  /* 0.5 x (1 + tanh(c (x + 0.044715 x^3))) */
  { "gelu_new", true, false, { { true, 0, 3 }, { true, 3, 0 }, { false, 1, 3 } } },
  /* 0.5 x (1 + tanh(0.7978845608 x (1 + 0.044715 x x))) */
  { "gelu_fast", false, false, { { true, 0, 6 }, { true, 6, 0 }, { true, 6, 0 } } },
  /* relu(x)^2 */
  { "relu2", true, false, { { false, 0, 1 }, { false, 1, 0 }, { false, 1, 1 } } },
  /* x sigmoid(1.702 x) */
  { "quick_gelu", false, false, { { true, 0, 1 }, { true, 1, 0 }, { true, 1, 0 } } },
};

enum { COUNT = sizeof table / sizeof *table };

/* Returns the index of OP's row in the table; COUNT: none. */
static size_t decomposed_row(const struct ft_operator *op)
{
  const char *name = op->hints ? op->hints->decomposed : NULL;

  return name ? FT_TABLE_FIND(table, name) : COUNT;
}

bool ft_decomposed_of(const struct ft_operator *op, enum ft_decomposed_width width,
                      struct ft_decomposed *decomposed)
{
  size_t i = decomposed_row(op);

  if (i == COUNT)
    return false;
  *decomposed = table[i].kept[width];
  return true;
}

void ft_decomposed_freeze(const struct ft_operator *op, struct ft_decomposed *decomposed)
{
  size_t i = decomposed_row(op);

  if (i == COUNT || !table[i].weighted)
    return;
  if (decomposed->narrow)
    decomposed->narrow--;
  else if (decomposed->wide)
    decomposed->wide--;
}

bool ft_decomposed_floats(const struct ft_operator *op)
{
  const char *name = op->hints ? op->hints->decomposed : NULL;

  return name && strcmp(name, "float") == 0;
}

bool ft_decomposed_narrows(const struct ft_operator *op)
{
  size_t i = decomposed_row(op);

  return i < COUNT && strcmp(table[i].name, "nemotron") == 0;
}

bool ft_decomposed_widens(const struct ft_operator *op)
{
  size_t i = decomposed_row(op);

  return i < COUNT && table[i].widens;
}
