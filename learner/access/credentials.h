/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Checks and makes MUNGE credentials in threads, because a munged that hangs blocks libmunge for
 * 10 s. The threads call libmunge and nothing else of the learner.
 */
#ifndef FT_LEARNER_CREDENTIALS_H
#define FT_LEARNER_CREDENTIALS_H

#include "daemon/loop.h"
#include "daemon/transfer.h"

struct ft_credentials;

struct ft_credentials_result {
  enum ft_transfer_proof proof; /* as of ft_transfer_prove; of a new credential PROVED or UNKNOWN */
  struct ft_transfer_credential credential; /* of a check */
  const char *authorization;                /* the new credential: a header's value */
  const struct ft_error *why;               /* unless FT_TRANSFER_PROVED */
};

/* Called in the loop with the result, valid during the call. */
typedef void ft_credentials_callback(const struct ft_credentials_result *result, void *data);

/*
 * Starts the threads. They ask the munged at SOCKET (empty: the default). A result is
 * FT_TRANSFER_UNKNOWN after SECONDS without one, in which munged did nothing else either.
 * Returns NULL and ERR.
 */
struct ft_credentials *ft_credentials_open(struct ft_loop *loop, const char *socket, double seconds,
                                           struct ft_error *err);

/*
 * Checks AUTHORIZATION of PEER, as ft_transfer_prove does, then calls CALL once, never from inside
 * this function. Returns 0; -1 and ERR if too many requests wait for munged, and CALL is not
 * called.
 */
int ft_credentials_check(struct ft_credentials *credentials, const char *authorization,
                         const char *peer, ft_credentials_callback *call, void *data,
                         struct ft_error *err);

/* Makes a credential over DIGEST, as ft_transfer_sign does; otherwise as ft_credentials_check. */
int ft_credentials_sign(struct ft_credentials *credentials, const struct ft_transfer_digest *digest,
                        ft_credentials_callback *call, void *data, struct ft_error *err);

/* Returns the number of requests whose callback was not called yet. */
size_t ft_credentials_waiting(const struct ft_credentials *credentials);

/* Calls all callbacks, with FT_TRANSFER_UNKNOWN, and frees CREDENTIALS. Does not wait
 * for threads that munged holds up: they end by themselves, or with the process. */
void ft_credentials_close(struct ft_credentials *credentials);

#endif
