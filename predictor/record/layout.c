/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "predictor/core/hash.h"
#include "predictor/core/text.h"
#include "predictor/record/layout.h"

static bool plain(char c)
{
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '_' || c == '-';
}

static void file_name(const char *name, const char *suffix, char out[FT_LAYOUT_NAME_SIZE])
{
  size_t used = 0, seen = 0;

  for (const char *p = name; *p && seen < 64; p++, seen++)
    if (plain(*p) && (used || *p != '.'))
      out[used++] = *p;
  (void)snprintf(out + used, FT_LAYOUT_NAME_SIZE - used, "-%016" PRIx64 "%s",
                 ft_hash64(FT_HASH_SEED, name, strlen(name)), suffix);
}

void ft_layout_model_name(const char *app, char out[FT_LAYOUT_NAME_SIZE])
{
  file_name(app, ".model", out);
}

void ft_layout_performance_name(const char *app, char out[FT_LAYOUT_NAME_SIZE])
{
  file_name(app, ".perf", out);
}

/* What a job is called that was given no name, or runs that runs anything. */
static const char *const nameless[] = { "wrap", "interactive", "bash", "sh", "sbatch", "job",
                                        "run", "test", "python", "perl", "java", "rscript",
                                        "srun", "mpirun", "mpiexec", NULL };

static bool letter(char c)
{
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (unsigned char)c >= 0x80;
}

bool ft_layout_likeness(enum ft_likeness kind, const char *text, char out[80])
{
  static const char *const kinds[FT_LIKENESSES] = { "name:", "program:" };
  size_t first = strlen(kinds[kind]), used = first;
  const char *end = strrchr(text, '.');

  if (!end || end == text)
    end = text + strlen(text);
  (void)ft_string_copy(kinds[kind], out, 80);
  for (const char *p = text; p < end; p++) {
    const char *word = p;

    while (p < end && letter(*p))
      p++;
    /* a letter alone belongs to a number: "v2" */
    if (p - word < 2 || used + (size_t)(p - word) > 77)
      continue;
    if (used > first)
      out[used++] = '-';
    for (; word < p; word++)
      out[used++] = *word >= 'A' && *word <= 'Z' ? (char)(*word - 'A' + 'a') : *word;
  }
  out[used] = '\0';
  return used > first && !ft_string_listed(nameless, out + first);
}

void ft_layout_kin_name(const char *likeness, char out[FT_LAYOUT_NAME_SIZE])
{
  file_name(likeness, ".kin", out);
}

int ft_layout_read_kin(int state_fd, uint32_t uid, const char *likeness, ft_kin *kin,
                       struct ft_error *err)
{
  char name[FT_LAYOUT_NAME_SIZE], path[FT_LAYOUT_NAME_SIZE + 64];

  ft_layout_kin_name(likeness, name);
  (void)snprintf(path, sizeof path, FT_LAYOUT_MODELS "/%" PRIu32 "/%s", uid, name);
  if (ft_record_read(FT_RECORD_KIN, state_fd, path, kin, err) < 0)
    return -1;
  if (strcmp(kin->likeness, likeness) != 0) {
    errno = ENOENT;
    return ft_error_set(err, "%s: of another likeness", path);
  }
  return 0;
}

void ft_layout_imported_app(const char *user, uint32_t uid, const char *job_name, char out[128])
{
  char whole[256];
  int length;

  if (user[0])
    length = snprintf(whole, sizeof whole, "%s/%s", user, job_name);
  else
    length = snprintf(whole, sizeof whole, "%" PRIu32 "/%s", uid, job_name);
  if (!ft_string_copy(whole, out, 128) && length > 0)
    (void)snprintf(out + 110, 18, "-%016" PRIx64, ft_hash64(FT_HASH_SEED, whole, strlen(whole)));
}

void ft_layout_partition_name(const char *partition, char out[FT_LAYOUT_NAME_SIZE])
{
  file_name(partition, "", out);
}

typedef int reader(enum ft_record record, int dirfd, const char *name, void *message,
                   struct ft_error *err);

static int read_named(reader *read, int state_fd, const char *folder, const char *app,
                      ft_model *model, struct ft_error *err)
{
  char name[FT_LAYOUT_NAME_SIZE], path[FT_LAYOUT_NAME_SIZE + 64];

  ft_layout_model_name(app, name);
  (void)snprintf(path, sizeof path, "%s/%s", folder, name);
  if (read(FT_RECORD_MODEL, state_fd, path, model, err) < 0)
    return -1;
  if (strcmp(model->app, app) != 0) {
    errno = ENOENT;
    return ft_error_set(err, "%s: the model of another app", path);
  }
  return 0;
}

static int read_own(reader *read, int state_fd, uint32_t uid, const char *app, ft_model *model,
                    struct ft_error *err)
{
  char folder[48];

