/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Helpers of the shape rules, the sizes of a graph's inputs, and shape inference of a graph. */
#include "config.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "predictor/core/buf.h"
#include "predictor/core/text.h"
#include "predictor/graph/shape/infer.h"

/* Tensor elements computed for one graph, about 1 s. */
enum { WORK = 64 << 20 };

/* ---- helpers of the rules ---- */

struct ft_tensor *ft_input(const struct ft_infer *in, unsigned i)
{
  return ft_input_tensor(in->graph, in->op, i);
}

struct ft_tensor *ft_output(const struct ft_infer *in, unsigned i)
{
  return &in->graph->tensors[i < in->op->output_count ? in->op->outputs[i] : 0];
}

const struct ft_attribute *ft_attribute(const struct ft_operator *op, const char *name)
{
  return FT_ROWS_ROW(op->attributes, op->attribute_count, name);
}

int64_t ft_integer(const struct ft_operator *op, const char *name, int64_t otherwise)
{
  const struct ft_attribute *a = ft_attribute(op, name);

  return a && a->type == FT_ATTRIBUTE_INTEGER ? a->integer : otherwise;
}

ft_dim ft_input_number(const struct ft_infer *in, unsigned i)
{
  const struct ft_tensor *x = ft_input(in, i);

  return ft_value_count(x) == 1 && x->values[0] >= 0 ? ft_dim_of(ft_whole(x->values[0]))
                                                     : FT_DIM_UNKNOWN;
}

uint8_t ft_element_attribute(const struct ft_infer *in, const char *name, int64_t otherwise)
{
  int64_t type = ft_integer(in->op, name, otherwise);

  return type > 0 && type <= FT_ELEMENT_LAST ? (uint8_t)type : FT_ELEMENT_UNKNOWN;
}

int64_t ft_whole(double value)
{
  if (value >= 0x1p62)
    return INT64_C(1) << 62;
  if (value <= -0x1p62)
    return -(INT64_C(1) << 62);
  return (int64_t)value;
}

int ft_list(const struct ft_infer *in, const char *name, int slot, int64_t *out, int room)
{
  const struct ft_attribute *a = name ? ft_attribute(in->op, name) : NULL;
  const struct ft_tensor *t = slot < 0 ? NULL : ft_input(in, (unsigned)slot);
  int64_t count;

  if (a && a->type == FT_ATTRIBUTE_INTEGERS) {
    if (a->count > (size_t)room)
      return -2;
    for (size_t i = 0; i < a->count; i++)
      out[i] = ft_whole((double)a->integers[i]);
    return (int)a->count;
  }
  if (!t)
    return -1;
  if (ft_dim_is(ft_tensor_elements(t), 0))
    return 0;
  count = ft_value_count(t);
  if (count == 0 || count > room)
    return -2;
  for (int64_t i = 0; i < count; i++) {
    if (isnan(t->values[i]))
      return -2;
    out[i] = ft_whole(t->values[i]);
  }
  return (int)count;
}

static int infer_exhausted(struct ft_infer *in)
{
  return ft_error_set(in->err, "%s: its shapes need more than %d MiB, or memory is out",
                      in->graph->file, FT_LIMIT_GRAPH >> 20);
}

ft_dim *ft_shape(struct ft_infer *in, struct ft_tensor *tensor, int rank)
{
  if (rank > FT_GRAPH_RANK) {
    (void)ft_contradiction(in, "a result of more than %d dimensions", FT_GRAPH_RANK);
    return NULL;
  }
  tensor->dims = ft_arena_take(&in->graph->results, (size_t)(rank + 1) * sizeof *tensor->dims);
  if (!tensor->dims) {
    tensor->rank = -1;
    (void)infer_exhausted(in);
    return NULL;
  }
  tensor->rank = rank;
  tensor->values = NULL;
  tensor->sequence = NULL;
  for (int i = 0; i < rank; i++)
    tensor->dims[i] = FT_DIM_UNKNOWN;
  return tensor->dims;
}

