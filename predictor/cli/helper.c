/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Main program of foretell-helper and foretell-network, the plugin's helper process.
 * Reads a submission from standard input and writes an ft_answer to standard output.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "predictor/cli/cli.h"
#include "predictor/cli/helper.h"
#include "predictor/core/io.h"
#include "predictor/record/state_files.h"
#include "predictor/request/helper_protocol.h"
#include "predictor/site/conf.h"

/* All chosen by judgement. */
enum {
  USER_APPS = 32,            /* declared apps of the user, at most */
  SITE_APPS = 32,            /* declared apps of the site, at most */
  ANSWER_PART = 10,          /* 1 / ANSWER_PART of the time is reserved for writing the answer */
  SLOTS = 8,                 /* helpers of one user that may read files at the same time */
  SLOT_NANOSECONDS = 2000000 /* pause between two attempts to get a slot */
};

struct asked {
  const char *state;
  unsigned long milliseconds;
  bool user_apps;
};

static int parse_helper_arguments(int argc, char **argv, struct asked *asked)
{
  const struct ft_option options[] = {
    { 0, "state", "DIR", "state directory", FT_OPTION_STRING, &asked->state },
    { 0, "milliseconds", "N", "time after which the plugin no longer reads the answer",
      FT_OPTION_COUNT, &asked->milliseconds },
    { 0, "user-apps", NULL, "read the user's apps.conf", FT_OPTION_FLAG, &asked->user_apps },
    { 0 }
  };
  int status = FT_EXIT_DONE;
  int first =
      ft_options_parse(options, "[OPTION]...", "The plugin's helper process; not for users.", 0,
                       argc, argv, &status);

  return first < 0 ? (status == FT_EXIT_DONE ? -1 : status) : FT_EXIT_DONE;
}

/*
 * Reads the user's declared apps, then the site's, into APPS. Returns their number.
 * Unreadable files are skipped; WRONG receives the error of the user's file, without its directory.
 */
static size_t read_declared_apps(const struct asked *asked, ft_declared_app *apps, char *wrong,
                                 size_t size)
{
  const char *home = getenv("HOME");
  size_t count = 0;
  char path[PATH_MAX];
  ft_apps *site = NULL;
  struct ft_error err;
  int fd;

  if (asked->user_apps && home &&
      (size_t)snprintf(path, sizeof path, "%s/.config/foretell/apps.conf", home) < sizeof path &&
      ft_config_read_apps(path, apps, USER_APPS, &count, &err) < 0) {
    size_t folder = strrchr(path, '/') + 1 - path;

    (void)snprintf(wrong, size, "%s",
                   err.text + (strncmp(err.text, path, folder) == 0 ? folder : 0));
    count = 0;
  }
  fd = open(asked->state, O_PATH | O_DIRECTORY | O_CLOEXEC);
  site = malloc(sizeof *site);
  if (fd >= 0 && site && ft_record_read(FT_RECORD_APPS, fd, FT_STATE_APPS, site, NULL) == 0)
    for (pb_size_t i = 0; i < site->apps_count; i++)
      apps[count++] = site->apps[i];
  free(site);
  if (fd >= 0)
    close(fd);
  return count;
}

/*
 * A slot is the name of an abstract socket, which the kernel gives to one process until the process
 * ends. Every user may take any name. A slot therefore listens: the kernel then tells who holds it.
 */
static socklen_t name_slot(unsigned i, struct sockaddr_un *name)
{
  int length;

  *name = (struct sockaddr_un){ .sun_family = AF_UNIX };
  length = snprintf(name->sun_path + 1, sizeof name->sun_path - 1, "foretell-helper/%u/%u",
                    (unsigned)geteuid(), i);
  return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
}

/* Whether this process got slot I for FD, or failed otherwise than because the slot is taken. */
static bool take_slot(int fd, unsigned i)
{
  struct sockaddr_un name;
  socklen_t size = name_slot(i, &name);

  if (bind(fd, (struct sockaddr *)&name, size) < 0)
    return errno != EADDRINUSE;
  (void)listen(fd, SOMAXCONN);
  return true;
}

/* Whether slot I is held by a helper of this user. A helper always listens: what refuses a
 * connection is none. */
static bool is_own_slot(unsigned i)
{
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  struct sockaddr_un name;
  struct ucred holder = { 0 };
  socklen_t size = name_slot(i, &name), room = sizeof holder;
  bool own = fd >= 0 && connect(fd, (struct sockaddr *)&name, size) == 0 &&
             getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &holder, &room) == 0 &&
             holder.uid == geteuid();

  if (fd >= 0)
    close(fd);
  return own;
}

static bool all_slots_are_own(void)
{
  unsigned i = 0;

  while (i < SLOTS && is_own_slot(i))
    i++;
  return i == SLOTS;
}

/*
 * Waits until DEADLINE for one of this user's slots. Returns false if this user's helpers held all
 * of them. A slot that another user holds is one that none of them holds: it is no reason to wait.
 * The owners are asked for twice only, because each question stays in the queue of a holder.
 */
static bool acquire_slot(double deadline)
{
  const struct timespec pause = { .tv_nsec = SLOT_NANOSECONDS };
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

  for (bool first = true, last; fd >= 0; first = false) {
    last = ft_io_monotonic() >= deadline;
    for (unsigned i = 0; i < SLOTS; i++)
      if (take_slot(fd, i))
        return true;
    if ((first || last) && !all_slots_are_own())
      return true;
    if (last)
      return false;
    (void)nanosleep(&pause, NULL);
  }
  return true; /* without sockets, as after other errors, there is an answer */
}

