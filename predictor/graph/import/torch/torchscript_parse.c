/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Statements and definitions of a TorchScript program, as PythonPrint writes them
 * (torch/csrc/jit/serialization/python_print.cpp), a small subset of Python. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "predictor/graph/import/torch/torchscript_parse.h"

/* ---- statements ---- */

/* Returns the indentation of the next line that is not empty; -1 at the end of the file. */
static int next_indentation(struct ft_script_text *p)
{
  const char *line = p->at;

  while (line < p->end) {
    const char *q = line;

    while (q < p->end && *q == ' ')
      q++;
    if (q < p->end && *q != '\n' && *q != '\r' && *q != '#') {
      p->at = q;
      return (int)(q - line);
    }
    q = memchr(q, '\n', (size_t)(p->end - q));
    if (!q)
      break;
    line = q + 1;
  }
  p->at = p->end;
  return -1;
}

static int end_of_line(struct ft_script_text *p)
{
  ft_script_blanks(p, false);
  if (p->at < p->end && *p->at == '#')
    while (p->at < p->end && *p->at != '\n')
      p->at++;
  if (p->at < p->end && *p->at != '\n')
    return ft_script_expected(p, "the end of a line");
  if (p->at < p->end)
    p->at++;
  return 0;
}

/* Reads a type up to "=", a comma, a bracket or the end of the line. Returns its text. */
static const char *parse_type(struct ft_script_text *p)
{
  const char *begin;
  int open = 0;

  ft_script_blanks(p, true);
  begin = p->at;
  while (p->at < p->end && (open || !strchr("=,):\n", *p->at))) {
    open += *p->at == '[' || *p->at == '(';
    open -= *p->at == ']' || *p->at == ')';
    p->at++;
  }
  while (p->at > begin && p->at[-1] == ' ')
    p->at--;
  return ft_build_same(p->build, begin, (size_t)(p->at - begin));
}

/* Skips ": type" after a name, if there is one. */
static int parse_annotation(struct ft_script_text *p)
{
  ft_script_blanks(p, false);
  if (p->at >= p->end || *p->at != ':')
    return 0;
  p->at++;
  if (!parse_type(p))
    return -1;
  ft_script_blanks(p, false);
  return 0;
}

static int parse_block(struct ft_script_text *p, int outside, struct ft_script_body *body);

/* a, b, c */
static struct ft_script_node *parse_targets(struct ft_script_text *p)
{
  struct ft_script_node *first = ft_script_expression(p), *all;

  ft_script_blanks(p, false);
  if (!first || p->at >= p->end || *p->at != ',')
    return first;
  all = ft_script_new(p, FT_SCRIPT_TUPLE);
  if (!all || ft_script_add(p, all, first) < 0)
    return NULL;
  while (p->at < p->end && *p->at == ',') {
    p->at++;
    ft_script_blanks(p, false);
    if (p->at >= p->end || *p->at == '=' || *p->at == '\n')
      break;
    if (ft_script_add(p, all, ft_script_expression(p)) < 0)
      return NULL;
    ft_script_blanks(p, false);
  }
  return all;
}

static int parse_colon(struct ft_script_text *p)
{
  ft_script_blanks(p, false);
  if (p->at >= p->end || *p->at != ':')
    return ft_script_expected(p, "\":\"");
  p->at++;
  return end_of_line(p);
}

static int parse_if(struct ft_script_text *p, int indent, struct ft_script_statement *s)
{
  const char *before;

  s->value = ft_script_expression(p);
  s->body = ft_build_take(p->build, sizeof *s->body);
  s->otherwise = ft_build_take(p->build, sizeof *s->otherwise);
  if (!s->value || !s->body || !s->otherwise || parse_colon(p) < 0 ||
      parse_block(p, indent, s->body) < 0)
    return -1;
  before = p->at;
  if (next_indentation(p) == indent && ft_script_literal(p, "else"))
    return parse_colon(p) < 0 ? -1 : parse_block(p, indent, s->otherwise);
  p->at = before;
  return 0;
}

static int parse_loop(struct ft_script_text *p, int indent, struct ft_script_statement *s)
{
  if (s->verb == FT_SCRIPT_FOR) {
    s->target = parse_targets(p);
    ft_script_blanks(p, false);
    if (!s->target || !ft_script_literal(p, "in"))
      return s->target ? ft_script_expected(p, "\"in\"") : -1;
  }
  s->value = ft_script_expression(p);
  s->body = ft_build_take(p->build, sizeof *s->body);
  return !s->value || !s->body || parse_colon(p) < 0 ? -1 : parse_block(p, indent, s->body);
}

