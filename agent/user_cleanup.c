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

#include "agent/log.h"
#include "agent/user_cleanup.h"
#include "predictor/core/io.h"
#include "predictor/history/expire.h"
#include "predictor/record/state_files.h"

/* Of work in one step. */
#define STEP_SECONDS 0.002

struct ft_user_cleanup {
  struct ft_publisher *publisher;
  int state_fd;
  uint32_t uid;
  DIR *folder; /* of UID; NULL: none is being swept */
};

struct ft_user_cleanup *ft_user_cleanup_open(struct ft_publisher *publisher, int state_fd)
{
  struct ft_user_cleanup *sweep = malloc(sizeof *sweep);

  if (sweep)
    *sweep = (struct ft_user_cleanup){ .publisher = publisher, .state_fd = state_fd };
  return sweep;
}

static void leave(struct ft_user_cleanup *sweep)
{
  if (sweep->folder)
    closedir(sweep->folder);
  sweep->folder = NULL;
}

void ft_user_cleanup_close(struct ft_user_cleanup *sweep)
{
  if (!sweep)
    return;
  leave(sweep);
  free(sweep);
}

static bool has_model(int folder, const char *app)
{
  char name[FT_STATE_NAME_SIZE];

  ft_state_model_name(app, name);
  return faccessat(folder, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0 || errno != ENOENT;
}

/* A file that cannot be read tells nobody anything, one that cannot be written is left. */
static void clean(int folder, const char *name)
{
  ft_similar_apps *kin = malloc(sizeof *kin);
  pb_size_t kept = 0;
  struct ft_error err;

  if (!kin || ft_record_read(FT_RECORD_SIMILAR_APPS, folder, name, kin, &err) < 0)
    goto out;
  for (pb_size_t i = 0; i < kin->apps_count; i++)
    if (has_model(folder, kin->apps[i].app))
      kin->apps[kept++] = kin->apps[i];
  if (kept == kin->apps_count)
    goto out;
  kin->apps_count = kept;
  if (!kept)
    (void)unlinkat(folder, name, 0);
  else if (ft_record_write(FT_RECORD_SIMILAR_APPS, kin, folder, name, 0644, &err) < 0)
    ft_log(LOG_WARNING, "%s", err.text);
out:
  free(kin);
}

static bool is_kin(const char *name)
{
  size_t length = strlen(name);

  return name[0] != '.' && length > 4 && strcmp(name + length - 4, ".kin") == 0;
}

/* Returns whether more of the folder is left. */
static bool sweep_folder(struct ft_user_cleanup *sweep)
{
  double until = ft_io_monotonic() + STEP_SECONDS;
  struct dirent *entry;

  while ((entry = readdir(sweep->folder))) {
    if (is_kin(entry->d_name))
      clean(dirfd(sweep->folder), entry->d_name);
    if (ft_io_monotonic() >= until)
      return true;
  }
  return false;
}

int ft_user_cleanup_step(struct ft_user_cleanup *sweep, struct ft_store *store,
                         struct ft_error *err)
{
  char path[48];
  int status;

  if (!sweep->folder) {
    status = ft_store_next_cleanup_user(store, &sweep->uid, err);
    if (status <= 0)
      return status;
    (void)snprintf(path, sizeof path, FT_STATE_MODELS "/%" PRIu32, sweep->uid);
    sweep->folder = ft_io_open_directory(sweep->state_fd, path);
  }
  if (sweep->folder && sweep_folder(sweep))
    return 1;
  leave(sweep);
  ft_publish_remove_user(sweep->publisher, sweep->uid);
  return ft_store_cleanup_done(store, sweep->uid, err) < 0 ? -1 : 1;
}
