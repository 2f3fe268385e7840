/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <fcntl.h>
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

enum {
  HOME_MILLISECONDS = 50,    /* for a look at ~/.config/foretell/apps.conf */
  STATE_MILLISECONDS = 250,  /* until a server that holds the state folder answers */
  HELPER_MILLISECONDS = 500, /* where the site file does not say */
  HELPER_MOST_MILLISECONDS = 10000
};

/*
 * One component of a submission from end to end. Large and mostly never touched: it is allocated
 * apart, and only what is used is written.
 */
struct prediction {
  const struct ft_plugin_arguments *settings;
  int state_fd;        /* -1: cannot be opened */
  bool local;          /* srun's */
  unsigned component;
  struct ft_slurm_options bridge;
  struct ft_options options;
  bool asked;          /* for anything, by the user */
  struct ft_error why; /* the first thing that went wrong; empty: nothing */
  struct ft_collected collected;
  ft_site site;        /* where has_site */
  ft_apps apps;        /* where has_apps */
  bool has_site, has_apps, asks_network;
  bool perhaps_ours; /* the job may go to another cluster, too */
  struct ft_file_queries files;
  ft_submission submission;
  ft_network *network; /* what the child said of one; NULL: nothing */
  struct ft_submission_knowledge known;
  struct ft_submission_decision decided;
};

static void note(struct prediction *w, const struct ft_error *err)
{
  if (!w->why.text[0])
    w->why = *err;
}

/* The site file and the declared apps; without a site file there is nothing to decide by. */
static void read_site(struct prediction *w)
{
  struct ft_error err;

  w->has_site = ft_state_read_site(w->state_fd, &w->site, &err) == 0;
  if (!w->has_site) {
    note(w, &err);
    return;
  }
  if (!w->site.apps)
    return;
  w->has_apps = ft_state_read_apps(w->state_fd, &w->site, &w->apps, &err) == 0;
  if (!w->has_apps)
    note(w, &err);
}

/* The user's own declarations count where the site allows them and no app was named. */
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

/* What is asked about a network; false: nothing is, or the user wants no prediction. */
static bool asks_network(const struct prediction *w, struct ft_network_request *asked)
{
  struct ft_gpu_request gpus = ft_slurm_options_gpus(&w->bridge);
  enum ft_gpu_option which = ft_gpu_request_find(&gpus);

  if (!w->options.mig && (!w->options.model || w->options.mode == FT_MODE_OFF))
    return false;
  *asked = (struct ft_network_request){ .file = w->options.model,
                                        .mig = w->options.mig,
                                        .advisory = w->settings->reject ? NULL : "" };
  if (w->options.mode != FT_MODE_UNSET)
    asked->mode = ft_mode_name(w->options.mode);
  if (which < FT_GPU_OPTIONS) {
    asked->option = ft_gpu_option_name(which);
    asked->value = gpus.value[which];
  }
  return true;
}

/* By the child, where a user's file has a say. */
static void describe_files(struct prediction *w)
{
  struct ft_network_request asked;
  bool network = asks_network(w, &asked);
  struct ft_helper helper = { .path = w->settings->helper,
                              /* the child need not wait for what has hung already */
                              .state = w->state_fd >= 0 ? w->settings->state : "/dev/null",
                              .milliseconds = HELPER_MILLISECONDS,
                              .user_apps = has_user_apps(w) };
  struct ft_error err;

  w->asks_network = network;
  if (!w->files.count && !w->files.script[0] && !helper.user_apps && !network)
    return;
  /* the site's policy may be for somebody by name */
  if (network)
    w->collected.description.user_name = ft_collect_user(&w->collected);
  if (w->has_site && w->site.helper_milliseconds)
    helper.milliseconds = w->site.helper_milliseconds;
  if (helper.milliseconds > HELPER_MOST_MILLISECONDS)
    helper.milliseconds = HELPER_MOST_MILLISECONDS;
  if (ft_helper_describe(&helper, &w->collected.description, &w->collected.request,
                         network ? &asked : NULL, &w->submission, &w->network, &err) < 0)
    note(w, &err);
}

