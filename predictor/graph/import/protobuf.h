/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A cursor over a protobuf message in a file (protobuf.dev, "Encoding"). Bytes of unwanted
 * fields are skipped, not read: a weight of a gigabyte costs as much as its header. Errors name
 * file and byte offset.
 */
#ifndef FT_GRAPH_PROTOBUF_H
#define FT_GRAPH_PROTOBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "predictor/core/error.h"

enum { FT_PROTO_VARINT = 0, FT_PROTO_FIXED64 = 1, FT_PROTO_BYTES = 2, FT_PROTO_FIXED32 = 5 };

enum { FT_PROTO_WINDOW = 32 << 10 }; /* bytes in memory at a time */

struct ft_proto {
  const char *name; /* for errors; not copied */
  int fd;           /* not closed by this module */
  uint64_t size;    /* of the file, in bytes */
  uint64_t at;      /* offset of the next byte */
  uint64_t taken;   /* bytes read so far, at most FT_LIMIT_GRAPH_READ */
  struct ft_error *err;
  uint64_t start;
  size_t length, chunk;
  uint8_t window[FT_PROTO_WINDOW];
};

struct ft_proto_field {
  uint32_t number;
  uint32_t wire;
  uint64_t at;    /* offset of the field */
  uint64_t value; /* the number; of FT_PROTO_BYTES the length in bytes */
  uint64_t end;   /* offset after its bytes (FT_PROTO_BYTES) */
};

/* Initialises P at the start of FD, a regular file, which stays the caller's. NAME must outlive P.
 * Returns 0; -1 on error and fills ERR. */
int ft_proto_init(struct ft_proto *p, int fd, const char *name, struct ft_error *err);

/* Reads the next field of a message that ends at END, and skips the rest of the one in FIELD
 * (zeros before the first). Returns 1; 0 at the end; -1. */
int ft_proto_next(struct ft_proto *p, uint64_t end, struct ft_proto_field *field);

/* Copies LENGTH bytes from offset AT to OUT; the cursor ends after them. Returns 0 or -1. */
int ft_proto_copy(struct ft_proto *p, uint64_t at, void *out, size_t length);

/* Appends the numbers of a repeated field, packed or not, to OUT of ROOM, which holds COUNT.
 * More than ROOM numbers count as ROOM + 1. Returns 0 or -1. */
int ft_proto_integers(struct ft_proto *p, const struct ft_proto_field *field, int64_t *out,
                      size_t room, size_t *count);
/* As ft_proto_integers, for float (WIRE is FT_PROTO_FIXED32) or double (FT_PROTO_FIXED64). */
int ft_proto_reals(struct ft_proto *p, const struct ft_proto_field *field, uint32_t wire,
                   double *out, size_t room, size_t *count);

/* Sets the error "NAME: byte AT: TEXT". Returns -1. */
int ft_proto_fail(struct ft_proto *p, uint64_t at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
