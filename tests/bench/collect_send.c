/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Sends observations to a learner, as foretell-courier does, for tests/bench/collect.
 *
 *   collect_send SOCKET FIRST COUNT APPS BATCH
 *
 * Jobs FIRST to FIRST + COUNT - 1 of APPS apps of users 1000 to 1099, BATCH observations a request.
 * Prints "WALL_SECONDS CPU_SECONDS SENT_BYTES", of this process.
 */
#include "config.h"

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "daemon/exchange.h"
#include "predictor/core/random.h"
#include "tests/bench/collected_run.h"

enum { EXIT_SENT = 0, EXIT_USAGE = 2, EXIT_FAILED = 3 };

static double seconds_of(clockid_t clock)
{
  struct timespec now;

  (void)clock_gettime(clock, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static size_t append_reply(char *data, size_t size, size_t count, void *to)
{
  struct ft_buf *reply = to;

  return ft_buf_add(reply, data, size * count) < 0 ? 0 : size * count;
}

/* Sends BODY and waits for the reply. Returns false if there is none. */
static bool exchange(CURL *curl, const struct ft_buf *body, struct ft_buf *reply)
{
  ft_buf_init(reply, FT_EXCHANGE_BYTES);
  return curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body->data) == CURLE_OK &&
         curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE, (long)body->length) == CURLE_OK &&
         curl_easy_setopt(curl, CURLOPT_WRITEDATA, reply) == CURLE_OK &&
         curl_easy_perform(curl) == CURLE_OK;
}

/* Sends LIST of COUNT observations. Returns whether all were accepted. */
static bool send_list(CURL *curl, const struct ft_buf *list, size_t count)
{
  struct ft_buf reply;
  ft_verdicts verdicts;
  struct ft_error err;
  bool accepted;

  accepted = exchange(curl, list, &reply) &&
             ft_record_decode(FT_RECORD_VERDICTS, reply.data, reply.length, &verdicts, &err) == 0 &&
             verdicts.verdict.size == count;
  for (size_t i = 0; accepted && i < count; i++)
    accepted = verdicts.verdict.bytes[i] == FT_VERDICT_ACCEPTED;
  ft_buf_free(&reply);
  return accepted;
}

static CURL *open_connection(const char *socket, const char *url)
{
  CURL *curl = curl_easy_init();

  if (curl && !curl_easy_setopt(curl, CURLOPT_URL, url) &&
      !curl_easy_setopt(curl, CURLOPT_UNIX_SOCKET_PATH, socket) &&
      !curl_easy_setopt(curl, CURLOPT_POST, 1L) &&
      !curl_easy_setopt(curl, CURLOPT_HTTPHEADER, curl_slist_append(NULL, "Expect:")) &&
      !curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, append_reply))
    return curl;
  return NULL;
}

int main(int argc, char **argv)
{
  static ft_observation o;
  double wall = seconds_of(CLOCK_MONOTONIC), cpu;
  uint32_t job, end, apps;
  size_t batch, in_list = 0, bytes = 0;
  struct ft_random random;
  struct ft_error err;
  struct ft_buf list;
  CURL *curl = NULL;

  if (argc == 6)
    curl = open_connection(argv[1], strcmp(argv[5], "0") == 0 ? "http://learner/jobs"
                                                              : "http://learner/runs");
  if (!curl) {
    fputs("usage: collect_send SOCKET FIRST COUNT APPS BATCH\n", stderr);
    return EXIT_USAGE;
  }
  job = (uint32_t)strtoul(argv[2], NULL, 10);
  end = job + (uint32_t)strtoul(argv[3], NULL, 10);
  apps = (uint32_t)strtoul(argv[4], NULL, 10);
  batch = strtoul(argv[5], NULL, 10);
  ft_random_seed(&random, job);
  ft_buf_init(&list, FT_EXCHANGE_BYTES);
  for (; job < end; job++) {
    make_collected_run(job, apps, "node1", &random, &o);
    if (ft_exchange_add(&list, &o, &err) < 0)
      break;
    if (++in_list < batch && job + 1 < end)
      continue;
    if (!send_list(curl, &list, in_list))
      break;
    bytes += list.length;
    list.length = in_list = 0;
  }
  cpu = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
  if (job < end) {
    fprintf(stderr, "collect_send: job %u: not accepted\n", (unsigned)job);
    return EXIT_FAILED;
  }
  printf("%.6f %.6f %zu\n", seconds_of(CLOCK_MONOTONIC) - wall, cpu, bytes);
  return EXIT_SENT;
}
