/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <string.h>

#include "predictor/request/properties.h"

enum { HEAD = 64 }; /* lines at the beginning of a script that may be the comment */

static void skip_blanks(struct ft_text *json)
{
  while (json->at < json->end && (*json->at == ' ' || *json->at == '\t'))
    json->at++;
}

/* A string; OUT gets what stands between its quotes. */
static bool take_string(struct ft_text *json, struct ft_text *out)
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

/* Any value; OUT gets it as written, a string without its quotes. */
static bool take_value(struct ft_text *json, struct ft_text *out)
{
  const char *begin = json->at;
  struct ft_text string;
  size_t depth = 0;

  if (ft_text_starts(*json, "\""))
    return take_string(json, out);
  while (json->at < json->end) {
    char c = *json->at;

    if (c == '"') {
      if (!take_string(json, &string))
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

/* The next member of an object, the cursor being behind its '{' or behind a member. */
static bool take_member(struct ft_text *object, struct ft_text *name, struct ft_text *value)
{
  skip_blanks(object);
  (void)ft_text_skip(object, ",");
  skip_blanks(object);
  if (!take_string(object, name))
    return false;
  skip_blanks(object);
  if (!ft_text_skip(object, ":"))
    return false;
  skip_blanks(object);
  return take_value(object, value);
}

static void take_params(struct ft_text params, struct ft_feature_set *found)
{
  struct ft_text name, value;
  char key[48], text[64];

  if (!ft_text_skip(&params, "{"))
    return;
  while (take_member(&params, &name, &value)) {
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

  for (int i = 0; i < HEAD && ft_text_line(&script, &line); i++) {
    if (!ft_text_skip(&line, "# properties = {"))
      continue;
    while (take_member(&line, &name, &value))
      if (ft_text_equals(name, "params"))
        take_params(value, found);
    return;
  }
}