/* "with no_grad as x:" does not change shapes: its block always runs. */
static int parse_with(struct ft_script_text *p, int indent, struct ft_script_statement *s)
{
  if (!ft_script_expression(p))
    return -1;
  ft_script_blanks(p, false);
  if (ft_script_literal(p, "as") && !parse_targets(p))
    return -1;
  s->verb = FT_SCRIPT_IF;
  s->value = ft_script_new(p, FT_SCRIPT_VALUE);
  s->body = ft_build_take(p->build, sizeof *s->body);
  s->otherwise = ft_build_take(p->build, sizeof *s->otherwise);
  if (!s->value || !s->body || !s->otherwise)
    return -1;
  s->value->value = ft_value_bool(true);
  return parse_colon(p) < 0 ? -1 : parse_block(p, indent, s->body);
}

/* An assignment, with or without a type, or an expression. */
static int parse_simple(struct ft_script_text *p, struct ft_script_statement *s)
{
  s->verb = FT_SCRIPT_RUN;
  s->value = parse_targets(p);
  if (!s->value || parse_annotation(p) < 0)
    return -1;
  if (p->at < p->end && *p->at == '=') {
    p->at++;
    s->verb = FT_SCRIPT_ASSIGN;
    s->target = s->value;
    s->value = parse_targets(p);
    if (!s->value)
      return -1;
  }
  return end_of_line(p);
}

static int parse_statement(struct ft_script_text *p, int indent, struct ft_script_body *body)
{
  struct ft_script_statement *list, s = { .at = (uint32_t)(p->at - p->begin) };
  const struct ft_script_node *callee;

  if (ft_script_literal(p, "pass"))
    return end_of_line(p);
  if (ft_script_literal(p, "if")) {
    s.verb = FT_SCRIPT_IF;
    if (parse_if(p, indent, &s) < 0)
      return -1;
  } else if (ft_script_literal(p, "for") || ft_script_literal(p, "while")) {
    s.verb = p->at[-1] == 'r' ? FT_SCRIPT_FOR : FT_SCRIPT_WHILE;
    if (parse_loop(p, indent, &s) < 0)
      return -1;
  } else if (ft_script_literal(p, "with")) {
    if (parse_with(p, indent, &s) < 0)
      return -1;
  } else if (ft_script_literal(p, "return")) {
    s.verb = FT_SCRIPT_RETURN;
    ft_script_blanks(p, false);
    s.value =
        p->at < p->end && *p->at != '\n' ? parse_targets(p) : ft_script_new(p, FT_SCRIPT_VALUE);
    if (!s.value || end_of_line(p) < 0)
      return -1;
  } else if (parse_simple(p, &s) < 0) {
    return -1;
  }
  callee = s.verb == FT_SCRIPT_RUN && s.value->kind == FT_SCRIPT_CALL ? s.value->kids[0] : NULL;
  if (callee && callee->path && strcmp(callee->path, "ops.prim.RaiseException") == 0)
    body->raises = true;
  list = ft_build_grow(p->build, body->statements, &body->room, body->count, sizeof *list);
  if (!list)
    return -1;
  body->statements = list;
  list[body->count++] = s;
  return 0;
}

static int parse_block(struct ft_script_text *p, int outside, struct ft_script_body *body)
{
  const char *before = p->at;
  int indent = next_indentation(p), now = indent;

  if (indent <= outside)
    return ft_script_expected(p, "an indented block");
  if (++p->depth > FT_SCRIPT_DEPTH)
    return ft_script_expected(p, "less nested blocks");
  p->depth -= 1;
  for (; now == indent; now = next_indentation(p)) {
    int depth = p->depth;
    int status;

    if (indent > 2 * FT_SCRIPT_DEPTH)
      return ft_script_expected(p, "less nested blocks");
    p->depth = 0;
    status = parse_statement(p, indent, body);
    p->depth = depth;
    if (status < 0)
      return -1;
    before = p->at;
  }
  if (now > indent)
    return ft_script_expected(p, "the indentation of the line before");
  p->at = before;
  return 0;
}

/* ---- definitions ---- */

