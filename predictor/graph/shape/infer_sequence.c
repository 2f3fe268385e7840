/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Shape rules of ONNX sequences and optionals, and of operators on text and encoded images. A
 * sequence is a one-dimensional tensor with the elements of all its tensors; struct ft_sequence has
 * their shapes.
 */
#include "config.h"

#include <math.h>
#include <string.h>

#include "predictor/graph/shape/infer.h"

/* Most tensors of a sequence whose shapes are tracked one by one; a longer sequence has only the
 * shape that all share. */
enum { ITEMS = 256 };

static const struct ft_sequence *sequence_of(const struct ft_tensor *t)
{
  return t ? t->sequence : NULL;
}

static ft_dim elements_of(const struct ft_sized *s)
{
  return s->rank < 0 ? FT_DIM_UNKNOWN : ft_dim_product(s->dims, s->rank);
}

static struct ft_sized shape_of(const struct ft_tensor *t)
{
  return (struct ft_sized){ .rank = t ? t->rank : -1, .dims = t ? t->dims : NULL };
}

/* Allocates SIZE bytes in the arena of results. Returns NULL if memory is exhausted. */
static void *allocate_result(struct ft_infer *in, size_t size)
{
  void *memory = ft_arena_take(&in->graph->results, size);

  in->exhausted |= !memory;
  return memory;
}

/* Sets *A to the common shape of A and B; dimensions that differ become unknown. */
static int unite_shapes(struct ft_infer *in, struct ft_sized *a, const struct ft_sized *b)
{
  ft_dim *dims;

  if (a->rank < 0 || a->rank != b->rank) {
    a->rank = -1;
    return 0;
  }
  dims = allocate_result(in, (size_t)(a->rank + 1) * sizeof *dims);
  if (!dims)
    return -1;
  for (int i = 0; i < a->rank; i++)
    dims[i] = ft_dim_equal(a->dims[i], b->dims[i]) ? a->dims[i] : FT_DIM_UNKNOWN;
  a->dims = dims;
  return 0;
}

/* Makes Y a sequence of COUNT tensors, with the shapes ITEMS (COUNT of them) or, if ITEMS is NULL,
 * with the shape EACH. Returns 0 or -1. */
static int set_sequence(struct ft_infer *in, struct ft_tensor *y, ft_dim count,
                        const struct ft_sized *items, struct ft_sized each)
{
  struct ft_sequence *s = allocate_result(in, sizeof *s);
  int64_t n = items ? ft_dim_or(count, 0) : 0;
  ft_dim sum = ft_dim_of(0);

  if (!s || !ft_shape(in, y, 1))
    return -1;
  *s = (struct ft_sequence){ .count = count, .each = each };
  if (items && n <= ITEMS) {
    struct ft_sized *kept = allocate_result(in, (size_t)(n + 1) * sizeof *kept);

    if (!kept)
      return -1;
    memcpy(kept, items, (size_t)n * sizeof *kept);
    s->items = kept;
  }
  for (int64_t i = 0; i < n; i++) {
    sum = ft_dim_plus(sum, elements_of(&items[i]));
    if (i == 0)
      s->each = items[0];
    else if (unite_shapes(in, &s->each, &items[i]) < 0)
      return -1;
  }
  y->dims[0] = items || ft_dim_is(count, 0) ? sum : ft_dim_times(count, elements_of(&each));
  y->sequence = s;
  return 0;
}

/* Returns the position in input I, counted from the end of COUNT tensors if negative; LAST if the
 * input is absent; unknown if its value is unknown or outside 0 to LAST. */
static ft_dim position_of(const struct ft_infer *in, unsigned i, ft_dim count, ft_dim last)
{
  const struct ft_tensor *t = ft_input(in, i);
  int64_t at, n, most;

  if (!t)
    return last;
  if (ft_value_count(t) != 1 || isnan(t->values[0]) || !ft_dim_get(count, &n))
    return FT_DIM_UNKNOWN;
  at = ft_whole(t->values[0]);
  at = at < 0 ? at + n : at;
  return ft_dim_get(last, &most) && at <= most ? ft_dim_of(at) : FT_DIM_UNKNOWN;
}

