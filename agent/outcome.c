/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <signal.h>
#include <sys/wait.h>

#include "agent/outcome.h"

/* Slurm looks every JobAcctGatherFrequency seconds and we ten times a second: the two peaks differ
 * a little. */
#define NEAR_LIMIT 0.9
/* A script that catches SIGTERM at its time limit can still exit 0. */
#define NEAR_TIME_LIMIT 0.98

int ft_outcome_signal(int status)
{
  if (WIFSIGNALED(status))
    return WTERMSIG(status);
  if (WIFEXITED(status) && WEXITSTATUS(status) > 128 && WEXITSTATUS(status) <= 128 + SIGRTMAX)
    return WEXITSTATUS(status) - 128;
  return 0;
}

static bool at_limit(const struct ft_exit_evidence *e)
{
  return e->rule != FT_RULE_NONE && !(e->rule == FT_RULE_CGROUP && e->has_oom_kills) &&
         e->limit_bytes && e->peak_bytes >= NEAR_LIMIT * (double)e->limit_bytes;
}

struct ft_run_outcome ft_outcome_from_node(const struct ft_exit_evidence *e)
{
  bool late =
      e->time_limit_seconds > 0 && e->runtime_seconds >= NEAR_TIME_LIMIT * e->time_limit_seconds;
  int signal = ft_outcome_signal(e->status);

  if (e->oom_kills)
    return (struct ft_run_outcome){ FT_OUTCOME_OUT_OF_MEMORY, true };
  if (!e->has_status)
    return (struct ft_run_outcome){ FT_OUTCOME_UNKNOWN, false };
  if (e->status == 0)
    return (struct ft_run_outcome){ FT_OUTCOME_COMPLETED, e->batch && !late };
  if (signal == SIGKILL && at_limit(e))
    return (struct ft_run_outcome){ FT_OUTCOME_OUT_OF_MEMORY, false };
  if (WIFSIGNALED(e->status) && (signal == SIGKILL || signal == SIGTERM))
    return (struct ft_run_outcome){ FT_OUTCOME_UNKNOWN, false };
  return (struct ft_run_outcome){ FT_OUTCOME_FAILED,
                                  e->batch && !late && signal != SIGKILL && signal != SIGTERM };
}

struct ft_run_outcome ft_outcome_from_slurm(struct ft_run_outcome verdict, uint32_t restart_count,
                                            const struct ft_slurm_job *job)
{
  bool by_kernel = verdict.settled && verdict.outcome == FT_OUTCOME_OUT_OF_MEMORY;

  if (by_kernel)
    return verdict;
  if (job->restart_count > restart_count)
    return (struct ft_run_outcome){ FT_OUTCOME_REQUEUED, true };
  if (!job->over)
    return (struct ft_run_outcome){ verdict.outcome, false };
  if (verdict.outcome == FT_OUTCOME_OUT_OF_MEMORY &&
      (job->outcome == FT_OUTCOME_FAILED || job->outcome == FT_OUTCOME_CANCELLED ||
       job->outcome == FT_OUTCOME_COMPLETED))
    return (struct ft_run_outcome){ verdict.outcome, true };
  return (struct ft_run_outcome){ job->outcome, true };
}
