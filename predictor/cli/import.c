/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * foretell import: stores runs from sacct's output or a CSV table. A file with an error is not
 * imported at all.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "predictor/cli/cli.h"
#include "predictor/cli/store_access.h"
#include "predictor/core/io.h"
#include "predictor/core/text.h"
#include "predictor/history/import.h"
#include "predictor/history/import_batch.h"
#include "predictor/history/json.h"

enum {
  MAX_PRINTED = 20, /* messages about skipped lines */
  NAMES = 256,      /* slots of the cache of user names */
  /* maximum wait for another process that writes: its transactions are short */
  STORE_WAIT_MILLISECONDS = 10000
};

struct import_command {
  ft_observation clean;         /* the run being stored */
  const char *name;             /* of the command, for messages */
  struct ft_import_batch batch; /* of this file */
  const char *state, *format, *timezone, *app, *user, *cluster, *features;
  bool exclusive, keep_going, json;
  const char *map_text;
  char *map_copy;
  struct ft_import_map maps[FT_IMPORT_MAPS];
  size_t map_count;
  struct ft_user importer;
  struct ft_store_access records;
  struct ft_timezone *zone;
  struct ft_app_set apps;
  struct ft_progress progress;
  uint64_t skipped;  /* lines of all files */
  bool store_failed; /* the error is the store's, not the file's */
  struct known {
    char user[64];
    bool exists;
    uint32_t uid;
  } known[NAMES]; /* by hash, so that a user is not looked up for every job */
  json_t *files;
};

static int lookup_import_uid(const char *user, uint32_t *uid, void *data)
{
  struct import_command *command = data;
  size_t hash = 0;
  struct known *known;

  for (const char *p = user; *p; p++)
    hash = hash * 31 + (unsigned char)*p;
  known = &command->known[hash % NAMES];
  if (strcmp(known->user, user) != 0 || !known->user[0]) {
    const struct passwd *entry = getpwnam(user);

    (void)ft_string_copy(user, known->user, sizeof known->user);
    known->exists = entry;
    known->uid = entry ? entry->pw_uid : 0;
  }
  *uid = known->uid;
  return known->exists ? 0 : -1;
}

static int note_stored_app(const ft_observation *run, void *data, struct ft_error *err)
{
  struct import_command *command = data;

  return ft_app_set_add(&command->apps, run->submission.app, run->uid) < 0
             ? ft_error_set(err, "out of memory")
             : 0;
}

static int insert_run(const ft_observation *o, void *data, struct ft_error *err)
{
  struct import_command *command = data;

  command->clean = *o;
  ft_record_clean(FT_RECORD_OBSERVATION, &command->clean);
  command->store_failed = ft_import_batch_add(&command->batch, &command->clean, err) < 0;
  return command->store_failed ? -1 : 0;
}

/* Receives the runs of a file that is only checked. */
static int accept_run(const ft_observation *o, void *data, struct ft_error *err)
{
  (void)o;
  (void)data;
  (void)err;
  return 0;
}

static void print_skipped_line(const struct ft_error *why, void *data)
{
  struct import_command *command = data;

  ft_progress_end(&command->progress);
  if (command->skipped++ < MAX_PRINTED)
    ft_print_error(command->name, 0, "skipped: %s", why->text);
}

static void show_import_progress(uint64_t bytes, void *data)
{
  struct import_command *command = data;

  ft_progress_step(&command->progress, (double)bytes);
}