/* Sets the error for an output of SIZE along DIMENSION. Returns -1. */
static int refuse_dimension(struct ft_infer *in, int64_t size, int dimension)
{
  return ft_contradiction(in, "a result of %lld along dimension %d: expected 0 to 2^40",
                          (long long)size, dimension);
}

int ft_set_dims(struct ft_infer *in, struct ft_tensor *tensor, int at, const int64_t *sizes,
                int count)
{
  for (int i = 0; i < count; i++) {
    if (sizes[i] < -1)
      return refuse_dimension(in, sizes[i], at + i);
    tensor->dims[at + i] = ft_dim_of(sizes[i]);
  }
  return 0;
}

int ft_like(struct ft_infer *in, struct ft_tensor *tensor, const struct ft_tensor *from)
{
  ft_dim *dims;

  if (!from || from->rank < 0)
    return 0;
  dims = ft_shape(in, tensor, from->rank);
  if (!dims)
    return -1;
  memcpy(dims, from->dims, (size_t)from->rank * sizeof *dims);
  return 0;
}

int64_t ft_value_count(const struct ft_tensor *tensor)
{
  return tensor && tensor->values ? ft_dim_or(ft_tensor_elements(tensor), 0) : 0;
}

double *ft_values(struct ft_infer *in, struct ft_tensor *tensor)
{
  int64_t count;
  double *values;

  if (in->work > WORK || !ft_dim_get(ft_tensor_elements(tensor), &count) || count > FT_GRAPH_VALUES)
    return NULL;
  values = ft_arena_take(&in->graph->results, (size_t)(count + 1) * sizeof *values);
  if (!values) {
    in->exhausted = true;
    return NULL;
  }
  in->work += (uint64_t)count + 1;
  for (int64_t i = 0; i < count; i++)
    values[i] = NAN;
  tensor->values = values;
  return values;
}

void ft_step_overlap(const struct ft_tensor *x, int64_t *steps)
{
  ft_dim step = ft_dim_of(1);

  for (int i = x->rank - 1; i >= 0; i--) {
    steps[i] = ft_dim_or(step, 0);
    step = ft_dim_times(step, x->dims[i]);
  }
}

void ft_copy_values(struct ft_infer *in, struct ft_tensor *y, const struct ft_tensor *x,
                    int64_t from, const int64_t *steps)
{
  double *values = x->values ? ft_values(in, y) : NULL;

  for (int64_t i = 0, n = values ? ft_value_count(y) : 0; i < n; i++) {
    int64_t rest = i, at = from;

    for (int j = y->rank - 1; j >= 0; j--) {
      int64_t size = ft_dim_or(y->dims[j], 1);

      at += rest % size * steps[j];
      rest /= size;
    }
    values[i] = x->values[at];
  }
}

int ft_axis(struct ft_infer *in, int64_t axis, int rank)
{
  if (axis < -rank || axis >= rank)
    return ft_contradiction(in, "axis %lld of %d dimensions", (long long)axis, rank);
  return (int)(axis < 0 ? axis + rank : axis);
}

int ft_mark_axes(struct ft_infer *in, const int64_t *axes, int count, int rank, bool *marked)
{
  for (int i = 0; i < count; i++) {
    int axis = ft_axis(in, axes[i], rank);

    if (axis < 0)
      return -1;
    marked[axis] = true;
  }
  return 0;
}

int ft_contradiction(struct ft_infer *in, const char *format, ...)
{
  char text[256];
  va_list args;

  va_start(args, format);
  (void)vsnprintf(text, sizeof text, format, args);
  va_end(args);
  return ft_error_set(in->err, "%s: %.80s%sbyte %llu: %.40s \"%.80s\": %s", in->graph->file,
                      in->part ? in->part : "", in->part ? ": " : "",
                      (unsigned long long)in->op->at, in->op->type, in->op->name, text);
}

/* ---- input sizes (--input) ---- */