  (void)snprintf(folder, sizeof folder, FT_LAYOUT_MODELS "/%" PRIu32, uid);
  return read_named(read, state_fd, folder, app, model, err);
}

static int read_model(reader *read, int state_fd, uint32_t uid, const char *app, ft_model *model,
                      struct ft_error *err)
{
  if (read_own(read, state_fd, uid, app, model, err) == 0)
    return 0;
  if (errno != ENOENT)
    return -1;
  return read_named(read, state_fd, FT_LAYOUT_SHARED, app, model, err);
}

int ft_layout_read_model(int state_fd, uint32_t uid, const char *app, ft_model *model,
                         struct ft_error *err)
{
  return read_model(ft_record_read, state_fd, uid, app, model, err);
}

int ft_layout_read_own_model(int state_fd, uint32_t uid, const char *app, ft_model *model,
                             struct ft_error *err)
{
  return read_own(ft_record_read, state_fd, uid, app, model, err);
}

int ft_layout_read_shared(int state_fd, const char *app, ft_model *model, struct ft_error *err)
{
  return read_named(ft_record_read_head, state_fd, FT_LAYOUT_SHARED, app, model, err);
}

int ft_layout_read_evaluator(int state_fd, uint32_t uid, const char *app, ft_model *model,
                             struct ft_error *err)
{
  return read_model(ft_record_read_head, state_fd, uid, app, model, err);
}

static int read_performance(reader *read, int state_fd, const char *folder, const char *app,
                            ft_performance *performance, struct ft_error *err)
{
  char name[FT_LAYOUT_NAME_SIZE], path[FT_LAYOUT_NAME_SIZE + 64];

  ft_layout_performance_name(app, name);
  (void)snprintf(path, sizeof path, "%s/%s", folder, name);
  if (read(FT_RECORD_PERFORMANCE, state_fd, path, performance, err) < 0)
    return -1;
  if (strcmp(performance->app, app) != 0) {
    errno = ENOENT;
    return ft_error_set(err, "%s: the run times of another app", path);
  }
  return 0;
}

static int read_own_performance(reader *read, int state_fd, uint32_t uid, const char *app,
                                ft_performance *performance, struct ft_error *err)
{
  char folder[48];

  (void)snprintf(folder, sizeof folder, FT_LAYOUT_MODELS "/%" PRIu32, uid);
  return read_performance(read, state_fd, folder, app, performance, err);
}

int ft_layout_read_own_performance(int state_fd, uint32_t uid, const char *app,
                                   ft_performance *performance, struct ft_error *err)
{
  return read_own_performance(ft_record_read, state_fd, uid, app, performance, err);
}

int ft_layout_read_performance(int state_fd, uint32_t uid, const char *app,
                               ft_performance *performance, struct ft_error *err)
{
  if (read_own_performance(ft_record_read_head, state_fd, uid, app, performance, err) == 0)
    return 0;
  if (errno != ENOENT)
    return -1;
  return read_performance(ft_record_read_head, state_fd, FT_LAYOUT_SHARED, app, performance, err);
}

int ft_layout_read_platforms(int state_fd, ft_platforms *platforms, struct ft_error *err)
{
  if (ft_record_read(FT_RECORD_PLATFORMS, state_fd, FT_LAYOUT_PLATFORMS, platforms, err) == 0)
    return 0;
  if (errno != ENOENT)
    return -1;
  *platforms = (ft_platforms){ .schema = FT_SCHEMA };
  return 0;
}

int ft_layout_read_site(int state_fd, ft_site *site, struct ft_error *err)
{
  return ft_record_read(FT_RECORD_SITE, state_fd, FT_LAYOUT_SITE, site, err);
}

int ft_layout_read_partition(int state_fd, const ft_site *site, const char *typed,
                             ft_partition *partition, struct ft_error *err)
{
  char name[FT_LAYOUT_NAME_SIZE], path[FT_LAYOUT_NAME_SIZE + 16], first[64];
  struct ft_text list = ft_text_from(typed), piece;

  if (!ft_text_until(&list, ',', &piece))
    piece = ft_text_from(site->default_partition);
  if (!ft_text_copy(piece, first, sizeof first) || !first[0]) {
    errno = ENOENT;
    return ft_error_set(err, "no partition named and no default one known");
  }
  ft_layout_partition_name(first, name);
  (void)snprintf(path, sizeof path, FT_LAYOUT_PARTITIONS "/%s", name);
  return ft_record_read(FT_RECORD_PARTITION, state_fd, path, partition, err);
}

int ft_layout_read_apps(int state_fd, const ft_site *site, ft_apps *apps, struct ft_error *err)
{
  if (site->apps)
    return ft_record_read(FT_RECORD_APPS, state_fd, FT_LAYOUT_APPS, apps, err);
  apps->schema = FT_SCHEMA;
  apps->apps_count = 0;
  return 0;
}
