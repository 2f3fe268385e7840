/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A TorchScript program followed with the sizes of its inputs: numbers are computed, tensors become
 * operators. Of a branch whose condition depends on data both sides are kept, a loop whose turns do
 * is kept as one.
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/core/text.h"
#include "predictor/graph/torchscript.h"

enum { CALLS = 150, STEPS = 1 << 22, TURNS = 100000, LEVELS = 12, IMAGES = 1024 };

struct run {
  struct ft_live live;
  const struct ft_script *script;
  const struct ft_values *constants;
  int depth;
  uint32_t steps;
  struct pair *pairs; /* tensors of two branches that become one */
  size_t pair_count, pair_room;
};

struct pair {
  uint32_t a, b; /* 0: of one branch alone */
};

struct frame {
  const struct ft_script_function *function;
  struct ft_operand *variables;
  bool *set;
  struct ft_operand result;
};

enum { GOES_ON, RETURNED };

static int fail(struct run *r, const char *format, const char *what)
{
  return ft_error_set(r->live.in->err, "%s: %s: byte %llu: %s%.200s", r->live.graph->file,
                      r->live.in->part ? r->live.in->part : "", (unsigned long long)r->live.at,
                      format, what);
}

static int evaluate(struct run *r, struct frame *f, const struct ft_script_node *n,
                    struct ft_operand *value);
static int call_function(struct run *r, const struct ft_script_function *function,
                         const struct ft_operand *args, const char *const *keys, size_t count,
                         struct ft_operand *result);

/* ---- calls ---- */

static const char *last_part(const char *path)
{
  const char *dot = strrchr(path, '.');

  return dot ? dot + 1 : path;
}

/* "ops.vision.warp" is no operator of ATen's: it keeps its namespace. */
static const char *operator_name(struct run *r, const char *path)
{
  static const char *const namespaces[] = { "ops.prim.", "ops.aten.", "ops.torchvision.", "torch.",
                                            NULL };

  for (size_t i = 0; namespaces[i]; i++)
    if (strncmp(path, namespaces[i], strlen(namespaces[i])) == 0)
      return last_part(path);
  return ft_live_format(&r->live, "%.200s", strncmp(path, "ops.", 4) == 0 ? path + 4 : path);
}

static int call_operator(struct run *r, const char *path, const struct ft_operand *args,
                         const char *const *keys, size_t count, unsigned expected,
                         struct ft_operand *result)
{
  struct ft_call call = { .l = &r->live, .args = args, .keys = keys, .count = count,
                          .outputs = expected };

  call.name = operator_name(r, path);
  if (strcmp(call.name, "RaiseException") == 0)
    return fail(r, "the network refuses these inputs: ",
                count && args[0].type == FT_VALUE_STRING ? args[0].string : "");
  if (ft_aten(&call) < 0)
    return r->live.in->err->text[0] ? -1 : fail(r, "cannot be followed: ", call.name);
  *result = call.result;
  return 0;
}

static int make_object(struct run *r, const char *path, size_t length, struct ft_operand *result)
{
  *result = (struct ft_operand){ .type = FT_VALUE_OBJECT };
  result->object = ft_live_take(&r->live, sizeof *result->object);
  if (!result->object)
    return -1;
  result->object->type = ft_live_text(&r->live, path, length);
  result->object->path = "";
  return result->object->type ? 0 : -1;
}

/* What is called by its name: an operator, a function, a class. */
static int call_name(struct run *r, const char *path, const struct ft_operand *args,
                     const char *const *keys, size_t count, unsigned expected,
                     struct ft_operand *result)
{
  size_t length = strlen(path);
  const struct ft_script_function *function;

  if (strncmp(path, "torch.", 6) == 0 || strncmp(path, "ops.", 4) == 0)
    return call_operator(r, path, args, keys, count, expected, result);
  if (length > 8 && strcmp(path + length - 8, ".__new__") == 0)
    return make_object(r, path, length - 8, result);
  function = ft_script_function(r->script, path);
  if (function)
    return call_function(r, function, args, keys, count, result);
  if (ft_script_class(r->script, path)) { /* a NamedTuple */
    *result = ft_value_list(&r->live, FT_VALUE_TUPLE, args, count);
    return r->live.failed ? -1 : 0;
  }
  return call_operator(r, path, args, keys, count, expected, result);
}

static int call_method(struct run *r, struct ft_object *self, const char *method,
                       struct ft_operand *args, const char *const *keys, size_t count,
                       struct ft_operand *result)
{
  const struct ft_script_function *function =
      ft_script_function(r->script, ft_live_format(&r->live, "%s.%s", self->type, method));
  const char *scope = r->live.scope;
  int status;

  if (!function)
    return fail(r, "nothing defines ", ft_live_format(&r->live, "%s.%s", self->type, method));
  args[0] = (struct ft_operand){ .type = FT_VALUE_OBJECT, .object = self };
  if (self->path && self->path[0])
    r->live.scope = self->path;
  status = call_function(r, function, args, keys, count, result);
  r->live.scope = scope;
  return status;
}

