/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files that are taken for model files but hold no network: weights only, compiled code, formats
 * of other programs. Recognised by content; the error names the format and what to give instead. */
#ifndef FT_GRAPH_UNSUPPORTED_FORMATS_H
#define FT_GRAPH_UNSUPPORTED_FORMATS_H

#include "predictor/core/error.h"
#include "predictor/graph/import/archive.h"

/* Checks the first LENGTH bytes, HEAD, of FILE, which has SIZE bytes. Returns 0 if it is none of
 * these formats, -1 with ERR if it is. */
int ft_unsupported_head(const char *file, const char *head, size_t length, uint64_t size,
                        struct ft_error *err);

/* The same for a zip archive, by its members. */
int ft_unsupported_archive(const struct ft_archive *archive, struct ft_error *err);

#endif
