/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Base64 (RFC 4648, with padding): records that travel in the environment. */
#ifndef FT_CORE_BASE64_H
#define FT_CORE_BASE64_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Bytes that ft_base64_encode writes for LENGTH bytes, the NUL included. */
#define FT_BASE64_SIZE(length) (((length) + 2) / 3 * 4 + 1)

/* Encode into OUT, which has room for FT_BASE64_SIZE(LENGTH) bytes. */
void ft_base64_encode(const uint8_t *data, size_t length, char *out);

/* Decode a string into at most SIZE bytes. Returns how many, -1 when TEXT is not base64 or longer.
 */
ssize_t ft_base64_decode(const char *text, uint8_t *out, size_t size);

#endif
