/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "plugin/helper.h"

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

int main(void)
{
  const struct CMUnitTest tests[] = { cmocka_unit_test(
                                          a_directory_on_a_remote_file_system_is_opened),
                                      cmocka_unit_test(a_missing_directory_is_reported),
                                      cmocka_unit_test(a_failed_fork_is_not_a_timeout) };

  return cmocka_run_group_tests_name("helper", tests, NULL, NULL);
}
