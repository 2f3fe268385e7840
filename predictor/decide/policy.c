/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The policy of a job: defaults, overridden by the site, partitions, account and user. */
#include "config.h"

#include <string.h>

#include "predictor/core/text.h"
#include "predictor/decide/decide.h"
#include "predictor/record/policy_keys.h"

/* Sets in OUT the keys that WITH has. */
static void override_policy(ft_policy *out, const ft_policy *with)
{
  for (size_t i = 0; i < FT_POLICY_KEYS; i++)
    if (ft_policy_has(with, &ft_policy_keys[i]))
      ft_policy_set(out, &ft_policy_keys[i], ft_policy_value(with, &ft_policy_keys[i]));
}

/* Returns what counts of A and B, two values that KEY may have. */
static double merge_policy_values(const struct ft_policy_key *key, double a, double b)
{
  double smaller = a < b ? a : b, larger = a < b ? b : a;

  switch ((enum ft_policy_merge)key->merge) {
  case FT_MERGE_SMALLEST:
  case FT_MERGE_IF_ALL:
    return smaller;
  case FT_MERGE_SMALLEST_ABOVE_0:
    return smaller > 0 ? smaller : larger;
  case FT_MERGE_LARGEST:
    return larger;
  case FT_MERGE_MODE:
    return smaller == FT_MODE_OFF && larger > FT_MODE_OFF ? FT_MODE_CHECK : smaller;
  }
  return a;
}

/*
 * Merges OTHER into INTO, both with all fields set, for a job that may start under either: a
 * request changes only if both change it, a job is rejected if either rejects it, and an amount
 * suffices for both.
 */
static void merge_policy(ft_policy *into, const ft_policy *other)
{
  for (size_t i = 0; i < FT_POLICY_KEYS; i++) {
    const struct ft_policy_key *key = &ft_policy_keys[i];

    ft_policy_set(
        into, key,
        merge_policy_values(key, ft_policy_value(into, key), ft_policy_value(other, key)));
  }
}

/* Overrides OUT by the site's policies for partition NAME. */
static void override_by_partition(const ft_site *site, struct ft_text name, ft_policy *out)
{
  for (size_t i = 0; i < site->overrides_count; i++)
    if (site->overrides[i].partition[0] && ft_text_equals(name, site->overrides[i].partition))
      override_policy(out, &site->overrides[i].policy);
}

/* Overrides OUT by the merged policies of the partitions in NAMES, a comma-separated list. */
static void override_by_partitions(const ft_site *site, const char *names, ft_policy *out)
{
  struct ft_text list = ft_text_from(names), name;
  const ft_policy base = *out;
  bool first = true;

  while (ft_text_until(&list, ',', &name)) {
    ft_policy one = base;

    if (!ft_text_left(&name))
      continue;
    override_by_partition(site, name, &one);
    if (first)
      *out = one;
    else
      merge_policy(out, &one);
    first = false;
  }
}

static bool is_equal_name(const char *given, const char *name)
{
  return given && name[0] && strcmp(given, name) == 0;
}

void ft_policy_resolve(const ft_site *site, const char *partition, const char *account,
                       const char *user, ft_policy *out)
{
  *out = ft_policy_defaults;
  if (!site)
    return;
  if (!partition || !partition[0])
    partition = site->default_partition;
  if (site->has_policy)
    override_policy(out, &site->policy);
  override_by_partitions(site, partition, out);
  for (size_t i = 0; i < site->overrides_count; i++)
    if (is_equal_name(account, site->overrides[i].account))
      override_policy(out, &site->overrides[i].policy);
  for (size_t i = 0; i < site->overrides_count; i++)
    if (is_equal_name(user, site->overrides[i].user))
      override_policy(out, &site->overrides[i].policy);
}
