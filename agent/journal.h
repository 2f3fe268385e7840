/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Journal of running jobs, from which a restarted agent recovers them: one file per job in the
 * state directory's "live", to which announcements are appended. Not synced, because jobs do not
 * survive a crash of the machine.
 */
#ifndef FT_AGENT_JOURNAL_H
#define FT_AGENT_JOURNAL_H

#include <stdbool.h>

#include "predictor/record/record.h"

struct ft_journal;

/* Opens or creates the journal below the state directory STATE_FD. Returns NULL and ERR. */
struct ft_journal *ft_journal_open(int state_fd, struct ft_error *err);
void ft_journal_close(struct ft_journal *journal);

/*
 * Appends ANNOUNCEMENT, which process PEER sent at time UTC, as PACKET of LENGTH bytes. Beyond 4
 * MiB per job announcements are not stored. Returns 0; -1 and ERR.
 */
int ft_journal_add(struct ft_journal *journal, const ft_announcement *announcement, pid_t peer,
                   double utc, const void *packet, size_t length, struct ft_error *err);

/*
 * Stores the measurements so far of a run that continues. Returns 0; -1 and ERR, also if the
 * journal has no announcement of the job, because ft_journal_replay finds jobs by these.
 */
int ft_journal_save_partial(struct ft_journal *journal, const ft_observation *observation,
                            struct ft_error *err);

/* Removes the files of JOB_ID. */
void ft_journal_remove(struct ft_journal *journal, uint32_t job_id);

/*
 * Callbacks of ft_journal_replay: each announcement of a job, then its partial measurements, if
 * any. A task start whose process has ended has pid 0.
 */
struct ft_journal_callbacks {
  void (*packet)(const ft_announcement *announcement, pid_t peer, double utc, void *data);
  void (*partial)(const ft_observation *observation, void *data);
  void *data;
};

/* Calls CALLS for each job. The damaged end of a file is ignored. */
void ft_journal_replay(struct ft_journal *journal, const struct ft_journal_callbacks *calls);

#endif
