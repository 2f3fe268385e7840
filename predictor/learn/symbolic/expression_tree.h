/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Random growth, crossover and mutation of postfix trees (genetic programming). A subtree is a
 * contiguous range of symbols, so every operation copies memory. Only length, symbols, variables
 * and constants of an expression are changed.
 */
#ifndef FT_LEARN_EXPRESSION_TREE_H
#define FT_LEARN_EXPRESSION_TREE_H

#include "predictor/core/random.h"
#include "predictor/learn/symbolic/expression.h"
#include "predictor/learn/symbolic/row_blocks.h"

/* Random generator and primitives of trees. */
struct ft_grower {
  struct ft_random random;
  uint64_t bits; /* last random number */
  bool half;     /* the upper half of `bits` is still unused */
  size_t variables;
  uint8_t unary[FT_SYMBOLS], binary[FT_SYMBOLS];
  unsigned unary_count, binary_count;
};

/* Returns 32 random bits. */
static inline uint32_t ft_grower_draw(struct ft_grower *g)
{
  g->half = !g->half;
  if (!g->half)
    return (uint32_t)(g->bits >> 32);
  g->bits = ft_random_u64(&g->random);
  return (uint32_t)g->bits;
}

/* Returns a uniform integer in 0 .. N-1, with a bias below N / 2^32 (Lemire 2019). */
static inline uint32_t ft_grower_below(struct ft_grower *g, uint32_t n)
{
  return (uint32_t)((uint64_t)ft_grower_draw(g) * n >> 32);
}

/* Returns true with PROBABILITY. */
static inline bool ft_grower_chance(struct ft_grower *g, double probability)
{
  return ft_grower_draw(g) < probability * 0x1p32;
}

/* Initialises G for trees of VARIABLES variables and of PRIMITIVES, bits 1 << FT_SYMBOL_.... */
void ft_grower_init(struct ft_grower *g, uint64_t seed, size_t variables, unsigned primitives);

/* Sets E to a random tree with at most DEPTH levels of operators. */
void ft_expression_tree_grow(struct ft_grower *g, struct ft_expression *e, int depth);

/* Copies length, symbols, variables and constants; the rest of TO is left. */
void ft_expression_tree_copy(struct ft_expression *to, const struct ft_expression *from);

/*
 * One-point crossover: X becomes A with a subtree replaced by one of B, and Y becomes B with that
 * subtree of B replaced by the subtree of A. A result that would be too long, too deep or unchanged
 * is a copy of its parent; changed[0] of X and changed[1] of Y are then false.
 */
void ft_expression_tree_cross(struct ft_grower *g, const struct ft_expression *a,
                              const struct ft_expression *b, struct ft_expression *x,
                              struct ft_expression *y, bool changed[2]);

/* Applies one of five mutations to E: subtree, node, insert, shrink or constants. Returns whether E
 * changed. */
bool ft_expression_tree_mutate(struct ft_grower *g, struct ft_expression *e);

/*
 * Simplifies E without changing its value on ROWS: a minimum with the same smaller side on all rows
 * becomes that side, a subtree without variables one constant. Returns whether E is shorter.
 */
bool ft_expression_tree_prune(struct ft_expression *e, const struct ft_row_blocks *rows);

#endif
