/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Prediction at submission: reads the site's files, decides, sets Slurm's options, prints messages.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "plugin/helper.h"
#include "plugin/messages.h"
#include "plugin/packet.h"
#include "plugin/placement.h"
#include "plugin/predict.h"
#include "plugin/slurm_options.h"
#include "plugin/submission.h"
#include "predictor/core/base64.h"
#include "predictor/core/text.h"
#include "predictor/decide/submission.h"
#include "predictor/decide/tasks.h"
#include "predictor/record/state_files.h"
#include "predictor/request/program/code_files.h"
#include "predictor/request/file_facts.h"

enum {
  /* Deadlines. */
  HOME_MILLISECONDS = 50,         /* to find ~/.config/foretell/apps.conf */
  STATE_MILLISECONDS = 250,       /* to open a state directory on a remote file system */
  HELPER_MILLISECONDS = 500,      /* of the helper, unless the site file has helper_timeout_ms */
  HELPER_MAX_MILLISECONDS = 10000 /* largest helper_timeout_ms */
};

/* One component of a submission. Allocated without initialisation: it is large, and most of it is
 * never used. */
struct prediction {
  const struct ft_plugin_arguments *settings;
  int state_fd; /* -1: cannot be opened */
  bool local;   /* submitted by srun */
  unsigned component;
  struct ft_slurm_options slurm;
  struct ft_options options;
  bool requested;      /* the user requested a prediction */
  struct ft_error why; /* the first failure; empty: none */
  struct ft_collected collected;
  ft_site site; /* valid if has_site */
  ft_apps apps; /* valid if has_apps */
  bool has_site, has_apps, has_network_request;
  bool maybe_other_cluster; /* the job may also run on another cluster */
  struct ft_helper helper;
  struct ft_file_queries files;
  ft_submission submission;
  ft_job_array array;
  ft_network *network; /* result of --predict-model or --predict-mig; NULL: none */
  struct ft_submission_knowledge known;
  struct ft_submission_decision decided;
  struct ft_job_time time;
  struct ft_time_decision timed;
};

static void note_first_failure(struct prediction *w, const struct ft_error *err)
{
  if (!w->why.text[0])
    w->why = *err;
}

/* Reads the site file and the declared apps. Without a site file there is no decision. */
static void read_site_and_apps(struct prediction *w)
{
  struct ft_error err;

  w->has_site = ft_state_read_site(w->state_fd, &w->site, &err) == 0;
  if (!w->has_site) {
    note_first_failure(w, &err);
    return;
  }
  if (!w->site.apps)
    return;
  w->has_apps = ft_state_read_apps(w->state_fd, &w->site, &w->apps, &err) == 0;
  if (!w->has_apps)
    note_first_failure(w, &err);
}

/* Whether the user's apps.conf applies: the site allows it, and no app was named. */
static bool has_user_apps(const struct prediction *w)
{
  const char *home = getenv("HOME");
  char path[FT_FILE_PATH];

  if ((w->has_site && !w->site.user_apps) || w->options.app || !home || !*home)
    return false;
  if ((size_t)snprintf(path, sizeof path, "%s/.config/foretell/apps.conf", home) >= sizeof path)
    return false;
  return ft_helper_exists(path, HOME_MILLISECONDS / 1000.0);
}

/* Fills ASKED, whose strings are borrowed, for --predict-model and --predict-mig. Returns false,
 * and leaves ASKED, if neither was given, or mode off disables --predict-model and it is the only
 * one. */
static bool make_network_request(struct prediction *w, struct ft_network_request *asked)
{
  struct ft_gpu_request gpus = ft_slurm_options_gpus(&w->slurm);
  enum ft_gpu_option which = ft_gpu_request_find(&gpus);

  if (!w->options.mig && (!w->options.model || w->options.mode == FT_MODE_OFF))
    return false;
  *asked = (struct ft_network_request){ .file = w->options.model,
                                        .mig = w->options.mig,
                                        .advisory = w->settings->reject ? NULL : "",
                                        .params = w->collected.description.params,
                                        .array = w->collected.description.array,
                                        .user_name = ft_collect_user(&w->collected) };
  if (w->options.mode != FT_MODE_UNSET)
    asked->mode = ft_mode_name(w->options.mode);
  if (which < FT_GPU_OPTIONS) {
    asked->option = ft_gpu_option_name(which);
    asked->value = gpus.value[which];
  }
  return true;
}

