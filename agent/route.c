/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/route.h"

/* Sends probes on silent connections, so that a lost host is noticed; seconds. */
#define PROBE_SECONDS 20L

int ft_route_parse(struct ft_route *route, int count, char **arguments, struct ft_error *err)
{
  struct ft_text list = ft_text_from(count ? arguments[0] : NULL);
  int status;

  *route = (struct ft_route){ 0 };
  if (count == 1) {
    route->socket = arguments[0];
    return 0;
  }
  if (count == 4 && strcmp(arguments[1], "munge") == 0) {
    route->munge_socket = arguments[2];
    route->learner_users = arguments[3];
  } else if (count == 5 && strcmp(arguments[1], "tls") == 0) {
    route->tls = true;
    route->certificate = arguments[2];
    route->key = arguments[3];
    route->ca = arguments[4];
  } else {
    return ft_error_set(err, "a part of foretelld, which starts it");
  }
  do
    status = route->count < FT_ADDRESS_LIMIT
                 ? ft_address_next(&list, &route->learner[route->count], err)
                 : 0;
  while (status > 0 && ++route->count);
  return status < 0 || route->count ? status : ft_error_set(err, "expected a learner");
}

static int set_tls(const struct ft_route *route, CURL *curl)
{
  return curl_easy_setopt(curl, CURLOPT_SSLCERT, route->certificate) ||
                 curl_easy_setopt(curl, CURLOPT_SSLKEY, route->key) ||
                 curl_easy_setopt(curl, CURLOPT_CAINFO, route->ca) ||
                 /* no certificate of the system's authorities is valid here */
                 curl_easy_setopt(curl, CURLOPT_CAPATH, NULL) ||
                 curl_easy_setopt(curl, CURLOPT_SSL_VERIFYPEER, 1L) ||
                 curl_easy_setopt(curl, CURLOPT_SSL_VERIFYHOST, 2L) ||
                 curl_easy_setopt(curl, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2)
             ? -1
             : 0;
}

/* Sets the address of CURL's next request for PATH. */
static int set_address(const struct ft_route *route, CURL *curl, const char *path)
{
  const struct ft_address *to = &route->learner[route->current];
  bool bracketed = strchr(to->host, ':') != NULL;
  char url[sizeof to->host + sizeof to->port + 64];

  if (route->socket) {
    (void)snprintf(url, sizeof url, "http://learner%s", path);
    if (curl_easy_setopt(curl, CURLOPT_UNIX_SOCKET_PATH, route->socket))
      return -1;
  } else {
    (void)snprintf(url, sizeof url, "%s://%s%s%s:%s%s", route->tls ? "https" : "http",
                   bracketed ? "[" : "", to->host, bracketed ? "]" : "", to->port, path);
    if (curl_easy_setopt(curl, CURLOPT_TCP_KEEPALIVE, 1L) ||
        curl_easy_setopt(curl, CURLOPT_TCP_KEEPIDLE, PROBE_SECONDS) ||
        curl_easy_setopt(curl, CURLOPT_TCP_KEEPINTVL, PROBE_SECONDS) ||
        (route->tls && set_tls(route, curl) < 0))
      return -1;
  }
  return curl_easy_setopt(curl, CURLOPT_URL, url) ? -1 : 0;
}

static int add_header(struct ft_attempt *attempt, const char *line)
{
  struct curl_slist *longer = curl_slist_append(attempt->headers, line);

  if (!longer)
    return -1;
  attempt->headers = longer;
  return 0;
}

/* Adds the credential over the body as it is sent. Returns 0; -1 and ERR. */
static int add_credential(const struct ft_route *route, const char *path, const void *body,
                          size_t length, struct ft_attempt *attempt, struct ft_error *err)
{
  struct ft_transfer_digest digest;
  struct ft_buf line;
  int status = -1;

  ft_buf_init(&attempt->authorization, FT_LIMIT_PROC);
  ft_buf_init(&line, FT_LIMIT_PROC);
  if (ft_transfer_digest(path, body, length, &digest, err) == 0 &&
      ft_transfer_sign(route->munge_socket, &digest, &attempt->authorization, err) == 0 &&
      ft_buf_printf(&line, "Authorization: %s", attempt->authorization.data) == 0)
    status = add_header(attempt, line.data);
  ft_buf_free(&line);
  return status;
}

int ft_route_attempt(const struct ft_route *route, CURL *curl, enum ft_exchange exchange,
                     const void *body, size_t length, struct ft_attempt *attempt,
                     struct ft_error *err)
{
  const char *path = ft_exchange_paths[exchange];

