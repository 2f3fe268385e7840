/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What requests need beyond daemon/exchange.h when they cross a network: compressed bodies, and a
 * MUNGE credential over their digest.
 */
#ifndef FT_DAEMON_TRANSFER_H
#define FT_DAEMON_TRANSFER_H

#include <sys/types.h>

#include "daemon/exchange.h"

/* Compresses LENGTH bytes of DATA into OUT, whose limit is FT_EXCHANGE_BYTES, in the format of
 * "Content-Encoding: deflate". Returns 0; -1 if that makes them no shorter. */
int ft_transfer_deflate(const void *data, size_t length, struct ft_buf *out);

/* Replaces BODY by what it decompresses to, at most FT_EXCHANGE_BYTES. Returns 0; -1 and ERR. */
int ft_transfer_inflate(struct ft_buf *body, struct ft_error *err);

/* Digest of a request, in hexadecimal digits. */
struct ft_transfer_digest {
  char text[2 * 32 + 1];
};

/* Sets OUT to the SHA-256 of "POST PATH\n" and LENGTH bytes of BODY, as they are sent. Returns 0;
 * -1 and ERR. */
int ft_transfer_digest(const char *path, const void *body, size_t length,
                       struct ft_transfer_digest *out, struct ft_error *err);

/* Begin of the header Authorization, before the credential. */
#define FT_TRANSFER_SCHEME "MUNGE "

/*
 * Makes a credential over DIGEST by the munged at SOCKET (empty: the default) and writes the value
 * of the header Authorization to OUT. Blocks until munged replies. Returns 0; -1 and ERR.
 */
int ft_transfer_sign(const char *socket, const struct ft_transfer_digest *digest,
                     struct ft_buf *out, struct ft_error *err);

enum ft_transfer_proof {
  FT_TRANSFER_PROVED,
  FT_TRANSFER_DISPROVED, /* the sender is at fault */
  FT_TRANSFER_UNKNOWN    /* munged is */
};

/*
 * Checks the value AUTHORIZATION of the header, by the munged at SOCKET, against DIGEST, and sets
 * *UID to the sender. PEER names the sender's host in ERR, which is set unless
 * FT_TRANSFER_PROVED. Blocks until munged replies.
 */
enum ft_transfer_proof ft_transfer_prove(const char *socket, const char *authorization,
                                         const struct ft_transfer_digest *digest, const char *peer,
                                         uid_t *uid, struct ft_error *err);

#endif