/* Prepares the helper process, which reads the user's files. */
static void prepare_helper(struct prediction *w)
{
  unsigned milliseconds = HELPER_MILLISECONDS;

  if (w->has_site && w->site.helper_milliseconds)
    milliseconds = w->site.helper_milliseconds;
  w->helper.path = w->settings->helper;
  /* the helper must not open a directory that hung */
  w->helper.state = w->state_fd >= 0 ? w->settings->state : "/dev/null";
  w->helper.directory = w->collected.description.directory;
  w->helper.milliseconds =
      milliseconds < HELPER_MAX_MILLISECONDS ? milliseconds : HELPER_MAX_MILLISECONDS;
  ft_helper_init(&w->helper);
  w->collected.description.reader = &w->helper.reader;
}

/* Enters the declared apps: the user's, which the helper reads, then the site's. Returns the list,
 * which the caller frees; NULL: the user declares none. */
static ft_declared_app *enter_declared_apps(struct prediction *w)
{
  struct ft_description *what = &w->collected.description;
  ft_declared_app *all = NULL;
  ft_apps *own;

  what->apps = w->apps.apps;
  what->app_count = w->has_apps ? w->apps.apps_count : 0;
  own = has_user_apps(w) ? malloc(sizeof *own) : NULL;
  if (own && ft_helper_query_apps(&w->helper, own) == 0 && own->apps_count)
    all = malloc((own->apps_count + what->app_count) * sizeof *all);
  if (all) {
    memcpy(all, own->apps, own->apps_count * sizeof *all);
    if (what->app_count)
      memcpy(all + own->apps_count, what->apps, what->app_count * sizeof *all);
    what->apps = all;
    what->app_count += own->apps_count;
  }
  free(own);
  return all;
}

/* Fills the submission's app and features. */
static void fill_submission(struct prediction *w)
{
  struct ft_description *what = &w->collected.description;
  struct ft_network_request asked;
  ft_declared_app *declared;
  ft_file_facts facts;
  struct ft_error err;
  bool is_needed; /* an answer of the helper */

  prepare_helper(w);
  declared = enter_declared_apps(w);
  if (w->has_site)
    what->secrets = (struct ft_secret_rules){ w->site.keep_arguments, w->site.drop_arguments };
  w->array = (ft_job_array){ 0 };
  if (ft_describe(what, &w->collected.request, &w->submission, &w->files, &err) < 0)
    note_first_failure(w, &err);
  free(declared);
  ft_file_facts_omit_known(&w->files, &w->submission);
  is_needed = w->helper.why.text[0] || ft_has_input_query(&w->files);
  /* an edit is worth a process to a user who asked, and not to every job of the site */
  if (w->files.count && (is_needed || w->requested) &&
      ft_helper_query_files(&w->helper, &w->files, what->array, &facts, &w->array) == 0)
    ft_file_facts_apply(&w->files, &facts, &w->array, &w->submission);
  w->has_network_request = make_network_request(w, &asked);
  if (w->has_network_request)
    (void)ft_helper_query_network(&w->helper, &asked, &w->submission, &w->array, &w->network);
  ft_helper_end(&w->helper);
  /* an edit that is not noticed is worth no message */
  if (w->helper.why.text[0] && (is_needed || w->has_network_request))
    note_first_failure(w, &w->helper.why);
}

static const char *submitter_name(void *collected)
{
  return ft_collect_user(collected);
}

static struct ft_submitter plugin_submitter(struct prediction *w)
{
  return (struct ft_submitter){ w->collected.uid, submitter_name, &w->collected };
}

/* Sets the memory request of DECISION in Slurm. Returns 0; -1 if the job is rejected. */
static int apply_decision(struct prediction *w, ft_decision *decision)
{
  const struct ft_default_request *kept = &w->decided.sizing.kept_default;

  switch (decision->action) {
  case FT_ACTION_SET:
  case FT_ACTION_RAISE:
  case FT_ACTION_TRIM:
    if (ft_slurm_options_set_memory(&w->slurm, decision->mem_unit, decision->mem_bytes) == 0)
      return 0;
    ft_error_set(&w->why, "Slurm rejected the memory request");
    decision->action = FT_ACTION_LEAVE;
    decision->mem_bytes = 0;
    return 0;
  case FT_ACTION_REJECT:
    return -1;
  case FT_ACTION_LEAVE:
  case FT_ACTION_WARN:
    if (kept->bytes)
      (void)ft_slurm_options_set_memory(&w->slurm, kept->unit, kept->bytes);
    break;
  }
  return 0;
}

/* Sets the GPU option of the helper's decision and prints its message. Returns 0; -1 if the job is
 * rejected. */
