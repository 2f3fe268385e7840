/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Main program of foretell-helper and foretell-network, the plugin's helper process.
 * Answers the questions on standard input one by one on standard output (helper_protocol.h).
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
#include "predictor/request/file_facts.h"
#include "predictor/request/helper_protocol.h"
#include "predictor/site/conf.h"

enum {
  ANSWER_PART = 10,          /* 1 / ANSWER_PART of the time is reserved for writing the answer */
  SLOTS = 8,                 /* helpers of one user that may read files at the same time */
  SLOT_NANOSECONDS = 2000000 /* pause between two attempts to get a slot */
};

struct helper_arguments {
  const char *state;
  unsigned long milliseconds, used;
};

static int parse_helper_arguments(int argc, char **argv, struct helper_arguments *asked)
{
  const struct ft_option options[] = {
    { 0, "state", "DIR", "state directory", FT_OPTION_STRING, &asked->state },
    { 0, "milliseconds", "N", "time after which the plugin reads no more answers", FT_OPTION_COUNT,
      &asked->milliseconds },
    { 0, "used", "N", "milliseconds that have passed", FT_OPTION_COUNT, &asked->used },
    { 0 }
  };
  int status = FT_EXIT_DONE;
  int first =
      ft_options_parse(options, "[OPTION]...", "The plugin's helper process; not for users.", 0,
                       argc, argv, &status);

  return first < 0 ? (status == FT_EXIT_DONE ? -1 : status) : FT_EXIT_DONE;
}

/* Reads the apps that the user declares into APPS. WRONG, of SIZE bytes, receives an error, without
 * the directory of the file. */
