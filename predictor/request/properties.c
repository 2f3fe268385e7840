/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <string.h>

#include "predictor/request/properties.h"

enum { COMMENT_LINES = 64 }; /* first lines of a script that are searched */

static void skip_json_blanks(struct ft_text *json)
{
  while (json->at < json->end && (*json->at == ' ' || *json->at == '\t'))
    json->at++;
}

/* Parses a string. OUT becomes the text between the quotes, with escapes. */
static bool parse_json_string(struct ft_text *json, struct ft_text *out)
{
  const char *p = json->at + 1;

  if (!ft_text_starts(*json, "\""))
    return false;
  while (p < json->end && *p != '"')
    p += *p == '\\' && p + 1 < json->end ? 2 : 1;
  *out = (struct ft_text){ json->at + 1, p };
  json->at = p < json->end ? p + 1 : p;
  return p < json->end;
}

/* Parses any value. OUT becomes its text, of a string without the quotes. */
static bool parse_json_value(struct ft_text *json, struct ft_text *out)
{
  const char *begin = json->at;
  struct ft_text string;
  size_t depth = 0;

  if (ft_text_starts(*json, "\""))
    return parse_json_string(json, out);
  while (json->at < json->end) {
    char c = *json->at;

    if (c == '"') {
      if (!parse_json_string(json, &string))
        return false;
      continue;
    }
    if (!depth && (c == ',' || c == '}' || c == ']'))
      break;
    depth += c == '{' || c == '[';
    depth -= c == '}' || c == ']';
    json->at++;
  }
  *out = ft_text_trim((struct ft_text){ begin, json->at });
  return !depth && ft_text_left(out);
}

/* Parses the next member of an object. The cursor is after its '{' or after a member. */
static bool next_json_member(struct ft_text *object, struct ft_text *name, struct ft_text *value)
{
  skip_json_blanks(object);
  (void)ft_text_skip(object, ",");
  skip_json_blanks(object);
  if (!parse_json_string(object, name))
    return false;
  skip_json_blanks(object);
  if (!ft_text_skip(object, ":"))
    return false;
  skip_json_blanks(object);
  return parse_json_value(object, value);
}

static void add_params(struct ft_text params, struct ft_feature_set *found)
{
  struct ft_text name, value;
  char key[48], text[64];

  if (!ft_text_skip(&params, "{"))
    return;
  while (next_json_member(&params, &name, &value)) {
    bool escaped = memchr(name.at, '\\', ft_text_left(&name)) ||
                   (ft_text_left(&value) && memchr(value.at, '\\', ft_text_left(&value)));

    if (!escaped && !ft_text_equals(value, "null") && ft_text_copy(name, key, sizeof key) &&
        ft_text_copy(value, text, sizeof text))
      ft_feature_set_add_choice(found, key, text);
  }
}

void ft_properties_add_features(struct ft_text script, struct ft_feature_set *found)
{
  struct ft_text line, name, value;

  for (int i = 0; i < COMMENT_LINES && ft_text_line(&script, &line); i++) {
    if (!ft_text_skip(&line, "# properties = {"))
      continue;
    while (next_json_member(&line, &name, &value))
      if (ft_text_equals(name, "params"))
        add_params(value, found);
    return;
  }
}
