/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * foretell doctor: whether learners of other hosts accept this host's agent, and what differs
 * between both hosts. The request takes the agent's way, by foretell-courier and as the agent's
 * user, so that it fails as the agent's would.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <netdb.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/uplink.h"
#include "predictor/cli/doctor/doctor.h"
#include "predictor/core/io.h"
#include "predictor/core/text.h"

/* Time limits of a connection to a learner, and of its reply, which is late while munged on its
 * host does not reply; seconds. */
enum { CONNECT_SECONDS = 5, REPLY_SECONDS = 20 };

/* Difference of two clocks from which munged rejects credentials (munge(7), the default of --ttl),
 * and from which doctor warns; seconds. */
enum { CLOCK_LIMIT_SECONDS = 300, CLOCK_WARN_SECONDS = 240 };

struct inquiry {
  struct ft_loop *loop;
  struct ft_uplink *uplink;
  const char *user;      /* asked for, too */
  double sent, received; /* ft_io_now */
  bool answered;
  ft_host host;
  struct ft_error err; /* unless answered */
};

/* Connects to LEARNER. Returns 0; -1 and ERR. */
static int connect_to_learner(const struct ft_address *learner, struct ft_error *err)
{
  const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
  const struct timeval limit = { .tv_sec = CONNECT_SECONDS };
  struct addrinfo *found = NULL;
  int fd, status = getaddrinfo(learner->host, learner->port, &hints, &found);

  if (status)
    return ft_error_set(err, "%s", gai_strerror(status));
  fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit) < 0 ||
      connect(fd, found->ai_addr, found->ai_addrlen) < 0)
    status = ft_error_set(err, "%s", errno == EINPROGRESS ? "no reply" : strerror(errno));
  if (fd >= 0)
    close(fd);
  freeaddrinfo(found);
  return status;
}

/* ---- a request ---- */

static void host_replied(const struct ft_uplink_reply *reply, void *data)
{
  struct inquiry *inquiry = data;

  inquiry->received = ft_io_now();
  if (!reply->body)
    (void)ft_error_set(&inquiry->err, "%s", reply->why);
  else
    inquiry->answered = ft_record_decode(FT_RECORD_HOST, reply->body, reply->length, &inquiry->host,
                                         &inquiry->err) == 0;
  ft_loop_stop(inquiry->loop);
}

static void host_is_late(void *data)
{
  struct inquiry *inquiry = data;

  (void)ft_error_set(&inquiry->err, "no reply within %d s", REPLY_SECONDS);
  ft_loop_stop(inquiry->loop);
}

/* Sends the inquiry DATA and waits for the reply. */
static void exchange_hosts(void *data)
{
  struct inquiry *inquiry = data;
  ft_host_query query = { .schema = FT_SCHEMA, .user_count = 2, .user = { "foretell" } };
  struct ft_timer late = { .fire = host_is_late, .data = inquiry };

  (void)ft_string_copy(inquiry->user, query.user[1], sizeof query.user[1]);
  inquiry->sent = ft_io_now();
  if (ft_uplink_send_record(inquiry->uplink, FT_EXCHANGE_HOST, FT_RECORD_HOST_QUERY, &query,
                            host_replied, inquiry, &inquiry->err) < 0)
    return;
  ft_loop_at(inquiry->loop, &late, ft_io_monotonic() + REPLY_SECONDS);
  (void)ft_loop_run(inquiry->loop, &inquiry->err);
  ft_loop_cancel(inquiry->loop, &late);
}

/* Asks the learner of DOCTOR's configuration as USER, and fills INQUIRY. */
static void ask_learner(const struct ft_doctor *doctor, const struct ft_doctor_user *user,
                        struct inquiry *inquiry)
{
  static const int no_signals[] = { 0 };
  int fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
  sigset_t signals;

  *inquiry = (struct inquiry){ .user = user->name, .err = { "out of memory" } };
  (void)sigprocmask(SIG_SETMASK, NULL, &signals);
  inquiry->loop = ft_loop_open(no_signals, &inquiry->err);
  if (inquiry->loop)
    inquiry->uplink = ft_uplink_open(inquiry->loop, &doctor->config, fd);
  if (inquiry->uplink)
    (void)ft_doctor_call_as(user, exchange_hosts, inquiry, &inquiry->err);
  ft_uplink_close(inquiry->uplink);
  ft_loop_close(inquiry->loop);
  (void)sigprocmask(SIG_SETMASK, &signals, NULL);
  if (fd >= 0)
    close(fd);
}

/* ---- differences ---- */

