/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Plays the agents of many nodes that find their learner again at once, for tests/bench/storm.
 *
 *   storm_send ADDRESS PORT MUNGE_SOCKET NODES RUNS
 *
 * Each node has an agent with two connections to ADDRESS, which is IPv4: one delivers RUNS runs,
 * the other queries the settings and then waits for their next change. Each node has a source
 * address of its own in 127.0.0.0/8. The requests and their credentials are made before the clock
 * starts. Prints "SECONDS CPU_SECONDS ACCEPTED_RUNS", from the first connection to the last reply.
 */
#include "config.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "daemon/transfer.h"
#include "predictor/core/random.h"
#include "tests/bench/collected_run.h"

enum { EXIT_DRAINED = 0, EXIT_USAGE = 2, EXIT_FAILED = 3 };
enum { APPS = 1000, EVENTS = 256, REPLY_BYTES = 4096, PATIENCE_MS = 60000 };

/* A connection of an agent: sends the requests one after another, each after the reply to the one
 * before. */
struct line {
  int fd;
  struct ft_buf request[2];
  unsigned requests, answered; /* of those that are answered at once */
  size_t sent;                 /* bytes of the current request */
  char reply[REPLY_BYTES];
  size_t got;
};

static struct sockaddr_in learner;
static const char *host, *port, *munge_socket;
static size_t accepted;

static double seconds_of(clockid_t clock)
{
  struct timespec now;

  (void)clock_gettime(clock, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

__attribute__((format(printf, 1, 2), noreturn)) static void fail(const char *format, ...)
{
  va_list arguments;

  fputs("storm_send: ", stderr);
  va_start(arguments, format);
  (void)vfprintf(stderr, format, arguments);
  va_end(arguments);
  fputc('\n', stderr);
  exit(EXIT_FAILED);
}

/* ---- requests ---- */

/* Sets OUT to the request EXCHANGE with BODY, signed as foretell-courier does. */
static void make_request(enum ft_exchange exchange, const struct ft_buf *body, struct ft_buf *out)
{
  const char *path = ft_exchange_paths[exchange];
  struct ft_transfer_digest digest;
  struct ft_buf compressed, credential;
  const struct ft_buf *sent = body;
  struct ft_error err;

  ft_buf_init(&compressed, FT_EXCHANGE_BYTES);
  ft_buf_init(&credential, FT_LIMIT_PROC);
  ft_buf_init(out, FT_EXCHANGE_BYTES);
  if (exchange == FT_EXCHANGE_RUNS &&
      ft_transfer_deflate(body->data, body->length, &compressed) == 0)
    sent = &compressed;
  if (ft_transfer_digest(path, sent->data, sent->length, &digest, &err) < 0 ||
      ft_transfer_sign(munge_socket, &digest, &credential, &err) < 0)
    fail("%s", err.text);
  if (ft_buf_printf(out,
                    "POST %s HTTP/1.1\r\nHost: %s:%s\r\nAuthorization: %s\r\n%s"
                    "Content-Length: %zu\r\n\r\n",
                    path, host, port, ft_buf_text(&credential),
                    sent == &compressed ? "Content-Encoding: deflate\r\n" : "", sent->length) < 0 ||
      ft_buf_add(out, sent->data, sent->length) < 0)
    fail("out of memory");
  ft_buf_free(&compressed);
  ft_buf_free(&credential);
}

static void make_settings_query(uint64_t agent, uint64_t number, struct ft_buf *out)
{
  const ft_settings_query query = { .schema = FT_SCHEMA, .agent = agent, .number = number };
  struct ft_error err;
  struct ft_buf body;

  ft_buf_init(&body, FT_EXCHANGE_BYTES);
  if (ft_record_encode(FT_RECORD_SETTINGS_QUERY, &query, &body, &err) < 0)
    fail("%s", err.text);
  make_request(FT_EXCHANGE_SETTINGS, &body, out);
  ft_buf_free(&body);
}

static void make_delivery(uint32_t node, uint32_t runs, struct ft_random *random,
                          struct ft_buf *out)
{
  static ft_observation o;
  struct ft_error err;
  struct ft_buf body;
  char name[32];

  (void)snprintf(name, sizeof name, "node%u", node);
  ft_buf_init(&body, FT_EXCHANGE_BYTES);
  for (uint32_t i = 0; i < runs; i++) {
    make_collected_run(1 + node * runs + i, APPS, name, random, &o);
    if (ft_exchange_add(&body, &o, &err) < 0)
      fail("%s", err.text);
  }
  make_request(FT_EXCHANGE_RUNS, &body, out);
  ft_buf_free(&body);
}

/* ---- replies ---- */

/* Returns the body of LINE's reply once it is complete, else NULL; *LENGTH is its bytes. */
static const char *complete_body(struct line *line, size_t *length)
{
  const char *end, *field;

  line->reply[line->got] = '\0';
  end = strstr(line->reply, "\r\n\r\n");
  field = end ? strcasestr(line->reply, "\r\nContent-Length:") : NULL;
  if (!field)
    return NULL;
  *length = strtoul(field + sizeof "\r\nContent-Length:" - 1, NULL, 10);
  end += 4;
  return (size_t)(line->reply + line->got - end) >= *length ? end : NULL;
}

static void count_accepted(const char *body, size_t length)
{
  ft_verdicts verdicts;
  struct ft_error err;

  if (ft_record_decode(FT_RECORD_VERDICTS, body, length, &verdicts, &err) < 0)
    fail("%s", err.text);
  for (pb_size_t i = 0; i < verdicts.verdict.size; i++)
    accepted += verdicts.verdict.bytes[i] == FT_VERDICT_ACCEPTED;
}

/* ---- connections ---- */

static void connect_line(struct line *line, uint32_t node)
{
  const struct sockaddr_in own = { .sin_family = AF_INET,
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK + 256 + node) };

  line->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (line->fd < 0 || bind(line->fd, (const struct sockaddr *)&own, sizeof own) < 0 ||
      (connect(line->fd, (const struct sockaddr *)&learner, sizeof learner) < 0 &&
       errno != EINPROGRESS))
    fail("node %u: %s", node, strerror(errno));
}

/* Sends what LINE has left to send. */
static void send_some(struct line *line)
{
  const struct ft_buf *request = &line->request[line->answered];
  ssize_t count;

  if (line->answered > 1 || line->sent == request->length)
    return;
  count = send(line->fd, request->data + line->sent, request->length - line->sent, MSG_NOSIGNAL);
  if (count < 0 && errno != EAGAIN)
    fail("send: %s", strerror(errno));
  line->sent += count > 0 ? (size_t)count : 0;
}

/* Receives what has arrived on LINE. Returns whether its last awaited reply is complete now. */
static bool receive_some(struct line *line)
{
  ssize_t count = recv(line->fd, line->reply + line->got, REPLY_BYTES - 1 - line->got, 0);
  const char *body;
  size_t length;

  if (count < 0 && errno == EAGAIN)
    return false;
  if (count <= 0)
    fail("receive: %s", count ? strerror(errno) : "the learner has closed the connection");
  line->got += (size_t)count;
  body = complete_body(line, &length);
  if (!body)
    return false;
  if (!strstr(line->reply, " 200 "))
    fail("reply: %.200s", line->reply);
  if (line->request[1].length == 0)
    count_accepted(body, length);
  line->answered++;
  line->sent = line->got = 0;
  if (line->request[1].length)
    send_some(line);
  return true;
}

/* Opens all LINES, two a NODE, and sends and receives until each has one reply. */
static void storm(struct line *lines, uint32_t nodes)
{
  struct epoll_event events[EVENTS];
  uint32_t open = 2 * nodes;
  int epoll = epoll_create1(EPOLL_CLOEXEC);

  for (uint32_t i = 0; i < 2 * nodes; i++) {
    struct epoll_event event = { .events = EPOLLIN | EPOLLOUT | EPOLLET, .data.ptr = &lines[i] };

    connect_line(&lines[i], i / 2);
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, lines[i].fd, &event) < 0)
      fail("epoll: %s", strerror(errno));
  }
  while (open) {
    int count = epoll_wait(epoll, events, EVENTS, PATIENCE_MS);

    if (count <= 0)
      fail("%u connections of %u without a reply", open, 2 * nodes);
    for (int i = 0; i < count; i++) {
      struct line *line = events[i].data.ptr;

      if (events[i].events & EPOLLOUT)
        send_some(line);
      if (events[i].events & EPOLLIN && line->answered == 0)
        open -= receive_some(line);
    }
  }
  close(epoll);
}

