/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * foretell-courier: sends the requests of an agent, which come as packets on standard input, to a
 * learner (agent/route.h), and returns its replies. A process of its own, because libcurl takes
 * more memory than the agent, and a disk or munged may take long. Ends when the agent ends.
 */
#include "config.h"

#include <curl/curl.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/prctl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "agent/courier.h"
#include "agent/route.h"
#include "agent/spool.h"
#include "predictor/core/io.h"
#include "predictor/record/state_files.h"

/* Deadlines of a request: to connect, and until the reply is complete, which the learner may hold
 * for FT_EXCHANGE_HOLD_SECONDS. */
#define CONNECT_SECONDS 10L
#define REPLY_SECONDS ((long)FT_EXCHANGE_HOLD_SECONDS + 30L)

/* Age from which a file of the spool was synced by an earlier call; longer than the agent's
 * interval of deliveries. */
#define SYNC_SECONDS 300

enum { HTTP_OK = 200, HTTP_UNAUTHORIZED = 401 };
enum { COURIER_DONE = 0, COURIER_USAGE = 2, COURIER_FAILED = 3 };

struct errand {
  CURL *curl;
  bool running;
  char why[CURL_ERROR_SIZE];
  struct ft_courier_packet request, reply;
  size_t request_length, reply_length; /* of the bodies */
  char authorization[1024];            /* the reply's signature; empty: none */
  struct ft_attempt attempt;
  size_t failures; /* of learners to reply to this request */
  bool renewed;    /* sent once more with a new credential */
};

static struct errand errands[FT_EXCHANGE_COUNT];
static struct ft_route route;

static size_t append_reply_body(char *data, size_t size, size_t count, void *to)
{
  struct errand *e = to;

  if (size * count > sizeof e->reply.body - e->reply_length)
    return 0;
  memcpy(e->reply.body + e->reply_length, data, size * count);
  e->reply_length += size * count;
  return size * count;
}

/* Stores the signature if it is this one of the reply's headers. */
static size_t parse_reply_header(char *data, size_t size, size_t count, void *to)
{
  static const char name[] = FT_TRANSFER_REPLY_HEADER ":";
  const size_t length = sizeof name - 1;
  struct errand *e = to;

  if (size * count >= length && strncasecmp(data, name, length) == 0)
    (void)ft_text_copy(ft_text_trim(ft_text_of(data + length, size * count - length)),
                       e->authorization, sizeof e->authorization);
  return size * count;
}

static int open_errand(struct errand *e)
{
  e->curl = curl_easy_init();
  if (!e->curl)
    return -1;
  return curl_easy_setopt(e->curl, CURLOPT_POST, 1L) ||
                 curl_easy_setopt(e->curl, CURLOPT_PROXY, "") ||
                 curl_easy_setopt(e->curl, CURLOPT_NOSIGNAL, 1L) ||
                 curl_easy_setopt(e->curl, CURLOPT_CONNECTTIMEOUT, CONNECT_SECONDS) ||
                 curl_easy_setopt(e->curl, CURLOPT_TIMEOUT, REPLY_SECONDS) ||
                 curl_easy_setopt(e->curl, CURLOPT_ERRORBUFFER, e->why) ||
                 curl_easy_setopt(e->curl, CURLOPT_WRITEFUNCTION, append_reply_body) ||
                 curl_easy_setopt(e->curl, CURLOPT_WRITEDATA, e) ||
                 curl_easy_setopt(e->curl, CURLOPT_HEADERFUNCTION, parse_reply_header) ||
                 curl_easy_setopt(e->curl, CURLOPT_HEADERDATA, e) ||
                 curl_easy_setopt(e->curl, CURLOPT_PRIVATE, e)
             ? -1
             : 0;
}

/* Sends the request of E to the learner in use. Returns 0; -1 and ERR. */
static int start_attempt(CURLM *multi, struct errand *e, struct ft_error *err)
{
  e->reply_length = 0;
  e->why[0] = e->authorization[0] = '\0';
  if (ft_route_attempt(&route, e->curl, (enum ft_exchange)e->request.exchange, e->request.body,
                       e->request_length, &e->attempt, err) < 0)
    return -1;
  if (curl_multi_add_handle(multi, e->curl))
    return ft_error_set(err, "out of memory");
  e->running = true;
  return 0;
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
  synced = synced && fsync(dirfd(folder)) == 0 &&
           ft_io_confirm_sync(FT_COURIER_STATE_FD, FT_STATE_AGENT_LOCK) == 0;
  if (folder)
    closedir(folder);
  return synced;
}

/* Sends the reply of E, with HTTP's STATUS or, if that is 0, the line WHY. Returns false if the
 * agent has ended. */