  ft_attempt_free(attempt);
  attempt->learner = route->current;
  (void)ft_error_set(err, "out of memory");
  /* without "Expect: 100-continue", which costs a round trip */
  if (set_address(route, curl, path) < 0 || add_header(attempt, "Expect:") < 0 ||
      add_header(attempt, "Content-Type: application/x-protobuf") < 0)
    return -1;
  ft_buf_init(&attempt->body, FT_EXCHANGE_BYTES);
  if (!route->socket && exchange == FT_EXCHANGE_RUNS &&
      ft_transfer_deflate(body, length, &attempt->body) == 0) {
    if (add_header(attempt, "Content-Encoding: deflate") < 0)
      return -1;
    body = attempt->body.data;
    length = attempt->body.length;
  }
  if (!route->socket && !route->tls && add_credential(route, path, body, length, attempt, err) < 0)
    return -1;
  return curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body) ||
                 curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE, (long)length) ||
                 curl_easy_setopt(curl, CURLOPT_HTTPHEADER, attempt->headers)
             ? -1
             : 0;
}

void ft_attempt_free(struct ft_attempt *attempt)
{
  curl_slist_free_all(attempt->headers);
  attempt->headers = NULL;
  ft_buf_free(&attempt->body);
  ft_buf_free(&attempt->authorization);
}

/* Whether NAME, a user's name or uid, is UID; adds to UNKNOWN if there is no such user. */
static bool is_user(struct ft_text name, uid_t uid, struct ft_error *unknown)
{
  struct ft_text digits = name;
  const struct passwd *user;
  uint64_t number;
  char text[256];

  if (ft_text_u64(&digits, UINT32_MAX - 1, &number) && !ft_text_left(&digits))
    return uid == (uid_t)number;
  (void)ft_text_copy(name, text, sizeof text);
  user = getpwnam(text);
  if (!user)
    (void)ft_error_set(unknown, "; there is no user \"%s\" on this host", text);
  return user && user->pw_uid == uid;
}

/* Checks that UID, which has signed a reply of HOST, may do so. Returns 0; -1 and ERR. */
static int check_learner_user(const struct ft_route *route, uid_t uid, const char *host,
                              struct ft_error *err)
{
  struct ft_text list = ft_text_from(route->learner_users), name;
  struct ft_error unknown = { "" };

  if (uid == 0 || uid == geteuid())
    return 0;
  while (ft_text_until(&list, ',', &name)) {
    name = ft_text_trim(name);
    if (ft_text_left(&name) && is_user(name, uid, &unknown))
      return 0;
  }
  return ft_error_set(err,
                      "reply of host %s rejected: user %lu has signed it; learner_users may "
                      "name the user%s",
                      host, (unsigned long)uid, unknown.text);
}

enum ft_transfer_proof ft_route_prove(const struct ft_route *route,
                                      const struct ft_attempt *attempt, const char *authorization,
                                      const void *body, size_t length, struct ft_error *err)
{
  static const struct ft_transfer_side side = { "this host", "this host's" };
  const char *host = route->learner[attempt->learner].host;
  struct ft_transfer_credential credential;
  struct ft_transfer_digest digest;
  enum ft_transfer_proof proof;

  if (route->socket || route->tls)
    return FT_TRANSFER_PROVED;
  if (strncmp(authorization, FT_TRANSFER_SCHEME, sizeof FT_TRANSFER_SCHEME - 1) != 0) {
    (void)ft_error_set(err,
                       "reply of host %s rejected: it is not signed, as by a learner older than"
                       " this agent: upgrade the learner first",
                       host);
    return FT_TRANSFER_DISPROVED;
  }
  if (ft_transfer_digest_reply(attempt->authorization.data, body, length, &digest, err) < 0)
    return FT_TRANSFER_UNKNOWN;
  proof = ft_transfer_prove(route->munge_socket, &side, authorization, host, &credential, err);
  if (proof != FT_TRANSFER_PROVED)
    return proof;
  if (strcmp(digest.text, credential.digest.text) != 0) {
    (void)ft_error_set(err, "reply of host %s rejected: its credential belongs to another reply",
                       host);
    return FT_TRANSFER_DISPROVED;
  }
  return check_learner_user(route, credential.uid, host, err) < 0 ? FT_TRANSFER_DISPROVED
                                                                  : FT_TRANSFER_PROVED;
}

void ft_route_fail(struct ft_route *route, size_t learner)
{
  if (route->count && learner == route->current)
    route->current = (learner + 1) % route->count;
}
