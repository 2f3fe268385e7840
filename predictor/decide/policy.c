/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The policy of a job: defaults, overridden by the site, partitions, account and user. */
#include "config.h"

#include <string.h>

#include "predictor/core/text.h"
#include "predictor/decide/decide.h"

static void override_policy(ft_policy *out, const ft_policy *with)
{
#define TAKE(field) out->field = with->has_##field ? with->field : out->field
  if (with->mode != FT_MODE_UNSET)
    out->mode = with->mode;
  TAKE(min_runs);
  TAKE(trim_runs);
  TAKE(oom_probability);
  TAKE(reject_probability);
  TAKE(floor_bytes);
  TAKE(round_bytes);
  TAKE(trim_factor);
  TAKE(quiet);
  TAKE(failure_price);
  TAKE(force);
  TAKE(borrow);
  TAKE(ceiling_factor);
  TAKE(leak_runs);
#undef TAKE
}

/*
 * Merges OTHER into INTO, both complete, for a job that may start under either: a change needs
 * both, a rejection one, and an amount suffices for both.
 */
static void merge_policy(ft_policy *into, const ft_policy *other)
{
#define TAKE_LARGER(field) into->field = other->field > into->field ? other->field : into->field
#define TAKE_SMALLER(field) into->field = other->field < into->field ? other->field : into->field
  if (into->mode != other->mode && (into->mode == FT_MODE_OFF || other->mode == FT_MODE_OFF))
    into->mode = FT_MODE_CHECK;
  else if (other->mode < into->mode)
    into->mode = other->mode;
  TAKE_LARGER(min_runs);
  TAKE_LARGER(trim_runs);
  TAKE_SMALLER(oom_probability);
  if (other->reject_probability > 0 &&
      (into->reject_probability <= 0 || other->reject_probability < into->reject_probability))
    into->reject_probability = other->reject_probability;
  TAKE_LARGER(floor_bytes);
  TAKE_LARGER(round_bytes);
  TAKE_LARGER(trim_factor);
  TAKE_LARGER(failure_price);
  TAKE_SMALLER(ceiling_factor);
  if (other->leak_runs && (!into->leak_runs || other->leak_runs < into->leak_runs))
    into->leak_runs = other->leak_runs;
  into->quiet = into->quiet && other->quiet;
  into->borrow = into->borrow && other->borrow;
  into->force = into->force && other->force;
#undef TAKE_LARGER
#undef TAKE_SMALLER
}

/* Overrides OUT, the site's policy, by the sections of partition NAME. */
static void override_by_partition(const ft_site *site, struct ft_text name, ft_policy *out)
{
  for (size_t i = 0; i < site->overrides_count; i++)
    if (site->overrides[i].partition[0] && ft_text_equals(name, site->overrides[i].partition))
      override_policy(out, &site->overrides[i].policy);
}

/* Overrides OUT by the merged policies of all partitions in NAMES (commas between). */
static void override_by_partitions(const ft_site *site, const char *names, ft_policy *out)
{
  struct ft_text list = ft_text_from(names), name;
  const ft_policy whole = *out;
  bool first = true;

  while (ft_text_until(&list, ',', &name)) {
    ft_policy one = whole;

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
