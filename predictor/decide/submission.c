/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads policy, partition and evidence for a submission, and makes the decision. */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "predictor/core/text.h"
#include "predictor/decide/submission.h"
#include "predictor/estimate/gpu/gpu_params.h"
#include "predictor/estimate/variant.h"
#include "predictor/request/array.h"

enum { FEATURE_NAME = sizeof((ft_feature *)0)->name };

/* Returns the submitter's name if SITE has policies for users, else NULL, because looking up a name
 * reads files. */
static const char *look_up_policy_user(const ft_site *site, const struct ft_submitter *submitter)
{
  for (size_t i = 0; i < site->overrides_count; i++)
    if (site->overrides[i].user[0])
      return submitter->name(submitter->data);
  return NULL;
}

void ft_known_resolve_policy(const ft_site *site, const struct ft_submitter *submitter,
                             const ft_request *request, struct ft_submission_knowledge *known)
{
  ft_policy_resolve(site, request->partition, request->account,
                    look_up_policy_user(site, submitter), &known->policy);
}

void ft_known_read_partition(int state_fd, const ft_site *site, const ft_request *request,
                             struct ft_submission_knowledge *known)
{
  known->has_partition =
      ft_decide_partition(state_fd, site, request, &known->partition, &known->merged, NULL) == 0;
}

void ft_known_clear(struct ft_submission_knowledge *known)
{
  ft_model_lookup_clear(&known->evidence);
  ft_time_lookup_clear(&known->time);
}

int ft_known_read_evidence(int state_fd, const struct ft_submitter *submitter,
                           const ft_submission *s, const char *array, const ft_job_array *tasks,
                           bool timed, struct ft_submission_knowledge *known, struct ft_error *err)
{
  struct ft_task_list list = { .array = tasks };

  ft_time_lookup_clear(&known->time);
  if (array)
    list.count = ft_array_select_tasks(array, tasks, list.index, FT_ARRAY_ESTIMATES);
  return ft_model_lookup_read(state_fd, submitter->uid, submitter->name, submitter->data, s, &list,
                              &known->policy, timed ? &known->time : NULL, &known->evidence, err);
}

const struct ft_time_lookup *
ft_known_read_runtimes(int state_fd, const struct ft_submitter *submitter, const ft_submission *s,
                       struct ft_submission_knowledge *known, struct ft_error *err)
{
  int status = ft_time_lookup_read(state_fd, submitter->uid, submitter->name, submitter->data, s,
                                   &known->time, err);

  return status == 0 || errno == ENOENT ? &known->time : NULL;
}

int ft_known_read_time(int state_fd, const struct ft_submitter *submitter, const ft_submission *s,
                       const char *array, const ft_job_array *tasks,
                       struct ft_submission_knowledge *known, struct ft_job_time *out,
                       struct ft_error *err)
{
  struct ft_task_list list = { .array = tasks };
  bool read = ft_known_read_runtimes(state_fd, submitter, s, known, err) != NULL;

  if (array)
    list.count = ft_array_select_tasks(array, tasks, list.index, FT_ARRAY_ESTIMATES);
  out->imported = known->time.imported;
  ft_job_time_estimate(&known->time.performance, known->has_partition ? &known->partition : NULL, s,
                       &list, out);
  return read ? 0 : -1;
}

/* Returns the column NAME of MODEL; NULL: none. */
static const ft_column *find_model_column(const ft_model *model, const char *name)
{
  for (size_t j = 0; j < model->columns_count; j++)
    if (strcmp(model->columns[j].name, name) == 0)
      return &model->columns[j];
  return NULL;
}

/* Appends NAME to the comma-separated list that begins at byte FROM of LINE. Returns false if LINE
 * would exceed LIMIT bytes. */
static bool append_feature_name(char line[FT_PARAMS_LINE], size_t from, const char *name,
                                size_t limit)
{
  size_t used = strlen(line);

  if (used + strlen(name) + strlen(", ") >= limit)
    return false;
  (void)snprintf(line + used, FT_PARAMS_LINE - used, "%s%s", used > from ? ", " : "", name);
  return true;
}

/* Appends the names of MODEL's features to LINE: first those that S lacks; "..." if cut. */
static void append_known_features(const ft_model *model, const ft_submission *s,
                                  char line[FT_PARAMS_LINE])
{
  size_t from = strlen(line), length;

  for (int present = 0; present < 2; present++)
    for (size_t j = 0; j < model->columns_count; j++) {
      const char *name = model->columns[j].name;

      if (ft_is_text_feature(name) ||
          (ft_feature_find(s->features, s->features_count, name) != NULL) != present ||
          append_feature_name(line, from, name, FT_PARAMS_LINE - sizeof ", ..."))
        continue;
      length = strlen(line);
      (void)snprintf(line + length, FT_PARAMS_LINE - length, ", ...");
      return;
    }
}

/* Returns whether MODEL has a feature other than those of texts. */
static bool has_named_column(const ft_model *model)
{
  for (size_t j = 0; j < model->columns_count; j++)
    if (!ft_is_text_feature(model->columns[j].name))
      return true;
  return false;
}

/* Returns the model from which a name can be told to be misspelt if it lacks that name: a model of
 * the app itself, own or pooled, that has enough runs, has features, and has room for more. NULL:
 * none. */
