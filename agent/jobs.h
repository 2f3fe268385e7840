/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The jobs on this node. Input: announcements and the time. Keeps one process tree
 * per job and delivers one observation per run. Reads no clock and no file and starts no process;
 * the caller does.
 */
#ifndef FT_AGENT_JOBS_H
#define FT_AGENT_JOBS_H

#include "agent/measure/measure.h"
#include "predictor/record/record.h"
#include "predictor/site/conf.h"

/* Limits. */
enum {
  FT_JOBS_LIMIT = 4096,                   /* jobs, including ended ones of the last minute */
  FT_JOBS_USER_LIMIT = FT_JOBS_LIMIT / 2, /* jobs of one user */
  FT_JOBS_STEP_LIMIT = 1024,              /* running steps of one job */
  FT_JOBS_USER_STEP_LIMIT = 4096          /* running steps of one user */
};

/* One instant on both clocks: ft_io_monotonic and ft_io_now, seconds. */
struct ft_instant {
  double monotonic, utc;
};

struct ft_jobs_settings {
  struct ft_measure *measure;
  ft_rule rule;
  /* a batch script whose end is not announced has ended after this time without a process */
  double grace_seconds;
  /* A run has ended. The callee adds the properties of the node. */
  void (*finished)(const ft_observation *observation, void *data);
  /* The announcements of JOB_ID need not be stored any longer. */
  void (*remove_journal)(uint32_t job_id, void *data);
  /*
   * The agent stops, but this run continues: OBSERVATION has the measurements so far. Returns
   * whether they are stored with the announcements of the run.
   */
  bool (*save_partial)(const ft_observation *observation, void *data);
  void *data;
};

struct ft_jobs;

/* Copies SETTINGS. Returns NULL and ERR out of memory. */
struct ft_jobs *ft_jobs_open(const struct ft_jobs_settings *settings, struct ft_error *err);

/*
 * Sets the site's COUNT declared apps, borrowed until the next call. Observations of their later
 * runs state whether the declared command ran.
 */
void ft_jobs_set_apps(struct ft_jobs *jobs, const ft_declared_app *apps, size_t count);

/* Sets which jobs that begin later are counted. */
void ft_jobs_set_counters(struct ft_jobs *jobs, enum ft_counters mode, uint64_t runs);

/* Saves the measurements of undelivered runs and frees all jobs. */
void ft_jobs_close(struct ft_jobs *jobs);

/*
 * Processes an announcement of process PEER. REPLAYED: it was sent to an earlier agent, so that
 * part of the run was not measured. Returns whether the announcement should be stored in the
 * journal.
 */
bool ft_jobs_announce(struct ft_jobs *jobs, const ft_announcement *announcement, pid_t peer,
                      bool replayed, struct ft_instant now);

/* Adds what an earlier agent measured of OBSERVATION's run; merged at the run's end. */
void ft_jobs_restore(struct ft_jobs *jobs, const ft_observation *observation);

/*
 * Does all work that is due. Returns the monotonic time of the next call; INFINITY: after the next
 * announcement.
 */
double ft_jobs_tick(struct ft_jobs *jobs, struct ft_instant now);

/*
 * Removes the journals of all undelivered runs for which MATCHES returns true; their partial
 * measurements are not saved either. They are still delivered.
 */
void ft_jobs_forget(struct ft_jobs *jobs,
                    bool (*matches)(const ft_observation *observation, void *data), void *data);

/*
 * Fills OUT with the observation of the running job INDEX (from 0) as if it ended NOW without an
 * outcome, and NOW_BYTES with its current memory by its rule (negative: not measured). Returns
 * false beyond the last running job.
 */
bool ft_jobs_running(struct ft_jobs *jobs, unsigned index, struct ft_instant now,
                     ft_observation *out, double *now_bytes);

/* Sets the memory accounting rule of jobs that begin later. */
void ft_jobs_set_rule(struct ft_jobs *jobs, ft_rule rule);

/* Returns the number of process trees; at 0 no sampling is needed. */
size_t ft_jobs_tree_count(const struct ft_jobs *jobs);

#endif
