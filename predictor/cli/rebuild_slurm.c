/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "predictor/cli/question.h"
#include "predictor/cli/rebuild_slurm.h"
#include "predictor/core/io.h"
#include "predictor/core/text.h"
#include "predictor/estimate/quantity.h"
#include "predictor/online/equation_search.h"
#include "predictor/record/state_files.h"

enum { MAX_OPTIONS = 64 }; /* of sbatch */

extern char **environ;

/* Writes the name of model NUMBER, or of its result, in the shared directory to NAME. */
static void name_model(char name[32], uint64_t number)
{
  (void)snprintf(name, 32, "%" PRIu64 ".model", number);
}

static void name_result(char name[32], uint64_t number)
{
  (void)snprintf(name, 32, "%" PRIu64 ".found", number);
}

/* An app's model and its runs, or the result of a search. */
struct search_model {
  ft_model model;
  struct ft_history history;
};

static int read_model(int fd, const char *name, struct search_model *m, struct ft_error *err)
{
  return ft_model_file_read(fd, name, FT_QUANTITY_MEMORY, &m->model, &m->history, err);
}

/* Replaces the file NAME under FD, without fdatasync(2). Returns 0; -1 on error and fills ERR. */
static int write_model(int fd, const char *name, const struct search_model *m, struct ft_error *err)
{
  const ft_model *const section = &m->model;
  struct ft_buf buf;
  int status;

  ft_buf_init(&buf, FT_LIMIT_RECORD);
  status = ft_model_file_encode(&section, 1, &m->history, &buf, err);
  if (status == 0)
    status = ft_io_write_file_unsynced(fd, name, buf.data, buf.length, 0600, err);
  ft_buf_free(&buf);
  return status;
}

/* ---- in a task ---- */

/* Searches an equation for model NUMBER. Returns 1; 0 if there is no such model; -1 on error. */
static int search_numbered(int fd, uint64_t number, struct search_model *model,
                           struct search_model *found, struct ft_error *err)
{
  char name[32];

  name_model(name, number);
  if (read_model(fd, name, model, err) < 0)
    return errno == ENOENT ? 0 : -1;
  name_result(name, number);
  return ft_equation_search(&model->model, &model->history, NULL, NULL, &found->model,
                            &found->history, err) < 0 ||
                 write_model(fd, name, found, err) < 0
             ? -1
             : 1;
}

/* Sets *VALUE to the number in the environment variable NAME. Returns 0; -1 on error. */
static int read_slurm_number(const char *name, uint64_t *value, struct ft_error *err)
{
  const char *text = getenv(name);
  struct ft_text cursor = ft_text_from(text ? text : "");

  return ft_text_u64(&cursor, UINT32_MAX, value) && ft_text_left(&cursor) == 0
             ? 0
             : ft_error_set(err, "%s: expected a number; --task is for tasks of a job array", name);
}

int ft_rebuild_task(const char *directory, struct ft_error *err)
{
  int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC), status = 1, failed = 0;
  struct search_model *model = calloc(2, sizeof *model);
  uint64_t task, tasks;

  if (fd < 0 || !model) {
    failed = ft_error_errno(err, "%s", directory);
  } else if (read_slurm_number("SLURM_ARRAY_TASK_ID", &task, err) < 0 ||
             read_slurm_number("SLURM_ARRAY_TASK_COUNT", &tasks, err) < 0) {
    failed = -1;
  } else {
    for (uint64_t i = task; status != 0 && tasks > 0; i += tasks) {
      status = search_numbered(fd, i, model, &model[1], err);
      failed = status < 0 ? -1 : failed;
    }
  }
  if (fd >= 0)
    close(fd);
  free(model);
  return failed;
}

/* ---- in the command ---- */

static bool is_selected(const ft_rebuild_request *what, const struct search_model *m)
{
  return (!what->app[0] || strcmp(what->app, m->model.app) == 0) &&
         (!what->has_uid || what->uid == m->model.uid) &&
         ft_equation_search_due(&m->model, &m->history);
}

/* Copies the selected models in USERS/NAME, one user's directory, to the shared directory FD.
 * Returns 0; -1 on error and fills ERR. */
static int export_user(struct ft_slurm_rebuild *rebuild, int users, const char *user, int fd,
                       struct search_model *model, struct ft_error *err)
{
  DIR *folder = ft_io_open_directory(users, user);
  struct dirent *entry;
  int status = 0;
  char name[32];

  if (!folder)
    return ft_error_errno(err, "%s/%s", FT_STATE_MODELS, user);
  while (status == 0 && (entry = readdir(folder))) {
    size_t length = strlen(entry->d_name);

    if (entry->d_name[0] == '.' || length < 6 ||
        strcmp(entry->d_name + length - 6, ".model") != 0 ||
        read_model(dirfd(folder), entry->d_name, model, NULL) < 0 ||
        !is_selected(rebuild->what, model))
      continue;
    name_model(name, rebuild->due++);
    status = write_model(fd, name, model, err);
  }
  closedir(folder);
  return status;
}

/* The same of all users. Models pooled over users are in a directory of their own number. */
static int export_models(struct ft_slurm_rebuild *rebuild, int state_fd, int fd,
                         struct ft_error *err)
{
  DIR *users = ft_io_open_directory(state_fd, FT_STATE_MODELS);
  struct search_model *model = malloc(sizeof *model);
  struct dirent *entry;
  int status = 0;

  if (!users || !model)
    status = ft_error_errno(err, "%s", FT_STATE_MODELS);
  while (status == 0 && (entry = readdir(users)))
    if (entry->d_name[0] >= '0' && entry->d_name[0] <= '9')
      status = export_user(rebuild, dirfd(users), entry->d_name, fd, model, err);
  if (users)
    closedir(users);
  free(model);
  return status;
}

