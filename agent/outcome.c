/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <signal.h>
#include <sys/wait.h>

#include "agent/outcome.h"

/* Fraction of the memory limit from which a SIGKILL counts as its enforcement: Slurm samples every
 * JobAcctGatherFrequency seconds and the agent at 10 Hz, so that the peaks differ. By judgement. */
#define KILL_LIMIT_FRACTION 0.9
/* Fraction of the time limit from which an exit may follow from Slurm's SIGTERM. By judgement. */
#define TIME_LIMIT_FRACTION 0.98

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
  bool late = e->time_limit_seconds > 0 &&
              e->runtime_seconds >= TIME_LIMIT_FRACTION * e->time_limit_seconds;
  int signal = ft_outcome_signal(e->status);

  if (e->oom_kills)
    return (struct ft_run_outcome){ FT_OUTCOME_OUT_OF_MEMORY, true };
  if (!e->has_status)
    return (struct ft_run_outcome){ FT_OUTCOME_UNKNOWN, false };
  if (e->status == 0)
    return (struct ft_run_outcome){ FT_OUTCOME_COMPLETED, e->batch && !late };
  if (signal == SIGKILL && killed_at_limit(e))
    return (struct ft_run_outcome){ FT_OUTCOME_OUT_OF_MEMORY, false };
  if (WIFSIGNALED(e->status) && (signal == SIGKILL || signal == SIGTERM))
    return (struct ft_run_outcome){ FT_OUTCOME_UNKNOWN, false };
  return (struct ft_run_outcome){ FT_OUTCOME_FAILED,
                                  e->batch && !late && signal != SIGKILL && signal != SIGTERM };
}

struct ft_run_outcome ft_outcome_from_slurm(struct ft_run_outcome outcome, uint32_t restart_count,
                                            const ft_slurm_job *record)
{
  bool by_kernel = outcome.final && outcome.outcome == FT_OUTCOME_OUT_OF_MEMORY;

  if (by_kernel)
    return outcome;
  if (record->restart_count > restart_count)
    return (struct ft_run_outcome){ FT_OUTCOME_REQUEUED, true };
  if (!record->final)
    return (struct ft_run_outcome){ outcome.outcome, false };
  if (outcome.outcome == FT_OUTCOME_OUT_OF_MEMORY &&
      (record->outcome == FT_OUTCOME_FAILED || record->outcome == FT_OUTCOME_CANCELLED ||
       record->outcome == FT_OUTCOME_COMPLETED))
    return (struct ft_run_outcome){ outcome.outcome, true };
  return (struct ft_run_outcome){ record->outcome, true };
}
