/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A description on its way to the foretell child: fields of one letter, a
 * length of 4 bytes (little-endian) and that many bytes. The child trusts it no
 * more than any other input.
 */
#ifndef FT_REQUEST_FRAME_H
#define FT_REQUEST_FRAME_H

#include <stddef.h>

#include "predictor/core/buf.h"
#include "predictor/core/error.h"
#include "predictor/request/describe.h"

enum { FT_FRAME_WORDS = 1024 };

/* A description read from a frame, which it borrows from. */
struct ft_frame {
  struct ft_description description; /* without apps */
  ft_request request;
  const char *words[FT_FRAME_WORDS];
};

/* Put WHAT and REQUEST at the end of OUT. Returns 0, or -1 over OUT's limit. */
int ft_frame_write(const struct ft_description *what, const ft_request *request, struct ft_buf *out,
                   struct ft_error *err);

/* Read LENGTH bytes. Returns 0, or -1 with ERR naming the byte at fault. */
int ft_frame_read(const char *data, size_t length, struct ft_frame *out, struct ft_error *err);

#endif
