/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Access to the attributes, inputs and results of one node, shared by all operators. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "predictor/core/text.h"
#include "predictor/graph/import/tensorflow/tensorflow_node.h"
#include "predictor/graph/import/tensorflow/tensorflow_run.h"

int ft_tf_fail(struct ft_tf_run *r, const struct ft_tf_node *n, const char *what)
{
  return ft_error_set(r->live.in->err, "%s: byte %llu: %.40s \"%.120s\": %s", r->live.graph->file,
                      (unsigned long long)n->at, n->op, n->name, what);
}

const struct ft_tf_attribute *ft_tf_attribute(const struct ft_tf_node *node, const char *key)
{
  return FT_ROWS_ROW(node->attributes, node->attribute_count, key);
}

int64_t ft_tf_integer(const struct ft_tf_node *node, const char *key, int64_t otherwise)
{
  const struct ft_tf_attribute *a = ft_tf_attribute(node, key);

  return a ? a->integer : otherwise;
}

const char *ft_tf_text(const struct ft_tf_node *node, const char *key, const char *otherwise)
{
  const struct ft_tf_attribute *a = ft_tf_attribute(node, key);

  return a ? a->text : otherwise;
}

int ft_tf_give(struct ft_tf_call *c, struct ft_operand value)
{
  struct ft_operand *out = ft_tracer_grow(c->l, c->out, &c->out_room, c->out_count, sizeof *out);

  if (!out)
    return -1;
  c->out = out;
  out[c->out_count++] = value;
  return 0;
}

const struct ft_operand *ft_tf_operand(const struct ft_tf_call *c, size_t i)
{
  static const struct ft_operand none = { .type = FT_VALUE_NONE };

  return i < c->in_count ? &c->in[i] : &none;
}

uint32_t ft_tf_tensor(struct ft_tf_call *c, size_t i)
{
  uint32_t t = ft_value_as_tensor(c->l, ft_tf_operand(c, i));

  if (!t && !c->l->in->err->text[0])
    (void)ft_tracer_fail(c->l, "%s \"%.100s\": input %zu is missing", c->node->op, c->node->name,
                         i);
  return t;
}

int ft_tf_give_tensor(struct ft_tf_call *c, uint32_t t)
{
  return t ? ft_tf_give(c, ft_value_tensor(t)) : -1;
}

int ft_tf_give_tensors(struct ft_tf_call *c, uint32_t first, uint32_t count)
{
  for (uint32_t i = 0; first && i < count; i++)
    if (ft_tf_give(c, ft_value_tensor(first + i)) < 0)
      return -1;
  return first ? 0 : -1;
}

struct ft_tensor *ft_tf_of(const struct ft_tf_call *c, uint32_t t)
{
  return ft_tracer_of(c->l, t);
}

int ft_tf_numbers(struct ft_tf_call *c, size_t i, int64_t *out, int room)
{
  const struct ft_operand *v = ft_tf_operand(c, i);
  const struct ft_tensor *t = v->type == FT_VALUE_TENSOR ? ft_tf_of(c, v->tensor) : NULL;
  int64_t count;

  if (!t || !ft_dim_get(ft_tensor_elements(t), &count) || count > room || (count && !t->values))
    return -1;
  for (int64_t j = 0; j < count; j++) {
    if (isnan(t->values[j]))
      return -1;
    out[j] = ft_whole(t->values[j]);
  }
  return (int)count;
}

bool ft_tf_is(const struct ft_tf_call *c, const char *op)
{
  return strcmp(c->node->op, op) == 0;
}

bool ft_tf_channels_first(const struct ft_tf_call *c)
{
  return strncmp(ft_tf_text(c->node, "data_format", "NHWC"), "NC", 2) == 0;
}

int ft_tf_begin(struct ft_tf_call *c, const char *type, size_t first, size_t last)
{
  uint32_t *in = ft_tracer_take(c->l, (c->in_count + 1) * sizeof *in);

  for (size_t i = first; in && i < last; i++) {
    in[i] = ft_tf_tensor(c, i);
    if (!in[i])
      return -1;
  }
  if (!in)
    return -1;
  ft_tracer_op(c->l, type);
  for (size_t i = first; i < last; i++)
    ft_tracer_in(c->l, in[i]);
  return 0;
}
