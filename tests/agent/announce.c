/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Replaces slurmd and slurmstepd in tests of the agent: announces a job's
 * step, runs a command as its child, announces its end.
 *
 *   announce SOCKET [KEY=VALUE]... [-- COMMAND...]
 *
 * Keys: job, array and task (of a job array), step (a number or batch), uid, restart, app, node,
 * limit (bytes), mem_alloc (bytes), feature (name:number), events (a letter for each, in this
 * order: j job start, s task start, r run COMMAND, e task end, J job end, w wait for a file that
 * appears in the directory "models" and print the milliseconds since the end before it; default
 * "sre"), status (of the task, default COMMAND's), oom. A job with a uid is that user's for the
 * fake scontrol, too. Exit status: 0, or 1 without a listening agent.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "predictor/core/io.h"
#include "predictor/core/text.h"
#include "predictor/record/record.h"

struct play {
  struct sockaddr_un address;
  ft_announcement a;
  ft_submission submission;
  uint64_t limit, oom_kills;
  const char *events;
  bool has_status;
  int status;
  int models; /* inotify descriptor; -1: not watched */
  double ended;
};

static void die(const char *what)
{
  fprintf(stderr, "announce: %s: %s\n", what, strerror(errno));
  exit(1);
}

static void send_announcement(const struct play *play)
{
  int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  struct ft_error err;
  struct ft_buf buf;

  ft_buf_init(&buf, FT_LIMIT_RECORD);
  if (ft_record_encode(FT_RECORD_ANNOUNCEMENT, &play->a, &buf, &err) < 0) {
    fprintf(stderr, "announce: %s\n", err.text);
    exit(1);
  }
  if (fd < 0 || connect(fd, (const struct sockaddr *)&play->address, sizeof play->address) < 0 ||
      send(fd, buf.data, buf.length, MSG_NOSIGNAL) < 0)
    die(play->address.sun_path);
  close(fd);
  ft_buf_free(&buf);
}

static size_t encode_submission(const struct play *play, uint8_t *out, size_t size)
{
  struct ft_error err;
  struct ft_buf buf;
  size_t length;

  ft_buf_init(&buf, FT_LIMIT_RECORD);
  if (!play->submission.app[0] ||
      ft_record_encode(FT_RECORD_SUBMISSION, &play->submission, &buf, &err) < 0)
    return 0;
  length = buf.length <= size ? buf.length : 0;
  memcpy(out, ft_buf_text(&buf), length);
  ft_buf_free(&buf);
  return length;
}

static void run_command(struct play *play, char **command)
{
  pid_t pid = fork();
  int status;

  if (pid == 0) {
    execvp(command[0], command);
    die(command[0]);
  }
  if (pid < 0 || waitpid(pid, &status, 0) < 0)
    die("fork");
  if (!play->has_status)
    play->status = status;
}

static void wait_for_model(const struct play *play)
{
  struct pollfd wait = { .fd = play->models, .events = POLLIN };

  if (poll(&wait, 1, 10000) != 1)
    die("no model");
  printf("%.3f\n", 1e3 * (ft_io_monotonic() - play->ended));
}

static void play_event(struct play *play, char letter, char **command)
{
  ft_announcement *a = &play->a;
  struct rusage usage;

  memset(&a->event, 0, sizeof a->event);
  switch (letter) {
  case 'j':
    a->which_event = ft_announcement_job_start_tag;
    a->event.job_start.submission.size = (pb_size_t)encode_submission(
        play, a->event.job_start.submission.bytes, sizeof a->event.job_start.submission.bytes);
    break;
  case 's':
    a->which_event = ft_announcement_task_start_tag;
    a->event.task_start.pid = (uint32_t)getpid();
    a->event.task_start.tasks = 1;
    a->event.task_start.limit_bytes = play->limit;
    a->event.task_start.submission.size = (pb_size_t)encode_submission(
        play, a->event.task_start.submission.bytes, sizeof a->event.task_start.submission.bytes);
    break;
  case 'e':
    (void)getrusage(RUSAGE_CHILDREN, &usage);
    play->ended = ft_io_monotonic();
    a->which_event = ft_announcement_task_end_tag;
    a->event.task_end = (ft_task_end){ .pid = (uint32_t)getpid(),
                                       .status = play->status,
                                       .has_largest_process_bytes = true,
                                       .largest_process_bytes = (uint64_t)usage.ru_maxrss * 1024,
                                       .has_oom_kills = play->oom_kills > 0,
                                       .oom_kills = play->oom_kills,
                                       .last = true };
    break;
  case 'J':
    a->which_event = ft_announcement_job_end_tag;
    break;
  case 'r':
    if (command)
      run_command(play, command);
    return;
  case 'w':
    wait_for_model(play);
    return;
  default:
    fprintf(stderr, "announce: no event \"%c\"\n", letter);
    exit(1);
  }
  send_announcement(play);
}

static uint64_t parse_u64(const char *text)
{
  struct ft_text cursor = ft_text_from(text);
  uint64_t value;

  if (!ft_text_u64(&cursor, UINT64_MAX, &value) || ft_text_left(&cursor)) {
    fprintf(stderr, "announce: \"%s\": expected a number\n", text);
    exit(1);
  }
  return value;
}

static void add_feature(struct play *play, char *value)
{
  char *colon = strchr(value, ':');

  if (!colon)
    die(value);
  *colon = '\0';
  ft_feature_number(play->submission.features, &play->submission.features_count, 24, value,
                    (double)parse_u64(colon + 1));
}

static void set_key(struct play *play, const char *key, char *value)
{
  ft_announcement *a = &play->a;

  if (strcmp(key, "job") == 0)
    a->job_id = (uint32_t)parse_u64(value);
  else if (strcmp(key, "step") == 0)
    a->step_id = strcmp(value, "batch") == 0 ? UINT32_C(0xfffffffb) : (uint32_t)parse_u64(value);
  else if (strcmp(key, "uid") == 0)
    a->uid = (uint32_t)parse_u64(value);
  else if (strcmp(key, "array") == 0)
    a->array_job_id = (uint32_t)parse_u64(value);
  else if (strcmp(key, "task") == 0)
    a->array_task_id = (uint32_t)parse_u64(value);
  else if (strcmp(key, "restart") == 0)
    a->restart_count = (uint32_t)parse_u64(value);
  else if (strcmp(key, "mem_alloc") == 0)
    a->alloc_mem_bytes = parse_u64(value);
  else if (strcmp(key, "limit") == 0)
    play->limit = parse_u64(value);
  else if (strcmp(key, "app") == 0)
    (void)ft_string_copy(value, play->submission.app, sizeof play->submission.app);
  else if (strcmp(key, "node") == 0)
    (void)ft_string_copy(value, a->node, sizeof a->node);
  else if (strcmp(key, "feature") == 0)
    add_feature(play, value);
  else if (strcmp(key, "events") == 0)
    play->events = value;
  else if (strcmp(key, "oom") == 0)
    play->oom_kills = parse_u64(value);
  else if (strcmp(key, "models") == 0) {
    if (inotify_add_watch(play->models, value, IN_MOVED_TO) < 0)
      die(value);
  } else if (strcmp(key, "status") == 0) {
    play->has_status = true;
    play->status = (int)parse_u64(value);
  } else {
    fprintf(stderr, "announce: no key \"%s\"\n", key);
    exit(1);
  }
}

/* Writes the file user_ID of the fake scontrol, if there is one and this user may. */
static void write_owner(const ft_announcement *a)
{
  const char *folder = getenv("FT_SCONTROL");
  char name[32], uid[16];
  int fd = folder && a->uid != geteuid() ? open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;

  if (fd < 0)
    return;
  (void)snprintf(name, sizeof name, "user_%" PRIu32, a->job_id);
  (void)snprintf(uid, sizeof uid, "%" PRIu32 "\n", a->uid);
  (void)ft_io_write_file(fd, name, uid, strlen(uid), 0644, NULL);
  close(fd);
}

int main(int argc, char **argv)
{
  static struct play play;
  char **command = NULL;

  if (argc < 2) {
    fputs("usage: announce SOCKET [KEY=VALUE]... [-- COMMAND...]\n", stderr);
    return 1;
  }
  play.address.sun_family = AF_UNIX;
  (void)ft_string_copy(argv[1], play.address.sun_path, sizeof play.address.sun_path);
  play.events = "sre";
  play.models = inotify_init1(IN_CLOEXEC);
  play.a.schema = play.submission.schema = FT_SCHEMA;
  play.a.step_id = UINT32_C(0xfffffffb);
  play.a.job_id = 1;
  play.a.uid = geteuid();
  for (int i = 2; i < argc; i++) {
    char *equals = strchr(argv[i], '=');

    if (strcmp(argv[i], "--") == 0) {
      command = argv + i + 1;
      break;
    }
    if (!equals)
      die(argv[i]);
    *equals = '\0';
    set_key(&play, argv[i], equals + 1);
  }
  write_owner(&play.a);
  for (const char *p = play.events; *p; p++)
    play_event(&play, *p, command);
  return 0;
}
