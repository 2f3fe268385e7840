/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tokens and expressions of a TorchScript program (python_print.cpp, a small subset of Python). */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "predictor/core/text.h"
#include "predictor/graph/import/torch/torchscript_parse.h"

enum { SLOTS = 1 << 20 }; /* limit of a function's variables */

int ft_script_expected(struct ft_script_text *p, const char *expected)
{
  return ft_error_set(p->build->err, "%s: %s: byte %zu: expected %s", p->build->graph->file,
                      p->part, (size_t)(p->at - p->begin), expected);
}

/* ---- tokens ---- */

static bool is_word(char c)
{
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

void ft_script_blanks(struct ft_script_text *p, bool lines)
{
  while (p->at < p->end &&
         (*p->at == ' ' || *p->at == '\t' || *p->at == '\r' || (lines && *p->at == '\n')))
    p->at++;
}

bool ft_script_literal(struct ft_script_text *p, const char *text)
{
  size_t length = strlen(text);

  if ((size_t)(p->end - p->at) < length || memcmp(p->at, text, length) != 0 ||
      (is_word(text[length - 1]) && p->at + length < p->end && is_word(p->at[length])))
    return false;
  p->at += length;
  return true;
}

const char *ft_script_identifier(struct ft_script_text *p, uint32_t *number)
{
  const char *begin = p->at;
  uint32_t name;

  while (p->at < p->end && is_word(*p->at))
    p->at++;
  if (p->at == begin || p->at - begin > FT_GRAPH_NAME) {
    (void)ft_script_expected(p, "a name");
    return NULL;
  }
  name = ft_build_name(p->build, begin, (size_t)(p->at - begin));
  if (number)
    *number = name;
  return name == UINT32_MAX ? NULL : ft_build_text(p->build, name);
}

const char *ft_script_join(struct ft_script_text *p, const char *a, const char *b)
{
  char text[2 * FT_GRAPH_NAME];
  int length = snprintf(text, sizeof text, "%s.%s", a, b);

  if (length < 0 || length > FT_GRAPH_NAME) {
    (void)ft_script_expected(p, "a shorter name");
    return NULL;
  }
  return ft_build_same(p->build, text, (size_t)length);
}

int ft_script_slot(struct ft_script_text *p, uint32_t name, uint32_t *slot)
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
  return p->slots > SLOTS ? ft_script_expected(p, "fewer variables") : 0;
}

/* ---- expressions ---- */

struct ft_script_node *ft_script_new(struct ft_script_text *p, uint8_t kind)
{
  struct ft_script_node *n = ft_build_take(p->build, sizeof *n);

  if (n)
    n->kind = kind;
  return n;
}

int ft_script_add(struct ft_script_text *p, struct ft_script_node *n, struct ft_script_node *kid)
{
  struct ft_script_node **kids =
      kid ? ft_build_grow(p->build, n->kids, &n->room, n->count, sizeof *kids) : NULL;

  if (!kids)
    return -1;
  n->kids = kids;
  kids[n->count++] = kid;
  return 0;
}

int ft_script_sequence(struct ft_script_text *p, struct ft_script_node *n, char close, bool keys,
                       bool pairs)
{
  for (;;) {
    struct ft_script_node *kid;
    const char *before, *key = NULL;

    ft_script_blanks(p, true);
    if (p->at < p->end && *p->at == close) {
      p->at++;
      return 0;
    }
    before = p->at;
    if (keys && p->at < p->end && is_word(*p->at)) {
      key = ft_script_identifier(p, NULL);
      ft_script_blanks(p, true);
      if (key && p->at < p->end && *p->at == '=') {
        p->at++;
      } else {
        p->at = before;
        key = NULL;
      }
    }
    kid = ft_script_expression(p);
    if (!kid)
      return -1;
    kid->key = key;
    if (ft_script_add(p, n, kid) < 0)
      return -1;
    ft_script_blanks(p, true);
    if (pairs && n->count % 2) {
      if (p->at >= p->end || *p->at != ':')
        return ft_script_expected(p, "\":\"");
      p->at++;
      continue;
    }
    if (p->at < p->end && *p->at == ',')
      p->at++;
    else if (p->at >= p->end || *p->at != close)
      return ft_script_expected(p, "\",\" or the end of a list");
  }
}

static struct ft_script_node *parse_string(struct ft_script_text *p)
{
  struct ft_script_node *n = ft_script_new(p, FT_SCRIPT_VALUE);
  char quote = *p->at++, *out;
  const char *begin = p->at;
  size_t length = 0;

