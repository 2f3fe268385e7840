/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include "predictor/history/fields.h"
#include "predictor/history/merge.h"

/* how much a source's figures are worth */
static int worth(ft_source source)
{
  switch (source) {
  case FT_SOURCE_AGENT:
    return 3;
  case FT_SOURCE_TRACE:
    return 2;
  case FT_SOURCE_SACCT_TOTAL:
    return 1;
  case FT_SOURCE_SACCT:
    break;
  }
  return 0;
}

static bool has_peak(const ft_observation *o)
{
  return o->has_rss_bytes || o->has_pss_bytes || o->has_charge_bytes ||
         o->has_charge_less_cache_bytes || o->has_largest_process_bytes;
}

static void merge_outcome(ft_observation *old, const ft_observation *newer)
{
  bool killed = old->outcome == FT_OUTCOME_OUT_OF_MEMORY &&
                (newer->outcome == FT_OUTCOME_FAILED || newer->outcome == FT_OUTCOME_CANCELLED);

  if (newer->outcome != FT_OUTCOME_UNKNOWN) {
    if (!killed)
      old->outcome = newer->outcome;
    old->exit_code = newer->exit_code;
    old->signal = newer->signal;
  } else if (old->outcome == FT_OUTCOME_UNKNOWN) {
    old->exit_code = newer->exit_code ? newer->exit_code : old->exit_code;
    old->signal = newer->signal ? newer->signal : old->signal;
  }
  if (old->outcome != FT_OUTCOME_UNKNOWN)
    old->censored = old->outcome != FT_OUTCOME_COMPLETED;
  else
    old->censored = old->censored || newer->censored;
}

void ft_observation_merge(ft_observation *old, const ft_observation *newer)
{
  bool stronger = worth(newer->source) >= worth(old->source);
  bool measures = has_peak(newer) && (stronger || !has_peak(old));

  for (size_t i = 0; i < ft_field_count; i++) {
    const struct ft_field *field = &ft_fields[i];
    bool replace = stronger;

    if (field->part != FT_PART_SUBMIT && field->part != FT_PART_TIME &&
        field->part != FT_PART_MEASURED)
      continue;
    if (field->part == FT_PART_TIME)
      replace = true;
    if (ft_field_present(newer, field) && (replace || !ft_field_present(old, field)))
      ft_field_copy(old, newer, field);
  }
  if (measures) {
    old->source = newer->source;
    old->peak_is_bound = newer->peak_is_bound;
  }
  if (newer->has_request && (stronger || !old->has_request)) {
    old->has_request = true;
    old->request = newer->request;
  }
  if (newer->has_decision && (stronger || !old->has_decision)) {
    old->has_decision = true;
    old->decision = newer->decision;
  }
  merge_outcome(old, newer);
}