static const ft_model *find_params_model(const struct ft_submission_knowledge *known)
{
  const struct ft_model_lookup *e = &known->evidence;
  const ft_model *model = e->candidate && !e->imported ? &e->candidate->model : NULL;

  if (model && (e->pooled || e->estimate->runs >= known->policy.min_runs) &&
      has_named_column(model) &&
      model->columns_count < sizeof model->columns / sizeof *model->columns)
    return model;
  return NULL;
}

bool ft_params_is_setting(const char *name, struct ft_nearest_name *nearest)
{
  struct ft_text list = ft_text_from(FT_GPU_PARAMS), piece;
  char setting[FEATURE_NAME];

  ft_nearest_name_begin(nearest, name);
  while (ft_text_until(&list, ',', &piece)) {
    if (!ft_text_copy(ft_text_trim(piece), setting, sizeof setting))
      continue;
    if (strcmp(setting, name) == 0)
      return true;
    ft_nearest_name_consider(nearest, setting);
  }
  return false;
}

bool ft_params_find_unknown(const struct ft_submission_knowledge *known, const ft_submission *s,
                            const char *params, bool with_network, char line[FT_PARAMS_LINE])
{
  struct ft_text rest = ft_text_from(params), piece, name;
  const struct ft_candidate *candidate = known->evidence.candidate;
  const ft_model *model = find_params_model(known);
  struct ft_nearest_name nearest;
  size_t unknown = 0, used;
  char copy[FEATURE_NAME];

  line[0] = '\0';
  while ((model || with_network) && ft_text_until(&rest, ',', &piece)) {
    piece = ft_text_trim(piece);
    if (!ft_text_until(&piece, '=', &name) || !ft_text_copy(name, copy, sizeof copy) ||
        !ft_feature_find(s->features, s->features_count, copy) ||
        (candidate && find_model_column(&candidate->model, copy)) ||
        (ft_params_is_setting(copy, &nearest) && with_network))
      continue;
    if (with_network && nearest.name[0]) {
      (void)snprintf(line, FT_PARAMS_LINE,
                     "%s: a feature of the app, not a setting of the network; did you mean %s?",
                     copy, nearest.name);
      return true;
    }
    unknown += append_feature_name(line, 0, copy, FT_PARAMS_LINE / 4);
  }
  if (!unknown)
    return false;
  used = strlen(line);
  if (model) {
    (void)snprintf(line + used, FT_PARAMS_LINE - used,
                   ": not %s of this app; known: ", unknown > 1 ? "features" : "a feature");
    append_known_features(model, s, line);
  } else {
    (void)snprintf(line + used, FT_PARAMS_LINE - used,
                   ": %s of the app, not of the network, whose settings are " FT_GPU_PARAMS,
                   unknown > 1 ? "features" : "a feature");
  }
  return true;
}

/* Replaces the estimate in OUT by that of NETWORK if the app has fewer than min_runs runs and no
 * bound. */
static void use_network_estimate(const ft_network *network, struct ft_submission_decision *out)
{
  struct ft_decision_input *q = &out->input;

  if (!network || network->quantiles_count != FT_ESTIMATE_LEVELS)
    return;
  if (q->estimate && (q->estimate->runs >= q->policy->min_runs || q->estimate->bound_value > 0)) {
    out->outvoted = network->subject;
    return;
  }
  out->by_network = true;
  out->host = (struct ft_estimate){ .method = "operators" };
  memcpy(out->host.quantile, network->quantiles, sizeof out->host.quantile);
  q->estimate = &out->host;
  q->tasks = NULL;
  q->model = NULL;
  q->imported_from = NULL;
  q->pooled = false;
  q->similar = q->site_prior_apps = 0;
  q->network = network->subject;
}

void ft_submission_decide(const struct ft_submission_query *q, struct ft_submission_decision *out)
{
  const struct ft_submission_knowledge *known = q->known;
  const ft_model *app = ft_model_lookup_of_app(&known->evidence);

  out->input =
      (struct ft_decision_input){ .mode = q->mode,
                                  .app = q->submission->app,
                                  .request = &q->submission->request,
                                  .policy = &known->policy,
                                  .partition = known->has_partition ? &known->partition : NULL,
                                  .merged = known->merged,
                                  .memory_is_consumable = q->site->memory_is_consumable,
                                  .rule = q->site->rule,
                                  .reads_limit = q->submission->reads_limit,
                                  .stated_bytes = q->submission->stated_bytes,
                                  .code_files = q->submission->code_files,
                                  .interactive = q->submission->interactive,
                                  .cannot_reject = q->cannot_reject,
                                  .dry_run = q->dry_run };
  out->by_network = false;
  out->outvoted = NULL;
  ft_decision_input_set(&out->input, &known->evidence, q->submission->job_name);
  if (app)
    out->input.changes = ft_recent_changes_find(app, q->submission, &out->input.changed_runs);
  use_network_estimate(q->network, out);
  ft_sizing_make(&out->input, &out->sizing);
  ft_decide(&out->input, &out->sizing, &out->decision);
}

void ft_submission_explain(const struct ft_submission_decision *decision,
                           struct ft_explanation *out)
{
  const struct ft_decision_input *q = &decision->input;

  ft_explain(q, &decision->sizing, &decision->decision, out);
  if (decision->outvoted && out->count < FT_MESSAGE_LINES)
    (void)snprintf(out->line[out->count++], FT_MESSAGE_SIZE,
                   "%s: not estimated from the model file, the recorded runs of %s count more",
                   decision->outvoted, q->app);
}
