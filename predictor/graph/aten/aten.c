/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ATen's operators by name, and how their arguments are read. */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/graph/aten/aten.h"

/* name, what carries it out, the type of ours that it becomes */
static const struct entry {
  const char *name;
  int (*run)(struct ft_call *c);
  const char *type;
} table[] = {
#include "predictor/graph/aten/aten_table.h"
};

static int compare(const void *key, const void *entry)
{
  return strcmp(key, ((const struct entry *)entry)->name);
}

/* By its name, or by that of the function that it is the in-place variant of. */
static const struct entry *find(const char *name)
{
  const struct entry *e =
      bsearch(name, table, sizeof table / sizeof *table, sizeof *table, compare);
  size_t length = strlen(name);
  char base[64];

  if (e || length < 2 || length > sizeof base || name[length - 1] != '_')
    return e;
  memcpy(base, name, length - 1);
  base[length - 1] = '\0';
  return bsearch(base, table, sizeof table / sizeof *table, sizeof *table, compare);
}

const char *ft_aten_type_of(const char *name)
{
  const struct entry *e = find(name);

  return e ? e->type : "";
}

const char *ft_aten_operator_at(size_t i, const char **type)
{
  if (i >= sizeof table / sizeof *table)
    return NULL;
  *type = table[i].type;
  return table[i].name;
}

const char *ft_aten_type(const struct ft_call *c)
{
  const struct entry *e = find(c->name);

  return e ? e->type : c->name;
}

static bool holds_tensor(const struct ft_operand *v, int depth)
{
  if (ft_value_is_tensor(v))
    return true;
  if ((v->type != FT_VALUE_LIST && v->type != FT_VALUE_TUPLE) || depth == 0)
    return false;
  for (size_t i = 0; i < v->list->count; i++)
    if (holds_tensor(&v->list->items[i], depth - 1))
      return true;
  return false;
}

static int add_tensors(struct ft_call *c, const struct ft_operand *v, int depth)
{
  uint32_t tensor;

  if (ft_value_is_tensor(v)) {
    tensor = ft_value_as_tensor(c->l, v);
    if (!tensor)
      return -1;
    ft_tracer_in(c->l, tensor);
  }
  if ((v->type == FT_VALUE_LIST || v->type == FT_VALUE_TUPLE) && depth)
    for (size_t i = 0; i < v->list->count; i++)
      if (add_tensors(c, &v->list->items[i], depth - 1) < 0)
        return -1;
  return 0;
}

int ft_aten_unknown(struct ft_call *c)
{
  char *name = ft_tracer_text(c->l, c->name, strlen(c->name));
  unsigned outputs = c->outputs ? c->outputs : 1;

  if (!name)
    return -1;
  ft_tracer_unknown(c->l, "aten", name);
  for (size_t i = 0; i < c->count; i++)
    if (add_tensors(c, &c->args[i], 3) < 0)
      return -1;
  return ft_give_many(c, ft_tracer_end(c->l, outputs), outputs);
}

static bool is_in_place(const char *name)
{
  size_t length = strlen(name);

  return length > 2 && name[length - 1] == '_' && name[length - 2] != '_';
}

int ft_aten(struct ft_call *c)
{
  const struct entry *e = find(c->name);
  bool tensors = false;
  int status;

  c->result = ft_value_none();
  for (size_t i = 0; i < c->count && !tensors; i++)
    tensors = holds_tensor(&c->args[i], 3);
  status = tensors ? 1 : ft_aten_number(c);
  if (status <= 0)
    return status;
  if (tensors) /* what asks for sizes or changes lists works with tensors among them too */
    status = ft_aten_number(c);
  if (status <= 0)
    return status;
  status = e ? e->run(c) : ft_aten_unknown(c);
  if (status < 0 && !c->l->in->err->text[0])
    return ft_tracer_fail(c->l, "%s: its arguments do not fit together", c->name);
  if (status == 0 && is_in_place(c->name) && c->count && c->args[0].type == FT_VALUE_TENSOR &&
      c->result.type == FT_VALUE_TENSOR && c->result.tensor != c->args[0].tensor)
    ft_aten_instead(c->l, c->args[0].tensor, c->result.tensor);
  return c->l->failed ? -1 : status;
}

/* ---- arguments ---- */

const struct ft_operand *ft_arg(const struct ft_call *c, unsigned i, const char *key)
{
  static const struct ft_operand none = { .type = FT_VALUE_NONE };

  if (i < c->count && (!c->keys || !c->keys[i]))
    return &c->args[i];
  for (size_t j = 0; key && c->keys && j < c->count; j++)
    if (c->keys[j] && strcmp(c->keys[j], key) == 0)
      return &c->args[j];
  return &none;
}

bool ft_arg_given(const struct ft_call *c, unsigned i, const char *key)
{
  return ft_arg(c, i, key)->type != FT_VALUE_NONE;
}

uint32_t ft_arg_tensor(const struct ft_call *c, unsigned i)
{
  const struct ft_operand *v = ft_arg(c, i, NULL);

  if (v->type != FT_VALUE_NONE)
    return ft_value_as_tensor(c->l, v);
  (void)ft_tracer_fail(c->l, "%s: expected a tensor as argument %u", c->name, i);
  return 0;
}

