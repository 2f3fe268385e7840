/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Who may send requests over the network: the holder of a MUNGE credential of an accepted user, or
 * of a client certificate that the site's own authority has signed.
 */
#ifndef FT_LEARNER_ACCESS_H
#define FT_LEARNER_ACCESS_H

#include <sys/socket.h>

#include "daemon/exchange.h"
#include "daemon/loop.h"
#include "daemon/transfer.h"
#include "predictor/site/conf.h"

struct ft_access;

/*
 * Reads the certificates and looks up the users of NETWORK (borrowed). Returns NULL and ERR, also
 * if key and certificate do not match.
 */
struct ft_access *ft_access_open(struct ft_loop *loop, const struct ft_config_network *network,
                                 struct ft_error *err);

/* Calls all callbacks, with FT_ACCESS_UNKNOWN and without a signature. */
void ft_access_close(struct ft_access *access);

/* Accepts UID, SlurmUser, too. ACCESS may be NULL. */
void ft_access_allow(struct ft_access *access, uid_t uid);

/* Contents of the files for TLS, PEM; NULL without TLS. Valid until ft_access_close. */
struct ft_access_tls {
  const char *certificate, *key, *ca;
};
const struct ft_access_tls *ft_access_tls(const struct ft_access *access);

/* A request to check. */
struct ft_access_request {
  enum ft_exchange exchange;
  const char *authorization; /* the header's value; NULL: none */
  const struct sockaddr *peer;
  void *tls; /* gnutls_session_t of the connection; NULL without TLS */
};

enum ft_access_result {
  FT_ACCESS_GRANTED,
  FT_ACCESS_UNPROVED, /* the request does not prove its sender */
  FT_ACCESS_DENIED,   /* the sender may not send requests */
  FT_ACCESS_UNKNOWN,  /* this host cannot check it now */
  FT_ACCESS_PENDING   /* the result follows */
};

/* Receives a result that followed. DIGEST is what the request must have if FT_ACCESS_GRANTED; ERR
 * is a line for the log of the peer's agent otherwise. */
typedef void ft_access_callback(enum ft_access_result result,
                                const struct ft_transfer_digest *digest, const struct ft_error *err,
                                void *data);

/*
 * Checks the sender of REQUEST, which it does not use later, before the body is received. Sets ERR
 * unless FT_ACCESS_GRANTED or FT_ACCESS_PENDING; after that CALL is called once, within seconds,
 * never from inside this function. Does not wait for munged.
 */
enum ft_access_result ft_access_check(struct ft_access *access,
                                      const struct ft_access_request *request,
                                      ft_access_callback *call, void *data, struct ft_error *err);

/* Checks the BODY of REQUEST, as it was received, against the DIGEST that its sender has proved.
 * Sets ERR unless FT_ACCESS_GRANTED. */
enum ft_access_result ft_access_check_body(const struct ft_access_request *request,
                                           const struct ft_buf *body,
                                           const struct ft_transfer_digest *digest,
                                           struct ft_error *err);

/* Receives the value of FT_TRANSFER_REPLY_HEADER; NULL and ERR. */
typedef void ft_access_signed(const char *authorization, const struct ft_error *err, void *data);

/* Whether replies must be signed: with MUNGE. */
bool ft_access_signs(const struct ft_access *access);

/* Signs the reply BODY to the request with the header AUTHORIZATION, then calls CALL as
 * ft_access_check does. Returns 0; -1 and ERR, and CALL is not called. */
int ft_access_sign(struct ft_access *access, const char *authorization, const struct ft_buf *body,
                   ft_access_signed *call, void *data, struct ft_error *err);

/* Returns the number of requests and replies that wait for munged. */
size_t ft_access_pending(const struct ft_access *access);

#endif
