/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The jobs alive on this node: given announcements, Slurm's answers and the
 * time, it watches one tree a job and gives one observation a run. No clock, no
 * file and no process of its own: whoever owns it brings all of these.
 */
#ifndef FT_AGENT_JOBS_H
#define FT_AGENT_JOBS_H

#include "agent/measure/measure.h"
#include "agent/scontrol.h"
#include "predictor/record/record.h"

enum {
  FT_JOBS_LIMIT = 4096, /* at once on one node, those that are over but not yet complete included */
  FT_JOBS_USER_LIMIT = FT_JOBS_LIMIT / 2, /* of them, of one user */
  FT_JOBS_STEP_LIMIT = 1024,              /* live ones of one job */
  FT_JOBS_USER_STEP_LIMIT = 4096
};

/* The same instant on both clocks: ft_io_monotonic, ft_io_now. */
struct ft_instant {
  double monotonic, utc;
};

struct ft_jobs_settings {
  struct ft_measure *measure;
  ft_rule rule;
  double grace_seconds; /* without a process, before Slurm is asked whether the job is over */
  double ask_seconds;   /* before Slurm is asked the second time, then doubled */
  /*
   * A run is over. Called again for the same run when Slurm's record told more
   * about it. The callee fills what it knows of the node, not of the run.
   */
  void (*finished)(const ft_observation *observation, void *data);
  /*
   * Ask Slurm about JOB_ID; the answer comes by ft_jobs_slurm_reply, never from inside the call.
   * Not called again for the same job before that.
   */
  void (*ask)(uint32_t job_id, void *data);
  /* The packets about JOB_ID so far need not be kept any longer. */
  void (*forget)(uint32_t job_id, void *data);
  /*
   * The agent stops while this run goes on, or lacks its submit time: what was measured so far.
   * Returns whether the next agent will find it with the run's packets.
   */
  bool (*suspend)(const ft_observation *observation, void *data);
  void *data;
};

struct ft_jobs;

struct ft_jobs *ft_jobs_open(const struct ft_jobs_settings *settings, struct ft_error *err);

/*
 * The apps that the site declares: of their runs begun from now on it is noted whether the declared
 * command ran. COUNT of them, borrowed until others are set.
 */
void ft_jobs_set_apps(struct ft_jobs *jobs, const ft_declared_app *apps, size_t count);

/* Forget all jobs; those that were not handed over are suspended. */
void ft_jobs_close(struct ft_jobs *jobs);

/*
 * The plugin has said something; PEER is the process that said it. RESUMED: it said so to
 * an agent before this one, so part of the run was not seen.
 * Returns whether the run was not handed over, nor is one too many, so that this packet should
 * be kept.
 */
bool ft_jobs_announce(struct ft_jobs *jobs, const ft_announcement *announcement, pid_t peer,
                      bool resumed, struct ft_instant now);

/* What an agent before this one had measured of OBSERVATION's run; kept to its end. */
void ft_jobs_restore(struct ft_jobs *jobs, const ft_observation *observation);

/* Slurm's answer about JOB_ID; NULL: there was none. */
void ft_jobs_slurm_reply(struct ft_jobs *jobs, uint32_t job_id, const struct ft_slurm_job *answer,
                         struct ft_instant now);

/* Do what is due. Returns when to come again (monotonic), INFINITY: not before an announcement. */
double ft_jobs_tick(struct ft_jobs *jobs, struct ft_instant now);

/*
 * Of jobs of which MATCHES says so nothing is kept any longer: their packets are forgotten, and they
 * are not suspended. What becomes of their observations whoever gets them says.
 */
void ft_jobs_forget(struct ft_jobs *jobs,
                    bool (*matches)(const ft_observation *observation, void *data), void *data);

/*
 * The run in place NUMBER, from 0 on, of those that go on here: OUT is what is known of it, as if
 * it ended NOW without an outcome, and NOW_BYTES the memory that it has, by the rule that counts;
 * negative: not measured. Returns false behind the last.
 */
bool ft_jobs_running(struct ft_jobs *jobs, unsigned number, struct ft_instant now,
                     ft_observation *out, double *now_bytes);

/* Which memory counts from now on; that of jobs that have begun stays. */
void ft_jobs_set_rule(struct ft_jobs *jobs, ft_rule rule);

/* How many trees are being watched: 0 means no sample need be taken. */
size_t ft_jobs_tree_count(const struct ft_jobs *jobs);

#endif
