/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <signal.h>
#include <sys/wait.h>

#include "agent/outcome.h"

/* Fraction of the memory limit from which a SIGKILL counts as its enforcement: Slurm samples every
 * JobAcctGatherFrequency seconds and the agent at 10 Hz, so that the peaks differ. By judgement. */
#define KILL_LIMIT_FRACTION 0.9

int ft_outcome_signal(int status)
{
  if (WIFSIGNALED(status))
    return WTERMSIG(status);
  if (WIFEXITED(status) && WEXITSTATUS(status) > 128 && WEXITSTATUS(status) <= 128 + SIGRTMAX)
    return WEXITSTATUS(status) - 128;
  return 0;
}

static bool killed_at_limit(const struct ft_exit_evidence *e)
{
  return e->rule != FT_RULE_NONE && !(e->rule == FT_RULE_CGROUP && e->has_oom_kills) &&
         e->limit_bytes && e->peak_bytes >= KILL_LIMIT_FRACTION * (double)e->limit_bytes;
}

struct ft_run_outcome ft_outcome_from_node(const struct ft_exit_evidence *e)
{
  int signal = ft_outcome_signal(e->status);

  if (e->oom_kills)
    return (struct ft_run_outcome){ FT_OUTCOME_OUT_OF_MEMORY, true };
  if (!e->has_status)
    return (struct ft_run_outcome){ FT_OUTCOME_UNKNOWN, false };
  if (e->status == 0)
    return (struct ft_run_outcome){ FT_OUTCOME_COMPLETED, e->batch };
  if (signal == SIGKILL && killed_at_limit(e))
    return (struct ft_run_outcome){ FT_OUTCOME_OUT_OF_MEMORY, false };
  if (WIFSIGNALED(e->status) && (signal == SIGKILL || signal == SIGTERM))
    return (struct ft_run_outcome){ FT_OUTCOME_UNKNOWN, false };
  return (struct ft_run_outcome){ FT_OUTCOME_FAILED,
                                  e->batch && signal != SIGKILL && signal != SIGTERM };
}
