/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is known of one run of one job; jobs.c decides what follows from it. */
#ifndef FT_AGENT_JOB_H
#define FT_AGENT_JOB_H

#include "agent/outcome.h"
#include "agent/jobs.h"
#include "predictor/core/buf.h"

/* Slurm's numbers of steps that are none of srun's (slurm.h of 22.05). */
#define FT_STEP_BATCH UINT32_C(0xfffffffb)
#define FT_STEP_EXTERN UINT32_C(0xfffffffc)

struct step {
  uint32_t id;
  uint32_t tasks, ended;
  uint64_t limit_bytes; /* 0: none known */
  struct step *next;
};

enum phase {
  PHASE_LIVE,
  PHASE_UNKEYED, /* over, but the submit time is missing, which is part of the key */
  PHASE_DONE     /* handed over; Slurm may still complete it */
};

struct job {
  uint32_t id, restart_count, uid; /* as in the observation, here while that is packed too */
  enum phase phase;
  bool resumed, batch_over, has_status, has_oom_kills, asking, told;
  bool confirmed; /* Slurm's record was seen since it began: it has this restart count */
  bool stopped;   /* its processes were: Slurm may have suspended it */
  bool shortened; /* by the time for which it was */
  bool forgotten; /* nothing of it is to be kept in files */
  int status;
  uint64_t oom_kills, step_limit_bytes;
  unsigned step_count, failures;
  struct step *steps;
  struct ft_tree *tree;
  struct ft_run_outcome verdict;
  double time_limit_seconds;
  double started, idle_since;    /* monotonic */
  double next_ask, ask_interval; /* INFINITY: nothing to ask */
  double drop_at;
  ft_observation *earlier; /* what an agent before us measured; NULL: nothing */
  ft_observation *o;       /* NULL: packed or forgotten */
  struct ft_buf packed;    /* its record */
  struct job *next;
};

/* A run of job ID. NULL out of memory. */
struct job *ft_job_new(uint32_t id, uint32_t restart_count);
void ft_job_free(struct job *job);

/*
 * Of a job that is over the observation is only kept for what Slurm may still say: as a record it
 * takes a fiftieth. Unpack before `o` is used; false out of memory, or when it was forgotten:
 * nothing more is to be said of it.
 */
void ft_job_pack(struct job *job);
bool ft_job_unpack(struct job *job);
void ft_job_discard(struct job *job);

void ft_job_set_restart(struct job *job, uint32_t restart_count);

/* What any announcement says about the job; what an earlier one said stays where this one is
 * silent. */
void ft_job_apply_announcement(struct job *job, const ft_announcement *announcement);

/* What was submitted, from LENGTH bytes of an encoded submission; the first that decodes counts. */
void ft_job_apply_submission(struct job *job, const void *data, size_t length);

/* The end of a task: the batch script's counts, else the worst: a signal, then a status not 0. */
void ft_job_apply_status(struct job *job, uint32_t step_id, int status);

/* What Slurm's record says of this run, and not of another of the same job. */
void ft_job_apply_record(struct job *job, const struct ft_slurm_job *record);

/* The end that nobody announced, by Slurm's clock; RECORD may be NULL. */
void ft_job_apply_end(struct job *job, const struct ft_slurm_job *record);

/*
 * Take from the run time of JOB, which is over, what RECORD tells that it was suspended for. Returns
 * whether there was anything, the first time.
 */
bool ft_job_apply_suspension(struct job *job, const struct ft_slurm_job *record);

/* The live step ID, or NULL; begun where it is not there; NULL too when there are too many. */
struct step *ft_job_find_step(struct job *job, uint32_t id);
struct step *ft_job_begin_step(struct job *job, uint32_t id);
void ft_job_end_step(struct job *job, uint32_t id, struct ft_instant now);
void ft_job_free_steps(struct job *job);

/* Features and prediction of the job array that came with O's submission become its element's. */
void ft_job_resolve_array_task(ft_observation *o);

/*
 * PART was taken for a later run and belongs to JOB: add its measurements to JOB's and move its tree
 * and steps there. JOB's own tree must be closed before.
 */
void ft_job_merge(struct job *job, struct job *part);

/* Put what an agent before us had measured of JOB into O. */
void ft_job_add_earlier(const struct job *job, ft_observation *o);

/* Fill verdict, exit code and signal from what the node saw. */
void ft_job_infer_outcome(struct job *job);

#endif
