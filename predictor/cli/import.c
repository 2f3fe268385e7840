/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * foretell import: runs that others recorded, into the store. A file is taken whole or not at all.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "predictor/cli/cli.h"
#include "predictor/cli/store_access.h"
#include "predictor/core/text.h"
#include "predictor/history/import.h"
#include "predictor/history/json.h"
#include "predictor/history/stale_models.h"

enum { MOST_TOLD = 20, NAMES = 256 }; /* skipped lines that are told; users kept in mind */

struct task {
  ft_observation clean; /* that is put */
  const char *name; /* of the command */
  const char *state, *format, *timezone, *app, *user, *cluster, *features;
  bool keep_going, json;
  const char *map_text;
  char *map_copy;
  struct ft_import_map maps[FT_IMPORT_MAPS];
  size_t map_count;
  struct ft_user importer;
  struct ft_store_access records;
  struct ft_timezone *zone;
  struct ft_app_set apps;
  struct ft_progress progress;
  uint64_t told;
  uint64_t forgotten; /* runs of this file that are not to come back (history/forget.h) */
  bool store_failed;
  struct known {
    char user[64];
    bool exists;
    uint32_t uid;
  } known[NAMES]; /* by hash: a user is looked up once, not once a job */
  json_t *files;
};

static int lookup_import_uid(const char *user, uint32_t *uid, void *data)
{
  struct task *task = data;
  size_t hash = 0;
  struct known *known;

  for (const char *p = user; *p; p++)
    hash = hash * 31 + (unsigned char)*p;
  known = &task->known[hash % NAMES];
  if (strcmp(known->user, user) != 0 || !known->user[0]) {
    const struct passwd *entry = getpwnam(user);

    (void)ft_string_copy(user, known->user, sizeof known->user);
    known->exists = entry;
    known->uid = entry ? entry->pw_uid : 0;
  }
  *uid = known->uid;
  return known->exists ? 0 : -1;
}

static int insert_run(const ft_observation *o, void *data, struct ft_error *err)
{
  struct task *task = data;
  ft_observation merged;
  int status;

  task->store_failed = true;
  task->clean = *o;
  ft_record_clean(FT_RECORD_OBSERVATION, &task->clean);
  status = ft_store_put(task->records.store, &task->clean, &merged, err);
  if (status < 0)
    return -1;
  if (status > 0) {
    task->forgotten++;
    task->store_failed = false;
    return 0;
  }
  if (ft_store_mark_stale(task->records.store, merged.uid, merged.submission.app, NULL, err) < 0)
    return -1;
  /* what a run turns out to be may be another app than the one it was taken for */
  if (ft_app_set_add(&task->apps, merged.submission.app, merged.uid) < 0)
    return ft_error_set(err, "out of memory");
  task->store_failed = false;
  return 0;
}

static void print_skipped_line(const struct ft_error *why, void *data)
{
  struct task *task = data;

  ft_progress_end(&task->progress);
  if (task->told++ < MOST_TOLD)
    ft_print_error(task->name, 0, "passed over: %s", why->text);
}

static void show_import_progress(uint64_t bytes, void *data)
{
  struct task *task = data;

  ft_progress_step(&task->progress, (double)bytes);
}

/* "column=field,column=field" */
static int read_maps(struct task *task, struct ft_error *err)
{
  char *next, *equals;

  if (!task->map_text)
    return 0;
  task->map_copy = strdup(task->map_text);
  if (!task->map_copy)
    return ft_error_set(err, "out of memory");
  for (char *item = task->map_copy; item; item = next) {
    next = strchr(item, ',');
    if (next)
      *next++ = '\0';
    equals = strrchr(item, '=');
    if (!equals || equals == item || !equals[1])
      return ft_error_set(err, "--map=%.60s: expected COLUMN=FIELD", item);
    if (task->map_count == FT_IMPORT_MAPS)
      return ft_error_set(err, "--map: more than %d columns", FT_IMPORT_MAPS);
    *equals = '\0';
    task->maps[task->map_count++] = (struct ft_import_map){ item, equals + 1 };
  }
  return 0;
}

