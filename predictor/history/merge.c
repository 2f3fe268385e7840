/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <string.h>

#include "predictor/history/fields.h"
#include "predictor/history/merge.h"

/* Ranks sources by the quality of their measurements. */
static int source_rank(ft_source source)
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

/* Copies fields without a column in the store; only a record from the node has them. */
static void copy_unstored_fields(ft_submission *to, const ft_submission *from)
{
  to->schema = from->schema;
  to->het_offset = from->het_offset;
  memcpy(to->version, from->version, sizeof to->version);
  to->default_app = from->default_app;
  memcpy(to->program, from->program, sizeof to->program);
  to->former_apps_count = from->former_apps_count;
  memcpy(to->former_apps, from->former_apps, sizeof to->former_apps);
  to->interactive = from->interactive;
}

static void merge_outcome(ft_observation *old, const ft_observation *newer)
{
  bool killed_for_memory =
      old->outcome == FT_OUTCOME_OUT_OF_MEMORY &&
      (newer->outcome == FT_OUTCOME_FAILED || newer->outcome == FT_OUTCOME_CANCELLED);

  if (newer->outcome != FT_OUTCOME_UNKNOWN) {
    if (!killed_for_memory)
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
  bool preferred = source_rank(newer->source) >= source_rank(old->source);
  bool measures = has_peak(newer) && (preferred || !has_peak(old));

  for (size_t i = 0; i < ft_field_count; i++) {
    const struct ft_field *field = &ft_fields[i];
    bool replace = preferred;

    if (field->group != FT_GROUP_SUBMIT && field->group != FT_GROUP_TIME &&
        field->group != FT_GROUP_MEASURED)
      continue;
    if (field->group == FT_GROUP_TIME)
      replace = true;
    if (ft_field_present(newer, field) && (replace || !ft_field_present(old, field)))
      ft_field_copy(old, newer, field);
  }
  if (measures) {
    old->source = newer->source;
    old->peak_is_bound = newer->peak_is_bound;
  }
  if (newer->submission.has_request && (preferred || !old->submission.has_request)) {
    old->submission.has_request = true;
    old->submission.request = newer->submission.request;
  }
  if (newer->submission.has_decision && (preferred || !old->submission.has_decision)) {
    old->submission.has_decision = true;
    old->submission.decision = newer->submission.decision;
  }
  if (newer->submission.schema && preferred)
    copy_unstored_fields(&old->submission, &newer->submission);
  merge_outcome(old, newer);
}
