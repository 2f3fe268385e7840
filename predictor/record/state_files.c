/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "predictor/core/hash.h"
#include "predictor/core/io.h"
#include "predictor/core/text.h"
#include "predictor/record/state_fetch.h"
#include "predictor/record/state_files.h"

static bool is_file_name_byte(char c)
{
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '_' || c == '-';
}

/* Writes the file name for NAME, as ft_state_model_name with SUFFIX. */
static void make_file_name(const char *name, const char *suffix, char out[FT_STATE_NAME_SIZE])
{
  size_t used = 0, seen = 0;

  for (const char *p = name; *p && seen < 64; p++, seen++)
    if (is_file_name_byte(*p) && (used || *p != '.'))
      out[used++] = *p;
  (void)snprintf(out + used, FT_STATE_NAME_SIZE - used, "-%016" PRIx64 "%s",
                 ft_hash64(FT_HASH_SEED, name, strlen(name)), suffix);
}

bool ft_state_is_private(const char *name)
{
  return strncmp(name, FT_STATE_STORE, sizeof FT_STATE_STORE - 1) == 0 ||
         strcmp(name, FT_STATE_PRIOR_APPS) == 0 || strcmp(name, FT_STATE_RELATIVE) == 0;
}

void ft_state_model_name(const char *app, char out[FT_STATE_NAME_SIZE])
{
  make_file_name(app, ".model", out);
}

void ft_state_runtimes_before_name(const char *app, char out[FT_STATE_NAME_SIZE])
{
  make_file_name(app, FT_STATE_RUNTIMES_BEFORE, out);
}

/* Default job names of Slurm, and names of programs that run any program. */
static const char *const generic_names[] = { "wrap",   "interactive", "bash",    "sh",
                                             "sbatch", "job",         "run",     "test",
                                             "python", "perl",        "java",    "rscript",
                                             "srun",   "mpirun",      "mpiexec", NULL };

/* Position in a similarity key before which words end; an extension follows. By judgement. */
enum { SIMILAR_WORDS_END = 70 };

static bool is_name_letter(char c)
{
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (unsigned char)c >= 0x80;
}

/* Appends the words of TEXT up to END, without numbers and in lower case, to OUT of 80 bytes as
 * long as they end before byte LIMIT. Returns whether there is a word. */
static bool append_name_words(const char *text, const char *end, size_t limit, char out[80])
{
  size_t first = strlen(out), used = first;

  for (const char *p = text; p < end; p++) {
    const char *word = p;

    while (p < end && is_name_letter(*p))
      p++;
    /* a single letter belongs to a number: "v2" */
    if (p - word < 2 || used + (size_t)(p - word) + 1 > limit)
      continue;
    if (used > first)
      out[used++] = '-';
    for (; word < p; word++)
      out[used++] = *word >= 'A' && *word <= 'Z' ? (char)(*word - 'A' + 'a') : *word;
  }
  out[used] = '\0';
  return used > first;
}

/* Returns the end of NAME without its extension. */
static const char *find_stem_end(const char *name)
{
  const char *end = strrchr(name, '.');

  return end && end > name && end[1] != '/' ? end : name + strlen(name);
}

/* Appends the words of the name of a program to OUT, of 80 bytes, with what distinguishes programs
 * of the same words: the extension of a script, and "./". Returns false for a generic name. */
static bool append_program(const char *program, char out[80])
{
  const char *end = find_stem_end(program);
  size_t first = strlen(out), used;

  if (!append_name_words(program, end, SIMILAR_WORDS_END, out) ||
      ft_string_listed(generic_names, out + first))
    return false;
  used = strlen(out);
  (void)snprintf(out + used, 80 - used, "%s%.*s", strncmp(program, "./", 2) == 0 ? "./" : "",
                 80 - SIMILAR_WORDS_END - 3, end);
  return true;
}

