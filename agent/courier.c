/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * foretell-courier SOCKET: sends the requests of an agent, which come as packets on standard input,
 * to the learner that listens at SOCKET, and returns its replies. A process of its own, because
 * libcurl takes more memory than the agent, and a disk may take long. Ends when the agent ends.
 */
#include "config.h"

#include <curl/curl.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "agent/courier.h"
#include "agent/spool.h"
#include "predictor/core/io.h"

/* Deadlines of a request: to connect, and until the reply is complete, which the learner may hold
 * for FT_EXCHANGE_HOLD_SECONDS. By judgement. */
#define CONNECT_SECONDS 10L
#define REPLY_SECONDS ((long)FT_EXCHANGE_HOLD_SECONDS + 30L)

/* Age from which a file of the spool was synced by an earlier call; longer than the agent's
 * interval of deliveries. */
#define SYNC_SECONDS 300

enum { COURIER_DONE = 0, COURIER_USAGE = 2, COURIER_FAILED = 3 };

struct errand {
  CURL *curl;
  bool running;
  char why[CURL_ERROR_SIZE];
  struct ft_courier_packet request, reply;
  size_t reply_length; /* of the body */
};

static struct errand errands[FT_EXCHANGE_COUNT];

static size_t take_body(char *data, size_t size, size_t count, void *to)
{
  struct errand *e = to;

  if (size * count > sizeof e->reply.body - e->reply_length)
    return 0;
  memcpy(e->reply.body + e->reply_length, data, size * count);
  e->reply_length += size * count;
  return size * count;
}

static int open_errand(struct errand *e, enum ft_exchange exchange, const char *socket,
                       const struct curl_slist *headers)
{
  char url[64];

  e->curl = curl_easy_init();
  if (!e->curl)
    return -1;
  (void)snprintf(url, sizeof url, "http://learner%s", ft_exchange_paths[exchange]);
  return curl_easy_setopt(e->curl, CURLOPT_URL, url) ||
                 curl_easy_setopt(e->curl, CURLOPT_UNIX_SOCKET_PATH, socket) ||
                 curl_easy_setopt(e->curl, CURLOPT_POST, 1L) ||
                 curl_easy_setopt(e->curl, CURLOPT_HTTPHEADER, headers) ||
                 curl_easy_setopt(e->curl, CURLOPT_PROXY, "") ||
                 curl_easy_setopt(e->curl, CURLOPT_NOSIGNAL, 1L) ||
                 curl_easy_setopt(e->curl, CURLOPT_CONNECTTIMEOUT, CONNECT_SECONDS) ||
                 curl_easy_setopt(e->curl, CURLOPT_TIMEOUT, REPLY_SECONDS) ||
                 curl_easy_setopt(e->curl, CURLOPT_ERRORBUFFER, e->why) ||
                 curl_easy_setopt(e->curl, CURLOPT_WRITEFUNCTION, take_body) ||
                 curl_easy_setopt(e->curl, CURLOPT_WRITEDATA, e) ||
                 curl_easy_setopt(e->curl, CURLOPT_PRIVATE, e)
             ? -1
             : 0;
}

/* Receives a request and starts it. Returns false if the agent has ended. */
static bool receive_request(CURLM *multi)
{
  static struct ft_courier_packet packet;
  ssize_t got = recv(STDIN_FILENO, &packet, sizeof packet, MSG_DONTWAIT);
  size_t length = (size_t)got - FT_COURIER_HEAD;
  struct errand *e;

  if (got < 0 && (errno == EAGAIN || errno == EINTR))
    return true;
  if (got < (ssize_t)FT_COURIER_HEAD || packet.exchange >= FT_EXCHANGE_COUNT ||
      errands[packet.exchange].running)
    return false;
  e = &errands[packet.exchange];
  memcpy(&e->request, &packet, (size_t)got);
  e->reply_length = 0;
  e->why[0] = '\0';
  e->running = curl_easy_setopt(e->curl, CURLOPT_POSTFIELDS, e->request.body) == CURLE_OK &&
               curl_easy_setopt(e->curl, CURLOPT_POSTFIELDSIZE, (long)length) == CURLE_OK &&
               curl_multi_add_handle(multi, e->curl) == CURLM_OK;
  return e->running;
}

