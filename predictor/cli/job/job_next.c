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

/* Returns whether the recommended AMOUNT differs enough from the current request to be shown. */
static bool is_worth_recommending(const struct ft_sizing *sizing, uint64_t amount)
{
  bool changes =
      !sizing->limit || (sizing->too_low && sizing->amount > sizing->limit) || sizing->too_high;

  return sizing->has_evidence && changes && amount > 0 && !(sizing->p_amount > 0.5);
}

/* Decides about the time limit of NEXT's submission. Returns 0; -1 and fills ERR. */
static int find_next_time(int state_fd, const struct ft_submitter *submitter, struct ft_next *next,
                          struct ft_error *err)
{
  if (ft_known_read_time(state_fd, submitter, &next->submission, NULL, NULL, &next->known,
                         &next->time, err) < 0)
    return -1;
  ft_time_decide(&(struct ft_time_query){ .mode = FT_MODE_CHECK,
                                          .submission = &next->submission,
                                          .time = &next->time,
                                          .policy = &next->known.policy,
                                          .partition = next->known.has_partition
                                                           ? &next->known.partition
                                                           : NULL,
                                          .cannot_reject = true,
                                          .dry_run = true },
                 &next->timed);
  if (!next->timed.sizing.has_evidence)
    return 0;
  next->time_advised = is_worth_recommending(&next->timed.sizing, next->timed.sizing.amount);
  ft_time_explain(&next->timed, &next->time_said);
  return 0;
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
  next->advised = is_worth_recommending(&next->decided.sizing, next->decided.sizing.unit_amount);
  return find_next_time(state_fd, &submitter, next, err);
}

const char *ft_next_option(const struct ft_next *next, char out[48])
{
  const struct ft_sizing *sizing = &next->decided.sizing;
  char amount[32];

  (void)snprintf(out, 48, "%s=%s", ft_message_option(sizing->unit),
                 ft_units_slurm_bytes(sizing->unit_amount, amount, sizeof amount));
  return out;
}

const char *ft_next_time_option(const struct ft_next *next, char out[48])
{
  char value[FT_TIME_VALUE];

  (void)snprintf(out, 48, "--time=%s", ft_time_value((double)next->timed.sizing.amount, value));
  return out;
}

json_t *ft_next_json(const struct ft_next *next)
{
  const struct ft_sizing *sizing = &next->decided.sizing;
  const struct ft_sizing *time = &next->timed.sizing;
  json_t *lines = json_array();
  char option[48], time_option[48];

  for (int i = 0; i < next->said.count; i++)
    json_array_append_new(lines, ft_json_text(next->said.line[i]));
  for (int i = 0; i < next->time_said.count; i++)
    json_array_append_new(lines, ft_json_text(next->time_said.line[i]));
  return json_pack(
      "{s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "mem_bytes",
      ft_json_number(next->advised, (double)sizing->unit_amount), "option",
      next->advised ? json_string(ft_next_option(next, option)) : json_null(), "p_oom",
      ft_json_number(next->advised && sizing->p_amount >= 0, sizing->p_amount), "lines", lines,
      "time_seconds", ft_json_number(next->time_advised, (double)time->amount), "time_option",
      next->time_advised ? json_string(ft_next_time_option(next, time_option)) : json_null(),
      "p_timeout", ft_json_number(next->time_advised && time->p_amount >= 0, time->p_amount));
}
