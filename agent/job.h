/* SPDX-License-Identifier: GPL-3.0-or-later */
/* State of one run of a job, for jobs.c and jobs_end.c. */
#ifndef FT_AGENT_JOB_H
#define FT_AGENT_JOB_H

#include "agent/jobs.h"
#include "agent/outcome.h"
#include "predictor/site/conf.h"

/* Slurm's IDs of steps that srun did not create (slurm.h of 22.05). */
#define FT_STEP_BATCH UINT32_C(0xfffffffb)
#define FT_STEP_EXTERN UINT32_C(0xfffffffc)

/* A running step. */
struct step {
  uint32_t id;
  uint32_t tasks, ended; /* tasks on this node (0: unknown), and how many have ended */
  uint64_t limit_bytes;  /* 0: unknown */
  struct step *next;
};

struct job {
  uint32_t id, restart_count, uid; /* copies from the observation */
  bool replayed;   /* announced to an earlier agent: part of the run was not measured */
  bool batch_over; /* the batch script has ended */
  bool has_status, has_oom_kills;
  bool nested_kill;      /* the kernel killed at a container's own limit */
  bool warned;           /* that the submission record is invalid */
  bool stopped;          /* processes were stopped: Slurm may have suspended the job */
  bool forgotten;        /* the journal must not contain the run */
  struct ft_instant end; /* of a run that an earlier agent has not delivered; 0: none */
  int status;
  uint64_t oom_kills, step_limit_bytes; /* step_limit_bytes: largest of all steps */
  unsigned step_count;
  struct step *steps;
  struct ft_tree *tree;
  double started, idle_since; /* monotonic */
  double drop_at;             /* of an ended job: monotonic; when it is freed */
  ft_observation *earlier;    /* measurements of an earlier agent, or NULL */
  ft_observation *o;          /* NULL: the run has ended and is delivered */
  ft_job_array *array;        /* until the task is known; NULL: no array, or nothing of it */
  struct job *next;
};

/*
 * Which runs are counted with hardware counters (counters in foretell.conf(5)): as few as the
 * cross-platform model needs, because users' own tools need the same counters. All nodes of a job
 * choose alike, by its submission record, which has the runs of the app's model. If the plugin read
 * no model, the runs that this agent has counted decide.
 */
struct ft_counter_choice {
  enum ft_counters mode;
  uint64_t runs;          /* counter_runs */
  uint16_t counted[4096]; /* counted runs on this node, by hash of user and app */
};

/* Whether the run of O, which begins, is to be counted. */
bool ft_counter_choice_wants(const struct ft_counter_choice *choice, const ft_observation *o);

/* Adds the run of O, which has ended. */
void ft_counter_choice_add(struct ft_counter_choice *choice, const ft_observation *o);

/* Creates a run of job ID. Returns NULL out of memory. */
struct job *ft_job_new(uint32_t id, uint32_t restart_count);
void ft_job_free(struct job *job);

/* Frees what only a running job needs. */
void ft_job_free_observation(struct job *job);

void ft_job_set_restart(struct job *job, uint32_t restart_count);

/* Copies the fields common to all announcements; absent ones keep their value. */
void ft_job_apply_announcement(struct job *job, const ft_announcement *announcement);

/* Decodes a submission record of LENGTH bytes; no effect if JOB already has one. */
void ft_job_apply_submission(struct job *job, const void *data, size_t length);

/*
 * Applies the exit status of a task. The batch script's status has precedence, else the worst: a
 * signal, then a nonzero exit status.
 */
void ft_job_apply_status(struct job *job, uint32_t step_id, int status);

/* Returns the running step ID; begin_step creates a missing one. NULL: none, or too many. */
struct step *ft_job_find_step(struct job *job, uint32_t id);
struct step *ft_job_begin_step(struct job *job, uint32_t id);
void ft_job_end_step(struct job *job, uint32_t id, struct ft_instant now);
void ft_job_free_steps(struct job *job);

/* Reduces the features and the prediction of a job array in O to those of O's array task. ARRAY:
 * what differs between the tasks; NULL: nothing. */
void ft_job_resolve_array_task(const ft_job_array *array, ft_observation *o);

/* Merges the measurements of an earlier agent, if any, into O. */
void ft_job_add_earlier(const struct job *job, ft_observation *o);

/* Sets outcome, exit code and signal from the node's evidence. */
void ft_job_infer_outcome(struct job *job);

#endif
