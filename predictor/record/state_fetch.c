/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "predictor/record/record.h"
#include "predictor/record/state_fetch.h"
#include "predictor/record/state_files.h"

/* Deadline of the connection, and again of the reply: together that of a submission for a state
 * directory on a remote file system. */
enum { WAIT_MILLISECONDS = 125 };

int ft_state_query_connect(const char *socket_path, unsigned milliseconds)
{
  const struct timeval wait = { .tv_sec = milliseconds / 1000,
                                .tv_usec = milliseconds % 1000 * 1000 };
  struct sockaddr_un address = { .sun_family = AF_UNIX };
  int fd, saved;

  if (snprintf(address.sun_path, sizeof address.sun_path, "%s" FT_STATE_QUERY_SUFFIX,
               socket_path) >= (int)sizeof address.sun_path) {
    errno = ENAMETOOLONG;
    return -1;
  }
  fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (fd < 0 || (setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof wait) == 0 &&
                 setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait) == 0 &&
                 connect(fd, (struct sockaddr *)&address, sizeof address) == 0))
    return fd;
  saved = errno;
  close(fd);
  errno = saved;
  return -1;
}

/* Sends the request for NAME. Returns 0; -1 with errno. */
static int send_file_query(int fd, int state_fd, const char *name)
{
  ft_question question = { .schema = FT_SCHEMA, .which_asked = ft_question_file_tag };
  struct ft_buf packet;
  struct stat st;
  int status = -1;

  if (fstat(state_fd, &st) < 0)
    return -1;
  question.state_device = st.st_dev;
  question.state_inode = st.st_ino;
  (void)snprintf(question.asked.file.name, sizeof question.asked.file.name, "%s", name);
  ft_buf_init(&packet, FT_LIMIT_RECORD);
  if (ft_record_encode(FT_RECORD_QUESTION, &question, &packet, NULL) == 0 &&
      send(fd, packet.data, packet.length, MSG_NOSIGNAL) >= 0)
    status = 0;
  ft_buf_free(&packet);
  return status;
}

/* Receives the reply. Returns the descriptor in it; -1 with errno, ENOENT: there is no file. */
static int receive_file(int fd)
{
  char packet[1024]; /* a reply without a record is shorter */
  struct iovec part = { packet, sizeof packet };
  union {
    struct cmsghdr head;
    char bytes[CMSG_SPACE(sizeof(int))];
  } control;
  struct msghdr message = { .msg_iov = &part,
                            .msg_iovlen = 1,
                            .msg_control = control.bytes,
                            .msg_controllen = sizeof control.bytes };
  const struct cmsghdr *head;
  ssize_t got = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
  int file;

  if (got <= 0) {
    errno = got < 0 ? errno : ECONNRESET;
    return -1;
  }
  head = CMSG_FIRSTHDR(&message);
  if (!head || head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS ||
      head->cmsg_len != CMSG_LEN(sizeof file)) {
    errno = ENOENT;
    return -1;
  }
  memcpy(&file, CMSG_DATA(head), sizeof file);
  return file;
}

int ft_state_fetch(int state_fd, const char *name, struct ft_error *err)
{
  static bool silent; /* the learner did not answer */
  ft_site *site = silent ? NULL : malloc(sizeof *site);
  int fd = -1, file = -1, why = EAGAIN;

  if (site && ft_record_read(FT_RECORD_SITE, state_fd, FT_STATE_SITE, site, NULL) == 0 &&
      site->learner_socket[0]) {
    fd = ft_state_query_connect(site->learner_socket, WAIT_MILLISECONDS);
    if (fd >= 0 && send_file_query(fd, state_fd, name) == 0)
      file = receive_file(fd);
    why = errno;
  }
  free(site);
  if (fd >= 0)
    close(fd);
  if (file >= 0)
    return file;
  silent = silent || why != ENOENT || fd < 0;
  errno = silent ? EACCES : ENOENT;
  return silent ? ft_error_set(err,
                               "%s: only foretell-learnd may read it, and does not answer here; "
                               "see foretell doctor",
                               name)
                : ft_error_set(err, "%s: no such model", name);
}