int ft_infer_sequence_construct(struct ft_infer *in)
{
  struct ft_sized items[ITEMS], each = shape_of(ft_input(in, 0));
  unsigned count = in->op->input_count;

  for (unsigned i = 0; i < count && i < ITEMS; i++)
    items[i] = shape_of(ft_input(in, i));
  for (unsigned i = 1; count > ITEMS && i < count; i++) {
    struct ft_sized next = shape_of(ft_input(in, i));

    if (unite_shapes(in, &each, &next) < 0)
      return -1;
  }
  return set_sequence(in, ft_output(in, 0), ft_dim_of(count), count > ITEMS ? NULL : items, each);
}

int ft_infer_sequence_empty(struct ft_infer *in)
{
  int64_t element = ft_integer(in->op, "dtype", FT_ELEMENT_FLOAT);
  struct ft_tensor *y = ft_output(in, 0);

  y->element = element >= 0 && element <= FT_ELEMENT_LAST ? (uint8_t)element : FT_ELEMENT_UNKNOWN;
  return set_sequence(in, y, ft_dim_of(0), NULL, (struct ft_sized){ .rank = -1 });
}

/* SequenceInsert(sequence, tensor, position), SequenceErase(sequence, position). If the position or
 * the shapes are unknown, the result has only a count and the shape that all share. */
int ft_infer_sequence_change(struct ft_infer *in)
{
  bool more = ft_operator_is(in->op, FT_OP_SequenceInsert);
  const struct ft_sequence *s = sequence_of(ft_input(in, 0));
  struct ft_tensor *y = ft_output(in, 0);
  struct ft_sized items[ITEMS + 1], added = shape_of(ft_input(in, 1)), each;
  const ft_dim one = ft_dim_of(1);
  ft_dim count;
  int64_t at, n;

  if (!s)
    return 0;
  each = s->each;
  count = more ? ft_dim_plus(s->count, one) : ft_dim_minus(s->count, one);
  if (!more && ft_dim_is(s->count, 0))
    return ft_contradiction(in, "nothing to take out of a sequence");
  if (more && ft_input(in, 1) && !y->element)
    y->element = ft_input(in, 1)->element;
  if (!ft_dim_get(position_of(in, more ? 2 : 1, s->count, more ? s->count : count), &at) ||
      !ft_dim_get(count, &n) || n > ITEMS || (!ft_dim_is(s->count, 0) && !s->items)) {
    if (more && ft_dim_is(s->count, 0))
      each = added;
    else if (more && unite_shapes(in, &each, &added) < 0)
      return -1;
    return set_sequence(in, y, count, NULL, each);
  }
  for (int64_t i = 0, j = 0; i < n; i++) {
    j += !more && i == at;
    items[i] = more && i == at ? added : s->items[j];
    j += !more || i != at;
  }
  return set_sequence(in, y, count, items, each);
}

int ft_infer_sequence_at(struct ft_infer *in)
{
  const struct ft_sequence *s = sequence_of(ft_input(in, 0));
  struct ft_tensor *y = ft_output(in, 0), from;
  int64_t at;

  if (!s)
    return 0;
  from = (struct ft_tensor){ .rank = s->each.rank, .dims = s->each.dims };
  if (ft_input(in, 1) && s->items &&
      ft_dim_get(position_of(in, 1, s->count, ft_dim_minus(s->count, ft_dim_of(1))), &at))
    from = (struct ft_tensor){ .rank = s->items[at].rank, .dims = s->items[at].dims };
  return ft_like(in, y, &from);
}

int ft_infer_sequence_length(struct ft_infer *in)
{
  const struct ft_sequence *s = sequence_of(ft_input(in, 0));
  struct ft_tensor *y = ft_output(in, 0);
  double *values;
  int64_t count;

  y->element = FT_ELEMENT_INT64;
  if (!ft_shape(in, y, 0))
    return -1;
  values = s && ft_dim_get(s->count, &count) ? ft_values(in, y) : NULL;
  if (values)
    values[0] = (double)count;
  return 0;
}

