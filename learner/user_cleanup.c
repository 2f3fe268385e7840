/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/log.h"
#include "learner/user_cleanup.h"
#include "predictor/core/io.h"
#include "predictor/history/expire.h"
#include "predictor/record/state_files.h"

/* Time per step. */
#define CLEANUP_STEP_SECONDS 0.002

struct ft_user_cleanup {
  struct ft_publisher *publisher;
  int state_fd;
  uint32_t uid;
  DIR *directory; /* of uid; NULL: none open */
};

struct ft_user_cleanup *ft_user_cleanup_open(struct ft_publisher *publisher, int state_fd)
{
  struct ft_user_cleanup *cleanup = malloc(sizeof *cleanup);

  if (cleanup)
    *cleanup = (struct ft_user_cleanup){ .publisher = publisher, .state_fd = state_fd };
  return cleanup;
}

static void close_user_directory(struct ft_user_cleanup *cleanup)
{
  if (cleanup->directory)
    closedir(cleanup->directory);
  cleanup->directory = NULL;
}

void ft_user_cleanup_close(struct ft_user_cleanup *cleanup)
{
  if (!cleanup)
    return;
  close_user_directory(cleanup);
  free(cleanup);
}

static bool has_model_file(int directory, const char *app)
{
  char name[FT_STATE_NAME_SIZE];

  ft_state_model_name(app, name);
  return faccessat(directory, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0 || errno != ENOENT;
}

/* Removes entries of apps without a model from the file NAME, or the file if none is left. Ignores
 * a file that cannot be read. */
static void clean_similar_apps(int directory, const char *name)
{
  ft_similar_apps *similar = malloc(sizeof *similar);
  pb_size_t kept = 0;
  struct ft_error err;

  if (!similar || ft_record_read(FT_RECORD_SIMILAR_APPS, directory, name, similar, &err) < 0)
    goto out;
  for (pb_size_t i = 0; i < similar->apps_count; i++)
    if (has_model_file(directory, similar->apps[i].app))
      similar->apps[kept++] = similar->apps[i];
  if (kept == similar->apps_count)
    goto out;
  similar->apps_count = kept;
  if (!kept)
    (void)unlinkat(directory, name, 0);
  else if (ft_record_write(FT_RECORD_SIMILAR_APPS, similar, directory, name, 0644, &err) < 0)
    ft_log(LOG_WARNING, "%s", err.text);
out:
  free(similar);
}

static bool is_similar_apps_file(const char *name)
{
  size_t length = strlen(name);

  return name[0] != '.' && length > 4 && strcmp(name + length - 4, ".kin") == 0;
}

/* Returns whether files are left in the directory. */
static bool clean_some_files(struct ft_user_cleanup *cleanup)
{
  double deadline = ft_io_monotonic() + CLEANUP_STEP_SECONDS;
  struct dirent *entry;

  while ((entry = readdir(cleanup->directory))) {
    if (is_similar_apps_file(entry->d_name))
      clean_similar_apps(dirfd(cleanup->directory), entry->d_name);
    if (ft_io_monotonic() >= deadline)
      return true;
  }
  return false;
}

int ft_user_cleanup_step(struct ft_user_cleanup *cleanup, struct ft_store *store,
                         struct ft_error *err)
{
  char path[48];
  int status;

  if (!cleanup->directory) {
    status = ft_store_next_cleanup_user(store, &cleanup->uid, err);
    if (status <= 0)
      return status;
    (void)snprintf(path, sizeof path, FT_STATE_MODELS "/%" PRIu32, cleanup->uid);
    cleanup->directory = ft_io_open_directory(cleanup->state_fd, path);
  }
  if (cleanup->directory && clean_some_files(cleanup))
    return 1;
  close_user_directory(cleanup);
  ft_publish_remove_user(cleanup->publisher, cleanup->uid);
  return ft_store_cleanup_done(store, cleanup->uid, err) < 0 ? -1 : 1;
}