static void read_user_apps(ft_apps *apps, char *wrong, size_t size)
{
  enum { LIMIT = sizeof apps->apps / sizeof *apps->apps };
  const char *home = getenv("HOME");
  char path[PATH_MAX];
  struct ft_error err;
  size_t count = 0;

  if (home &&
      (size_t)snprintf(path, sizeof path, "%s/.config/foretell/apps.conf", home) < sizeof path &&
      ft_config_read_apps(path, apps->apps, LIMIT, &count, &err) < 0) {
    size_t folder = strrchr(path, '/') + 1 - path;

    (void)snprintf(wrong, size, "%s",
                   err.text + (strncmp(err.text, path, folder) == 0 ? folder : 0));
    count = 0;
  }
  apps->apps_count = (pb_size_t)count;
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

/* What the helper works with; too large for the stack. */
static struct helper {
  struct helper_arguments asked;
  char *const *argv;
  double begun, deadline; /* times of ft_io_monotonic */
  bool has_slot;
  struct ft_buf input;
  struct ft_helper_question question;
  ft_apps apps;
  struct ft_buf text;
} * helper;
static ft_answer *reply;
/* preliminary answers, sent when time runs out; WHICH is the complete one */
static struct ft_buf kept[2];
static volatile sig_atomic_t which;

static void store_answer(void)
{
  int other = !which;

  ft_buf_free(&kept[other]);
  ft_buf_init(&kept[other], FT_LIMIT_FRAME);
  if (ft_helper_answer_write(reply, NULL, NULL, &kept[other], NULL) == 0)
    which = other;
}

static void send_stored_answer(int signal)
{
  const struct ft_buf *answer = &kept[which];

  (void)signal;
  _exit(ft_io_write_all(STDOUT_FILENO, answer->data, answer->length) < 0 ? FT_EXIT_SYSTEM
                                                                         : FT_EXIT_DONE);
}

/* Answers the question about a network. An error is stored first, as the answer at the deadline if
 * no estimate is ready by then. */
static void answer_network(void)
{
  const struct ft_network_request *request = &helper->question.network;
  double left = helper->deadline - ft_io_monotonic();
  struct itimerval timer = { .it_value = { (time_t)left,
                                           (suseconds_t)(1e6 * (left - (time_t)left)) } };
  const struct ft_network_question question = { .request = request,
                                                .submission = &helper->question.submission,
                                                .array = &helper->question.tasks,
                                                .state = helper->asked.state,
                                                .keep = store_answer };

  reply->has_network = true;
  (void)snprintf(reply->network.error, sizeof reply->network.error,
                 "%.200s: no estimate within %lu ms",
                 request->file ? request->file : "--predict-mig", helper->asked.milliseconds);
  store_answer();
  if (left <= 0)
    return;
  (void)signal(SIGALRM, send_stored_answer);
  (void)signal(SIGXCPU, send_stored_answer);
  (void)setitimer(ITIMER_REAL, &timer, NULL);
  reply->network.error[0] = '\0';
  ft_helper_network(&question, reply);
  (void)signal(SIGALRM, SIG_IGN);
}

/* Whether files may be read. If not, the answer says why. */
static bool may_read_files(void)
{
  helper->has_slot =
      helper->has_slot || acquire_slot(helper->begun + (double)helper->asked.milliseconds / 2000);
  if (!helper->has_slot)
    (void)snprintf(reply->error, sizeof reply->error,
                   "no file was read: %d submissions of this user are reading files at the same "
                   "time",
                   SLOTS);
  return helper->has_slot;
}

/* Lets the other program answer a question about a network, if this one cannot. */
static void hand_question_over(void)
{
  char used[24];
  char *argv[16];
  int count = 0;

  while (helper->argv[count] && count < 13) {
    argv[count] = helper->argv[count];
    count++;
  }
  (void)snprintf(used, sizeof used, "%.0f", 1000 * (ft_io_monotonic() - helper->begun));
  argv[count++] = (char *)"--used";
  argv[count++] = used;
  argv[count] = NULL;
  ft_helper_hand_over(argv, &helper->input);
}

/* Answers helper->question. Returns 0; -1 and fills ERR. */
static int answer_question(struct ft_error *err)
{
  const struct ft_helper_question *q = &helper->question;
  ft_apps *apps = NULL;
  struct ft_text text, *read = NULL;
  struct ft_buf out;
  int status;

  *reply = (ft_answer){ .schema = FT_SCHEMA };
  switch (q->asked) {
  case FT_HELPER_APPS:
    apps = &helper->apps;
    apps->schema = FT_SCHEMA;
    read_user_apps(apps, reply->error, sizeof reply->error);
    break;
  case FT_HELPER_TEXT:
    if (!may_read_files() || ft_io_monotonic() >= helper->deadline ||
        !ft_files_read_start(q->directory, q->path, &helper->text))
      break;
    text = ft_text_of(ft_buf_text(&helper->text), helper->text.length);
    read = &text;
    break;
  case FT_HELPER_FILES:
    if (may_read_files())
      ft_files_examine(&q->files, q->directory, q->array, helper->deadline, &reply->facts,
                       &reply->array);
    break;
  case FT_HELPER_NETWORK:
    hand_question_over();
    if (may_read_files())
      answer_network();
    break;
  }
  ft_buf_init(&out, FT_LIMIT_FRAME);
  status = ft_helper_answer_write(reply, apps, read, &out, err);
  if (status == 0 && ft_io_write_all(STDOUT_FILENO, out.data, out.length) < 0)
    status = ft_error_errno(err, "standard output");
  ft_buf_free(&out);
  return status;
}

/* Reads LENGTH bytes of standard input into helper->input. Returns 1; 0 at its end; -1 and fills
 * ERR.
 */
static int read_question_bytes(size_t length, struct ft_error *err)
{
  char chunk[4096];

  while (length > 0) {
    ssize_t got = read(STDIN_FILENO, chunk, length < sizeof chunk ? length : sizeof chunk);

    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return ft_error_errno(err, "standard input");
    if (got == 0)
      return 0;
    if (ft_buf_add(&helper->input, chunk, (size_t)got) < 0)
      return ft_error_set(err, "standard input: a question of more than %zu bytes",
                          helper->input.limit);
    length -= (size_t)got;
  }
  return 1;
}

/* Reads the next question into helper->question. Returns 1; 0 if there is none; -1 and fills ERR.
 */
static int read_question(struct ft_error *err)
{
  size_t length;
  int status;

  ft_buf_free(&helper->input);
  status = read_question_bytes(FT_HELPER_HEADER, err);
  if (status <= 0)
    return status;
  length = ft_helper_length(helper->input.data);
  status = read_question_bytes(length, err);
  if (status <= 0)
    return status;
  return ft_helper_question_read(helper->input.data + FT_HELPER_HEADER, length, &helper->question,
                                 err) < 0
             ? -1
             : 1;
}

int main(int argc, char **argv)
{
  double begun = ft_io_monotonic();
  struct helper_arguments asked = { .state = FT_STATE_DIRECTORY, .milliseconds = 500 };
  int status = parse_helper_arguments(argc, argv, &asked), next;
  struct ft_error err = { "" };

  if (status != FT_EXIT_DONE)
    return status < 0 ? FT_EXIT_DONE : status;
  helper = calloc(1, sizeof *helper);
  reply = calloc(1, sizeof *reply);
  if (!helper || !reply) {
    status = ft_print_error("helper", FT_EXIT_SYSTEM, "out of memory");
    goto out;
  }
  helper->asked = asked;
  helper->argv = argv;
  helper->begun = begun - (double)asked.used / 1000;
  /* reserve 1 / ANSWER_PART of the time for the answer */
  helper->deadline = helper->begun + (double)asked.milliseconds * (1 - 1.0 / ANSWER_PART) / 1000;
  ft_buf_init(&helper->input, FT_LIMIT_FRAME);
  ft_buf_init(&helper->text, FT_FILE_START);
  while ((next = read_question(&err)) > 0)
    if (answer_question(&err) < 0) {
      status = ft_print_error("helper", FT_EXIT_SYSTEM, "%s", err.text);
      break;
    }
  if (next < 0)
    status = ft_print_error("helper", FT_EXIT_USAGE, "%s", err.text);
  ft_buf_free(&helper->input);
  ft_buf_free(&helper->text);
out:
  free(helper);
  free(reply);
  ft_buf_free(&kept[0]);
  ft_buf_free(&kept[1]);
  return status;
}