static void compare_clocks(struct ft_doctor *doctor, const struct inquiry *inquiry,
                           const char *host)
{
  double ahead = (inquiry->sent + inquiry->received) / 2 - inquiry->host.time;

  if (fabs(ahead) < CLOCK_WARN_SECONDS)
    ft_doctor_add(doctor, "clock", FT_FINDING_OK, "%.1f s %s host %s", fabs(ahead),
                  ahead < 0 ? "behind" : "ahead of", host);
  else
    ft_doctor_add(doctor, "clock", FT_FINDING_WARN,
                  "%.1f s %s host %s; MUNGE tolerates %d s: synchronise both clocks", fabs(ahead),
                  ahead < 0 ? "behind" : "ahead of", host, CLOCK_LIMIT_SECONDS);
}

static void compare_uids(struct ft_doctor *doctor, const ft_host *host, const char *name)
{
  char same[256] = "";
  bool differ = false;

  for (pb_size_t i = 0; i < host->user_count; i++) {
    const ft_host_user *there = &host->user[i];
    const struct passwd *here = getpwnam(there->name);
    size_t length = strlen(same);

    if (!here)
      continue;
    if (here->pw_uid == there->uid) {
      (void)snprintf(same + length, sizeof same - length, "%s%s %u", length ? ", " : "",
                     there->name, (unsigned)there->uid);
      continue;
    }
    differ = true;
    ft_doctor_add(doctor, "uids", FT_FINDING_WARN,
                  "user %s is %u here and %u on host %s; give it one uid on all hosts", there->name,
                  (unsigned)here->pw_uid, (unsigned)there->uid, name);
  }
  if (!differ && same[0])
    ft_doctor_add(doctor, "uids", FT_FINDING_OK, "%s, as on host %s", same, name);
}

static void compare_versions(struct ft_doctor *doctor, const ft_host *host, const char *name)
{
  if (strverscmp(PACKAGE_VERSION, host->version) <= 0)
    ft_doctor_add(doctor, "version", FT_FINDING_OK, "foretell %s; host %s has %s", PACKAGE_VERSION,
                  name, host->version);
  else
    ft_doctor_add(doctor, "version", FT_FINDING_WARN,
                  "foretell %s is newer than %s of host %s: upgrade the learner first",
                  PACKAGE_VERSION, host->version, name);
}

/* ---- learners ---- */

static void check_learner(struct ft_doctor *doctor, const struct ft_address *learner,
                          const struct ft_doctor_user *user, const struct ft_doctor_user *self)
{
  struct inquiry inquiry;
  struct ft_error err;

  if (connect_to_learner(learner, &err) < 0) {
    ft_doctor_add(doctor, "learner", FT_FINDING_FAIL,
                  "host %s, port %s: %s; runs wait in the spool: check foretell-learnd there, "
                  "its key listen, and firewalls",
                  learner->host, learner->port, err.text);
    return;
  }
  ask_learner(doctor, user, &inquiry);
  if (inquiry.answered)
    ft_doctor_add(doctor, "learner", FT_FINDING_OK, "host %s, port %s accepts requests of user %s",
                  learner->host, learner->port, user->name);
  else if (geteuid() != 0)
    ft_doctor_add(doctor, "learner", FT_FINDING_WARN, "host %s, port %s: %s; run this as root",
                  learner->host, learner->port, inquiry.err.text);
  else
    ft_doctor_add(doctor, "learner", FT_FINDING_FAIL,
                  "host %s, port %s, requests of user %s: %s; runs wait in the spool",
                  learner->host, learner->port, user->name, inquiry.err.text);
  /* what differs may be why the agent's user is rejected */
  if (!inquiry.answered && user->uid != self->uid)
    ask_learner(doctor, self, &inquiry);
  if (!inquiry.answered)
    return;
  compare_clocks(doctor, &inquiry, learner->host);
  compare_uids(doctor, &inquiry.host, learner->host);
  compare_versions(doctor, &inquiry.host, learner->host);
}

void ft_doctor_learners(struct ft_doctor *doctor, const struct ucred *agent)
{
  char *one = doctor->config.network.learners, all[sizeof doctor->config.network.learners];
  struct ft_text list, piece, rest;
  struct ft_address learner;
  struct ft_doctor_user user, self;
  struct ft_error err;
  const struct passwd *found;

  ft_doctor_fill_user(getpwuid(geteuid()), geteuid(), &self);
  found = agent->pid > 0 ? getpwuid(agent->uid) : getpwnam("foretell");
  if (self.uid == 0 && (found || agent->pid > 0))
    ft_doctor_fill_user(found, agent->uid, &user);
  else
    user = self;
  (void)ft_string_copy(one, all, sizeof all);
  list = ft_text_from(all);
  while (ft_text_until(&list, ',', &piece)) {
    rest = piece;
    (void)ft_text_copy(piece, one, sizeof doctor->config.network.learners);
    if (ft_address_next(&rest, &learner, &err) > 0)
      check_learner(doctor, &learner, &user, &self);
  }
  (void)ft_string_copy(all, one, sizeof all);
}