uint32_t ft_arg_maybe(const struct ft_call *c, unsigned i)
{
  return ft_arg_given(c, i, NULL) ? ft_arg_tensor(c, i) : 0;
}

/* The number of V; INT64_MIN where it is not known. */
static int64_t whole(const struct ft_tracer *l, const struct ft_operand *v)
{
  const struct ft_tensor *t = v->type == FT_VALUE_TENSOR ? ft_tracer_of(l, v->tensor) : NULL;
  double number = t && t->values && ft_tensor_elements(t) == 1 ? t->values[0] : (double)NAN;

  if (ft_value_is_number(v))
    number = ft_value_number(v);
  return isnan(number) ? INT64_MIN : ft_whole(number);
}

int64_t ft_arg_int(const struct ft_call *c, unsigned i, const char *key, int64_t otherwise)
{
  const struct ft_operand *v = ft_arg(c, i, key);

  return v->type == FT_VALUE_NONE ? otherwise : whole(c->l, v);
}

bool ft_arg_true(const struct ft_call *c, unsigned i, const char *key, bool otherwise)
{
  const struct ft_operand *v = ft_arg(c, i, key);

  return v->type == FT_VALUE_NONE ? otherwise : ft_value_truth(c->l, v) == 1;
}

int ft_arg_ints(const struct ft_call *c, unsigned i, const char *key, int64_t *out, int room)
{
  const struct ft_operand *v = ft_arg(c, i, key);
  const struct ft_tensor *t = v->type == FT_VALUE_TENSOR ? ft_tracer_of(c->l, v->tensor) : NULL;

  if (v->type == FT_VALUE_NONE)
    return 0;
  if (t && t->rank == 1) {
    int64_t n = ft_tensor_elements(t);

    if (!t->values || n < 0 || n > room)
      return -1;
    for (int64_t j = 0; j < n; j++)
      out[j] = isnan(t->values[j]) ? INT64_MIN : ft_whole(t->values[j]);
    return (int)n;
  }
  if (v->type != FT_VALUE_LIST && v->type != FT_VALUE_TUPLE) {
    out[0] = whole(c->l, v);
    return out[0] == INT64_MIN ? -1 : 1;
  }
  if (v->list->count > (size_t)room)
    return -1;
  for (size_t j = 0; j < v->list->count; j++) {
    out[j] = whole(c->l, &v->list->items[j]);
    if (out[j] == INT64_MIN)
      return -1;
  }
  return (int)v->list->count;
}

int ft_arg_each(const struct ft_call *c, unsigned i, const char *key, int n, int64_t otherwise,
                int64_t *out)
{
  int count = n < 1 || n > FT_GRAPH_RANK / 2 ? -1 : ft_arg_ints(c, i, key, out, n);

  if (count < 0 || (count > 1 && count != n))
    return ft_tracer_fail(c->l, "%s: expected %d numbers for argument %u", c->name, n, i);
  for (int j = count; j < n; j++)
    out[j] = count == 1 ? out[0] : otherwise;
  return 0;
}

int ft_arg_rank(const struct ft_call *c, unsigned i)
{
  const struct ft_operand *v = ft_arg(c, i, NULL);

  if (v->type == FT_VALUE_WEIGHT)
    return v->weight->declared.rank;
  return v->type == FT_VALUE_TENSOR ? ft_tracer_of(c->l, v->tensor)->rank : -1;
}

int ft_arg_axis(const struct ft_call *c, unsigned i, const char *key, int64_t otherwise, int rank)
{
  int64_t axis = ft_arg_int(c, i, key, otherwise);

  axis = axis < 0 && axis >= -rank ? axis + rank : axis;
  if (axis < 0 || axis >= rank)
    return ft_tracer_fail(c->l, "%s: dimension %lld of %d", c->name, (long long)axis, rank);
  return (int)axis;
}

/* ---- results ---- */

int ft_give(struct ft_call *c, uint32_t tensor)
{
  c->result = ft_value_tensor(tensor);
  return tensor ? 0 : -1;
}

int ft_give_many(struct ft_call *c, uint32_t first, unsigned count)
{
  if (!first || count == 1)
    return ft_give(c, first);
  c->result = ft_value_list(c->l, FT_VALUE_TUPLE, NULL, 0);
  for (unsigned i = 0; c->result.type == FT_VALUE_TUPLE && i < count; i++)
    if (ft_value_append(c->l, c->result.list, ft_value_tensor(first + i)) < 0)
      return -1;
  return c->l->failed ? -1 : 0;
}

int ft_give_first(struct ft_call *c, uint32_t tensor, unsigned more)
{
  if (ft_give(c, tensor) < 0)
    return -1;
  c->result = ft_value_list(c->l, FT_VALUE_TUPLE, &c->result, 1);
  for (unsigned i = 0; c->result.type == FT_VALUE_TUPLE && i < more; i++)
    if (ft_value_append(c->l, c->result.list, ft_value_some(FT_VALUE_OPAQUE)) < 0)
      return -1;
  return c->l->failed ? -1 : 0;
}

