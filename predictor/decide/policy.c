/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The policy of a job: defaults, overridden by the site, partitions, account and user. */
#include "config.h"

#include <string.h>

#include "predictor/core/text.h"
#include "predictor/decide/decide.h"

static void override_policy(ft_policy *out, const ft_policy *with)
{
  if (with->mode != FT_MODE_UNSET)
    out->mode = with->mode;
  if (with->has_min_runs)
    out->min_runs = with->min_runs;
  if (with->has_trim_runs)
    out->trim_runs = with->trim_runs;
  if (with->has_oom_probability)
    out->oom_probability = with->oom_probability;
  if (with->has_reject_probability)
    out->reject_probability = with->reject_probability;
  if (with->has_floor_bytes)
    out->floor_bytes = with->floor_bytes;
  if (with->has_round_bytes)
    out->round_bytes = with->round_bytes;
  if (with->has_trim_factor)
    out->trim_factor = with->trim_factor;
  if (with->has_quiet)
    out->quiet = with->quiet;
  if (with->has_failure_price)
    out->failure_price = with->failure_price;
  if (with->has_force)
    out->force = with->force;
  if (with->has_borrow)
    out->borrow = with->borrow;
  if (with->has_ceiling_factor)
    out->ceiling_factor = with->ceiling_factor;
  if (with->has_leak_runs)
    out->leak_runs = with->leak_runs;
}

/*
 * Merges OTHER into INTO, both complete, for a job that may start under either: a change needs
 * both, a rejection one, and an amount suffices for both.
 */
static void merge_policy(ft_policy *into, const ft_policy *other)
{
  if (into->mode != other->mode && (into->mode == FT_MODE_OFF || other->mode == FT_MODE_OFF))
    into->mode = FT_MODE_CHECK;
  else if (other->mode < into->mode)
    into->mode = other->mode;
  if (other->min_runs > into->min_runs)
    into->min_runs = other->min_runs;
  if (other->trim_runs > into->trim_runs)
    into->trim_runs = other->trim_runs;
  if (other->oom_probability < into->oom_probability)
    into->oom_probability = other->oom_probability;
  if (other->reject_probability > 0 &&
      (into->reject_probability <= 0 || other->reject_probability < into->reject_probability))
    into->reject_probability = other->reject_probability;
  if (other->floor_bytes > into->floor_bytes)
    into->floor_bytes = other->floor_bytes;
  if (other->round_bytes > into->round_bytes)
    into->round_bytes = other->round_bytes;
  if (other->trim_factor > into->trim_factor)
    into->trim_factor = other->trim_factor;
  if (other->failure_price > into->failure_price)
    into->failure_price = other->failure_price;
  if (other->ceiling_factor < into->ceiling_factor)
    into->ceiling_factor = other->ceiling_factor;
  if (other->leak_runs && (!into->leak_runs || other->leak_runs < into->leak_runs))
    into->leak_runs = other->leak_runs;
  into->quiet = into->quiet && other->quiet;
  into->borrow = into->borrow && other->borrow;
  into->force = into->force && other->force;
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
