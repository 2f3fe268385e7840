/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <string.h>

#include "learner/cluster/slurm_job.h"
#include "predictor/core/text.h"
#include "predictor/record/secret.h"

/* Fraction of the time limit from which an exit may follow from Slurm's SIGTERM. By judgement. */
#define TIME_LIMIT_FRACTION 0.98
/* Seconds by which the clocks of node and controller may differ, so that a run that the node began
 * as the latest attempt may seem to end before it. MUNGE tolerates 300, but an attempt starts no
 * earlier than a second after the end of the one before. By judgement. */
#define CLOCK_SECONDS 1.0

bool ft_slurm_job_is_later(const ft_slurm_job *record, const ft_observation *run)
{
  if (!record->restart_count)
    return false;
  if (record->start_time <= 0 || run->end_time <= 0)
    return run->restart_count < record->restart_count;
  return run->restart_count == record->restart_count
             ? run->end_time + CLOCK_SECONDS < record->start_time
             : (run->start_time + run->end_time) / 2 < record->start_time;
}

static void copy_known(const char *from, char *to, size_t size)
{
  if (from[0])
    (void)ft_string_copy(from, to, size);
}

/* Sets what the job has as long as RECORD's attempt is RUN's. */
static void complete_attempt(const ft_slurm_job *record, ft_observation *run)
{
  run->restart_count = record->restart_count;
  if (record->submit_time > 0)
    run->submit_time = record->submit_time;
  if (record->nodes)
    run->allocated_nodes = record->nodes;
  copy_known(record->user, run->user, sizeof run->user);
  copy_known(record->account, run->account, sizeof run->account);
  if (!strchr(record->partition, ','))
    copy_known(record->partition, run->partition, sizeof run->partition);
  if (!run->submission.job_name[0])
    (void)ft_string_copy(ft_secret_label(record->name) ? FT_SECRET_JOB_NAME : record->name,
                         run->submission.job_name, sizeof run->submission.job_name);
}

/* The node did not see the end of RUN. The delay until it noticed it is a difference of UTC times;
 * it is subtracted from the monotonic run time, so that setting the UTC clock during the run
 * changes no run time. */
static void complete_end(const ft_slurm_job *record, ft_observation *run)
{
  double late = run->end_time - record->end_time;

  if (!run->peak_is_bound || late < 0 || late >= run->runtime_seconds)
    return;
  run->end_time = record->end_time;
  run->runtime_seconds -= late;
}

static void subtract_suspension(const ft_slurm_job *record, ft_observation *run)
{
  double seconds = record->suspended_seconds;

  if (seconds > 0 && seconds < run->runtime_seconds)
    run->runtime_seconds -= seconds;
}

static void set_outcome(ft_observation *run, ft_outcome outcome)
{
  /* if a step was killed for its memory, Slurm calls the job failed, cancelled or completed */
  if (run->outcome != FT_OUTCOME_OUT_OF_MEMORY ||
      (outcome != FT_OUTCOME_FAILED && outcome != FT_OUTCOME_CANCELLED &&
       outcome != FT_OUTCOME_COMPLETED))
    run->outcome = outcome;
  run->censored = run->outcome != FT_OUTCOME_COMPLETED;
}

bool ft_slurm_job_complete(const ft_slurm_job *record, ft_observation *run)
{
  double limit = record->time_limit_seconds;

  /* IDs from the job's environment could differ between nodes, and one run be stored as several */
  if (record->identified) {
    run->het_offset = record->het_offset;
    run->array_job_id = record->array_job_id;
    run->array_task_id = record->array_task_id;
  }
  if (record->ending) {
    if (record->submit_time <= run->start_time)
      run->submit_time = record->submit_time;
    return false;
  }
  if (ft_slurm_job_is_later(record, run)) {
    if (run->restart_count >= record->restart_count)
      run->restart_count = record->restart_count - 1;
    if (run->unsettled)
      set_outcome(run, FT_OUTCOME_REQUEUED);
    run->unsettled = false;
    return true;
  }
  complete_attempt(record, run);
  /* an exit code at the time limit is that of a script that Slurm has told to end */
  if (limit > 0 && run->runtime_seconds >= TIME_LIMIT_FRACTION * limit &&
      (run->outcome == FT_OUTCOME_COMPLETED || run->outcome == FT_OUTCOME_FAILED))
    run->unsettled = true;
  if (!run->unsettled || !record->final)
    return !run->unsettled;
  run->unsettled = false;
  set_outcome(run, record->outcome);
  complete_end(record, run);
  subtract_suspension(record, run);
  return true;
}
