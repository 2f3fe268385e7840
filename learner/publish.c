/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <acl/libacl.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/acl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/log.h"
#include "learner/metrics/tally.h"
#include "learner/publish.h"
#include "predictor/core/io.h"
#include "predictor/online/pool.h"
#include "predictor/online/quantity_models.h"
#include "predictor/record/state_files.h"

/* Memory for the models of the apps that ran last, bytes: about a thousand apps. */
#define CACHE_BYTES ((size_t)128 << 20)

struct ft_publisher {
  struct ft_model_cache *cache;
  struct ft_cached_prior prior;
  int state_fd, models_fd, partitions_fd, programs_fd, program_users_fd;
  bool without_programs;
  bool access_warned; /* that users cannot read the files of their models */
  /* the directory used last, because runs of one user come in bursts */
  uint32_t uid;
  int user_fd;
  struct {
    ft_published_call *call; /* NULL: none */
    void *data;
  } on[FT_QUANTITIES];
};

static int open_subdirectory(int parent, const char *name, mode_t mode, struct ft_error *err)
{
  int fd;

  if (mkdirat(parent, name, mode) < 0 && errno != EEXIST)
    return ft_error_errno(err, "mkdir %s", name);
  fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
  return fd < 0 ? ft_error_errno(err, "%s", name) : fd;
}

enum { STALE_SECONDS = 3600 }; /* the deadline of a child of the learner */

/*
 * Removes temporary files of a learner that was killed. In the state directory itself a child may
 * still be writing. In the subdirectories only the learner writes, and even a recent temporary file
 * is removed: it may contain forgotten runs.
 */