static int apply_gpu_decision(struct prediction *w)
{
  ft_request *request = &w->submission.request;
  ft_network *n = w->network;

  if (n->error[0]) {
    ft_error_set(&w->why, "%s", n->error);
    return 0;
  }
  if (n->option[0] && ft_slurm_options_set_gpus(&w->slurm, n->option, n->value) < 0) {
    ft_error_set(&w->why, "Slurm rejected --%s=%.200s", n->option, n->value);
    return 0;
  }
  if (n->option[0] && strcmp(n->option, "gres") == 0) {
    (void)ft_string_copy(n->value, request->gres, sizeof request->gres);
    if (!request->gpus_per_node)
      request->gpus_per_node = 1;
  }
  if (ft_print_network(n, w->why.text))
    w->why.text[0] = '\0';
  return n->action == FT_ACTION_REJECT ? -1 : 0;
}

/* Executes --predict-perf and --predict-partition, which may change the partition. */
static void choose_placement(struct prediction *w)
{
  const ft_request *request = &w->submission.request;
  struct ft_submitter submitter = plugin_submitter(w);
  struct ft_error err;
  const struct ft_time_lookup *time =
      ft_known_read_runtimes(w->state_fd, &submitter, &w->submission, &w->known, &err);
  const struct ft_estimate *memory;

  ft_submission_decide(&(struct ft_submission_query){ .site = &w->site,
                                                      .submission = &w->submission,
                                                      .array = &w->array,
                                                      .known = &w->known,
                                                      .network = w->network,
                                                      .mode = FT_MODE_CHECK },
                       &w->decided);
  memory = w->decided.sizing.has_estimate ? w->decided.input.estimate : NULL;
  if (!time ||
      ft_placement_set_partition(&w->slurm, &w->options, w->state_fd, &w->site, w->collected.uid,
                                 memory, time, w->network, &w->submission, &err) < 0)
    ft_print_failure(true, &err);
  ft_known_resolve_policy(&w->site, &submitter, request, &w->known);
  ft_known_read_partition(w->state_fd, &w->site, request, &w->known);
}

/* Returns the user's mode; at least check for a network with an estimate; off for jobs that may run
 * on another cluster. */
static ft_mode prediction_mode(const struct prediction *w)
{
  ft_mode site = w->known.policy.mode;

  if (w->maybe_other_cluster)
    return FT_MODE_OFF;
  if (w->options.mode == FT_MODE_UNSET && w->network && w->network->quantiles_count &&
      (site == FT_MODE_OFF || site == FT_MODE_UNSET))
    return FT_MODE_CHECK;
  return w->options.mode;
}

/* Decides about memory, applies the decision and prints it. Returns 0; -1 if the job is rejected.
 */
static int decide_memory(struct prediction *w)
{
  ft_decision *decision = &w->submission.decision;
  int status;

  ft_submission_decide(&(struct ft_submission_query){ .site = &w->site,
                                                      .submission = &w->submission,
                                                      .array = &w->array,
                                                      .known = &w->known,
                                                      .network = w->network,
                                                      .mode = prediction_mode(w),
                                                      .cannot_reject = !w->settings->reject },
                       &w->decided);
  status = apply_decision(w, &w->decided.decision);
  *decision = w->decided.decision;
  decision->overrode |= w->network && w->network->overrode;
  if (decision->mode != FT_MODE_OFF)
    ft_task_predictions_fill(&w->decided, &w->submission, w->collected.description.array,
                             &w->array);
  /* "no recorded run" adds nothing to a message about a network */
  if (w->has_network_request && decision->action == FT_ACTION_LEAVE && !decision->has_p50_bytes &&
      (w->why.text[0] || (w->network && w->network->lines_count)))
    return status;
  if (ft_print_decision(&w->decided, w->has_network_request || !w->requested ? "" : w->why.text) &&
      !w->has_network_request)
    w->why.text[0] = '\0';
  return status;
}

/* Returns the mode of the time limit; off for jobs that may run on another cluster. */
static ft_mode time_mode(const struct prediction *w)
{
  return w->maybe_other_cluster ? FT_MODE_OFF
                                : ft_time_mode(w->options.time_mode, &w->known.policy);
}

/* Decides about the time limit, applies the decision and prints it. Returns 0; -1 if the job is
 * rejected. */
