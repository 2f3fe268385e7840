/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include "predictor/site/conf_place.h"

int ft_conf_line(struct ft_text text, const char *at)
{
  int line = 1;

  for (; text.at < at && text.at + 1 < text.end; text.at++)
    line += *text.at == '\n';
  return line;
}

int ft_conf_open_quote(struct ft_text text)
{
  const char *last_double = text.at, *last_single = text.at;
  size_t quotes = 0;

  for (const char *p = text.at; p < text.end; p++)
    if (*p == '"') {
      quotes++;
      last_double = p;
    } else if (*p == '\'') {
      last_single = p;
    }
  return ft_conf_line(text, quotes % 2 ? last_double : last_single);
}

int ft_conf_open_comment(struct ft_text text)
{
  const char *open = text.at;
  bool found = false;

  for (const char *p = text.at; p + 1 < text.end; p++)
    if (p[0] == '*' && p[1] == '/') {
      found = false;
    } else if (!found && p[0] == '/' && p[1] == '*') {
      open = p;
      found = true;
    }
  return ft_conf_line(text, open);
}
