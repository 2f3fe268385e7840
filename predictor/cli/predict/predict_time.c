/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include "predictor/cli/predict/predict_time.h"
#include "predictor/core/units.h"
#include "predictor/history/json.h"

static int mode_of(const char *text)
{
  return text[0] ? ft_mode_from_name(text) : FT_MODE_SET;
}

bool ft_predict_time_is_mode(const char *text)
{
  return !text || (mode_of(text) > FT_MODE_UNSET && mode_of(text) != FT_MODE_FORCE);
}

int ft_predict_time_find(const struct ft_asked *asked, int state_fd,
                         const struct ft_submitter *submitter, const ft_submission *submission,
                         const ft_job_array *array, struct ft_submission_knowledge *known,
                         struct ft_predict_time *out, struct ft_error *err)
{
  bool by_site = ft_time_mode(FT_MODE_UNSET, &known->policy) != FT_MODE_OFF;
  double time_min = 0;

  if (asked->time_min && !ft_units_parse_seconds(ft_text_from(asked->time_min), &time_min))
    return ft_error_set(err, "--time-min=%s: expected minutes, h:min:s or d-h:min:s",
                        asked->time_min);
  if (ft_known_read_time(state_fd, submitter, submission, asked->array, array, known, &out->time,
                         err) < 0)
    return -1;
  out->requested = asked->time_mode || by_site;
  /* without a mode the run time is reported */
  ft_time_decide(
      &(struct ft_time_query){ .mode = asked->time_mode ? (ft_mode)mode_of(asked->time_mode)
                                       : by_site        ? FT_MODE_UNSET
                                                        : FT_MODE_CHECK,
                               .submission = submission,
                               .unlimited = ft_asked_is_unlimited(asked),
                               .time_min_seconds = time_min,
                               .time = &out->time,
                               .policy = &known->policy,
                               .partition = known->has_partition ? &known->partition : NULL,
                               .dry_run = true },
      &out->decided);
  return 0;
}

void ft_predict_time_print(const struct ft_predict_time *time)
{
  struct ft_explanation said;

  if (!time->requested && !time->decided.sizing.has_evidence)
    return;
  ft_time_explain(&time->decided, &said);
  for (int i = 0; i < said.count; i++)
    printf("%s\n", said.line[i]);
}

json_t *ft_predict_time_platform(const struct ft_predict_time *time)
{
  return time->time.platform[0] ? ft_json_text(time->time.platform) : json_null();
}

json_t *ft_predict_time_decision(const struct ft_predict_time *time)
{
  const struct ft_sizing *s = &time->decided.sizing;
  ft_decision decision = { 0 };

  if (!time->requested)
    return NULL;
  ft_time_record(&time->decided, &decision);
  return json_pack("{s:s, s:o, s:o, s:s}", "action", ft_action_name(s->action), "time_seconds",
                   ft_json_number(decision.time_seconds > 0, decision.time_seconds), "p_timeout",
                   ft_json_number(decision.has_p_timeout, decision.p_timeout), "rule",
                   ft_decision_rule_name(s->rule));
}