static int decide_time_limit(struct prediction *w)
{
  struct ft_submitter submitter = plugin_submitter(w);
  ft_submission *s = &w->submission;
  struct ft_error err;

  if (ft_known_read_time(w->state_fd, &submitter, s, w->collected.description.array, &w->array,
                         &w->known, &w->time, &err) < 0)
    note_first_failure(w, &err);
  ft_time_decide(
      &(struct ft_time_query){ .mode = w->options.time_mode,
                               .submission = s,
                               .unlimited = w->slurm.value[FT_OPTION_TIME] &&
                                            !(s->request.time_limit_seconds > 0),
                               .time_min_seconds = ft_slurm_options_time_min(&w->slurm),
                               .time = &w->time,
                               .policy = &w->known.policy,
                               .partition = w->known.has_partition ? &w->known.partition : NULL,
                               .cannot_reject = !w->settings->reject },
      &w->timed);
  if (ft_time_is_changed(&w->timed) &&
      ft_slurm_options_set_time(&w->slurm, (double)w->timed.sizing.amount) < 0) {
    ft_error_set(&w->why, "Slurm rejected the time limit");
    w->timed.sizing.action = FT_ACTION_LEAVE;
  }
  ft_time_record(&w->timed, &s->decision);
  ft_print_time_decision(&w->timed);
  return w->timed.sizing.action == FT_ACTION_REJECT ? -1 : 0;
}

/* Predicts for a job of this cluster. Returns 0; -1 if it is rejected. */
static int predict_for_site(struct prediction *w)
{
  bool placement = !w->maybe_other_cluster && (w->options.perf || w->options.partition);
  bool off, rejects, timed, known = false;
  int status = 0;
  char line[FT_PARAMS_LINE];
  struct ft_submitter submitter = plugin_submitter(w);
  ft_submission *s = &w->submission;
  struct ft_error err;

  ft_known_resolve_policy(&w->site, &submitter, &s->request, &w->known);
  off = prediction_mode(w) == FT_MODE_OFF ||
        (prediction_mode(w) == FT_MODE_UNSET &&
         (w->known.policy.mode == FT_MODE_OFF || w->known.policy.mode == FT_MODE_UNSET));
  /* a rejection is possible in every mode */
  rejects = w->known.policy.reject_probability > 0;
  timed = time_mode(w) != FT_MODE_OFF;
  if (!off || placement || rejects || timed)
    ft_known_read_partition(w->state_fd, &w->site, &s->request, &w->known);
  if (!off || placement || rejects) {
    known = ft_known_read_evidence(w->state_fd, &submitter, s, w->collected.description.array,
                                   &w->array, placement || timed, &w->known, &err) == 0;
    if (known && ft_model_lookup_of_app(&w->known.evidence))
      s->app_runs = ft_model_lookup_of_app(&w->known.evidence)->completed;
    if (!known)
      w->why = err;
  }
  if ((w->network || (known && !(off && !placement))) &&
      ft_params_find_unknown(&w->known, s, w->options.params, w->options.model != NULL, line))
    ft_print_line(line);
  /* without evidence the app's file cannot be read, and one line has said so */
  if (placement && known)
    choose_placement(w);
  if (w->network && !w->maybe_other_cluster && apply_gpu_decision(w) < 0)
    return -1;
  s->has_decision = true;
  s->decision.mode =
      prediction_mode(w) != FT_MODE_UNSET ? prediction_mode(w) : w->known.policy.mode;
  if (known && (!off || rejects))
    status = decide_memory(w);
  if (status == 0 && time_mode(w) != FT_MODE_OFF)
    status = decide_time_limit(w);
  return status;
}

/* Reports the rejection to the learner on this host, which counts rejections: no job will announce
 * it. Without a learner the rejection is not counted. */
static void report_rejection(const struct prediction *w)
{
  ft_question question = { .schema = FT_SCHEMA, .which_asked = ft_question_rejected_tag };
  char path[sizeof((struct sockaddr_un *)0)->sun_path];
  struct stat st;

  if (!w->has_site || !w->site.learner_socket[0] || fstat(w->state_fd, &st) < 0 ||
      snprintf(path, sizeof path, "%s" FT_STATE_QUERY_SUFFIX, w->site.learner_socket) >=
          (int)sizeof path)
    return;
  question.state_device = st.st_dev;
  question.state_inode = st.st_ino;
  (void)ft_string_copy(w->submission.app, question.asked.rejected.app,
                       sizeof question.asked.rejected.app);
  ft_packet_send(path, FT_RECORD_QUESTION, &question);
}

/* Exports the submission record as one variable, which Slurm passes on as SLURM_SPANK_FORETELL,
 * also with --export=NONE. Shrinks the predictions of array tasks until the record fits the buffer
 * of the node. */
