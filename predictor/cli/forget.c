/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * foretell forget: removes runs permanently. The agent removes them, for the user that the kernel
 * reports; without an agent, root and the owner of the state directory can remove them directly.
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/alone.h"
#include "predictor/cli/cli.h"
#include "predictor/cli/question.h"
#include "predictor/cli/store_access.h"
#include "predictor/core/text.h"

struct task {
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
  return ft_error_set(
      err, "--job=%.60s: expected a job's number, 139, or an array's element, 139_4", text);
}

static int parse_selection(struct task *task, ft_forget *what, struct ft_error *err)
{
  struct ft_user user;

  if (!task->app && !task->job && !task->user && !task->before)
    return ft_error_set(err, "what? expected an app, --job, --user or --before");
  if (task->app && (!task->app[0] || !ft_string_copy(task->app, what->app, sizeof what->app)))
    return ft_error_set(err, "'%.60s': no app has such a name", task->app);
  if (task->job && parse_forget_job(task->job, what, err) < 0)
    return -1;
  if (task->before && ft_store_access_time("before", task->before, &what->before, err) < 0)
    return -1;
  if (task->user) {
    if (ft_find_user(task->user, &user, err) < 0)
      return -1;
    what->has_uid = true;
    what->uid = user.uid;
  }
  what->dry_run = task->dry_run;
  return 0;
}

static bool receive_forget_reply(const ft_reply *reply, void *data)
{
  struct task *task = data;

  if (reply->has_forgotten)
    task->done = reply->forgotten;
  return true;
}

/* True if the caller owns the state directory STATE_FD or is root. */
static bool owns_state_dir(int state_fd)
{
  struct stat st;

  return geteuid() == 0 || (fstat(state_fd, &st) == 0 && st.st_uid == geteuid());
}

static int forget_runs(struct task *task, int state_fd, const struct ft_config *config,
                       struct ft_error *err)
{
  struct ft_error why;

  if (owns_state_dir(state_fd) && !ft_agent_works(state_fd))
    return ft_alone_forget(state_fd, config->state_directory, &task->question.asked.forget,
                           &task->done, err);
  if (ft_agent_ask(config->socket, state_fd, &task->question, receive_forget_reply, task, &why) ==
      0)
    return 0;
  if (errno == ENOENT || errno == ECONNREFUSED)
    return ft_error_set(err,
                        "%s: no foretelld listens on this machine; run this where it does, or "
                        "ask root",
                        why.text);
  return ft_error_set(err, "%s", why.text);
}

static const char *plural_suffix(uint64_t count)
{
  return count == 1 ? "" : "s";
}

static int print_forget_result(const struct task *task)
{
  const ft_forgotten *d = &task->done;

  if (task->json)
    return ft_json_print(json_pack("{s:b, s:I, s:I, s:I, s:I}", "dry_run", task->dry_run, "runs",
                                   (json_int_t)d->runs, "apps", (json_int_t)d->apps,
                                   "models_removed", (json_int_t)d->models, "overrides_kept",
                                   (json_int_t)d->kept));
  printf("%s %" PRIu64 " run%s of %" PRIu64 " app%s", task->dry_run ? "would forget" : "forgot",
         d->runs, plural_suffix(d->runs), d->apps, plural_suffix(d->apps));
  if (!task->dry_run)
    printf(" (%" PRIu64 " model%s removed)", d->models, plural_suffix(d->models));
  if (d->kept)
    printf("; that %" PRIu64 " run%s overrode the policy stays on record", d->kept,
           plural_suffix(d->kept));
  printf("\n");
  return ft_flush(task->name);
}

static int run_forget(struct task *task)
{
  struct ft_config *config = malloc(sizeof *config);
  struct ft_error err;
  int state_fd = -1, status;

  task->question.which_asked = ft_question_forget_tag;
  if (!config)
    status = ft_print_error(task->name, FT_EXIT_SYSTEM, "out of memory");
  else if (parse_selection(task, &task->question.asked.forget, &err) < 0)
    status = ft_print_error(task->name, FT_EXIT_USAGE, "%s", err.text);
  else if ((state_fd = ft_open_state(task->state, config, &err)) < 0 ||
           forget_runs(task, state_fd, config, &err) < 0)
    status = ft_print_error(task->name, FT_EXIT_SYSTEM, "%s", err.text);
  else
    status = print_forget_result(task);
  if (state_fd >= 0)
    close(state_fd);
  free(config);
  return status;
}

int ft_command_forget(int argc, char **argv)
{
  struct task task = { .name = argv[0] };
  const struct ft_option options[] = {
    { 0, "job", "ID[_TASK]", "runs of this job, array or element of an array", FT_OPTION_STRING,
      &task.job },
    { 0, "user", "USER", "runs of this user", FT_OPTION_STRING, &task.user },
    { 0, "before", "TIME", "what ended before a day, a time or an age such as 400d",
      FT_OPTION_STRING, &task.before },
    { 'n', "dry-run", NULL, "say what would go, and remove nothing", FT_OPTION_FLAG,
      &task.dry_run },
    { 0, "state", "DIR", "the state folder", FT_OPTION_STRING, &task.state },
    { 0, "json", NULL, "answer in JSON", FT_OPTION_FLAG, &task.json },
    { 0 }
  };
  int status,
      first = ft_options_parse(options, "[OPTION]... [APP]",
                               "Remove runs for good: those for which all that is given holds.",
                               false, argc, argv, &status);

  if (first < 0)
    return status;
  if (argc - first > 1)
    return ft_print_error(argv[0], FT_EXIT_USAGE, "'%s': one app was expected", argv[first + 1]);
  task.app = first < argc ? argv[first] : NULL;
  return run_forget(&task);
}
