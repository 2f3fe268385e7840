/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <string.h>

#include "predictor/core/text.h"
#include "predictor/decide/decide.h"

static void override(ft_policy *out, const ft_policy *with)
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
 * What INTO and OTHER, both whole, let a job do that may start under either: it is changed only
 * where both would, refused where one would, and what it is given is enough for both.
 */
static void join(ft_policy *into, const ft_policy *other)
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

/* What holds in the partition NAME: OUT, the site's, is overridden. */
static void override_partition(const ft_site *site, struct ft_text name, ft_policy *out)
{
  for (size_t i = 0; i < site->overrides_count; i++)
    if (site->overrides[i].partition[0] && ft_text_equals(name, site->overrides[i].partition))
      override(out, &site->overrides[i].policy);
}

/* Of a list every name counts. */
static void override_partitions(const ft_site *site, const char *typed, ft_policy *out)
{
  struct ft_text list = ft_text_from(typed), name;
  const ft_policy whole = *out;
  bool first = true;

  while (ft_text_until(&list, ',', &name)) {
    ft_policy one = whole;

    if (!ft_text_left(&name))
      continue;
    override_partition(site, name, &one);
    if (first)
      *out = one;
    else
      join(out, &one);
    first = false;
  }
}

static bool is(const char *given, const char *name)
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
    override(out, &site->policy);
  override_partitions(site, partition, out);
  for (size_t i = 0; i < site->overrides_count; i++)
    if (is(account, site->overrides[i].account))
      override(out, &site->overrides[i].policy);
  for (size_t i = 0; i < site->overrides_count; i++)
    if (is(user, site->overrides[i].user))
      override(out, &site->overrides[i].policy);
}
