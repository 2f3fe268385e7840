/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shapes of Einsum. A letter names a dimension; "..." covers the dimensions without a letter. */
#include "config.h"

#include <string.h>

#include "predictor/graph/shape/einsum.h"

enum { DOTS = 128 }; /* index of a dimension of "...": DOTS + its position from the end */

/* Merges the dimension FROM into SIZE of the same letter; 1 is broadcast. */
static void merge_size(ft_dim *size, ft_dim from)
{
  if (ft_dim_or(*size, 0) <= 1)
    *size = from;
}

/* Reads the letters of one input's term TERM into E. Returns 0; -1 with the error. */
static int add_letters(struct ft_infer *in, struct ft_einsum *e, const struct ft_text *term,
                       const struct ft_tensor *t)
{
  int letters = 0, at = 0, dots;

  for (const char *p = term->at; p < term->end; p++)
    letters += *p != '.' && *p != ' ';
  dots = t->rank - letters;
  if (dots < 0 || (dots && !memchr(term->at, '.', ft_text_left(term))))
    return ft_contradiction(in, "%d letters for %d dimensions", letters, t->rank);
  for (const char *p = term->at; p < term->end; p++) {
    if (*p == ' ')
      continue;
    if (*p == '.') {
      for (int i = 0; i < dots; i++, at++)
        merge_size(&e->size[DOTS + dots - i], t->dims[at]);
      e->dots = dots > e->dots ? dots : e->dots;
      p += p + 2 < term->end ? 2 : 0;
      dots = 0;
      continue;
    }
    merge_size(&e->size[(unsigned char)*p & 127], t->dims[at++]);
    e->seen[(unsigned char)*p & 127]++;
  }
  return 0;
}

int ft_einsum_read(struct ft_infer *in, struct ft_einsum *e)
{
  const struct ft_attribute *a = ft_attribute(in->op, "equation");
  struct ft_text inputs = ft_text_from(a ? a->string : ""), term;
  const char *arrow = a ? strstr(a->string, "->") : NULL;
  unsigned i = 0;

  memset(e, 0, sizeof *e);
  for (int j = 0; j < 256; j++)
    e->size[j] = FT_DIM_UNKNOWN;
  if (arrow)
    inputs.end = arrow;
  e->result = ft_text_from(arrow ? arrow + 2 : "");
  e->has_arrow = arrow != NULL;
  while (ft_text_until(&inputs, ',', &term)) {
    const struct ft_tensor *t = ft_input(in, i++);

    if (!t || t->rank < 0)
      return 0;
    if (add_letters(in, e, &term, t) < 0)
      return -1;
  }
  if (i == 0 && in->op->input_count == 1 && ft_input(in, 0) && ft_input(in, 0)->rank == 0)
    i++; /* "->": a scalar has no letters */
  e->known = i == in->op->input_count && i > 0;
  return 0;
}

/* Without "->" the result has the dimensions of "...", then the letters that occur once, sorted. */
int ft_infer_einsum(struct ft_infer *in)
{
  struct ft_tensor *y = ft_output(in, 0);
  ft_dim dims[FT_GRAPH_RANK];
  struct ft_einsum e;
  int rank = 0;

  if (ft_einsum_read(in, &e) < 0)
    return -1;
  if (!e.known)
    return 0;
  for (int i = 0; !e.has_arrow && i < e.dots && rank < FT_GRAPH_RANK; i++)
    dims[rank++] = e.size[DOTS + e.dots - i];
  for (int c = 0; !e.has_arrow && c < 128 && rank < FT_GRAPH_RANK; c++)
    if (e.seen[c] == 1)
      dims[rank++] = e.size[c];
  for (const char *p = e.result.at; p < e.result.end; p++) {
    if (*p == ' ')
      continue;
    if (rank + e.dots >= FT_GRAPH_RANK)
      return ft_contradiction(in, "a result of more than %d dimensions", FT_GRAPH_RANK);
    if (*p == '.') {
      for (int i = 0; i < e.dots; i++)
        dims[rank++] = e.size[DOTS + e.dots - i];
      p += p + 2 < e.result.end ? 2 : 0;
    } else {
      dims[rank++] = e.size[(unsigned char)*p & 127];
    }
  }
  if (!ft_shape(in, y, rank))
    return -1;
  memcpy(y->dims, dims, (size_t)rank * sizeof *dims);
  return 0;
}

ft_dim ft_einsum_products(const struct ft_einsum *e)
{
  ft_dim product = e->known ? ft_dim_of(1) : FT_DIM_UNKNOWN;

  for (int c = 0; c < 128; c++)
    if (e->seen[c])
      product = ft_dim_times(product, e->size[c]);
  return ft_dim_times(product, ft_dim_product(&e->size[DOTS + 1], e->dots));
}

/* ---- the matrix product ---- */

/* Letters of a term, in which DOTS + 1 and more stand for the dimensions of "...". */
struct letters {
  int count;
  uint8_t each[FT_GRAPH_RANK];
  const ft_dim *size;
};

