/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Base64 (RFC 4648, with padding), for records in environment variables. */
#ifndef FT_CORE_BASE64_H
#define FT_CORE_BASE64_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Bytes that ft_base64_encode writes for LENGTH bytes, the NUL included. */
#define FT_BASE64_SIZE(length) (((length) + 2) / 3 * 4 + 1)

/* Encodes LENGTH bytes of DATA into OUT, an array of FT_BASE64_SIZE(LENGTH) bytes. */
void ft_base64_encode(const uint8_t *data, size_t length, char *out);

/* Decodes TEXT into OUT, an array of SIZE bytes. Returns the number of bytes; -1 if TEXT is not
 * base64 or needs more than SIZE bytes. */
ssize_t ft_base64_decode(const char *text, uint8_t *out, size_t size);

#endif
