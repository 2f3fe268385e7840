/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * einsum, as PyTorch computes it (aten/src/ATen/native/Linear.cpp, einsum and sumproduct_pair): the
 * operands are multiplied from the left to the right, each pair as one batched matrix product of
 * permuted and reshaped operands.
 */
#include "config.h"

#include <string.h>

#include "predictor/core/text.h"
#include "predictor/graph/aten/aten.h"

enum {
  OPERANDS = 64,
  LETTERS = 128 /* those below FT_GRAPH_RANK + 1 stand for the dimensions of "...", from the end */
};

struct term {
  uint32_t tensor;
  int count;
  uint8_t letters[FT_GRAPH_RANK];
};

struct einsum {
  struct ft_tracer *l;
  struct term terms[OPERANDS], result;
  size_t count;
  int dots;
  ft_dim size[LETTERS];
  uint8_t places[LETTERS]; /* number of terms with the letter, the result included */
};

static bool term_has(const struct term *term, uint8_t letter)
{
  return memchr(term->letters, letter, (size_t)term->count) != NULL;
}

/* Appends LETTER to TERM. Returns false if it has LETTER or no room. */
static bool append_letter(struct einsum *e, struct term *term, uint8_t letter)
{
  if (term->count == FT_GRAPH_RANK || term_has(term, letter))
    return false;
  term->letters[term->count++] = letter;
  e->places[letter]++;
  return true;
}

/* Reads TEXT, in which "..." stands for DOTS dimensions, into TERM. */
static bool read_term(struct einsum *e, struct ft_text text, int dots, struct term *term)
{
  for (; text.at < text.end; text.at++) {
    uint8_t letter = (uint8_t)*text.at;

    if (letter == ' ')
      continue;
    if (letter >= LETTERS || (letter <= FT_GRAPH_RANK))
      return false;
    if (letter != '.') {
      if (!append_letter(e, term, letter))
        return false;
      continue;
    }
    if (ft_text_left(&text) < 3)
      return false;
    text.at += 2;
    for (int i = dots; i > 0; i--)
      if (!append_letter(e, term, (uint8_t)i))
        return false;
  }
  return true;
}

/* Reads one operand's TEXT and merges its sizes. Returns false for what PyTorch broadcasts, for
 * diagonals, and for sizes that are unknown. */
static bool read_operand(struct einsum *e, struct ft_text text, struct term *term)
{
  const struct ft_tensor *t = ft_tracer_of(e->l, term->tensor);
  int dots = t->rank;

  for (const char *p = text.at; p < text.end; p++)
    dots -= *p != '.' && *p != ' ';
  if (t->rank < 0 || dots < 0 || !read_term(e, text, dots, term) || term->count != t->rank)
    return false;
  e->dots = dots > e->dots ? dots : e->dots;
  for (int i = 0; i < t->rank; i++) {
    ft_dim *size = &e->size[term->letters[i]];

    if (!ft_dim_known(t->dims[i]) || ft_dim_differ(*size, t->dims[i]))
      return false;
    *size = t->dims[i];
  }
  return true;
}

/* Reads EQUATION. Without "->" the result has the dimensions of "...", then the letters of one
 * place, sorted. Returns false if it is another kind of equation. */
static bool read_equation(struct einsum *e, const char *equation)
{
  struct ft_text inputs = ft_text_from(equation), text;
  const char *arrow = strstr(equation, "->");
  size_t i = 0;

  for (int j = 0; j < LETTERS; j++)
    e->size[j] = FT_DIM_UNKNOWN;
  if (arrow)
    inputs.end = arrow;
  while (i < e->count && ft_text_until(&inputs, ',', &text))
    if (!read_operand(e, text, &e->terms[i++]))
      return false;
  if (i != e->count || ft_text_left(&inputs) || !e->count)
    return false;
  if (arrow && !read_term(e, ft_text_from(arrow + 2), e->dots, &e->result))
    return false;
  for (int j = 0; j < e->result.count; j++)
    if (!ft_dim_known(e->size[e->result.letters[j]]))
      return false; /* no operand has it */
  if (arrow)
    return true;
  for (int j = e->dots; j > 0; j--)
    if (!append_letter(e, &e->result, (uint8_t)j))
      return false;
  for (int j = FT_GRAPH_RANK + 1; j < LETTERS; j++)
    if (e->places[j] == 1 && !append_letter(e, &e->result, (uint8_t)j))
      return false;
  return true;
}

/* Permutes TERM to LETTERS, the same ones in another order. */
static void permute_term(struct einsum *e, struct term *term, const uint8_t *letters)
{
  int64_t order[FT_GRAPH_RANK];
  bool moved = false;

  for (int i = 0; i < term->count; i++) {
    order[i] =
        (const uint8_t *)memchr(term->letters, letters[i], (size_t)term->count) - term->letters;
    moved = moved || order[i] != i;
  }
  if (moved && term->tensor)
    term->tensor = ft_tracer_transpose(e->l, term->tensor, order, term->count);
  memcpy(term->letters, letters, (size_t)term->count);
}

/* Sums TERM over the letters of no other place. */
static void sum_term(struct einsum *e, struct term *term)
{
  int64_t axes[FT_GRAPH_RANK];
  int count = 0, left = 0;

  for (int i = 0; i < term->count; i++) {
    if (e->places[term->letters[i]] == 1)
      axes[count++] = i;
    else
      term->letters[left++] = term->letters[i];
  }
  term->count = left;
  if (!count || !term->tensor)
    return;
  ft_tracer_op(e->l, "ReduceSum");
  ft_tracer_in(e->l, term->tensor);
  ft_tracer_ints(e->l, "axes", axes, (size_t)count);
  ft_tracer_int(e->l, "keepdims", 0);
  term->tensor = ft_tracer_end(e->l, 1);
}

