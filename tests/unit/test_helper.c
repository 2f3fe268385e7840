/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "plugin/helper.h"
#include "predictor/cli/helper.h"

/* A file system that is not on a disk, so that a child opens it first. */
#define NO_DISK "/proc"

static void a_directory_on_a_remote_file_system_is_opened(void **state)
{
  struct ft_error err = { "" };
  int fd = ft_helper_open_state(NO_DISK, 10, &err);

  (void)state;
  if (fd < 0)
    fail_msg("%s", err.text);
  close(fd);
}

static void a_missing_directory_is_reported(void **state)
{
  struct ft_error err = { "" };

  (void)state;
  assert_int_equal(ft_helper_open_state(NO_DISK "/none", 10, &err), -1);
  assert_non_null(strstr(err.text, strerror(ENOENT)));
}

static void a_failed_fork_is_not_a_timeout(void **state)
{
  struct ft_error err = { "" };
  struct rlimit old, less;
  int fd = open("/dev/null", O_RDONLY), found;

  (void)state;
  assert_true(fd >= 0);
  close(fd);
  assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
  less = (struct rlimit){ (rlim_t)fd + 1, old.rlim_max };
  assert_int_equal(setrlimit(RLIMIT_NOFILE, &less), 0);
  found = ft_helper_open_state(NO_DISK, 10, &err);
  assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
  assert_int_equal(found, -1);
  if (!strstr(err.text, strerror(EMFILE)))
    fail_msg("%s", err.text);
  a_directory_on_a_remote_file_system_is_opened(state);
}

/* ---- foretell-helper executes foretell-network, which lies beside it ---- */

/* Exit statuses of the program in a deep directory. */
enum { HANDED_OVER = 0, STAYED = 3, NOT_PREPARED = 4 };

/* Copies this program to NAME. Returns false on error. */
static bool copy_own_program(const char *name)
{
  int from = open("/proc/self/exe", O_RDONLY), to = open(name, O_WRONLY | O_CREAT, 0700);
  struct stat own;
  bool copied = from >= 0 && to >= 0 && fstat(from, &own) == 0 &&
                sendfile(to, from, NULL, (size_t)own.st_size) == own.st_size;

  close(from);
  close(to);
  return copied;
}

/* Changes into directories, made where missing, until LENGTH bytes follow DIRECTORY. */
static bool descend(const char *directory, size_t length)
{
  char name[NAME_MAX + 1];
  size_t left = length - strlen(directory);

  while (left > 0) {
    /* the last directory is never a slash alone */
    size_t part = left > sizeof name ? (left > sizeof name + 1 ? sizeof name : left - 2) : left;

    memset(name, 'd', part - 1);
    name[part - 1] = '\0';
    if ((mkdir(name, 0700) != 0 && errno != EEXIST) || chdir(name) != 0)
      return false;
    left -= part;
  }
  return true;
}

/* Returns the status of this program in a directory where the path of foretell-network has LENGTH
 * bytes. */
static int status_where_path_has(const char *directory, size_t length)
{
  pid_t child = fork();
  int status = 0;

  if (child == 0) {
    char *argv[] = { "./h", "hand over", NULL };

    if (chdir(directory) == 0 && descend(directory, length - strlen("/foretell-network")) &&
        copy_own_program("h") && symlink("/bin/true", "foretell-network") == 0)
      execv("./h", argv);
    _exit(NOT_PREPARED);
  }
  assert_true(child > 0);
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status));
  return WEXITSTATUS(status);
}

static void a_path_of_any_length_is_handed_over_or_not(void **state)
{
  char directory[] = "/tmp/foretell-helper-XXXXXX", command[64];

  (void)state;
  assert_non_null(mkdtemp(directory));
  assert_int_equal(status_where_path_has(directory, PATH_MAX - 2), HANDED_OVER);
  assert_int_equal(status_where_path_has(directory, PATH_MAX - 1), HANDED_OVER);
  assert_int_equal(status_where_path_has(directory, PATH_MAX), STAYED);
  assert_int_equal(status_where_path_has(directory, PATH_MAX + 1), STAYED);
  /* the program's own path is the longest that there is */
  assert_int_equal(status_where_path_has(directory, PATH_MAX - 1 + strlen("oretell-network")),
                   STAYED);
  (void)snprintf(command, sizeof command, "rm -r %s", directory);
  assert_int_equal(system(command), 0);
}

int main(int argc, char **argv)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_directory_on_a_remote_file_system_is_opened),
    cmocka_unit_test(a_missing_directory_is_reported),
    cmocka_unit_test(a_failed_fork_is_not_a_timeout),
    cmocka_unit_test(a_path_of_any_length_is_handed_over_or_not)
  };
  struct ft_buf input;

  if (argc > 1) {
    ft_buf_init(&input, 1);
    ft_helper_hand_over(argv, &input);
    return STAYED;
  }
  return cmocka_run_group_tests_name("helper", tests, NULL, NULL);
}
