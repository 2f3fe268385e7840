/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A zip archive of a model: the names in it, and members of bounded size. Weights are not read. */
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
  uint64_t taken; /* bytes read so far, FT_LIMIT_ARCHIVE at most */
  struct ft_error *err;
};

/* Open what FD reads; FD stays the caller's. FILE is not copied. Returns 0 or -1. */
int ft_archive_open(struct ft_archive *a, int fd, const char *file, struct ft_error *err);
void ft_archive_close(struct ft_archive *a);

/* The name of member I, "" where it has none; valid until ft_archive_close. */
const char *ft_archive_name(const struct ft_archive *a, uint64_t i);

/* Whether NAME is TAIL in the archive's one folder, as "net/data.pkl" is "data.pkl"; whether it is
 * of a TorchScript program's text. */
bool ft_archive_at_top(const char *name, const char *tail);
bool ft_archive_is_code(const char *name);

/* Its size when unpacked; UINT64_MAX where that cannot be told. */
uint64_t ft_archive_size(const struct ft_archive *a, uint64_t i);

/* Its bytes, a NUL behind them, in ARENA. NULL with the error, also for one that swells past the
 * limit. */
char *ft_archive_read(struct ft_archive *a, uint64_t i, struct ft_arena *arena, size_t *length);

#endif
