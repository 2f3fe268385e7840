/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A zip archive of a model: its names, and members of bounded size. Weights are not read. */
#ifndef FT_GRAPH_ARCHIVE_H
#define FT_GRAPH_ARCHIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "predictor/core/error.h"
#include "predictor/graph/ir/arena.h"

struct ft_archive {
  void *zip;
  const char *file;
  uint64_t count; /* of members */
  uint64_t taken; /* bytes read so far, at most FT_LIMIT_ARCHIVE */
  struct ft_error *err;
};

/* Opens the zip archive FD, which stays the caller's. FILE, its name for errors, and ERR must
 * outlive A. Returns 0; -1 on error and fills ERR. */
int ft_archive_open(struct ft_archive *a, int fd, const char *file, struct ft_error *err);

/* Closes the archive; no effect if A is not open. */
void ft_archive_close(struct ft_archive *a);

/* Returns the name of member I, "" if it has none; valid until ft_archive_close. */
const char *ft_archive_name(const struct ft_archive *a, uint64_t i);

/* Returns whether NAME is TAIL in the archive's only directory, as "net/data.pkl" is "data.pkl". */
bool ft_archive_at_top(const char *name, const char *tail);

/* Returns whether NAME is a source file of a TorchScript program. */
bool ft_archive_is_code(const char *name);

/* Returns the unpacked size of member I in bytes; UINT64_MAX if unknown. */
uint64_t ft_archive_size(const struct ft_archive *a, uint64_t i);

/* Reads member I and appends a NUL, in ARENA. Sets LENGTH to its bytes. Returns the data; NULL with
 * the error, also past FT_LIMIT_ARCHIVE. */
char *ft_archive_read(struct ft_archive *a, uint64_t i, struct ft_arena *arena, size_t *length);

#endif
