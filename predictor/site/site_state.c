/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Opens the state directory and reads what its site declares. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "predictor/core/text.h"
#include "predictor/record/state_files.h"
#include "predictor/site/site_state.h"

/* Environment variable: path of a foretell.conf that replaces the installed one. */
#define CONFIG_VARIABLE "FORETELL_CONFIG"

int ft_open_state(const char *name, struct ft_config *config, struct ft_error *err)
{
  int fd;

  ft_config_defaults(config);
  /* an invalid file leaves the defaults in force, as in the daemons; foretell doctor reports it */
  errno = 0;
  if (ft_config_read(getenv(CONFIG_VARIABLE), config, err) < 0 && errno == ENOMEM)
    return -1;
  if (name && !ft_string_copy(name, config->state_directory, sizeof config->state_directory))
    return ft_error_set(err, "state directory: path too long");
  fd = open(config->state_directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  /* a user without read permission can still name the directory to the daemons */
  if (fd < 0 && errno == EACCES)
    fd = open(config->state_directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0)
    return ft_error_errno(err, "state directory %s", config->state_directory);
  return fd;
}

int ft_site_read(int state_fd, const struct ft_config *config, ft_site *site, ft_apps *apps,
                 struct ft_error *err)
{
  if (ft_state_read_site(state_fd, site, err) == 0)
    return ft_state_read_apps(state_fd, site, apps, err);
  if (errno != ENOENT)
    return -1;
  *site = (ft_site){ 0 };
  ft_config_to_site(config, site, apps);
  return 1;
}

int ft_site_collect_apps(const ft_site *site, const ft_apps *site_apps, const char *home,
                         ft_declared_app *apps, size_t limit, size_t *count, struct ft_error *err)
{
  char path[PATH_MAX + 32];
  int status = 0;

  *count = 0;
  (void)snprintf(path, sizeof path, "%.*s/.config/foretell/apps.conf", PATH_MAX, home ? home : "");
  if (site->user_apps && home && *home && access(path, R_OK) == 0) {
    status = ft_config_read_apps(path, apps, limit / 2, count, err);
    if (status < 0)
      *count = 0;
  }
  for (pb_size_t i = 0; i < site_apps->apps_count && *count < limit; i++)
    apps[(*count)++] = site_apps->apps[i];
  return status;
}
