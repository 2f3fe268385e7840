/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Model files, or members of archives, in JSON. */
#ifndef FT_GRAPH_JSON_H
#define FT_GRAPH_JSON_H

#include <jansson.h>

#include "predictor/graph/import/build.h"

/* Returns the string at KEY of OBJECT, which owns it; "" if there is none. */
const char *ft_graph_json_text(const json_t *object, const char *key);

/* Parses TEXT, a JSON object of LENGTH bytes. Returns a new reference; NULL with an error that
 * names file, WHERE ("member x: ", "") and byte, also if TEXT has too many values. */
json_t *ft_graph_json_parse(struct ft_build *build, const char *where, const char *text,
                            size_t length);

/* Parses the file FD, of at most LIMIT bytes (core/buf.h). Returns as ft_graph_json_parse. */
json_t *ft_graph_json_read(struct ft_build *build, int fd, size_t limit);

#endif
