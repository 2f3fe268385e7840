/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The policy of a job: defaults, overridden by the site, partitions, account and user. */
#include "config.h"

#include <string.h>

#include "predictor/core/text.h"
#include "predictor/decide/decide.h"

/* Sets in OUT the fields that WITH has. */
static void override_policy(ft_policy *out, const ft_policy *with)
{
#define OVERRIDE(field) out->field = with->has_##field ? with->field : out->field
  if (with->mode != FT_MODE_UNSET)
    out->mode = with->mode;
  OVERRIDE(min_runs);
  OVERRIDE(trim_runs);
  OVERRIDE(oom_probability);
  OVERRIDE(reject_probability);
  OVERRIDE(floor_bytes);
  OVERRIDE(round_bytes);
  OVERRIDE(trim_factor);
  OVERRIDE(quiet);
  OVERRIDE(failure_price);
  OVERRIDE(force);
  OVERRIDE(borrow);
  OVERRIDE(ceiling_factor);
  OVERRIDE(leak_runs);
#undef OVERRIDE
}

/*
 * Merges OTHER into INTO, both with all fields set, for a job that may start under either: a
 * request changes only if both change it, a job is rejected if either rejects it, and an amount
 * suffices for both.
 */
static void merge_policy(ft_policy *into, const ft_policy *other)
{
#define USE_LARGER(field) into->field = other->field > into->field ? other->field : into->field
#define USE_SMALLER(field) into->field = other->field < into->field ? other->field : into->field
  if (into->mode != other->mode && (into->mode == FT_MODE_OFF || other->mode == FT_MODE_OFF))
    into->mode = FT_MODE_CHECK;
  else if (other->mode < into->mode)
    into->mode = other->mode;
  USE_LARGER(min_runs);
  USE_LARGER(trim_runs);
  USE_SMALLER(oom_probability);
  if (other->reject_probability > 0 &&
      (into->reject_probability <= 0 || other->reject_probability < into->reject_probability))
    into->reject_probability = other->reject_probability;
  USE_LARGER(floor_bytes);
  USE_LARGER(round_bytes);
  USE_LARGER(trim_factor);
  USE_LARGER(failure_price);
  USE_SMALLER(ceiling_factor);
  if (other->leak_runs && (!into->leak_runs || other->leak_runs < into->leak_runs))
    into->leak_runs = other->leak_runs;
  into->quiet = into->quiet && other->quiet;
  into->borrow = into->borrow && other->borrow;
  into->force = into->force && other->force;
#undef USE_LARGER
#undef USE_SMALLER
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
