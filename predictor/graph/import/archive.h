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

/* Opens the archive that FD reads. The caller keeps FD and FILE, both valid until
 * ft_archive_close. Returns 0, or -1 and fills ERR. */
int ft_archive_open(struct ft_archive *a, int fd, const char *file, struct ft_error *err);
void ft_archive_close(struct ft_archive *a);

/* The name of member I, "" if it has none; valid until ft_archive_close. */
const char *ft_archive_name(const struct ft_archive *a, uint64_t i);

/* Whether NAME is TAIL in the archive's only directory, as "net/data.pkl" is "data.pkl"; whether
 * it is a source file of a TorchScript program. */
bool ft_archive_at_top(const char *name, const char *tail);
bool ft_archive_is_code(const char *name);

/* Unpacked size in bytes; UINT64_MAX if unknown. */
uint64_t ft_archive_size(const struct ft_archive *a, uint64_t i);

/* Reads member I and a NUL into ARENA. NULL with the error, also past the size limit. */
char *ft_archive_read(struct ft_archive *a, uint64_t i, struct ft_arena *arena, size_t *length);

#endif