/* ---- what the language itself has ---- */

static int convert(struct run *r, const char *name, struct ft_operand *value)
{
  struct ft_call call = { .l = &r->live, .args = value, .count = 1, .name = "item" };
  int truth;

  if (ft_value_is_tensor(value)) {
    if (value->type == FT_VALUE_WEIGHT)
      *value = ft_value_some(FT_VALUE_REAL);
    else if (ft_aten(&call) < 0)
      return -1;
    else
      *value = call.result;
  }
  if (strcmp(name, "bool") == 0) {
    truth = ft_value_truth(&r->live, value);
    *value = truth < 0 ? ft_value_some(FT_VALUE_BOOL) : ft_value_bool(truth == 1);
  } else if (strcmp(name, "float") == 0) {
    *value = ft_value_real(ft_value_number(value));
  } else if (value->type != FT_VALUE_INT) {
    double number = ft_value_number(value);

    *value = isnan(number) ? ft_value_some(FT_VALUE_INT) : ft_value_int(ft_whole(trunc(number)));
  }
  return 0;
}

static bool named(const struct ft_script_node *n, const char *name)
{
  return n->path && strcmp(n->path, name) == 0;
}

/* Whether VALUE is of the type that is written: 1, 0; -1 not known. */
static int is_instance(const struct run *r, const struct ft_operand *value,
                       const struct ft_script_node *type)
{
  static const struct {
    const char *name;
    uint8_t type;
  } types[] = { { "int", FT_VALUE_INT },     { "float", FT_VALUE_REAL }, { "bool", FT_VALUE_BOOL },
                { "str", FT_VALUE_STRING },  { "List", FT_VALUE_LIST },  { "list", FT_VALUE_LIST },
                { "Tuple", FT_VALUE_TUPLE }, { "tuple", FT_VALUE_TUPLE }, { "Dict", FT_VALUE_DICT },
                { "NoneType", FT_VALUE_NONE } };
  const struct ft_script_node *base = type->kind == FT_SCRIPT_INDEX ? type->kids[0] : type;

  (void)r;
  if (type->kind == FT_SCRIPT_TUPLE || type->kind == FT_SCRIPT_LIST) {
    for (size_t i = 0; i < type->count; i++)
      if (type->kids[i]->kind != FT_SCRIPT_TUPLE && is_instance(r, value, type->kids[i]) == 1)
        return 1;
    return 0;
  }
  if (value->type == FT_VALUE_OPAQUE)
    return -1;
  if (named(base, "Tensor"))
    return ft_value_is_tensor(value);
  for (size_t i = 0; i < sizeof types / sizeof *types; i++)
    if (named(base, types[i].name))
      return value->type == types[i].type;
  return value->type == FT_VALUE_OBJECT && base->path
             ? strcmp(value->object->type, base->path) == 0
             : 0;
}

static int attribute(struct run *r, const struct ft_operand *of, const char *name,
                     const struct ft_script_node *n, struct ft_operand *value);

/* 1: no such thing here. */
static int built_in(struct run *r, struct frame *f, const char *name,
                    const struct ft_script_node *n, struct ft_operand *value)
{
  const struct ft_script_node *const *args = (const struct ft_script_node *const *)n->kids + 1;
  size_t count = n->count - 1;
  int truth;

  if ((strcmp(name, "annotate") == 0 || strcmp(name, "unchecked_cast") == 0) && count == 2)
    return evaluate(r, f, args[1], value);
  if (strcmp(name, "uninitialized") == 0) {
    *value = ft_value_none();
    return 0;
  }
  if (strcmp(name, "isinstance") == 0 && count == 2) {
    if (evaluate(r, f, args[0], value) < 0)
      return -1;
    truth = is_instance(r, value, args[1]);
    *value = truth < 0 ? ft_value_some(FT_VALUE_BOOL) : ft_value_bool(truth);
    return 0;
  }
  if (count == 0)
    return 1;
  if (strcmp(name, "getattr") == 0 && count == 2 && args[1]->value.type == FT_VALUE_STRING) {
    struct ft_operand of;

    return evaluate(r, f, args[0], &of) < 0
               ? -1
               : attribute(r, &of, args[1]->value.string, NULL, value);
  }
  if (strcmp(name, "int") == 0 || strcmp(name, "float") == 0 || strcmp(name, "bool") == 0)
    return evaluate(r, f, args[0], value) < 0 ? -1 : convert(r, name, value);
  if (strcmp(name, "str") == 0 || strcmp(name, "print") == 0) {
    if (evaluate(r, f, args[0], value) < 0)
      return -1;
    if (value->type != FT_VALUE_STRING)
      *value = ft_value_string("");
    return 0;
  }
  return 1;
}

/* ---- expressions ---- */