static void export_record(spank_t spank, struct prediction *w)
{
  enum { ROOM = FT_BASE64_SIZE(sizeof((ft_job_start *)NULL)->submission.bytes) };
  struct ft_error err;
  struct ft_buf text;
  unsigned attempt = 0;
  int status;

  ft_buf_init(&text, FT_LIMIT_ENVIRONMENT);
  do {
    text.length = 0;
    status = ft_submission_to_text(&w->submission, &w->array, &text, &err);
  } while (status == 0 && text.length >= ROOM && w->array.predictions.index_count &&
           ft_task_predictions_shrink(&w->array.predictions, ++attempt));
  if (status == 0)
    (void)spank_job_control_setenv(spank, "FORETELL", ft_buf_text(&text), 1);
  ft_buf_free(&text);
}

/* Whether the job may run on this cluster; foretell has no nodes and policies of others. A job that
 * may also run on another cluster can be rejected, but is not changed. */
static bool is_for_this_cluster(struct prediction *w)
{
  struct ft_text list = ft_text_from(w->slurm.value[FT_OPTION_CLUSTERS]), name;
  size_t length = w->has_site ? strlen(w->site.cluster) : 0, this_cluster = 0, other_clusters = 0;
  struct ft_error err;

  if (!length || !w->slurm.value[FT_OPTION_CLUSTERS])
    return true;
  /* case-insensitive, as in Slurm */
  while (ft_text_until(&list, ',', &name)) {
    name = ft_text_trim(name);
    if (ft_text_left(&name) == length && strncasecmp(name.at, w->site.cluster, length) == 0)
      this_cluster++;
    else if (ft_text_left(&name))
      other_clusters++;
    if (ft_text_left(&name) == 3 && strncasecmp(name.at, "all", 3) == 0)
      this_cluster++;
  }
  if (!other_clusters)
    return true;
  w->maybe_other_cluster = this_cluster > 0;
  (void)ft_error_set(&err, "--clusters=%.64s: only %s is known here",
                     w->slurm.value[FT_OPTION_CLUSTERS], w->site.cluster);
  note_first_failure(w, &err);
  return this_cluster > 0;
}

/* Predicts one component: collects the submission, decides, sets the options of Slurm, and exports
 * the record. Returns 0; -1 if the job is rejected. */
static int predict_component(spank_t spank, struct prediction *w)
{
  struct ft_error err;
  int status = 0;
  bool this_cluster;

  ft_options_read(&w->options);
  w->requested = (w->options.mode != FT_MODE_UNSET && w->options.mode != FT_MODE_OFF) ||
                 (w->options.time_mode != FT_MODE_UNSET && w->options.time_mode != FT_MODE_OFF) ||
                 w->options.model || w->options.mig || w->options.perf || w->options.partition;
  note_first_failure(w, &w->options.why);
  note_first_failure(w, &w->settings->why);
  /* an invalid setting is reported even without a request */
  w->requested |= w->why.text[0] != '\0';
  w->state_fd = ft_helper_open_state(w->settings->state, STATE_MILLISECONDS / 1000.0, &err);
  if (w->state_fd < 0)
    note_first_failure(w, &err);
  else
    read_site_and_apps(w);
  ft_collect(&w->slurm, &w->options, w->local, w->component, &w->collected);
  fill_submission(w);
  w->submission.het_offset = w->component;
  this_cluster = is_for_this_cluster(w);
  if (this_cluster && w->has_site)
    status = predict_for_site(w);
  else if (this_cluster && w->network)
    status = apply_gpu_decision(w);
  if (w->why.text[0])
    ft_print_failure(w->requested, &w->why);
  if (status == 0)
    export_record(spank, w);
  else
    report_rejection(w);
  ft_collect_free(&w->collected);
  free(w->network);
  if (w->state_fd >= 0)
    close(w->state_fd);
  return status;
}

int ft_predict(spank_t spank, const struct ft_plugin_arguments *settings, bool local,
               unsigned component)
{
  struct prediction *w = malloc(sizeof *w);
  int status = 0;

  if (!w)
    return 0;
  if (!ft_slurm_options_open(&w->slurm))
    goto out;
  ft_slurm_options_read(&w->slurm);
  if (ft_collect_is_step(&w->slurm, local))
    goto release;
  ft_slurm_options_restore(&w->slurm);
  /* --external: another workload manager runs the job */
  if (w->slurm.value[FT_OPTION_EXTERNAL])
    goto release;
  ft_print_set_quiet(w->slurm.value[FT_OPTION_QUIET]);
  w->settings = settings;
  w->local = local;
  w->component = component;
  w->network = NULL;
  ft_known_clear(&w->known);
  w->has_site = w->has_apps = w->has_network_request = w->maybe_other_cluster = false;
  w->why.text[0] = '\0';
  status = predict_component(spank, w);
release:
  ft_slurm_options_release(&w->slurm);
out:
  free(w);
  return status;
}
