/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "predictor/decide/time_decision.h"

#define MINUTE 60
/* A job without a time limit, for Slurm's scheduler: YEAR_SECONDS of its slurm.h. */
#define UNLIMITED_SECONDS (365 * 86400.0)

ft_mode ft_time_mode(ft_mode given, const ft_policy *policy)
{
  ft_mode mode = given == FT_MODE_UNSET ? policy->time_mode : given;

  return mode == FT_MODE_UNSET ? FT_MODE_OFF : mode;
}

static uint64_t round_up_to_minutes(double seconds)
{
  return (uint64_t)ceil(fmin(fmax(seconds, 0), UNLIMITED_SECONDS) / MINUTE) * MINUTE;
}

/* Sets the limit without foretell, and the largest one that the partition allows. */
static void find_time_limit(const struct ft_time_query *q, struct ft_time_decision *out)
{
  const ft_partition *p = q->partition;
  double limit = q->submission->request.time_limit_seconds;
  struct ft_sizing *s = &out->sizing;

  out->given = limit > 0 || q->unlimited;
  s->limit_kind = out->given ? FT_LIMIT_REQUESTED : FT_LIMIT_DEFAULT;
  if (!out->given && p)
    limit = p->default_seconds > 0 ? p->default_seconds : p->max_seconds;
  if (!out->given && !p)
    s->limit_kind = FT_LIMIT_UNKNOWN;
  out->unlimited = !(limit > 0) && s->limit_kind != FT_LIMIT_UNKNOWN;
  s->limit = round_up_to_minutes(out->unlimited ? UNLIMITED_SECONDS : limit);
  s->max = p && p->max_seconds > 0 ? (uint64_t)p->max_seconds : 0;
  out->request = (ft_request){ .mem_unit = out->given ? FT_MEM_NODE : FT_MEM_NONE,
                               .mem_bytes = s->limit,
                               .array_tasks = q->submission->request.array_tasks };
}

/* Sets the policy of memory to that of time. */
static void set_time_policy(const struct ft_time_query *q, ft_policy *policy)
{
  *policy = *q->policy;
  policy->mode = policy->time_mode;
  policy->oom_probability = policy->timeout_probability;
  policy->round_bytes = MINUTE;
  policy->floor_bytes = round_up_to_minutes(fmax(q->time_min_seconds, MINUTE));
  policy->leak_runs = 0;
}

void ft_time_decide(const struct ft_time_query *q, struct ft_time_decision *out)
{
  const struct ft_job_time *time = q->time;

  out->time = time;
  out->partition = q->partition;
  set_time_policy(q, &out->policy);
  out->input =
      (struct ft_decision_input){ .mode = q->mode,
                                  .app = q->submission->app,
                                  .request = &out->request,
                                  .estimate = ft_job_time_longest(time),
                                  .tasks = time->tasks.count ? &time->tasks : NULL,
                                  .imported_from = time->imported ? q->submission->job_name : NULL,
                                  .pooled = time->pooled,
                                  .facts = time->facts.runs ? &time->facts : NULL,
                                  .interactive = q->submission->interactive,
                                  .cannot_reject = q->cannot_reject,
                                  .dry_run = q->dry_run,
                                  .policy = &out->policy,
                                  .memory_is_consumable = true,
                                  .rule = FT_RULE_UNKNOWN };
  ft_sizing_init(&out->input, MINUTE, &out->sizing);
  out->sizing.enforced = true;
  find_time_limit(q, out);
  /* unlike with memory, a job that the site or the user leaves alone is not rejected */
  if (out->sizing.mode != FT_MODE_OFF)
    ft_sizing_apply_rules(&out->input, &out->sizing);
}

bool ft_time_is_changed(const struct ft_time_decision *d)
{
  return d->sizing.action == FT_ACTION_SET || d->sizing.action == FT_ACTION_RAISE ||
         d->sizing.action == FT_ACTION_TRIM;
}

void ft_time_record(const struct ft_time_decision *d, ft_decision *into)
{
  const struct ft_sizing *s = &d->sizing;

  into->time_mode = s->mode;
  into->time_action = s->action;
  into->time_seconds = ft_time_is_changed(d) ? (double)s->amount : 0;
  into->has_p_timeout = s->p_oom >= 0;
  into->p_timeout = s->p_oom >= 0 ? s->p_oom : 0;
  into->has_p05_seconds = into->has_p50_seconds = into->has_p95_seconds = s->has_estimate;
  if (!s->has_estimate)
    return;
  into->p05_seconds = ft_estimate_quantile(d->input.estimate, 0.05);
  into->p50_seconds = ft_estimate_quantile(d->input.estimate, 0.5);
  into->p95_seconds = ft_estimate_quantile(d->input.estimate, 0.95);
}

const char *ft_time_value(double seconds, char out[FT_TIME_VALUE])
{
  unsigned long all = (unsigned long)fmin(fmax(ceil(seconds), 0), 1e12);
  unsigned long days = all / 86400, hours = all / 3600 % 24, minutes = all / MINUTE % 60;

  if (days)
    (void)snprintf(out, FT_TIME_VALUE, "%lu-%02lu:%02lu:%02lu", days, hours, minutes, all % MINUTE);
  else if (hours)
    (void)snprintf(out, FT_TIME_VALUE, "%lu:%02lu:%02lu", hours, minutes, all % MINUTE);
  else if (all % MINUTE)
    (void)snprintf(out, FT_TIME_VALUE, "%lu:%02lu", minutes, all % MINUTE);
  else
    (void)snprintf(out, FT_TIME_VALUE, "%lu", minutes);
  return out;
}