bool ft_state_similarity(enum ft_similarity kind, const char *job_name, const char *program,
                         char out[80])
{
  size_t used;

  out[0] = '\0';
  if (kind == FT_SIMILAR_PROGRAM) {
    (void)ft_string_copy("runs:", out, 80);
    return append_program(program, out);
  }
  (void)ft_string_copy("job:", out, 80);
  used = strlen(out);
  if (!append_name_words(job_name, find_stem_end(job_name), SIMILAR_WORDS_END / 2, out) ||
      ft_string_listed(generic_names, out + used))
    return false;
  used = strlen(out);
  (void)ft_string_copy("@", out + used, 80 - used);
  if (!append_program(program, out))
    out[used + 1] = '\0';
  return true;
}

void ft_state_similar_apps_name(const char *similarity_key, char out[FT_STATE_NAME_SIZE])
{
  make_file_name(similarity_key, ".kin", out);
}

/* Returns whether NAME, a program of LENGTH bytes, is the file of a script: it has an extension. An
 * archive of Java is installed, as a program is. */
static bool is_script_name(const char *name, size_t length)
{
  const char *dot = memchr(name, '.', length);

  return dot && strncmp(dot, ".jar", 4) != 0;
}

bool ft_state_program(const char *app, char out[FT_STATE_PROGRAM])
{
  enum { HASH = 8 }; /* digits of an app's name */
  const char *hash = strrchr(app, '-');
  size_t length = hash ? (size_t)(hash - app) : 0;

  if (!length || length >= FT_STATE_PROGRAM || strlen(hash + 1) != HASH ||
      strspn(hash + 1, "0123456789abcdef") != HASH || is_script_name(app, length))
    return false;
  memcpy(out, app, length);
  out[length] = '\0';
  return !ft_string_listed(generic_names, out);
}

void ft_state_program_name(const char *program, char out[FT_STATE_NAME_SIZE])
{
  (void)snprintf(out, FT_STATE_NAME_SIZE, "%016" PRIx64,
                 ft_hash64(FT_HASH_SEED, program, strlen(program)));
}

uint32_t ft_state_usage_hash(const char *name)
{
  uint64_t hash = ft_hash64(FT_HASH_SEED, name, strlen(name));
  uint32_t folded = (uint32_t)(hash ^ hash >> 32);

  return folded ? folded : 1;
}

/* Removes a number and the byte MARK before it from the end of NAME. */
static void trim_number(struct ft_text *name, char mark)
{
  const char *end = name->end;

  while (end > name->at && end[-1] >= '0' && end[-1] <= '9')
    end--;
  if (end < name->end && end - 1 > name->at && end[-1] == mark)
    name->end = end - 1;
}

/*
 * Returns the part of JOB_NAME that all jobs of a workflow task share. Nextflow:
 * "nf-ALIGN_(NA1287x)"; Snakemake: "snakejob.align.6.sh" and "snakejob_align_6". If the differing
 * part is in the middle, as in "toil_job_3_align" and "cromwell_1b671a64_align", HEAD becomes the
 * part before it; otherwise HEAD is empty.
 */
static struct ft_text workflow_task_name(const char *job_name, struct ft_text *head)
{
  enum { SHORT_UUID = 8 }; /* digits in Cromwell's job names */
  struct ft_text name = ft_text_from(job_name), rest = name;
  const char *tag = strstr(job_name, "_(");
  size_t digits;
  uint64_t number;

  *head = ft_text_of(name.at, 0);
  if (ft_text_skip(&rest, "nf-") && tag && ft_string_ends(job_name, ")")) {
    name.end = tag;
  } else if (ft_text_skip(&rest, "snakejob_")) {
    trim_number(&name, '_');
  } else if (ft_text_skip(&rest, "snakejob.") && ft_string_ends(job_name, ".sh")) {
    name.end -= strlen(".sh");
    trim_number(&name, '.');
  } else if (ft_text_skip(&rest, "toil_job_")) {
    head->end = rest.at;
    if (ft_text_u64(&rest, UINT64_MAX, &number) && ft_text_skip(&rest, "_"))
      return rest;
    head->end = head->at;
  } else if (ft_text_skip(&rest, "cromwell_")) {
    digits = strspn(rest.at, "0123456789abcdef");
    if (digits == SHORT_UUID && rest.at[digits] == '_') {
      head->end = rest.at;
      return (struct ft_text){ rest.at + digits + 1, rest.end };
    }
  }
  return name;
}