/* App and features. */
static void describe(struct prediction *w)
{
  struct ft_description *what = &w->collected.description;
  struct ft_error err;

  if (w->has_apps) {
    what->apps = w->apps.apps;
    what->app_count = w->apps.apps_count;
  }
  if (w->has_site)
    what->secrets = (struct ft_secret_rules){ w->site.keep_arguments, w->site.drop_arguments };
  if (ft_describe(what, &w->collected.request, &w->submission, &w->files, &err) < 0)
    note(w, &err);
  describe_files(w);
}

static const char *name_of_user(void *collected)
{
  return ft_collect_user(collected);
}

static struct ft_submitter submitter_of(struct prediction *w)
{
  return (struct ft_submitter){ w->collected.uid, name_of_user, &w->collected };
}

/* Put what was decided into effect. Returns 0, or -1 when the job is refused. */
static int apply(struct prediction *w, ft_decision *decision)
{
  switch (decision->action) {
  case FT_ACTION_SET:
  case FT_ACTION_RAISE:
  case FT_ACTION_TRIM:
    if (ft_slurm_options_set_memory(&w->bridge, decision->mem_unit, decision->mem_bytes) == 0)
      return 0;
    ft_error_set(&w->why, "Slurm did not take the memory");
    decision->action = FT_ACTION_LEAVE;
    decision->mem_bytes = 0;
    return 0;
  case FT_ACTION_REJECT:
    return -1;
  case FT_ACTION_LEAVE:
  case FT_ACTION_WARN:
    break;
  }
  return 0;
}

