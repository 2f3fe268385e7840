/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>
#include <string.h>
#include <strings.h>

#include "predictor/core/hot.h"
#include "predictor/core/text.h"

static bool is_space(char c)
{
  return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_decimal_digit(char c)
{
  return c >= '0' && c <= '9';
}

struct ft_text ft_text_of(const char *data, size_t length)
{
  if (!data)
    return ft_text_from("");
  return (struct ft_text){ data, data + length };
}

struct ft_text ft_text_from(const char *string)
{
  if (!string)
    string = "";
  return (struct ft_text){ string, string + strlen(string) };
}

size_t ft_text_left(const struct ft_text *text)
{
  return (size_t)(text->end - text->at);
}

bool ft_text_until(struct ft_text *text, char separator, struct ft_text *piece)
{
  const char *stop;

  if (text->at >= text->end)
    return false;
  stop = memchr(text->at, separator, ft_text_left(text));
  piece->at = text->at;
  piece->end = stop ? stop : text->end;
  text->at = stop ? stop + 1 : text->end;
  return true;
}

bool ft_text_line(struct ft_text *text, struct ft_text *line)
{
  if (!ft_text_until(text, '\n', line))
    return false;
  if (line->end > line->at && line->end[-1] == '\r')
    line->end--;
  return true;
}

FT_HOT bool ft_text_word(struct ft_text *text, struct ft_text *word)
{
  while (text->at < text->end && is_space(*text->at))
    text->at++;
  if (text->at >= text->end)
    return false;
  word->at = text->at;
  while (text->at < text->end && !is_space(*text->at))
    text->at++;
  word->end = text->at;
  return true;
}

struct ft_text ft_text_trim(struct ft_text text)
{
  while (text.at < text.end && is_space(*text.at))
    text.at++;
  while (text.end > text.at && is_space(text.end[-1]))
    text.end--;
  return text;
}

FT_HOT bool ft_text_skip(struct ft_text *text, const char *literal)
{
  if (!ft_text_starts(*text, literal))
    return false;
  text->at += strlen(literal);
  return true;
}

bool ft_text_equals(struct ft_text text, const char *string)
{
  return ft_text_left(&text) == strlen(string) && ft_text_starts(text, string);
}

bool ft_text_same(struct ft_text a, struct ft_text b)
{
  return ft_text_left(&a) == ft_text_left(&b) && memcmp(a.at, b.at, ft_text_left(&a)) == 0;
}

bool ft_text_starts(struct ft_text text, const char *prefix)
{
  size_t length = strlen(prefix);

  return ft_text_left(&text) >= length && (!length || memcmp(text.at, prefix, length) == 0);
}

bool ft_text_lists(struct ft_text list, const char *word)
{
  struct ft_text piece;

  while (ft_text_until(&list, ',', &piece))
    if (ft_text_equals(piece, word))
      return true;
  return false;
}

bool ft_text_lists_any_case(struct ft_text list, struct ft_text word)
{
  size_t length = ft_text_left(&word);
  struct ft_text piece;

  while (ft_text_until(&list, ',', &piece))
    if (ft_text_left(&piece) == length && strncasecmp(piece.at, word.at, length) == 0)
      return true;
  return false;
}

FT_HOT bool ft_text_u64(struct ft_text *text, uint64_t max, uint64_t *value)
{
  const char *p = text->at;
  uint64_t v = 0;

  if (p >= text->end || !is_decimal_digit(*p))
    return false;
  for (; p < text->end && is_decimal_digit(*p); p++) {
    uint64_t d = (uint64_t)(*p - '0');

    if (v > (UINT64_MAX - d) / 10)
      return false;
    v = v * 10 + d;
  }
  if (v > max)
    return false;
  text->at = p;
  *value = v;
  return true;
}

/*
 * Uses the first 18 significant digits, which fit a uint64_t; further digits only change the
 * exponent. The relative error is below 1e-15.
 */
bool ft_text_double(struct ft_text *text, double *value)
{
  const char *p = text->at, *end = text->end;
  bool negative = false, any = false;
  uint64_t mantissa = 0;
  int exponent = 0, digits = 0;
  double v;

  if (p < end && (*p == '-' || *p == '+'))
    negative = *p++ == '-';
  for (; p < end && is_decimal_digit(*p); p++, any = true) {
    if (digits < 18) {
      mantissa = mantissa * 10 + (uint64_t)(*p - '0');
      digits += mantissa > 0;
    } else if (exponent < 100000) {
      exponent++;
    }
  }
  if (p < end && *p == '.') {
    for (p++; p < end && is_decimal_digit(*p); p++, any = true) {
      if (digits < 18 && exponent > -100000) {
        mantissa = mantissa * 10 + (uint64_t)(*p - '0');
        digits += mantissa > 0;
        exponent--;
      }
    }
  }
  if (!any)
    return false;
  if (p < end && (*p == 'e' || *p == 'E')) {
    struct ft_text rest = { p + 1, end };
    bool down = false;
    uint64_t e;

    if (rest.at < end && (*rest.at == '-' || *rest.at == '+'))
      down = *rest.at++ == '-';
    if (ft_text_u64(&rest, 100000, &e)) {
      exponent += down ? -(int)e : (int)e;
      p = rest.at;
    }
  }
  v = (double)mantissa;
  if (mantissa && exponent < -300)
    v = v * 1e-300 * pow(10, exponent + 300);
  else if (mantissa && exponent < 0)
    v /= pow(10, -exponent);
  else if (mantissa && exponent > 0)
    v *= pow(10, exponent);
  if (!isfinite(v))
    return false;
  text->at = p;
  *value = negative ? -v : v;
  return true;
}

bool ft_text_is_double(struct ft_text text, double *value)
{
  return ft_text_double(&text, value) && text.at == text.end;
}

bool ft_text_copy(struct ft_text text, char *out, size_t size)
{
  size_t length = ft_text_left(&text), copied = length < size ? length : size - 1;

  if (!size)
    return false;
  if (copied)
    memcpy(out, text.at, copied);
  out[copied] = '\0';
  return copied == length;
}

bool ft_string_copy(const char *string, char *out, size_t size)
{
  return ft_text_copy(ft_text_from(string), out, size);
}

bool ft_string_ends(const char *string, const char *tail)
{
  size_t length = strlen(string), tail_length = strlen(tail);

  return length >= tail_length && strcmp(string + length - tail_length, tail) == 0;
}

bool ft_string_has_control(const char *string)
{
  while ((unsigned char)*string >= ' ' && *string != 0x7f)
    string++;
  return *string;
}

bool ft_string_listed(const char *const *list, const char *string)
{
  for (; *list; list++)
    if (strcmp(*list, string) == 0)
      return true;
  return false;
}

size_t ft_table_find(const void *table, size_t count, size_t size, bool inlined, const char *name)
{
  const char *row = table;
  size_t i = 0;

  for (; i < count; i++, row += size)
    if (strcmp(inlined ? row : *(const char *const *)row, name) == 0)
      break;
  return i;
}

const void *ft_table_row(const void *table, size_t count, size_t size, bool inlined,
                         const char *name)
{
  size_t i = ft_table_find(table, count, size, inlined, name);

  return i < count ? (const char *)table + i * size : NULL;
}

const char *ft_plural(uint64_t count)
{
  return count == 1 ? "" : "s";
}
