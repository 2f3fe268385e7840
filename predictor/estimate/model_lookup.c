/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <errno.h>

#include "predictor/core/text.h"
#include "predictor/estimate/allocation.h"
#include "predictor/estimate/memory.h"
#include "predictor/estimate/model_lookup.h"
#include "predictor/estimate/new_apps/similar_apps.h"
#include "predictor/record/state_files.h"

bool ft_candidate_evaluate(struct ft_candidate *c, const ft_submission *s,
                           const struct ft_task_list *tasks, const ft_policy *policy)
{
  ft_feature features[FT_TASK_FEATURES];
  struct ft_error why;
  size_t count;

  c->has_model = true;
  if (tasks->count) {
    c->has_estimate = ft_estimate_array(&c->model, s, tasks, policy->failure_price, &c->tasks,
                                        &c->facts, &why) == 0;
    if (!c->has_estimate)
      c->tasks.count = 0;
    return c->has_estimate;
  }
  c->tasks.count = 0;
  count = ft_task_features(&c->model, s, NULL, NULL, features);
  ft_task_facts(&c->model, features, count, &c->facts);
  c->has_estimate = ft_allocate_memory(&c->model, features, count, 0, policy->failure_price,
                                       &c->alone, &c->alone.allocation_bytes, &why) == 0;
  return c->has_estimate;
}

const struct ft_estimate *ft_candidate_estimate(const struct ft_candidate *c)
{
  if (!c->has_estimate)
    return NULL;
  return c->tasks.count ? c->tasks.each : &c->alone;
}

static void clear_candidate(struct ft_candidate *c)
{
  c->has_model = c->has_estimate = false;
  c->tasks.count = 0;
  c->facts = (struct ft_facts){ .runs = 0 };
}

void ft_model_lookup_clear(struct ft_model_lookup *out)
{
  clear_candidate(&out->own);
  clear_candidate(&out->shared);
  out->candidate = NULL;
  out->estimate = NULL;
  out->facts = NULL;
  out->pooled = out->imported = false;
  out->similar = out->site_prior_apps = 0;
  out->new_app = (struct ft_new_app){ .apps = 0 };
}

void ft_model_lookup_use(struct ft_model_lookup *lookup, const struct ft_candidate *c)
{
  lookup->estimate = ft_candidate_estimate(c);
  lookup->candidate = lookup->estimate ? c : NULL;
  lookup->facts = c->facts.runs ? &c->facts : NULL;
}

/* Returns whether C is the model of all users' runs of an app. */
static bool is_pooled(const struct ft_candidate *c)
{
  return c->has_model && c->model.uid == FT_STATE_POOLED;
}

const ft_model *ft_model_lookup_of_app(const struct ft_model_lookup *lookup)
{
  if (lookup->own.has_model)
    return &lookup->own.model;
  return is_pooled(&lookup->shared) ? &lookup->shared.model : NULL;
}

/* What a lookup is for. */
struct question {
  int state_fd;
  uint32_t uid;
  const ft_submission *submission;
  const struct ft_task_list *tasks;
  const ft_policy *policy;
  struct ft_time_lookup *time; /* NULL: not wanted */
};

/* Reads the model of APP, of the user or else the pooled one, into C and evaluates it, and the run
 * times of SOURCE. Returns 0, also without a model or estimate; -1 and fills ERR if the model
 * cannot be read. */
static int read_candidate(const struct question *q, enum ft_time_source source, const char *app,
                          struct ft_candidate *c, struct ft_error *err)
{
  if (ft_time_lookup_source(q->state_fd, q->uid, source, app, &c->model, q->time, err) < 0)
    return errno == ENOENT ? 0 : -1;
  (void)ft_candidate_evaluate(c, q->submission, q->tasks, q->policy);
  return 0;
}

/* Fills C, which is clear, with the model of the app or, if there is no run of it, with that of its
 * former names. Sets *POOLED if the pooled model of the app was looked for. Returns 0; -1 and fills
 * ERR if a model cannot be read. */
static int read_own(const struct question *q, struct ft_candidate *c, bool *pooled,
                    struct ft_error *err)
{
  const ft_submission *s = q->submission;
  int status = read_candidate(q, FT_TIME_APP, s->app, c, err);

