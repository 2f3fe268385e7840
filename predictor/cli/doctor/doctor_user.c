/* SPDX-License-Identifier: GPL-3.0-or-later */
/* foretell doctor: what another user of this host would find, such as the daemons'. */
#include "config.h"

#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "predictor/cli/doctor/doctor.h"
#include "predictor/core/text.h"

void ft_doctor_fill_user(const struct passwd *found, uid_t uid, struct ft_doctor_user *out)
{
  *out = (struct ft_doctor_user){ .uid = found ? found->pw_uid : uid,
                                  .gid = found ? found->pw_gid : 0 };
  if (!found || !ft_string_copy(found->pw_name, out->name, sizeof out->name))
    (void)snprintf(out->name, sizeof out->name, "%u", (unsigned)out->uid);
}

int ft_doctor_call_as(const struct ft_doctor_user *user, void (*call)(void *data), void *data,
                      struct ft_error *err)
{
  bool change = geteuid() == 0 && user->uid != 0;
  gid_t groups[NGROUPS_MAX];
  int count = getgroups(NGROUPS_MAX, groups), status = 0;

  if (change &&
      (initgroups(user->name, user->gid) < 0 || setegid(user->gid) < 0 || seteuid(user->uid) < 0))
    status = ft_error_errno(err, "user %s", user->name);
  else
    call(data);
  if (change && (seteuid(0) < 0 || setegid(0) < 0 || setgroups((size_t)count, groups) < 0))
    abort();
  return status;
}