/* ---- the answer ---- */

static ft_answer *reply;
/* preliminary answers, sent when time runs out; WHICH is the complete one */
static struct ft_buf kept[2];
static volatile sig_atomic_t which;

static int encode_answer(struct ft_buf *out, struct ft_error *err)
{
  ft_buf_free(out);
  ft_buf_init(out, FT_LIMIT_ENVIRONMENT);
  return ft_record_encode(FT_RECORD_ANSWER, reply, out, err);
}

static void store_answer(void)
{
  int other = !which;

  if (encode_answer(&kept[other], NULL) == 0)
    which = other;
}

static void send_stored_answer(int signal)
{
  const struct ft_buf *answer = &kept[which];

  (void)signal;
  _exit(ft_io_write_all(STDOUT_FILENO, answer->data, answer->length) < 0 ? FT_EXIT_SYSTEM
                                                                         : FT_EXIT_DONE);
}

/* Answers the query about a network. An error is stored first, as the answer at DEADLINE if no
 * estimate is ready by then. */
static void answer_network(const struct asked *asked, const struct ft_helper_message *frame,
                           double deadline)
{
  double left = deadline - ft_io_monotonic();
  struct itimerval timer = { .it_value = { (time_t)left,
                                           (suseconds_t)(1e6 * (left - (time_t)left)) } };
  struct ft_helper_question question = {
    .frame = frame, .state = asked->state, .array = &reply->array, .keep = store_answer
  };

  reply->has_network = true;
  (void)snprintf(reply->network.error, sizeof reply->network.error,
                 "%.200s: no estimate within %lu ms",
                 frame->network.file ? frame->network.file : "--predict-mig", asked->milliseconds);
  store_answer();
  if (left <= 0)
    return;
  (void)signal(SIGALRM, send_stored_answer);
  (void)signal(SIGXCPU, send_stored_answer);
  (void)setitimer(ITIMER_REAL, &timer, NULL);
  reply->network.error[0] = '\0';
  ft_helper_network(&question, &reply->submission, &reply->network);
  (void)signal(SIGALRM, SIG_IGN);
}

static int write_answer(struct ft_error *err)
{
  struct ft_buf out;
  int status;

  ft_buf_init(&out, FT_LIMIT_ENVIRONMENT);
  status = encode_answer(&out, err);
  if (status == 0 && ft_io_write_all(STDOUT_FILENO, out.data, out.length) < 0)
    status = ft_error_errno(err, "standard output");
  ft_buf_free(&out);
  return status;
}

int main(int argc, char **argv)
{
  double begun = ft_io_monotonic();
  struct asked asked = { .state = FT_STATE_DIRECTORY, .milliseconds = 500 };
  struct ft_file_queries *files = malloc(sizeof *files);
  struct ft_helper_message *frame = malloc(sizeof *frame);
  ft_declared_app *apps = malloc((USER_APPS + SITE_APPS) * sizeof *apps);
  ft_submission *submission;
  struct ft_error err = { "" };
  struct ft_buf input;
  double deadline;
  int status = parse_helper_arguments(argc, argv, &asked);

  ft_buf_init(&input, FT_LIMIT_FRAME);
  if (status != FT_EXIT_DONE) {
    status = status < 0 ? FT_EXIT_DONE : status;
    goto out;
  }
  status = FT_EXIT_SYSTEM;
  reply = calloc(1, sizeof *reply);
  if (!files || !frame || !apps || !reply) {
    ft_print_error("helper", FT_EXIT_SYSTEM, "out of memory");
    goto out;
  }
  if (ft_io_read_fd(STDIN_FILENO, &input, &err) < 0 ||
      ft_helper_message_read(input.data, input.length, frame, &err) < 0) {
    status = ft_print_error("helper", FT_EXIT_USAGE, "standard input: %s", err.text);
    goto out;
  }
  if (frame->network.file || frame->network.mig)
    ft_helper_hand_over(argv, &input);
  reply->schema = FT_SCHEMA;
  reply->has_submission = true;
  submission = &reply->submission;
  if (frame->description.exported.list)
    frame->description.exported.environment = (const char *const *)environ;
  frame->description.apps = apps;
  frame->description.app_count =
      read_declared_apps(&asked, apps, reply->error, sizeof reply->error);
  /* the plugin reports invalid params */
  (void)ft_describe(&frame->description, &frame->request, submission, files, &err);
  /* reserve 1 / ANSWER_PART of the time for the answer */
  deadline = begun + (double)asked.milliseconds * (1 - 1.0 / ANSWER_PART) / 1000;
  if (acquire_slot(begun + (double)asked.milliseconds / 2000)) {
    ft_describe_commands(&frame->description, &frame->request, deadline, submission, files);
    ft_describe_files(files, frame->description.directory, frame->description.array, deadline,
                      submission, &reply->array);
    if (frame->network.file || frame->network.mig)
      answer_network(&asked, frame, deadline);
  } else {
    (void)snprintf(
        reply->error, sizeof reply->error,
        "no file was read: %d submissions of this user are reading files at the same time", SLOTS);
  }
  if (write_answer(&err) < 0)
    ft_print_error("helper", FT_EXIT_SYSTEM, "%s", err.text);
  else
    status = FT_EXIT_DONE;
out:
  ft_buf_free(&input);
  free(files);
  free(frame);
  free(apps);
  free(reply);
  ft_buf_free(&kept[0]);
  ft_buf_free(&kept[1]);
  return status;
}
