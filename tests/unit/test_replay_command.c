/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include "tests/unit/unit.h"

#include <errno.h>

#include "predictor/cli/cli.h"
#include "predictor/site/conf.h"

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);

static bool fails; /* allocations of a struct ft_config fail */

void *__wrap_malloc(size_t size)
{
  if (!fails || size != sizeof(struct ft_config))
    return __real_malloc(size);
  errno = ENOMEM;
  return NULL;
}

static int replay_with_config(const char *config)
{
  char name[] = "replay", option[256], trace[] = "/nonexistent/trace";
  char *argv[] = { name, option, trace, NULL };

  (void)snprintf(option, sizeof option, "--config=%s", config);
  return ft_command_replay(3, argv);
}

static void out_of_memory_for_the_configuration_is_a_system_error(void **state)
{
  (void)state;
  fails = true;
  assert_int_equal(replay_with_config("/dev/null"), FT_EXIT_SYSTEM);
  fails = false;
}

static void an_unreadable_configuration_is_a_usage_error(void **state)
{
  (void)state;
  assert_int_equal(replay_with_config("/nonexistent/foretell.conf"), FT_EXIT_USAGE);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(out_of_memory_for_the_configuration_is_a_system_error),
    cmocka_unit_test(an_unreadable_configuration_is_a_usage_error),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