/* Sets the output to COUNT parts of X, of SIZES along AXIS. Returns 0 or -1. */
static int split_tensor(struct ft_infer *in, const struct ft_tensor *x, int axis,
                        const int64_t *sizes, int count)
{
  size_t rank = (size_t)x->rank;
  ft_dim *dims = allocate_result(in, (size_t)count * rank * sizeof *dims);
  struct ft_sized items[ITEMS];

  if (!dims)
    return -1;
  for (int i = 0; i < count; i++, dims += rank) {
    if (sizes[i] < 0)
      return ft_contradiction(in, "a piece of %lld", (long long)sizes[i]);
    items[i] = (struct ft_sized){ .rank = x->rank, .dims = dims };
    memcpy(dims, x->dims, rank * sizeof *dims);
    dims[axis] = ft_dim_of(sizes[i]);
  }
  return set_sequence(in, ft_output(in, 0), ft_dim_of(count), items, items[0]);
}

/* SplitToSequence: parts of the sizes in input 1, of its one size (the last part may be smaller),
 * or of 1 if it is absent. */
int ft_infer_split_to_sequence(struct ft_infer *in)
{
  const struct ft_tensor *x = ft_input(in, 0), *split = ft_input(in, 1);
  struct ft_sized each = { .rank = -1 };
  int64_t sizes[ITEMS], size = 1, all;
  ft_dim count = FT_DIM_UNKNOWN, *dims;
  int axis, given = -1;

  if (!x || x->rank < 1)
    return 0;
  axis = ft_axis(in, ft_integer(in->op, "axis", 0), x->rank);
  if (axis < 0)
    return -1;
  if (split) {
    given = ft_list(in, NULL, 1, sizes, ITEMS);
    if (given > 0 && split->rank == 1)
      return split_tensor(in, x, axis, sizes, given);
    size = given == 1 && split->rank == 0 ? sizes[0] : 0;
  }
  if (size > 0)
    count = ft_dim_divide(ft_dim_plus(x->dims[axis], ft_dim_of(size - 1)), size);
  dims = allocate_result(in, (size_t)(x->rank + 1) * sizeof *dims);
  if (!dims)
    return -1;
  each = (struct ft_sized){ .rank = x->rank, .dims = dims };
  memcpy(dims, x->dims, (size_t)x->rank * sizeof *dims);
  dims[axis] = size > 0 && ft_dim_get(x->dims[axis], &all) && all % size == 0 ? ft_dim_of(size)
                                                                              : FT_DIM_UNKNOWN;
  if (!split && ft_integer(in->op, "keepdims", 1) == 0) {
    memmove(dims + axis, dims + axis + 1, (size_t)(x->rank - axis - 1) * sizeof *dims);
    each.rank--;
  }
  if (set_sequence(in, ft_output(in, 0), count, NULL, each) < 0)
    return -1;
  ft_output(in, 0)->dims[0] = ft_tensor_elements(x); /* for any split */
  return 0;
}

int ft_infer_concat_from_sequence(struct ft_infer *in)
{
  const struct ft_sequence *s = sequence_of(ft_input(in, 0));
  bool new_axis = ft_integer(in->op, "new_axis", 0) != 0;
  struct ft_tensor *y = ft_output(in, 0);
  ft_dim sum = ft_dim_of(0);
  int axis, rank;

  if (!s || s->each.rank < 0)
    return 0;
  rank = s->each.rank + new_axis;
  axis = ft_axis(in, ft_integer(in->op, "axis", 0), rank);
  if (axis < 0 || !ft_shape(in, y, rank))
    return -1;
  for (int i = 0, j = 0; i < rank; i++)
    if (i != axis || !new_axis)
      y->dims[i] = s->each.dims[j++];
  if (new_axis) {
    y->dims[axis] = s->count;
    return 0;
  }
  for (int64_t i = 0; s->items && i < ft_dim_or(s->count, 0); i++)
    sum = ft_dim_plus(sum, s->items[i].dims[axis]);
  y->dims[axis] = s->items ? sum : ft_dim_times(s->count, s->each.dims[axis]);
  return 0;
}

int ft_infer_sequence_each(struct ft_infer *in, const struct ft_tensor *from, struct ft_tensor *to)
{
  const struct ft_sequence *s = sequence_of(from);
  struct ft_tensor each = { .rank = s ? s->each.rank : -1, .dims = s ? s->each.dims : NULL };

  to->element = from ? from->element : FT_ELEMENT_UNKNOWN;
  return ft_like(in, to, &each);
}

