/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Expressions of a TorchScript program: values, attributes, calls of functions and operators. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "predictor/core/text.h"
#include "predictor/graph/import/torch/torchscript_run.h"
#include "predictor/graph/ir/symbol_table.h"

/* ---- calls ---- */

static const char *last_part(const char *path)
{
  const char *dot = strrchr(path, '.');

  return dot ? dot + 1 : path;
}

/* "ops.vision.warp" is no ATen operator and keeps its namespace. */
static const char *operator_of_path(struct ft_script_run *r, const char *path)
{
  static const char *const namespaces[] = { "ops.prim.", "ops.aten.", "ops.torchvision.", "torch.",
                                            NULL };

  for (size_t i = 0; namespaces[i]; i++)
    if (strncmp(path, namespaces[i], strlen(namespaces[i])) == 0)
      return last_part(path);
  return ft_tracer_format(&r->live, "%.200s", strncmp(path, "ops.", 4) == 0 ? path + 4 : path);
}

static int call_operator(struct ft_script_run *r, const char *path, const struct ft_operand *args,
                         const char *const *keys, size_t count, unsigned expected,
                         struct ft_operand *result)
{
  struct ft_call call = {
    .l = &r->live, .args = args, .keys = keys, .count = count, .outputs = expected
  };

  call.name = operator_of_path(r, path);
  if (strcmp(call.name, "RaiseException") == 0) {
    r->raised = true;
    return ft_script_fail(r, "the network raises an exception for these inputs: ",
                          count && args[0].type == FT_VALUE_STRING ? args[0].string : "");
  }
  if (ft_aten(&call) < 0)
    return r->live.in->err->text[0] ? -1 : ft_script_fail(r, "cannot be traced: ", call.name);
  *result = call.result;
  return 0;
}

static int construct_object(struct ft_script_run *r, const char *path, size_t length,
                            struct ft_operand *result)
{
  *result = (struct ft_operand){ .type = FT_VALUE_OBJECT };
  result->object = ft_tracer_take(&r->live, sizeof *result->object);
  if (!result->object)
    return -1;
  result->object->type = ft_tracer_text(&r->live, path, length);
  result->object->path = "";
  return result->object->type ? 0 : -1;
}

/* Calls PATH: an operator, a function or a class. */
static int call_name(struct ft_script_run *r, const char *path, const struct ft_operand *args,
                     const char *const *keys, size_t count, unsigned expected,
                     struct ft_operand *result)
{
  size_t length = strlen(path);
  const struct ft_script_function *function;

  if (strncmp(path, "torch.", 6) == 0 || strncmp(path, "ops.", 4) == 0)
    return call_operator(r, path, args, keys, count, expected, result);
  if (length > 8 && strcmp(path + length - 8, ".__new__") == 0)
    return construct_object(r, path, length - 8, result);
  function = ft_script_function(r->script, path);
  if (function)
    return ft_script_call(r, function, args, keys, count, result);
  if (ft_script_class(r->script, path)) { /* a NamedTuple */
    *result = ft_value_list(&r->live, FT_VALUE_TUPLE, args, count);
    return r->live.failed ? -1 : 0;
  }
  return call_operator(r, path, args, keys, count, expected, result);
}

static int call_method(struct ft_script_run *r, struct ft_object *self, const char *method,
                       struct ft_operand *args, const char *const *keys, size_t count,
                       struct ft_operand *result)
{
  const struct ft_script_function *function =
      ft_script_function(r->script, ft_tracer_format(&r->live, "%s.%s", self->type, method));
  const char *scope = r->live.scope;
  int status;

  if (!function)
    return ft_script_fail(r, "no definition of ",
                          ft_tracer_format(&r->live, "%s.%s", self->type, method));
  args[0] = (struct ft_operand){ .type = FT_VALUE_OBJECT, .object = self };
  if (self->path && self->path[0])
    r->live.scope = self->path;
  status = ft_script_call(r, function, args, keys, count, result);
  r->live.scope = scope;
  return status;
}

/* ---- built-in functions of Python ---- */

