/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sends a question to a daemon and reads its reply. */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "predictor/cli/question.h"
#include "predictor/core/io.h"
#include "predictor/record/state_fetch.h"
#include "predictor/record/state_files.h"

/* Timeout of one packet of the daemon. Long enough for a slow disk. */
enum { PATIENCE_MILLISECONDS = 60000 };

/* Returns 0; -1 with ERR. */
static int send_question(int fd, const char *program, const ft_question *question,
                         struct ft_error *err)
{
  struct ft_buf packet;
  int status;

  ft_buf_init(&packet, FT_LIMIT_RECORD);
  status = ft_record_encode(FT_RECORD_QUESTION, question, &packet, err);
  /* receive_packet() reports a connection that the daemon has closed */
  if (status == 0 && send(fd, packet.data, packet.length, MSG_NOSIGNAL) < 0 && errno != EPIPE)
    status = ft_error_errno(err, "%s", program);
  ft_buf_free(&packet);
  return status;
}

/* Reads a packet into REPLY. Returns 0; -1 with ERR and errno, which is 0 if the daemon rejected
 * the question. */
static int receive_packet(int fd, const char *program, ft_reply *reply, struct ft_error *err)
{
  /* one byte larger than any packet, to detect a longer one */
  static unsigned char packet[ft_reply_size + 1];
  ssize_t got;

  do
    got = recv(fd, packet, sizeof packet, MSG_TRUNC);
  while (got < 0 && errno == EINTR);
  if (got < 0 && errno == EAGAIN)
    return ft_error_set(err, "%s does not answer", program);
  if (got <= 0 || (size_t)got >= sizeof packet) {
    errno = got < 0 ? errno : ECONNRESET;
    return ft_error_set(err,
                        "%s closed the connection: too many queries at once, or it is stopping; "
                        "try again",
                        program);
  }
  if (ft_record_decode(FT_RECORD_REPLY, packet, (size_t)got, reply, err) < 0)
    return -1;
  if (!reply->error[0])
    return 0;
  ft_error_set(err, "%s", reply->error);
  errno = 0;
  return -1;
}

/* Returns a connection to the DAEMON of the state directory STATE_FD; -1 with ERR and errno. */
static int find_daemon_socket(enum ft_daemon daemon, const char *socket, int state_fd,
                              struct ft_error *err)
{
  ft_site *site = malloc(sizeof *site);
  const char *published;
  int fd, saved;

  if (!site)
    return ft_error_errno(err, "site");
  if (ft_state_read_site(state_fd, site, NULL) == 0) {
    published = daemon == FT_DAEMON_AGENT ? site->socket : site->learner_socket;
    socket = published[0] ? published : socket;
  }
  fd = ft_state_query_connect(socket, PATIENCE_MILLISECONDS);
  saved = errno;
  if (fd < 0)
    ft_error_errno(err, "%s" FT_STATE_QUERY_SUFFIX, socket);
  free(site);
  errno = saved;
  return fd;
}

int ft_daemon_ask(enum ft_daemon daemon, const char *socket, int state_fd, ft_question *question,
                  bool (*take)(const ft_reply *reply, void *data), void *data, struct ft_error *err)
{
  const char *program = daemon == FT_DAEMON_AGENT ? "foretelld" : "foretell-learnd";
  ft_reply *reply = malloc(sizeof *reply);
  int fd = -1, status = -1, saved;
  struct stat st;

  if (!reply || fstat(state_fd, &st) < 0) {
    ft_error_errno(err, "%s", program);
    goto out;
  }
  question->schema = FT_SCHEMA;
  question->state_device = st.st_dev;
  question->state_inode = st.st_ino;
  fd = find_daemon_socket(daemon, socket, state_fd, err);
  if (fd < 0 || send_question(fd, program, question, err) < 0)
    goto out;
  do
    status = receive_packet(fd, program, reply, err);
  while (status == 0 && take(reply, data) && !reply->last);
out:
  saved = errno;
  if (fd >= 0)
    close(fd);
  free(reply);
  errno = saved;
  return status;
}

int ft_ask_learner(const char *socket, int state_fd, ft_question *question,
                   bool (*take)(const ft_reply *reply, void *data), void *data,
                   const char *otherwise, struct ft_error *err)
{
  struct ft_error why;

  if (ft_daemon_ask(FT_DAEMON_LEARNER, socket, state_fd, question, take, data, &why) == 0)
    return 0;
  if (errno == ENOENT || errno == ECONNREFUSED)
    return ft_error_set(
        err, "%s: foretell-learnd does not run on this machine; run this where it does%s", why.text,
        otherwise);
  *err = why;
  return -1;
}