/* Submits the array and waits for its end. Returns 0, also if a task failed; -1 on error. */
static int run_array(const struct ft_slurm_rebuild *rebuild, struct ft_error *err)
{
  unsigned long tasks = rebuild->tasks < rebuild->due ? rebuild->tasks : rebuild->due;
  char program[PATH_MAX], directory[PATH_MAX], array[48], output[PATH_MAX + 32],
      wrap[2 * PATH_MAX + 64];
  const char *argv[MAX_OPTIONS + 8] = { "sbatch", "--wait", "--quiet",
                                        "--job-name=foretell-rebuild" };
  ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
  int count = 4, status = 0;
  pid_t pid;

  if (length < 0 || !realpath(rebuild->directory, directory))
    return ft_error_errno(err, "%s", rebuild->directory);
  program[length] = '\0';
  if (strchr(program, '\'') || strchr(directory, '\''))
    return ft_error_set(err, "%s: the path has a quotation mark", directory);
  (void)snprintf(array, sizeof array, "--array=0-%lu", tasks - 1);
  (void)snprintf(output, sizeof output, "--output=%s/%%a.log", directory);
  (void)snprintf(wrap, sizeof wrap, "--wrap=exec '%s' rebuild --task='%s'", program, directory);
  argv[count++] = array;
  argv[count++] = output;
  for (int i = 0; rebuild->options[i]; i++) {
    if (i == MAX_OPTIONS)
      return ft_error_set(err, "more than %d options of sbatch", MAX_OPTIONS);
    argv[count++] = rebuild->options[i];
  }
  argv[count++] = wrap;
  errno = posix_spawnp(&pid, "sbatch", NULL, NULL, (char *const *)(uintptr_t)argv, environ);
  if (errno)
    return ft_error_errno(err, "sbatch");
  while (waitpid(pid, &status, 0) < 0)
    if (errno != EINTR)
      return ft_error_errno(err, "sbatch");
  return 0;
}

static bool receive_verdict(const ft_reply *reply, void *data)
{
  bool *taken = data;

  *taken = reply->has_rebuild;
  return true;
}

/* Hands FOUND to the learner, in a file of the state directory that the learner removes. Returns 0;
 * -1 on error. */
static int hand_over(const struct ft_slurm_rebuild *rebuild, int state_fd,
                     const struct search_model *found, struct ft_error *err)
{
  ft_question question = { .which_asked = ft_question_adopt_tag,
                           .asked.adopt = { .number = (uint32_t)getpid() } };
  char name[FT_STATE_NAME_SIZE];
  bool taken = false;
  struct stat st;
  int status;

  ft_state_search_name(question.asked.adopt.number, name);
  if (write_model(state_fd, name, found, err) < 0)
    return -1;
  if (fstat(state_fd, &st) < 0 ||
      (geteuid() == 0 && fchownat(state_fd, name, st.st_uid, st.st_gid, 0) < 0))
    status = ft_error_errno(err, "%s", name);
  else
    status = ft_daemon_ask(FT_DAEMON_LEARNER, rebuild->learner_socket, state_fd, &question,
                           receive_verdict, &taken, err);
  (void)unlinkat(state_fd, name, 0);
  if (status == 0 && !taken)
    status = ft_error_set(err, "%s: no answer of foretell-learnd", found->model.app);
  return status;
}

/* Hands all results in FD to the learner, and removes those models that have one. Returns 0; -1 on
 * error. */
static int collect_results(struct ft_slurm_rebuild *rebuild, int state_fd, int fd,
                           struct ft_error *err)
{
  struct search_model *found = malloc(sizeof *found);
  int status = found ? 0 : ft_error_errno(err, "%s", rebuild->directory);
  char name[32];

  for (uint64_t i = 0; status == 0 && i < rebuild->due; i++) {
    name_result(name, i);
    if (read_model(fd, name, found, NULL) < 0)
      continue;
    status = hand_over(rebuild, state_fd, found, err);
    if (status == 0) {
      rebuild->searched++;
      (void)unlinkat(fd, name, 0);
      name_model(name, i);
      (void)unlinkat(fd, name, 0);
    }
  }
  free(found);
  return status;
}

/* Removes the shared directory FD with the tasks' output. */
static void remove_directory(const struct ft_slurm_rebuild *rebuild, int fd)
{
  char name[32];

  for (unsigned long i = 0; i < rebuild->tasks; i++) {
    (void)snprintf(name, sizeof name, "%lu.log", i);
    (void)unlinkat(fd, name, 0);
  }
  (void)rmdir(rebuild->directory);
}

int ft_rebuild_on_slurm(int state_fd, struct ft_slurm_rebuild *rebuild, struct ft_error *err)
{
  int fd, status;

  rebuild->due = rebuild->searched = 0;
  (void)ft_string_copy("foretell-rebuild-XXXXXX", rebuild->directory, sizeof rebuild->directory);
  if (!mkdtemp(rebuild->directory))
    return ft_error_errno(err, "%s", rebuild->directory);
  fd = open(rebuild->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0)
    return ft_error_errno(err, "%s", rebuild->directory);
  status = export_models(rebuild, state_fd, fd, err);
  if (status == 0 && rebuild->due)
    status = run_array(rebuild, err) < 0 ? -1 : collect_results(rebuild, state_fd, fd, err);
  if (status == 0 && rebuild->searched == rebuild->due)
    remove_directory(rebuild, fd);
  close(fd);
  return status;
}
