/* SPDX-License-Identifier: GPL-3.0-or-later */
/* String methods as Python defines them for ASCII. A string of unknown value keeps the nearest
 * known text, for error messages only. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "predictor/core/text.h"
#include "predictor/graph/aten/aten.h"

static int give_text(struct ft_call *c, const char *text, size_t length)
{
  char *kept = length < FT_GRAPH_NAME ? ft_tracer_text(c->l, text, length) : NULL;

  if (!kept && length < FT_GRAPH_NAME)
    return -1;
  return ft_give_value(c, kept ? ft_value_string(kept) : ft_value_unknown(FT_VALUE_OPAQUE));
}

/* A string of unknown value, with the text of A. */
static int give_unknown(struct ft_call *c, const struct ft_operand *a)
{
  c->result = *a;
  c->result.known = false;
  return 0;
}

static bool is_blank(char c)
{
  return c == ' ' || (c >= '\t' && c <= '\r');
}

static int change_case(struct ft_call *c, const char *text, char from, int by)
{
  size_t length = strlen(text);
  char *out = ft_tracer_text(c->l, text, length);

  for (size_t i = 0; out && i < length; i++)
    if (out[i] >= from && out[i] < from + 26)
      out[i] = (char)(out[i] + by);
  return out ? ft_give_value(c, ft_value_string(out)) : -1;
}

/* strip(), lstrip(), rstrip() of white space */
static int strip_blanks(struct ft_call *c, const char *text)
{
  const char *end = text + strlen(text);

  while (!ft_aten_is(c, "rstrip") && is_blank(*text))
    text++;
  while (!ft_aten_is(c, "lstrip") && end > text && is_blank(end[-1]))
    end--;
  return give_text(c, text, (size_t)(end - text));
}

/* text.replace(old, new) */
static int replace_text(struct ft_call *c, const char *text, const char *old, const char *new)
{
  char out[FT_GRAPH_NAME];
  size_t length = 0;

  if (!old[0])
    return give_unknown(c, c->args);
  while (*text && length + 1 < sizeof out) {
    bool found = strncmp(text, old, strlen(old)) == 0;

    if (found)
      length += (size_t)snprintf(out + length, sizeof out - length, "%s", new);
    else
      out[length++] = *text;
    text += found ? strlen(old) : 1;
  }
  return length + 1 < sizeof out ? give_text(c, out, length) : give_unknown(c, c->args);
}

/* separator.join(list) */
static int join_texts(struct ft_call *c, const char *separator, const struct ft_values *list)
{
  char out[FT_GRAPH_NAME];
  size_t length = 0;

  for (size_t i = 0; i < list->count && length < sizeof out; i++) {
    const struct ft_operand *v = &list->items[i];

    if (v->type != FT_VALUE_STRING || !v->known)
      return give_unknown(c, c->args);
    length +=
        (size_t)snprintf(out + length, sizeof out - length, "%s%s", i ? separator : "", v->string);
  }
  return length < sizeof out ? give_text(c, out, length) : give_unknown(c, c->args);
}

/* text.split(separator) */
static int split_text(struct ft_call *c, const char *text, const char *separator)
{
  struct ft_operand all = ft_value_list(c->l, FT_VALUE_LIST, NULL, 0);
  const char *end;

  if (!separator[0])
    return give_unknown(c, c->args);
  for (; all.list; text = end + strlen(separator)) {
    end = strstr(text, separator);
    if (give_text(c, text, end ? (size_t)(end - text) : strlen(text)) < 0 ||
        ft_value_append(c->l, all.list, c->result) < 0)
      return -1;
    if (!end)
      return ft_give_value(c, all);
  }
  return -1;
}

/* Writes str(V) to OUT. Returns its length, 0 if unknown. */
static size_t format_value(const struct ft_operand *v, char *out, size_t size)
{
  if (v->type == FT_VALUE_STRING && v->known)
    return (size_t)snprintf(out, size, "%s", v->string);
  if (v->type == FT_VALUE_INT && v->known)
    return (size_t)snprintf(out, size, "%lld", (long long)v->integer);
  if (v->type == FT_VALUE_BOOL && v->known)
    return (size_t)snprintf(out, size, "%s", v->integer ? "True" : "False");
  return 0;
}