static bool sync_file(int directory, const char *name)
{
  int fd = openat(directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  bool synced = fd >= 0 ? fsync(fd) == 0 : errno == ENOENT;

  if (fd >= 0)
    close(fd);
  return synced;
}

/* Writes the spool's recent files to the disk. Returns whether they are there. */
static bool sync_spool(void)
{
  DIR *folder = ft_io_open_directory(FT_COURIER_STATE_FD, FT_SPOOL_DIRECTORY);
  struct dirent *entry;
  bool synced = folder != NULL;
  struct stat st;

  while (synced && (entry = readdir(folder)))
    if (entry->d_name[0] != '.' && fstatat(dirfd(folder), entry->d_name, &st, 0) == 0 &&
        st.st_ctime >= time(NULL) - SYNC_SECONDS)
      synced = sync_file(dirfd(folder), entry->d_name);
  synced = synced && fsync(dirfd(folder)) == 0;
  if (folder)
    closedir(folder);
  return synced;
}

/* Sends the reply of E, which has ended with CODE. Returns false if the agent has ended. */
static bool send_errand_reply(struct errand *e, CURLcode code)
{
  enum { HTTP_OK = 200 };
  long status = 0;

  e->reply.exchange = e->request.exchange;
  if (code == CURLE_OK) {
    (void)curl_easy_getinfo(e->curl, CURLINFO_RESPONSE_CODE, &status);
  } else {
    e->reply_length = (size_t)snprintf(e->reply.body, sizeof e->reply.body, "%s",
                                       e->why[0] ? e->why : curl_easy_strerror(code));
  }
  e->reply.status = (uint32_t)status;
  e->reply.synced = e->request.exchange == FT_EXCHANGE_RUNS && status != HTTP_OK && sync_spool();
  return send(STDIN_FILENO, &e->reply, FT_COURIER_HEAD + e->reply_length, MSG_NOSIGNAL) >= 0;
}

static bool send_errand_replies(CURLM *multi)
{
  struct CURLMsg *message;
  int left;

  while ((message = curl_multi_info_read(multi, &left))) {
    CURLcode code = message->data.result;
    struct errand *e = NULL;

    if (message->msg != CURLMSG_DONE)
      continue;
    (void)curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&e);
    (void)curl_multi_remove_handle(multi, message->easy_handle);
    e->running = false;
    if (!send_errand_reply(e, code))
      return false;
  }
  return true;
}

static int run_errands(CURLM *multi)
{
  struct curl_waitfd agent = { .fd = STDIN_FILENO, .events = CURL_WAIT_POLLIN };
  int running;

  for (;;) {
    if (curl_multi_perform(multi, &running) || !send_errand_replies(multi) ||
        curl_multi_poll(multi, &agent, 1, 1000 * (int)REPLY_SECONDS, NULL))
      return COURIER_FAILED;
    if (!receive_request(multi))
      return COURIER_DONE;
  }
}

int main(int argc, char **argv)
{
  struct curl_slist *headers = NULL;
  CURLM *multi;

  if (argc != 2) {
    fputs("foretell-courier: a part of foretelld, which starts it\n", stderr);
    return COURIER_USAGE;
  }
  (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
  /* without "Expect: 100-continue", which costs a round trip */
  headers = curl_slist_append(headers, "Expect:");
  headers = headers ? curl_slist_append(headers, "Content-Type: application/x-protobuf") : NULL;
  if (!headers || curl_global_init(CURL_GLOBAL_NOTHING) || !(multi = curl_multi_init()))
    return COURIER_FAILED;
  for (int i = 0; i < FT_EXCHANGE_COUNT; i++)
    if (open_errand(&errands[i], (enum ft_exchange)i, argv[1], headers) < 0)
      return COURIER_FAILED;
  return run_errands(multi);
}