/* "layer1" of the network is "layer1", "0" of that is "layer1.0". */
static const char *path_below(struct run *r, const struct ft_object *object, const char *name)
{
  return object->path && object->path[0] ? ft_live_format(&r->live, "%s.%s", object->path, name)
                                         : name;
}

static bool is_buffer(const struct run *r, const char *type, const char *name)
{
  const struct ft_script_class *class = ft_script_class(r->script, type);

  for (size_t i = 0; class && i < class->buffer_count; i++)
    if (strcmp(class->buffers[i], name) == 0)
      return true;
  return false;
}

static int attribute(struct run *r, const struct ft_operand *of, const char *name,
                     const struct ft_script_node *n, struct ft_operand *value)
{
  const struct ft_script_class *class;
  struct ft_operand *field;

  if (of->type == FT_VALUE_NAME) {
    *value = *of;
    value->string = n && n->path && n->kids[0]->path && strcmp(n->kids[0]->path, of->string) == 0
                        ? n->path
                        : ft_live_format(&r->live, "%s.%s", of->string, name);
    return 0;
  }
  *value = ft_value_some(FT_VALUE_OPAQUE);
  if (of->type != FT_VALUE_OBJECT)
    return 0;
  field = ft_object_field(of->object, name);
  class = field ? NULL : ft_script_class(r->script, of->object->type);
  for (size_t i = 0; class && i < class->constant_count; i++)
    if (strcmp(class->constants[i].name, name) == 0)
      *value = class->constants[i].value;
  if (!field)
    return 0;
  if (field->type == FT_VALUE_OBJECT && !field->object->path)
    field->object->path = path_below(r, of->object, name);
  if (field->type == FT_VALUE_WEIGHT && !field->weight->name[0]) {
    field->weight->name = path_below(r, of->object, name);
    field->weight->declared.kept = is_buffer(r, of->object->type, name);
  }
  *value = *field;
  return 0;
}

static int index_of(struct run *r, const struct ft_operand *of, const struct ft_operand *at,
                    struct ft_operand *value)
{
  struct ft_operand args[2] = { *of, *at };
  struct ft_call call = { .l = &r->live, .args = args, .count = 2, .name = "__getitem__" };
  int status;

  *value = ft_value_some(FT_VALUE_OPAQUE);
  if (of->type != FT_VALUE_LIST && of->type != FT_VALUE_TUPLE && of->type != FT_VALUE_DICT)
    return 0;
  status = ft_aten_number(&call);
  if (status == 0)
    *value = call.result;
  else if (status > 0 && at->known)
    return fail(r, "an element that is not there", "");
  return status < 0 ? -1 : 0;
}

/* The arguments of a call, place 0 left free for self. */
static int arguments(struct run *r, struct frame *f, const struct ft_script_node *n,
                     struct ft_operand **args, const char ***keys)
{
  bool any = false;

  *args = ft_live_take(&r->live, n->count * sizeof **args);
  *keys = ft_live_take(&r->live, n->count * sizeof **keys);
  if (!*args || !*keys)
    return -1;
  for (size_t i = 1; i < n->count; i++) {
    if (evaluate(r, f, n->kids[i], &(*args)[i]) < 0)
      return -1;
    (*keys)[i] = n->kids[i]->key;
    any = any || (*keys)[i];
  }
  if (!any)
    *keys = NULL;
  return 0;
}

static int call(struct run *r, struct frame *f, const struct ft_script_node *n, unsigned expected,
                struct ft_operand *value)
{
  const struct ft_script_node *callee = n->kids[0];
  struct ft_operand of, *args;
  const char **keys;
  bool method = callee->kind == FT_SCRIPT_ATTRIBUTE;
  int status;

  if (evaluate(r, f, method ? callee->kids[0] : callee, &of) < 0)
    return -1;
  if (!method && of.type == FT_VALUE_NAME) {
    status = built_in(r, f, of.string, n, value);
    if (status <= 0)
      return status;
  }
  if (arguments(r, f, n, &args, &keys) < 0)
    return -1;
  if (method && of.type == FT_VALUE_OBJECT)
    return call_method(r, of.object, callee->text, args, keys, n->count, value);
  if (method && attribute(r, &of, callee->text, callee, &of) < 0)
    return -1;
  if (of.type == FT_VALUE_NAME)
    return call_name(r, of.string, args + 1, keys ? keys + 1 : NULL, n->count - 1, expected, value);
  *value = ft_value_some(FT_VALUE_OPAQUE);
  return 0;
}

static int gather(struct run *r, struct frame *f, const struct ft_script_node *n, uint8_t type,
                  struct ft_operand *value)
{
  struct ft_operand item;

  *value = ft_value_list(&r->live, type, NULL, 0);
  for (size_t i = 0; value->type == type && i < n->count; i++)
    if (evaluate(r, f, n->kids[i], &item) < 0 ||
        ft_value_append(&r->live, value->list, item) < 0)
      return -1;
  return r->live.failed ? -1 : 0;
}

