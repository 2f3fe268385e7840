/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <string.h>

#include "predictor/site/conf_position.h"

/* A string or comment, including both delimiters. */
struct span {
  char type; /* the quote, '#' of a line comment, '*' of a block comment; '\0': none */
  const char *from, *to;
};

static int lines_between(const char *from, const char *to)
{
  int lines = 0;

  for (; from < to; from++)
    lines += *from == '\n';
  return lines;
}

int ft_conf_line(struct ft_text text, const char *at)
{
  return 1 + lines_between(text.at, at < text.end ? at : text.end - (text.at < text.end));
}

int ft_conf_brace_line(struct ft_text text, int line)
{
  int at = 1, found = line;

  for (const char *p = text.at; p < text.end && at <= line; p++) {
    if (*p == '{')
      found = at;
    at += *p == '\n';
  }
  return found;
}

static bool has_pair(struct ft_text text, const char *p, char first, char second)
{
  return p + 1 < text.end && p[0] == first && p[1] == second;
}

/* Returns the type of the span that begins at P. WORD_START: a word can begin at P. */
static char span_type(struct ft_text text, const char *p, bool word_start)
{
  if (*p == '"' || *p == '\'')
    return *p;
  if (*p == '#' || (word_start && has_pair(text, p, '/', '/')))
    return '#';
  return word_start && has_pair(text, p, '/', '*') ? '*' : '\0';
}

/* Finds the next span in TEXT and moves TEXT after it. Returns false without a span, or if it has
 * no end. */
static bool next_span(struct ft_text *text, struct span *out)
{
  bool word_start = true;

  *out = (struct span){ 0 };
  for (const char *p = text->at; p < text->end; p++) {
    if (!out->type) {
      *out = (struct span){ .type = span_type(*text, p, word_start), .from = p };
      word_start = strchr(" \t\n\r={}(),+", *p) != NULL;
      p += out->type == '*';
    } else if (out->type == '*' ? has_pair(*text, p, '*', '/')
                                : *p == (out->type == '#' ? '\n' : out->type)) {
      out->to = p + (out->type == '*');
      text->at = out->to + 1;
      return true;
    } else if ((out->type == '"' || out->type == '\'') && *p == '\\') {
      p++;
    }
  }
  return false;
}

void ft_conf_blank_comments(char *text, size_t length)
{
  struct ft_text rest = ft_text_of(text, length);
  struct span span;

  while (next_span(&rest, &span) || span.type == '#') {
    if (!span.to) {
      span.to = text + length - 1;
      rest.at = rest.end;
    }
    for (char *p = text + (span.from - text);
         p <= span.to && (span.type == '#' || span.type == '*'); p++)
      *p = *p == '\n' ? '\n' : ' ';
  }
}

int ft_conf_unterminated_line(struct ft_text text)
{
  struct ft_text rest = text;
  struct span span;

  while (next_span(&rest, &span))
    ;
  return ft_conf_line(text, span.type ? span.from : text.end);
}

int ft_conf_quote_start_line(struct ft_text text, int line)
{
  const char *counted = text.at;
  struct ft_text rest = text;
  struct span span;
  int last = 1;

  while (last <= line && next_span(&rest, &span)) {
    int first = last + lines_between(counted, span.from);

    last = first + lines_between(span.from, span.to);
    counted = span.to;
    if (last == line && first < line)
      return first;
  }
  return line;
}
