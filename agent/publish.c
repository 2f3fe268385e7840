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

#include "agent/log.h"
#include "agent/publish.h"
#include "predictor/core/io.h"
#include "predictor/online/pool.h"
#include "predictor/record/state_files.h"

struct ft_publisher {
  int state_fd, models_fd, partitions_fd;
  bool told; /* that users cannot read their models here */
  /* the folder used last: runs of one user come in bursts */
  uint32_t uid;
  int user_fd;
  bool gives; /* there are no ACLs there: each of its files is given to the user */
  void (*published)(const ft_model *model, void *data);
  void *data;
  void (*timed)(const ft_performance *performance, void *data);
  void *timed_data;
};

static int open_folder(int parent, const char *name, mode_t mode, struct ft_error *err)
{
  int fd;

  if (mkdirat(parent, name, mode) < 0 && errno != EEXIST)
    return ft_error_errno(err, "mkdir %s", name);
  fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
  return fd < 0 ? ft_error_errno(err, "%s", name) : fd;
}

enum { LEFT_SECONDS = 3600 };

/*
 * What an agent that was killed had begun to write. In the state folder itself a child of its may
 * write still; in the others nobody but us does, and a user's model of half a second ago may be one
 * that is forgotten since.
 */
static void sweep(const struct ft_publisher *p)
{
  DIR *users = ft_io_open_directory(p->models_fd, ".");
  struct dirent *entry;
  int user;

  ft_io_remove_stale(p->state_fd, LEFT_SECONDS);
  ft_io_remove_stale(p->partitions_fd, -INFINITY);
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
  p->user_fd = p->partitions_fd = -1;
  p->models_fd = open_folder(state_fd, FT_STATE_MODELS, 0755, err);
  if (p->models_fd < 0)
    goto fail;
  shared = open_folder(state_fd, FT_STATE_SHARED, 0755, err);
  if (shared < 0)
    goto fail;
  close(shared);
  p->partitions_fd = open_folder(state_fd, FT_STATE_PARTITIONS, 0755, err);
  if (p->partitions_fd < 0)
    goto fail;
  sweep(p);
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
  if (p->user_fd >= 0)
    close(p->user_fd);
  free(p);
}

void ft_publisher_on_model(struct ft_publisher *p,
                           void (*published)(const ft_model *model, void *data), void *data)
{
  p->published = published;
  p->data = data;
}

void ft_publisher_on_performance(struct ft_publisher *p,
                                 void (*timed)(const ft_performance *performance, void *data),
                                 void *data)
{
  p->timed = timed;
  p->timed_data = data;
}

/* Put "user UID may PERMISSIONS" (of TEXT's form) on the folder at PATH. */
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

