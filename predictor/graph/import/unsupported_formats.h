/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Files that people take for a model file and that hold no network that could be read: weights
 * alone, compiled code, another program's own form. Recognised by content, so that one line
 * says what a file is and what to give in its place.
 */
#ifndef FT_GRAPH_UNSUPPORTED_FORMATS_H
#define FT_GRAPH_UNSUPPORTED_FORMATS_H

#include "predictor/core/error.h"
#include "predictor/graph/import/archive.h"

/*
 * HEAD is the first LENGTH bytes of FILE, which is SIZE bytes long. 0 where it is none of them, -1
 * with the line in ERR where it is.
 */
int ft_unsupported_head(const char *file, const char *head, size_t length, uint64_t size,
                    struct ft_error *err);

/* The same of a zip archive, by its members. */
int ft_unsupported_archive(const struct ft_archive *archive, struct ft_error *err);

#endif