static int convert_value(struct ft_script_run *r, const char *name, struct ft_operand *value)
{
  struct ft_call call = { .l = &r->live, .args = value, .count = 1, .name = "item" };
  int truth;

  if (ft_value_is_tensor(value)) {
    if (value->type == FT_VALUE_WEIGHT)
      *value = ft_value_unknown(FT_VALUE_REAL);
    else if (ft_aten(&call) < 0)
      return -1;
    else
      *value = call.result;
  }
  if (strcmp(name, "bool") == 0) {
    truth = ft_value_truth(&r->live, value);
    *value = truth < 0 ? ft_value_unknown(FT_VALUE_BOOL) : ft_value_bool(truth == 1);
  } else if (strcmp(name, "float") == 0) {
    *value = ft_value_real(ft_value_number(value));
  } else if (value->type != FT_VALUE_INT) {
    double number = ft_value_number(value);

    *value = isnan(number) ? ft_value_unknown(FT_VALUE_INT) : ft_value_int(ft_whole(trunc(number)));
  }
  return 0;
}

bool ft_script_named(const struct ft_script_node *n, const char *name)
{
  return n->path && strcmp(n->path, name) == 0;
}

/* Returns whether VALUE is of the type that the program names: 1 or 0; -1 if unknown. */
static int is_instance(const struct ft_script_run *r, const struct ft_operand *value,
                       const struct ft_script_node *type)
{
  static const struct {
    const char *name;
    uint8_t type;
  } types[] = { { "int", FT_VALUE_INT },     { "float", FT_VALUE_REAL },
                { "bool", FT_VALUE_BOOL },   { "str", FT_VALUE_STRING },
                { "List", FT_VALUE_LIST },   { "list", FT_VALUE_LIST },
                { "Tuple", FT_VALUE_TUPLE }, { "tuple", FT_VALUE_TUPLE },
                { "Dict", FT_VALUE_DICT },   { "NoneType", FT_VALUE_NONE } };
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
  if (ft_script_named(base, "Tensor"))
    return ft_value_is_tensor(value);
  for (size_t i = 0; i < sizeof types / sizeof *types; i++)
    if (ft_script_named(base, types[i].name))
      return value->type == types[i].type;
  return value->type == FT_VALUE_OBJECT && base->path ? strcmp(value->object->type, base->path) == 0
                                                      : 0;
}

/* Sets VALUE to what CLASS, or NULL, declares for NAME: a constant, or an enumeration's member. */
static bool find_member(const struct ft_script_class *class, const char *name,
                        struct ft_operand *value)
{
  const struct ft_field *field =
      class ? FT_ROWS_ROW(class->constants, class->constant_count, name) : NULL;

  if (field)
    *value = field->value;
  return field;
}

static int evaluate_attribute(struct ft_script_run *r, const struct ft_operand *of,
                              const char *name, const struct ft_script_node *n,
                              struct ft_operand *value);

/* Calls a built-in function of Python. Returns 1 if NAME is none. */
static int call_built_in(struct ft_script_run *r, struct ft_script_frame *f, const char *name,
                         const struct ft_script_node *n, struct ft_operand *value)
{
  const struct ft_script_node *const *args = (const struct ft_script_node *const *)n->kids + 1;
  size_t count = n->count - 1;
  int truth;

  if ((strcmp(name, "annotate") == 0 || strcmp(name, "unchecked_cast") == 0) && count == 2)
    return ft_script_evaluate(r, f, args[1], value);
  if (strcmp(name, "uninitialized") == 0) {
    *value = ft_value_none();
    return 0;
  }
  if (strcmp(name, "isinstance") == 0 && count == 2) {
    if (ft_script_evaluate(r, f, args[0], value) < 0)
      return -1;
    truth = is_instance(r, value, args[1]);
    *value = truth < 0 ? ft_value_unknown(FT_VALUE_BOOL) : ft_value_bool(truth);
    return 0;
  }
  if (count == 0)
    return 1;
  if (strcmp(name, "getattr") == 0 && count == 2 && args[1]->value.type == FT_VALUE_STRING) {
    struct ft_operand of;

    return ft_script_evaluate(r, f, args[0], &of) < 0
               ? -1
               : evaluate_attribute(r, &of, args[1]->value.string, NULL, value);
  }
  if (strcmp(name, "int") == 0 || strcmp(name, "float") == 0 || strcmp(name, "bool") == 0)
    return ft_script_evaluate(r, f, args[0], value) < 0 ? -1 : convert_value(r, name, value);
  if (strcmp(name, "str") == 0 || strcmp(name, "print") == 0) {
    struct ft_call call = { .l = &r->live };

    if (ft_script_evaluate(r, f, args[0], value) < 0)
      return -1;
    if (value->type != FT_VALUE_STRING) {
      if (ft_aten_to_string(&call, value) < 0)
        return -1;
      *value = call.result;
    }
    return 0;
  }
  return 1;
}

/* ---- expressions ---- */