/* Make UID the one other reader of the folder FD and of the files that come into it. */
static int let_read(int fd, uint32_t uid)
{
  char path[64], text[128];

  /* libacl sets default entries by path alone */
  (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  (void)snprintf(text, sizeof text, "u::rwx,u:%" PRIu32 ":r-x,g::---,m::r-x,o::---", uid);
  if (set_acl(path, ACL_TYPE_ACCESS, text) < 0)
    return -1;
  (void)snprintf(text, sizeof text, "u::rw-,u:%" PRIu32 ":r--,g::---,m::r--,o::---", uid);
  return set_acl(path, ACL_TYPE_DEFAULT, text);
}

/*
 * Without ACLs whoever knows a file's name may open it, which is its user's. The folder stays ours:
 * its owner could put what he likes in the place of our files.
 */
static int let_pass(int fd)
{
  if (geteuid() != 0)
    return -1;
  return fchown(fd, 0, 0) < 0 || fchmod(fd, 0711) < 0 ? -1 : 0;
}

static int open_user_folder(struct ft_publisher *p, uint32_t uid, struct ft_error *err)
{
  char name[16];
  int fd;

  (void)snprintf(name, sizeof name, "%" PRIu32, uid);
  fd = open_folder(p->models_fd, name, 0700, err);
  if (fd < 0)
    return -1;
  p->gives = false;
  if (uid == geteuid() || uid == FT_STATE_POOLED || let_read(fd, uid) == 0)
    return fd;
  p->gives = let_pass(fd) == 0;
  if (!p->gives && !p->told)
    ft_log(LOG_WARNING,
           "models/%s: its user cannot be let in: %s; expected a filesystem with "
           "POSIX ACLs, or to run as root",
           name, strerror(errno));
  p->told = p->told || !p->gives;
  return fd;
}

/* What everybody may read says nothing of single runs. */
static int publish_shared(struct ft_publisher *p, enum ft_record record, const void *message,
                          const char *name, struct ft_error *err)
{
  int fd = open_folder(p->state_fd, FT_STATE_SHARED, 0755, err), status;

  if (fd < 0)
    return -1;
  status = ft_record_write_head(record, message, fd, name, 0644, err);
  close(fd);
  return status;
}

static void forget(struct ft_publisher *p, const char *folder, const char *name)
{
  char path[PATH_MAX];

  if ((size_t)snprintf(path, sizeof path, "%s/%s", folder, name) < sizeof path)
    (void)unlinkat(p->models_fd, path, 0);
}

/* What all may read of MODEL, all users'; nothing where too few users stand behind it. */
static int publish_told(struct ft_publisher *p, const ft_model *model, const char *name,
                        struct ft_error *err)
{
  ft_model *told = malloc(sizeof *told);
  int status =
      told ? ft_pool_shared_model(model, told, err) : ft_error_errno(err, "%s", model->app);

  if (status > 0)
    status = publish_shared(p, FT_RECORD_MODEL, told, name, err);
  else if (status == 0)
    forget(p, "site", name);
  free(told);
  return status;
}

static int user_folder(struct ft_publisher *p, uint32_t uid, struct ft_error *err)
{
  if (p->user_fd >= 0 && p->uid == uid)
    return p->user_fd;
  if (p->user_fd >= 0)
    close(p->user_fd);
  p->user_fd = open_user_folder(p, uid, err);
  p->uid = uid;
  return p->user_fd;
}

int ft_publish_user_file(struct ft_publisher *p, uint32_t uid, enum ft_record record,
                         const void *message, const char *name, struct ft_error *err)
{
  if (user_folder(p, uid, err) < 0)
    return -1;
  /* the group bits are the ACL's mask; who gets no entry is kept out by the folder */
  if (ft_record_write(record, message, p->user_fd, name, p->gives ? 0400 : 0644, err) == 0) {
    if (!p->gives || fchownat(p->user_fd, name, uid, (gid_t)-1, AT_SYMLINK_NOFOLLOW) == 0)
      return 0;
    ft_error_errno(err, "%s", name);
  }
  /* the folder may have been removed under us: it is made anew the next time */
  close(p->user_fd);
  p->user_fd = -1;
  return -1;
}

int ft_publish_model(struct ft_publisher *p, const ft_model *model, struct ft_error *err)
{
  char name[FT_STATE_NAME_SIZE];

  ft_state_model_name(model->app, name);
  if (ft_publish_user_file(p, model->uid, FT_RECORD_MODEL, model, name, err) < 0)
    return -1;
  if (model->uid == FT_STATE_POOLED && publish_told(p, model, name, err) < 0)
    return -1;
  if (p->published)
    p->published(model, p->data);
  return 0;
}

int ft_publish_performance(struct ft_publisher *p, const ft_performance *performance,
                           struct ft_error *err)
{
  char name[FT_STATE_NAME_SIZE];

  ft_state_performance_name(performance->app, name);
  if (ft_publish_user_file(p, performance->uid, FT_RECORD_PERFORMANCE, performance, name, err) < 0)
    return -1;
  if (performance->uid == FT_STATE_POOLED && !ft_pool_has_users(performance))
    forget(p, "site", name);
  else if (performance->uid == FT_STATE_POOLED &&
           publish_shared(p, FT_RECORD_PERFORMANCE, performance, name, err) < 0)
    return -1;
  if (p->timed)
    p->timed(performance, p->timed_data);
  return 0;
}

void ft_publish_remove_model(struct ft_publisher *p, uint32_t uid, const char *app)
{
  char name[2][FT_STATE_NAME_SIZE], folder[16];

  ft_state_model_name(app, name[0]);
  ft_state_performance_name(app, name[1]);
  (void)snprintf(folder, sizeof folder, "%" PRIu32, uid);
  for (int i = 0; i < 2; i++) {
    forget(p, folder, name[i]);
    if (uid == FT_STATE_POOLED)
      forget(p, "site", name[i]);
  }
}

void ft_publish_remove_user(struct ft_publisher *p, uint32_t uid)
{
  char folder[16];

  (void)snprintf(folder, sizeof folder, "%" PRIu32, uid);
  if (unlinkat(p->models_fd, folder, AT_REMOVEDIR) < 0 || p->user_fd < 0 || p->uid != uid)
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

static bool is_shared(const char *file, const struct ft_shared_apps *shared)
{
  char name[FT_STATE_NAME_SIZE];

  for (size_t i = 0; i < shared->count; i++) {
    ft_state_model_name(shared->name[i], name);
    if (strcmp(name, file) == 0)
      return true;
    ft_state_performance_name(shared->name[i], name);
    if (strcmp(name, file) == 0)
      return true;
  }
  return false;
}

void ft_publish_remove_unshared(struct ft_publisher *p, const struct ft_shared_apps *shared)
{
  DIR *folder = ft_io_open_directory(p->state_fd, FT_STATE_SHARED);
  char pooled[16];
  struct dirent *entry;

  if (!folder)
    return;
  (void)snprintf(pooled, sizeof pooled, "%" PRIu32, FT_STATE_POOLED);
  while ((entry = readdir(folder))) {
    if (entry->d_name[0] == '.' || is_shared(entry->d_name, shared))
      continue;
    forget(p, "site", entry->d_name);
    forget(p, pooled, entry->d_name);
  }
  closedir(folder);
}

int ft_publish_site(struct ft_publisher *p, const ft_site *site, const ft_apps *apps,
                    struct ft_error *err)
{
  /* the apps first: a site file that names them must find them */
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

static bool is_one_of(const char *file, const ft_partition *partitions, size_t count)
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
  DIR *folder = ft_io_open_directory(p->partitions_fd, ".");
  struct dirent *entry;

  if (!folder)
    return;
  while ((entry = readdir(folder)))
    if (entry->d_name[0] != '.' && !is_one_of(entry->d_name, partitions, count))
      (void)unlinkat(p->partitions_fd, entry->d_name, 0);
  closedir(folder);
}