static bool send_errand_reply(struct errand *e, long status, const char *why)
{
  e->reply.exchange = e->request.exchange;
  e->reply.status = (uint32_t)status;
  if (!status)
    e->reply_length = (size_t)snprintf(e->reply.body, sizeof e->reply.body, "%s", why);
  e->reply.synced = e->request.exchange == FT_EXCHANGE_RUNS && status != HTTP_OK && sync_spool();
  ft_attempt_free(&e->attempt);
  return send(STDIN_FILENO, &e->reply, FT_COURIER_HEAD + e->reply_length, MSG_NOSIGNAL) >= 0;
}

/* Whether to send E once more after an attempt that ended with HTTP's STATUS, or without a reply of
 * a learner if that is 0: to the next learner, or with a new credential, because libcurl repeats a
 * request by itself on a connection that was just closed. */
static bool wants_attempt(struct errand *e, long status)
{
  if (!status) {
    ft_route_fail(&route, e->attempt.learner);
    return ++e->failures < route.count;
  }
  if (status != HTTP_UNAUTHORIZED || e->renewed)
    return false;
  e->renewed = true;
  return true;
}

/* Handles the end of an attempt of E with CODE. Returns false if the agent has ended. */
static bool end_attempt(CURLM *multi, struct errand *e, CURLcode code)
{
  const struct ft_address *learner = &route.learner[e->attempt.learner];
  const char *text = e->why[0] ? e->why : curl_easy_strerror(code);
  enum ft_transfer_proof proof = FT_TRANSFER_PROVED;
  struct ft_error err = { "" };
  long status = 0;

  if (code == CURLE_OK)
    (void)curl_easy_getinfo(e->curl, CURLINFO_RESPONSE_CODE, &status);
  else
    (void)ft_error_set(&err, "%s%s%s", route.socket ? "" : learner->host, route.socket ? "" : ": ",
                       text);
  if (status == HTTP_OK)
    proof =
        ft_route_prove(&route, &e->attempt, e->authorization, e->reply.body, e->reply_length, &err);
  if (proof != FT_TRANSFER_PROVED)
    status = 0;
  e->running = false;
  /* a munged that is silent here is not the learner's fault */
  if (proof != FT_TRANSFER_UNKNOWN && wants_attempt(e, status)) {
    if (start_attempt(multi, e, &err) == 0)
      return true;
    status = 0;
  }
  return send_errand_reply(e, status, err.text);
}

static bool end_attempts(CURLM *multi)
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
    if (!end_attempt(multi, e, code))
      return false;
  }
  return true;
}

/* Receives a request and starts it. Returns false if the agent has ended. */
static bool receive_request(CURLM *multi)
{
  static struct ft_courier_packet packet;
  ssize_t got = recv(STDIN_FILENO, &packet, sizeof packet, MSG_DONTWAIT);
  struct ft_error err;
  struct errand *e;

  if (got < 0 && (errno == EAGAIN || errno == EINTR))
    return true;
  if (got < (ssize_t)FT_COURIER_HEAD || packet.exchange >= FT_EXCHANGE_COUNT ||
      errands[packet.exchange].running)
    return false;
  e = &errands[packet.exchange];
  memcpy(&e->request, &packet, (size_t)got);
  e->request_length = (size_t)got - FT_COURIER_HEAD;
  e->failures = 0;
  e->renewed = false;
  return start_attempt(multi, e, &err) == 0 || send_errand_reply(e, 0, err.text);
}

static int run_errands(CURLM *multi)
{
  struct curl_waitfd agent = { .fd = STDIN_FILENO, .events = CURL_WAIT_POLLIN };
  int running;

  for (;;) {
    if (curl_multi_perform(multi, &running) || !end_attempts(multi) ||
        curl_multi_poll(multi, &agent, 1, 1000 * (int)REPLY_SECONDS, NULL))
      return COURIER_FAILED;
    if (!receive_request(multi))
      return COURIER_DONE;
  }
}

int main(int argc, char **argv)
{
  struct ft_error err;
  CURLM *multi;

  if (ft_route_parse(&route, argc - 1, argv + 1, &err) < 0) {
    fprintf(stderr, "foretell-courier: %s\n", err.text);
    return COURIER_USAGE;
  }
  (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (curl_global_init(route.tls ? CURL_GLOBAL_SSL : CURL_GLOBAL_NOTHING) ||
      !(multi = curl_multi_init()))
    return COURIER_FAILED;
  for (int i = 0; i < FT_EXCHANGE_COUNT; i++)
    if (open_errand(&errands[i]) < 0)
      return COURIER_FAILED;
  return run_errands(multi);
}
