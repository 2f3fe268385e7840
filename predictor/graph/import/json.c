/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parses JSON with jansson, with a limit on the number of values. */
#include "config.h"

#include "predictor/core/buf.h"
#include "predictor/core/io.h"
#include "predictor/core/text.h"
#include "predictor/graph/import/json.h"

enum { VALUES = 4 << 20 }; /* per file; bounds the memory for parsing */

const char *ft_graph_json_text(const json_t *object, const char *key)
{
  const char *text = json_string_value(json_object_get(object, key));

  return text ? text : "";
}

/* Upper bound of the number of values in TEXT, to which the memory of parsing is proportional. */
static size_t count_values(const char *text, size_t length)
{
  size_t count = 0;

  for (size_t i = 0; i < length; i++)
    count += text[i] == ',' || text[i] == '[' || text[i] == '{';
  return count;
}

json_t *ft_graph_json_parse(struct ft_build *build, const char *where, const char *text,
                            size_t length)
{
  const char *file = build->graph->file;
  json_error_t json_error;
  json_t *root;

  if (count_values(text, length) > VALUES) {
    (void)ft_error_set(build->err, "%s: %smore than %d values", file, where, VALUES);
    return NULL;
  }
  root = json_loadb(text, length, JSON_ALLOW_NUL, &json_error);
  if (json_is_object(root))
    return root;
  (void)ft_error_set(build->err, "%s: %sbyte %d: %.150s", file, where,
                     root ? 0 : json_error.position, root ? "expected an object" : json_error.text);
  json_decref(root);
  return NULL;
}

json_t *ft_graph_json_read(struct ft_build *build, int fd, size_t limit)
{
  json_t *root = NULL;
  struct ft_error why;
  struct ft_buf file;

  ft_buf_init(&file, limit);
  if (ft_io_read_fd(fd, &file, &why) < 0)
    (void)ft_error_set(build->err, "%s: %.200s", build->graph->file, why.text);
  else
    root = ft_graph_json_parse(build, "", ft_buf_text(&file), file.length);
  ft_buf_free(&file);
  return root;
}