/* Module paths: "layer1" of the network is "layer1", "0" of that is "layer1.0". */
static const char *path_below(struct ft_script_run *r, const struct ft_object *object,
                              const char *name)
{
  return object->path && object->path[0] ? ft_tracer_format(&r->live, "%s.%s", object->path, name)
                                         : name;
}

static bool is_buffer(const struct ft_script_run *r, const char *type, const char *name)
{
  const struct ft_script_class *class = ft_script_class(r->script, type);

  return class && FT_ROWS_ROW(class->buffers, class->buffer_count, name);
}

/* Returns the weight V if its storage in the archive is known, else NULL. */
static struct ft_weight *stored_weight(const struct ft_operand *v)
{
  return v->type == FT_VALUE_WEIGHT && v->weight->storage ? v->weight : NULL;
}

/* Tensors in a list are trainable if they share a parameter's storage, as those of recurrent
 * layers do; others, such as anchors, are not. */
static int mark_untrainable(struct ft_script_run *r, const struct ft_object *object,
                            struct ft_values *list)
{
  struct ft_symbol_table near = { .arena = &r->live.graph->results };
  struct ft_weight *w;
  bool any = false;

  for (size_t i = 0; i < list->count && !list->sorted; i++)
    any = any || stored_weight(&list->items[i]);
  list->sorted = true;
  if (!any)
    return 0;
  for (size_t i = 0; i < object->count; i++) {
    w = stored_weight(&object->fields[i].value);
    if (w && ft_symbol_table_put(&near, w->storage, w) < 0)
      return ft_script_fail(r, "more parameters than supported", "");
  }
  for (size_t i = 0; i < list->count; i++) {
    w = stored_weight(&list->items[i]);
    if (w && !ft_symbol_table_get(&near, w->storage))
      w->declared.kept = true;
  }
  return 0;
}

/* Fills the fields of an object whose class restores them from its state, as quantised layers
 * do. */
static int restore_state(struct ft_script_run *r, struct ft_object *object)
{
  struct ft_operand *state = ft_object_field(object, FT_OBJECT_STATE), args[2], ignored;
  const struct ft_script_function *function =
      state && state->type != FT_VALUE_NONE
          ? ft_script_function(r->script,
                               ft_tracer_format(&r->live, "%s.__setstate__", object->type))
          : NULL;

  if (!function)
    return 0;
  args[0] = (struct ft_operand){ .type = FT_VALUE_OBJECT, .object = object };
  args[1] = *state;
  *state = ft_value_none();
  return ft_script_call(r, function, args, NULL, 2, &ignored);
}

static int evaluate_attribute(struct ft_script_run *r, const struct ft_operand *of,
                              const char *name, const struct ft_script_node *n,
                              struct ft_operand *value)
{
  const struct ft_script_class *class;
  struct ft_operand *field;

  if (of->type == FT_VALUE_NAME) {
    if (find_member(ft_script_class(r->script, of->string), name, value))
      return 0;
    *value = *of;
    value->string = n && n->path && n->kids[0]->path && strcmp(n->kids[0]->path, of->string) == 0
                        ? n->path
                        : ft_tracer_format(&r->live, "%s.%s", of->string, name);
    return 0;
  }
  *value = ft_value_unknown(FT_VALUE_OPAQUE);
  if (of->type != FT_VALUE_OBJECT) {
    if (strcmp(name, "value") == 0) /* of a member of an enumeration */
      *value = *of;
    return 0;
  }
  if (restore_state(r, of->object) < 0)
    return -1;
  field = ft_object_field(of->object, name);
  class = field ? NULL : ft_script_class(r->script, of->object->type);
  (void)find_member(class, name, value);
  if (ft_value_is_list(value)) {
    /* a copy for this trace: the program's own list must not change */
    *value = ft_value_list(&r->live, value->type, value->list->items, value->list->count);
    return r->live.failed ? -1 : 0;
  }
  if (!field)
    return 0;
  if (field->type == FT_VALUE_OBJECT && !field->object->path)
    field->object->path = path_below(r, of->object, name);
  if (field->type == FT_VALUE_WEIGHT && !field->weight->name[0]) {
    field->weight->name = path_below(r, of->object, name);
    field->weight->declared.kept = is_buffer(r, of->object->type, name);
    field->weight->declared.frozen = field->weight->no_gradient;
  }
  if (field->type == FT_VALUE_LIST && mark_untrainable(r, of->object, field->list) < 0)
    return -1;
  *value = *field;
  return 0;
}

