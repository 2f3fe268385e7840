/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Queries about many jobs in one command, to scontrol and to sacct, and their replies. No I/O.
 *
 * scontrol reads commands from its standard input. Job names may contain newlines, and so imitate
 * the record of another job: before each "show job" stands a command that prints a line which no
 * user can know.
 */
#ifndef FT_LEARNER_CLUSTER_JOB_REPLIES_H
#define FT_LEARNER_CLUSTER_JOB_REPLIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "learner/cluster/slurm_job.h"
#include "predictor/core/buf.h"
#include "predictor/core/text.h"

/* The line between two replies of scontrol; a host name, because scontrol prints it as such. */
struct ft_reply_mark {
  char line[32];
};

/* Makes MARK from SECRET, random bits that users do not know. */
void ft_reply_mark_set(struct ft_reply_mark *mark, uint64_t secret);

/* Appends the commands for "scontrol -o" about COUNT jobs to OUT. Returns 0; -1 out of memory. */
int ft_job_commands(const uint32_t *job_id, size_t count, const struct ft_reply_mark *mark,
                    struct ft_buf *out);

/*
 * Sets REPLY to the next reply in OUTPUT, of scontrol with these commands, and moves OUTPUT after
 * it. Returns false if there is no further complete one.
 */
bool ft_job_reply_next(struct ft_text *output, const struct ft_reply_mark *mark,
                       struct ft_text *reply);

/* Whether REPLY says that there is no such job. */
bool ft_job_reply_none(struct ft_text reply);

/*
 * Writes to WHY the first error in OUTPUT, of scontrol, other than that a job does not exist.
 * Returns false if there is none.
 */
bool ft_job_reply_error(struct ft_text output, char *why, size_t size);

/* The arguments of sacct before the list of jobs, and the columns that ft_sacct_jobs expects:
 * none that a user can choose. */
#define FT_SACCT_OPTIONS "-nPXDa"
#define FT_SACCT_COLUMNS                                                                           \
  "--format=JobIDRaw,State,Submit,End,Suspended,TimelimitRaw,Partition,UID,User,JobID,NodeList"

/*
 * Reads the output of sacct, printed with TZ=UTC, about COUNT jobs. For each of JOB_ID that has
 * ended, writes the record of its last run to OUT and sets `known`; otherwise clears it. Slurm's
 * database has no restart count before 23.11: it is the number of earlier runs that were requeued.
 * NODES gets the list of each last run's nodes, a part of OUTPUT; its `at` is NULL for a job of
 * which OUTPUT has no run.
 */
void ft_sacct_jobs(struct ft_text output, const uint32_t *job_id, size_t count, ft_slurm_job *out,
                   struct ft_text *nodes);

#endif
