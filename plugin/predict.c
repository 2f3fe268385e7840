/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plugin/advise.h"
#include "plugin/bridge.h"
#include "plugin/elsewhere.h"
#include "plugin/helper.h"
#include "plugin/predict.h"
#include "plugin/submission.h"
#include "predictor/core/text.h"
#include "predictor/estimate/evidence.h"
#include "predictor/record/layout.h"
#include "predictor/request/array.h"

enum {
  HOME_MILLISECONDS = 50,    /* for a look at ~/.config/foretell/apps.conf */
  STATE_MILLISECONDS = 250,  /* until a server that holds the state folder answers */
  HELPER_MILLISECONDS = 500, /* where the site file does not say */
  HELPER_MOST_MILLISECONDS = 10000
};

/*
 * All that a submission needs from end to end, too large for somebody else's stack. It is
 * static: of it only the pages that are used cost anything, in sbatch alone, and the host's heap
 * stays as it is. Slurm zeroes 256 KiB at its end for each variable it sets; whatever else stands
 * there makes that up to 45 page faults more.
 */
static struct work {
  struct ft_bridge *bridge;
  struct ft_options options;
  struct ft_collected collected;
  ft_site site;
  ft_policy policy;
  ft_submission submission;
  ft_network *network; /* what the child said of one; NULL: nothing */
  bool has_site, has_apps, asks_network;
  bool asked;          /* for anything, by the user */
  struct ft_error why; /* the first thing that went wrong; empty: nothing */
  ft_partition partition;
  struct ft_evidence evidence;
  struct ft_estimate host; /* of the memory that a network needs */
  struct ft_file_queries files;
  ft_apps apps; /* where has_apps */
} work;

static void note(struct work *w, const struct ft_error *err)
{
  if (!w->why.text[0])
    w->why = *err;
}

/* The site file and the declared apps; without a site file there is nothing to decide by. */
static void read_site(struct work *w, int state_fd)
{
  struct ft_error err;

  w->has_site = ft_layout_read_site(state_fd, &w->site, &err) == 0;
  if (!w->has_site) {
    note(w, &err);
    return;
  }
  if (!w->site.apps)
    return;
  w->has_apps = ft_layout_read_apps(state_fd, &w->site, &w->apps, &err) == 0;
  if (!w->has_apps)
    note(w, &err);
}

/* The user's own declarations count where the site allows them and no app was named. */
static bool has_user_apps(const struct work *w)
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
static bool asks_network(const struct work *w, const struct ft_settings *settings,
                         struct ft_network_asked *asked)
{
  struct ft_gpus_asked gpus = ft_bridge_gpus(w->bridge);
  enum ft_gpus which = ft_gpus_find(&gpus);

  if (!w->options.mig && (!w->options.model || w->options.mode == FT_MODE_OFF))
    return false;
  *asked = (struct ft_network_asked){ .file = w->options.model,
                                      .mig = w->options.mig,
                                      .mild = settings->reject ? NULL : "" };
  if (w->options.mode != FT_MODE_UNSET)
    asked->mode = ft_mode_name(w->options.mode);
  if (which < FT_GPUS_OPTIONS) {
    asked->option = ft_gpus_name(which);
    asked->value = gpus.value[which];
  }
  return true;
}