int ft_infer_sequence_of(struct ft_infer *in, struct ft_tensor *to, const struct ft_tensor *each,
                         ft_dim count)
{
  to->element = each->element;
  return set_sequence(in, to, count, NULL, shape_of(each));
}

/* An empty optional has no elements. */
static int set_empty_optional(struct ft_infer *in, struct ft_tensor *y)
{
  if (!ft_shape(in, y, 1))
    return -1;
  y->dims[0] = ft_dim_of(0);
  return 0;
}

/* Optional(x), OptionalGetElement(x): x itself */
int ft_infer_optional(struct ft_infer *in)
{
  const struct ft_tensor *x = ft_input(in, 0);
  struct ft_tensor *y = ft_output(in, 0);

  if (!x)
    return set_empty_optional(in, y);
  y->element = x->element;
  if (ft_like(in, y, x) < 0)
    return -1;
  y->values = x->values;
  y->sequence = x->sequence;
  return 0;
}

/* OptionalHasElement: false without an input; unknown with one, which may be empty. */
int ft_infer_optional_has(struct ft_infer *in)
{
  const struct ft_tensor *x = ft_input(in, 0);
  struct ft_tensor *y = ft_output(in, 0);
  double *values;

  y->element = FT_ELEMENT_BOOL;
  if (!ft_shape(in, y, 0))
    return -1;
  values = x ? NULL : ft_values(in, y);
  if (values)
    values[0] = 0;
  return 0;
}

/* ---- text ---- */

/* StringSplit: substrings along a new last dimension of unknown size; their number per string. */
int ft_infer_string_split(struct ft_infer *in)
{
  const struct ft_tensor *x = ft_input(in, 0);
  struct ft_tensor *y = ft_output(in, 0);

  if (!x || x->rank < 0)
    return 0;
  if (!ft_shape(in, y, x->rank + 1))
    return -1;
  memcpy(y->dims, x->dims, (size_t)x->rank * sizeof *y->dims);
  ft_output(in, 1)->element = FT_ELEMENT_INT64;
  return ft_like(in, ft_output(in, 1), x);
}

/* Stop words are removed, so their attribute makes the length unknown. */
int ft_infer_string_normalizer(struct ft_infer *in)
{
  struct ft_tensor *y = ft_output(in, 0);

  if (ft_like(in, y, ft_input(in, 0)) < 0)
    return -1;
  if (y->rank > 0 && ft_attribute(in->op, "stopwords"))
    y->dims[y->rank - 1] = FT_DIM_UNKNOWN;
  return 0;
}

int ft_infer_match(struct ft_infer *in)
{
  ft_output(in, 0)->element = FT_ELEMENT_BOOL;
  return ft_like(in, ft_output(in, 0), ft_input(in, 0));
}

/* TfIdfVectorizer: the last dimension has one element for each index in ngram_indexes. */
int ft_infer_tf_idf(struct ft_infer *in)
{
  const struct ft_attribute *a = ft_attribute(in->op, "ngram_indexes");
  struct ft_tensor *y = ft_output(in, 0);
  int64_t most = -1;

  y->element = FT_ELEMENT_FLOAT;
  if (ft_like(in, y, ft_input(in, 0)) < 0)
    return -1;
  if (y->rank == 0)
    return ft_contradiction(in, "expected words in a row, found one");
  if (y->rank < 0)
    return 0;
  for (size_t i = 0; a && a->type == FT_ATTRIBUTE_INTEGERS && i < a->count; i++)
    most = a->integers[i] > most && a->integers[i] < FT_GRAPH_DIMENSION ? a->integers[i] : most;
  y->dims[y->rank - 1] = most < 0 ? FT_DIM_UNKNOWN : ft_dim_of(most + 1);
  return 0;
}

/* ImageDecoder: (rows, columns, channels); rows and columns depend on data. */
int ft_infer_image(struct ft_infer *in)
{
  const struct ft_attribute *a = ft_attribute(in->op, "pixel_format");
  struct ft_tensor *y = ft_output(in, 0);
  bool grey;

  y->element = FT_ELEMENT_UINT8;
  if (!ft_shape(in, y, 3))
    return -1;
  grey = a && a->type == FT_ATTRIBUTE_STRING && strcmp(a->string, "Grayscale") == 0;
  y->dims[2] = ft_dim_of(grey ? 1 : 3);
  return 0;
}
