/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "daemon/log.h"
#include "daemon/transfer.h"
#include "learner/access/access.h"
#include "learner/access/credentials.h"
#include "learner/access/used_credentials.h"
#include "predictor/core/io.h"
#include "predictor/core/text.h"

/* Users of agent_users. */
enum { USER_LIMIT = 16 };

/* Time for which a request waits for a silent munged, seconds, less than libmunge's 10 s. */
#define MUNGE_SECONDS 5.0

struct ft_access {
  const struct ft_config_network *network;
  size_t user_count;
  uid_t user[USER_LIMIT + 3];         /* with root, the learner's own and SlurmUser */
  bool has_slurm_user;                /* it is the last */
  struct ft_credentials *credentials; /* NULL with TLS */
  struct ft_used_credentials used;
  struct ft_buf certificate, key, ca;
  struct ft_access_tls tls;
};

/* ---- opening ---- */

/* Looks up the user NAME, or parses it as a uid. Returns 0; -1 and ERR. */
static int find_agent_user(struct ft_text name, uid_t *uid, struct ft_error *err)
{
  struct ft_text digits = name;
  char text[256];
  uint64_t number;
  const struct passwd *user;

  if (ft_text_u64(&digits, UINT32_MAX - 1, &number) && !ft_text_left(&digits)) {
    *uid = (uid_t)number;
    return 0;
  }
  (void)ft_text_copy(name, text, sizeof text);
  user = getpwnam(text);
  if (!user)
    return ft_error_set(err, "agent_users: there is no user \"%s\" on this host", text);
  *uid = user->pw_uid;
  return 0;
}

static int find_agent_users(struct ft_access *access, struct ft_error *err)
{
  struct ft_text list = ft_text_from(access->network->agent_users), piece;

  access->user[access->user_count++] = 0;
  access->user[access->user_count++] = geteuid();
  while (ft_text_until(&list, ',', &piece)) {
    piece = ft_text_trim(piece);
    if (!ft_text_left(&piece))
      continue;
    if (access->user_count == USER_LIMIT + 2)
      return ft_error_set(err, "agent_users: expected at most %d users", USER_LIMIT);
    if (find_agent_user(piece, &access->user[access->user_count++], err) < 0)
      return -1;
  }
  return 0;
}

/* Warns of a certificate that is not valid now: agents reject it. */
static void warn_of_certificate(const char *path, gnutls_certificate_credentials_t credentials)
{
  gnutls_x509_crt_t *list;
  unsigned count;

  if (gnutls_certificate_get_x509_crt(credentials, 0, &list, &count) < 0)
    return;
  if (count && gnutls_x509_crt_get_expiration_time(list[0]) < time(NULL))
    ft_log(LOG_WARNING, "tls_certificate: %s has expired", path);
  else if (count && gnutls_x509_crt_get_activation_time(list[0]) > time(NULL))
    ft_log(LOG_WARNING, "tls_certificate: %s is not valid yet", path);
  for (unsigned i = 0; i < count; i++)
    gnutls_x509_crt_deinit(list[i]);
  gnutls_free(list);
}

static gnutls_datum_t datum_of(const struct ft_buf *buf)
{
  return (gnutls_datum_t){ (unsigned char *)buf->data, (unsigned)buf->length };
}

/* Checks that the three files are usable, because libmicrohttpd does not name the one that is not.
 * Returns 0; -1 and ERR. */
static int check_certificates(const struct ft_access *access, struct ft_error *err)
{
  const struct ft_config_network *n = access->network;
  const gnutls_datum_t certificate = datum_of(&access->certificate), key = datum_of(&access->key),
                       ca = datum_of(&access->ca);
  gnutls_certificate_credentials_t credentials;
  int status = gnutls_certificate_allocate_credentials(&credentials);

  if (status < 0)
    return ft_error_set(err, "TLS: %s", gnutls_strerror(status));
  status =
      gnutls_certificate_set_x509_key_mem(credentials, &certificate, &key, GNUTLS_X509_FMT_PEM);
  if (status < 0) {
    status = ft_error_set(err, "tls_certificate %s with tls_key %s: %s", n->tls_certificate,
                          n->tls_key, gnutls_strerror(status));
  } else {
    warn_of_certificate(n->tls_certificate, credentials);
    status = gnutls_certificate_set_x509_trust_mem(credentials, &ca, GNUTLS_X509_FMT_PEM);
    if (status <= 0)
      status = ft_error_set(err, "tls_ca: %s: %s", n->tls_ca,
                            status ? gnutls_strerror(status) : "expected a certificate");
  }
  gnutls_certificate_free_credentials(credentials);
  return status < 0 ? -1 : 0;
}

