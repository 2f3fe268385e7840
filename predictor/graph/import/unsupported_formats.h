/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Recognises files that users take for model files but that hold no network: weights only, compiled
 * code, formats of other programs. The error names the format and what to use instead. */
#ifndef FT_GRAPH_UNSUPPORTED_FORMATS_H
#define FT_GRAPH_UNSUPPORTED_FORMATS_H

#include "predictor/core/error.h"
#include "predictor/graph/import/archive.h"

/* Checks the first LENGTH bytes, HEAD, of FILE, which has SIZE bytes. Returns 0; -1 if the format
 * is unsupported, and fills ERR. */
int ft_unsupported_head(const char *file, const char *head, size_t length, uint64_t size,
                        struct ft_error *err);

/* As ft_unsupported_head, for a zip archive, by the names of its members. */
int ft_unsupported_archive(const struct ft_archive *archive, struct ft_error *err);

/* Fills ERR with what the directory PATH, open as FD, holds instead of a model file. Returns -1. */
int ft_unsupported_directory(const char *path, int fd, struct ft_error *err);

#endif
