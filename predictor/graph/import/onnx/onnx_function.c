/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inlines the functions that an ONNX model defines. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "predictor/core/text.h"
#include "predictor/graph/import/onnx/onnx_function.h"

/* Limits against hostile files: operators after inlining, nested calls. */
enum { OPERATORS = 1 << 20, DEPTH = 32 };

struct inlining {
  struct ft_build *build;
  const struct ft_onnx_function *functions;
  size_t count, calls, total;
  struct ft_operator *operators; /* the operators with calls replaced */
  size_t operator_count, operator_room;
};

static const struct ft_onnx_function *find_onnx_function(const struct inlining *in,
                                                         const struct ft_operator *op)
{
  for (size_t i = 0; i < in->count; i++) {
    const char *domain = in->functions[i].domain;

    if (strcmp(in->functions[i].name, op->type) == 0 && strcmp(domain, op->domain) == 0)
      return &in->functions[i];
  }
  return NULL;
}

static int append_inlined(struct inlining *in, const struct ft_operator *op)
{
  struct ft_operator *list =
      ft_build_grow(in->build, in->operators, &in->operator_room, in->operator_count, sizeof *list);

  if (++in->total > OPERATORS)
    return ft_error_set(in->build->err,
                        "%s: byte %llu: functions of more than %d operators when inlined",
                        in->build->graph->file, (unsigned long long)op->at, OPERATORS);
  if (!list)
    return -1;
  in->operators = list;
  list[in->operator_count++] = *op;
  return 0;
}

/* Returns the name by which call number CALL replaces NAME in the function F: the caller's name of
 * an input or output, else a new name. */
static int rename_one(struct inlining *in, const struct ft_onnx_function *f,
                      const struct ft_operator *caller, size_t call, uint32_t *name)
{
  char text[FT_GRAPH_NAME];
  int length;

  if (!*name)
    return 0;
  for (size_t i = 0; i < f->output_count; i++)
    if (f->outputs[i] == *name && i < caller->output_count && caller->outputs[i]) {
      *name = caller->outputs[i];
      return 0;
    }
  for (size_t i = 0; i < f->input_count; i++)
    if (f->inputs[i] == *name) {
      *name = i < caller->input_count ? caller->inputs[i] : 0;
      return 0;
    }
  length = snprintf(text, sizeof text, "%.2000s/%zu/%.2000s", caller->name, call,
                    ft_build_text(in->build, *name));
  *name = ft_build_name(in->build, text, length > 0 ? (size_t)length : 0);
  return *name == UINT32_MAX ? -1 : 0;
}

static uint32_t *rename_all(struct inlining *in, const struct ft_onnx_function *f,
                            const struct ft_operator *caller, size_t call, const uint32_t *names,
                            uint32_t count)
{
  uint32_t *renamed = ft_build_take(in->build, (count + 1) * sizeof *renamed);

  if (!renamed)
    return NULL;
  for (uint32_t i = 0; i < count; i++) {
    renamed[i] = names[i];
    if (rename_one(in, f, caller, call, &renamed[i]) < 0)
      return NULL;
  }
  return renamed;
}

/* Gives each attribute that refers to an attribute of F the value in the call, or F's default. */
static int bind_attributes(struct inlining *in, const struct ft_onnx_function *f,
                           const struct ft_operator *caller, struct ft_operator *op)
{
  struct ft_attribute *list = ft_build_take(in->build, (op->attribute_count + 1) * sizeof *list);
  uint32_t kept = 0;

  if (!list)
    return -1;
  for (uint32_t i = 0; i < op->attribute_count; i++) {
    const struct ft_attribute *a = &op->attributes[i], *given;

    list[kept] = *a;
    if (a->reference) {
      given = FT_ROWS_ROW(caller->attributes, caller->attribute_count, a->reference);
      given = given ? given : FT_ROWS_ROW(f->attributes, f->attribute_count, a->reference);
      if (!given)
        continue;
      list[kept] = *given;
      list[kept].name = a->name;
    }
    kept++;
  }
  op->attributes = list;
  op->attribute_count = kept;
  return 0;
}

static bool has_blocks(const struct ft_onnx_function *f)
{
  for (size_t i = 0; i < f->operator_count; i++)
    for (uint32_t j = 0; j < f->operators[i].attribute_count; j++)
      if (f->operators[i].attributes[j].type == FT_ATTRIBUTE_BLOCK)
        return true;
  return false;
}

static int expand_call(struct inlining *in, const struct ft_operator *op, int depth)
{
  const struct ft_onnx_function *f = find_onnx_function(in, op);
  size_t call = in->calls;

  /* a function with branches is not inlined; its call is reported as an unknown operator */
  if (!f || has_blocks(f))
    return append_inlined(in, op);
  if (depth == DEPTH)
    return ft_error_set(in->build->err,
                        "%s: byte %llu: function %.100s: calls nested more than %d deep",
                        in->build->graph->file, (unsigned long long)op->at, f->name, DEPTH);
  in->calls++;
  for (size_t i = 0; i < f->operator_count; i++) {
    struct ft_operator inner = f->operators[i];

    inner.inputs = rename_all(in, f, op, call, inner.inputs, inner.input_count);
    inner.outputs = rename_all(in, f, op, call, inner.outputs, inner.output_count);
    if (!inner.inputs || !inner.outputs || bind_attributes(in, f, op, &inner) < 0)
      return -1;
    if (!inner.name[0])
      inner.name = op->name;
    if (expand_call(in, &inner, depth + 1) < 0)
      return -1;
  }
  return 0;
}

static int inline_block(struct inlining *in, struct ft_block *block, int depth)
{
  struct inlining own = *in;
  uint32_t count = block->operator_count;
  int status = 0;

  own.operators = NULL;
  own.operator_count = own.operator_room = 0;
  for (uint32_t i = 0; status == 0 && i < count; i++) {
    struct ft_operator *op = &block->operators[i];

    for (uint32_t j = 0; status == 0 && j < op->attribute_count; j++)
      if (op->attributes[j].type == FT_ATTRIBUTE_BLOCK && depth < FT_GRAPH_DEPTH) {
        status = inline_block(&own, op->attributes[j].block, depth + 1);
      }
    status = status == 0 ? expand_call(&own, op, 0) : status;
  }
  in->calls = own.calls;
  in->total = own.total;
  if (status < 0)
    return -1;
  in->build->graph->operator_count += (uint32_t)own.operator_count - count;
  block->operators = own.operators;
  block->operator_count = (uint32_t)own.operator_count;
  return 0;
}

int ft_onnx_inline(struct ft_build *build, struct ft_block *block,
                   const struct ft_onnx_function *functions, size_t count)
{
  struct inlining in = { .build = build, .functions = functions, .count = count };

  return count ? inline_block(&in, block, 0) : 0;
}
