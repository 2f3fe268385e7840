/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Weights, inputs and scopes of a network. */
#include "config.h"

#include <string.h>

#include "predictor/graph/import/huggingface/hf_run.h"

uint32_t ft_hf_weight_in(struct ft_hf_run *r, unsigned element, const char *name, int64_t rows,
                         int64_t columns, int64_t depth)
{
  const char *whole = ft_tracer_format(&r->live, "%s%s", r->prefix, name);
  struct ft_weight *w = ft_symbol_table_get(&r->weights, whole);
  int rank = 0;

  if (w)
    return ft_tracer_weight(&r->live, w);
  w = ft_tracer_take(&r->live, sizeof *w);
  if (!w || ft_symbol_table_put(&r->weights, whole, w) < 0)
    return 0;
  w->name = whole;
  w->declared.dims = ft_tracer_take(&r->live, 4 * sizeof *w->declared.dims);
  if (!w->declared.dims)
    return 0;
  if (depth)
    w->declared.dims[rank++] = ft_dim_of(depth);
  w->declared.dims[rank++] = ft_dim_of(rows);
  if (columns)
    w->declared.dims[rank++] = ft_dim_of(columns);
  w->declared.rank = rank;
  w->declared.element = (uint8_t)element;
  w->declared.frozen = r->live.in->sizes->lora && !r->adapter;
  w->declared.wide = r->adapter;
  w->declared.elements = ft_dim_or(ft_dim_product(w->declared.dims, rank), 0);
  if (w->declared.elements > FT_GRAPH_ELEMENTS) {
    (void)ft_tracer_fail(&r->live, "%s: more than 2^50 elements", w->name);
    return 0;
  }
  return ft_tracer_weight(&r->live, w);
}

uint32_t ft_hf_weight(struct ft_hf_run *r, const char *name, int64_t rows, int64_t columns,
                      int64_t depth)
{
  return ft_hf_weight_in(r, FT_ELEMENT_FLOAT, name, rows, columns, depth);
}

void ft_hf_scope(struct ft_hf_run *r, const char *name)
{
  r->live.scope = ft_tracer_format(&r->live, "%s%s", r->prefix, name);
}

uint32_t ft_hf_binary(struct ft_hf_run *r, const char *type, uint32_t a, uint32_t b)
{
  return a && b ? ft_tracer_binary(&r->live, type, a, b) : 0;
}

int64_t ft_hf_size(const struct ft_hf_run *r, uint32_t x, int axis)
{
  const struct ft_tensor *t = ft_tracer_of(&r->live, x);

  return x ? ft_dim_or(t->dims[axis < 0 ? axis + t->rank : axis], 0) : 0;
}

/* The COUNT SIZES as dimensions in DIMS. Returns DIMS. */
static const ft_dim *as_dims(const int64_t *sizes, int count, ft_dim *dims)
{
  for (int i = 0; i < count; i++)
    dims[i] = ft_dim_of(sizes[i]);
  return dims;
}

uint32_t ft_hf_reshape(struct ft_hf_run *r, uint32_t x, const int64_t *sizes, int rank)
{
  ft_dim dims[FT_GRAPH_RANK];

  return x ? ft_tracer_reshape(&r->live, x, as_dims(sizes, rank, dims), rank) : 0;
}

uint32_t ft_hf_constant(struct ft_hf_run *r, unsigned element, const int64_t *sizes, int rank)
{
  ft_dim dims[FT_GRAPH_RANK];

  return ft_tracer_constant(&r->live, element, rank, as_dims(sizes, rank, dims), NULL);
}

uint32_t ft_hf_linear_of(struct ft_hf_run *r, uint32_t x, uint32_t w, uint32_t b)
{
  if (!x || !w)
    return 0;
  ft_tracer_op(&r->live, "Linear");
  ft_tracer_in(&r->live, x);
  ft_tracer_in(&r->live, w);
  if (b)
    ft_tracer_in(&r->live, b);
  return ft_tracer_end(&r->live, 1);
}

uint32_t ft_hf_input(struct ft_hf_run *r, const char *name, unsigned element, int rank,
                     const int64_t *sizes)
{
  static const char *tokens[FT_GRAPH_RANK] = { "batch", "sequence" },
                    *picture[FT_GRAPH_RANK] = { "batch", "channels", "height", "width" },
                    *pictures[FT_GRAPH_RANK] = { "batch", "pictures", "channels", "height",
                                                 "width" };
  const char **symbols = rank == 4 ? pictures : rank == 3 ? picture : tokens;
  struct ft_declared *d = ft_tracer_take(&r->live, sizeof *d);

  if (!d)
    return 0;
  *d = (struct ft_declared){ .rank = rank + 1, .symbols = symbols, .element = (uint8_t)element };
  d->dims = ft_tracer_take(&r->live, (size_t)(rank + 1) * sizeof *d->dims);
  if (!d->dims)
    return 0;
  d->dims[0] = FT_DIM_UNKNOWN;
  for (int i = 0; i < rank; i++)
    d->dims[i + 1] = ft_dim_of(sizes[i]);
  return ft_tracer_input(&r->live, name, d);
}

uint32_t ft_hf_ids(struct ft_hf_run *r, const char *name)
{
  static const int64_t open[] = { -1 };

  return ft_hf_input(r, name, FT_ELEMENT_INT64, 1, open);
}
