/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Queries of Slurm's records of jobs, which the learner makes. */
#ifndef FT_AGENT_JOB_RECORDS_H
#define FT_AGENT_JOB_RECORDS_H

#include "agent/uplink.h"

struct ft_job_records;

/* RECORD is Slurm's record of JOB_ID, valid during the call; NULL if there is none. */
typedef void ft_job_record_callback(uint32_t job_id, const ft_slurm_job *record, void *data);

/* Returns NULL out of memory. */
struct ft_job_records *ft_job_records_open(struct ft_loop *loop, struct ft_uplink *uplink,
                                           ft_job_record_callback *call, void *data);

/* Closed before the uplink. */
void ft_job_records_close(struct ft_job_records *records);

/*
 * Queries the record of JOB_ID. The callback runs later, with NULL if the learner does not reply
 * for a minute.
 */
void ft_job_records_query(struct ft_job_records *records, uint32_t job_id);

/* The learner answers again: sends the queries that wait. */
void ft_job_records_retry(struct ft_job_records *records);

#endif
