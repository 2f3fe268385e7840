/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Model files, or members of archives, in JSON. */
#ifndef FT_GRAPH_JSON_H
#define FT_GRAPH_JSON_H

#include <jansson.h>

#include "predictor/graph/import/build.h"

/* The string at KEY of OBJECT; "" if there is none. */
const char *ft_graph_json_text(const json_t *object, const char *key);

/* Parses the object in TEXT. Returns a new reference; NULL with an error that names file, WHERE
 * ("member x: ", "") and byte, also if parsing would need too much memory. */
json_t *ft_graph_json_parse(struct ft_build *build, const char *where, const char *text,
                            size_t length);

/* Parses FD's whole file of at most LIMIT bytes (core/buf.h) in the same way. */
json_t *ft_graph_json_read(struct ft_build *build, int fd, size_t limit);

#endif
