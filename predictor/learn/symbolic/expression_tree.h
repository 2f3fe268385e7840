/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Postfix trees that are grown, crossed and mutated at random: a subtree is a contiguous run of
 * symbols, so all of it is moves of memory. Of an expression only length, symbols, variables
 * and constants are touched here.
 */
#ifndef FT_LEARN_EXPRESSION_TREE_H
#define FT_LEARN_EXPRESSION_TREE_H

#include "predictor/core/random.h"
#include "predictor/learn/symbolic/expression.h"
#include "predictor/learn/symbolic/row_blocks.h"

/* What trees are made of, and by which numbers. */
struct ft_grower {
  struct ft_random random;
  uint64_t bits; /* drawn; the upper half is still to be used */
  bool half;
  size_t variables;
  uint8_t unary[FT_SYMBOLS], binary[FT_SYMBOLS];
  unsigned unary_count, binary_count;
};

static inline uint32_t ft_grower_draw(struct ft_grower *g)
{
  g->half = !g->half;
  if (!g->half)
    return (uint32_t)(g->bits >> 32);
  g->bits = ft_random_u64(&g->random);
  return (uint32_t)g->bits;
}

/* Uniform in 0 .. N-1, but for N parts in 2^32 (multiply and shift: Lemire 2019). */
static inline uint32_t ft_grower_below(struct ft_grower *g, uint32_t n)
{
  return (uint32_t)((uint64_t)ft_grower_draw(g) * n >> 32);
}

/* True with PROBABILITY. */
static inline bool ft_grower_chance(struct ft_grower *g, double probability)
{
  return ft_grower_draw(g) < probability * 0x1p32;
}

/* Begin with SEED and the primitives whose bits 1 << FT_SYMBOL_... are set. */
void ft_grower_init(struct ft_grower *g, uint64_t seed, size_t variables, unsigned primitives);

/* Make E a random tree of at most DEPTH levels of operators. */
void ft_expression_tree_grow(struct ft_grower *g, struct ft_expression *e, int depth);

void ft_expression_tree_copy(struct ft_expression *to, const struct ft_expression *from);

/*
 * Crossover at one point of each: X becomes A with a subtree of B in place of one, and Y the other
 * way round. Where that would be too long or too deep, or change nothing, it is a copy.
 * CHANGED says which is none.
 */
void ft_expression_tree_cross(struct ft_grower *g, const struct ft_expression *a,
                              const struct ft_expression *b, struct ft_expression *x,
                              struct ft_expression *y, bool changed[2]);

/* One of the five mutations: subtree, node, insert, shrink, constants. Whether E changed. */
bool ft_expression_tree_mutate(struct ft_grower *g, struct ft_expression *e);

/*
 * Replaces each minimum of which one side is the smaller on all ROWS by that side, and what reads
 * no variable by one constant. E has the same value on all rows. Returns whether E is shorter.
 */
bool ft_expression_tree_prune(struct ft_expression *e, const struct ft_row_blocks *rows);

#endif
