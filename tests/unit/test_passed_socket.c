/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Each case runs in a child, whose descriptors from 3 on are the passed ones. */
#include "config.h"

#include "tests/unit/scratch.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "daemon/passed_socket.h"
#include "daemon/socket.h"

enum { PLACES = 8 };

static char path[SCRATCH_SIZE], socket_path[SCRATCH_SIZE + 8];
static int directory;

/* Returns a socket at HOST, and its port. */
static int listen_at(const char *host, char port[6])
{
  struct sockaddr_in6 bound;
  socklen_t length = sizeof bound;
  struct ft_error err;
  int fd = ft_socket_listen_tcp(host, "0", &err);

  assert_true(fd >= 0);
  assert_int_equal(getsockname(fd, (struct sockaddr *)&bound, &length), 0);
  /* at the same place in sockaddr_in */
  (void)snprintf(port, 6, "%u", (unsigned)ntohs(bound.sin6_port));
  return fd;
}

/* Passes COUNT descriptors to this process, of a child, as the service manager does. */
static void pass(const int *fds, int count, pid_t pid)
{
  char text[16];
  int high[PLACES];

  for (int i = 0; i < count; i++)
    high[i] = fcntl(fds[i], F_DUPFD, 100);
  for (int i = 0; i < count; i++)
    (void)dup2(high[i], 3 + i);
  (void)snprintf(text, sizeof text, "%d", (int)pid);
  (void)setenv("LISTEN_PID", text, 1);
  (void)snprintf(text, sizeof text, "%d", count);
  (void)setenv("LISTEN_FDS", text, 1);
}

/* Waits for the child PID, which must succeed. */
static void check_child(pid_t pid)
{
  int status;

  assert_int_equal(waitpid(pid, &status, 0), pid);
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), 0);
}

static void the_socket_of_the_address_is_found(void **state)
{
  struct ft_address one = { .host = "" }, other = { .host = "127.0.0.1" }, wrong;
  struct ft_error err;
  int fds[4];
  pid_t pid;

  (void)state;
  fds[0] = open("/dev/null", O_RDONLY);
  fds[1] = ft_socket_listen(socket_path, SOCK_STREAM, 0600, &err);
  fds[2] = listen_at("", one.port);
  fds[3] = listen_at("127.0.0.1", other.port);
  pid = fork();
  if (pid == 0) {
    pass(fds, 4, getpid());
    wrong = other;
    wrong.host[8] = '2';
    _exit(ft_passed_sockets() != 4 || getenv("LISTEN_FDS") || getenv("LISTEN_PID") ||
          !(fcntl(6, F_GETFD) & FD_CLOEXEC) || ft_passed_socket_find(4, &one, &err) != 5 ||
          ft_passed_socket_find(4, &other, &err) != 6 ||
          ft_passed_socket_find(4, &wrong, &err) != -1 ||
          ft_passed_socket_find(3, &other, &err) != -1 ||
          !strstr(err.text, "compare ListenStream") || !(fcntl(6, F_GETFL) & O_NONBLOCK) ||
          ft_passed_socket_find_path(4, socket_path, SOCK_STREAM, &err) != 4 ||
          ft_passed_socket_find_path(4, socket_path, SOCK_SEQPACKET, &err) != -1 ||
          ft_passed_socket_find_path(4, "/nowhere", SOCK_STREAM, &err) != -1 ||
          !strstr(err.text, "compare ListenSequentialPacket"));
  }
  check_child(pid);
  for (int i = 0; i < 4; i++)
    close(fds[i]);
}

static void sockets_of_another_process_are_not_taken(void **state)
{
  static const char *const texts[] = { "", "x", "-1", "1x", "99999999999999999999" };
  const int null = open("/dev/null", O_RDONLY);
  pid_t pid = fork();

  (void)state;
  if (pid == 0) {
    if (ft_passed_sockets() != 0)
      _exit(1);
    pass(&null, 1, getppid());
    if (ft_passed_sockets() != 0)
      _exit(2);
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
      pass(&null, 1, getpid());
      (void)setenv(i % 2 ? "LISTEN_FDS" : "LISTEN_PID", texts[i], 1);
      if (ft_passed_sockets() != 0)
        _exit(3);
    }
    pass(&null, 1, getpid());
    (void)setenv("LISTEN_FDS", "1000000", 1);
    _exit(ft_passed_sockets() != FT_PASSED_SOCKETS);
  }
  check_child(pid);
  close(null);
}

static int set_up(void **state)
{
  (void)state;
  directory = scratch_open(path);
  (void)snprintf(socket_path, sizeof socket_path, "%s/socket", path);
  return 0;
}

static int tear_down(void **state)
{
  (void)state;
  return scratch_close(path, directory);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown(the_socket_of_the_address_is_found, set_up, tear_down),
    cmocka_unit_test_setup_teardown(sockets_of_another_process_are_not_taken, set_up, tear_down),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