/* The letters of a product: in both operands and kept, in both and summed, in one only. */
enum group { BATCH, SUMMED, LEFT, RIGHT, GROUPS };

struct groups {
  uint8_t letters[GROUPS][2 * FT_GRAPH_RANK];
  int count[GROUPS];
};

/* Sorts the letters of A and B: those of the result in its order, then the others. */
static void sort_letters(const struct einsum *e, const struct term *a, const struct term *b,
                         struct groups *g)
{
  *g = (struct groups){ .count = { 0 } };
  for (int i = 0; i < e->result.count + LETTERS; i++) {
    bool kept = i < e->result.count;
    uint8_t letter = kept ? e->result.letters[i] : (uint8_t)(i - e->result.count);
    bool left = term_has(a, letter), right = term_has(b, letter);
    enum group group = !left ? RIGHT : !right ? LEFT : e->places[letter] > 2 ? BATCH : SUMMED;

    if ((left || right) && (kept || !term_has(&e->result, letter)))
      g->letters[group][g->count[group]++] = letter;
  }
}

/* Permutes TERM to the COUNT groups ORDER. JOIN: reshapes it to one dimension for each group. */
static void arrange_term(struct einsum *e, struct term *term, const struct groups *g,
                         const enum group *order, int count, bool join)
{
  uint8_t letters[4 * FT_GRAPH_RANK];
  ft_dim dims[GROUPS];
  int n = 0;

  for (int i = 0; i < count; i++) {
    dims[i] = ft_dim_of(1);
    for (int j = 0; j < g->count[order[i]]; j++) {
      letters[n++] = g->letters[order[i]][j];
      dims[i] = ft_dim_times(dims[i], e->size[letters[n - 1]]);
    }
  }
  permute_term(e, term, letters);
  if (join && term->tensor)
    term->tensor = ft_tracer_reshape(e->l, term->tensor, dims, count);
}

/* Inserts COUNT dimensions of 1 at AT. */
static uint32_t insert_ones(struct einsum *e, uint32_t tensor, int at, int count)
{
  int64_t axes[2 * FT_GRAPH_RANK];

  for (int i = 0; i < count; i++)
    axes[i] = at + i;
  return count ? ft_aten_axes(e->l, "Unsqueeze", tensor, axes, (size_t)count) : tensor;
}

/* Multiplies A and B into A. Returns false if the product has more than FT_GRAPH_RANK dimensions.
 */
static bool multiply_terms(struct einsum *e, struct term *a, struct term *b)
{
  struct term product = { .count = 0 };
  ft_dim dims[FT_GRAPH_RANK];
  struct groups g;
  bool sums;

  sum_term(e, a);
  sum_term(e, b);
  sort_letters(e, a, b, &g);
  sums = g.count[SUMMED] > 0;
  if (g.count[BATCH] + g.count[LEFT] + g.count[RIGHT] > FT_GRAPH_RANK)
    return false;
  arrange_term(e, a, &g, (const enum group[]){ BATCH, LEFT, SUMMED }, 3, sums);
  arrange_term(e, b, &g, (const enum group[]){ BATCH, SUMMED, RIGHT }, 3, sums);
  for (int i = 0; i < GROUPS; i++)
    for (int j = 0; j < g.count[i]; j++) {
      uint8_t letter = g.letters[i][j];

      e->places[letter] -= i == BATCH || i == SUMMED ? 1 : 0;
      if (i != SUMMED) {
        dims[product.count] = e->size[letter];
        product.letters[product.count++] = letter;
      }
    }
  if (!sums) {
    a->tensor = insert_ones(e, a->tensor, g.count[BATCH] + g.count[LEFT], g.count[RIGHT]);
    b->tensor = insert_ones(e, b->tensor, g.count[BATCH], g.count[LEFT]);
  }
  if (a->tensor && b->tensor)
    product.tensor = ft_tracer_binary(e->l, sums ? "MatMul" : "Mul", a->tensor, b->tensor);
  if (sums && product.tensor)
    product.tensor = ft_tracer_reshape(e->l, product.tensor, dims, product.count);
  *a = product;
  return true;
}

/* Records the operator Einsum, for equations that multiply_terms does not compute. */
static int record_einsum(struct ft_call *c, const struct einsum *e, const char *equation)
{
  ft_tracer_op(c->l, "Einsum");
  for (size_t i = 0; i < e->count; i++)
    ft_tracer_in(c->l, e->terms[i].tensor);
  ft_tracer_string(c->l, "equation", equation);
  return ft_give(c, ft_tracer_end(c->l, 1));
}

int ft_aten_einsum(struct ft_call *c)
{
  const struct ft_operand *equation = ft_arg(c, 0, "equation"), *list = ft_arg(c, 1, "operands");
  struct einsum *e;

  if (equation->type != FT_VALUE_STRING || !equation->known || !ft_value_is_list(list) ||
      list->list->count > OPERANDS)
    return ft_aten_unknown(c);
  e = ft_tracer_take(c->l, sizeof *e);
  if (!e)
    return -1;
  e->l = c->l;
  e->count = list->list->count;
  for (size_t i = 0; i < e->count; i++) {
    e->terms[i].tensor = ft_value_as_tensor(c->l, &list->list->items[i]);
    if (!e->terms[i].tensor)
      return -1;
  }
  if (!read_equation(e, equation->string))
    return record_einsum(c, e, equation->string);
  for (size_t i = 1; i < e->count; i++)
    if (!multiply_terms(e, &e->terms[0], &e->terms[i]))
      return ft_aten_unknown(c);
  sum_term(e, &e->terms[0]);
  permute_term(e, &e->terms[0], e->result.letters);
  return ft_give(c, e->terms[0].tensor);
}