static int bind_dimension_name(struct ft_infer *in, const char *name, ft_dim value)
{
  if (!FT_ROWS_ROW(in->bindings, in->binding_count, name) &&
      in->binding_count < sizeof in->bindings / sizeof *in->bindings)
    in->bindings[in->binding_count++] = (struct ft_binding){ name, value };
  return 0;
}

static ft_dim bound_value(const struct ft_infer *in, const char *name)
{
  const struct ft_binding *bound =
      name && name[0] ? FT_ROWS_ROW(in->bindings, in->binding_count, name) : NULL;

  return bound ? bound->value : FT_DIM_UNKNOWN;
}

/* Parses "3x512x512" into DIMS. Returns the rank; 0 for "batch"; -1 if TEXT is malformed. */
static int parse_dims(struct ft_text text, ft_dim *dims)
{
  int count = 0;
  uint64_t value;

  if (ft_text_equals(text, "batch"))
    return 0;
  while (count < FT_GRAPH_RANK) {
    if (!ft_text_u64(&text, (uint64_t)FT_GRAPH_DIMENSION, &value) || value == 0)
      return -1;
    dims[count++] = ft_dim_of((int64_t)value);
    if (ft_text_left(&text) == 0)
      return count;
    if (!ft_text_skip(&text, "x"))
      return -1;
  }
  return -1;
}

static bool piece_name(struct ft_text *piece, struct ft_text *name)
{
  struct ft_text rest = *piece;

  *name = ft_text_of("", 0);
  if (!memchr(piece->at, '=', ft_text_left(piece)))
    return false;
  (void)ft_text_until(&rest, '=', name);
  *piece = rest;
  return true;
}

/* Binds the symbolic dimension NAME of a graph input to VALUE. Returns false if none has NAME. */
static bool bind_symbol(struct ft_infer *in, struct ft_text name, ft_dim value)
{
  const struct ft_block *block = &in->graph->block;

  for (uint32_t i = 0; i < block->input_count; i++) {
    const struct ft_declared *d = in->graph->tensors[block->inputs[i]].declared;

    for (int j = 0; d && d->symbols && j < d->rank; j++)
      if (d->symbols[j] && ft_text_equals(name, d->symbols[j]))
        return bind_dimension_name(in, d->symbols[j], value) == 0;
  }
  return false;
}

/* Parses the part of --input for the input NAME. A part without a name is for the FIRST input.
 * Returns the number of sizes; -1 if there is no such part. */
static int given_dims(const struct ft_infer *in, const char *name, bool first, ft_dim *dims)
{
  struct ft_text list = ft_text_from(in->sizes->input), piece, called;
  int found = -1;

  while (ft_text_until(&list, ',', &piece)) {
    bool named = piece_name(&piece, &called);

    if (named ? ft_text_equals(called, name) : first)
      found = parse_dims(piece, dims);
  }
  return found;
}

/* Checks that each part of --input is well-formed and names an input or a symbolic dimension.
 * Returns 0; -1 with the error. */
static int check_sizes(struct ft_infer *in)
{
  struct ft_text list = ft_text_from(in->sizes->input), piece, called;
  const struct ft_block *block = &in->graph->block;
  ft_dim dims[FT_GRAPH_RANK];

  while (ft_text_until(&list, ',', &piece)) {
    bool named = piece_name(&piece, &called), known = !named;
    int count = parse_dims(piece, dims);

    if (count < 0)
      return ft_error_set(in->err, "%s=%.120s: expected sizes such as 3x224x224, or batch",
                          ft_graph_input_option(in->sizes), in->sizes->input);
    for (uint32_t i = 0; i < block->input_count; i++)
      known = known || ft_text_equals(called, in->graph->tensors[block->inputs[i]].name);
    if (!known && count == 1)
      known = bind_symbol(in, called, dims[0]);
    if (!known)
      return ft_error_set(in->err, "%s=%.120s: %s has no input or dimension \"%.*s\"",
                          ft_graph_input_option(in->sizes), in->sizes->input, in->graph->file,
                          (int)ft_text_left(&called), called.at);
  }
  return 0;
}