void ft_state_search_name(uint32_t number, char out[FT_STATE_NAME_SIZE])
{
  (void)snprintf(out, FT_STATE_NAME_SIZE, ".searched.%" PRIu32, number);
}

void ft_state_imported_app(const char *user, uint32_t uid, const char *job_name, char out[128])
{
  struct ft_text head, name = workflow_task_name(job_name, &head);
  char whole[256], number[12];
  int length;

  (void)snprintf(number, sizeof number, "%" PRIu32, uid);
  length = snprintf(whole, sizeof whole, "%s/%.*s%.*s", user[0] ? user : number,
                    (int)ft_text_left(&head), head.at, (int)ft_text_left(&name), name.at);
  if (!ft_string_copy(whole, out, 128) && length > 0)
    (void)snprintf(out + 110, 18, "-%016" PRIx64, ft_hash64(FT_HASH_SEED, whole, strlen(whole)));
}

void ft_state_partition_name(const char *partition, char out[FT_STATE_NAME_SIZE])
{
  make_file_name(partition, "", out);
}

/* Opens the file PATH; fetches it from the learner, if it has denied the calling user UID. Returns
 * the descriptor; -1 with errno and ERR. */
static int open_or_fetch(int state_fd, uint32_t uid, const char *path, struct ft_error *err)
{
  int fd = ft_io_open_regular(state_fd, path, err);

  if (fd >= 0 || errno != EACCES || uid != geteuid())
    return fd;
  return ft_state_fetch(state_fd, strrchr(path, '/') + 1, err);
}

/* Closes FD without changing errno. Returns STATUS. */
static int close_with(int fd, int status)
{
  int saved = errno;

  close(fd);
  errno = saved;
  return status;
}

/* A file of DIRECTORY, which belongs to UID. */
struct user_file {
  int state_fd;
  uint32_t uid;
  char path[FT_STATE_NAME_SIZE + 64];
};

static void set_path(struct user_file *file, int state_fd, uint32_t uid, const char *directory,
                     const char *name)
{
  file->state_fd = state_fd;
  file->uid = uid;
  (void)snprintf(file->path, sizeof file->path, "%s/%s", directory, name);
}

/* Names have a hash of their subject, an app or a similarity key. Because hashes can collide, the
 * subject of the content is compared with the one that is EXPECTED. Returns 0; -1 (ENOENT) for
 * another FOUND one. */
static int check_subject(const struct user_file *file, const char *found, const char *expected,
                         const char *content, struct ft_error *err)
{
  if (strcmp(found, expected) == 0)
    return 0;
  errno = ENOENT;
  return ft_error_set(err, "%s: %s", file->path, content);
}

/* Reads the run times of PARTS from the file of the previous release beside the model FILE. Returns
 * 0, also without such a file; -1 on error. */
static int read_runtimes_before(const struct user_file *file, struct ft_model_parts *parts,
                                struct ft_error *err)
{
  struct user_file before = *file;
  char *end = strrchr(before.path, '.');
  int fd;

  (void)snprintf(end, sizeof before.path - (size_t)(end - before.path), FT_STATE_RUNTIMES_BEFORE);
  fd = open_or_fetch(file->state_fd, file->uid, before.path, err);
  if (fd < 0)
    return errno == ENOENT ? 0 : -1;
  return close_with(fd, ft_model_parts_read_before(fd, before.path, parts, err));
}

/* Reads PARTS of the model FILE. Returns 0; -1 on error (ENOENT: none of them). */
static int read_model_parts(const struct user_file *file, struct ft_model_parts *parts,
                            struct ft_error *err)
{
  int fd = open_or_fetch(file->state_fd, file->uid, file->path, err);

  parts->has_model = parts->has_performance = false;
  if (fd < 0 && errno != ENOENT)
    return -1;
  if (fd >= 0 && close_with(fd, ft_model_parts_read(fd, file->path, parts, err)) < 0)
    return -1;
  if (parts->performance && !parts->has_performance && read_runtimes_before(file, parts, err) < 0)
    return -1;
  if (parts->has_model || parts->has_performance)
    return 0;
  errno = ENOENT;
  return fd < 0 ? -1 : ft_error_set(err, "%s: no run with this quantity", file->path);
}

