/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include "tests/unit/unit.h"

#include <grp.h>
#include <unistd.h>

#include "predictor/decide/partition_access.h"

static ft_partition for_some(ft_restricts by, const char *names)
{
  ft_partition p = { .restricted = true,
                     .restrictions_count = 1,
                     .restrictions = { { .by = by } } };

  (void)snprintf(p.restrictions[0].names, sizeof p.restrictions[0].names, "%s", names);
  return p;
}

static void given_options_decide_access(void **state)
{
  static const struct {
    ft_restricts by;
    const char *names, *account, *qos;
    uint32_t uid;
    enum ft_may may;
    const char *why;
  } cases[] = {
    { FT_RESTRICTS_ACCOUNTS, "bio,chem", "bio", "", 1000, FT_MAY, NULL },
    { FT_RESTRICTS_ACCOUNTS, "bio,chem", "Chem", "", 1000, FT_MAY, NULL },
    { FT_RESTRICTS_ACCOUNTS, "bio,chem", "che", "", 1000, FT_MAY_NOT, "for other accounts" },
    { FT_RESTRICTS_ACCOUNTS, "bio", "", "", 1000, FT_MAY_UNKNOWN, "see --account" },
    { FT_RESTRICTS_ACCOUNTS, "", "bio", "", 1000, FT_MAY_UNKNOWN, "perhaps for other" },
    { FT_RESTRICTS_ACCOUNTS_DENIED, "guest", "bio", "", 1000, FT_MAY, NULL },
    { FT_RESTRICTS_ACCOUNTS_DENIED, "guest", "guest", "", 1000, FT_MAY_NOT, "for other accounts" },
    { FT_RESTRICTS_ACCOUNTS_DENIED, "guest", "", "", 1000, FT_MAY_UNKNOWN, "see --account" },
    { FT_RESTRICTS_QOS, "long", "bio", "long", 1000, FT_MAY, NULL },
    { FT_RESTRICTS_QOS, "long", "bio", "", 1000, FT_MAY_UNKNOWN, "see --qos" },
    { FT_RESTRICTS_QOS_DENIED, "long", "", "long", 1000, FT_MAY_NOT, "for other QOS" },
    { FT_RESTRICTS_QOS, "long,short", "", "other,short", 1000, FT_MAY, NULL },
    { FT_RESTRICTS_QOS, "long", "", "other,short", 1000, FT_MAY_NOT, "for other QOS" },
    { FT_RESTRICTS_QOS_DENIED, "long", "", "long,short", 1000, FT_MAY, NULL },
    { FT_RESTRICTS_QOS_DENIED, "long,short", "", "long,short", 1000, FT_MAY_NOT, "for other QOS" },
    { FT_RESTRICTS_QOS, "", "", "long", 1000, FT_MAY_UNKNOWN, "perhaps for other QOS" },
    { FT_RESTRICTS_ROOT, "YES", "", "", 0, FT_MAY, NULL },
    { FT_RESTRICTS_ROOT, "YES", "", "", 1000, FT_MAY_NOT, "for root" },
    { FT_RESTRICTS_ROOT_DENIED, "YES", "", "", 0, FT_MAY_NOT, "not for root" },
    { FT_RESTRICTS_ROOT_DENIED, "YES", "", "", 1000, FT_MAY, NULL },
    { FT_RESTRICTS_RESERVATION, "YES", "", "", 0, FT_MAY_NOT, "for reservations" },
    { FT_RESTRICTS_HOSTS, "no-such-host", "", "", 0, FT_MAY_UNKNOWN, "some hosts" },
    { FT_RESTRICTS_GROUPS, "no-such-group", "", "", 1000, FT_MAY_NOT, "for other groups" },
    { FT_RESTRICTS_GROUPS, "no-such-group", "", "", 0, FT_MAY, NULL },
    { FT_RESTRICTS_OTHER, "", "", "", 0, FT_MAY_UNKNOWN, "not open to all" },
  };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    const ft_partition p = for_some(cases[i].by, cases[i].names);
    uint32_t uid = cases[i].uid == 1000 ? (getuid() ? getuid() : 2) : cases[i].uid;
    struct ft_partition_access access;
    unsigned lookups = 1;
    ft_request r = { 0 };

    (void)snprintf(r.account, sizeof r.account, "%s", cases[i].account);
    (void)snprintf(r.qos, sizeof r.qos, "%s", cases[i].qos);
    access = ft_partition_access_of(&p, &r, uid, &lookups);
    if (access.may != cases[i].may)
      fail_msg("case %zu: %d", i, access.may);
    if (cases[i].why && (!access.why || !strstr(access.why, cases[i].why)))
      fail_msg("case %zu: %s", i, access.why ? access.why : "nothing");
  }
}