/* CONSTANTS.c3 */
static bool is_constant(struct run *r, const struct ft_script_node *n, struct ft_operand *value)
{
  struct ft_text digits;
  uint64_t which;

  if (!n->path || strncmp(n->path, "CONSTANTS.c", 11) != 0 || !r->constants)
    return false;
  digits = ft_text_from(n->path + 11);
  if (!ft_text_u64(&digits, UINT32_MAX, &which) || ft_text_left(&digits) ||
      which >= r->constants->count)
    return false;
  *value = r->constants->items[which];
  if (value->type == FT_VALUE_WEIGHT && value->weight->declared.rank == 0 &&
      value->weight->declared.values) {
    double number = value->weight->declared.values[0];

    *value = ft_element_is_real(value->weight->declared.element) ? ft_value_real(number)
                                                                 : ft_value_int(ft_whole(number));
    return true;
  }
  if (value->type == FT_VALUE_WEIGHT && !value->weight->name[0]) {
    value->weight->name = n->path;
    value->weight->declared.kept = value->weight->declared.rank == 0;
  }
  return true;
}

static int evaluate(struct run *r, struct frame *f, const struct ft_script_node *n,
                    struct ft_operand *value)
{
  struct ft_operand of, at;

  switch (n->kind) {
  case FT_SCRIPT_VALUE:
    *value = n->value;
    return 0;
  case FT_SCRIPT_NAME:
    if (f && n->slot < f->function->slots && f->set[n->slot])
      *value = f->variables[n->slot];
    else
      *value = (struct ft_operand){ .type = FT_VALUE_NAME, .known = true, .string = n->text };
    return 0;
  case FT_SCRIPT_LIST:
    return gather(r, f, n, FT_VALUE_LIST, value);
  case FT_SCRIPT_TUPLE:
    return gather(r, f, n, FT_VALUE_TUPLE, value);
  case FT_SCRIPT_DICT:
    return gather(r, f, n, FT_VALUE_DICT, value);
  case FT_SCRIPT_CALL:
    return call(r, f, n, 1, value);
  case FT_SCRIPT_ATTRIBUTE:
    if (is_constant(r, n, value))
      return 0;
    return evaluate(r, f, n->kids[0], &of) < 0 ? -1 : attribute(r, &of, n->text, n, value);
  default:
    if (n->count != 2)
      return fail(r, "expected one index", "");
    return evaluate(r, f, n->kids[0], &of) < 0 || evaluate(r, f, n->kids[1], &at) < 0
               ? -1
               : index_of(r, &of, &at, value);
  }
}

/* ---- statements ---- */

static int run_body(struct run *r, struct frame *f, const struct ft_script_body *body);

static int assign(struct run *r, struct frame *f, const struct ft_script_node *target,
                  struct ft_operand value)
{
  struct ft_operand of;

  switch (target->kind) {
  case FT_SCRIPT_NAME:
    f->variables[target->slot] = value;
    f->set[target->slot] = true;
    return 0;
  case FT_SCRIPT_TUPLE:
    if (value.type != FT_VALUE_LIST && value.type != FT_VALUE_TUPLE) {
      /* several results of something that is not followed */
      for (size_t i = 0; i < target->count; i++)
        if (assign(r, f, target->kids[i],
                   ft_value_is_tensor(&value) ? value : ft_value_some(FT_VALUE_OPAQUE)) < 0)
          return -1;
      return 0;
    }
    if (value.list->count < target->count)
      return fail(r, "fewer values than names", "");
    for (size_t i = 0; i < target->count; i++)
      if (assign(r, f, target->kids[i], value.list->items[i]) < 0)
        return -1;
    return 0;
  case FT_SCRIPT_ATTRIBUTE:
    if (evaluate(r, f, target->kids[0], &of) < 0)
      return -1;
    return of.type == FT_VALUE_OBJECT ? ft_object_set(&r->live, of.object, target->text, value) : 0;
  default:
    return 0;
  }
}

/* ---- branches that depend on data ---- */

struct fork {
  struct ft_operand *variables;
  bool *set;
};

static int copy_variables(struct run *r, const struct frame *f, struct fork *to)
{
  size_t n = f->function->slots;

  to->variables = ft_live_take(&r->live, (n + 1) * sizeof *to->variables);
  to->set = ft_live_take(&r->live, (n + 1) * sizeof *to->set);
  if (!to->variables || !to->set)
    return -1;
  memcpy(to->variables, f->variables, n * sizeof *to->variables);
  memcpy(to->set, f->set, n * sizeof *to->set);
  return 0;
}

static bool identical(const struct ft_operand *a, const struct ft_operand *b)
{
  return a->type == b->type && a->known == b->known && a->integer == b->integer;
}