  *pooled = !c->has_model || is_pooled(c);
  for (size_t i = 0; !status && !c->has_estimate && !c->facts.runs && i < s->former_apps_count; i++)
    status = read_candidate(q, FT_TIME_FORMER + i, s->former_apps[i], c, err);
  return status;
}

/* Fills C, which is clear, with the pooled model of the app, unless it was looked for (POOLED), or,
 * for an app without a name of its own, with the model of the runs imported for the job's name of
 * USER(DATA). */
static void read_shared(const struct question *q, const char *(*user)(void *), void *data,
                        bool pooled, struct ft_candidate *c)
{
  const ft_submission *s = q->submission;
  char app[sizeof s->app];
  struct ft_error why;

  if (!s->default_app) {
    if (!pooled && ft_state_read_shared(q->state_fd, s->app, &c->model, &why) == 0)
      (void)ft_candidate_evaluate(c, s, q->tasks, q->policy);
  } else if (ft_is_imported_by_name(s)) {
    ft_state_imported_app(user(data), q->uid, s->job_name, app);
    (void)read_candidate(q, FT_TIME_IMPORTED, app, c, &why);
  }
}

/* Sets OUT's estimate to that of similar apps or, if the app has no run either, to the site-wide
 * prior. Leaves OUT's estimate without these. */
static void estimate_from_others(const struct question *q, struct ft_model_lookup *out)
{
  const struct ft_estimate *own =
      out->estimate && out->estimate->runs + out->estimate->stopped ? out->estimate : NULL;

  out->similar =
      ft_similar_apps_estimate(q->state_fd, q->uid, q->submission, q->tasks, own, &out->others);
  if (!out->similar && !own)
    out->site_prior_apps = ft_similar_apps_estimate_all(q->state_fd, &out->others);
  if (!out->similar && !out->site_prior_apps)
    return;
  out->estimate = &out->others;
  out->candidate = NULL;
}

/* Returns whether the shared estimate can replace OWN, the estimate from the app's own runs (NULL:
 * none). */
static bool shared_replaces(const struct ft_candidate *shared, const struct ft_estimate *own,
                            const ft_policy *policy)
{
  const struct ft_estimate *e = ft_candidate_estimate(shared);

  return e && e->runs >= policy->min_runs &&
         (!own || own->max_value <= ft_estimate_quantile(e, 0.95));
}

int ft_model_lookup_read(int state_fd, uint32_t uid, const char *(*user)(void *data), void *data,
                         const ft_submission *s, const struct ft_task_list *tasks,
                         const ft_policy *policy, struct ft_time_lookup *time,
                         struct ft_model_lookup *out, struct ft_error *err)
{
  const struct question q = { state_fd, uid, s, tasks, policy, time };
  const struct ft_estimate *own;
  bool pooled;

  ft_model_lookup_clear(out);
  if (read_own(&q, &out->own, &pooled, err) < 0) {
    ft_model_lookup_clear(out);
    return -1;
  }
  ft_model_lookup_use(out, &out->own);
  own = out->estimate;
  out->pooled = own && is_pooled(&out->own);
  /* a limit that killed the app's own run is better evidence than other apps */
  if ((own ? own->runs : 0) >= policy->min_runs || out->pooled || (own && own->bound_value > 0))
    return 0;
  read_shared(&q, user, data, pooled, &out->shared);
  if (shared_replaces(&out->shared, own, policy)) {
    out->candidate = &out->shared;
    out->estimate = ft_candidate_estimate(&out->shared);
    out->imported = s->default_app;
    out->pooled = !s->default_app;
    return 0;
  }
  /* imported runs may show a bound, but no estimate */
  if (!out->facts && out->shared.facts.runs && out->shared.facts.partial)
    out->facts = &out->shared.facts;
  if (policy->borrow)
    estimate_from_others(&q, out);
  if (!out->facts && (!out->estimate || out->site_prior_apps))
    ft_new_app_read(state_fd, uid, s, policy->other_users, &out->new_app);
  return 0;
}