static int check_name(const char *option, const char *name, size_t size, struct ft_error *err)
{
  if (!name)
    return 0;
  if (!*name || strlen(name) >= size)
    return ft_error_set(err, "--%s: expected a name of 1 to %zu bytes", option, size - 1);
  for (; *name; name++)
    if ((unsigned char)*name < ' ' || *name == 0x7f)
      return ft_error_set(err, "--%s: expected a name without control characters", option);
  return 0;
}

static int check_import_options(struct task *task, struct ft_error *err)
{
  if (task->format && strcmp(task->format, "sacct") != 0 && strcmp(task->format, "csv") != 0)
    return ft_error_set(err, "--format=%.60s: expected sacct or csv", task->format);
  if (check_name("app", task->app, 128, err) < 0 || check_name("user", task->user, 64, err) < 0 ||
      check_name("cluster", task->cluster, 64, err) < 0 || read_maps(task, err) < 0 ||
      ft_find_user(NULL, &task->importer, err) < 0)
    return -1;
  if (!task->timezone)
    return 0;
  task->zone = ft_timezone_open(task->timezone, NULL, err);
  return task->zone ? 0 : -1;
}

static bool is_csv(const struct task *task, const char *path)
{
  size_t length = strlen(path);

  if (task->format)
    return strcmp(task->format, "csv") == 0;
  return length > 4 && strcmp(path + length - 4, ".csv") == 0;
}

static int run_import(struct task *task, struct ft_import *import, const char *path,
                      struct ft_error *err)
{
  struct stat st;
  int status;

  if (fstat(import->fd, &st) < 0 || !S_ISREG(st.st_mode))
    st.st_size = 0;
  ft_progress_start(&task->progress, import->name, (double)st.st_size);
  status = is_csv(task, path) ? ft_import_csv(import, err) : ft_import_sacct(import, err);
  ft_progress_end(&task->progress);
  return status;
}

static void print_import_result(struct task *task, const struct ft_import *import)
{
  json_t *file;

  if (!task->json) {
    printf("%s: %" PRIu64 " runs", import->name, import->runs - task->forgotten);
    if (task->forgotten)
      printf(", %" PRIu64 " forgotten and left out", task->forgotten);
    if (import->not_ended)
      printf(", %" PRIu64 " jobs not ended or never begun", import->not_ended);
    if (import->bad)
      printf(", %" PRIu64 " lines passed over", import->bad);
    printf("\n");
    return;
  }
  file = json_object();
  json_object_set_new(file, "file", ft_json_text(import->name));
  json_object_set_new(file, "runs", json_integer((json_int_t)(import->runs - task->forgotten)));
  json_object_set_new(file, "forgotten", json_integer((json_int_t)task->forgotten));
  json_object_set_new(file, "not_ended", json_integer((json_int_t)import->not_ended));
  json_object_set_new(file, "lines_passed_over", json_integer((json_int_t)import->bad));
  json_array_append_new(task->files, file);
}

/* Returns an exit status. */
static int import_file(struct task *task, const char *path)
{
  bool standard = strcmp(path, "-") == 0;
  struct ft_import import = {
    .name = standard ? "standard input" : path,
    .fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC),
    .keep_going = task->keep_going,
    .zone = task->zone,
    .app = task->app,
    .cluster = task->cluster ? task->cluster : task->records.config.cluster,
    /* a table without users is the importer's own; sacct's jobs are somebody's */
    .user = task->user           ? task->user
            : is_csv(task, path) ? task->importer.name
                                 : NULL,
    .maps = task->maps,
    .map_count = task->map_count,
    .features = task->features,
    .find_uid = lookup_import_uid,
    .put = insert_run,
    .skipped = print_skipped_line,
    .progress = show_import_progress,
    .data = task
  };
  int status = FT_EXIT_DONE;
  struct ft_error err;

  if (import.fd < 0)
    return ft_print_error(task->name, FT_EXIT_USAGE, "%s: %s", path, strerror(errno));
  task->forgotten = 0;
  if (ft_store_begin(task->records.store, &err) < 0)
    status = ft_print_error(task->name, FT_EXIT_SYSTEM, "%s", err.text);
  else if (run_import(task, &import, path, &err) < 0)
    status = ft_print_error(task->name, task->store_failed ? FT_EXIT_SYSTEM : FT_EXIT_USAGE,
                            "%s; nothing was imported from %s", err.text, import.name);
  else if (ft_store_commit(task->records.store, &err) < 0)
    status = ft_print_error(task->name, FT_EXIT_SYSTEM, "%s", err.text);
  else
    print_import_result(task, &import);
  if (!standard)
    close(import.fd);
  return status;
}

