/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Questions to slurmctld about jobs, through scontrol, a few at a time. */
#ifndef FT_AGENT_ASK_H
#define FT_AGENT_ASK_H

#include "agent/child.h"
#include "agent/scontrol.h"

/* ANSWER is NULL when there was none. */
typedef void ft_ask_call(uint32_t job_id, const struct ft_slurm_job *answer, void *data);

struct ft_asker;

/* NULL out of memory. */
struct ft_asker *ft_asker_open(struct ft_loop *loop, struct ft_children *children,
                               ft_ask_call *call, void *data);
void ft_asker_close(struct ft_asker *asker);

/* Where scontrol is: a folder, "" for PATH. */
void ft_asker_set_folder(struct ft_asker *asker, const char *folder);

/* While HELD nothing is asked: what is to be waits. */
void ft_asker_hold(struct ft_asker *asker, bool held);

/* Ask about JOB_ID; CALL comes later, also when nobody can be asked. */
void ft_asker_ask(struct ft_asker *asker, uint32_t job_id);

/* The words of "FOLDER/scontrol ..." into OUT: PATH decides when FOLDER is "". */
void ft_ask_program(const char *folder, char *out, size_t size);

#endif
