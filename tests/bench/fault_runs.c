/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Generates runs for tests/bench/faults, and checks the records that an agent stored.
 *
 *   fault_runs stream SOCKET FOLDER FIRST AT_ONCE >LEDGER
 *     Keeps AT_ONCE runs alive, each a process of 20 to 150 ms. Announces the start and end of each
 *     like slurmstepd, whether an agent listens or not. FOLDER/job_ID becomes the output of
 *     tests/agent/scontrol for the ended job. Job IDs count from FIRST. SIGTERM ends all runs and
 *     then the program. The ledger has one line per run: its ID, then for start and end "taken"
 *     (the agent read the packet and continued), "unknown" (the agent ended meanwhile, or never
 *     closed the connection) or "refused" (the agent did not read the packet).
 *
 *   fault_runs records STATE
 *     Reads all records of the state directory STATE like the agent and submissions. Prints one
 *     line per damaged record, and "model APP UID RUNS" for each model. Exit status 1 if a record
 *     is damaged.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "predictor/core/io.h"
#include "predictor/core/random.h"
#include "predictor/core/text.h"
#include "predictor/record/model_file.h"

/* Range of a run's time in seconds, chosen by judgement. */
#define SHORTEST_SECONDS 0.02
#define LONGEST_SECONDS 0.15
/* Seconds after SIGTERM until unread packets count as unknown, chosen by judgement. */
#define PATIENCE_SECONDS 5.0

enum {
  RUNS_LIMIT = 200, /* maximum of runs with unsettled packets; the agent has 512 connections */
  APPS = 3          /* number of app names */
};

enum { START, END, PACKETS };

struct packet {
  int fd;           /* connection to the agent; -1: settled */
  pid_t agent;      /* process that listened */
  const char *fate; /* "taken", "unknown" or "refused", once settled */
};

struct run {
  uint32_t job;
  pid_t pid;  /* 0: ended */
  double due; /* monotonic time of its end, seconds */
  struct packet packet[PACKETS];
};

struct stream {
  struct sockaddr_un address;
  const char *folder;
  struct run run[RUNS_LIMIT];
  size_t count, alive; /* runs with unsettled packets, running processes */
  uint32_t next_job;
  struct ft_random random;
};

static volatile sig_atomic_t stopped;

static void stop(int signal)
{
  (void)signal;
  stopped = 1;
}

static void die(const char *what)
{
  fprintf(stderr, "fault_runs: %s: %s\n", what, strerror(errno));
  exit(1);
}

/* ---- packets ---- */

/* Whether PID has not started to exit; an exiting agent closes connections without reading them. */
static bool is_alive(pid_t pid)
{
  enum { STATE = 3, FLAGS = 9, PF_EXITING = 0x4 }; /* proc(5), stat; linux/sched.h */
  struct ft_text text, word = { 0 };
  char path[32];
  const char *parenthesis;
  uint64_t flags = PF_EXITING;
  struct ft_buf buf;

  (void)snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid);
  ft_buf_init(&buf, FT_LIMIT_PROC);
  if (ft_io_read_file(AT_FDCWD, path, &buf, NULL) == 0 &&
      (parenthesis = strrchr(ft_buf_text(&buf), ')'))) {
    text = ft_text_from(parenthesis + 1);
    for (int field = STATE; field <= FLAGS; field++)
      if (!ft_text_word(&text, &word))
        word = (struct ft_text){ 0 };
    if (!ft_text_u64(&word, UINT64_MAX, &flags))
      flags = PF_EXITING;
  }
  ft_buf_free(&buf);
  return !(flags & PF_EXITING);
}

/* Closes the connection and records FATE. */
static void settle(struct packet *p, const char *fate)
{
  if (p->fd >= 0)
    close(p->fd);
  p->fd = -1;
  p->fate = fate;
}

