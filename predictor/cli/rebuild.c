/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * foretell rebuild: rebuilds models from the stored runs. The learner does it while it goes on
 * recording; without a learner, root and the owner of the state directory can do it directly. The
 * searches of equations that follow can run on the cluster (rebuild_slurm.h).
 */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "predictor/cli/cli.h"
#include "predictor/cli/offline/offline.h"
#include "predictor/cli/question.h"
#include "predictor/cli/rebuild_slurm.h"
#include "predictor/cli/state_dir.h"
#include "predictor/core/io.h"
#include "predictor/core/text.h"

/* Pause between two tries while another process uses the store, and time until giving up. */
#define RETRY_PAUSE_SECONDS 0.1
#define GIVE_UP_AFTER_SECONDS 20.0
/* Default of --tasks. */
enum { DEFAULT_TASKS = 32, MAX_TASKS = 10000 };

struct rebuild_command {
  const char *name; /* of the command, for messages */
  const char *app, *user, *state, *task;
  bool json, slurm, drawn; /* the progress bar is */
  struct ft_slurm_rebuild searches;
  struct ft_progress progress;
  ft_question question;
  ft_rebuild_progress done;
};

static void show_rebuild_progress(struct rebuild_command *command, const ft_rebuild_progress *now)
{
  command->done = *now;
  if (!command->drawn && now->left)
    ft_progress_start(&command->progress, "models", (double)now->models);
  command->drawn |= now->left > 0;
  if (command->drawn && now->left <= now->models)
    ft_progress_step(&command->progress, (double)(now->models - now->left));
}

static bool receive_rebuild_progress(const ft_reply *reply, void *data)
{
  if (reply->has_rebuild)
    show_rebuild_progress(data, &reply->rebuild);
  return true;
}

/* ---- without a learner ---- */

/* Marks the models and rebuilds them. Returns 0; -1 and ERR. */
static int mark_and_rebuild(struct rebuild_command *command, struct ft_recorder *recorder,
                            struct ft_error *err)
{
  const struct timespec pause = { .tv_nsec = (long)(RETRY_PAUSE_SECONDS * 1e9) };
  const ft_rebuild_request *what = &command->question.asked.rebuild;
  struct ft_mark_pass pass = { .by_uid = what->has_uid, .uid = what->uid };
  double deadline = ft_io_monotonic() + GIVE_UP_AFTER_SECONDS;
  ft_rebuild_progress now;
  bool more = true;
  int status = 1;

  (void)ft_string_copy(what->app, pass.app, sizeof pass.app);
  while (status > 0)
    status = ft_recorder_mark_step(recorder, &pass, err);
  /* until the models that follow from them, those of shared apps, are rebuilt, too */
  while (status == 0) {
    more = ft_recorder_maintain(recorder);
    if (ft_recorder_rebuild_progress(recorder, &pass, &now, err) < 0)
      return -1;
    show_rebuild_progress(command, &now);
    if (!more && !now.left)
      return 0;
    if (more)
      deadline = ft_io_monotonic() + GIVE_UP_AFTER_SECONDS;
    else if (ft_io_monotonic() >= deadline)
      return ft_error_set(err, "not complete, foretell-learnd will continue: the store is in use");
    else
      (void)nanosleep(&pause, NULL);
  }
  return -1;
}

static int rebuild_offline(struct rebuild_command *command, int state_fd, const char *path,
                           struct ft_error *err)
{
  struct ft_offline *offline = calloc(1, sizeof *offline);
  int lock = -1, status = -1;

  if (!offline)
    return ft_error_errno(err, "rebuild");
  lock = ft_offline_lock(state_fd, path, err);
  if (lock >= 0 && ft_offline_open(offline, state_fd, path, err) == 0)
    status = mark_and_rebuild(command, offline->recorder, err);
  ft_offline_close(offline);
  if (lock >= 0)
    close(lock);
  free(offline);
  return status;
}

/* ---- the command ---- */

static int parse_rebuild_selection(struct rebuild_command *command, struct ft_error *err)
{
  ft_rebuild_request *what = &command->question.asked.rebuild;
  struct ft_user user;

  command->question.which_asked = ft_question_rebuild_tag;
  if (command->app &&
      (!command->app[0] || !ft_string_copy(command->app, what->app, sizeof what->app)))
    return ft_error_set(err, "--app='%.60s': expected an app's name of 1 to %zu bytes",
                        command->app, sizeof what->app - 1);
  if (!command->user)
    return 0;
  if (ft_find_user(command->user, &user, err) < 0)
    return -1;
  what->has_uid = true;
  what->uid = user.uid;
  return 0;
}

static int rebuild_models(struct rebuild_command *command, int state_fd,
                          const struct ft_config *config, struct ft_error *err)
{
  if (ft_store_is_elsewhere(command->state, state_fd, config, err))
    return -1;
  if (ft_offline_is_possible(state_fd))
    return rebuild_offline(command, state_fd, config->state_directory, err);
  return ft_ask_learner(config->learner_socket, state_fd, &command->question,
                        receive_rebuild_progress, command, "", err);
}

