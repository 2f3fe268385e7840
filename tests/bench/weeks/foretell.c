/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * foretell as a policy: models in memory instead of files, the decision function and the learner.
 * Similar apps are not pooled, because their models would have to be files.
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
  const char *without;
  ft_model **model; /* by app; NULL: no run has ended */
};

static void *make(const struct weeks_stream *stream, const char *without)
{
  struct foretell *f = calloc(1, sizeof *f);

  if (!f)
    return NULL;
  *f = (struct foretell){ .stream = stream,
                          .without = without,
                          .model = calloc(stream->apps + 1, sizeof(ft_model *)) };
  if (f->model)
    return f;
  free(f);
  return NULL;
}

static void free_foretell(void *state)
{
  struct foretell *f = state;

  for (size_t i = 0; i < f->stream->apps; i++)
    free(f->model[i]);
  free(f->model);
  free(f);
}

/* ---- rules that are switched off ---- */

static bool is_off(const char *without, const char *rule)
{
  return without && strcmp(without, rule) == 0;
}

/* Switches a rule off through its input: the policy's number, the fact, or the given request. A
 * given request counts as absent if the mode lets memory be set. */
static void switch_off(const char *without, ft_submission *submission,
                       struct ft_submission_knowledge *known)
{
  struct ft_facts *facts = &known->evidence.facts;

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
    known->evidence.estimate = NULL;
  else if (is_off(without, "floor"))
    *facts = (struct ft_facts){ .runs = facts->runs,
                                .completed = facts->completed,
                                .like_sure_bytes = facts->like_sure_bytes,
                                .like_killed_bytes = facts->like_killed_bytes,
                                .growing_kills = facts->growing_kills };
}

/* ---- the decision ---- */

/* The only call of foretell in this benchmark: decides SUBMISSION on SITE in MODE
 * (FT_MODE_UNSET: the site's). MODEL is the app's model (NULL: none); KNOWN's evidence has the
 * indices of the array tasks. Rule WITHOUT (NULL: none) is off. */
static void decide_submission(ft_submission *submission, const struct weeks_site *site,
                              ft_mode mode, const ft_model *model, const char *without,
                              struct ft_submission_knowledge *known, ft_decision *out)
{
  static struct ft_submission_decision decision;
  static ft_site foretell_site;
  struct ft_submission_question question = {
    .site = &foretell_site, .submission = submission, .known = known, .mode = mode
  };

  weeks_make_site(site, &foretell_site, &known->partition);
  known->has_partition = true;
  known->policy = foretell_site.policy;
  known->evidence.estimate = NULL;
  known->evidence.facts = (struct ft_facts){ .runs = 0 };
  if (model && !ft_model_lookup_evaluate(model, submission, &known->policy, &known->evidence,
                                         &known->evidence.facts))
    known->evidence.estimate = NULL;
  switch_off(without, submission, known);
  ft_submission_decide(&question, &decision);
  *out = decision.decision;
}

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

static int decide(void *state, const struct weeks_world *w, struct weeks_attempt *a,
                  struct ft_error *err)
{
  struct foretell *f = state;
  const struct weeks_submission *s = &w->stream->submission[a->submission];
  const struct weeks_site *site = &w->stream->site[w->stream->app[s->app].site];
  static struct ft_submission_knowledge known;
  static ft_submission submission;
  struct ft_array_estimates *elements = &known.evidence.elements;
  bool own_mode = s->typed_mode == FT_MODE_UNSET && a->mode == site->mode;
  ft_decision decision;

  (void)err;
  weeks_make_submission(w, a, &submission);
  elements->count = 0;
  for (uint32_t i = 0; s->array && i < s->tasks && elements->count < FT_ARRAY_ESTIMATES; i++)
    if (!w->done[s->first_task + i])
      elements->index[elements->count++] = i;
  decide_submission(&submission, site, own_mode ? FT_MODE_UNSET : a->mode, f->model[s->app],
                    f->without, &known, &decision);
  note_decision(s, &decision, a);
  /* no node has more: Slurm would reject the job */
  if (a->given_bytes > site->node_bytes)
    a->given_bytes = site->node_bytes;
  return 0;
}

static int learn(void *state, const struct weeks_world *w, const struct weeks_result *r,
                 struct ft_error *err)
{
  struct foretell *f = state;
  const struct weeks_submission *s = &w->stream->submission[w->attempt[r->attempt].submission];
  const struct weeks_app *app = &w->stream->app[s->app];
  ft_model **model = &f->model[s->app];
  static ft_observation observation;

  if (!*model) {
    *model = malloc(sizeof **model);
    if (!*model)
      return ft_error_errno(err, "a model");
    ft_online_init(*model, app->name, 1000 + app->user, FT_RULE_CGROUP);
  }
  weeks_make_observation(w, r, &observation);
  return ft_online_update(*model, &observation, err) < 0 ? -1 : 0;
}

const struct weeks_policy weeks_foretell = { "foretell", make, decide, learn, free_foretell };