/* Sends A without waiting, like the plugin. The connection stays open until the agent closes it. */
static void announce(const struct stream *s, struct packet *p, const ft_announcement *a)
{
  struct ucred peer;
  socklen_t length = sizeof peer;
  struct ft_error err;
  struct ft_buf buf;
  bool sent;

  ft_buf_init(&buf, FT_LIMIT_RECORD);
  if (ft_record_encode(FT_RECORD_ANNOUNCEMENT, a, &buf, &err) < 0) {
    fprintf(stderr, "fault_runs: %s\n", err.text);
    exit(1);
  }
  p->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (p->fd < 0)
    die("socket");
  sent = connect(p->fd, (const struct sockaddr *)&s->address, sizeof s->address) == 0 &&
         getsockopt(p->fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 &&
         send(p->fd, buf.data, buf.length, MSG_NOSIGNAL) == (ssize_t)buf.length &&
         shutdown(p->fd, SHUT_WR) == 0;
  ft_buf_free(&buf);
  if (sent)
    p->agent = peer.pid;
  else
    settle(p, "refused");
}

/* Settles P if its connection has ended. The agent closes a connection after reading it; the kernel
 * resets a connection with unread data (unix(7)). */
static void check_packet(struct packet *p)
{
  char byte;
  ssize_t got = recv(p->fd, &byte, 1, MSG_DONTWAIT);

  if (got < 0 && (errno == EAGAIN || errno == EINTR))
    return;
  if (got < 0)
    settle(p, "refused");
  else
    settle(p, is_alive(p->agent) ? "taken" : "unknown");
}

/* ---- runs ---- */

/* Returns an announcement of RUN without its event. */
static ft_announcement make_announcement(const struct run *run)
{
  ft_announcement a = { .schema = FT_SCHEMA, .job_id = run->job, .uid = geteuid() };

  a.step_id = UINT32_C(0xfffffffb); /* the batch script's step, slurm.h */
  (void)ft_string_copy("node1", a.node, sizeof a.node);
  return a;
}

/* Starts a process and announces it. */
static void begin_run(struct stream *s)
{
  struct run *run = &s->run[s->count];
  ft_submission submission = { .schema = FT_SCHEMA };
  ft_announcement a;
  ft_task_start *start = &a.event.task_start;
  struct ft_buf buf;
  pid_t pid = fork();

  if (pid < 0)
    die("fork");
  if (pid == 0) {
    (void)signal(SIGTERM, SIG_DFL);
    for (;;)
      pause();
  }
  *run = (struct run){ .job = s->next_job++, .pid = pid };
  run->due = ft_io_monotonic() + SHORTEST_SECONDS +
             (LONGEST_SECONDS - SHORTEST_SECONDS) * ft_random_double(&s->random);
  a = make_announcement(run);
  a.which_event = ft_announcement_task_start_tag;
  start->pid = (uint32_t)pid;
  start->tasks = 1;
  (void)snprintf(submission.app, sizeof submission.app, "fault%u", run->job % APPS);
  (void)ft_feature_number(submission.features, &submission.features_count, 24, "batch",
                          1 + run->job % 16);
  ft_buf_init(&buf, FT_LIMIT_RECORD);
  if (ft_record_encode(FT_RECORD_SUBMISSION, &submission, &buf, NULL) == 0 &&
      buf.length <= sizeof start->submission.bytes) {
    start->submission.size = (pb_size_t)buf.length;
    memcpy(start->submission.bytes, ft_buf_text(&buf), buf.length);
  }
  ft_buf_free(&buf);
  s->count++;
  s->alive++;
  run->packet[END].fd = -1;
  announce(s, &run->packet[START], &a);
}

/* Writes the job in the format of scontrol show job -o. */
static void write_job(const struct stream *s, const struct run *run)
{
  char line[256], name[32];
  struct ft_error err;
  int folder = open(s->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC), length;

  if (folder < 0)
    die(s->folder);
  length = snprintf(line, sizeof line,
                    "JobId=%" PRIu32 " JobName=test UserId=root(0) GroupId=root(0) "
                    "JobState=COMPLETED Restarts=0 BatchFlag=1 ExitCode=0:0 TimeLimit=01:00:00 "
                    "SubmitTime=2026-01-02T03:04:05 Partition=main\n",
                    run->job);
  (void)snprintf(name, sizeof name, "job_%" PRIu32, run->job);
  if (ft_io_write_file(folder, name, line, (size_t)length, 0644, &err) < 0) {
    fprintf(stderr, "fault_runs: %s\n", err.text);
    exit(1);
  }
  close(folder);
}

/* Kills the process and announces its end as its job's last. */
static void end_run(struct stream *s, struct run *run)
{
  ft_announcement a = make_announcement(run);

  (void)kill(run->pid, SIGKILL);
  (void)waitpid(run->pid, NULL, 0);
  a.which_event = ft_announcement_task_end_tag;
  a.event.task_end = (ft_task_end){ .pid = (uint32_t)run->pid,
                                    .has_largest_process_bytes = true,
                                    .largest_process_bytes = UINT64_C(1) << 20,
                                    .last = true };
  run->pid = 0;
  s->alive--;
  announce(s, &run->packet[END], &a);
  write_job(s, run);
}

/* Prints and removes the runs whose packets are settled. */
static void print_settled(struct stream *s)
{
  for (size_t i = 0; i < s->count;) {
    struct run *run = &s->run[i];

    if (run->pid || run->packet[START].fd >= 0 || run->packet[END].fd >= 0) {
      i++;
      continue;
    }
    printf("%" PRIu32 " %s %s\n", run->job, run->packet[START].fate, run->packet[END].fate);
    *run = s->run[--s->count];
  }
  if (fflush(stdout) == EOF)
    die("standard output");
}

static void wait_for_packets(struct stream *s)
{
  struct pollfd set[RUNS_LIMIT * PACKETS];
  nfds_t count = 0;

  for (size_t i = 0; i < s->count * PACKETS; i++)
    set[count++] = (struct pollfd){ s->run[i / PACKETS].packet[i % PACKETS].fd, POLLIN, 0 };
  if (poll(set, count, 5) < 0 && errno != EINTR)
    die("poll");
  for (size_t i = 0; i < count; i++)
    if (set[i].fd >= 0 && set[i].revents)
      check_packet(&s->run[i / PACKETS].packet[i % PACKETS]);
}

static void end_due(struct stream *s)
{
  double now = ft_io_monotonic();

  for (size_t i = 0; i < s->count; i++)
    if (s->run[i].pid && (stopped || now >= s->run[i].due))
      end_run(s, &s->run[i]);
}

/* Runs AT_ONCE processes at a time until SIGTERM. */
static int stream(struct stream *s, size_t at_once)
{
  double deadline = 0;

  while (!stopped || s->count) {
    while (!stopped && s->alive < at_once && s->count < RUNS_LIMIT)
      begin_run(s);
    wait_for_packets(s);
    end_due(s);
    if (stopped && deadline <= 0)
      deadline = ft_io_monotonic() + PATIENCE_SECONDS;
    if (stopped && ft_io_monotonic() >= deadline)
      for (size_t i = 0; i < s->count * PACKETS; i++)
        if (s->run[i / PACKETS].packet[i % PACKETS].fd >= 0)
          settle(&s->run[i / PACKETS].packet[i % PACKETS], "unknown");
    print_settled(s);
  }
  return 0;
}

/* ---- records ---- */

/* Record types by the end of the path (state_files.h, spool.h, journal.h). */
static const struct {
  const char *end;
  enum ft_record record;
} kinds[] = { { ".model", FT_RECORD_MODEL },     { ".kin", FT_RECORD_SIMILAR_APPS },
              { ".obs", FT_RECORD_OBSERVATION }, { ".part", FT_RECORD_OBSERVATION },
              { "/site", FT_RECORD_SITE },       { "/apps", FT_RECORD_APPS },
              { "/gpus", FT_RECORD_GPUS },       { "/platforms", FT_RECORD_PLATFORMS } };

static bool damaged; /* a record could not be read */

/* Reads the record at PATH, if it is one; called by nftw. */
static int read_record(const char *path, const struct stat *st, int type, struct FTW *at)
{
  static union {
    ft_model model;
    ft_similar_apps similar_apps;
    ft_observation observation;
    ft_site site;
    ft_apps apps;
    ft_gpus gpus;
    ft_platforms platforms;
  } message;
  static struct ft_history history;
  size_t length = strlen(path), rest;
  struct ft_error err;

  (void)st;
  (void)at;
  for (size_t i = 0; type == FTW_F && i < sizeof kinds / sizeof *kinds; i++) {
    rest = strlen(kinds[i].end);
    if (length <= rest || strcmp(path + length - rest, kinds[i].end) != 0 ||
        strstr(path, "relative.model"))
      continue;
    if ((kinds[i].record == FT_RECORD_MODEL
             ? ft_model_file_read(AT_FDCWD, path, 0, &message.model, &history, &err)
             : ft_record_read(kinds[i].record, AT_FDCWD, path, &message, &err)) < 0) {
      printf("damaged %s\n", err.text);
      damaged = true;
    } else if (kinds[i].record == FT_RECORD_MODEL) {
      printf("model %s %" PRIu32 " %" PRIu32 "\n", message.model.app, message.model.uid,
             message.model.runs);
    }
  }
  return 0;
}

/* Returns TEXT as a number; ends the program if it is none. */
static uint64_t parse_number(const char *text)
{
  struct ft_text cursor = ft_text_from(text);
  uint64_t value = 0;

  errno = EINVAL;
  if (!ft_text_u64(&cursor, UINT32_MAX, &value) || ft_text_left(&cursor))
    die(text);
  return value;
}

int main(int argc, char **argv)
{
  static struct stream s;
  struct sigaction action = { .sa_handler = stop };

  if (argc == 3 && strcmp(argv[1], "records") == 0) {
    if (nftw(argv[2], read_record, 16, FTW_PHYS) < 0)
      die(argv[2]);
    return damaged;
  }
  if (argc != 6 || strcmp(argv[1], "stream") != 0) {
    fputs("usage: fault_runs stream SOCKET FOLDER FIRST AT_ONCE | fault_runs records STATE\n",
          stderr);
    return 2;
  }
  s.address.sun_family = AF_UNIX;
  (void)ft_string_copy(argv[2], s.address.sun_path, sizeof s.address.sun_path);
  s.folder = argv[3];
  s.next_job = (uint32_t)parse_number(argv[4]);
  ft_random_seed(&s.random, s.next_job);
  if (sigaction(SIGTERM, &action, NULL) < 0)
    die("SIGTERM");
  return stream(&s, parse_number(argv[5]));
}