/* Whether the symbol names the batch dimension. */
static bool names_batch(const char *symbol)
{
  return symbol && (strncasecmp(symbol, "batch", 5) == 0 || strcmp(symbol, "N") == 0);
}

/* Returns the index of the batch dimension: by its symbol, otherwise 0. */
static int batch_dimension(const struct ft_declared *d)
{
  for (int i = 0; d && d->symbols && i < d->rank; i++)
    if (names_batch(d->symbols[i]))
      return i;
  return 0;
}

/* Sets an input's shape from --input, otherwise from the file. An unknown batch dimension becomes
 * the batch size. Returns 0; -1 with the error if a dimension stays unknown. */
static int set_input(struct ft_infer *in, struct ft_tensor *t, bool first)
{
  const struct ft_declared *d = t->declared;
  ft_dim given[FT_GRAPH_RANK];
  int count = given_dims(in, t->name, first, given), rank = d ? d->rank : -1;
  int batch = batch_dimension(d);
  char most[64] = "";

  in->feed = (struct ft_operator){ .type = "input", .name = t->name, .at = d ? d->at : 0 };
  in->op = &in->feed;
  t->data = true;
  t->element = d ? d->element : FT_ELEMENT_UNKNOWN;
  if (rank < 0)
    rank = count >= 0 ? count + 1 : -1;
  if (rank < 0)
    return 0;
  if (count >= 0 && count != rank && count != rank - 1)
    return ft_contradiction(in, "%s gives %d sizes, it has %d dimensions and a batch",
                            ft_graph_input_option(in->sizes), count, rank - 1);
  if (!ft_shape(in, t, rank))
    return -1;
  for (int i = 0; i < rank; i++) {
    const char *symbol = d && d->symbols && i < d->rank ? d->symbols[i] : NULL;
    bool named = symbol && symbol[0];
    ft_dim dim = d && i < d->rank ? d->dims[i] : FT_DIM_UNKNOWN;

    if (count == rank)
      dim = given[i];
    else if (count > 0 && i != batch)
      dim = given[i - (i > batch)];
    else if (!ft_dim_known(dim))
      dim = bound_value(in, symbol);
    if (!ft_dim_known(dim) && i == batch)
      dim = ft_dim_of(in->sizes->batch);
    if (!ft_dim_known(dim)) {
      if (in->graph->max_tokens > 0)
        (void)snprintf(most, sizeof most, ", at most %lld (max_position_embeddings)",
                       (long long)in->graph->max_tokens);
      return ft_contradiction(in, "its dimension %d (%s) is open: give it with %s%s%.60s%s%s", i,
                              named ? symbol : "no name", ft_graph_input_option(in->sizes),
                              named ? "=" : "", named ? symbol : "", named ? "=N" : "", most);
    }
    t->dims[i] = dim;
    if (symbol && symbol[0])
      (void)bind_dimension_name(in, symbol, dim);
  }
  return 0;
}

int ft_infer_inputs(struct ft_infer *in)
{
  const struct ft_block *block = &in->graph->block;

  if (check_sizes(in) < 0)
    return -1;
  for (uint32_t i = 0; i < block->input_count; i++)
    if (set_input(in, &in->graph->tensors[block->inputs[i]], i == 0) < 0)
      return -1;
  return 0;
}

/* ---- the graph ---- */

/* Clears all shapes and values but the constants'. */
static int reset_shapes(struct ft_infer *in)
{
  struct ft_graph *g = in->graph;

  ft_arena_free(&g->results);
  for (uint32_t i = 0; i < g->tensor_count; i++) {
    struct ft_tensor *t = &g->tensors[i];
    const struct ft_declared *c = t->constant;

    t->dims = c ? c->dims : NULL;
    t->rank = c ? c->rank : -1;
    t->values = c ? c->values : NULL;
    t->sequence = NULL;
    t->element = c ? c->element : FT_ELEMENT_UNKNOWN;
    t->data = false;
  }
  return 0;
}

