/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <string.h>

#include "predictor/request/shell/scan.h"

bool ft_shell_is_name_byte(char c, bool first)
{
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         (!first && c >= '0' && c <= '9');
}

bool ft_shell_blank(char c)
{
  return c == ' ' || c == '\t' || c == '\r';
}

bool ft_shell_ends_word(char c)
{
  return ft_shell_blank(c) || (c && strchr("\n;&|()<>", c));
}

bool ft_shell_assignment(struct ft_text *text, struct ft_text *name)
{
  const char *p = text->at;

  while (p < text->end && ft_shell_is_name_byte(*p, p == text->at))
    p++;
  *name = (struct ft_text){ text->at, p };
  if (p < text->end && *p == '+' && p + 1 < text->end && p[1] == '=')
    p++;
  if (name->at == name->end || p == text->end || *p != '=')
    return false;
  text->at = p + 1;
  return true;
}

const char *ft_shell_skip_quoted(const char *p, const char *end, char quote)
{
  while (p < end && *p != quote)
    p += *p == '\\' && quote != '\'' && p + 1 < end ? 2 : 1;
  return p < end ? p + 1 : end;
}

bool ft_shell_is_quoted(struct ft_text raw)
{
  return ft_text_left(&raw) >= 2 && *raw.at == '"' && raw.end[-1] == '"' &&
         ft_shell_skip_quoted(raw.at + 1, raw.end, '"') == raw.end;
}

const char *ft_shell_skip(const char *p, const char *end, char open, char close)
{
  size_t depth = 1;

  while (p < end && depth) {
    char c = *p++;

    if (c == '\\' && p < end)
      p++;
    else if (c == '\'' || c == '"' || c == '`')
      p = ft_shell_skip_quoted(p, end, c);
    else if (c == open)
      depth++;
    else if (c == close)
      depth--;
  }
  return p;
}

const char *ft_shell_skip_expansion(const char *p, const char *end)
{
  if (p < end && *p == '(')
    return ft_shell_skip(p + 1, end, '(', ')');
  if (p < end && *p == '{')
    return ft_shell_skip(p + 1, end, '{', '}');
  if (p < end && !ft_shell_is_name_byte(*p, true) && !ft_shell_ends_word(*p) &&
      !strchr("\"'\\$`", *p))
    return p + 1;
  while (p < end && ft_shell_is_name_byte(*p, false))
    p++;
  return p;
}

const char *ft_shell_end_of_word(const char *p, const char *end)
{
  while (p < end && !ft_shell_ends_word(*p)) {
    char c = *p++;

    if (c == '\\' && p < end)
      p++;
    else if (c == '\'' || c == '"' || c == '`')
      p = ft_shell_skip_quoted(p, end, c);
    else if (c == '$')
      p = ft_shell_skip_expansion(p, end);
  }
  return p;
}

struct ft_text ft_shell_document_end(struct ft_text word)
{
  if (word.at < word.end && *word.at == '\\')
    word.at++;
  if (ft_text_left(&word) >= 2 && (*word.at == '\'' || *word.at == '"') && word.end[-1] == *word.at)
    return ft_text_of(word.at + 1, ft_text_left(&word) - 2);
  return word;
}

bool ft_shell_ends_document(struct ft_text line, struct ft_text end)
{
  while (line.at < line.end && *line.at == '\t')
    line.at++;
  return ft_text_same(line, end);
}
