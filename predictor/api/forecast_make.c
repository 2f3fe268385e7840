/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Predictions and decisions from a state directory, as foretell.h declares them. */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "predictor/api/job_request.h"
#include "predictor/core/text.h"
#include "predictor/decide/forecast.h"
#include "predictor/decide/submission.h"
#include "predictor/estimate/memory.h"
#include "predictor/record/state_files.h"
#include "predictor/request/file_facts.h"
#include "predictor/site/site_state.h"

struct ft_predictor {
  int state_fd;
  struct ft_config config; /* for a state directory without a site file */
};

ft_predictor *ft_predictor_open(const char *directory, struct ft_error *err)
{
  ft_predictor *predictor = malloc(sizeof *predictor);

  if (!predictor) {
    ft_error_errno(err, "ft_predictor_open");
    return NULL;
  }
  predictor->state_fd = ft_open_state(directory, &predictor->config, err);
  if (predictor->state_fd < 0) {
    free(predictor);
    return NULL;
  }
  return predictor;
}

void ft_predictor_close(ft_predictor *predictor)
{
  if (!predictor)
    return;
  close(predictor->state_fd);
  free(predictor);
}

ft_prediction *ft_predict_memory(ft_predictor *predictor, uint32_t uid, const char *app,
                                 const struct ft_value *values, size_t count, struct ft_error *err)
{
  enum { LIMIT = sizeof((ft_submission *)NULL)->features / sizeof(ft_feature) };
  ft_feature features[LIMIT];
  pb_size_t used = 0;
  ft_prediction *prediction = calloc(1, sizeof *prediction);
  ft_model *model = calloc(1, sizeof *model);

  if (!prediction || !model) {
    ft_error_errno(err, "ft_predict_memory");
    goto fail;
  }
  for (size_t i = 0; i < count; i++) {
    const struct ft_value *v = &values[i];
    bool added = v->category ? ft_feature_category(features, &used, LIMIT, v->name, v->category)
                             : ft_feature_number(features, &used, LIMIT, v->name, v->number);

    if (!added) {
      ft_error_set(err, "%s: not a finite number, or more than %d values", v->name, (int)LIMIT);
      goto fail;
    }
  }
  if (ft_state_read_evaluator(predictor->state_fd, uid, app, model, err) < 0 ||
      ft_estimate_memory(model, features, used, &prediction->estimate, err) < 0)
    goto fail;
  prediction->quantity = &ft_quantities[FT_QUANTITY_MEMORY];
  free(model);
  return prediction;
fail:
  free(model);
  free(prediction);
  return NULL;
}

void ft_prediction_free(ft_prediction *prediction)
{
  free(prediction);
}

/* ---- all quantities and the decision ---- */

/* Upper limit of declared apps, the user's and the site's. */
enum { DECLARED_APPS = 64 };

/* What a forecast is made of; allocated because of its size. */
struct forecast_work {
  ft_site site;
  ft_apps site_apps;
  ft_declared_app apps[DECLARED_APPS];
  ft_submission submission;
  ft_job_array tasks;
  struct ft_submission_knowledge known;
  struct ft_submission_decision decided;
  struct ft_candidate other; /* of a quantity that is of_history */
  struct ft_job_time time;
};

static const char *job_user(void *job)
{
  return ((const ft_job_request *)job)->user;
}

static const char *array_of(const ft_job_request *job)
{
  return job->array[0] ? job->array : NULL;
}

/* Returns the name of JOB, by default its script's; NULL: none. */
static const char *name_of(const ft_job_request *job)
{
  const char *slash = job->script_name ? strrchr(job->script_name, '/') : NULL;

  if (job->job_name[0])
    return job->job_name;
  return slash ? slash + 1 : job->script_name;
}

/* Reads the settings of the site, and describes JOB. Returns 0; -1 and fills ERR. */
static int describe_job(const ft_predictor *predictor, const ft_job_request *job,
                        struct forecast_work *w, struct ft_error *err)
{
  struct ft_description what = { .app = job->app[0] ? job->app : NULL,
                                 .params = job->params,
                                 .job_name = name_of(job),
                                 .directory = job->directory[0] ? job->directory : NULL,
                                 .script = job->script.data,
                                 .script_length = job->script.length,
                                 .script_name = job->script_name,
                                 .arguments = (const char *const *)job->arguments,
                                 .argument_count = job->argument_count,
                                 .array = array_of(job),
                                 .exported = { job->exported[0] ? job->exported : NULL,
                                               (const char *const *)environ },
                                 .apps = w->apps };

