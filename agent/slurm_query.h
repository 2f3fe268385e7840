/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Questions to slurmctld about jobs, through scontrol, a few at a time. */
#ifndef FT_AGENT_ASK_H
#define FT_AGENT_ASK_H

#include "agent/subprocess.h"
#include "agent/scontrol.h"

/* ANSWER is NULL when there was none. */
typedef void ft_slurm_query_callback(uint32_t job_id, const struct ft_slurm_job *answer,
                                     void *data);

struct ft_slurm_query;

/* NULL out of memory. */
struct ft_slurm_query *ft_slurm_query_open(struct ft_loop *loop, struct ft_subprocesses *children,
                                           ft_slurm_query_callback *call, void *data);
void ft_slurm_query_close(struct ft_slurm_query *asker);

/* Where scontrol is: a folder, "" for PATH. */
void ft_slurm_query_set_directory(struct ft_slurm_query *asker, const char *folder);

/* While HELD nothing is asked: what is to be waits. */
void ft_slurm_query_pause(struct ft_slurm_query *asker, bool held);

/* Ask about JOB_ID; CALL comes later, also when nobody can be asked. */
void ft_slurm_query_submit(struct ft_slurm_query *asker, uint32_t job_id);

/* The words of "FOLDER/scontrol ..." into OUT: PATH decides when FOLDER is "". */
void ft_slurm_query_program(const char *folder, char *out, size_t size);

#endif
