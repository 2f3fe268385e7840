/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Opens the state directory and finds its site, its agent and a user. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <unistd.h>

#include "predictor/cli/cli.h"
#include "predictor/cli/state_dir.h"
#include "predictor/core/text.h"
#include "predictor/record/state_files.h"

int ft_find_user(const char *name, struct ft_user *user, struct ft_error *err)
{
  struct ft_text number = ft_text_from(name);
  const struct passwd *entry;
  uint64_t uid = getuid();

  *user = (struct ft_user){ 0 };
  if (name && !(ft_text_u64(&number, UINT32_MAX, &uid) && ft_text_left(&number) == 0)) {
    entry = getpwnam(name);
    if (!entry)
      return ft_error_set(err, "--user=%s: no such user", name);
  } else {
    entry = getpwuid((uid_t)uid);
  }
  user->uid = entry ? entry->pw_uid : (uid_t)uid;
  if (!entry)
    (void)snprintf(user->name, sizeof user->name, "%lu", (unsigned long)user->uid);
  else if (!ft_string_copy(entry->pw_name, user->name, sizeof user->name) ||
           !ft_string_copy(entry->pw_dir, user->home, sizeof user->home))
    return ft_error_set(err, "user %lu: name or home directory too long", (unsigned long)user->uid);
  return 0;
}

int ft_read_site(const char *command, int state_fd, const struct ft_config *config, ft_site *site,
                 ft_apps *apps, struct ft_error *err)
{
  int status = ft_site_read(state_fd, config, site, apps, err);

  if (status == 1)
    ft_print_error(command, 0,
                   "no site file in %s; using the defaults; check that foretell-learnd is running",
                   config->state_directory);
  return status < 0 ? -1 : 0;
}

bool ft_learner_works(int state_fd)
{
  struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
  int fd = openat(state_fd, FT_STATE_LEARNER_LOCK, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  bool works = fd >= 0 && fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;

  if (fd >= 0)
    close(fd);
  return works;
}

bool ft_store_is_elsewhere(const char *name, int state_fd, const struct ft_config *config,
                           struct ft_error *err)
{
  const struct ft_config_network *network = &config->network;

  if (name || !network->learners[0] || network->listen[0] ||
      faccessat(state_fd, FT_STATE_STORE, F_OK, 0) == 0 || errno != ENOENT)
    return false;
  ft_error_set(err, "no runs are stored on this host; foretell-learnd has them on %s",
               network->learners);
  return true;
}