/* Reads the file PATH, the value of the key NAME. Returns 0; -1 and ERR. */
static int read_tls_file(const char *name, const char *path, struct ft_buf *out,
                         struct ft_error *err)
{
  struct ft_error why;

  return ft_io_read_file(AT_FDCWD, path, out, &why) < 0
             ? ft_error_set(err, "%s: %s", name, why.text)
             : 0;
}

static int open_tls(struct ft_access *access, struct ft_error *err)
{
  const struct ft_config_network *n = access->network;

  if (read_tls_file("tls_certificate", n->tls_certificate, &access->certificate, err) < 0 ||
      read_tls_file("tls_key", n->tls_key, &access->key, err) < 0 ||
      read_tls_file("tls_ca", n->tls_ca, &access->ca, err) < 0 ||
      check_certificates(access, err) < 0)
    return -1;
  access->tls =
      (struct ft_access_tls){ access->certificate.data, access->key.data, access->ca.data };
  return 0;
}

static int open_munge_users(struct ft_access *access, struct ft_loop *loop, struct ft_error *err)
{
  if (find_agent_users(access, err) < 0)
    return -1;
  access->credentials =
      ft_credentials_open(loop, access->network->munge_socket, MUNGE_SECONDS, err);
  return access->credentials ? 0 : -1;
}

struct ft_access *ft_access_open(struct ft_loop *loop, const struct ft_config_network *network,
                                 struct ft_error *err)
{
  struct ft_access *access = calloc(1, sizeof *access);

  if (!access) {
    ft_error_errno(err, "listen");
    return NULL;
  }
  access->network = network;
  ft_buf_init(&access->certificate, FT_LIMIT_CONFIG);
  ft_buf_init(&access->key, FT_LIMIT_CONFIG);
  ft_buf_init(&access->ca, FT_LIMIT_CONFIG);
  if ((network->auth == FT_AUTH_TLS ? open_tls(access, err)
                                    : open_munge_users(access, loop, err)) == 0)
    return access;
  ft_access_close(access);
  return NULL;
}

void ft_access_close(struct ft_access *access)
{
  if (!access)
    return;
  ft_credentials_close(access->credentials);
  if (access->key.data)
    explicit_bzero(access->key.data, access->key.length);
  ft_used_credentials_free(&access->used);
  ft_buf_free(&access->certificate);
  ft_buf_free(&access->key);
  ft_buf_free(&access->ca);
  free(access);
}

void ft_access_allow(struct ft_access *access, uid_t uid)
{
  if (!access)
    return;
  if (!access->has_slurm_user)
    access->user_count++;
  access->has_slurm_user = true;
  access->user[access->user_count - 1] = uid;
}

const struct ft_access_tls *ft_access_tls(const struct ft_access *access)
{
  return access->tls.key ? &access->tls : NULL;
}

/* ---- checks ---- */

static void show_peer(const struct sockaddr *peer, char out[NI_MAXHOST])
{
  static const char mapped[] = "::ffff:"; /* an IPv4 address on an IPv6 socket */
  socklen_t length =
      peer->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);

  if (getnameinfo(peer, length, out, NI_MAXHOST, NULL, 0, NI_NUMERICHOST) != 0)
    (void)ft_string_copy("unknown", out, NI_MAXHOST);
  else if (strncmp(out, mapped, sizeof mapped - 1) == 0)
    memmove(out, out + sizeof mapped - 1, strlen(out) - sizeof mapped + 2);
}

static enum ft_access_result check_user(const struct ft_access *access, uid_t uid, const char *peer,
                                        struct ft_error *err)
{
  for (size_t i = 0; i < access->user_count; i++)
    if (access->user[i] == uid)
      return FT_ACCESS_GRANTED;
  (void)ft_error_set(err, "user %lu of host %s may not send this; agent_users may name the user",
                     (unsigned long)uid, peer);
  return FT_ACCESS_DENIED;
}

/* Numeric addresses with an interface are shorter. */
enum { PEER_BYTES = 64 };

/* A request that waits for the check of its credential. */
struct credential_check {
  struct ft_access *access;
  char *authorization;
  char peer[PEER_BYTES];
  ft_access_callback *call;
  void *data;
};

static void credential_checked(const struct ft_credentials_result *proved, void *data)
{
  struct credential_check *check = data;
  struct ft_error err = *proved->why;
  enum ft_access_result result =
      proved->proof == FT_TRANSFER_UNKNOWN ? FT_ACCESS_UNKNOWN : FT_ACCESS_UNPROVED;

  if (proved->proof == FT_TRANSFER_PROVED)
    result = check_user(check->access, proved->credential.uid, check->peer, &err);
  if (result == FT_ACCESS_GRANTED &&
      !ft_used_credentials_add(&check->access->used, check->authorization, ft_io_monotonic())) {
    (void)ft_error_set(&err, FT_TRANSFER_USED, check->peer);
    result = FT_ACCESS_UNPROVED;
  }
  check->call(result, &proved->credential.digest, &err, check->data);
  free(check->authorization);
  free(check);
}

