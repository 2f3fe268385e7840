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
  if (with->has_borrow)
    out->borrow = with->borrow;
}

static bool first_is(const char *list, const char *name)
{
  struct ft_text text = ft_text_from(list), piece;

  return ft_text_until(&text, ',', &piece) && ft_text_equals(piece, name);
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
  for (size_t i = 0; i < site->overrides_count; i++)
    if (site->overrides[i].partition[0] && first_is(partition, site->overrides[i].partition))
      override(out, &site->overrides[i].policy);
  for (size_t i = 0; i < site->overrides_count; i++)
    if (is(account, site->overrides[i].account))
      override(out, &site->overrides[i].policy);
  for (size_t i = 0; i < site->overrides_count; i++)
    if (is(user, site->overrides[i].user))
      override(out, &site->overrides[i].policy);
}