/* "column=field,column=field" */
static int read_maps(struct import_command *command, struct ft_error *err)
{
  char *next, *equals;

  if (!command->map_text)
    return 0;
  command->map_copy = strdup(command->map_text);
  if (!command->map_copy)
    return ft_error_set(err, "out of memory");
  for (char *item = command->map_copy; item; item = next) {
    next = strchr(item, ',');
    if (next)
      *next++ = '\0';
    equals = strrchr(item, '=');
    if (!equals || equals == item || !equals[1])
      return ft_error_set(err, "--map=%.60s: expected COLUMN=FIELD", item);
    if (command->map_count == FT_IMPORT_MAPS)
      return ft_error_set(err, "--map: more than %d columns", FT_IMPORT_MAPS);
    *equals = '\0';
    command->maps[command->map_count++] = (struct ft_import_map){ item, equals + 1 };
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

static int check_import_options(struct import_command *command, struct ft_error *err)
{
  if (command->format && strcmp(command->format, "sacct") != 0 &&
      strcmp(command->format, "csv") != 0)
    return ft_error_set(err, "--format=%.60s: expected sacct or csv", command->format);
  if (check_name("app", command->app, 128, err) < 0 ||
      check_name("user", command->user, 64, err) < 0 ||
      check_name("cluster", command->cluster, 64, err) < 0 || read_maps(command, err) < 0 ||
      ft_find_user(NULL, &command->importer, err) < 0)
    return -1;
  if (!command->timezone)
    return 0;
  command->zone = ft_timezone_open(command->timezone, NULL, err);
  return command->zone ? 0 : -1;
}

static bool is_csv(const struct import_command *command, const char *path)
{
  size_t length = strlen(path);

  if (command->format)
    return strcmp(command->format, "csv") == 0;
  return length > 4 &&
         (strcmp(path + length - 4, ".csv") == 0 || strcmp(path + length - 4, ".tsv") == 0);
}

static int read_runs(const struct import_command *command, struct ft_import *import,
                     const char *path, struct ft_error *err)
{
  return is_csv(command, path) ? ft_import_csv(import, err) : ft_import_sacct(import, err);
}

/* Replaces IMPORT's descriptor of a pipe by that of a temporary file with all that comes through
 * it, so that it can be read twice. Returns 0; -1 on error and fills ERR. */
static int copy_pipe(struct ft_import *import, struct ft_error *err)
{
  FILE *file = tmpfile();
  int fd = file ? fcntl(fileno(file), F_DUPFD_CLOEXEC, 0) : -1, saved;
  char bytes[1 << 16];
  ssize_t got = -1;

  if (file)
    (void)fclose(file);
  while (fd >= 0 && (got = read(import->fd, bytes, sizeof bytes)) > 0)
    if (ft_io_write_all(fd, bytes, (size_t)got) < 0) {
      got = -1;
      break;
    }
  saved = errno;
  if (got == 0 && lseek(fd, 0, SEEK_SET) == 0) {
    if (import->fd != STDIN_FILENO)
      close(import->fd);
    import->fd = fd;
    return 0;
  }
  if (fd >= 0)
    close(fd);
  errno = saved;
  return ft_error_errno(err, "%s: cannot be copied to a temporary file in " P_tmpdir, import->name);
}

/* Reads a file without storing anything, so that one with an error is not imported in part. With
 * keep_going no line is an error. Returns 0; -1 on error and fills ERR. */
static int check_import(const struct import_command *command, const struct ft_import *import,
                        const char *path, struct ft_error *err)
{
  struct ft_import check = *import;
  off_t start = lseek(import->fd, 0, SEEK_CUR);

  check.put = accept_run;
  check.progress = NULL;
  if (import->keep_going)
    return 0;
  if (read_runs(command, &check, path, err) < 0)
    return -1;
  return lseek(import->fd, start, SEEK_SET) < 0 ? ft_error_errno(err, "%s", import->name) : 0;
}

static int run_import(struct import_command *command, struct ft_import *import, const char *path,
                      struct ft_error *err)
{
  struct stat st;
  int status;

  if (lseek(import->fd, 0, SEEK_CUR) < 0 && copy_pipe(import, err) < 0)
    return -1;
  if (fstat(import->fd, &st) < 0 || !S_ISREG(st.st_mode))
    st.st_size = 0;
  if (check_import(command, import, path, err) < 0)
    return -1;
  ft_progress_start(&command->progress, import->name, (double)st.st_size);
  status = read_runs(command, import, path, err);
  ft_progress_end(&command->progress);
  if (status < 0)
    return -1;
  command->store_failed = ft_import_batch_store(&command->batch, err) < 0;
  return command->store_failed ? -1 : 0;
}

static void print_import_result(struct import_command *command, const struct ft_import *import)
{
  uint64_t stored = import->runs - command->batch.forgotten;
  json_t *file;

  if (!command->json) {
    printf("%s: %" PRIu64 " run%s", import->name, stored, ft_plural(stored));
    if (command->batch.forgotten)
      printf(", %" PRIu64 " forgotten run%s skipped", command->batch.forgotten,
             ft_plural(command->batch.forgotten));
    if (import->not_ended)
      printf(", %" PRIu64 " job%s not ended or never started", import->not_ended,
             ft_plural(import->not_ended));
    if (import->bad)
      printf(", %" PRIu64 " line%s skipped", import->bad, ft_plural(import->bad));
    printf("\n");
    if (import->tasks_unknown)
      printf(
          "%s: without the columns NTasks and TRESUsageInTot, a step counts with its largest task "
          "only\n",
          import->name);
    if (import->partial)
      printf("%s: of %" PRIu64 " run%s only the largest of several tasks was measured (no "
             "TRESUsageInTot): lower bounds, no estimate follows from them\n",
             import->name, import->partial, ft_plural(import->partial));
    return;
  }
  file = json_object();
  json_object_set_new(file, "file", ft_json_text(import->name));
  json_object_set_new(file, "runs", json_integer((json_int_t)stored));
  json_object_set_new(file, "forgotten", json_integer((json_int_t)command->batch.forgotten));
  json_object_set_new(file, "not_ended", json_integer((json_int_t)import->not_ended));
  json_object_set_new(file, "partly_measured", json_integer((json_int_t)import->partial));
  json_object_set_new(file, "lines_passed_over", json_integer((json_int_t)import->bad));
  json_array_append_new(command->files, file);
}

/* Prints WHY an import failed, and what is imported. Returns an exit status. */
static int print_import_failure(const struct import_command *command, const char *file,
                                const struct ft_error *why)
{
  int status = command->store_failed ? FT_EXIT_SYSTEM : FT_EXIT_USAGE;

  if (!command->batch.done)
    return ft_print_error(command->name, status, "%s; nothing was imported from %s", why->text,
                          file);
  return ft_print_error(command->name, status,
                        "%s; %" PRIu64 " run%s of %s %s imported, import it again to complete them",
                        why->text, command->batch.done, ft_plural(command->batch.done), file,
                        command->batch.done == 1 ? "was" : "were");
}

/* Returns an exit status. */
static int import_file(struct import_command *command, const char *path)
{
  bool standard = strcmp(path, "-") == 0;
  struct ft_import import = {
    .name = standard ? "standard input" : path,
    .fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC),
    .exclusive = command->exclusive,
    .keep_going = command->keep_going,
    .zone = command->zone,
    .app = command->app,
    .cluster = command->cluster ? command->cluster : command->records.config.cluster,
    /* a table without users holds the importer's runs; sacct always names the user */
    .user = command->user           ? command->user
            : is_csv(command, path) ? command->importer.name
                                    : NULL,
    .maps = command->maps,
    .map_count = command->map_count,
    .features = command->features,
    .find_uid = lookup_import_uid,
    .put = insert_run,
    .skipped = print_skipped_line,
    .progress = show_import_progress,
    .data = command
  };
  int status = FT_EXIT_DONE;
  struct ft_error err;

  if (import.fd < 0)
    return ft_print_error(command->name, FT_EXIT_USAGE, "%s: %s", path, strerror(errno));
  command->batch = (struct ft_import_batch){ .store = command->records.store,
                                             .stored = note_stored_app,
                                             .data = command };
  command->store_failed = false;
  if (run_import(command, &import, path, &err) < 0)
    status = print_import_failure(command, import.name, &err);
  else
    print_import_result(command, &import);
  ft_import_batch_free(&command->batch);
  if (import.fd != STDIN_FILENO)
    close(import.fd);
  return status;
}

static int import_all(struct import_command *command, int count, char **paths)
{
  struct ft_error err;
  int status = FT_EXIT_DONE;
  bool works;

  if (check_import_options(command, &err) < 0)
    return ft_print_error(command->name, FT_EXIT_USAGE, "%s", err.text);
  if (ft_store_access_open(&command->records, command->state, true, &err) < 0)
    return ft_print_error(command->name, FT_EXIT_SYSTEM, "%s%s", err.text,
                          errno == EACCES || errno == EPERM
                              ? "; only root and the user of foretell-learnd may import"
                              : "");
  ft_store_set_wait(command->records.store, STORE_WAIT_MILLISECONDS);
  command->files = json_array();
  for (int i = 0; i < count && status == FT_EXIT_DONE; i++)
    status = import_file(command, paths[i]);
  if (command->skipped > MAX_PRINTED)
    ft_print_error(command->name, 0, "skipped: %" PRIu64 " more lines",
                   command->skipped - MAX_PRINTED);
  if (status != FT_EXIT_DONE)
    return status;
  works = ft_learner_works(command->records.state_fd);
  if (command->json)
    return ft_json_print(json_pack("{s:O, s:I, s:b}", "files", command->files, "apps",
                                   (json_int_t)command->apps.count, "agent_runs", works));
  printf("%zu app%s new runs%s\n", command->apps.count,
         command->apps.count == 1 ? " has" : "s have",
         !command->apps.count ? ""
         : works ? "; foretell-learnd is running and publishes their models within about a minute"
                 : "; foretell-learnd publishes their models when it starts");
  return ft_flush(command->name);
}

int ft_command_import(int argc, char **argv)
{
  struct import_command *command = calloc(1, sizeof *command);
  int first, status;

  if (!command)
    return ft_print_error(argv[0], FT_EXIT_SYSTEM, "out of memory");
  *command = (struct import_command){ .name = argv[0], .records.state_fd = -1 };
  const struct ft_option options[] = {
    { 0, "format", "FORMAT", "sacct, or csv (the default for names ending in .csv or .tsv)",
      FT_OPTION_STRING, &command->format },
    { 0, "timezone", "ZONE", "time zone of local times: UTC, +02:00, Europe/Berlin or local",
      FT_OPTION_STRING, &command->timezone },
    { 0, "exclusive", NULL, "the jobs of sacct's output had their nodes alone", FT_OPTION_FLAG,
      &command->exclusive },
    { 0, "keep-going", NULL, "skip bad lines instead of rejecting the file", FT_OPTION_FLAG,
      &command->keep_going },
    { 0, "app", "NAME", "app of every run", FT_OPTION_STRING, &command->app },
    { 0, "user", "USER", "user of the runs if the file names none", FT_OPTION_STRING,
      &command->user },
    { 0, "cluster", "NAME", "cluster of the runs if the file names none", FT_OPTION_STRING,
      &command->cluster },
    { 0, "map", "COLUMN=FIELD,...", "csv: the field that a column holds", FT_OPTION_STRING,
      &command->map_text },
    { 0, "features", "COLUMN,...", "csv: columns that are features; *: all that are not fields",
      FT_OPTION_STRING, &command->features },
    { 0, "state", "DIR", "state directory", FT_OPTION_STRING, &command->state },
    { 0, "json", NULL, "print one JSON object", FT_OPTION_FLAG, &command->json },
    { 0 }
  };

  first = ft_options_parse(options, "[OPTION]... FILE...",
                           "Imports runs from the output of sacct -P or from a CSV table; - is"
                           " standard input.",
                           FT_OPERANDS_ANY, argc, argv, &status);
  if (first >= argc)
    status = ft_print_error(argv[0], FT_EXIT_USAGE, "expected a file, or - for standard input");
  else if (first >= 0)
    status = import_all(command, argc - first, argv + first);
  ft_store_access_close(&command->records);
  ft_timezone_close(command->zone);
  ft_app_set_free(&command->apps);
  json_decref(command->files);
  free(command->map_copy);
  free(command);
  return status;
}