/* Asks for the number of the learner's settings. */
static uint64_t settings_number(void)
{
  static struct line line;
  ft_settings settings;
  struct ft_error err;
  const char *body;
  size_t length;

  make_settings_query(0, 0, &line.request[0]);
  line.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (line.fd < 0 || connect(line.fd, (const struct sockaddr *)&learner, sizeof learner) < 0)
    fail("%s", strerror(errno));
  send_some(&line);
  do {
    ssize_t count = recv(line.fd, line.reply + line.got, REPLY_BYTES - 1 - line.got, 0);

    if (count <= 0)
      fail("no settings: %.200s", line.reply);
    line.got += (size_t)count;
  } while (!(body = complete_body(&line, &length)));
  if (ft_record_decode(FT_RECORD_SETTINGS, body, length, &settings, &err) < 0)
    fail("%s: %.200s", err.text, line.reply);
  close(line.fd);
  return settings.number;
}

int main(int argc, char **argv)
{
  struct ft_random random;
  struct line *lines;
  double wall, cpu;
  uint64_t number;
  uint32_t nodes, runs;

  if (argc != 6 || inet_pton(AF_INET, argv[1], &learner.sin_addr) != 1) {
    fputs("usage: storm_send ADDRESS PORT MUNGE_SOCKET NODES RUNS\n", stderr);
    return EXIT_USAGE;
  }
  host = argv[1];
  port = argv[2];
  munge_socket = argv[3];
  nodes = (uint32_t)strtoul(argv[4], NULL, 10);
  runs = (uint32_t)strtoul(argv[5], NULL, 10);
  learner.sin_family = AF_INET;
  learner.sin_port = htons((uint16_t)strtoul(port, NULL, 10));
  lines = calloc(2 * (size_t)nodes, sizeof *lines);
  if (!lines)
    fail("out of memory");
  ft_random_seed(&random, 1);
  number = settings_number();
  for (uint32_t i = 0; i < nodes; i++) {
    make_settings_query(1 + i, 0, &lines[2 * i].request[0]);
    make_settings_query(1 + i, number, &lines[2 * i].request[1]);
    make_delivery(i, runs, &random, &lines[2 * i + 1].request[0]);
  }
  wall = seconds_of(CLOCK_MONOTONIC);
  cpu = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
  storm(lines, nodes);
  printf("%.3f %.3f %zu\n", seconds_of(CLOCK_MONOTONIC) - wall,
         seconds_of(CLOCK_PROCESS_CPUTIME_ID) - cpu, accepted);
  fflush(stdout);
  /* the agents stay connected until standard input ends */
  (void)getchar();
  return accepted == (size_t)nodes * runs ? EXIT_DRAINED : EXIT_FAILED;
}