  while (p->at < p->end && *p->at != quote)
    p->at += *p->at == '\\' && p->at + 1 < p->end ? 2 : 1;
  if (p->at >= p->end) {
    (void)ft_script_expected(p, "the end of a string");
    return NULL;
  }
  out = n ? ft_build_take(p->build, (size_t)(p->at - begin) + 1) : NULL;
  if (!out)
    return NULL;
  for (const char *q = begin; q < p->at; q++) {
    if (*q == '\\' && q + 1 < p->at)
      q++; /* other escapes occur only in messages */
    out[length++] = *q;
  }
  p->at++;
  n->value = ft_value_string(out);
  return n;
}

static struct ft_script_node *parse_script_number(struct ft_script_text *p)
{
  struct ft_script_node *n = ft_script_new(p, FT_SCRIPT_VALUE);
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
    (void)ft_script_expected(p, "a number");
    return NULL;
  }
  p->at = text.at;
  if (p->at < p->end && *p->at == '.') /* "0." */
    p->at++;
  if (p->at < p->end && *p->at == 'j')
    p->at++;
  n->value = ft_value_real(value);
  return n;
}

static struct ft_script_node *parse_script_name(struct ft_script_text *p)
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
  struct ft_script_node *n = ft_script_new(p, FT_SCRIPT_NAME);
  uint32_t number;
  size_t i;

  if (!n)
    return NULL;
  n->text = ft_script_identifier(p, &number);
  if (!n->text)
    return NULL;
  i = FT_TABLE_FIND(words, n->text);
  if (i < sizeof words / sizeof *words) {
    n->kind = FT_SCRIPT_VALUE;
    n->value = words[i].value;
    return n;
  }
  n->path = n->text;
  return ft_script_slot(p, number, &n->slot) < 0 ? NULL : n;
}

static struct ft_script_node *parse_bracket(struct ft_script_text *p)
{
  char open = *p->at++;
  struct ft_script_node *n = ft_script_new(p, open == '['   ? FT_SCRIPT_LIST
                                              : open == '{' ? FT_SCRIPT_DICT
                                                            : FT_SCRIPT_TUPLE);
  const char *before;

  if (!n || ft_script_sequence(p, n,
                               open == '['   ? ']'
                               : open == '{' ? '}'
                                             : ')',
                               false, open == '{') < 0)
    return NULL;
  if (open != '(' || n->count != 1)
    return n;
  before = p->at - 2; /* "(x, )" is a tuple, "(x)" is not */
  while (before > p->begin && (*before == ' ' || *before == '\n'))
    before--;
  return *before == ',' ? n : n->kids[0];
}

/* A call, an attribute or an index after an expression. */
static struct ft_script_node *parse_suffixes(struct ft_script_text *p, struct ft_script_node *n)
{
  while (n && p->at < p->end && (*p->at == '(' || *p->at == '.' || *p->at == '[')) {
    char c = *p->at++;
    struct ft_script_node *outer = ft_script_new(p, c == '('   ? FT_SCRIPT_CALL
                                                    : c == '.' ? FT_SCRIPT_ATTRIBUTE
                                                               : FT_SCRIPT_INDEX);

    if (!outer || ft_script_add(p, outer, n) < 0)
      return NULL;
    if (c == '.') {
      outer->text = ft_script_identifier(p, NULL);
      outer->path = outer->text && n->path ? ft_script_join(p, n->path, outer->text) : NULL;
      if (!outer->text || (n->path && !outer->path))
        return NULL;
    } else if (ft_script_sequence(p, outer, c == '(' ? ')' : ']', c == '(', false) < 0) {
      return NULL;
    }
    n = outer;
  }
  return n;
}

struct ft_script_node *ft_script_expression(struct ft_script_text *p)
{
  struct ft_script_node *n;
  char c;

  ft_script_blanks(p, p->depth > 0);
  if (p->at >= p->end || p->depth >= FT_SCRIPT_DEPTH) {
    (void)ft_script_expected(p, p->depth >= FT_SCRIPT_DEPTH ? "expressions less deep"
                                                            : "an expression");
    return NULL;
  }
  p->depth++;
  c = *p->at;
  if (c == '"' || c == '\'')
    n = parse_string(p);
  else if (c == '(' || c == '[' || c == '{')
    n = parse_bracket(p);
  else if ((c >= '0' && c <= '9') || c == '.')
    n = parse_script_number(p);
  else if (c == '-') {
    if (p->end - p->at > 4 && memcmp(p->at, "-inf", 4) == 0) {
      p->at += 4;
      n = ft_script_new(p, FT_SCRIPT_VALUE);
      if (n)
        n->value = ft_value_real(-HUGE_VAL);
    } else {
      n = parse_script_number(p);
    }
  } else {
    n = parse_script_name(p);
  }
  n = parse_suffixes(p, n);
  p->depth--;
  return n;
}
