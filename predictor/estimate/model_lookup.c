/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <errno.h>

#include "predictor/core/text.h"
#include "predictor/estimate/allocation.h"
#include "predictor/estimate/memory.h"
#include "predictor/estimate/model_lookup.h"
#include "predictor/estimate/similar_apps.h"
#include "predictor/record/state_files.h"

/* Job names that Slurm or a shell assigns by default; they do not identify an app. */
static const char *const generic_names[] = { "wrap", "interactive", "bash", "sh", "sbatch", NULL };

bool ft_model_lookup_evaluate(const ft_model *model, const ft_submission *s,
                              const ft_policy *policy, struct ft_model_lookup *out,
                              struct ft_facts *facts)
{
  ft_feature features[FT_TASK_FEATURES];
  struct ft_error why;
  size_t count;

  if (out->tasks.count) {
    out->estimate = out->tasks.each;
    return ft_estimate_array(model, s, policy->failure_price, &out->tasks, facts, &why) == 0;
  }
  out->estimate = &out->alone;
  count = ft_task_features(model, s, NULL, features);
  ft_task_facts(model, features, count, facts);
  return ft_allocate_memory(model, features, count, 0, policy->failure_price, &out->alone,
                            &out->alone.allocation_bytes, &why) == 0;
}

/* Evaluates out->model as ft_model_lookup_evaluate, for all selected tasks: an earlier model may
 * have needed only the first. */
static bool evaluate_all_tasks(const ft_submission *s, const ft_policy *policy,
                               struct ft_model_lookup *out, struct ft_facts *facts)
{
  out->tasks.count = out->selected;
  return ft_model_lookup_evaluate(&out->model, s, policy, out, facts);
}

/* Reads the model of APP, of user UID or else the pooled one, and evaluates it. Returns 1; 0 if
 * there is no model or estimate; -1 and fills ERR if the model cannot be read. */
static int read_and_evaluate(int state_fd, uint32_t uid, const char *app, const ft_submission *s,
                             const ft_policy *policy, struct ft_model_lookup *out,
                             struct ft_facts *facts, struct ft_error *err)
{
  if (ft_state_read_evaluator(state_fd, uid, app, &out->model, err) < 0)
    return errno == ENOENT ? 0 : -1;
  return evaluate_all_tasks(s, policy, out, facts);
}

/* As read_and_evaluate, for the app of S or, if there is no run of it, for its former names. */
static int find_own_model(int state_fd, uint32_t uid, const ft_submission *s,
                          const ft_policy *policy, struct ft_model_lookup *out,
                          struct ft_error *err)
{
  int found = read_and_evaluate(state_fd, uid, s->app, s, policy, out, &out->facts, err);

  for (size_t i = 0; !found && !out->facts.runs && i < s->former_apps_count; i++)
    found = read_and_evaluate(state_fd, uid, s->former_apps[i], s, policy, out, &out->facts, err);
  return found;
}

/* Evaluates the pooled model of the app or, for an app without a name of its own, the model of the
 * runs imported for the job's name, and fills FACTS. Returns false without an estimate. */
static bool find_shared_model(int state_fd, uint32_t uid, const char *(*user)(void *), void *data,
                              const ft_submission *s, const ft_policy *policy,
                              struct ft_model_lookup *out, struct ft_facts *facts)
{
  char app[sizeof s->app];
  struct ft_error why;

  *facts = (struct ft_facts){ .runs = 0 };
  if (!s->default_app)
    return ft_state_read_shared(state_fd, s->app, &out->model, &why) == 0 &&
           evaluate_all_tasks(s, policy, out, facts);
  if (!s->job_name[0] || ft_string_listed(generic_names, s->job_name))
    return false;
  ft_state_imported_app(user(data), uid, s->job_name, app);
  return read_and_evaluate(state_fd, uid, app, s, policy, out, facts, &why) > 0;
}

/* Sets OUT's estimate to that of similar apps or, if the app has no run either, to the site-wide
 * prior. Leaves OUT's estimate without these. */
static void estimate_from_others(int state_fd, uint32_t uid, const ft_submission *s,
                                 struct ft_model_lookup *out)
{
  out->own = out->estimate && out->estimate->runs ? out->estimate : NULL;
  out->similar = ft_similar_apps_estimate(state_fd, uid, s, out->tasks.index, out->selected,
                                          out->own, &out->model, &out->others);
  if (!out->similar && !out->own)
    out->site_prior_apps = ft_similar_apps_estimate_all(state_fd, &out->others);
  if (out->similar || out->site_prior_apps)
    out->estimate = &out->others;
}

int ft_model_lookup_read(int state_fd, uint32_t uid, const char *(*user)(void *data), void *data,
                         const ft_submission *s, const ft_policy *policy,
                         struct ft_model_lookup *out, struct ft_error *err)
{
  const struct ft_estimate *own_estimate;
  double own_peak = 0;
  struct ft_facts shared;
  unsigned runs = 0;
  int own;

  out->imported = out->pooled = false;
  out->similar = out->site_prior_apps = 0;
  out->own = NULL;
  out->selected = out->tasks.count;
  out->facts = (struct ft_facts){ .runs = 0 };
  own = find_own_model(state_fd, uid, s, policy, out, err);
  if (own < 0)
    return -1;
  if (own) {
    runs = out->estimate->runs;
    own_peak = out->estimate->max_bytes;
    out->pooled = out->model.uid == FT_STATE_POOLED;
  }
  /* a limit that killed the app's own run is better evidence than other apps */
  if (runs >= policy->min_runs || out->pooled || (own && out->estimate->bound_bytes > 0)) {
    if (!own)
      out->estimate = NULL;
    return 0;
  }
  own_estimate = own ? out->estimate : NULL;
  out->estimate = NULL;
  if (find_shared_model(state_fd, uid, user, data, s, policy, out, &shared) &&
      out->estimate->runs >= policy->min_runs &&
      own_peak <= ft_estimate_quantile(out->estimate, 0.95)) {
    out->imported = s->default_app;
    out->pooled = !s->default_app;
    return 0;
  }
  /* imported runs may show a bound, but no estimate */
  if (!out->facts.runs && shared.partial)
    out->facts = shared;
  /* back to the app's own model; out->model was overwritten if the other one was evaluated */
  if (!out->estimate)
    out->estimate = own_estimate;
  else if (!own || find_own_model(state_fd, uid, s, policy, out, err) <= 0)
    out->estimate = NULL;
  if (policy->borrow)
    estimate_from_others(state_fd, uid, s, out);
  return 0;
}