/* "{}x{}".format(a, b) */
static int format_text(struct ft_call *c, const char *text)
{
  char out[FT_GRAPH_NAME];
  size_t length = 0, next = 1, one;

  while (*text && length + 1 < sizeof out) {
    if (strncmp(text, "{}", 2) != 0) {
      if (*text == '{' || *text == '}')
        return give_unknown(c, c->args);
      out[length++] = *text++;
      continue;
    }
    one = next < c->count ? format_value(&c->args[next++], out + length, sizeof out - length) : 0;
    if (!one)
      return give_unknown(c, c->args);
    length += one;
    text += 2;
  }
  return length + 1 < sizeof out ? give_text(c, out, length) : give_unknown(c, c->args);
}

/* Methods of two strings; 1: another call. */
static int two_strings(struct ft_call *c, const char *a, const char *b)
{
  const char *found = strstr(a, b);

  if (ft_aten_is(c, "find") && c->count == 2)
    return ft_give_value(c, ft_value_int(found ? found - a : -1));
  if (ft_aten_is(c, "__contains__"))
    return ft_give_value(c, ft_value_bool(found != NULL));
  if (ft_aten_is(c, "startswith") && c->count == 2)
    return ft_give_value(c, ft_value_bool(strncmp(a, b, strlen(b)) == 0));
  if (ft_aten_is(c, "endswith") && c->count == 2)
    return ft_give_value(c, ft_value_bool(ft_string_ends(a, b)));
  if (ft_aten_is(c, "add") && strlen(a) + strlen(b) < FT_GRAPH_NAME)
    return ft_give_value(c, ft_value_string(ft_tracer_format(c->l, "%s%s", a, b)));
  if (ft_aten_is(c, "split") && c->count == 2)
    return split_text(c, a, b);
  if (ft_aten_is(c, "replace") && c->count == 3 && c->args[2].type == FT_VALUE_STRING &&
      c->args[2].known)
    return replace_text(c, a, b, c->args[2].string);
  return 1;
}

int ft_aten_string(struct ft_call *c)
{
  static const char *const made[] = { "add",           "capitalize", "center",   "format",
                                      "join",          "ljust",      "lower",    "lstrip",
                                      "percentFormat", "replace",    "rjust",    "rstrip",
                                      "str",           "strip",      "title",    "upper",
                                      "zfill",         "expandtabs", "swapcase", NULL };
  const struct ft_operand *a = ft_arg(c, 0, NULL), *b = ft_arg(c, 1, NULL);
  int status = 1;

  if (a->known && ft_aten_is(c, "len"))
    return ft_give_value(c, ft_value_int((int64_t)strlen(a->string)));
  if (a->known && (ft_aten_is(c, "lower") || ft_aten_is(c, "upper")))
    return change_case(c, a->string, ft_aten_is(c, "lower") ? 'A' : 'a',
                       ft_aten_is(c, "lower") ? 32 : -32);
  if (a->known && c->count == 1 &&
      (ft_aten_is(c, "strip") || ft_aten_is(c, "lstrip") || ft_aten_is(c, "rstrip")))
    return strip_blanks(c, a->string);
  if (ft_aten_is(c, "str"))
    return ft_give_value(c, *a);
  if (a->known && ft_aten_is(c, "format"))
    return format_text(c, a->string);
  if (a->known && ft_aten_is(c, "join") && ft_value_is_list(b))
    return join_texts(c, a->string, b->list);
  if (a->known && b->type == FT_VALUE_STRING && b->known)
    status = two_strings(c, a->string, b->string);
  if (status <= 0)
    return status;
  if (ft_string_listed(made, c->name))
    return give_unknown(c, a);
  return ft_give_value(
      c, ft_aten_is(c, "len") || ft_aten_is(c, "find") ? ft_value_unknown(FT_VALUE_INT)
         : ft_aten_is(c, "__contains__") || ft_aten_is(c, "startswith") || ft_aten_is(c, "endswith")
             ? ft_value_unknown(FT_VALUE_BOOL)
             : ft_value_unknown(FT_VALUE_OPAQUE));
}

int ft_aten_to_string(struct ft_call *c, const struct ft_operand *v)
{
  char out[FT_GRAPH_NAME];
  size_t length = format_value(v, out, sizeof out);

  if (length && length < sizeof out)
    return give_text(c, out, length);
  c->result = ft_value_string("");
  c->result.known = false;
  return 0;
}