/* By the child, where a user's file has a say. */
static void describe_files(struct work *w, const struct ft_settings *settings, bool has_state)
{
  struct ft_network_asked asked;
  bool network = asks_network(w, settings, &asked);
  struct ft_helper helper = { .path = settings->helper,
                              /* the child need not wait for what has hung already */
                              .state = has_state ? settings->state : "/dev/null",
                              .milliseconds = HELPER_MILLISECONDS,
                              .user_apps = has_user_apps(w) };
  struct ft_error err;

  w->asks_network = network;
  if (!w->files.count && !helper.user_apps && !network)
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
static void describe(struct work *w, const struct ft_settings *settings, bool has_state)
{
  struct ft_description *what = &w->collected.description;
  struct ft_error err;

  if (w->has_apps) {
    what->apps = w->apps.apps;
    what->app_count = w->apps.apps_count;
  }
  if (ft_describe(what, &w->collected.request, &w->submission, &w->files, &err) < 0)
    note(w, &err);
  describe_files(w, settings, has_state);
}

/* Where runs say too little the network's own figure counts, and it is told at least. */
static void take_network(struct work *w, struct ft_question *question)
{
  const ft_network *n = w->network;

  if (!n || n->quantiles_count != FT_ESTIMATE_LEVELS ||
      (question->estimate &&
       (question->estimate->runs >= w->policy.min_runs || question->estimate->bound_bytes > 0)))
    return;
  w->host = (struct ft_estimate){ .method = "operators" };
  memcpy(w->host.quantile, n->quantiles, sizeof w->host.quantile);
  question->estimate = &w->host;
  question->elements = NULL;
  question->imported_from = NULL;
  question->pooled = false;
  question->similar = question->at_large = 0;
  question->network = n->subject;
}

static const char *name_of_user(void *collected)
{
  return ft_collect_user(collected);
}

/* What is known. A model that cannot be read is noted; false then. */
static bool find_evidence(struct work *w, int state_fd, struct ft_question *question)
{
  const char *array = w->collected.description.array;
  ft_submission *s = &w->submission;
  struct ft_error err;

  w->evidence.elements.count = 0;
  if (array)
    w->evidence.elements.count =
        ft_array_choose(array, s, w->evidence.elements.index, FT_ELEMENT_ESTIMATES);
  if (ft_evidence_find(state_fd, w->collected.uid, name_of_user, &w->collected, s, &w->policy,
                       &w->evidence, &err) < 0) {
    w->why = err;
    return false;
  }
  ft_question_take(question, &w->evidence, s->job_name);
  take_network(w, question);
  return true;
}

/* Who submits, where the site has a policy for somebody by name; NULL where it does not matter. */
static const char *user_of_policy(struct work *w)
{
  for (size_t i = 0; i < w->site.overrides_count; i++)
    if (w->site.overrides[i].user[0])
      return ft_collect_user(&w->collected);
  return NULL;
}

/* Put what was decided into effect. Returns 0, or -1 when the job is refused. */
static int apply(struct work *w, ft_decision *decision)
{
  switch (decision->action) {
  case FT_ACTION_SET:
  case FT_ACTION_RAISE:
  case FT_ACTION_TRIM:
    if (ft_bridge_set_memory(w->bridge, decision->mem_unit, decision->mem_bytes) == 0)
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
static int apply_network(struct work *w)
{
  ft_request *request = &w->submission.request;
  ft_network *n = w->network;

  if (n->error[0]) {
    ft_error_set(&w->why, "%s", n->error);
    return 0;
  }
  if (n->option[0] && ft_bridge_set_gpus(w->bridge, n->option, n->value) < 0) {
    ft_error_set(&w->why, "Slurm did not take --%s=%.200s", n->option, n->value);
    return 0;
  }
  if (n->option[0] && strcmp(n->option, "gres") == 0) {
    (void)ft_string_copy(n->value, request->gres, sizeof request->gres);
    if (!request->gpus_per_node)
      request->gpus_per_node = 1;
  }
  if (ft_advise_network(n, w->why.text))
    w->why.text[0] = '\0';
  return n->action == FT_ACTION_REJECT ? -1 : 0;
}

/* What --predict-perf and --predict-partition ask for; the partition may be another afterwards. */
static void look_elsewhere(struct work *w, int state_fd)
{
  struct ft_question question = { .policy = &w->policy };
  const ft_request *request = &w->submission.request;
  struct ft_error err;

  ft_policy_resolve(&w->site, request->partition, request->account, user_of_policy(w), &w->policy);
  (void)find_evidence(w, state_fd, &question);
  if (question.estimate && question.estimate->runs < w->policy.min_runs && !question.network)
    question.estimate = NULL;
  if (ft_elsewhere_apply(w->bridge, &w->options, state_fd, &w->site, w->collected.uid,
                         question.estimate, w->network, &w->submission, &err) < 0)
    ft_advise_failure(true, &err);
}

static int decide(struct work *w, const struct ft_settings *settings, int state_fd)
{
  ft_submission *s = &w->submission;
  ft_request *request = &s->request;
  struct ft_question question = { .mode = w->options.mode,
                                  .app = s->app,
                                  .request = request,
                                  .policy = &w->policy,
                                  .memory_is_consumable = w->site.memory_is_consumable,
                                  .rule = w->site.rule };
  ft_mode mode;
  int status;

  ft_policy_resolve(&w->site, request->partition, request->account, user_of_policy(w), &w->policy);
  mode = w->options.mode != FT_MODE_UNSET ? w->options.mode : w->policy.mode;
  if (w->network && apply_network(w) < 0)
    return -1;
  if (w->network && w->network->quantiles_count && w->options.mode == FT_MODE_UNSET &&
      (mode == FT_MODE_OFF || mode == FT_MODE_UNSET))
    question.mode = mode = FT_MODE_CHECK;
  s->decision.mode = mode;
  s->has_decision = true;
  if (mode == FT_MODE_OFF || mode == FT_MODE_UNSET)
    return 0;
  if (ft_decide_partition(state_fd, &w->site, request, &w->partition, &question.joined, NULL) == 0)
    question.partition = &w->partition;
  if (!find_evidence(w, state_fd, &question))
    return 0;
  ft_decide(&question, &s->decision);
  if (s->decision.action == FT_ACTION_REJECT && !settings->reject)
    s->decision.action = FT_ACTION_WARN;
  status = apply(w, &s->decision);
  /* that no run is known goes without saying where a network's memory was told, or why it was not
   */
  if (w->asks_network && s->decision.action == FT_ACTION_LEAVE && !s->decision.has_p50_bytes &&
      (w->why.text[0] || (w->network && w->network->lines_count)))
    return status;
  if (ft_advise_decision(&question, &s->decision,
                         w->asks_network || !w->asked ? "" : w->why.text) &&
      !w->asks_network)
    w->why.text[0] = '\0';
  return status;
}

/* The record travels as one value; Slurm exports it as SLURM_SPANK_FORETELL, under --export=NONE
 * too. */
static void carry(spank_t spank, struct work *w)
{
  struct ft_error err;
  struct ft_buf text;

  ft_buf_init(&text, FT_LIMIT_ENVIRONMENT);
  if (ft_submission_to_text(&w->submission, &text, &err) == 0)
    (void)spank_job_control_setenv(spank, "FORETELL", ft_buf_text(&text), 1);
  ft_buf_free(&text);
}

/* Whether the job is for this cluster: neither nodes nor policy of another are known. */
static bool is_ours(struct work *w)
{
  const char *asked = w->bridge->value[FT_OPTION_CLUSTERS];
  struct ft_error err;

  if (!w->has_site || !w->site.cluster[0] || !asked || strcmp(asked, w->site.cluster) == 0)
    return true;
  (void)ft_error_set(&err, "--clusters=%.64s: only %s is known here", asked, w->site.cluster);
  note(w, &err);
  return false;
}

static int predict(spank_t spank, struct work *w, const struct ft_settings *settings, bool local,
                   unsigned component)
{
  int state_fd, status = 0;
  struct ft_error err;
  bool ours;

  ft_options_read(&w->options);
  w->asked = (w->options.mode != FT_MODE_UNSET && w->options.mode != FT_MODE_OFF) ||
             w->options.model || w->options.mig || w->options.perf || w->options.partition;
  note(w, &w->options.why);
  note(w, &settings->why);
  /* what somebody has written in vain is told though nothing is asked */
  w->asked |= w->why.text[0] != '\0';
  state_fd = ft_helper_open_state(settings->state, STATE_MILLISECONDS / 1000.0, &err);
  if (state_fd < 0)
    note(w, &err);
  else
    read_site(w, state_fd);
  ft_collect(w->bridge, &w->options, local, component, &w->collected);
  describe(w, settings, state_fd >= 0);
  w->submission.het_offset = component;
  ours = is_ours(w);
  if (ours && w->has_site && (w->options.perf || w->options.partition))
    look_elsewhere(w, state_fd);
  if (ours && w->has_site)
    status = decide(w, settings, state_fd);
  else if (ours && w->network)
    status = apply_network(w);
  if (w->why.text[0])
    ft_advise_failure(w->asked, &w->why);
  if (status == 0)
    carry(spank, w);
  ft_collect_free(&w->collected);
  free(w->network);
  if (state_fd >= 0)
    close(state_fd);
  return status;
}

/* A free place in the host's heap, and what keeps it from being its end. */
static void *volatile room, *post;

enum { ROOM = 16 << 10 };

static void leave_room(void)
{
  room = malloc(ROOM);
  if (!post)
    post = malloc(ROOM);
  free(room);
}

void ft_predict_forget(void)
{
  free(post);
  post = NULL;
}

int ft_predict(spank_t spank, const struct ft_settings *settings, bool local, unsigned component)
{
  struct ft_bridge bridge;
  int status = 0;

  if (!ft_bridge_open(&bridge))
    return 0;
  leave_room();
  ft_bridge_read(&bridge);
  if (ft_collect_is_step(&bridge, local))
    goto out;
  ft_bridge_restore(&bridge);
  ft_advise_quiet(bridge.value[FT_OPTION_QUIET]);
  work.bridge = &bridge;
  work.network = NULL;
  work.has_site = work.has_apps = work.asks_network = false;
  work.why.text[0] = '\0';
  status = predict(spank, &work, settings, local, component);
out:
  ft_bridge_release(&bridge);
  return status;
}
