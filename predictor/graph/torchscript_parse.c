/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The text of a TorchScript program into statements and expressions: what PythonPrint writes
 * (torch/csrc/jit/serialization/python_print.cpp), a small subset of Python.
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#include "predictor/core/text.h"
#include "predictor/graph/torchscript.h"

enum { DEPTH = 200, SLOTS = 1 << 20 };

struct parse {
  struct ft_build *build;
  struct ft_script *script;
  const char *part, *module; /* "code/__torch__/x.py", "__torch__.x" */
  const char *begin, *at, *end;
  int depth;
  uint32_t *slot_of; /* of each name, + 1: in the function at hand */
  uint32_t *stamp;   /* the function that it was in */
  size_t slot_room, stamp_room, slot_count;
  uint32_t function, slots;
};

static int fail(struct parse *p, const char *expected)
{
  return ft_error_set(p->build->err, "%s: %s: byte %zu: expected %s", p->build->graph->file,
                      p->part, (size_t)(p->at - p->begin), expected);
}

/* ---- words ---- */

static bool is_word(char c)
{
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static void blanks(struct parse *p, bool lines)
{
  while (p->at < p->end &&
         (*p->at == ' ' || *p->at == '\t' || *p->at == '\r' || (lines && *p->at == '\n')))
    p->at++;
}

static bool literal(struct parse *p, const char *text)
{
  size_t length = strlen(text);

  if ((size_t)(p->end - p->at) < length || memcmp(p->at, text, length) != 0 ||
      (is_word(text[length - 1]) && p->at + length < p->end && is_word(p->at[length])))
    return false;
  p->at += length;
  return true;
}

/* A name, the same text for the same bytes; NULL with the error. */
static const char *word(struct parse *p, uint32_t *number)
{
  const char *begin = p->at;
  uint32_t name;

  while (p->at < p->end && is_word(*p->at))
    p->at++;
  if (p->at == begin || p->at - begin > FT_GRAPH_NAME) {
    (void)fail(p, "a name");
    return NULL;
  }
  name = ft_build_name(p->build, begin, (size_t)(p->at - begin));
  if (number)
    *number = name;
  return name == UINT32_MAX ? NULL : ft_build_text(p->build, name);
}

static const char *join(struct parse *p, const char *a, const char *b)
{
  char text[2 * FT_GRAPH_NAME];
  int length = snprintf(text, sizeof text, "%s.%s", a, b);

  if (length < 0 || length > FT_GRAPH_NAME) {
    (void)fail(p, "a shorter name");
    return NULL;
  }
  return ft_build_same(p->build, text, (size_t)length);
}

/* The place of a name among the variables of the function at hand. */
static int slot_of(struct parse *p, uint32_t name, uint32_t *slot)
{
  while (p->slot_count <= name) {
    uint32_t *slots =
        ft_build_grow(p->build, p->slot_of, &p->slot_room, p->slot_count, sizeof *slots);
    uint32_t *stamps =
        slots ? ft_build_grow(p->build, p->stamp, &p->stamp_room, p->slot_count, sizeof *stamps)
              : NULL;

    if (!stamps)
      return -1;
    p->slot_of = slots;
    p->stamp = stamps;
    p->stamp[p->slot_count++] = 0;
  }
  if (p->stamp[name] != p->function) {
    p->stamp[name] = p->function;
    p->slot_of[name] = p->slots++;
  }
  *slot = p->slot_of[name];
  return p->slots > SLOTS ? fail(p, "fewer variables") : 0;
}

/* ---- expressions ---- */

static struct ft_script_node *node(struct parse *p, uint8_t kind)
{
  struct ft_script_node *n = ft_build_take(p->build, sizeof *n);

  if (n)
    n->kind = kind;
  return n;
}

static int add_kid(struct parse *p, struct ft_script_node *n, struct ft_script_node *kid)
{
  struct ft_script_node **kids =
      kid ? ft_build_grow(p->build, n->kids, &n->room, n->count, sizeof *kids) : NULL;

  if (!kids)
    return -1;
  n->kids = kids;
  kids[n->count++] = kid;
  return 0;
}

static struct ft_script_node *expression(struct parse *p);

/* Up to CLOSE: expressions with commas between them; of calls with keys before "=". */
static int sequence(struct parse *p, struct ft_script_node *n, char close, bool keys, bool pairs)
{
  for (;;) {
    struct ft_script_node *kid;
    const char *before, *key = NULL;

    blanks(p, true);
    if (p->at < p->end && *p->at == close) {
      p->at++;
      return 0;
    }
    before = p->at;
    if (keys && p->at < p->end && is_word(*p->at)) {
      key = word(p, NULL);
      blanks(p, true);
      if (key && p->at < p->end && *p->at == '=') {
        p->at++;
      } else {
        p->at = before;
        key = NULL;
      }
    }
    kid = expression(p);
    if (!kid)
      return -1;
    kid->key = key;
    if (add_kid(p, n, kid) < 0)
      return -1;
    blanks(p, true);
    if (pairs && n->count % 2) {
      if (p->at >= p->end || *p->at != ':')
        return fail(p, "\":\"");
      p->at++;
      continue;
    }
    if (p->at < p->end && *p->at == ',')
      p->at++;
    else if (p->at >= p->end || *p->at != close)
      return fail(p, "\",\" or the end of a list");
  }
}

static struct ft_script_node *string(struct parse *p)
{
  struct ft_script_node *n = node(p, FT_SCRIPT_VALUE);
  char quote = *p->at++, *out;
  const char *begin = p->at;
  size_t length = 0;

  while (p->at < p->end && *p->at != quote)
    p->at += *p->at == '\\' && p->at + 1 < p->end ? 2 : 1;
  if (p->at >= p->end) {
    (void)fail(p, "the end of a string");
    return NULL;
  }
  out = n ? ft_build_take(p->build, (size_t)(p->at - begin) + 1) : NULL;
  if (!out)
    return NULL;
  for (const char *q = begin; q < p->at; q++) {
    if (*q == '\\' && q + 1 < p->at)
      q++; /* an escape stands for its letter: only messages have others */
    out[length++] = *q;
  }
  p->at++;
  n->value = ft_value_string(out);
  return n;
}

static struct ft_script_node *numeral(struct parse *p)
{
  struct ft_script_node *n = node(p, FT_SCRIPT_VALUE);
  struct ft_text text = ft_text_of(p->at, (size_t)(p->end - p->at));
  bool negative = ft_text_skip(&text, "-");
  uint64_t whole;
  double value;

  if (!n)
    return NULL;
  if (ft_text_u64(&text, INT64_MAX, &whole) &&
      (text.at == text.end || (*text.at != '.' && *text.at != 'e' && *text.at != 'E'))) {
    p->at = text.at;
    n->value = ft_value_int(negative ? -(int64_t)whole : (int64_t)whole);
    return n;
  }
  text = ft_text_of(p->at, (size_t)(p->end - p->at));
  if (!ft_text_double(&text, &value)) {
    (void)fail(p, "a number");
    return NULL;
  }
  p->at = text.at;
  if (p->at < p->end && *p->at == '.' ) /* "0." */
    p->at++;
  if (p->at < p->end && *p->at == 'j')
    p->at++;
  n->value = ft_value_real(value);
  return n;
}

static struct ft_script_node *name(struct parse *p)
{
  static const struct {
    const char *word;
    struct ft_operand value;
  } words[] = {
    { "None", { .type = FT_VALUE_NONE } },
    { "True", { .type = FT_VALUE_BOOL, .known = true, .integer = 1 } },
    { "False", { .type = FT_VALUE_BOOL, .known = true } },
    { "inf", { .type = FT_VALUE_REAL, .known = true, .real = HUGE_VAL } },
    { "nan", { .type = FT_VALUE_REAL } },
  };
  struct ft_script_node *n = node(p, FT_SCRIPT_NAME);
  uint32_t number;

  if (!n)
    return NULL;
  n->text = word(p, &number);
  if (!n->text)
    return NULL;
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (strcmp(n->text, words[i].word) == 0) {
      n->kind = FT_SCRIPT_VALUE;
      n->value = words[i].value;
      return n;
    }
  n->path = n->text;
  return slot_of(p, number, &n->slot) < 0 ? NULL : n;
}

static struct ft_script_node *bracket(struct parse *p)
{
  char open = *p->at++;
  struct ft_script_node *n = node(p, open == '['   ? FT_SCRIPT_LIST
                                     : open == '{' ? FT_SCRIPT_DICT
                                                   : FT_SCRIPT_TUPLE);
  const char *before;

  if (!n || sequence(p, n, open == '[' ? ']' : open == '{' ? '}' : ')', false, open == '{') < 0)
    return NULL;
  if (open != '(' || n->count != 1)
    return n;
  before = p->at - 2; /* "(x, )" is a tuple, "(x)" is not */
  while (before > p->begin && (*before == ' ' || *before == '\n'))
    before--;
  return *before == ',' ? n : n->kids[0];
}

/* What follows an expression: a call, an attribute, an index. */
static struct ft_script_node *suffixes(struct parse *p, struct ft_script_node *n)
{
  while (n && p->at < p->end && (*p->at == '(' || *p->at == '.' || *p->at == '[')) {
    char c = *p->at++;
    struct ft_script_node *outer =
        node(p, c == '(' ? FT_SCRIPT_CALL : c == '.' ? FT_SCRIPT_ATTRIBUTE : FT_SCRIPT_INDEX);

    if (!outer || add_kid(p, outer, n) < 0)
      return NULL;
    if (c == '.') {
      outer->text = word(p, NULL);
      outer->path = outer->text && n->path ? join(p, n->path, outer->text) : NULL;
      if (!outer->text || (n->path && !outer->path))
        return NULL;
    } else if (sequence(p, outer, c == '(' ? ')' : ']', c == '(', false) < 0) {
      return NULL;
    }
    n = outer;
  }
  return n;
}

static struct ft_script_node *expression(struct parse *p)
{
  struct ft_script_node *n;
  char c;

  blanks(p, p->depth > 0);
  if (p->at >= p->end || p->depth >= DEPTH) {
    (void)fail(p, p->depth >= DEPTH ? "expressions less deep" : "an expression");
    return NULL;
  }
  p->depth++;
  c = *p->at;
  if (c == '"' || c == '\'')
    n = string(p);
  else if (c == '(' || c == '[' || c == '{')
    n = bracket(p);
  else if ((c >= '0' && c <= '9') || c == '.')
    n = numeral(p);
  else if (c == '-') {
    if (p->end - p->at > 4 && memcmp(p->at, "-inf", 4) == 0) {
      p->at += 4;
      n = node(p, FT_SCRIPT_VALUE);
      if (n)
        n->value = ft_value_real(-HUGE_VAL);
    } else {
      n = numeral(p);
    }
  } else {
    n = name(p);
  }
  n = suffixes(p, n);
  p->depth--;
  return n;
}

/* ---- statements ---- */

/* How far the next line with something on it is set in; -1 at the end. */
static int indentation(struct parse *p)
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

static int end_of_line(struct parse *p)
{
  blanks(p, false);
  if (p->at < p->end && *p->at == '#')
    while (p->at < p->end && *p->at != '\n')
      p->at++;
  if (p->at < p->end && *p->at != '\n')
    return fail(p, "the end of a line");
  if (p->at < p->end)
    p->at++;
  return 0;
}

/* A type as it is written, up to "=", a comma, a bracket or the end of the line. */
static const char *type(struct parse *p)
{
  const char *begin;
  int open = 0;

  blanks(p, true);
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

/* ": type" behind a name, where there is one. */
static int annotation(struct parse *p)
{
  blanks(p, false);
  if (p->at >= p->end || *p->at != ':')
    return 0;
  p->at++;
  if (!type(p))
    return -1;
  blanks(p, false);
  return 0;
}

static int block(struct parse *p, int outside, struct ft_script_body *body);

/* a, b, c */
static struct ft_script_node *targets(struct parse *p)
{
  struct ft_script_node *first = expression(p), *all;

  blanks(p, false);
  if (!first || p->at >= p->end || *p->at != ',')
    return first;
  all = node(p, FT_SCRIPT_TUPLE);
  if (!all || add_kid(p, all, first) < 0)
    return NULL;
  while (p->at < p->end && *p->at == ',') {
    p->at++;
    blanks(p, false);
    if (p->at >= p->end || *p->at == '=' || *p->at == '\n')
      break;
    if (add_kid(p, all, expression(p)) < 0)
      return NULL;
    blanks(p, false);
  }
  return all;
}

static int colon(struct parse *p)
{
  blanks(p, false);
  if (p->at >= p->end || *p->at != ':')
    return fail(p, "\":\"");
  p->at++;
  return end_of_line(p);
}

static int conditional(struct parse *p, int indent, struct ft_script_statement *s)
{
  const char *before;

  s->value = expression(p);
  s->body = ft_build_take(p->build, sizeof *s->body);
  s->otherwise = ft_build_take(p->build, sizeof *s->otherwise);
  if (!s->value || !s->body || !s->otherwise || colon(p) < 0 || block(p, indent, s->body) < 0)
    return -1;
  before = p->at;
  if (indentation(p) == indent && literal(p, "else"))
    return colon(p) < 0 ? -1 : block(p, indent, s->otherwise);
  p->at = before;
  return 0;
}

static int loop(struct parse *p, int indent, struct ft_script_statement *s)
{
  if (s->verb == FT_SCRIPT_FOR) {
    s->target = targets(p);
    blanks(p, false);
    if (!s->target || !literal(p, "in"))
      return s->target ? fail(p, "\"in\"") : -1;
  }
  s->value = expression(p);
  s->body = ft_build_take(p->build, sizeof *s->body);
  return !s->value || !s->body || colon(p) < 0 ? -1 : block(p, indent, s->body);
}

/* An assignment, with or without a type, or an expression. */
static int simple(struct parse *p, struct ft_script_statement *s)
{
  s->verb = FT_SCRIPT_RUN;
  s->value = targets(p);
  if (!s->value || annotation(p) < 0)
    return -1;
  if (p->at < p->end && *p->at == '=') {
    p->at++;
    s->verb = FT_SCRIPT_ASSIGN;
    s->target = s->value;
    s->value = targets(p);
    if (!s->value)
      return -1;
  }
  return end_of_line(p);
}

static int statement(struct parse *p, int indent, struct ft_script_body *body)
{
  struct ft_script_statement *list, s = { .at = (uint32_t)(p->at - p->begin) };
  const struct ft_script_node *callee;

  if (literal(p, "pass"))
    return end_of_line(p);
  if (literal(p, "if")) {
    s.verb = FT_SCRIPT_IF;
    if (conditional(p, indent, &s) < 0)
      return -1;
  } else if (literal(p, "for") || literal(p, "while")) {
    s.verb = p->at[-1] == 'r' ? FT_SCRIPT_FOR : FT_SCRIPT_WHILE;
    if (loop(p, indent, &s) < 0)
      return -1;
  } else if (literal(p, "return")) {
    s.verb = FT_SCRIPT_RETURN;
    blanks(p, false);
    s.value = p->at < p->end && *p->at != '\n' ? targets(p) : node(p, FT_SCRIPT_VALUE);
    if (!s.value || end_of_line(p) < 0)
      return -1;
  } else if (simple(p, &s) < 0) {
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

static int block(struct parse *p, int outside, struct ft_script_body *body)
{
  const char *before = p->at;
  int indent = indentation(p), now = indent;

  if (indent <= outside)
    return fail(p, "a block that is set in");
  if (++p->depth > DEPTH)
    return fail(p, "blocks less deep");
  p->depth -= 1;
  for (; now == indent; now = indentation(p)) {
    int depth = p->depth;
    int status;

    if (indent > 2 * DEPTH)
      return fail(p, "blocks less deep");
    p->depth = 0;
    status = statement(p, indent, body);
    p->depth = depth;
    if (status < 0)
      return -1;
    before = p->at;
  }
  if (now > indent)
    return fail(p, "a line that is set in as the one before");
  p->at = before;
  return 0;
}

/* ---- definitions ---- */

static int parameters(struct parse *p, struct ft_script_function *f)
{
  for (;;) {
    struct ft_script_parameter *list, one = { 0 };
    uint32_t name;

    blanks(p, true);
    if (literal(p, ")"))
      return 0;
    one.name = word(p, &name);
    blanks(p, true);
    if (!one.name || slot_of(p, name, &one.slot) < 0)
      return -1;
    one.type = "";
    if (p->at < p->end && *p->at == ':') {
      p->at++;
      one.type = type(p);
      blanks(p, true);
    }
    if (p->at < p->end && *p->at == '=') {
      p->at++;
      one.otherwise = expression(p);
      if (!one.otherwise)
        return -1;
      blanks(p, true);
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
      return fail(p, "a parameter");
  }
}

/* Behind "def", set in by INDENT; of the class or module OWNER. */
static int function(struct parse *p, int indent, const char *owner)
{
  struct ft_script_function *list, f = { .part = p->part };
  const char *name;
  int status;

  p->function++;
  p->slots = 0;
  blanks(p, false);
  name = word(p, NULL);
  f.name = name ? join(p, owner, name) : NULL;
  if (!f.name || !literal(p, "("))
    return f.name ? fail(p, "parameters") : -1;
  p->depth = 1;
  status = parameters(p, &f);
  blanks(p, true);
  if (status == 0 && literal(p, "->"))
    status = type(p) ? 0 : -1;
  p->depth = 0;
  if (status < 0 || colon(p) < 0 || block(p, indent, &f.body) < 0)
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

/* A plain value of an expression without names; false when it has some. */
static bool plain(const struct ft_script_node *n, struct ft_operand *value)
{
  *value = n->value;
  return n->kind == FT_SCRIPT_VALUE;
}

/* What a constant's brackets hold is made into a list that lives as long as the program. */
static bool constant(struct parse *p, const struct ft_script_node *n, struct ft_operand *value)
{
  if (plain(n, value))
    return true;
  if (n->kind != FT_SCRIPT_LIST && n->kind != FT_SCRIPT_TUPLE)
    return false;
  *value = (struct ft_operand){
    .type = n->kind == FT_SCRIPT_LIST ? FT_VALUE_LIST : FT_VALUE_TUPLE, .known = true
  };
  value->list = ft_build_take(p->build, sizeof *value->list);
  if (!value->list)
    return false;
  value->list->items = ft_build_take(p->build, (n->count + 1) * sizeof *value->list->items);
  value->list->count = value->list->room = n->count;
  for (size_t i = 0; value->list->items && i < n->count; i++)
    if (!plain(n->kids[i], &value->list->items[i]))
      value->list->items[i] = ft_value_some(FT_VALUE_OPAQUE);
  return value->list->items != NULL;
}

static int add_buffers(struct parse *p, struct ft_script_class *class,
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
static int member(struct parse *p, struct ft_script_class *class)
{
  struct ft_script_node *target = expression(p), *value = NULL;
  struct ft_field *list, field = { 0 };

  if (!target || annotation(p) < 0)
    return -1;
  if (p->at < p->end && *p->at == '=') {
    const char *before = ++p->at;

    blanks(p, false);
    value = expression(p);
    if (!value)
      return -1;
    blanks(p, false);
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
  if (strncmp(target->text, "__", 2) == 0 || !constant(p, value, &field.value))
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

static int class(struct parse *p)
{
  struct ft_script_class *list, c = { 0 };
  const char *name, *before;
  struct ft_script_node bases = { 0 };
  int indent;

  blanks(p, false);
  p->function++;
  p->slots = 0;
  name = word(p, NULL);
  c.name = name ? join(p, p->module, name) : NULL;
  if (!c.name || !literal(p, "(") || sequence(p, &bases, ')', false, false) < 0 || colon(p) < 0)
    return p->build->err->text[0] ? -1 : fail(p, "a class");
  c.tuple = bases.count && bases.kids[0]->path && strcmp(bases.kids[0]->path, "NamedTuple") == 0;
  for (before = p->at; (indent = indentation(p)) > 0; before = p->at) {
    p->depth = 0;
    if (literal(p, "pass") ? end_of_line(p) < 0
        : literal(p, "def") ? function(p, indent, c.name) < 0
                            : member(p, &c) < 0)
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

/* "code/__torch__/torch/nn.py" -> "__torch__.torch.nn" */
static const char *module_of(struct parse *p)
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
  struct parse p = { .build = build, .script = script, .part = part, .begin = text, .at = text,
                     .end = text + length };
  int indent;

  build->err->text[0] = '\0';
  p.module = module_of(&p);
  if (!p.module || length > UINT32_MAX)
    return fail(&p, "a file of the program");
  while ((indent = indentation(&p)) >= 0) {
    p.depth = 0;
    if (indent > 0)
      return fail(&p, "a definition");
    if (literal(&p, "class") ? class(&p) < 0
        : literal(&p, "def") ? function(&p, 0, p.module) < 0
                             : fail(&p, "a class or a function") < 0)
      return -1;
  }
  return 0;
}

/* ---- looking up ---- */

static int by_function(const void *a, const void *b)
{
  return strcmp(((const struct ft_script_function *)a)->name,
                ((const struct ft_script_function *)b)->name);
}

static int by_class(const void *a, const void *b)
{
  return strcmp(((const struct ft_script_class *)a)->name,
                ((const struct ft_script_class *)b)->name);
}

void ft_script_sort(struct ft_script *script)
{
  if (script->function_count)
    qsort(script->functions, script->function_count, sizeof *script->functions, by_function);
  if (script->class_count)
    qsort(script->classes, script->class_count, sizeof *script->classes, by_class);
}

const struct ft_script_function *ft_script_function(const struct ft_script *script,
                                                    const char *name)
{
  struct ft_script_function key = { .name = name };

  return script->function_count ? bsearch(&key, script->functions, script->function_count,
                                          sizeof key, by_function)
                                : NULL;
}

const struct ft_script_class *ft_script_class(const struct ft_script *script, const char *name)
{
  struct ft_script_class key = { .name = name };

  return script->class_count
             ? bsearch(&key, script->classes, script->class_count, sizeof key, by_class)
             : NULL;
}
