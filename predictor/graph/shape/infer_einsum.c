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
