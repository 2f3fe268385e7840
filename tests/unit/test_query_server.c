/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A command sends a query from a process of its own; the agent's side runs in the test. */
#include "config.h"

#include "tests/unit/scratch.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "daemon/query_server.h"
#include "predictor/cli/question.h"
#include "predictor/core/text.h"
#include "predictor/record/state_files.h"

enum { STRANGER = 4242 };

static char folder[SCRATCH_SIZE], path[SCRATCH_SIZE + 32], ask_path[SCRATCH_SIZE + 40];
static int folder_fd;

static struct seen {
  struct ft_loop *loop;
  unsigned asked, packets, ended, ends_before_stop;
  unsigned want; /* packets of a reply */
  size_t size;   /* bytes of a packet's record */
  bool refuses, privileged;
  uid_t stalled; /* no answer for uids from this to the one before `answered`; 0: for none */
  uid_t answered;
  uid_t uid;
  char app[128];
} seen;

static bool answer(struct ft_query *asked, ft_reply *reply, void *data)
{
  unsigned *given = asked->data;

  assert_ptr_equal(data, &seen);
  if (seen.stalled && asked->uid >= seen.stalled && asked->uid < seen.answered)
    return false;
  if (!given) {
    given = asked->data = calloc(1, sizeof *given);
    assert_non_null(given);
    seen.asked++;
    seen.uid = asked->uid;
    seen.privileged = asked->privileged;
    (void)ft_string_copy(asked->question->asked.forget.app, seen.app, sizeof seen.app);
    return false; /* the reply takes several steps */
  }
  if (seen.refuses) {
    (void)ft_string_copy("not yours", reply->error, sizeof reply->error);
    return true;
  }
  reply->record.size = (pb_size_t)seen.size;
  memset(reply->record.bytes, (int)*given & 0x7f, seen.size);
  reply->has_forgotten = true;
  reply->forgotten.runs = ++*given;
  reply->last = *given == seen.want;
  seen.packets++;
  return true;
}

static void ended(struct ft_query *asked, void *data)
{
  (void)data;
  seen.ended += asked->data != NULL;
  free(asked->data);
  asked->data = NULL;
}

static void child_ended(pid_t pid, int status, void *data)
{
  (void)pid;
  (void)data;
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), 0);
  if (--seen.ends_before_stop == 0)
    ft_loop_stop(seen.loop);
}

static struct ft_query_server *begin(unsigned children)
{
  static const int signals[] = { 0 };
  const struct ft_query_handler answerer = { answer, ended, &seen };
  struct ft_query_server *server;
  struct ft_error err;

  memset(&seen, 0, sizeof seen);
  seen.want = 1;
  seen.ends_before_stop = children;
  seen.loop = ft_loop_open(signals, &err);
  assert_non_null(seen.loop);
  ft_loop_on_child(seen.loop, child_ended, NULL);
  server = ft_query_server_open(seen.loop, path, &answerer);
  assert_non_null(server);
  return server;
}

static void run(struct ft_query_server *server)
{
  struct ft_error err;

  assert_int_equal(ft_loop_run(seen.loop, &err), 0);
  ft_query_server_close(server);
  ft_loop_close(seen.loop);
  assert_int_equal(seen.ended, seen.asked);
  assert_int_equal(access(ask_path, F_OK), -1);
}

struct heard {
  unsigned packets, stop_after;
  bool sound, last;
};

static bool hear(const ft_reply *reply, void *data)
{
  struct heard *heard = data;

  heard->sound = heard->sound && reply->forgotten.runs == ++heard->packets &&
                 (!reply->record.size ||
                  reply->record.bytes[reply->record.size - 1] == ((heard->packets - 1) & 0x7f));
  heard->last = reply->last;
  return heard->packets != heard->stop_after;
}

static int ask(struct heard *heard, struct ft_error *err)
{
  ft_question question = { .which_asked = ft_question_forget_tag, .asked.forget.app = "unet3d" };

  heard->sound = true;
  return ft_daemon_ask(FT_DAEMON_LEARNER, path, folder_fd, &question, hear, heard, err);
}

static void a_reply_of_many_packets_arrives_completely(void **state)
{
  struct ft_query_server *server = begin(1);
  struct heard heard = { 0 };
  struct ft_error err;

  (void)state;
  /* more than a socket buffer holds */
  seen.want = 100;
  seen.size = sizeof((ft_reply *)NULL)->record.bytes;
  if (fork() == 0)
    _exit(ask(&heard, &err) < 0 || heard.packets != 100 || !heard.sound || !heard.last);
  run(server);
  assert_int_equal(seen.packets, 100);
  assert_int_equal(seen.uid, getuid());
  assert_true(seen.privileged);
  assert_string_equal(seen.app, "unet3d");
}