static int parse_parameters(struct ft_script_text *p, struct ft_script_function *f)
{
  for (;;) {
    struct ft_script_parameter *list, one = { 0 };
    uint32_t name;

    ft_script_blanks(p, true);
    if (ft_script_literal(p, ")"))
      return 0;
    one.name = ft_script_identifier(p, &name);
    ft_script_blanks(p, true);
    if (!one.name || ft_script_slot(p, name, &one.slot) < 0)
      return -1;
    one.type = "";
    if (p->at < p->end && *p->at == ':') {
      p->at++;
      one.type = parse_type(p);
      ft_script_blanks(p, true);
    }
    if (p->at < p->end && *p->at == '=') {
      p->at++;
      one.otherwise = ft_script_expression(p);
      if (!one.otherwise)
        return -1;
      ft_script_blanks(p, true);
    }
    list = ft_build_grow(p->build, f->parameters, &f->parameter_room, f->parameter_count,
                         sizeof *list);
    if (!list || !one.type)
      return -1;
    f->parameters = list;
    list[f->parameter_count++] = one;
    if (p->at < p->end && *p->at == ',')
      p->at++;
    else if (p->at >= p->end || *p->at != ')')
      return ft_script_expected(p, "a parameter");
  }
}

/* Reads a definition after its "def", indented by INDENT, in the class or module OWNER. */
static int parse_function(struct ft_script_text *p, int indent, const char *owner)
{
  struct ft_script_function *list, f = { .part = p->part };
  const char *name;
  int status;

  p->function++;
  p->slots = 0;
  ft_script_blanks(p, false);
  name = ft_script_identifier(p, NULL);
  f.name = name ? ft_script_join(p, owner, name) : NULL;
  if (!f.name || !ft_script_literal(p, "("))
    return f.name ? ft_script_expected(p, "parameters") : -1;
  p->depth = 1;
  status = parse_parameters(p, &f);
  ft_script_blanks(p, true);
  if (status == 0 && ft_script_literal(p, "->"))
    status = parse_type(p) ? 0 : -1;
  p->depth = 0;
  if (status < 0 || parse_colon(p) < 0 || parse_block(p, indent, &f.body) < 0)
    return -1;
  f.slots = p->slots;
  list = ft_build_grow(p->build, p->script->functions, &p->script->function_room,
                       p->script->function_count, sizeof *list);
  if (!list)
    return -1;
  p->script->functions = list;
  list[p->script->function_count++] = f;
  return 0;
}

/* The value of an expression without names; false if it has any. */
static bool plain_value(const struct ft_script_node *n, struct ft_operand *value)
{
  *value = n->value;
  return n->kind == FT_SCRIPT_VALUE;
}

/* The value of a constant; its lists live as long as the program. */
static bool constant_value(struct ft_script_text *p, const struct ft_script_node *n,
                           struct ft_operand *value)
{
  if (plain_value(n, value))
    return true;
  if (n->kind != FT_SCRIPT_LIST && n->kind != FT_SCRIPT_TUPLE)
    return false;
  *value = (struct ft_operand){ .type = n->kind == FT_SCRIPT_LIST ? FT_VALUE_LIST : FT_VALUE_TUPLE,
                                .known = true };
  value->list = ft_build_take(p->build, sizeof *value->list);
  if (!value->list)
    return false;
  value->list->items = ft_build_take(p->build, (n->count + 1) * sizeof *value->list->items);
  value->list->count = value->list->room = n->count;
  for (size_t i = 0; value->list->items && i < n->count; i++)
    if (!plain_value(n->kids[i], &value->list->items[i]))
      value->list->items[i] = ft_value_unknown(FT_VALUE_OPAQUE);
  return value->list->items != NULL;
}

static int add_buffers(struct ft_script_text *p, struct ft_script_class *class,
                       const struct ft_script_node *n)
{
  for (size_t i = 0; i < n->count; i++) {
    const char **list = ft_build_grow(p->build, class->buffers, &class->buffer_room,
                                      class->buffer_count, sizeof *list);

    if (!list)
      return -1;
    class->buffers = list;
    list[class->buffer_count++] =
        n->kids[i]->value.type == FT_VALUE_STRING ? n->kids[i]->value.string : "";
  }
  return 0;
}

/* "name : type", "name : Final[type] = value", "__buffers__ = [...]" */
static int parse_member(struct ft_script_text *p, struct ft_script_class *class)
{
  struct ft_script_node *target = ft_script_expression(p), *value = NULL;
  struct ft_field *list, field = { 0 };

  if (!target || parse_annotation(p) < 0)
    return -1;
  if (p->at < p->end && *p->at == '=') {
    const char *before = ++p->at;

    ft_script_blanks(p, false);
    value = ft_script_expression(p);
    if (!value)
      return -1;
    ft_script_blanks(p, false);
    if (p->at < p->end && *p->at == '[') { /* a type */
      p->at = before;
      value = NULL;
      while (p->at < p->end && *p->at != '\n')
        p->at++;
    }
  }
  if (end_of_line(p) < 0)
    return -1;
  if (!value || target->kind != FT_SCRIPT_NAME)
    return 0;
  if (strcmp(target->text, "__buffers__") == 0)
    return add_buffers(p, class, value);
  if (strncmp(target->text, "__", 2) == 0 || !constant_value(p, value, &field.value))
    return 0;
  field.name = target->text;
  list = ft_build_grow(p->build, class->constants, &class->constant_room, class->constant_count,
                       sizeof *list);
  if (!list)
    return -1;
  class->constants = list;
  list[class->constant_count++] = field;
  return 0;
}