/* Returns the index of LETTER in TERM; -1: it is not there. */
static int find_letter(const struct letters *term, uint8_t letter)
{
  const uint8_t *found = memchr(term->each, letter, (size_t)term->count);

  return found ? (int)(found - term->each) : -1;
}

/* Reads the term TEXT of tensor T. Returns false if a letter occurs twice or T's rank is another.
 */
static bool read_letters(const struct ft_text *text, const struct ft_tensor *t,
                         struct letters *term)
{
  int dots = t->rank;

  *term = (struct letters){ .size = t->dims };
  for (const char *p = text->at; p < text->end; p++)
    dots -= *p != '.' && *p != ' ';
  for (const char *p = text->at; p < text->end && dots >= 0; p++) {
    bool rest = *p == '.';

    for (int n = *p == ' ' ? 0 : rest ? dots : 1; n > 0; n--) {
      uint8_t letter = rest ? (uint8_t)(DOTS + n) : (uint8_t)*p & 127;

      if (term->count == FT_GRAPH_RANK || find_letter(term, letter) >= 0)
        return false;
      term->each[term->count++] = letter;
    }
    p += rest && p + 2 < text->end ? 2 : 0;
  }
  return term->count == t->rank;
}

/* A letter's place in the product: in both operands and the result, in both, in one of them. */
enum group { BATCH, SUMMED, LEFT, RIGHT, GROUPS };

/* Returns the group of LETTER, which A or B has; GROUPS if the product does not have such. */
static enum group group_of(const struct letters *a, const struct letters *b,
                           const struct letters *y, uint8_t letter)
{
  int i = find_letter(a, letter), j = find_letter(b, letter), k = find_letter(y, letter);

  if (i >= 0 && j >= 0)
    return ft_dim_equal(a->size[i], b->size[j]) ? k >= 0 ? BATCH : SUMMED : GROUPS;
  return k < 0 ? GROUPS : i >= 0 ? LEFT : RIGHT;
}

/* Reads the terms of OP's two operands and of its result. */
static bool read_terms(const struct ft_graph *g, const struct ft_operator *op,
                       struct letters term[3])
{
  const struct ft_attribute *equation = ft_attribute(op, "equation");
  const char *arrow = equation && equation->string ? strstr(equation->string, "->") : NULL;
  struct ft_text inputs = ft_text_from(arrow ? equation->string : ""), text;
  unsigned count = 0;

  if (!arrow || op->input_count != 2 || !op->output_count)
    return false;
  inputs.end = arrow;
  for (; ft_text_until(&inputs, ',', &text); count++)
    if (count > 1 || !read_letters(&text, &g->tensors[op->inputs[count]], &term[count]))
      return false;
  text = ft_text_from(arrow + 2);
  return count == 2 && read_letters(&text, &g->tensors[op->outputs[0]], &term[2]);
}

/* Appends the letters of GROUP in ALL, which are COUNT, to those of operand J of P at *AT. */
static void append_group(struct ft_einsum_product *p, int j, const struct letters *term,
                         const uint8_t *all, const enum group *groups, int count, enum group group,
                         int part, int *at)
{
  p->joined[j][part] = ft_dim_of(1);
  for (int i = 0; i < count; i++)
    if (groups[i] == group) {
      int k = find_letter(term, all[i]);

      p->order[j][(*at)++] = k;
      p->joined[j][part] = ft_dim_times(p->joined[j][part], term->size[k]);
    }
}

bool ft_einsum_product(const struct ft_graph *graph, const struct ft_operator *op,
                       struct ft_einsum_product *product)
{
  static const enum group arranged[2][3] = { { BATCH, LEFT, SUMMED }, { BATCH, SUMMED, RIGHT } };
  static const enum group results[] = { RIGHT, LEFT, BATCH };
  uint8_t all[3 * FT_GRAPH_RANK];
  enum group groups[3 * FT_GRAPH_RANK];
  struct letters term[3];
  int64_t step = 1;
  int count = 0, summed = 0;

  if (!read_terms(graph, op, term))
    return false;
  /* those of the result in its order, then the others in the alphabet's */
  for (int i = 0; i < term[2].count + 256; i++) {
    uint8_t letter = i < term[2].count ? term[2].each[i] : (uint8_t)(i - term[2].count);

    if ((find_letter(&term[0], letter) < 0 && find_letter(&term[1], letter) < 0) ||
        (i >= term[2].count && find_letter(&term[2], letter) >= 0))
      continue;
    groups[count] = group_of(&term[0], &term[1], &term[2], letter);
    summed += groups[count] == SUMMED;
    if (groups[count] == GROUPS)
      return false;
    all[count++] = letter;
  }
  for (int j = 0; j < 2; j++)
    for (int part = 0, at = 0; part < 3; part++)
      append_group(product, j, &term[j], all, groups, count, arranged[j][part], part, &at);
  for (int g = 0; g < 3; g++)
    for (int i = count; i-- > 0;)
      if (groups[i] == results[g]) {
        int k = find_letter(&term[2], all[i]);

        product->result.step[k] = step;
        step = ft_known_times(step, ft_dim_or(term[2].size[k], 1));
      }
  return summed > 0;
}
