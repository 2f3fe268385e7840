/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <gnutls/crypto.h>
#include <limits.h>
#include <munge.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "daemon/transfer.h"

enum { DIGEST_BYTES = 32 };
_Static_assert(sizeof(struct ft_transfer_digest) == 2 * DIGEST_BYTES + 1, "two digits a byte");

/* ---- compression ---- */

int ft_transfer_deflate(const void *data, size_t length, struct ft_buf *out)
{
  uLongf compressed = length;
  unsigned char *bytes = malloc(length ? length : 1);
  int status = -1;

  if (bytes && length && compress(bytes, &compressed, data, length) == Z_OK)
    status = ft_buf_add(out, bytes, compressed);
  free(bytes);
  return status;
}

int ft_transfer_inflate(struct ft_buf *body, struct ft_error *err)
{
  uLongf length = FT_EXCHANGE_BYTES;
  unsigned char *bytes = malloc(FT_EXCHANGE_BYTES);
  int status;

  if (!bytes)
    return ft_error_set(err, "out of memory");
  status = uncompress(bytes, &length, (const unsigned char *)ft_buf_text(body), body->length);
  if (status == Z_OK) {
    body->length = 0;
    (void)ft_buf_add(body, bytes, length);
  }
  free(bytes);
  if (status == Z_OK)
    return body->failed ? ft_error_set(err, "out of memory") : 0;
  return status == Z_BUF_ERROR
             ? ft_error_set(err, "the body is truncated, or decompresses to more than %d bytes",
                            FT_EXCHANGE_BYTES)
             : ft_error_set(err, "the body cannot be decompressed");
}

/* ---- digests ---- */

/* Sets OUT to the SHA-256 of "VERB SUBJECT\n" and LENGTH bytes of BODY. Returns 0; -1 and ERR. */
static int digest_message(const char *verb, const char *subject, const void *body, size_t length,
                          struct ft_transfer_digest *out, struct ft_error *err)
{
  const struct {
    const void *data;
    size_t length;
  } pieces[] = {
    { verb, strlen(verb) }, { " ", 1 }, { subject, strlen(subject) }, { "\n", 1 }, { body, length }
  };
  unsigned char bytes[DIGEST_BYTES];
  gnutls_hash_hd_t hash;
  int status = gnutls_hash_init(&hash, GNUTLS_DIG_SHA256);

  if (status < 0)
    return ft_error_set(err, "SHA-256: %s", gnutls_strerror(status));
  for (size_t i = 0; i < sizeof pieces / sizeof *pieces && status == 0; i++)
    if (pieces[i].length)
      status = gnutls_hash(hash, pieces[i].data, pieces[i].length);
  gnutls_hash_deinit(hash, bytes);
  if (status < 0)
    return ft_error_set(err, "SHA-256: %s", gnutls_strerror(status));
  for (int i = 0; i < DIGEST_BYTES; i++)
    (void)snprintf(out->text + 2 * i, 3, "%02x", bytes[i]);
  return 0;
}

int ft_transfer_digest(const char *path, const void *body, size_t length,
                       struct ft_transfer_digest *out, struct ft_error *err)
{
  return digest_message("POST", path, body, length, out, err);
}

int ft_transfer_digest_reply(const char *authorization, const void *body, size_t length,
                             struct ft_transfer_digest *out, struct ft_error *err)
{
  return digest_message("REPLY", authorization, body, length, out, err);
}

/* ---- MUNGE ---- */

static munge_ctx_t open_munge(const char *socket)
{
  munge_ctx_t munge = munge_ctx_create();

  if (munge && socket[0] && munge_ctx_set(munge, MUNGE_OPT_SOCKET, socket) != EMUNGE_SUCCESS) {
    munge_ctx_destroy(munge);
    munge = NULL;
  }
  return munge;
}

/* The detailed message, which is missing for some errors. */
static const char *munge_text(munge_ctx_t munge, munge_err_t code)
{
  const char *text = munge_ctx_strerror(munge);

  return text ? text : munge_strerror(code);
}

int ft_transfer_sign(const char *socket, const struct ft_transfer_digest *digest,
                     struct ft_buf *out, struct ft_error *err)
{
  munge_ctx_t munge = open_munge(socket);
  char *credential = NULL;
  munge_err_t code;
  int status = -1;

  if (!munge)
    return ft_error_set(err, "MUNGE: out of memory");
  (void)munge_ctx_set(munge, MUNGE_OPT_TTL, FT_TRANSFER_SECONDS);
  code = munge_encode(&credential, munge, digest->text, (int)strlen(digest->text));
  if (code != EMUNGE_SUCCESS)
    (void)ft_error_set(err, "MUNGE: %s", munge_text(munge, code));
  else if (ft_buf_printf(out, FT_TRANSFER_SCHEME "%s", credential) < 0)
    (void)ft_error_set(err, "MUNGE: out of memory");
  else
    status = 0;
  free(credential);
  munge_ctx_destroy(munge);
  return status;
}