static int parse_class(struct ft_script_text *p)
{
  struct ft_script_class *list, c = { 0 };
  const char *name, *before;
  struct ft_script_node bases = { 0 };
  int indent;

  ft_script_blanks(p, false);
  p->function++;
  p->slots = 0;
  name = ft_script_identifier(p, NULL);
  c.name = name ? ft_script_join(p, p->module, name) : NULL;
  if (!c.name ||
      (ft_script_literal(p, "(") && ft_script_sequence(p, &bases, ')', false, false) < 0) ||
      parse_colon(p) < 0)
    return p->build->err->text[0] ? -1 : ft_script_expected(p, "a class");
  for (before = p->at; (indent = next_indentation(p)) > 0; before = p->at) {
    p->depth = 0;
    if (ft_script_literal(p, "pass")  ? end_of_line(p) < 0
        : ft_script_literal(p, "def") ? parse_function(p, indent, c.name) < 0
                                      : parse_member(p, &c) < 0)
      return -1;
  }
  p->at = before;
  list = ft_build_grow(p->build, p->script->classes, &p->script->class_room, p->script->class_count,
                       sizeof *list);
  if (!list)
    return -1;
  p->script->classes = list;
  list[p->script->class_count++] = c;
  return 0;
}

/* Returns the module of P's file: "__torch__.torch.nn" for "code/__torch__/torch/nn.py". */
static const char *code_module_name(struct ft_script_text *p)
{
  const char *code = strstr(p->part, "code/"), *begin = code ? code + 5 : p->part;
  size_t length = strlen(begin);
  char text[FT_GRAPH_NAME];

  if (length < 4 || length >= sizeof text)
    return NULL;
  length -= 3;
  for (size_t i = 0; i < length; i++)
    text[i] = begin[i] == '/' ? '.' : begin[i];
  return ft_build_same(p->build, text, length);
}

int ft_script_parse(struct ft_build *build, struct ft_script *script, const char *part,
                    const char *text, size_t length)
{
  struct ft_script_text p = {
    .build = build, .script = script, .part = part, .begin = text, .at = text, .end = text + length
  };
  int indent;

  build->err->text[0] = '\0';
  p.module = code_module_name(&p);
  if (!p.module || length > UINT32_MAX)
    return ft_script_expected(&p, "a source file of the program");
  while ((indent = next_indentation(&p)) >= 0) {
    p.depth = 0;
    if (indent > 0)
      return ft_script_expected(&p, "a definition");
    if (ft_script_literal(&p, "class") ? parse_class(&p) < 0
        : ft_script_literal(&p, "def") ? parse_function(&p, 0, p.module) < 0
                                       : ft_script_expected(&p, "a class or a function") < 0)
      return -1;
  }
  return 0;
}

static int compare_functions(const void *a, const void *b)
{
  return strcmp(((const struct ft_script_function *)a)->name,
                ((const struct ft_script_function *)b)->name);
}

static int compare_classes(const void *a, const void *b)
{
  return strcmp(((const struct ft_script_class *)a)->name,
                ((const struct ft_script_class *)b)->name);
}

void ft_script_sort(struct ft_script *script)
{
  if (script->function_count)
    qsort(script->functions, script->function_count, sizeof *script->functions, compare_functions);
  if (script->class_count)
    qsort(script->classes, script->class_count, sizeof *script->classes, compare_classes);
}

const struct ft_script_function *ft_script_function(const struct ft_script *script,
                                                    const char *name)
{
  struct ft_script_function key = { .name = name };

  return script->function_count ? bsearch(&key, script->functions, script->function_count,
                                          sizeof key, compare_functions)
                                : NULL;
}

const struct ft_script_class *ft_script_class(const struct ft_script *script, const char *name)
{
  struct ft_script_class key = { .name = name };

  return script->class_count
             ? bsearch(&key, script->classes, script->class_count, sizeof key, compare_classes)
             : NULL;
}