/* A tensor that will be the branches' result: its number among the pairs, marked as computed. */
static int pair_up(struct run *r, uint32_t a, uint32_t b, struct ft_operand *value)
{
  struct pair *pairs = ft_live_grow(&r->live, r->pairs, &r->pair_room, r->pair_count, sizeof *pairs);

  if (!pairs)
    return -1;
  r->pairs = pairs;
  *value = ft_value_tensor((uint32_t)r->pair_count);
  value->computed = true;
  pairs[r->pair_count++] = (struct pair){ a, b };
  return 0;
}

static int merge(struct run *r, const struct ft_operand *a, const struct ft_operand *b, int level,
                 struct ft_operand *value)
{
  bool lists = (a->type == FT_VALUE_LIST || a->type == FT_VALUE_TUPLE) && a->type == b->type;
  struct ft_operand item;

  *value = *a;
  if (identical(a, b))
    return 0;
  if (a->type == FT_VALUE_TENSOR || b->type == FT_VALUE_TENSOR)
    return pair_up(r, a->type == FT_VALUE_TENSOR ? a->tensor : 0,
                   b->type == FT_VALUE_TENSOR ? b->tensor : 0, value);
  if (ft_value_is_number(a) && a->type == b->type) {
    *value = ft_value_some(a->type);
    return 0;
  }
  if (!lists || a->list->count != b->list->count || level == 0) {
    if (a->type == FT_VALUE_NONE)
      *value = *b;
    else if (b->type != FT_VALUE_NONE && !lists)
      *value = a->type == b->type ? *a : ft_value_some(FT_VALUE_OPAQUE);
    return 0;
  }
  *value = ft_value_list(&r->live, a->type, NULL, 0);
  for (size_t i = 0; value->type == a->type && i < a->list->count; i++)
    if (merge(r, &a->list->items[i], &b->list->items[i], level - 1, &item) < 0 ||
        ft_value_append(&r->live, value->list, item) < 0)
      return -1;
  return r->live.failed ? -1 : 0;
}

/* Put the results, which begin at FIRST, in the place of their numbers. */
static void settle(struct ft_operand *value, uint32_t first, int level)
{
  if (value->type == FT_VALUE_TENSOR && value->computed)
    *value = ft_value_tensor(first + value->tensor);
  if ((value->type == FT_VALUE_LIST || value->type == FT_VALUE_TUPLE) && level)
    for (size_t i = 0; i < value->list->count; i++)
      settle(&value->list->items[i], first, level - 1);
}

static int give_shape(struct run *r, uint32_t to, const struct pair *p)
{
  struct ft_tensor *t = ft_live_of(&r->live, to);
  const struct ft_tensor *a = ft_live_of(&r->live, p->a ? p->a : p->b);
  const struct ft_tensor *b = ft_live_of(&r->live, p->b ? p->b : p->a);

  t->element = a->element;
  if (a->rank < 0 || a->rank != b->rank)
    return 0;
  if (ft_like(r->live.in, t, a) < 0)
    return -1;
  for (int i = 0; i < t->rank; i++)
    if (a->dims[i] != b->dims[i])
      t->dims[i] = -1;
  return 0;
}

static int end_block(struct run *r, struct ft_block *block, bool second)
{
  block->outputs = ft_live_take(&r->live, (r->pair_count + 1) * sizeof *block->outputs);
  if (!block->outputs)
    return -1;
  for (size_t i = 0; i < r->pair_count; i++) {
    uint32_t tensor = second ? r->pairs[i].b : r->pairs[i].a;

    if (tensor)
      block->outputs[block->output_count++] = tensor;
  }
  return 0;
}

/* Variables of both FORKS become those of F, tensors as results of the operator TYPE. */
static int join(struct run *r, struct frame *f, const char *type, uint32_t condition,
                struct fork forks[2], struct ft_block *const *blocks, unsigned count,
                int64_t turns)
{
  static const char *const branches[] = { "then_branch", "else_branch" };
  static const char *const bodies[] = { "body" };
  uint32_t first;

  r->pair_count = 0;
  for (size_t i = 0; i < f->function->slots; i++) {
    struct ft_operand merged = forks[forks[0].set[i] ? 0 : 1].variables[i];

    if (forks[0].set[i] && forks[1].set[i] &&
        merge(r, &forks[0].variables[i], &forks[1].variables[i], LEVELS, &merged) < 0)
      return -1;
    f->variables[i] = merged;
    f->set[i] = forks[0].set[i] || forks[1].set[i];
  }
  for (unsigned i = 0; i < count; i++)
    if (end_block(r, blocks[i], i == 1) < 0)
      return -1;
  first = ft_live_blocks(&r->live, type, condition, blocks, count == 2 ? branches : bodies, count,
                         (uint32_t)r->pair_count, turns);
  if (!first)
    return -1;
  for (size_t i = 0; i < r->pair_count; i++)
    if (give_shape(r, first + (uint32_t)i, &r->pairs[i]) < 0)
      return -1;
  for (size_t i = 0; i < f->function->slots; i++)
    settle(&f->variables[i], first, LEVELS);
  return GOES_ON;
}

