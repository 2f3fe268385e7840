/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Model files, or members of them, that are JSON. */
#ifndef FT_GRAPH_JSON_H
#define FT_GRAPH_JSON_H

#include <jansson.h>

#include "predictor/graph/import/build.h"

/* The string at KEY of OBJECT; "" where there is none. */
const char *ft_graph_json_text(const json_t *object, const char *key);

/*
 * The object in TEXT, a new reference; NULL with ERR naming file, WHERE ("member x: ", "") and byte
 * where it is none or holds so many values that parsing alone would take the memory.
 */
json_t *ft_graph_json_parse(struct ft_build *build, const char *where, const char *text,
                            size_t length);

/* The object that is FD's whole file of at most LIMIT bytes (core/buf.h). */
json_t *ft_graph_json_read(struct ft_build *build, int fd, size_t limit);

#endif