/* Searches the equations of the rebuilt models on the cluster. Returns 0; -1 and ERR. */
static int search_on_slurm(struct rebuild_command *command, int state_fd,
                           const struct ft_config *config, struct ft_error *err)
{
  command->searches.what = &command->question.asked.rebuild;
  command->searches.learner_socket = config->learner_socket;
  if (!ft_learner_works(state_fd))
    return ft_error_set(err, "--slurm: foretell-learnd does not run; it adopts the results");
  return ft_rebuild_on_slurm(state_fd, &command->searches, err);
}

static int print_rebuild_result(const struct rebuild_command *command)
{
  const struct ft_slurm_rebuild *s = &command->searches;
  const ft_rebuild_progress *d = &command->done;
  uint64_t rebuilt = d->failed < d->models ? d->models - d->failed : 0;
  json_t *object;
  int status;

  if (command->json) {
    object =
        json_pack("{s:I, s:I}", "models", (json_int_t)rebuilt, "failed", (json_int_t)d->failed);
    if (command->slurm) {
      json_object_set_new(object, "searches_due", json_integer((json_int_t)s->due));
      json_object_set_new(object, "searched", json_integer((json_int_t)s->searched));
    }
    status = ft_json_print(object);
  } else {
    printf("rebuilt %" PRIu64 " model%s", rebuilt, ft_plural(rebuilt));
    if (command->slurm)
      printf(", searched %" PRIu64 " equation%s", s->searched, ft_plural(s->searched));
    printf("\n");
    status = ft_flush(command->name);
  }
  if (status == FT_EXIT_DONE && s->searched < s->due)
    return ft_print_error(command->name, FT_EXIT_SYSTEM,
                          "%" PRIu64 " equations were not searched: tasks of the job array did not"
                          " complete; see their output in %s",
                          s->due - s->searched, s->directory);
  if (status == FT_EXIT_DONE && d->failed)
    return ft_print_error(
        command->name, FT_EXIT_SYSTEM,
        "%" PRIu64 " could not be rebuilt; foretell-learnd tries again, see its log", d->failed);
  return status == FT_EXIT_DONE && !d->models ? FT_EXIT_NO : status;
}

static int run_rebuild(struct rebuild_command *command)
{
  struct ft_config *config = malloc(sizeof *config);
  struct ft_error err;
  int state_fd = -1, status;

  if (!config)
    status = ft_print_error(command->name, FT_EXIT_SYSTEM, "out of memory");
  else if (parse_rebuild_selection(command, &err) < 0)
    status = ft_print_error(command->name, FT_EXIT_USAGE, "%s", err.text);
  else if ((state_fd = ft_open_state(command->state, config, &err)) < 0 ||
           rebuild_models(command, state_fd, config, &err) < 0 ||
           (command->slurm && search_on_slurm(command, state_fd, config, &err) < 0))
    status = FT_EXIT_SYSTEM;
  else
    status = FT_EXIT_DONE;
  if (command->drawn)
    ft_progress_end(&command->progress);
  if (config && status == FT_EXIT_DONE)
    status = print_rebuild_result(command);
  else if (config && status == FT_EXIT_SYSTEM)
    (void)ft_print_error(command->name, status, "%s", err.text);
  if (state_fd >= 0)
    close(state_fd);
  free(config);
  return status;
}

int ft_command_rebuild(int argc, char **argv)
{
  struct rebuild_command command = { .name = argv[0], .searches.tasks = DEFAULT_TASKS };
  const struct ft_option options[] = {
    { 0, "app", "APP", "only models of this app", FT_OPTION_STRING, &command.app },
    { 0, "user", "USER", "only models of this user", FT_OPTION_STRING, &command.user },
    { 0, "state", "DIR", "state directory", FT_OPTION_STRING, &command.state },
    { 0, "slurm", NULL, "search equations in a Slurm job array", FT_OPTION_FLAG, &command.slurm },
    { 0, "tasks", "N", "tasks of the array at most, 1 to 10000 (32)", FT_OPTION_COUNT,
      &command.searches.tasks },
    { 0, "task", "DIR", "be a task of the array: search the models in DIR", FT_OPTION_STRING,
      &command.task },
    { 0, "json", NULL, "print one JSON object", FT_OPTION_FLAG, &command.json },
    { 0 }
  };
  struct ft_error err;
  int status, first = ft_options_parse(options, "[OPTION]... [-- SBATCH-OPTION...]",
                                       "Rebuilds the models of all apps from the stored runs.",
                                       FT_OPERANDS_ANY, argc, argv, &status);

  if (first < 0)
    return status;
  if (argv[first] && !command.slurm)
    return ft_print_error(argv[0], FT_EXIT_USAGE,
                          "unexpected argument '%s'; see foretell %s --help", argv[first], argv[0]);
  if (command.searches.tasks < 1 || command.searches.tasks > MAX_TASKS)
    return ft_print_error(argv[0], FT_EXIT_USAGE, "--tasks: expected 1 to %d", MAX_TASKS);
  command.searches.options = argv + first;
  if (!command.task)
    return run_rebuild(&command);
  return ft_rebuild_task(command.task, &err) == 0
             ? FT_EXIT_DONE
             : ft_print_error(argv[0], FT_EXIT_SYSTEM, "%s", err.text);
}
