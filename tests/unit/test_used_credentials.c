/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include "tests/unit/unit.h"

#include "daemon/transfer.h"
#include "learner/access/used_credentials.h"

static struct ft_used_credentials used;

static bool add(unsigned number, double now)
{
  char text[64];

  (void)snprintf(text, sizeof text, FT_TRANSFER_SCHEME "MUNGE:%u:", number);
  return ft_used_credentials_add(&used, text, now);
}

static int tear_down(void **state)
{
  (void)state;
  ft_used_credentials_free(&used);
  return 0;
}

static void a_credential_counts_once_while_it_is_valid(void **state)
{
  (void)state;
  /* also if its host's clock is ahead by its validity */
  for (unsigned begin = 0; begin < 3000; begin += 70) {
    assert_true(add(begin, begin));
    for (unsigned age = 0; age <= 2 * FT_TRANSFER_SECONDS; age += 60)
      assert_false(add(begin, begin + age));
    assert_true(add(begin, begin + 1000 * FT_TRANSFER_SECONDS));
    ft_used_credentials_free(&used);
  }
}

static void they_are_bounded(void **state)
{
  enum { MANY = 3 * FT_USED_LIMIT };

  (void)state;
  for (unsigned i = 0; i < MANY; i++)
    assert_true(add(i, 1));
  assert_true(used.now.room <= 2 * (size_t)FT_USED_LIMIT);
  assert_true(used.before.room <= 2 * (size_t)FT_USED_LIMIT);
  for (unsigned i = MANY - FT_USED_LIMIT; i < MANY; i++)
    assert_false(add(i, 1));
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test_teardown(a_credential_counts_once_while_it_is_valid, tear_down),
    cmocka_unit_test_teardown(they_are_bounded, tear_down),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
