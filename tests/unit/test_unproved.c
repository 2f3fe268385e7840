/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include "tests/unit/unit.h"

#include <arpa/inet.h>

#include "learner/access/unproved.h"

static struct ft_unproved unproved;

static int set_up(void **state)
{
  (void)state;
  ft_unproved_init(&unproved);
  return 0;
}

/* Returns the number of the IPv4 or IPv6 address TEXT. */
static uint64_t number_of(const char *text)
{
  struct sockaddr_in v4 = { .sin_family = AF_INET };
  struct sockaddr_in6 v6 = { .sin6_family = AF_INET6 };

  if (inet_pton(AF_INET, text, &v4.sin_addr) == 1)
    return ft_unproved_address((const struct sockaddr *)&v4);
  assert_int_equal(inet_pton(AF_INET6, text, &v6.sin6_addr), 1);
  return ft_unproved_address((const struct sockaddr *)&v6);
}

static void a_host_has_one_number(void **state)
{
  (void)state;
  assert_true(number_of("10.1.2.3") == number_of("::ffff:10.1.2.3"));
  assert_true(number_of("10.1.2.3") != number_of("10.1.2.4"));
  assert_true(number_of("2001:db8:0:1::1") == number_of("2001:db8:0:1:ffff::2"));
  assert_true(number_of("2001:db8:0:1::1") != number_of("2001:db8:0:2::1"));
}

static void the_oldest_of_an_address_is_dropped(void **state)
{
  struct ft_unproved_peer own[FT_UNPROVED_LIMIT + 2], other = { .address = 8 };
  const int last = FT_UNPROVED_LIMIT;

  (void)state;
  assert_null(ft_unproved_add(&unproved, &other, 0));
  for (int i = 0; i < last + 2; i++)
    own[i].address = 7;
  for (int i = 0; i < last; i++)
    assert_null(ft_unproved_add(&unproved, &own[i], 1 + i));
  assert_ptr_equal(ft_unproved_add(&unproved, &own[last], 100), &own[0]);
  ft_unproved_remove(&unproved, &own[0]);
  assert_ptr_equal(ft_unproved_add(&unproved, &own[last + 1], 100), &own[1]);
  ft_unproved_remove(&unproved, &own[1]);
  /* one that has proved its sender leaves its place to another */
  ft_unproved_remove(&unproved, &own[5]);
  assert_null(ft_unproved_add(&unproved, &own[0], 101));
  assert_ptr_equal(TAILQ_FIRST(&unproved.all), &other);
}

static void many_addresses_are_told_apart(void **state)
{
  enum { ADDRESSES = 5000 };
  static struct ft_unproved_peer peers[ADDRESSES][FT_UNPROVED_LIMIT];

  (void)state;
  for (int k = 0; k < FT_UNPROVED_LIMIT; k++)
    for (int i = 0; i < ADDRESSES; i++) {
      peers[i][k].address = (uint64_t)i;
      assert_null(ft_unproved_add(&unproved, &peers[i][k], k));
    }
  for (int i = 0; i < ADDRESSES; i++)
    for (int k = 0; k < FT_UNPROVED_LIMIT; k++)
      ft_unproved_remove(&unproved, &peers[i][k]);
  assert_true(TAILQ_EMPTY(&unproved.all));
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup(a_host_has_one_number, set_up),
    cmocka_unit_test_setup(the_oldest_of_an_address_is_dropped, set_up),
    cmocka_unit_test_setup(many_addresses_are_told_apart, set_up),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
