/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <errno.h>
#include <grp.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/lock.h"
#include "daemon/log.h"
#include "predictor/cli/offline/offline.h"
#include "predictor/cli/state_dir.h"
#include "predictor/record/state_files.h"

bool ft_offline_is_possible(int state_fd)
{
  struct stat st;

  if (geteuid() != 0 && (fstat(state_fd, &st) < 0 || st.st_uid != geteuid()))
    return false;
  return !ft_learner_works(state_fd);
}

static int become_owner(int state_fd, const char *path, struct ft_error *err)
{
  struct stat st;

  if (fstat(state_fd, &st) < 0)
    return ft_error_errno(err, "%s", path);
  if (geteuid() != 0 || st.st_uid == 0)
    return 0;
  if (setgroups(0, NULL) < 0 || setgid(st.st_gid) < 0 || setuid(st.st_uid) < 0)
    return ft_error_errno(err, "%s: cannot become its owner", path);
  return 0;
}

int ft_offline_lock(int state_fd, const char *path, struct ft_error *err)
{
  if (become_owner(state_fd, path, err) < 0)
    return -1;
  ft_log_warnings_only();
  return ft_lock_state(state_fd, path, FT_STATE_LEARNER_LOCK, err);
}

/*
 * Configures the recorder as the last learner did, from its published files: another rule or
 * failure cost would rebuild every model, and other declared apps would remove pooled models.
 */
static int load_settings(struct ft_offline *offline, struct ft_error *err)
{
  struct ft_recorder *recorder = offline->recorder;
  int state_fd = offline->state_fd;
  ft_site *site = &offline->site;
  ft_apps *apps = malloc(sizeof *apps);
  int status = -1;

  if (!apps) {
    ft_error_errno(err, "apps");
  } else if (ft_state_read_site(state_fd, site, err) < 0) {
    /* without a site file no learner has ever run, and there are no models */
    status = errno == ENOENT ? 0 : -1;
  } else if (ft_state_read_apps(state_fd, site, apps, err) == 0) {
    ft_recorder_set_rule(recorder, site->rule);
    if (site->policy.has_failure_price)
      ft_recorder_set_failure_cost(recorder, site->policy.failure_price);
    if (site->policy.has_other_users)
      ft_publisher_set_programs(offline->publisher, site->policy.other_users);
    ft_recorder_set_shared(recorder, apps->apps, apps->apps_count);
    status = 0;
  }
  free(apps);
  return status;
}

int ft_offline_open(struct ft_offline *offline, int state_fd, const char *path,
                    struct ft_error *err)
{
  offline->state_fd = state_fd;
  offline->publisher = ft_publisher_open(state_fd, err);
  if (!offline->publisher)
    return -1;
  offline->recorder = ft_recorder_open(state_fd, path, offline->publisher, err);
  return offline->recorder ? load_settings(offline, err) : -1;
}

void ft_offline_close(struct ft_offline *offline)
{
  ft_recorder_close(offline->recorder);
  ft_publisher_close(offline->publisher);
}
