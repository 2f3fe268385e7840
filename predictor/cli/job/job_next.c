/* SPDX-License-Identifier: GPL-3.0-or-later */
/* foretell job: the request recommended for the next run. */
#include "config.h"

#include "predictor/cli/cli.h"
#include "predictor/cli/job/job_next.h"
#include "predictor/core/units.h"
#include "predictor/history/json.h"

static const char *user_name_of(void *observation)
{
  return ((const ft_observation *)observation)->user;
}

/* Returns whether the recommended request differs enough from the current one to be shown. */
static bool is_worth_recommending(const struct ft_sizing *sizing)
{
  bool changes =
      !sizing->limit || (sizing->too_low && sizing->amount > sizing->limit) || sizing->too_high;

  return sizing->has_evidence && changes && sizing->unit_amount > 0 && !(sizing->p_amount > 0.5);
}

int ft_next_find(const char *command, int state_fd, const struct ft_config *config,
                 const ft_observation *o, struct ft_next *next, struct ft_error *err)
{
  const struct ft_submitter submitter = { o->uid, user_name_of, (void *)(uintptr_t)o };
  const struct ft_submission_query question = { .site = &next->site,
                                                .submission = &next->submission,
                                                .known = &next->known,
                                                .mode = FT_MODE_CHECK,
                                                .cannot_reject = true, /* nothing is submitted */
                                                .dry_run = true };
  const ft_request *request = &next->submission.request;

  next->submission = o->submission;
  next->submission.has_request = true; /* an unknown request counts as an empty one */
  if (ft_read_site(command, state_fd, config, &next->site, &next->apps, err) < 0)
    return -1;
  ft_known_resolve_policy(&next->site, &submitter, request, &next->known);
  ft_known_read_partition(state_fd, &next->site, request, &next->known);
  if (ft_known_read_evidence(state_fd, &submitter, &next->submission, NULL, NULL, false,
                             &next->known, err) < 0)
    return -1;
  ft_submission_decide(&question, &next->decided);
  ft_submission_explain(&next->decided, &next->said);
  ft_grounds_find(&question, &next->decided, &next->grounds);
  next->advised = is_worth_recommending(&next->decided.sizing);
  return 0;
}

const char *ft_next_option(const struct ft_next *next, char out[48])
{
  const struct ft_sizing *sizing = &next->decided.sizing;
  char amount[32];

  (void)snprintf(out, 48, "%s=%s", ft_message_option(sizing->unit),
                 ft_units_slurm_bytes(sizing->unit_amount, amount, sizeof amount));
  return out;
}

json_t *ft_next_json(const struct ft_next *next)
{
  const struct ft_sizing *sizing = &next->decided.sizing;
  json_t *lines = json_array();
  char option[48];

  for (int i = 0; i < next->said.count; i++)
    json_array_append_new(lines, ft_json_text(next->said.line[i]));
  return json_pack("{s:o, s:o, s:o, s:o}", "mem_bytes",
                   ft_json_number(next->advised, (double)sizing->unit_amount), "option",
                   next->advised ? json_string(ft_next_option(next, option)) : json_null(), "p_oom",
                   ft_json_number(next->advised && sizing->p_amount >= 0, sizing->p_amount),
                   "lines", lines);
}