/* Starts the check of the credential of REQUEST from PEER. */
static enum ft_access_result check_credential(struct ft_access *access,
                                              const struct ft_access_request *request,
                                              const char *peer, ft_access_callback *call,
                                              void *data, struct ft_error *err)
{
  const char *authorization = request->authorization;
  struct credential_check *check;

  if (!authorization ||
      strncmp(authorization, FT_TRANSFER_SCHEME, sizeof FT_TRANSFER_SCHEME - 1) != 0) {
    (void)ft_error_set(err, "host %s sent no MUNGE credential; compare the key auth", peer);
    return FT_ACCESS_UNPROVED;
  }
  check = malloc(sizeof *check);
  if (!check) {
    (void)ft_error_set(err, "out of memory");
    return FT_ACCESS_UNKNOWN;
  }
  *check = (struct credential_check){ .access = access, .call = call, .data = data };
  check->authorization = strdup(authorization);
  (void)ft_string_copy(peer, check->peer, sizeof check->peer);
  if (!check->authorization)
    (void)ft_error_set(err, "out of memory");
  else if (ft_credentials_check(access->credentials, authorization, check->peer, credential_checked,
                                check, err) == 0)
    return FT_ACCESS_PENDING;
  free(check->authorization);
  free(check);
  return FT_ACCESS_UNKNOWN;
}

static enum ft_access_result check_client_certificate(gnutls_session_t session, const char *peer,
                                                      struct ft_error *err)
{
  gnutls_datum_t text = { 0 };
  unsigned problems = 0;
  int status = gnutls_certificate_verify_peers2(session, &problems);

  if (status == 0 && problems == 0)
    return FT_ACCESS_GRANTED;
  if (status == 0)
    (void)gnutls_certificate_verification_status_print(problems, GNUTLS_CRT_X509, &text, 0);
  (void)ft_error_set(err, "certificate of host %s rejected: %s", peer,
                     text.data     ? (const char *)text.data
                     : status == 0 ? "not valid"
                                   : gnutls_strerror(status));
  gnutls_free(text.data);
  return FT_ACCESS_DENIED;
}

enum ft_access_result ft_access_check(struct ft_access *access,
                                      const struct ft_access_request *request,
                                      ft_access_callback *call, void *data, struct ft_error *err)
{
  char peer[NI_MAXHOST];

  show_peer(request->peer, peer);
  return request->tls ? check_client_certificate(request->tls, peer, err)
                      : check_credential(access, request, peer, call, data, err);
}

enum ft_access_result ft_access_check_body(const struct ft_access_request *request,
                                           const struct ft_buf *body,
                                           const struct ft_transfer_digest *digest,
                                           struct ft_error *err)
{
  struct ft_transfer_digest own;
  char peer[NI_MAXHOST];

  if (request->tls)
    return FT_ACCESS_GRANTED;
  if (ft_transfer_digest(ft_exchange_paths[request->exchange], body->data, body->length, &own,
                         err) < 0)
    return FT_ACCESS_UNKNOWN;
  if (strcmp(own.text, digest->text) == 0)
    return FT_ACCESS_GRANTED;
  show_peer(request->peer, peer);
  (void)ft_error_set(err, FT_TRANSFER_OTHER, peer);
  return FT_ACCESS_UNPROVED;
}

/* ---- replies ---- */

/* A reply that waits for its signature. */
struct unsigned_reply {
  ft_access_signed *call;
  void *data;
};

static void reply_signed(const struct ft_credentials_result *result, void *data)
{
  struct unsigned_reply *reply = data;

  reply->call(result->authorization, result->why, reply->data);
  free(reply);
}

bool ft_access_signs(const struct ft_access *access)
{
  return access->credentials != NULL;
}

int ft_access_sign(struct ft_access *access, const char *authorization, const struct ft_buf *body,
                   ft_access_signed *call, void *data, struct ft_error *err)
{
  struct unsigned_reply *reply = malloc(sizeof *reply);
  struct ft_transfer_digest digest;

  if (!reply)
    return ft_error_set(err, "out of memory");
  *reply = (struct unsigned_reply){ call, data };
  if (ft_transfer_digest_reply(authorization, body->data, body->length, &digest, err) == 0 &&
      ft_credentials_sign(access->credentials, &digest, reply_signed, reply, err) == 0)
    return 0;
  free(reply);
  return -1;
}

size_t ft_access_pending(const struct ft_access *access)
{
  return access->credentials ? ft_credentials_waiting(access->credentials) : 0;
}