static void child_accounts_may_be_allowed(void **state)
{
  const ft_request bio = { .account = "bio" }, lab = { .account = "lab" };
  ft_partition p = for_some(FT_RESTRICTS_ACCOUNTS, "bio");
  unsigned lookups = 1;

  (void)state;
  p.restrictions[0].open_ended = true;
  assert_int_equal(ft_partition_access_of(&p, &bio, 2, &lookups).may, FT_MAY);
  assert_int_equal(ft_partition_access_of(&p, &lab, 2, &lookups).may, FT_MAY_UNKNOWN);
  p.restrictions[0].by = FT_RESTRICTS_ACCOUNTS_DENIED;
  assert_int_equal(ft_partition_access_of(&p, &bio, 2, &lookups).may, FT_MAY_NOT);
  assert_int_equal(ft_partition_access_of(&p, &lab, 2, &lookups).may, FT_MAY_UNKNOWN);
}

static void the_strictest_restriction_counts(void **state)
{
  ft_partition p = for_some(FT_RESTRICTS_ACCOUNTS, "bio");
  ft_request r = { .account = "bio" };
  unsigned lookups = 0;

  (void)state;
  p.restrictions_count = 3;
  p.restrictions[1] = (ft_restriction){ .by = FT_RESTRICTS_QOS, .names = "long" };
  p.restrictions[2] = (ft_restriction){ .by = FT_RESTRICTS_ROOT_DENIED, .names = "YES" };
  assert_int_equal(ft_partition_access_of(&p, &r, 2, &lookups).may, FT_MAY_UNKNOWN);
  assert_int_equal(ft_partition_access_of(&p, &r, 0, &lookups).may, FT_MAY_NOT);
  (void)snprintf(r.qos, sizeof r.qos, "long");
  assert_int_equal(ft_partition_access_of(&p, &r, 2, &lookups).may, FT_MAY);
  /* an older agent, which did not record the option */
  p.restrictions_count = 0;
  assert_int_equal(ft_partition_access_of(&p, &r, 2, &lookups).may, FT_MAY_UNKNOWN);
  p.restricted = false;
  assert_int_equal(ft_partition_access_of(&p, &r, 2, &lookups).may, FT_MAY);
  assert_null(ft_partition_access_of(&p, &r, 2, &lookups).why);
}

static void the_users_own_groups_are_known(void **state)
{
  const struct group *mine = getgrgid(getegid());
  unsigned lookups = 100, one = 1;
  char list[300];

  (void)state;
  if (!mine)
    skip();
  (void)snprintf(list, sizeof list, "no-such-group,%s", mine->gr_name);
  assert_int_equal(ft_partition_access_groups(list, getuid(), &lookups), FT_MAY);
  assert_int_equal(ft_partition_access_groups("no-such-group", getuid(), &lookups), FT_MAY_NOT);
  assert_int_equal(ft_partition_access_groups("", getuid(), &lookups), FT_MAY_UNKNOWN);
  assert_int_equal(lookups, 97);
  assert_int_equal(ft_partition_access_groups(list, getuid(), &one),
                   FT_MAY_UNKNOWN); /* it would be the second */
  assert_int_equal(one, 0);
  assert_int_equal(ft_partition_access_groups(list, UINT32_MAX - 7, &lookups), FT_MAY_UNKNOWN);
}

int main(void)
{
  const struct CMUnitTest tests[] = { cmocka_unit_test(given_options_decide_access),
                                      cmocka_unit_test(child_accounts_may_be_allowed),
                                      cmocka_unit_test(the_strictest_restriction_counts),
                                      cmocka_unit_test(the_users_own_groups_are_known) };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