static int import_all(struct task *task, int count, char **paths)
{
  struct ft_error err;
  int status = FT_EXIT_DONE;
  bool works;

  if (check_import_options(task, &err) < 0)
    return ft_print_error(task->name, FT_EXIT_USAGE, "%s", err.text);
  if (ft_store_access_open(&task->records, task->state, true, &err) < 0)
    return ft_print_error(task->name, FT_EXIT_SYSTEM, "%s", err.text);
  task->files = json_array();
  for (int i = 0; i < count && status == FT_EXIT_DONE; i++)
    status = import_file(task, paths[i]);
  if (task->told > MOST_TOLD)
    ft_print_error(task->name, 0, "passed over: %" PRIu64 " more lines", task->told - MOST_TOLD);
  if (status != FT_EXIT_DONE)
    return status;
  works = ft_agent_works(task->records.state_fd);
  if (task->json)
    return ft_json_print(json_pack("{s:O, s:I, s:b}", "files", task->files, "apps",
                                   (json_int_t)task->apps.count, "agent_runs", works));
  printf("%zu app%s new runs%s\n", task->apps.count, task->apps.count == 1 ? " has" : "s have",
         !task->apps.count ? ""
         : works           ? "; foretelld, which runs, publishes their models within a minute or so"
                           : "; foretelld publishes their models when it is started");
  return ft_flush(task->name);
}

int ft_command_import(int argc, char **argv)
{
  struct task *task = calloc(1, sizeof *task);
  int first, status;

  if (!task)
    return ft_print_error(argv[0], FT_EXIT_SYSTEM, "out of memory");
  *task = (struct task){ .name = argv[0], .records.state_fd = -1 };
  const struct ft_option options[] = {
    { 0, "format", "FORMAT", "sacct, or csv (the default for names ending in .csv)",
      FT_OPTION_STRING, &task->format },
    { 0, "timezone", "ZONE", "of local times: UTC, +02:00, Europe/Berlin or local",
      FT_OPTION_STRING, &task->timezone },
    { 0, "keep-going", NULL, "pass over bad lines instead of refusing the file", FT_OPTION_FLAG,
      &task->keep_going },
    { 0, "app", "NAME", "every run is one of this app", FT_OPTION_STRING, &task->app },
    { 0, "user", "USER", "whose runs they are where the file does not say", FT_OPTION_STRING,
      &task->user },
    { 0, "cluster", "NAME", "where they ran where the file does not say", FT_OPTION_STRING,
      &task->cluster },
    { 0, "map", "COLUMN=FIELD,...", "csv: what a column is", FT_OPTION_STRING, &task->map_text },
    { 0, "features", "COLUMN,...", "csv: features; * for all columns that are nothing else",
      FT_OPTION_STRING, &task->features },
    { 0, "state", "DIR", "the state folder", FT_OPTION_STRING, &task->state },
    { 0, "json", NULL, "answer in JSON", FT_OPTION_FLAG, &task->json },
    { 0 }
  };

  first = ft_options_parse(options, "[OPTION]... FILE...",
                           "Learn from the output of sacct -P or from a CSV table; - is standard"
                           " input.",
                           false, argc, argv, &status);
  if (first >= argc)
    status = ft_print_error(argv[0], FT_EXIT_USAGE, "expected a file, or - for standard input");
  else if (first >= 0)
    status = import_all(task, argc - first, argv + first);
  ft_store_access_close(&task->records);
  ft_timezone_close(task->zone);
  ft_app_set_free(&task->apps);
  json_decref(task->files);
  free(task->map_copy);
  free(task);
  return status;
}
