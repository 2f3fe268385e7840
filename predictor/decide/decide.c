/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sets the evidence in a decision's input, and fills the decision's record from its sizing. */
#include "config.h"

#include "predictor/core/text.h"
#include "predictor/decide/sizing.h"

/* Returns whether the user gave a mode that sets memory, and no memory request. */
static bool is_set_requested(const struct ft_decision_input *q)
{
  return q->mode != FT_MODE_UNSET && q->mode != FT_MODE_CHECK &&
         q->request->mem_unit == FT_MEM_NONE;
}

void ft_decision_input_set(struct ft_decision_input *input, const struct ft_model_lookup *evidence,
                           const char *job_name)
{
  const struct ft_candidate *used = evidence->candidate;
  const struct ft_estimate *own = ft_candidate_estimate(&evidence->own);

  input->estimate = evidence->estimate;
  input->pooled = evidence->pooled;
  input->similar = evidence->similar;
  input->site_prior_apps = evidence->site_prior_apps;
  input->new_app = &evidence->new_app;
  /* a change without the user's mode must be based on the app's own runs */
  if (evidence->similar && own && own->runs && !is_set_requested(input)) {
    used = &evidence->own;
    input->estimate = own;
    input->similar = 0;
  }
  input->facts = evidence->facts;
  if (evidence->imported)
    input->imported_from = job_name;
  input->model = used ? &used->model : NULL;
  if (!used || !used->tasks.count)
    return;
  input->tasks = &used->tasks;
  input->estimate = &input->tasks->each[ft_decide_largest(input->tasks, input->policy)];
}

void ft_decide(const struct ft_decision_input *input, const struct ft_sizing *sizing,
               ft_decision *out)
{
  const struct ft_estimate *e = input->estimate;

  *out = (ft_decision){ .action = sizing->action, .mode = sizing->mode, .mem_unit = sizing->unit };
  (void)ft_string_copy(sizing->reason, out->reason, sizeof out->reason);
  if (sizing->mode == FT_MODE_OFF && sizing->action != FT_ACTION_REJECT)
    return;
  out->overrode = sizing->overrides;
  if (input->facts)
    out->runs = input->facts->completed;
  if (e) {
    out->runs = e->runs;
    (void)ft_string_copy(e->method, out->method, sizeof out->method);
  }
  if (!sizing->has_evidence)
    return;
  out->rule = sizing->rule;
  if (sizing->action == FT_ACTION_SET || sizing->action == FT_ACTION_RAISE ||
      sizing->action == FT_ACTION_TRIM)
    out->mem_bytes = sizing->unit_amount;
  if (sizing->p_oom >= 0) {
    out->has_p_oom = true;
    out->p_oom = sizing->p_oom;
    out->has_p_oom_any = input->request->array_tasks > 0;
    if (out->has_p_oom_any)
      out->p_oom_any = ft_sizing_p_any_task(input, sizing->oom_bytes);
  }
  if (!sizing->has_estimate)
    return;
  out->has_p05_bytes = out->has_p50_bytes = out->has_p95_bytes = true;
  out->p05_bytes = ft_estimate_quantile(e, 0.05);
  out->p50_bytes = ft_estimate_quantile(e, 0.5);
  out->p95_bytes = ft_estimate_quantile(e, 0.95);
}