/* BODY in a block of its own, from the variables in FORK on, which it changes. */
static int aside(struct run *r, struct frame *f, const struct ft_script_body *body,
                 struct fork *fork, struct ft_block **block)
{
  struct frame inner = *f;
  struct ft_live_frame frame;
  int status;

  inner.variables = fork->variables;
  inner.set = fork->set;
  if (ft_live_open(&r->live, &frame) < 0)
    return -1;
  status = run_body(r, &inner, body);
  ft_live_close(&r->live, &frame);
  *block = frame.block;
  return status < 0 ? -1 : 0;
}

static int either(struct run *r, struct frame *f, const struct ft_script_statement *s,
                  uint32_t condition)
{
  struct ft_block *blocks[2];
  struct fork forks[2];

  if (s->body->raises || s->otherwise->raises) /* a check of the data: it is taken to hold */
    return s->body->raises && s->otherwise->raises
               ? GOES_ON
               : run_body(r, f, s->body->raises ? s->otherwise : s->body);
  for (int i = 0; i < 2; i++)
    if (copy_variables(r, f, &forks[i]) < 0 ||
        aside(r, f, i ? s->otherwise : s->body, &forks[i], &blocks[i]) < 0)
      return -1;
  return join(r, f, "If", condition, forks, blocks, 2, 1);
}

static int some_turns(struct run *r, struct frame *f, const struct ft_script_statement *s)
{
  struct ft_block *block;
  struct fork forks[2];

  if (copy_variables(r, f, &forks[0]) < 0 || copy_variables(r, f, &forks[1]) < 0 ||
      aside(r, f, s->body, &forks[0], &block) < 0)
    return -1;
  return join(r, f, "Loop", 0, forks, &block, 1, -1);
}

static int condition(struct run *r, struct frame *f, const struct ft_script_statement *s)
{
  struct ft_operand value;
  int truth;

  if (evaluate(r, f, s->value, &value) < 0)
    return -1;
  truth = ft_value_truth(&r->live, &value);
  if (truth < 0)
    return either(r, f, s, value.type == FT_VALUE_TENSOR ? value.tensor : 0);
  return run_body(r, f, truth ? s->body : s->otherwise);
}

/* How often "for i in range(...)" turns; -1 not known. */
static int64_t range(struct run *r, struct frame *f, const struct ft_script_node *n,
                     int64_t *start, int64_t *step, int *status)
{
  int64_t numbers[3] = { 0, 0, 1 };
  struct ft_operand value;

  *status = 0;
  for (size_t i = 1; i < n->count && i < 4; i++) {
    *status = evaluate(r, f, n->kids[i], &value);
    if (*status < 0 || value.type != FT_VALUE_INT || !value.known)
      return -1;
    numbers[i - 1] = value.integer;
  }
  if (n->count == 2) {
    numbers[1] = numbers[0];
    numbers[0] = 0;
  }
  if (numbers[2] == 0 || numbers[1] > FT_GRAPH_DIMENSION || numbers[0] < -FT_GRAPH_DIMENSION ||
      numbers[0] > FT_GRAPH_DIMENSION || numbers[1] < -FT_GRAPH_DIMENSION)
    return -1;
  *start = numbers[0];
  *step = numbers[2];
  if ((numbers[2] > 0) != (numbers[1] > numbers[0]))
    return 0;
  return (numbers[1] - numbers[0] - (numbers[2] > 0 ? 1 : -1)) / numbers[2] + 1;
}

static int walk(struct run *r, struct frame *f, const struct ft_script_statement *s)
{
  const struct ft_script_node *n = s->value;
  bool ranged = n->kind == FT_SCRIPT_CALL && named(n->kids[0], "range");
  int64_t start = 0, step = 1, turns;
  struct ft_operand over = { 0 };
  int status = 0;

  if (ranged) {
    turns = range(r, f, n, &start, &step, &status);
  } else {
    status = evaluate(r, f, n, &over);
    turns = over.type == FT_VALUE_LIST || over.type == FT_VALUE_TUPLE ? (int64_t)over.list->count
                                                                      : -1;
  }
  if (status < 0)
    return -1;
  if (turns < 0 || turns > TURNS) {
    if (assign(r, f, s->target, ranged ? ft_value_some(FT_VALUE_INT) : ft_value_some(FT_VALUE_OPAQUE)) < 0)
      return -1;
    return some_turns(r, f, s);
  }
  for (int64_t i = 0; i < turns; i++) {
    if (assign(r, f, s->target, ranged ? ft_value_int(start + i * step) : over.list->items[i]) < 0)
      return -1;
    status = run_body(r, f, s->body);
    if (status != GOES_ON)
      return status;
    if (!ranged && over.list->count < (size_t)turns)
      break;
  }
  return GOES_ON;
}

