/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * foretell as a policy: the decision function and the learner, with models in memory instead of
 * files. Similar apps are not pooled, because that reads model files.
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/core/text.h"
#include "predictor/decide/submission.h"
#include "predictor/online/online.h"
#include "tests/bench/weeks/policies.h"
#include "tests/bench/weeks/records.h"

struct foretell {
  const struct weeks_stream *stream;
  const char *without; /* rule that is off; NULL: none */
  struct learnt {
    ft_model model;
    struct ft_history history;
  } * *app; /* NULL: no run has ended */
};

static void *make_foretell(const struct weeks_stream *stream, const char *without)
{
  struct foretell *f = calloc(1, sizeof *f);

  if (!f)
    return NULL;
  *f = (struct foretell){ .stream = stream,
                          .without = without,
                          .app = calloc(stream->apps + 1, sizeof(struct learnt *)) };
  if (f->app)
    return f;
  free(f);
  return NULL;
}

static void free_foretell(void *state)
{
  struct foretell *f = state;

  for (size_t i = 0; i < f->stream->apps; i++)
    free(f->app[i]);
  free(f->app);
  free(f);
}

/* ---- rules that are switched off ---- */

static bool is_off(const char *without, const char *rule)
{
  return without && strcmp(without, rule) == 0;
}

/* Switches rule WITHOUT off through its input: a number of the policy, a fact, or the request. */
static void switch_off(const char *without, ft_submission *submission,
                       struct ft_submission_knowledge *known)
{
  struct ft_facts *facts = &known->evidence.own.facts;

  if (is_off(without, "request"))
    submission->request.mem_unit = FT_MEM_NONE;
  else if (is_off(without, "default"))
    known->policy.trim_runs = 1;
  else if (is_off(without, "maximum"))
    known->partition.nodes_count = 0;
  else if (is_off(without, "leak"))
    known->policy.leak_runs = 0;
  else if (is_off(without, "ceiling"))
    known->policy.ceiling_factor = INFINITY;
  else if (is_off(without, "estimate"))
    known->evidence.own.has_estimate = false;
  else if (is_off(without, "floor"))
    *facts = (struct ft_facts){ .runs = facts->runs,
                                .completed = facts->completed,
                                .comparable_min_value = facts->comparable_min_value,
                                .comparable_killed_value = facts->comparable_killed_value,
                                .growing_kills = facts->growing_kills };
}

/* ---- the decision ---- */

/* Decides SUBMISSION on SITE in MODE (FT_MODE_UNSET: the site's) with rule WITHOUT (NULL: none)
 * off. MODEL: the app's model (NULL: none); TASKS: of the job array; KNOWN: working memory.
 * This is the only call of foretell's decision in this benchmark. */
static void decide_submission(ft_submission *submission, const struct weeks_site *site,
                              ft_mode mode, const ft_model *model, const struct ft_task_list *tasks,
                              const char *without, struct ft_submission_knowledge *known,
                              ft_decision *out)
{
  static struct ft_submission_decision decision;
  static ft_site foretell_site;
  struct ft_submission_query question = {
    .site = &foretell_site, .submission = submission, .known = known, .mode = mode
  };

  weeks_make_site(site, &foretell_site, &known->partition);
  known->has_partition = true;
  known->policy = foretell_site.policy;
  ft_model_lookup_clear(&known->evidence);
  if (model) {
    known->evidence.own.model = *model;
    (void)ft_candidate_evaluate(&known->evidence.own, submission, tasks, &known->policy);
  }
  switch_off(without, submission, known);
  ft_model_lookup_use(&known->evidence, &known->evidence.own);
  ft_submission_decide(&question, &decision);
  *out = decision.decision;
}

/* Copies the decision D to attempt A. */
static void note_decision(const struct weeks_submission *s, const ft_decision *d,
                          struct weeks_attempt *a)
{
  a->action = d->action;
  a->rule = d->rule;
  a->p_oom = d->has_p_oom ? d->p_oom : -1;
  (void)ft_string_copy(d->reason, a->reason, sizeof a->reason);
  if (d->action == FT_ACTION_SET || d->action == FT_ACTION_RAISE || d->action == FT_ACTION_TRIM)
    a->given_bytes = d->mem_bytes * (d->mem_unit == FT_MEM_CPU ? s->cpus : 1);
}

static int decide_foretell(void *state, const struct weeks_world *w, struct weeks_attempt *a,
                           struct ft_error *err)
{
  struct foretell *f = state;
  const struct weeks_submission *s = &w->stream->submission[a->submission];
  const struct weeks_site *site = &w->stream->site[w->stream->app[s->app].site];
  static struct ft_submission_knowledge known;
  static ft_submission submission;
  static ft_job_array array;
  struct ft_task_list tasks = { .array = &array };
  bool own_mode = s->typed_mode == FT_MODE_UNSET && a->mode == site->mode;
  ft_decision decision;

  (void)err;
  weeks_make_submission(w, a, &submission, &array);
  for (uint32_t i = 0; s->array && i < s->tasks && tasks.count < FT_ARRAY_ESTIMATES; i++)
    if (!w->done[s->first_task + i])
      tasks.index[tasks.count++] = i;
  decide_submission(&submission, site, own_mode ? FT_MODE_UNSET : a->mode,
                    f->app[s->app] ? &f->app[s->app]->model : NULL, &tasks, f->without, &known,
                    &decision);
  note_decision(s, &decision, a);
  /* Slurm would reject a job above the memory of every node. */
  if (a->given_bytes > site->node_bytes)
    a->given_bytes = site->node_bytes;
  return 0;
}

static int learn_foretell(void *state, const struct weeks_world *w, const struct weeks_result *r,
                          struct ft_error *err)
{
  struct foretell *f = state;
  const struct weeks_submission *s = &w->stream->submission[w->attempt[r->attempt].submission];
  const struct weeks_app *app = &w->stream->app[s->app];
  struct learnt **learnt = &f->app[s->app];
  static ft_observation observation;

  if (!*learnt) {
    *learnt = malloc(sizeof **learnt);
    if (!*learnt)
      return ft_error_errno(err, "a model");
    ft_online_init(&(*learnt)->model, &(*learnt)->history, app->name, 1000 + app->user,
                   FT_RULE_CGROUP);
  }
  weeks_make_observation(w, r, &observation);
  return ft_online_update(&(*learnt)->model, &(*learnt)->history, &observation, err) < 0 ? -1 : 0;
}

const struct weeks_policy weeks_foretell = { "foretell", make_foretell, decide_foretell,
                                             learn_foretell, free_foretell };
