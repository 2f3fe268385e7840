/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <string.h>

#include "predictor/request/hide_line.h"

/* A word or quoted text of a line. */
struct token {
  struct ft_text text;
  bool quoted;
  bool assigned; /* an operator of assignment is before it */
  bool listed;   /* a comma is before it */
};

/* Takes a quoted text at the cursor, or one with a prefix: b"...". Returns false for other text and
 * for an empty one, after which it advances. */
static bool take_quoted(struct ft_text *line, struct ft_text *out)
{
  const char *from = line->at, *stop;

  while (from < line->end && from - line->at < 2 && strchr("bfruBFRU", *from) && *from)
    from++;
  if (from == line->end || (*from != '"' && *from != '\''))
    return false;
  stop = memchr(from + 1, *from, (size_t)(line->end - from - 1));
  *out = (struct ft_text){ from + 1, stop ? stop : line->end };
  line->at = stop ? stop + 1 : line->end;
  return out->at < out->end;
}

/* Takes the next token of LINE. Returns false at the end. */
static bool next_token(struct ft_text *line, struct token *out)
{
  static const char separators[] = " \t\r\"'`=<>:,;()[]{}";

  *out = (struct token){ .text = ft_text_from("") };
  for (;;) {
    const char *from = line->at;

    if (take_quoted(line, &out->text))
      return out->quoted = true;
    if (line->at > from)
      continue;
    if (from == line->end || (*from && !strchr(separators, *from)))
      break;
    out->assigned |= *from == '=' || *from == ':' || ft_text_starts(*line, "<-");
    out->listed |= *from == ',';
    if (*from == '(' || *from == ')' || *from == ';')
      out->assigned = out->listed = false;
    line->at += ft_text_starts(*line, "<-") ? 2 : 1;
  }
  out->text.at = line->at;
  while (line->at < line->end && *line->at && !strchr(separators, *line->at))
    line->at++;
  out->text.end = line->at;
  return out->text.at < out->text.end;
}

/* Whether VALUE is the secret value of NAME, the token before it, which is copied to KEY. SETS:
 * without an operator. */
static bool is_secret_token(const struct ft_hidden *hidden, const struct token *name,
                            const struct token *value, bool sets, char key[FT_BASE_NAME])
{
  char text[FT_SECRET_EXAMINED + 1];

  if (!value->assigned && !(value->listed && name->quoted && value->quoted) &&
      !(sets && !value->listed))
    return false;
  (void)ft_text_copy(value->text, text, sizeof text);
  return ft_text_copy(name->text, key, FT_BASE_NAME) && *text &&
         ft_secret_name(key, text, &hidden->rules);
}

/* Returns the first word of LINE that is a secret by itself; the end of LINE if there is none. */
static struct ft_text find_secret_word(struct ft_text line)
{
  char text[FT_SECRET_EXAMINED + 1];
  struct ft_text word;

  while (ft_text_word(&line, &word)) {
    (void)ft_text_copy(word, text, sizeof text);
    if (ft_secret_value(text))
      return word;
  }
  return (struct ft_text){ line.end, line.end };
}

struct ft_text ft_hide_in_line(struct ft_hidden *hidden, struct ft_text line)
{
  static const char *const commands[] = { "set", "setenv", "setx", "export", NULL };
  struct ft_text rest = line, by_itself = find_secret_word(line), word;
  struct token name = { .text = ft_text_from("") }, token;
  char text[FT_SECRET_EXAMINED + 1], key[FT_BASE_NAME];
  bool sets = ft_text_word(&(struct ft_text){ line.at, line.end }, &word) &&
              ft_text_copy(word, text, sizeof text) && ft_string_listed(commands, text);

  line.end = by_itself.at;
  while (next_token(&rest, &token) && token.text.at < line.end) {
    if (is_secret_token(hidden, &name, &token, sets, key)) {
      line.end = token.text.at;
      /* NAME: TYPE = VALUE */
      if (!token.quoted && next_token(&rest, &name) && name.assigned)
        token = name;
      (void)ft_text_copy(token.text, text, sizeof text);
      (void)ft_hide_assignment(hidden, key, text);
      break;
    }
    name = token;
  }
  return line;
}