static int repeat(struct run *r, struct frame *f, const struct ft_script_statement *s)
{
  struct ft_operand value;
  int truth, status;

  for (int i = 0; i < TURNS; i++) {
    if (evaluate(r, f, s->value, &value) < 0)
      return -1;
    truth = ft_value_truth(&r->live, &value);
    if (truth < 0)
      return some_turns(r, f, s);
    if (!truth)
      return GOES_ON;
    status = run_body(r, f, s->body);
    if (status != GOES_ON)
      return status;
  }
  return fail(r, "a loop that does not end", "");
}

static int run_statement(struct run *r, struct frame *f, const struct ft_script_statement *s)
{
  const struct ft_script_node *n = s->value;
  struct ft_operand value;
  unsigned expected;

  r->live.at = s->at;
  r->live.in->part = f->function->part;
  if (++r->steps > STEPS)
    return fail(r, "a program that does not end", "");
  switch (s->verb) {
  case FT_SCRIPT_IF:
    return condition(r, f, s);
  case FT_SCRIPT_FOR:
    return walk(r, f, s);
  case FT_SCRIPT_WHILE:
    return repeat(r, f, s);
  case FT_SCRIPT_RETURN:
    return evaluate(r, f, n, &f->result) < 0 ? -1 : RETURNED;
  case FT_SCRIPT_RUN:
    return evaluate(r, f, n, &value) < 0 ? -1 : GOES_ON;
  default:
    expected = s->target->kind == FT_SCRIPT_TUPLE ? (unsigned)s->target->count : 1;
    if (n->kind == FT_SCRIPT_CALL ? call(r, f, n, expected, &value) < 0
                                  : evaluate(r, f, n, &value) < 0)
      return -1;
    return assign(r, f, s->target, value) < 0 ? -1 : GOES_ON;
  }
}

static int run_body(struct run *r, struct frame *f, const struct ft_script_body *body)
{
  for (size_t i = 0; i < body->count; i++) {
    int status = run_statement(r, f, &body->statements[i]);

    if (status != GOES_ON)
      return status;
  }
  return GOES_ON;
}

/* Arguments by place and by key, defaults for the others. */
static int bind(struct run *r, struct frame *f, const struct ft_operand *args,
                const char *const *keys, size_t count)
{
  const struct ft_script_function *fn = f->function;

  for (size_t i = 0; i < fn->parameter_count; i++) {
    const struct ft_script_parameter *p = &fn->parameters[i];
    bool found = i < count && (!keys || !keys[i]);
    struct ft_operand value = found ? args[i] : ft_value_none();

    for (size_t j = 0; !found && keys && j < count; j++)
      if (keys[j] && strcmp(keys[j], p->name) == 0) {
        value = args[j];
        found = true;
      }
    if (!found && p->otherwise && evaluate(r, NULL, p->otherwise, &value) < 0)
      return -1;
    f->variables[p->slot] = value;
    f->set[p->slot] = true;
  }
  return 0;
}

static int call_function(struct run *r, const struct ft_script_function *function,
                         const struct ft_operand *args, const char *const *keys, size_t count,
                         struct ft_operand *result)
{
  struct frame f = { .function = function };
  const char *part = r->live.in->part;
  uint64_t at = r->live.at;
  int status;

  if (r->depth >= CALLS)
    return fail(r, "calls within each other too deep: ", function->name);
  f.variables = ft_live_take(&r->live, (function->slots + 1) * sizeof *f.variables);
  f.set = ft_live_take(&r->live, (function->slots + 1) * sizeof *f.set);
  if (!f.variables || !f.set || bind(r, &f, args, keys, count) < 0)
    return -1;
  r->depth++;
  status = run_body(r, &f, &function->body);
  r->depth--;
  if (status >= 0) {
    r->live.at = at;
    r->live.in->part = part;
  }
  *result = f.result;
  return status < 0 ? -1 : 0;
}

/* ---- the network ---- */

static bool asked_for(const struct ft_infer *in, const char *name)
{
  struct ft_text list = ft_text_from(in->sizes->input), piece;

  while (ft_text_until(&list, ',', &piece))
    if (ft_text_starts(piece, name) && ft_text_left(&piece) > strlen(name) &&
        piece.at[strlen(name)] == '=')
      return true;
  return false;
}

/* Tensors that forward takes are the network's inputs; of optional ones those that are asked for. */
static int declare_inputs(struct run *r, const struct ft_script_function *forward,
                          struct ft_operand *args)
{
  for (size_t i = 1; i < forward->parameter_count; i++) {
    const struct ft_script_parameter *p = &forward->parameters[i];
    bool optional = p->otherwise || strncmp(p->type, "Optional", 8) == 0;
    bool tensor = strstr(p->type, "Tensor") && !strstr(p->type, "Dict") && !strstr(p->type, "Tuple");
    struct ft_declared *d;

    args[i] = ft_value_some(FT_VALUE_OPAQUE);
    if (tensor && (!optional || asked_for(r->live.in, p->name))) {
      d = ft_live_take(&r->live, sizeof *d);
      if (!d)
        return -1;
      *d = (struct ft_declared){ .rank = -1, .at = 0 };
      args[i] = ft_value_tensor(ft_live_input(&r->live, p->name, d));
      if (!args[i].tensor)
        return -1;
    } else if (p->otherwise) {
      if (evaluate(r, NULL, p->otherwise, &args[i]) < 0)
        return -1;
    } else if (optional) {
      args[i] = ft_value_none();
    } else if (strcmp(p->type, "int") == 0) {
      args[i] = ft_value_some(FT_VALUE_INT);
    } else if (strcmp(p->type, "bool") == 0) {
      args[i] = ft_value_some(FT_VALUE_BOOL);
    }
  }
  return ft_infer_inputs(r->live.in);
}