unsigned ft_aten_element(int64_t scalar_type)
{
  static const uint8_t elements[] = { 2, 3, 5, 6, 7, 10, 1, 11, 14, 14, 15, 9, 3, 2, 6, 16 };

  return scalar_type >= 0 && scalar_type < (int64_t)sizeof elements ? elements[scalar_type]
                                                                    : FT_ELEMENT_UNKNOWN;
}

/* ---- the plainest kinds ---- */

int ft_aten_unary(struct ft_call *c)
{
  uint32_t x = ft_arg_tensor(c, 0);

  return ft_give(c, x ? ft_tracer_unary(c->l, ft_aten_type(c), x) : 0);
}

enum { COMPLEX = 14 }; /* onnx.TensorProto.COMPLEX64 */

/* The wider of two element types, as far as it matters: a real number beside whole ones. */
static void promote(const struct ft_tracer *l, uint32_t y, uint32_t a, uint32_t b)
{
  struct ft_tensor *t = ft_tracer_of(l, y);
  const struct ft_tensor *p = ft_tracer_of(l, a), *q = ft_tracer_of(l, b);

  if (t->element == FT_ELEMENT_BOOL || !p->element || !q->element)
    return;
  if (q->element == COMPLEX || (!ft_element_is_real(p->element) && ft_element_is_real(q->element)))
    t->element = q->element;
  else if (p->element == FT_ELEMENT_BOOL && q->element != FT_ELEMENT_BOOL)
    t->element = q->element;
}

static int two(struct ft_call *c, uint32_t a, uint32_t b)
{
  const char *type = ft_aten_type(c);
  uint32_t y = a && b ? ft_tracer_binary(c->l, type, a, b) : 0;

  if (y)
    promote(c->l, y, a, b);
  if (y && strcmp(type, "Div") == 0 && !ft_arg_given(c, 2, "rounding_mode") &&
      !ft_element_is_real(ft_tracer_of(c->l, y)->element))
    ft_tracer_of(c->l, y)->element = FT_ELEMENT_FLOAT;
  return ft_give(c, y);
}

int ft_aten_binary(struct ft_call *c)
{
  return two(c, ft_arg_tensor(c, 0), ft_arg_tensor(c, 1));
}

/* rsub: the second less the first */
int ft_aten_scalar_left(struct ft_call *c)
{
  return two(c, ft_arg_tensor(c, 1), ft_arg_tensor(c, 0));
}

/* The first argument as it is: what makes no tensor of its own, or only in training. */
int ft_aten_same(struct ft_call *c)
{
  c->result = *ft_arg(c, 0, NULL);
  return 0;
}

/* Where nothing is dropped PyTorch gives its input (aten/src/ATen/native/Dropout.cpp). */
int ft_aten_dropout(struct ft_call *c)
{
  if (ft_arg_true(c, 2, "train", false) && ft_value_number(ft_arg(c, 1, "p")) != 0)
    return ft_aten_unary(c);
  return ft_aten_same(c);
}

int ft_aten_softmax(struct ft_call *c)
{
  uint32_t x = ft_arg_tensor(c, 0);
  int rank = x ? ft_tracer_of(c->l, x)->rank : -1, axis = -1;

  if (!x)
    return -1;
  if (rank > 0)
    axis = ft_arg_axis(c, 1, "dim", -1, rank);
  if (rank > 0 && axis < 0)
    return -1;
  ft_tracer_op(c->l, ft_aten_type(c));
  ft_tracer_in(c->l, x);
  ft_tracer_int(c->l, "axis", axis);
  return ft_give(c, ft_tracer_end(c->l, 1));
}

/* to(x, dtype), to(x, device, dtype), to(x, other), type_as(x, other), float(x), _to_copy(x) */
int ft_aten_to(struct ft_call *c)
{
  static const struct {
    const char *name;
    unsigned element;
  } named[] = { { "float", 1 }, { "half", 10 },     { "bfloat16", 16 }, { "double", 11 },
                { "long", 7 },  { "int", 6 },       { "bool", 9 },      { "_cast_Float", 1 },
                { "byte", 2 },  { "_cast_Long", 7 } };
  const struct ft_operand *dtype = ft_arg(c, 99, "dtype"), *v;
  uint32_t x = ft_arg_tensor(c, 0);
  unsigned element = 0;

  for (size_t i = 0; i < sizeof named / sizeof *named; i++)
    if (strcmp(c->name, named[i].name) == 0)
      element = named[i].element;
  for (unsigned i = 1; i < 3 && !element && dtype->type == FT_VALUE_NONE; i++) {
    v = ft_arg(c, i, NULL);
    if (ft_value_is_tensor(v))
      element = ft_tracer_of(c->l, ft_value_as_tensor(c->l, v))->element;
    else if (v->type == FT_VALUE_INT)
      dtype = v;
  }
  if (dtype->type == FT_VALUE_INT && dtype->known)
    element = ft_aten_element(dtype->integer);
  return ft_give(c, x ? ft_tracer_cast(c->l, x, element) : 0);
}