static void a_rejection_is_an_error_of_one_line(void **state)
{
  struct ft_query_server *server = begin(1);
  struct heard heard = { 0 };
  struct ft_error err;

  (void)state;
  seen.refuses = true;
  if (fork() == 0)
    _exit(ask(&heard, &err) == 0 || errno || heard.packets || strcmp(err.text, "not yours") != 0);
  run(server);
}

static void a_closed_connection_ends_the_reply(void **state)
{
  struct ft_query_server *server = begin(1);
  struct heard heard = { .stop_after = 3 };
  struct ft_error err;

  (void)state;
  seen.want = 1000000;
  seen.size = 1000;
  if (fork() == 0)
    _exit(ask(&heard, &err) < 0 || heard.packets != 3);
  run(server);
  assert_true(seen.packets < 1000000);
}

static void the_kernel_identifies_the_user(void **state)
{
  struct ft_query_server *server;
  struct heard heard = { 0 };
  struct ft_error err;

  (void)state;
  if (geteuid() != 0) {
    skip();
    return;
  }
  assert_int_equal(chmod(folder, 0755), 0);
  server = begin(1);
  if (fork() == 0)
    _exit(setuid(STRANGER) < 0 || ask(&heard, &err) < 0);
  run(server);
  assert_int_equal(seen.uid, STRANGER);
  assert_false(seen.privileged);

  server = begin(1);
  ft_query_server_allow(server, STRANGER);
  if (fork() == 0)
    _exit(setuid(STRANGER) < 0 || ask(&heard, &err) < 0);
  run(server);
  assert_true(seen.privileged);
}

/* Returns whether the only reply to PACKET is the end of the connection. */
static bool is_closed_on(const void *packet, size_t length)
{
  struct sockaddr_un address = { .sun_family = AF_UNIX };
  int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  char byte;

  (void)ft_string_copy(ask_path, address.sun_path, sizeof address.sun_path);
  return fd >= 0 && connect(fd, (const struct sockaddr *)&address, sizeof address) == 0 &&
         (send(fd, packet, length, MSG_NOSIGNAL) == (ssize_t)length) &&
         recv(fd, &byte, 1, 0) == 0 && close(fd) == 0;
}

static void invalid_queries_get_no_reply(void **state)
{
  static const char zeros[2 * FT_QUERY_PACKET_BYTES];
  struct ft_query_server *server = begin(1);

  (void)state;
  if (fork() == 0)
    _exit(!is_closed_on("\xff", 1) || !is_closed_on(zeros, sizeof zeros) ||
          !is_closed_on("\x08\x63", 2)); /* of schema 99 */
  run(server);
  assert_int_equal(seen.asked, 0);
}

/* Returns how many of COUNT connections of one process stay open. */
static unsigned stay_open(unsigned count)
{
  struct sockaddr_un address = { .sun_family = AF_UNIX };
  unsigned open = 0;

  (void)ft_string_copy(ask_path, address.sun_path, sizeof address.sun_path);
  for (unsigned i = 0; i < count; i++) {
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

    if (fd < 0 || connect(fd, (const struct sockaddr *)&address, sizeof address) < 0)
      break;
    open++;
  }
  return open;
}

static void one_users_connections_leave_room_for_others(void **state)
{
  struct ft_query_server *server;
  struct heard heard = { 0 };
  struct ft_error err;
  int ends[2];
  char byte = 0;
  const unsigned many = 2 * FT_QUERY_USER_CONNECTIONS;

  (void)state;
  if (geteuid() != 0) {
    skip();
    return;
  }
  assert_int_equal(chmod(folder, 0755), 0);
  assert_int_equal(pipe(ends), 0);
  server = begin(2);
  if (fork() == 0) {
    /* those within the limit connect and send nothing; the others are closed */
    byte = setuid(STRANGER) == 0 && stay_open(many) == many && ask(&heard, &err) < 0 &&
           strstr(err.text, "too many");
    _exit(write(ends[1], &byte, 1) != 1 || !byte);
  }
  if (fork() == 0)
    _exit(read(ends[0], &byte, 1) != 1 || setuid(STRANGER + 1) < 0 || ask(&heard, &err) < 0);
  run(server);
  assert_int_equal(seen.asked, 1);
  assert_int_equal(seen.uid, STRANGER + 1);
  close(ends[0]);
  close(ends[1]);
}