/* The same of the file of APP in DIRECTORY, which belongs to UID. */
static int read_parts_of_app(int state_fd, uint32_t uid, const char *directory, const char *app,
                             struct ft_model_parts *parts, struct ft_error *err)
{
  char name[FT_STATE_NAME_SIZE];
  struct user_file file;

  ft_state_model_name(app, name);
  set_path(&file, state_fd, uid, directory, name);
  if (read_model_parts(&file, parts, err) < 0)
    return -1;
  return check_subject(&file, parts->has_model ? parts->model->app : parts->performance->app, app,
                       "file of another app's model", err);
}

static int read_own_parts(int state_fd, uint32_t uid, const char *app, struct ft_model_parts *parts,
                          struct ft_error *err)
{
  char directory[48];

  (void)snprintf(directory, sizeof directory, FT_STATE_MODELS "/%" PRIu32, uid);
  return read_parts_of_app(state_fd, uid, directory, app, parts, err);
}

static int read_site_parts(int state_fd, const char *app, struct ft_model_parts *parts,
                           struct ft_error *err)
{
  return read_parts_of_app(state_fd, FT_STATE_POOLED, FT_STATE_SHARED, app, parts, err);
}

int ft_state_read_parts(int state_fd, uint32_t uid, const char *app, struct ft_model_parts *parts,
                        struct ft_error *err)
{
  struct ft_model_parts left = *parts;

  if (read_own_parts(state_fd, uid, app, parts, err) < 0) {
    parts->has_model = parts->has_performance = false;
    if (errno != ENOENT)
      return -1;
  }
  if (parts->has_model)
    left.model = NULL, left.history = NULL;
  if (parts->has_performance)
    left.performance = NULL, left.runtimes = NULL;
  if (!left.model && !left.performance)
    return 0;
  if (read_site_parts(state_fd, app, &left, err) == 0) {
    parts->has_model |= left.has_model;
    parts->has_performance |= left.has_performance;
    return 0;
  }
  return parts->has_model || parts->has_performance ? 0 : -1;
}

int ft_state_read_similar_apps(int state_fd, uint32_t uid, const char *similarity_key,
                               ft_similar_apps *similar, struct ft_error *err)
{
  char directory[48], name[FT_STATE_NAME_SIZE];
  struct user_file file;
  int fd;

  ft_state_similar_apps_name(similarity_key, name);
  (void)snprintf(directory, sizeof directory, FT_STATE_MODELS "/%" PRIu32, uid);
  set_path(&file, state_fd, uid, directory, name);
  fd = open_or_fetch(state_fd, uid, file.path, err);
  if (fd < 0 ||
      close_with(fd, ft_record_read_open(FT_RECORD_SIMILAR_APPS, fd, file.path, similar, err)) < 0)
    return -1;
  return check_subject(&file, similar->similarity_key, similarity_key,
                       "file of another similarity key", err);
}

int ft_state_read_usage(int state_fd, uint32_t uid, ft_usage *usage, struct ft_error *err)
{
  char directory[48];
  struct user_file file;
  int fd;

  (void)snprintf(directory, sizeof directory, FT_STATE_MODELS "/%" PRIu32, uid);
  set_path(&file, state_fd, uid, directory, FT_STATE_USAGE);
  fd = open_or_fetch(state_fd, uid, file.path, err);
  return fd < 0 ? -1
                : close_with(fd, ft_record_read_open(FT_RECORD_USAGE, fd, file.path, usage, err));
}

int ft_state_read_program(int state_fd, const char *program, ft_program *out, struct ft_error *err)
{
  char name[FT_STATE_NAME_SIZE], path[FT_STATE_NAME_SIZE + 16];

  ft_state_program_name(program, name);
  (void)snprintf(path, sizeof path, FT_STATE_PROGRAMS "/%s", name);
  return ft_record_read(FT_RECORD_PROGRAM, state_fd, path, out, err);
}