/* Sets ERR to why munged of SIDE rejected a credential of PEER with CODE. */
static enum ft_transfer_proof explain_munge_rejection(munge_ctx_t munge, munge_err_t code,
                                                      const struct ft_transfer_side *side,
                                                      const char *peer, struct ft_error *err)
{
  time_t encoded = 0, decoded = 0;

  switch (code) {
  case EMUNGE_CRED_EXPIRED:
  case EMUNGE_CRED_REWOUND:
    (void)munge_ctx_get(munge, MUNGE_OPT_ENCODE_TIME, &encoded);
    (void)munge_ctx_get(munge, MUNGE_OPT_DECODE_TIME, &decoded);
    (void)ft_error_set(err, "clock of host %s is %lld s %s %s: credential %s", peer,
                       llabs((long long)encoded - (long long)decoded),
                       encoded < decoded ? "behind" : "ahead of", side->owner,
                       code == EMUNGE_CRED_EXPIRED ? "expired" : "from the future");
    return FT_TRANSFER_DISPROVED;
  case EMUNGE_CRED_REPLAYED:
    (void)ft_error_set(err, FT_TRANSFER_USED, peer);
    return FT_TRANSFER_DISPROVED;
  case EMUNGE_SOCKET:
    (void)ft_error_set(err, "MUNGE on %s: %s", side->host, munge_text(munge, code));
    return FT_TRANSFER_UNKNOWN;
  default:
    (void)ft_error_set(err, "credential of host %s rejected: %s; compare the MUNGE keys", peer,
                       munge_strerror(code));
    return FT_TRANSFER_DISPROVED;
  }
}

/* Whether CREDENTIAL is spelt as munge spells it: base64 whose unused bits are zero, between
 * "MUNGE:" and ":". Else one credential had several spellings, of which each would be new to who
 * remembers the used ones. */
static bool is_canonical(const char *credential)
{
  static const char begin[] = "MUNGE:", digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnop"
                                                   "qrstuvwxyz0123456789+/";
  const char *text = credential + sizeof begin - 1, *last;
  size_t length, padding;

  if (strncmp(credential, begin, sizeof begin - 1) != 0)
    return false;
  length = strspn(text, digits);
  padding = strspn(text + length, "=");
  if (!length || padding > 2 || (length + padding) % 4 || strcmp(text + length + padding, ":") != 0)
    return false;
  last = strchr(digits, text[length - 1]);
  return (size_t)(last - digits) % (1u << 2 * padding) == 0;
}

/* Fills CREDENTIAL from what MUNGE has decoded from one of PEER: LENGTH bytes of PAYLOAD. */
static enum ft_transfer_proof parse_payload(munge_ctx_t munge, const void *payload, size_t length,
                                            const char *peer,
                                            struct ft_transfer_credential *credential,
                                            struct ft_error *err)
{
  int seconds = INT_MAX;

  (void)munge_ctx_get(munge, MUNGE_OPT_TTL, &seconds);
  if (seconds > FT_TRANSFER_SECONDS)
    (void)ft_error_set(err, "credential of host %s rejected: valid for %d s, expected at most %d",
                       peer, seconds, FT_TRANSFER_SECONDS);
  else if (length != sizeof credential->digest.text - 1)
    (void)ft_error_set(err, FT_TRANSFER_OTHER, peer);
  else {
    memcpy(credential->digest.text, payload, length);
    credential->digest.text[length] = '\0';
    return FT_TRANSFER_PROVED;
  }
  return FT_TRANSFER_DISPROVED;
}

enum ft_transfer_proof ft_transfer_prove(const char *socket, const struct ft_transfer_side *side,
                                         const char *authorization, const char *peer,
                                         struct ft_transfer_credential *credential,
                                         struct ft_error *err)
{
  const size_t scheme = sizeof FT_TRANSFER_SCHEME - 1;
  enum ft_transfer_proof proof;
  munge_ctx_t munge;
  void *payload = NULL;
  int length = 0;
  munge_err_t code;
  gid_t gid;

  if (!is_canonical(authorization + scheme)) {
    (void)ft_error_set(err, "credential of host %s rejected: expected one as munge writes it",
                       peer);
    return FT_TRANSFER_DISPROVED;
  }
  munge = open_munge(socket);
  if (!munge) {
    (void)ft_error_set(err, "MUNGE: out of memory");
    return FT_TRANSFER_UNKNOWN;
  }
  code = munge_decode(authorization + scheme, munge, &payload, &length, &credential->uid, &gid);
  proof = code == EMUNGE_SUCCESS
              ? parse_payload(munge, payload, (size_t)length, peer, credential, err)
              : explain_munge_rejection(munge, code, side, peer, err);
  free(payload);
  munge_ctx_destroy(munge);
  return proof;
}