static int evaluate_index(struct ft_script_run *r, const struct ft_operand *of,
                          const struct ft_operand *at, struct ft_operand *value)
{
  struct ft_operand args[2] = { *of, *at };
  struct ft_call call = { .l = &r->live, .args = args, .count = 2, .name = "__getitem__" };
  int status;

  *value = ft_value_unknown(FT_VALUE_OPAQUE);
  if (!ft_value_is_list(of) && of->type != FT_VALUE_DICT)
    return 0;
  status = ft_aten_scalar(&call);
  if (status == 0)
    *value = call.result;
  else if (status > 0 && at->known)
    return ft_script_fail(r, "an index out of range", "");
  return status < 0 ? -1 : 0;
}

/* Evaluates the arguments of a call; element 0 is left for self. */
static int evaluate_arguments(struct ft_script_run *r, struct ft_script_frame *f,
                              const struct ft_script_node *n, struct ft_operand **args,
                              const char ***keys)
{
  bool any = false;

  *args = ft_tracer_take(&r->live, n->count * sizeof **args);
  *keys = ft_tracer_take(&r->live, n->count * sizeof **keys);
  if (!*args || !*keys)
    return -1;
  for (size_t i = 1; i < n->count; i++) {
    if (ft_script_evaluate(r, f, n->kids[i], &(*args)[i]) < 0)
      return -1;
    (*keys)[i] = n->kids[i]->key;
    any = any || (*keys)[i];
  }
  if (!any)
    *keys = NULL;
  return 0;
}

int ft_script_apply(struct ft_script_run *r, struct ft_script_frame *f,
                    const struct ft_script_node *n, unsigned expected, struct ft_operand *value)
{
  const struct ft_script_node *callee = n->kids[0];
  struct ft_operand of, *args;
  const char **keys;
  bool method = callee->kind == FT_SCRIPT_ATTRIBUTE;
  int status;

  if (ft_script_evaluate(r, f, method ? callee->kids[0] : callee, &of) < 0)
    return -1;
  if (!method && of.type == FT_VALUE_NAME) {
    status = call_built_in(r, f, of.string, n, value);
    if (status <= 0)
      return status;
  }
  if (evaluate_arguments(r, f, n, &args, &keys) < 0)
    return -1;
  if (method && of.type == FT_VALUE_OBJECT)
    return call_method(r, of.object, callee->text, args, keys, n->count, value);
  if (method && evaluate_attribute(r, &of, callee->text, callee, &of) < 0)
    return -1;
  if (of.type == FT_VALUE_NAME)
    return call_name(r, of.string, args + 1, keys ? keys + 1 : NULL, n->count - 1, expected, value);
  *value = ft_value_unknown(FT_VALUE_OPAQUE);
  return 0;
}

static int evaluate_list(struct ft_script_run *r, struct ft_script_frame *f,
                         const struct ft_script_node *n, uint8_t type, struct ft_operand *value)
{
  struct ft_operand item;

  *value = ft_value_list(&r->live, type, NULL, 0);
  for (size_t i = 0; value->type == type && i < n->count; i++)
    if (ft_script_evaluate(r, f, n->kids[i], &item) < 0 ||
        ft_value_append(&r->live, value->list, item) < 0)
      return -1;
  return r->live.failed ? -1 : 0;
}

/* CONSTANTS.c3 */
static bool find_script_constant(struct ft_script_run *r, const struct ft_script_node *n,
                                 struct ft_operand *value)
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

int ft_script_evaluate(struct ft_script_run *r, struct ft_script_frame *f,
                       const struct ft_script_node *n, struct ft_operand *value)
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
    return evaluate_list(r, f, n, FT_VALUE_LIST, value);
  case FT_SCRIPT_TUPLE:
    return evaluate_list(r, f, n, FT_VALUE_TUPLE, value);
  case FT_SCRIPT_DICT:
    return evaluate_list(r, f, n, FT_VALUE_DICT, value);
  case FT_SCRIPT_CALL:
    return ft_script_apply(r, f, n, 1, value);
  case FT_SCRIPT_ATTRIBUTE:
    if (find_script_constant(r, n, value))
      return 0;
    return ft_script_evaluate(r, f, n->kids[0], &of) < 0
               ? -1
               : evaluate_attribute(r, &of, n->text, n, value);
  default:
    if (n->count != 2)
      return ft_script_fail(r, "expected one index", "");
    return ft_script_evaluate(r, f, n->kids[0], &of) < 0 ||
                   ft_script_evaluate(r, f, n->kids[1], &at) < 0
               ? -1
               : evaluate_index(r, &of, &at, value);
  }
}
