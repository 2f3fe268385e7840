/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A cursor over a protobuf message in a file (protobuf.dev, "Encoding"). Bytes
 * that nobody asks for are stepped over, never read: a field of a gigabyte
 * costs what its header costs. Every complaint names file and byte position.
 */
#ifndef FT_GRAPH_PROTOBUF_H
#define FT_GRAPH_PROTOBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "predictor/core/error.h"

enum { FT_PROTO_VARINT = 0, FT_PROTO_FIXED64 = 1, FT_PROTO_BYTES = 2, FT_PROTO_FIXED32 = 5 };

enum { FT_PROTO_WINDOW = 32 << 10 }; /* bytes held at once */

struct ft_proto {
  const char *name; /* in complaints; not copied */
  int fd;           /* not closed here */
  uint64_t size;    /* of the file */
  uint64_t at;      /* of the next byte */
  uint64_t taken;   /* bytes read so far, FT_LIMIT_GRAPH_READ at most */
  struct ft_error *err;
  /* private */
  uint64_t start;
  size_t length, chunk;
  uint8_t window[FT_PROTO_WINDOW];
};

struct ft_proto_field {
  uint32_t number;
  uint32_t wire;
  uint64_t at;    /* where it begins */
  uint64_t value; /* the number, or how many bytes */
  uint64_t end;   /* where its bytes end (FT_PROTO_BYTES) */
};

/* Begin at the start of FD, which must be a regular file. Returns 0 or -1. */
int ft_proto_init(struct ft_proto *p, int fd, const char *name, struct ft_error *err);

/*
 * Take the next field of a message that ends at END; whatever is left of the
 * one in FIELD (all zeros before the first) is stepped over. Returns 1; 0 at the end; -1.
 */
int ft_proto_next(struct ft_proto *p, uint64_t end, struct ft_proto_field *field);

/* Copy LENGTH bytes from AT; the cursor ends behind them. Returns 0 or -1. */
int ft_proto_copy(struct ft_proto *p, uint64_t at, void *out, size_t length);

/*
 * Numbers of a repeated field, packed or not: append to OUT, which has room for
 * ROOM and holds *COUNT. Numbers past ROOM are counted only roughly, as ROOM + 1. Returns 0 or -1.
 */
int ft_proto_integers(struct ft_proto *p, const struct ft_proto_field *field, int64_t *out,
                      size_t room, size_t *count);
/* The same for float (FT_PROTO_FIXED32) and double (FT_PROTO_FIXED64), by WIRE. */
int ft_proto_reals(struct ft_proto *p, const struct ft_proto_field *field, uint32_t wire,
                   double *out, size_t room, size_t *count);

/* "NAME: byte AT: TEXT" into the error; -1. */
int ft_proto_fail(struct ft_proto *p, uint64_t at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
