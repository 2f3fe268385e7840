/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include "tests/unit/scratch.h"

#include "agent/node_info.h"

static char path[SCRATCH_SIZE];
static int directory;

static int set_up(void **state)
{
  (void)state;
  directory = scratch_open(path);
  return 0;
}

static int tear_down(void **state)
{
  (void)state;
  return scratch_close(path, directory);
}

static void an_agent_keeps_its_number(void **state)
{
  uint64_t number = ft_node_number(directory, "n1", "/state");
  struct stat st;

  (void)state;
  assert_true(number != 0);
  assert_true(number == ft_node_number(directory, "n1", "/state"));
  assert_int_equal(fstatat(directory, "agent.number", &st, 0), 0);
  assert_int_equal(st.st_mode & 0777, 0600);
}

static void agents_have_numbers_of_their_own(void **state)
{
  char other_path[SCRATCH_SIZE];
  int other = scratch_open(other_path);
  uint64_t number = ft_node_number(directory, "n1", "/state");

  (void)state;
  /* the names do not tell it */
  assert_true(number != ft_node_number(other, "n1", "/state"));
  /* also with a copy of the state directory */
  assert_true(number != ft_node_number(directory, "n2", "/state"));
  assert_true(number != ft_node_number(directory, "n1", "/other"));
  assert_int_equal(scratch_close(other_path, other), 0);
}

static void a_damaged_file_is_replaced(void **state)
{
  uint64_t number;
  int fd = openat(directory, "agent.number", O_WRONLY | O_CREAT, 0600);

  (void)state;
  assert_true(fd >= 0 && write(fd, "no", 2) == 2 && close(fd) == 0);
  number = ft_node_number(directory, "n1", "/state");
  assert_true(number == ft_node_number(directory, "n1", "/state"));
}

static void without_a_disk_it_has_one_until_it_ends(void **state)
{
  (void)state;
  assert_true(ft_node_number(-1, "n1", "/state") != ft_node_number(-1, "n1", "/state"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
  const struct CMUnitTest tests[] = {
    TEST(an_agent_keeps_its_number),
    TEST(agents_have_numbers_of_their_own),
    TEST(a_damaged_file_is_replaced),
    TEST(without_a_disk_it_has_one_until_it_ends),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
