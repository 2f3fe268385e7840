/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <errno.h>
#include <seccomp.h>
#include <stddef.h>

#include "agent/system_calls.h"

static const int refused[] = {
#if FT_SYSTEM_CALLS_PTRACE
  SCMP_SYS(ptrace),
#endif
  SCMP_SYS(process_vm_readv),
  SCMP_SYS(process_vm_writev),
  SCMP_SYS(pidfd_getfd),
  SCMP_SYS(open_by_handle_at), /* opens files outside of the unit's view of the file system */
};

int ft_system_calls_give_up(struct ft_error *err)
{
  scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
  int status = filter ? 0 : -ENOMEM;

  for (size_t i = 0; i < sizeof refused / sizeof *refused && status == 0; i++)
    status = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), refused[i], 0);
  if (status == 0)
    status = seccomp_load(filter);
  if (filter)
    seccomp_release(filter);
  errno = -status;
  return status < 0 ? ft_error_errno(err, "seccomp") : 0;
}