  if (!what.app && !job->script_name)
    return ft_error_set(err, "the job has no app and no script");
  if (ft_site_read(predictor->state_fd, &predictor->config, &w->site, &w->site_apps, err) < 0 ||
      ft_site_collect_apps(&w->site, &w->site_apps, getenv("HOME"), w->apps, DECLARED_APPS,
                           &what.app_count, err) < 0)
    return -1;
  return ft_describe_local(&what, job->uid, &w->site, &job->request, &w->submission, &w->tasks,
                           err);
}

/* Returns the mode of JOB; FT_MODE_UNSET: the site's. */
static ft_mode mode_of_job(const ft_job_request *job, const ft_policy *policy)
{
  bool off = policy->mode == FT_MODE_UNSET || policy->mode == FT_MODE_OFF;

  if (job->mode[0])
    return (ft_mode)ft_mode_from_name(job->mode);
  return job->plain && off ? FT_MODE_SET : FT_MODE_UNSET;
}

static int forecast_memory(int state_fd, const ft_job_request *job, struct forecast_work *w,
                           ft_forecast *out, struct ft_error *err)
{
  const struct ft_submitter submitter = { job->uid, job_user, (void *)(uintptr_t)job };
  struct ft_submission_query query = { .site = &w->site,
                                       .submission = &w->submission,
                                       .array = &w->tasks,
                                       .known = &w->known,
                                       .dry_run = true };

  ft_known_resolve_policy(&w->site, &submitter, &job->request, &w->known);
  query.mode = mode_of_job(job, &w->known.policy);
  ft_known_read_partition(state_fd, &w->site, &job->request, &w->known);
  if (ft_known_read_evidence(state_fd, &submitter, &w->submission, array_of(job), &w->tasks, true,
                             &w->known, err) < 0)
    return -1;
  ft_submission_decide(&query, &w->decided);
  ft_forecast_set(out, FT_QUANTITY_MEMORY,
                  w->decided.sizing.shows_estimate ? w->decided.input.estimate : NULL);
  ft_forecast_set_decision(out, &w->decided.decision);
  return 0;
}

static int forecast_runtime(int state_fd, const ft_job_request *job, struct forecast_work *w,
                            ft_forecast *out, struct ft_error *err)
{
  const struct ft_submitter submitter = { job->uid, job_user, (void *)(uintptr_t)job };

  if (ft_known_read_time(state_fd, &submitter, &w->submission, array_of(job), &w->tasks, &w->known,
                         &w->time, err) < 0)
    return -1;
  ft_forecast_set(out, FT_QUANTITY_RUNTIME, ft_job_time_longest(&w->time));
  return 0;
}

/* From the power that the app's runs had on the platform of the run time, if any was measured. */
static void forecast_energy(const struct forecast_work *w, ft_forecast *out)
{
  struct ft_power power = ft_power_measured(&w->known.time.performance, w->time.platform);

  ft_forecast_set_energy(out, &power);
}

ft_forecast *ft_forecast_make(ft_predictor *predictor, const ft_job_request *job,
                              struct ft_error *err)
{
  struct forecast_work *w = calloc(1, sizeof *w);
  ft_forecast *forecast = calloc(1, sizeof *forecast);
  int fd = predictor->state_fd;
  bool done = false;

  if (!w || !forecast) {
    ft_error_errno(err, "ft_forecast_make");
  } else if (describe_job(predictor, job, w, err) == 0 &&
             forecast_memory(fd, job, w, forecast, err) == 0 &&
             forecast_runtime(fd, job, w, forecast, err) == 0) {
    (void)ft_string_copy(w->submission.app, forecast->app, sizeof forecast->app);
    ft_forecast_set_of_history(forecast, fd, job->uid, &w->submission, &w->known.policy, &w->other);
    forecast_energy(w, forecast);
    done = true;
  }
  free(w);
  if (done)
    return forecast;
  free(forecast);
  return NULL;
}
