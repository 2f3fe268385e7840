/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shared by jobs.c (announcements and time) and jobs_end.c (end of a run, Slurm's record). */
#ifndef FT_AGENT_JOBS_INTERNAL_H
#define FT_AGENT_JOBS_INTERNAL_H

#include "agent/job.h"

struct ft_jobs {
  struct ft_jobs_settings settings;
  struct job *list;
  size_t count, trees; /* jobs; process trees */
  bool warned_full;
  const ft_declared_app *apps; /* of the site */
  size_t app_count;
  struct ft_counter_choice counters;
};

/* Returns the newest run of JOB_ID, or NULL. */
struct job *ft_jobs_find(struct ft_jobs *jobs, uint32_t job_id);

/* Removes JOB from the list and frees it. */
void ft_jobs_drop(struct ft_jobs *jobs, struct job *job);

/* Whether no announced step has a living process. */
bool ft_jobs_is_idle(const struct job *job);

/* Ends the measurement of JOB, if any. */
void ft_jobs_close_tree(struct ft_jobs *jobs, struct job *job);

/* Removes JOB's journal, unless JOB is an earlier run than the one that the journal is about. */
void ft_jobs_remove_journal(struct ft_jobs *jobs, const struct job *job);

/* Completes the observation of JOB, which runs, at NOW, delivers and frees it. With an end that is
 * REPLAYED it waits for the measurements of the earlier agent until ft_jobs_tick. */
void ft_jobs_end(struct ft_jobs *jobs, struct job *job, bool replayed, struct ft_instant now);
void ft_jobs_finish(struct ft_jobs *jobs, struct job *job, struct ft_instant now);

#endif