/* Users who hold connections of the test below: with the limit of one user, more than there are. */
enum { HOLDERS = FT_QUERY_CONNECTIONS / FT_QUERY_USER_CONNECTIONS + 2 };

/* Holds as many connections of many users as each may have, with a QUESTION on each if LENGTH. */
static void hold_connections(const void *question, size_t length)
{
  struct sockaddr_un address = { .sun_family = AF_UNIX };

  (void)ft_string_copy(ask_path, address.sun_path, sizeof address.sun_path);
  for (unsigned i = 0; i < HOLDERS * FT_QUERY_USER_CONNECTIONS; i++) {
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

    if (seteuid(STRANGER + i % HOLDERS) < 0 || fd < 0 ||
        connect(fd, (const struct sockaddr *)&address, sizeof address) < 0 || seteuid(0) < 0)
      _exit(2);
    /* it may have been closed already, for another one */
    if (length)
      (void)send(fd, question, length, MSG_NOSIGNAL);
  }
}

/* Many users hold all connections, silent ones or with QUESTION; another user and root are served.
 */
static void check_room(const void *question, size_t length)
{
  struct ft_query_server *server;
  struct heard heard = { 0 };
  struct ft_error err;

  if (geteuid() != 0) {
    skip();
    return;
  }
  assert_int_equal(chmod(folder, 0755), 0);
  server = begin(1);
  seen.stalled = STRANGER;
  seen.answered = STRANGER + HOLDERS;
  if (fork() == 0) {
    hold_connections(question, length);
    for (int i = 0; i < 3; i++) {
      heard = (struct heard){ 0 };
      if (ask(&heard, &err) < 0 || seteuid(seen.answered) < 0)
        _exit(3);
      heard = (struct heard){ 0 };
      if (ask(&heard, &err) < 0 || seteuid(0) < 0)
        _exit(4);
    }
    _exit(0);
  }
  run(server);
}

static void silent_connections_of_many_users_leave_room(void **state)
{
  (void)state;
  check_room(NULL, 0);
}

static void waiting_queries_of_many_users_leave_room(void **state)
{
  const ft_question question = { .schema = FT_SCHEMA,
                                 .which_asked = ft_question_forget_tag,
                                 .asked.forget.app = "unet3d" };
  struct ft_error err;
  struct ft_buf packet;

  (void)state;
  ft_buf_init(&packet, FT_LIMIT_RECORD);
  assert_int_equal(ft_record_encode(FT_RECORD_QUESTION, &question, &packet, &err), 0);
  check_room(packet.data, packet.length);
  ft_buf_free(&packet);
}

static void a_missing_agent_is_reported(void **state)
{
  struct heard heard = { 0 };
  struct ft_error err;

  (void)state;
  assert_int_equal(ask(&heard, &err), -1);
  assert_int_equal(errno, ENOENT);
  assert_non_null(strstr(err.text, ask_path));
}

static int setup(void **state)
{
  (void)state;
  folder_fd = scratch_open(folder);
  (void)snprintf(path, sizeof path, "%s/agent.sock", folder);
  (void)snprintf(ask_path, sizeof ask_path, "%s" FT_STATE_QUERY_SUFFIX, path);
  return 0;
}

static int teardown(void **state)
{
  (void)state;
  return scratch_close(folder, folder_fd);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown(a_reply_of_many_packets_arrives_completely, setup, teardown),
    cmocka_unit_test_setup_teardown(a_rejection_is_an_error_of_one_line, setup, teardown),
    cmocka_unit_test_setup_teardown(a_closed_connection_ends_the_reply, setup, teardown),
    cmocka_unit_test_setup_teardown(the_kernel_identifies_the_user, setup, teardown),
    cmocka_unit_test_setup_teardown(invalid_queries_get_no_reply, setup, teardown),
    cmocka_unit_test_setup_teardown(one_users_connections_leave_room_for_others, setup, teardown),
    cmocka_unit_test_setup_teardown(silent_connections_of_many_users_leave_room, setup, teardown),
    cmocka_unit_test_setup_teardown(waiting_queries_of_many_users_leave_room, setup, teardown),
    cmocka_unit_test_setup_teardown(a_missing_agent_is_reported, setup, teardown),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