static void remove_temporary_files(const struct ft_publisher *p)
{
  DIR *users = ft_io_open_directory(p->models_fd, ".");
  struct dirent *entry;
  int user;

  ft_io_remove_stale(p->state_fd, STALE_SECONDS);
  ft_io_remove_stale(p->partitions_fd, -INFINITY);
  ft_io_remove_stale(p->programs_fd, -INFINITY);
  ft_io_remove_stale(p->program_users_fd, -INFINITY);
  while (users && (entry = readdir(users))) {
    user = entry->d_name[0] == '.' ? -1
                                   : openat(p->models_fd, entry->d_name,
                                            O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (user < 0)
      continue;
    ft_io_remove_stale(user, -INFINITY);
    close(user);
  }
  if (users)
    closedir(users);
}

struct ft_publisher *ft_publisher_open(int state_fd, struct ft_error *err)
{
  struct ft_publisher *p = calloc(1, sizeof *p);
  int shared;

  if (!p) {
    ft_error_errno(err, "publisher");
    return NULL;
  }
  p->state_fd = state_fd;
  p->models_fd = p->user_fd = p->partitions_fd = p->programs_fd = p->program_users_fd = -1;
  p->cache = ft_model_cache_open(CACHE_BYTES);
  if (!p->cache) {
    ft_error_errno(err, "publisher");
    goto fail;
  }
  p->models_fd = open_subdirectory(state_fd, FT_STATE_MODELS, 0755, err);
  if (p->models_fd < 0)
    goto fail;
  shared = open_subdirectory(state_fd, FT_STATE_SHARED, 0755, err);
  if (shared < 0)
    goto fail;
  close(shared);
  p->partitions_fd = open_subdirectory(state_fd, FT_STATE_PARTITIONS, 0755, err);
  if (p->partitions_fd < 0)
    goto fail;
  p->programs_fd = open_subdirectory(state_fd, FT_STATE_PROGRAMS, 0755, err);
  if (p->programs_fd < 0)
    goto fail;
  p->program_users_fd = open_subdirectory(state_fd, FT_STATE_PROGRAM_USERS, 0700, err);
  if (p->program_users_fd < 0)
    goto fail;
  remove_temporary_files(p);
  return p;
fail:
  ft_publisher_close(p);
  return NULL;
}

void ft_publisher_close(struct ft_publisher *p)
{
  if (!p)
    return;
  if (p->models_fd >= 0)
    close(p->models_fd);
  if (p->partitions_fd >= 0)
    close(p->partitions_fd);
  if (p->programs_fd >= 0)
    close(p->programs_fd);
  if (p->program_users_fd >= 0)
    close(p->program_users_fd);
  if (p->user_fd >= 0)
    close(p->user_fd);
  ft_model_cache_close(p->cache);
  free(p);
}

struct ft_model_cache *ft_publisher_cache(struct ft_publisher *p)
{
  return p->cache;
}

struct ft_cached_prior *ft_publisher_prior(struct ft_publisher *p)
{
  return &p->prior;
}

int ft_published_app(struct ft_publisher *p, uint32_t uid, const char *app,
                     struct ft_app_models *models, struct ft_error *err)
{
  const struct ft_cached_app *cached = ft_model_cache_find(p->cache, uid, app);

  if (!cached || !cached->models.has_model)
    return ft_state_read_own_app(p->state_fd, uid, app, models, err);
  *models = cached->models;
  return 0;
}

void ft_publisher_on(struct ft_publisher *p, uint32_t quantity, ft_published_call *call, void *data)
{
  p->on[quantity].call = call;
  p->on[quantity].data = data;
}

/* Sets the ACL TEXT (acl(5), short form) on the directory PATH. Returns 0; -1 with errno. */
static int set_acl(const char *path, acl_type_t type, const char *text)
{
  acl_t acl = acl_from_text(text);
  int status, saved;

  if (!acl)
    return -1;
  status = acl_set_file(path, type, acl);
  saved = errno;
  acl_free(acl);
  errno = saved;
  return status;
}

/* Grants UID read access to the directory FD and, by default entries, to files created in it. */
static int grant_read_acl(int fd, uint32_t uid)
{
  char path[64], text[128];

  /* libacl sets default entries only by path */
  (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  (void)snprintf(text, sizeof text, "u::rwx,u:%" PRIu32 ":r-x,g::---,m::r-x,o::---", uid);
  if (set_acl(path, ACL_TYPE_ACCESS, text) < 0)
    return -1;
  (void)snprintf(text, sizeof text, "u::rw-,u:%" PRIu32 ":r--,g::---,m::r--,o::---", uid);
  return set_acl(path, ACL_TYPE_DEFAULT, text);
}

/* Without ACLs: only the learner may read the directory FD, and serves its files (query_file.h). */
static int restrict_to_learner(int fd)
{
  return fchown(fd, geteuid(), (gid_t)-1) < 0 || fchmod(fd, 0700) < 0 ? -1 : 0;
}

/* Logs, once, that errno keeps UID from reading its models. */
static void warn_of_access(struct ft_publisher *p, uint32_t uid)
{
  if (!p->access_warned)
    ft_log(LOG_WARNING,
           "models/%" PRIu32 ": no access control list: %s; submissions on this host get models "
           "from foretell-learnd, those on other hosts none",
           uid, strerror(errno));
  p->access_warned = true;
}

/* Opens UID's directory and grants UID access. Returns -1 and ERR. */
static int open_user_directory(struct ft_publisher *p, uint32_t uid, struct ft_error *err)
{
  char name[16];
  int fd;

  (void)snprintf(name, sizeof name, "%" PRIu32, uid);
  fd = open_subdirectory(p->models_fd, name, 0700, err);
  if (fd < 0)
    return -1;
  if (uid == geteuid() || uid == FT_STATE_POOLED || grant_read_acl(fd, uid) == 0)
    return fd;
  warn_of_access(p, uid);
  if (restrict_to_learner(fd) == 0)
    return fd;
  (void)ft_error_errno(err, "models/%s", name);
  close(fd);
  return -1;
}

static int open_shared_directory(struct ft_publisher *p, struct ft_error *err)
{
  return open_subdirectory(p->state_fd, FT_STATE_SHARED, 0755, err);
}

static void remove_published(struct ft_publisher *p, const char *directory, const char *name)
{
  char path[PATH_MAX];

  if ((size_t)snprintf(path, sizeof path, "%s/%s", directory, name) < sizeof path)
    (void)unlinkat(p->models_fd, path, 0);
}

/* Publishes what all users may read of the pooled MODELS: those to which enough users contribute,
 * without the runs. Removes the file NAME if there are none. */
static int publish_for_all(struct ft_publisher *p, const struct ft_app_models *models,
                           const char *name, struct ft_error *err)
{
  ft_model *shared = malloc(FT_QUANTITIES * sizeof *shared);
  const ft_model *all[FT_QUANTITIES];
  struct ft_model_sections sections = { .models = all, .categories = &models->history.categories };
  int fd, status = shared ? 0 : ft_error_errno(err, "%s", models->model.app);

  for (size_t i = 0; i < FT_QUANTITIES && status >= 0; i++) {
    if (i != FT_QUANTITY_MEMORY && !ft_quantities[i].of_history)
      continue;
    all[sections.count] = &shared[sections.count];
    status =
        ft_pool_shared_model(&models->model, &models->history, i, &shared[sections.count], err);
    sections.count += status > 0;
  }
  if (status < 0)
    goto out;
  if (ft_pool_has_users(&models->runtimes))
    sections.performance = &models->performance;
  status = 0;
  if (!sections.count && !sections.performance) {
    remove_published(p, "site", name);
    goto out;
  }
  fd = open_shared_directory(p, err);
  status = fd < 0 ? -1 : ft_model_sections_write(&sections, fd, name, 0644, err);
  if (fd >= 0)
    close(fd);
out:
  free(shared);
  return status;
}

/* Returns the descriptor of UID's directory, which P owns; -1 and ERR. */
static int use_user_directory(struct ft_publisher *p, uint32_t uid, struct ft_error *err)
{
  if (p->user_fd >= 0 && p->uid == uid)
    return p->user_fd;
  if (p->user_fd >= 0)
    close(p->user_fd);
  p->user_fd = open_user_directory(p, uid, err);
  p->uid = uid;
  return p->user_fd;
}

/* Forgets UID's directory after STATUS, of writing a file in it, if that failed: it may have been
 * removed, and is opened again the next time. Returns STATUS. */
static int note_written(struct ft_publisher *p, double begun, int status)
{
  if (status < 0 && p->user_fd >= 0) {
    close(p->user_fd);
    p->user_fd = -1;
  }
  ft_tally_add(FT_TALLY_PUBLISH_SECONDS, ft_io_monotonic() - begun);
  ft_tally_add(FT_TALLY_PUBLISHED_FILES, status == 0);
  return status;
}

int ft_publish_user_file(struct ft_publisher *p, uint32_t uid, enum ft_record record,
                         const void *message, const char *name, struct ft_error *err)
{
  double begun = ft_io_monotonic();
  /* the group bits are the ACL's mask; other users cannot search the directory */
  int status = use_user_directory(p, uid, err) < 0
                   ? -1
                   : ft_record_write(record, message, p->user_fd, name, 0644, err);

  return note_written(p, begun, status);
}

/* Replaces the file NAME of MODELS, with a model of each quantity that a run has. */
static int publish_model_file(struct ft_publisher *p, const struct ft_app_models *models,
                              const char *name, struct ft_error *err)
{
  ft_model *fitted = malloc(FT_QUANTITIES * sizeof *fitted);
  const ft_model *all[1 + FT_QUANTITIES] = { &models->model };
  struct ft_model_sections sections = { .models = all,
                                        .categories = &models->history.categories,
                                        .history = &models->history };
  double begun = ft_io_monotonic();
  int status = fitted ? ft_quantity_models_fit(&models->model, &models->history, fitted, err)
                      : ft_error_errno(err, "%s", models->model.app);

  if (models->has_performance && models->runtimes.count) {
    sections.performance = &models->performance;
    sections.runtimes = &models->runtimes;
  }
  for (sections.count = 1; (int)sections.count <= status; sections.count++)
    all[sections.count] = &fitted[sections.count - 1];
  if (status >= 0)
    status = use_user_directory(p, models->model.uid, err) < 0
                 ? -1
                 : ft_model_sections_write(&sections, p->user_fd, name, 0644, err);
  free(fitted);
  return note_written(p, begun, status);
}

/* Removes the file of run times that the previous release wrote for APP of UID. */
static void remove_runtimes_before(struct ft_publisher *p, uint32_t uid, const char *app)
{
  char name[FT_STATE_NAME_SIZE], directory[16];

  ft_state_runtimes_before_name(app, name);
  (void)snprintf(directory, sizeof directory, "%" PRIu32, uid);
  remove_published(p, directory, name);
  if (uid == FT_STATE_POOLED)
    remove_published(p, "site", name);
}

/* Takes over MODELS, which are published, if their app is in memory. Returns the quantities whose
 * models had changed there. */
static unsigned refresh_cached_app(struct ft_publisher *p, const struct ft_app_models *models)
{
  struct ft_cached_app *app = ft_model_cache_find(p->cache, models->model.uid, models->model.app);
  unsigned changed = app ? app->changed : 0;

  if (!app)
    return 0;
  if (models != &app->models)
    app->models = *models;
  app->changed = 0;
  ft_model_cache_unqueue(p->cache, app);
  return changed;
}

int ft_publish_app(struct ft_publisher *p, const struct ft_app_models *models, unsigned changed,
                   struct ft_error *err)
{
  const ft_model *model = &models->model;
  char name[FT_STATE_NAME_SIZE];

  ft_state_model_name(model->app, name);
  if (publish_model_file(p, models, name, err) < 0)
    return -1;
  if (model->uid == FT_STATE_POOLED && publish_for_all(p, models, name, err) < 0)
    return -1;
  remove_runtimes_before(p, model->uid, model->app);
  changed |= refresh_cached_app(p, models);
  for (size_t i = 0; i < FT_QUANTITIES; i++)
    if (changed & 1U << i && p->on[i].call)
      p->on[i].call(models, p->on[i].data);
  return 0;
}

void ft_publish_remove_model(struct ft_publisher *p, uint32_t uid, const char *app)
{
  struct ft_cached_app *cached = ft_model_cache_find(p->cache, uid, app);
  char name[FT_STATE_NAME_SIZE], directory[16];

  if (cached)
    ft_model_cache_drop(p->cache, cached);
  ft_state_model_name(app, name);
  (void)snprintf(directory, sizeof directory, "%" PRIu32, uid);
  remove_published(p, directory, name);
  if (uid == FT_STATE_POOLED)
    remove_published(p, "site", name);
  remove_runtimes_before(p, uid, app);
}

void ft_publish_remove_user_file(struct ft_publisher *p, uint32_t uid, const char *name)
{
  char directory[16];

  (void)snprintf(directory, sizeof directory, "%" PRIu32, uid);
  remove_published(p, directory, name);
}

bool ft_publisher_has_programs(const struct ft_publisher *p)
{
  return !p->without_programs;
}

static void remove_all_files(int directory)
{
  DIR *files = ft_io_open_directory(directory, ".");
  const struct dirent *entry;

  while (files && (entry = readdir(files)))
    if (entry->d_name[0] != '.')
      (void)unlinkat(directory, entry->d_name, 0);
  if (files)
    closedir(files);
}

void ft_publisher_set_programs(struct ft_publisher *p, bool has)
{
  p->without_programs = !has;
  if (has)
    return;
  remove_all_files(p->programs_fd);
  remove_all_files(p->program_users_fd);
}

/* Replaces the file NAME of DIRECTORY with PROGRAM; removes it without one (NULL). */
static int replace_program(int directory, const char *name, const ft_program *program, mode_t mode,
                           struct ft_error *err)
{
  if (program)
    return ft_record_write_unsynced(FT_RECORD_PROGRAM, program, directory, name, mode, err);
  return unlinkat(directory, name, 0) < 0 && errno != ENOENT ? ft_error_errno(err, "%s", name) : 0;
}

int ft_publish_program(struct ft_publisher *p, const char *program, const ft_program *known,
                       const ft_program *public, struct ft_error *err)
{
  char name[FT_STATE_NAME_SIZE];

  ft_state_program_name(program, name);
  return replace_program(p->programs_fd, name, public, 0644, err) < 0 ||
                 replace_program(p->program_users_fd, name, known, 0600, err) < 0
             ? -1
             : 0;
}

int ft_published_program(struct ft_publisher *p, const char *program, ft_program *known,
                         struct ft_error *err)
{
  char name[FT_STATE_NAME_SIZE];

  ft_state_program_name(program, name);
  return ft_record_read(FT_RECORD_PROGRAM, p->program_users_fd, name, known, err);
}

void ft_publish_remove_user(struct ft_publisher *p, uint32_t uid)
{
  char directory[16];

  (void)snprintf(directory, sizeof directory, "%" PRIu32, uid);
  if (unlinkat(p->models_fd, directory, AT_REMOVEDIR) < 0 || p->user_fd < 0 || p->uid != uid)
    return;
  close(p->user_fd);
  p->user_fd = -1;
}

bool ft_is_shared_app(const struct ft_shared_apps *shared, const char *app)
{
  for (size_t i = 0; shared && i < shared->count; i++)
    if (strcmp(shared->name[i], app) == 0)
      return true;
  return false;
}

static bool is_shared_file(const char *file, const struct ft_shared_apps *shared)
{
  char name[FT_STATE_NAME_SIZE];

  for (size_t i = 0; i < shared->count; i++) {
    ft_state_model_name(shared->name[i], name);
    if (strcmp(name, file) == 0)
      return true;
    ft_state_runtimes_before_name(shared->name[i], name);
    if (strcmp(name, file) == 0)
      return true;
  }
  return false;
}

static bool keeps_pooled(const char *app, const void *shared)
{
  return ft_is_shared_app(shared, app);
}

void ft_publish_remove_unshared(struct ft_publisher *p, const struct ft_shared_apps *shared)
{
  DIR *directory = ft_io_open_directory(p->state_fd, FT_STATE_SHARED);
  char pooled[16];
  struct dirent *entry;

  ft_model_cache_drop_pooled(p->cache, keeps_pooled, shared);
  if (!directory)
    return;
  (void)snprintf(pooled, sizeof pooled, "%" PRIu32, FT_STATE_POOLED);
  while ((entry = readdir(directory))) {
    if (entry->d_name[0] == '.' || is_shared_file(entry->d_name, shared))
      continue;
    remove_published(p, "site", entry->d_name);
    remove_published(p, pooled, entry->d_name);
  }
  closedir(directory);
}

int ft_publish_site(struct ft_publisher *p, const ft_site *site, const ft_apps *apps,
                    struct ft_error *err)
{
  /* the apps first, because the site file refers to them */
  if (ft_record_write(FT_RECORD_APPS, apps, p->state_fd, FT_STATE_APPS, 0644, err) < 0)
    return -1;
  return ft_record_write(FT_RECORD_SITE, site, p->state_fd, FT_STATE_SITE, 0644, err);
}

int ft_publish_platforms(struct ft_publisher *p, const ft_platforms *platforms,
                         struct ft_error *err)
{
  return ft_record_write(FT_RECORD_PLATFORMS, platforms, p->state_fd, FT_STATE_PLATFORMS, 0644,
                         err);
}

int ft_publish_gpus(struct ft_publisher *p, const ft_gpus *gpus, struct ft_error *err)
{
  return ft_record_write(FT_RECORD_GPUS, gpus, p->state_fd, FT_STATE_GPUS, 0644, err);
}

int ft_publish_partition(struct ft_publisher *p, const ft_partition *partition,
                         struct ft_error *err)
{
  char name[FT_STATE_NAME_SIZE];

  ft_state_partition_name(partition->name, name);
  return ft_record_write(FT_RECORD_PARTITION, partition, p->partitions_fd, name, 0644, err);
}

static bool is_partition_file(const char *file, const ft_partition *partitions, size_t count)
{
  char name[FT_STATE_NAME_SIZE];

  for (size_t i = 0; i < count; i++) {
    ft_state_partition_name(partitions[i].name, name);
    if (strcmp(name, file) == 0)
      return true;
  }
  return false;
}

int ft_publish_partition_list(struct ft_publisher *p, const ft_partition *partitions, size_t count,
                              struct ft_error *err)
{
  int status = ft_record_write_list(FT_RECORD_PARTITION, partitions, sizeof *partitions, count,
                                    p->partitions_fd, FT_STATE_PARTITION_LIST, 0644, err);

  if (status < 0)
    (void)unlinkat(p->partitions_fd, FT_STATE_PARTITION_LIST, 0);
  return status;
}

void ft_publish_remove_partitions(struct ft_publisher *p, const ft_partition *partitions,
                                  size_t count)
{
  DIR *directory = ft_io_open_directory(p->partitions_fd, ".");
  struct dirent *entry;

  if (!directory)
    return;
  while ((entry = readdir(directory)))
    if (entry->d_name[0] != '.' && !is_partition_file(entry->d_name, partitions, count))
      (void)unlinkat(p->partitions_fd, entry->d_name, 0);
  closedir(directory);
}
