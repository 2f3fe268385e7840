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

/* Digest of a request or a reply, in hexadecimal digits. */
struct ft_transfer_digest {
  char text[2 * 32 + 1];
};

/* Sets OUT to the SHA-256 of "POST PATH\n" and LENGTH bytes of BODY, as they are sent. Returns 0;
 * -1 and ERR. */
int ft_transfer_digest(const char *path, const void *body, size_t length,
                       struct ft_transfer_digest *out, struct ft_error *err);

/*
 * Sets OUT to the digest of the reply with LENGTH bytes of BODY to the request whose header
 * Authorization has the value AUTHORIZATION: the SHA-256 of "REPLY AUTHORIZATION\n" and the body.
 * The credential is unique, so that the reply fits no other request. Returns 0; -1 and ERR.
 */
int ft_transfer_digest_reply(const char *authorization, const void *body, size_t length,
                             struct ft_transfer_digest *out, struct ft_error *err);

/* Begin of the headers Authorization, of requests, and FT_TRANSFER_REPLY_HEADER, of replies, before
 * the credential. */
#define FT_TRANSFER_SCHEME "MUNGE "
#define FT_TRANSFER_REPLY_HEADER "Authentication-Info"

/* Validity of a credential, seconds: munged's default. */
enum { FT_TRANSFER_SECONDS = 300 };

/*
 * Makes a credential over DIGEST by the munged at SOCKET (empty: the default) and writes the value
 * of the header to OUT. Blocks until munged replies. Returns 0; -1 and ERR.
 */
int ft_transfer_sign(const char *socket, const struct ft_transfer_digest *digest,
                     struct ft_buf *out, struct ft_error *err);

enum ft_transfer_proof {
  FT_TRANSFER_PROVED,
  FT_TRANSFER_DISPROVED, /* the sender is at fault */
  FT_TRANSFER_UNKNOWN    /* munged is */
};

/* Who checks a credential, in error messages. */
struct ft_transfer_side {
  const char *host;  /* as in "MUNGE on HOST" */
  const char *owner; /* as in "behind OWNER", of a clock */
};

/* What a credential proves. */
struct ft_transfer_credential {
  uid_t uid; /* the sender's */
  struct ft_transfer_digest digest;
};

/* Formats of errors, with the peer's host. */
#define FT_TRANSFER_USED "credential of host %s was used before"
#define FT_TRANSFER_OTHER "credential of host %s belongs to another request"

/*
 * Decodes AUTHORIZATION, a header's value that begins with FT_TRANSFER_SCHEME, by the munged at
 * SOCKET of SIDE into CREDENTIAL, whose digest the caller compares. PEER names the sender's host in
 * ERR, which is set unless FT_TRANSFER_PROVED. Blocks until munged replies.
 */
enum ft_transfer_proof ft_transfer_prove(const char *socket, const struct ft_transfer_side *side,
                                         const char *authorization, const char *peer,
                                         struct ft_transfer_credential *credential,
                                         struct ft_error *err);

#endif
