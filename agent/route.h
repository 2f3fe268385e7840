/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where foretell-courier sends its requests: to a Unix socket of this host, or to the first of
 * several learners of other hosts that replies.
 */
#ifndef FT_AGENT_ROUTE_H
#define FT_AGENT_ROUTE_H

#include <curl/curl.h>

#include "daemon/exchange.h"
#include "daemon/transfer.h"
#include "predictor/site/address.h"

/* Filled by ft_route_parse; borrows the arguments. */
struct ft_route {
  const char *socket; /* NULL: learners of other hosts */
  bool tls;
  const char *munge_socket, *learner_users;
  const char *certificate, *key, *ca;
  size_t count, current; /* of the learners; the one in use */
  struct ft_address learner[FT_ADDRESS_LIMIT];
};

/* Parses the courier's COUNT arguments after its name (agent/courier.h). Returns 0; -1 and ERR. */
int ft_route_parse(struct ft_route *route, int count, char **arguments, struct ft_error *err);

/* What one attempt of a request needs; free with ft_attempt_free. Zero it before the first use. */
struct ft_attempt {
  size_t learner; /* that it is sent to */
  struct ft_buf body;
  struct ft_buf authorization; /* value of the header; empty: none */
  struct curl_slist *headers;
};

/*
 * Prepares CURL to send LENGTH bytes of BODY, which must stay valid, to the learner in use. Makes a
 * new credential each time, and may block for that. Returns 0; -1 and ERR.
 */
int ft_route_attempt(const struct ft_route *route, CURL *curl, enum ft_exchange exchange,
                     const void *body, size_t length, struct ft_attempt *attempt,
                     struct ft_error *err);
void ft_attempt_free(struct ft_attempt *attempt);

/*
 * Checks that a learner has made the reply of LENGTH bytes of BODY to ATTEMPT, by AUTHORIZATION,
 * the value of FT_TRANSFER_REPLY_HEADER ("": there is none). May block. Sets ERR unless
 * FT_TRANSFER_PROVED.
 */
enum ft_transfer_proof ft_route_prove(const struct ft_route *route,
                                      const struct ft_attempt *attempt, const char *authorization,
                                      const void *body, size_t length, struct ft_error *err);

/* LEARNER has failed: if it is the one in use, uses the next. */
void ft_route_fail(struct ft_route *route, size_t learner);

#endif
