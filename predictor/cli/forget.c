/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * foretell forget: removes runs permanently. The learner removes them, for the user that the kernel
 * reports; without an agent, root and the owner of the state directory can remove them directly.
 */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "predictor/cli/names/app_name.h"
#include "predictor/cli/cli.h"
#include "predictor/cli/offline/forget_offline.h"
#include "predictor/cli/offline/offline.h"
#include "predictor/cli/question.h"
#include "predictor/cli/store_access.h"
#include "predictor/core/text.h"

struct forget_command {
  const char *name; /* of the command, for messages */
  const char *app, *job, *user, *before, *state;
  bool dry_run, json;
  ft_question question;
  ft_forgotten done;
};

/* Parses "139" or "139_4". */
static int parse_forget_job(const char *text, ft_forget *what, struct ft_error *err)
{
  struct ft_text cursor = ft_text_from(text);
  uint64_t job, element;
  bool array;

  if (!ft_text_u64(&cursor, UINT32_MAX, &job) || !job)
    goto bad;
  array = ft_text_skip(&cursor, "_");
  if (array && !ft_text_u64(&cursor, UINT32_MAX, &element))
    goto bad;
  if (ft_text_left(&cursor))
    goto bad;
  what->job_id = (uint32_t)job;
  what->has_array_task_id = array;
  if (array)
    what->array_task_id = (uint32_t)element;
  return 0;
bad:
  return ft_error_set(err, "--job=%.60s: expected a job such as 139 or 139_4", text);
}

static int parse_selection(struct forget_command *command, ft_forget *what, struct ft_error *err)
{
  struct ft_user user;

  if (!command->app && !command->job && !command->user && !command->before)
    return ft_error_set(err, "expected an app, --job, --user or --before");
  if (command->app &&
      (!command->app[0] || !ft_string_copy(command->app, what->app, sizeof what->app)))
    return ft_error_set(err, "'%.60s': expected an app's name of 1 to %zu bytes", command->app,
                        sizeof what->app - 1);
  if (command->job && parse_forget_job(command->job, what, err) < 0)
    return -1;
  if (command->before && ft_store_access_time("before", command->before, &what->before, err) < 0)
    return -1;
  if (command->user) {
    if (ft_find_user(command->user, &user, err) < 0)
      return -1;
    what->has_uid = true;
    what->uid = user.uid;
  }
  what->dry_run = command->dry_run;
  return 0;
}

static bool receive_forget_reply(const ft_reply *reply, void *data)
{
  struct forget_command *command = data;

  if (reply->has_forgotten)
    command->done = reply->forgotten;
  return true;
}

static int forget_runs(struct forget_command *command, int state_fd, const struct ft_config *config,
                       struct ft_error *err)
{
  if (ft_store_is_elsewhere(command->state, state_fd, config, err))
    return -1;
  if (ft_offline_is_possible(state_fd))
    return ft_forget_offline(state_fd, config->state_directory, &command->question.asked.forget,
                             &command->done, err);
  return ft_ask_learner(config->learner_socket, state_fd, &command->question, receive_forget_reply,
                        command, ", or ask root", err);
}

static int print_forget_result(const struct forget_command *command)
{
  const ft_forgotten *d = &command->done;

  if (command->json)
    return ft_json_print(json_pack("{s:b, s:I, s:I, s:I, s:I}", "dry_run", command->dry_run, "runs",
                                   (json_int_t)d->runs, "apps", (json_int_t)d->apps,
                                   "models_removed", (json_int_t)d->models, "overrides_kept",
                                   (json_int_t)d->kept));
  printf("%s %" PRIu64 " run%s of %" PRIu64 " app%s", command->dry_run ? "would forget" : "forgot",
         d->runs, ft_plural(d->runs), d->apps, ft_plural(d->apps));
  if (!command->dry_run)
    printf(" (%" PRIu64 " model%s removed)", d->models, ft_plural(d->models));
  if (d->kept)
    printf("; %" PRIu64 " override%s of the policy remain%s in the report", d->kept,
           ft_plural(d->kept), d->kept == 1 ? "s" : "");
  printf("\n");
  return ft_flush(command->name);
}

/* Whether the app has no run and its name means another app, which is then selected. */
static bool means_another_app(struct forget_command *command)
{
  ft_forget *what = &command->question.asked.forget;
  const struct ft_store_filter filter = { .by_uid = true,
                                          .uid = what->has_uid ? what->uid : getuid() };
  char similar[FT_SUGGESTION];

  if (!command->app || command->done.runs || command->done.kept ||
      !ft_app_search_again(command->name, command->state, &filter, command->app, what->app,
                           similar))
    return false;
  command->done = (ft_forgotten){ 0 };
  return true;
}

static int run_forget(struct forget_command *command)
{
  struct ft_config *config = malloc(sizeof *config);
  struct ft_error err;
  int state_fd = -1, status;

  command->question.which_asked = ft_question_forget_tag;
  if (!config)
    status = ft_print_error(command->name, FT_EXIT_SYSTEM, "out of memory");
  else if (parse_selection(command, &command->question.asked.forget, &err) < 0)
    status = ft_print_error(command->name, FT_EXIT_USAGE, "%s", err.text);
  else if ((state_fd = ft_open_state(command->state, config, &err)) < 0 ||
           forget_runs(command, state_fd, config, &err) < 0 ||
           (means_another_app(command) && forget_runs(command, state_fd, config, &err) < 0))
    status = ft_print_error(command->name, FT_EXIT_SYSTEM, "%s", err.text);
  else
    status = print_forget_result(command);
  if (state_fd >= 0)
    close(state_fd);
  free(config);
  return status;
}

int ft_command_forget(int argc, char **argv)
{
  struct forget_command command = { .name = argv[0] };
  const struct ft_option options[] = {
    { 0, "job", "ID[_TASK]", "runs of this job, array or array task", FT_OPTION_STRING,
      &command.job },
    { 0, "user", "USER", "runs of this user", FT_OPTION_STRING, &command.user },
    { 0, "before", "TIME", "runs that ended before a day, a time or an age such as 400d",
      FT_OPTION_STRING, &command.before },
    { 'n', "dry-run", NULL, "show what would be removed, and remove nothing", FT_OPTION_FLAG,
      &command.dry_run },
    { 0, "state", "DIR", "state directory", FT_OPTION_STRING, &command.state },
    { 0, "json", NULL, "print one JSON object", FT_OPTION_FLAG, &command.json },
    { 0 }
  };
  int status,
      first = ft_options_parse(options, "[OPTION]... [APP]",
                               "Removes the runs that match all given conditions, permanently.", 1,
                               argc, argv, &status);

  if (first < 0)
    return status;
  command.app = argv[first];
  return run_forget(&command);
}