/* A list of images is given as one tensor of them. */
static int take_apart(struct run *r, struct ft_operand *arg)
{
  struct ft_operand args[2] = { *arg, ft_value_int(0) };
  struct ft_call unbind = { .l = &r->live, .args = args, .count = 2, .name = "unbind" };
  const struct ft_tensor *t = ft_live_of(&r->live, arg->tensor);

  if (t->rank < 1 || t->dims[0] > IMAGES)
    return ft_live_fail(&r->live, "a list of %lld tensors: expected at most %d",
                        (long long)(t->rank < 1 ? 0 : t->dims[0]), IMAGES);
  if (ft_aten(&unbind) < 0)
    return -1;
  *arg = unbind.result;
  return 0;
}

static int check_inputs(struct run *r, const struct ft_script_function *forward,
                        struct ft_operand *args)
{
  for (size_t i = 1; i < forward->parameter_count; i++) {
    const struct ft_script_parameter *p = &forward->parameters[i];

    if (args[i].type != FT_VALUE_TENSOR)
      continue;
    if (ft_live_of(&r->live, args[i].tensor)->rank < 0)
      return ft_error_set(r->live.in->err,
                          "%s: the file does not say the size of its input \"%.100s\": give it "
                          "with --input, as in --input=%.100s=3x224x224",
                          r->live.graph->file, p->name, p->name);
    if (strstr(p->type, "List[") && take_apart(r, &args[i]) < 0)
      return -1;
  }
  return 0;
}

static int add_outputs(struct run *r, const struct ft_operand *value, int level)
{
  if (value->type == FT_VALUE_TENSOR)
    return ft_live_output(&r->live, value->tensor);
  if ((value->type == FT_VALUE_LIST || value->type == FT_VALUE_TUPLE ||
       value->type == FT_VALUE_DICT) &&
      level)
    for (size_t i = 0; i < value->list->count; i++)
      if (add_outputs(r, &value->list->items[i], level - 1) < 0)
        return -1;
  return 0;
}

static int read_constants(struct run *r, const struct ft_script *script)
{
  struct ft_operand value;

  if (!script->constants)
    return 0;
  if (ft_pickle_read(&r->live, script->constants_part, script->constants,
                     script->constants_length, script, &value) < 0)
    return -1;
  if (value.type == FT_VALUE_TUPLE || value.type == FT_VALUE_LIST)
    r->constants = value.list;
  return 0;
}

int ft_script_run(struct ft_infer *in)
{
  const struct ft_script *script = in->graph->program;
  const struct ft_script_function *forward;
  struct ft_operand network, *args, result;
  struct run *r = calloc(1, sizeof *r);
  int status = -1;

  if (!r)
    return ft_error_set(in->err, "%s: out of memory", in->graph->file);
  r->script = script;
  if (ft_live_begin(&r->live, in) < 0 ||
      ft_pickle_read(&r->live, script->data_part, script->data, script->data_length,
                     NULL, &network) < 0 ||
      read_constants(r, script) < 0)
    goto out;
  if (network.type != FT_VALUE_OBJECT) {
    (void)ft_error_set(in->err, "%s: %s: byte 0: expected a module", in->graph->file,
                       script->data_part);
    goto out;
  }
  network.object->path = "";
  forward = ft_script_function(script, ft_live_format(&r->live, "%s.forward", network.object->type));
  if (!forward || !forward->parameter_count) {
    (void)ft_error_set(in->err, "%s: its module %.200s has no forward()", in->graph->file,
                       network.object->type);
    goto out;
  }
  args = ft_live_take(&r->live, forward->parameter_count * sizeof *args);
  if (!args || declare_inputs(r, forward, args) < 0 || check_inputs(r, forward, args) < 0)
    goto out;
  args[0] = network;
  if (call_function(r, forward, args, NULL, forward->parameter_count, &result) < 0 ||
      add_outputs(r, &result, LEVELS) < 0)
    goto out;
  status = r->live.failed ? -1 : 0;
out:
  if (status < 0 && !in->err->text[0])
    (void)ft_error_set(in->err, "%s: its graph needs more memory than there is", in->graph->file);
  in->part = NULL;
  free(r);
  return status;
}