/* What the child decided about GPUs, put into effect. Returns 0, or -1 when the job is refused. */
static int apply_network(struct prediction *w)
{
  ft_request *request = &w->submission.request;
  ft_network *n = w->network;

  if (n->error[0]) {
    ft_error_set(&w->why, "%s", n->error);
    return 0;
  }
  if (n->option[0] && ft_slurm_options_set_gpus(&w->bridge, n->option, n->value) < 0) {
    ft_error_set(&w->why, "Slurm did not take --%s=%.200s", n->option, n->value);
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

/* What --predict-perf and --predict-partition ask for; the partition may be another afterwards. */
static void look_elsewhere(struct prediction *w)
{
  const ft_request *request = &w->submission.request;
  struct ft_submitter submitter = submitter_of(w);
  const struct ft_estimate *memory;
  struct ft_error err;

  ft_submission_decide(&(struct ft_submission_question){ .site = &w->site,
                                                         .submission = &w->submission,
                                                         .known = &w->known,
                                                         .network = w->network,
                                                         .mode = FT_MODE_CHECK },
                       &w->decided);
  memory = w->decided.sizing.has_estimate ? w->decided.question.estimate : NULL;
  if (ft_placement_set_partition(&w->bridge, &w->options, w->state_fd, &w->site, w->collected.uid,
                                 memory, w->network, &w->submission, &err) < 0)
    ft_print_failure(true, &err);
  ft_known_resolve_policy(&w->site, &submitter, request, &w->known);
  ft_known_read_partition(w->state_fd, &w->site, request, &w->known);
}

/* The user's mode; of a network there is at least something to say. */
static ft_mode mode_of(const struct prediction *w)
{
  ft_mode site = w->known.policy.mode;

  if (w->perhaps_ours)
    return FT_MODE_OFF;
  if (w->options.mode == FT_MODE_UNSET && w->network && w->network->quantiles_count &&
      (site == FT_MODE_OFF || site == FT_MODE_UNSET))
    return FT_MODE_CHECK;
  return w->options.mode;
}

/* Decide about memory by what is known; of what cannot be read nothing is. */
static int decide_memory(struct prediction *w)
{
  ft_decision *decision = &w->submission.decision;
  int status;

  ft_submission_decide(
      &(struct ft_submission_question){ .site = &w->site,
                                        .submission = &w->submission,
                                        .known = &w->known,
                                        .network = w->network,
                                        .mode = mode_of(w),
                                        .cannot_reject = !w->settings->reject },
      &w->decided);
  status = apply(w, &w->decided.decision);
  *decision = w->decided.decision;
  decision->overrode |= w->network && w->network->overrode;
  if (decision->mode != FT_MODE_OFF)
    ft_task_predictions_fill(&w->decided, &w->known, &w->submission, w->collected.description.array,
                             &w->submission.tasks);
  /* that no run is known goes without saying where a network's memory was told, or why it was not
   */
  if (w->asks_network && decision->action == FT_ACTION_LEAVE && !decision->has_p50_bytes &&
      (w->why.text[0] || (w->network && w->network->lines_count)))
    return status;
  if (ft_print_decision(&w->decided, w->asks_network || !w->asked ? "" : w->why.text) &&
      !w->asks_network)
    w->why.text[0] = '\0';
  return status;
}

/* By all that is known here, for a job of this cluster. */
static int predict_here(struct prediction *w)
{
  bool elsewhere = !w->perhaps_ours && (w->options.perf || w->options.partition);
  bool off, rejects, known = false;
  char line[FT_PARAMS_LINE];
  struct ft_submitter submitter = submitter_of(w);
  ft_submission *s = &w->submission;
  struct ft_error err;

  ft_known_resolve_policy(&w->site, &submitter, &s->request, &w->known);
  off = mode_of(w) == FT_MODE_OFF ||
        (mode_of(w) == FT_MODE_UNSET && (w->known.policy.mode == FT_MODE_OFF ||
                                         w->known.policy.mode == FT_MODE_UNSET));
  /* in every mode */
  rejects = w->known.policy.reject_probability > 0;
  if (!off || elsewhere || rejects) {
    ft_known_read_partition(w->state_fd, &w->site, &s->request, &w->known);
    known = ft_known_read_evidence(w->state_fd, &submitter, s, w->collected.description.array,
                                   &w->known, &err) == 0;
    if (!known)
      w->why = err;
    else if (!(off && !elsewhere) && !w->asks_network &&
             ft_known_unknown_params(&w->known, s, w->options.params, line))
      ft_print_line(line);
  }
  if (elsewhere)
    look_elsewhere(w);
  if (w->network && !w->perhaps_ours && apply_network(w) < 0)
    return -1;
  s->has_decision = true;
  s->decision.mode = mode_of(w) != FT_MODE_UNSET ? mode_of(w) : w->known.policy.mode;
  return known && (!off || rejects) ? decide_memory(w) : 0;
}

/* The agent counts it, for no job will tell. Where none listens, as on a login host without one,
 * nobody does. */
static void tell_rejected(const struct prediction *w)
{
  ft_question question = { .schema = FT_SCHEMA, .which_asked = ft_question_rejected_tag };
  const char *socket = w->has_site && w->site.socket[0] ? w->site.socket : w->settings->socket;
  char path[sizeof((struct sockaddr_un *)0)->sun_path];
  struct stat st;

  if (fstat(w->state_fd, &st) < 0 ||
      snprintf(path, sizeof path, "%s" FT_STATE_QUERY_SUFFIX, socket) >= (int)sizeof path)
    return;
  question.state_device = st.st_dev;
  question.state_inode = st.st_ino;
  (void)ft_string_copy(w->submission.app, question.asked.rejected.app,
                       sizeof question.asked.rejected.app);
  ft_packet_send(path, FT_RECORD_QUESTION, &question);
}

/* The record travels as one value; Slurm exports it as SLURM_SPANK_FORETELL, under --export=NONE
 * too. Of a job array it may lack what was predicted for some tasks, for which the node has no
 * room.
 */
static void carry(spank_t spank, struct prediction *w)
{
  enum { ROOM = FT_BASE64_SIZE(sizeof((ft_job_start *)NULL)->submission.bytes) };
  struct ft_error err;
  struct ft_buf text;
  unsigned attempt = 0;
  int status;

  ft_buf_init(&text, FT_LIMIT_ENVIRONMENT);
  do {
    text.length = 0;
    status = ft_submission_to_text(&w->submission, &text, &err);
  } while (status == 0 && text.length >= ROOM && w->submission.tasks.index_count &&
           ft_task_predictions_shrink(&w->submission.tasks, ++attempt));
  if (status == 0)
    (void)spank_job_control_setenv(spank, "FORETELL", ft_buf_text(&text), 1);
  ft_buf_free(&text);
}

/*
 * Whether the job may be for this cluster: neither nodes nor policy of another are known. Where it
 * may be for others, too, it is only refused, never changed.
 */
static bool is_ours(struct prediction *w)
{
  struct ft_text list = ft_text_from(w->bridge.value[FT_OPTION_CLUSTERS]), name;
  size_t length = w->has_site ? strlen(w->site.cluster) : 0, ours = 0, others = 0;
  struct ft_error err;

  if (!length || !w->bridge.value[FT_OPTION_CLUSTERS])
    return true;
  /* as Slurm compares them */
  while (ft_text_until(&list, ',', &name)) {
    name = ft_text_trim(name);
    if (ft_text_left(&name) == length && strncasecmp(name.at, w->site.cluster, length) == 0)
      ours++;
    else if (ft_text_left(&name))
      others++;
    if (ft_text_left(&name) == 3 && strncasecmp(name.at, "all", 3) == 0)
      ours++;
  }
  if (!others)
    return true;
  w->perhaps_ours = ours > 0;
  (void)ft_error_set(&err, "--clusters=%.64s: only %s is known here",
                     w->bridge.value[FT_OPTION_CLUSTERS], w->site.cluster);
  note(w, &err);
  return ours > 0;
}

static int predict(spank_t spank, struct prediction *w)
{
  struct ft_error err;
  int status = 0;
  bool ours;

  ft_options_read(&w->options);
  w->asked = (w->options.mode != FT_MODE_UNSET && w->options.mode != FT_MODE_OFF) ||
             w->options.model || w->options.mig || w->options.perf || w->options.partition;
  note(w, &w->options.why);
  note(w, &w->settings->why);
  /* what somebody has written in vain is told though nothing is asked */
  w->asked |= w->why.text[0] != '\0';
  w->state_fd = ft_helper_open_state(w->settings->state, STATE_MILLISECONDS / 1000.0, &err);
  if (w->state_fd < 0)
    note(w, &err);
  else
    read_site(w);
  ft_collect(&w->bridge, &w->options, w->local, w->component, &w->collected);
  describe(w);
  w->submission.het_offset = w->component;
  ours = is_ours(w);
  if (ours && w->has_site)
    status = predict_here(w);
  else if (ours && w->network)
    status = apply_network(w);
  if (w->why.text[0])
    ft_print_failure(w->asked, &w->why);
  if (status == 0)
    carry(spank, w);
  else
    tell_rejected(w);
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
  if (!ft_slurm_options_open(&w->bridge))
    goto out;
  ft_slurm_options_read(&w->bridge);
  if (ft_collect_is_step(&w->bridge, local))
    goto release;
  ft_slurm_options_restore(&w->bridge);
  /* a job that another workload manager has started runs nothing here */
  if (w->bridge.value[FT_OPTION_EXTERNAL])
    goto release;
  ft_print_set_quiet(w->bridge.value[FT_OPTION_QUIET]);
  w->settings = settings;
  w->local = local;
  w->component = component;
  w->network = NULL;
  w->has_site = w->has_apps = w->asks_network = w->perhaps_ours = false;
  w->why.text[0] = '\0';
  status = predict(spank, w);
release:
  ft_slurm_options_release(&w->bridge);
out:
  free(w);
  return status;
}
