/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Checks MUNGE credentials in threads, because a munged that hangs blocks libmunge for 10 s. The
 * threads call libmunge and nothing else of the learner.
 */
#ifndef FT_LEARNER_CREDENTIALS_H
#define FT_LEARNER_CREDENTIALS_H

#include "daemon/loop.h"
#include "daemon/transfer.h"

struct ft_credentials;

/* Called in the loop with the result of a check, as of ft_transfer_prove; UID is the sender's. */
typedef void ft_credentials_callback(enum ft_transfer_proof proof, uid_t uid,
                                     const struct ft_error *why, void *data);

/*
 * Starts the threads. They ask the munged at SOCKET (empty: the default). A check is
 * FT_TRANSFER_UNKNOWN if it has no result after SECONDS, in which munged accepted no other one.
 * Returns NULL and ERR.
 */
struct ft_credentials *ft_credentials_open(struct ft_loop *loop, const char *socket, double seconds,
                                           struct ft_error *err);

/*
 * Checks AUTHORIZATION against DIGEST for PEER, as ft_transfer_prove does, then calls CALL once,
 * never from inside this function. Returns 0; -1 and ERR if too many checks wait, and CALL is not
 * called.
 */
int ft_credentials_check(struct ft_credentials *credentials, const char *authorization,
                         const struct ft_transfer_digest *digest, const char *peer,
                         ft_credentials_callback *call, void *data, struct ft_error *err);

/* Returns the number of checks whose callback was not called yet. */
size_t ft_credentials_waiting(const struct ft_credentials *credentials);

/* Calls the callbacks of all checks, with FT_TRANSFER_UNKNOWN, and frees CREDENTIALS. Does not wait
 * for threads that munged holds up: they end by themselves, or with the process. */
void ft_credentials_close(struct ft_credentials *credentials);

#endif