int ft_state_read_model(int state_fd, uint32_t uid, const char *app, uint32_t quantity,
                        ft_model *model, struct ft_history *history, struct ft_error *err)
{
  struct ft_model_parts parts = { .model = model, .quantity = quantity, .history = history };

  return ft_state_read_parts(state_fd, uid, app, &parts, err);
}

int ft_state_read_own_model(int state_fd, uint32_t uid, const char *app, ft_model *model,
                            struct ft_history *history, struct ft_error *err)
{
  struct ft_model_parts parts = { .model = model, .history = history };

  return read_own_parts(state_fd, uid, app, &parts, err);
}

int ft_state_read_shared(int state_fd, const char *app, ft_model *model, struct ft_error *err)
{
  struct ft_model_parts parts = { .model = model };

  return read_site_parts(state_fd, app, &parts, err);
}

int ft_state_read_evaluator(int state_fd, uint32_t uid, const char *app, ft_model *model,
                            struct ft_error *err)
{
  return ft_state_read_model(state_fd, uid, app, 0, model, NULL, err);
}

int ft_state_read_own_performance(int state_fd, uint32_t uid, const char *app,
                                  ft_performance *performance, struct ft_runtimes *runtimes,
                                  struct ft_error *err)
{
  struct ft_model_parts parts = { .performance = performance, .runtimes = runtimes };

  return read_own_parts(state_fd, uid, app, &parts, err);
}

int ft_state_read_runtimes(int dirfd, const char *name, ft_performance *performance,
                           struct ft_runtimes *runtimes, struct ft_error *err)
{
  struct ft_model_parts parts = { .performance = performance, .runtimes = runtimes };
  struct user_file file = { .state_fd = dirfd, .uid = FT_STATE_POOLED };

  if (!ft_string_copy(name, file.path, sizeof file.path) || !strrchr(name, '.'))
    return ft_error_set(err, "%s: no name of a model file", name);
  return read_model_parts(&file, &parts, err);
}

int ft_state_read_own_app(int state_fd, uint32_t uid, const char *app, struct ft_app_models *models,
                          struct ft_error *err)
{
  struct ft_model_parts parts = { .model = &models->model,
                                  .history = &models->history,
                                  .performance = &models->performance,
                                  .runtimes = &models->runtimes };

  if (read_own_parts(state_fd, uid, app, &parts, err) < 0)
    return -1;
  models->has_model = parts.has_model;
  models->has_performance = parts.has_performance;
  return 0;
}

int ft_state_read_platforms(int state_fd, ft_platforms *platforms, struct ft_error *err)
{
  if (ft_record_read(FT_RECORD_PLATFORMS, state_fd, FT_STATE_PLATFORMS, platforms, err) == 0)
    return 0;
  if (errno != ENOENT)
    return -1;
  *platforms = (ft_platforms){ .schema = FT_SCHEMA };
  return 0;
}

int ft_state_read_site(int state_fd, ft_site *site, struct ft_error *err)
{
  return ft_record_read(FT_RECORD_SITE, state_fd, FT_STATE_SITE, site, err);
}

int ft_state_read_partition(int state_fd, const ft_site *site, const char *requested,
                            ft_partition *partition, struct ft_error *err)
{
  char name[FT_STATE_NAME_SIZE], path[FT_STATE_NAME_SIZE + 16], first[64];
  struct ft_text list = ft_text_from(requested), piece;

  if (!ft_text_until(&list, ',', &piece))
    piece = ft_text_from(site->default_partition);
  if (!ft_text_copy(piece, first, sizeof first) || !first[0]) {
    errno = ENOENT;
    return ft_error_set(err, "no partition requested and default partition unknown");
  }
  ft_state_partition_name(first, name);
  (void)snprintf(path, sizeof path, FT_STATE_PARTITIONS "/%s", name);
  return ft_record_read(FT_RECORD_PARTITION, state_fd, path, partition, err);
}

int ft_state_read_apps(int state_fd, const ft_site *site, ft_apps *apps, struct ft_error *err)
{
  if (site->apps)
    return ft_record_read(FT_RECORD_APPS, state_fd, FT_STATE_APPS, apps, err);
  apps->schema = FT_SCHEMA;
  apps->apps_count = 0;
  return 0;
}