/* Fills unknown dimensions of an output from the file's declared shape. */
static int use_declared_shape(struct ft_infer *in, struct ft_tensor *t)
{
  const struct ft_declared *d = t->declared;

  if (!d || d->rank < 0)
    return 0;
  if (t->element == FT_ELEMENT_UNKNOWN)
    t->element = d->element;
  if (t->rank >= 0 && t->rank != d->rank)
    return 0;
  if (t->rank < 0 && !ft_shape(in, t, d->rank))
    return -1;
  for (int i = 0; i < d->rank; i++)
    if (!ft_dim_known(t->dims[i]))
      t->dims[i] = ft_dim_known(d->dims[i]) ? d->dims[i]
                                            : bound_value(in, d->symbols ? d->symbols[i] : NULL);
  return 0;
}

/* Completes an output after its rule ran: declared shape, type, limits on its dimensions. Returns
 * 0; -1 with the error. */
static int infer_output_type(struct ft_infer *in, struct ft_tensor *t)
{
  int64_t count = 1;

  if (!ft_dim_known(ft_tensor_elements(t)) && use_declared_shape(in, t) < 0)
    return -1;
  if (t->element == FT_ELEMENT_UNKNOWN && in->op->input_count && ft_input(in, 0))
    t->element = ft_input(in, 0)->element;
  t->data = in->op->data;
  for (int i = 0; i < t->rank; i++) {
    int64_t size = ft_dim_or(t->dims[i], 1);

    if (size > FT_GRAPH_DIMENSION)
      return refuse_dimension(in, size, i);
    count = ft_known_times(count, size ? size : 1);
    if (count > FT_GRAPH_ELEMENTS)
      return ft_contradiction(in, "a result of more than 2^50 elements");
  }
  if (!ft_dim_known(ft_tensor_elements(t)))
    in->op->resolved = false;
  return 0;
}

int ft_infer_operator(struct ft_infer *in, struct ft_operator *op)
{
  int status;

  in->op = op;
  op->resolved = true;
  op->data = false;
  op->trip_count = 1;
  for (uint32_t i = 0; i < op->input_count; i++)
    op->data = op->data || in->graph->tensors[op->inputs[i]].data;
  for (uint32_t i = 0; i < op->capture_count; i++)
    op->data = op->data || in->graph->tensors[op->captures[i]].data;
  if (ft_operator_has(op, FT_OPERATOR_READS_SHAPE))
    op->data = false;
  status = op->kind ? op->kind->infer(in) : 0;
  if (in->exhausted)
    return infer_exhausted(in);
  if (status < 0)
    return -1;
  in->op = op;
  for (uint32_t i = 0; i < op->output_count; i++)
    if (op->outputs[i] && infer_output_type(in, &in->graph->tensors[op->outputs[i]]) < 0)
      return -1;
  return 0;
}

int ft_infer_block(struct ft_infer *in, struct ft_block *block)
{
  for (uint32_t i = 0; i < block->operator_count; i++)
    if (ft_infer_operator(in, &block->operators[i]) < 0)
      return -1;
  return 0;
}

int ft_graph_infer(struct ft_graph *graph, const struct ft_graph_sizes *sizes, struct ft_error *err)
{
  struct ft_infer in = { .graph = graph, .sizes = sizes, .err = err };

  if (sizes->batch < 1 || sizes->batch > FT_GRAPH_DIMENSION)
    return ft_error_set(err, "a batch of %lld: expected 1 or more", (long long)sizes->batch);
  if (graph->expand) {
    ft_arena_free(&graph->results);
    return graph->expand(&in);
  }
  if (reset_shapes(&in) < 0 || ft_infer_inputs(&in) < 0)
    return -1;
  return ft_infer_block(&in, &graph->block);
}
