/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <string.h>

#include "predictor/site/conf_position.h"

/* A quoted text or a comment; both ends belong to it. */
struct span {
  char by; /* its quote, '#' of a comment in one line, '*' of one in several; '\0': none */
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

static bool is_pair(struct ft_text text, const char *p, char first, char second)
{
  return p + 1 < text.end && p[0] == first && p[1] == second;
}

/* What begins at P, where a word does if FRESH. */
static char opens(struct ft_text text, const char *p, bool fresh)
{
  if (*p == '"' || *p == '\'')
    return *p;
  if (*p == '#' || (fresh && is_pair(text, p, '/', '/')))
    return '#';
  return fresh && is_pair(text, p, '/', '*') ? '*' : '\0';
}

/* The next one in TEXT, which is then what follows it; false where it never ends, or there is
 * none. */
static bool next_span(struct ft_text *text, struct span *out)
{
  bool fresh = true;

  *out = (struct span){ 0 };
  for (const char *p = text->at; p < text->end; p++) {
    if (!out->by) {
      *out = (struct span){ .by = opens(*text, p, fresh), .from = p };
      fresh = strchr(" \t\n\r={}(),+", *p) != NULL;
      p += out->by == '*';
    } else if (out->by == '*' ? is_pair(*text, p, '*', '/')
                              : *p == (out->by == '#' ? '\n' : out->by)) {
      out->to = p + (out->by == '*');
      text->at = out->to + 1;
      return true;
    } else if ((out->by == '"' || out->by == '\'') && *p == '\\') {
      p++;
    }
  }
  return false;
}

void ft_conf_blank_comments(char *text, size_t length)
{
  struct ft_text rest = ft_text_of(text, length);
  struct span span;

  while (next_span(&rest, &span) || span.by == '#') {
    if (!span.to) {
      span.to = text + length - 1;
      rest.at = rest.end;
    }
    for (char *p = text + (span.from - text); p <= span.to && (span.by == '#' || span.by == '*');
         p++)
      *p = *p == '\n' ? '\n' : ' ';
  }
}

int ft_conf_unterminated_line(struct ft_text text)
{
  struct ft_text rest = text;
  struct span span;

  while (next_span(&rest, &span))
    ;
  return ft_conf_line(text, span.by ? span.from : text.end);
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
