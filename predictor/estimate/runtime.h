/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Run time of a job on each platform of the app's run-time record. */
#ifndef FT_ESTIMATE_RUNTIME_H
#define FT_ESTIMATE_RUNTIME_H

#include <stddef.h>

#include "predictor/core/error.h"
#include "predictor/estimate/array_estimates.h"
#include "predictor/estimate/estimate.h"
#include "predictor/record/record.h"

/* Maximum number of platforms of an ft_performance (foretell.options). */
#define FT_RUNTIME_PLATFORMS 16

/* Maximum absolute value of the logarithm of a ratio of run times: a factor of 22,000. */
#define FT_RUNTIME_MAX_LOG_RATIO 10.0

/* Platform of runs whose node is unknown, such as imported ones. */
#define FT_PLATFORM_UNKNOWN "unknown"

/* Microseconds per second. The run-time model predicts microseconds. */
#define FT_RUNTIME_MICROSECONDS 1e6

struct ft_platform_runtime {
  const char *platform; /* name, borrowed from the ft_performance */
  unsigned runs;        /* completed runs on this platform; 0: predicted from other platforms */
  bool known;           /* the following fields are set */
  /* run time on the first platform divided by run time on this one: median, 5 and 95 % quantile */
  double speed, speed_p05, speed_p95;
  struct ft_estimate seconds; /* run time on this platform, in seconds */
};

/*
 * Estimates the run time of a job with COUNT FEATURES from PERFORMANCE into OUT, one element per
 * platform, in the order of PERFORMANCE. Returns the number of platforms; 0 without a recorded run
 * time. Allocates nothing.
 */
size_t ft_runtime_estimate(const ft_performance *performance, const ft_feature *features,
                           size_t count, struct ft_platform_runtime out[FT_RUNTIME_PLATFORMS]);

/* ---- job_time.c ---- */

/* Run time of a job on the nodes of its partition, and what the app's runs show of it. */
struct ft_job_time {
  bool imported; /* of runs imported for the job's name */
  bool pooled;   /* of the runs of all users */
  unsigned runs; /* recorded completed runs; 0: no run time is known */
  char platform[sizeof((ft_platform_runs *)NULL)->platform]; /* on which the times are */
  bool of_partition; /* the platform is one of the job's partition */
  bool elsewhere;    /* the platforms of the partition are known, and this is another */
  struct ft_array_estimates tasks; /* in seconds; count 0: no estimate */
  size_t longest;                  /* index of the task with the largest 95 % quantile */
  struct ft_facts facts;           /* in seconds */
};

/* Where runs of a submission's app may be recorded: under its name, its former names, and imported
 * for the job's name. */
enum ft_time_source { FT_TIME_APP, FT_TIME_FORMER, FT_TIME_IMPORTED = FT_TIME_FORMER + 2 };

/* The run times of a submission's app, without history. */
struct ft_time_lookup {
  ft_performance performance; /* runs 0: none were found */
  bool imported;              /* they are of runs imported for the job's name */
  unsigned sources;           /* that have been read, a sum of 1 << enum ft_time_source */
};

/* Fills OUT without run times. */
void ft_time_lookup_clear(struct ft_time_lookup *out);

/* Returns whether runs imported for SUBMISSION's job name are of its app: the app has no name of
 * its own, and the job has one that identifies it. */
bool ft_is_imported_by_name(const ft_submission *submission);

/*
 * Reads the model file of APP, the SOURCE of a submission of user UID, from the state directory
 * STATE_FD: host memory into MODEL (NULL: not wanted), and run times into TIME (NULL: not wanted)
 * unless it has some. Returns 0; -1 on error or if MODEL is wanted and missing, sets errno (ENOENT:
 * it is missing) and fills ERR.
 */
int ft_time_lookup_source(int state_fd, uint32_t uid, enum ft_time_source source, const char *app,
                          ft_model *model, struct ft_time_lookup *time, struct ft_error *err);

/*
 * Completes TIME from the sources of SUBMISSION that have not been read; USER(DATA) returns the
 * user's name, for imported runs. Returns 0; -1 with performance.runs 0 if there are no run times,
 * sets errno (ENOENT: none) and fills ERR.
 */
int ft_time_lookup_read(int state_fd, uint32_t uid, const char *(*user)(void *), void *data,
                        const ft_submission *submission, struct ft_time_lookup *time,
                        struct ft_error *err);

/*
 * Fills OUT with the run time of SUBMISSION by PERFORMANCE on the slowest platform of PARTITION
 * (NULL: unknown); if a platform there is unknown or has no known run time, on the platform of most
 * runs. TASKS are those of its job array (count 0: none). Allocates nothing.
 */
void ft_job_time_estimate(const ft_performance *performance, const ft_partition *partition,
                          const ft_submission *submission, const struct ft_task_list *tasks,
                          struct ft_job_time *out);

/* Returns the estimate of the longest task; NULL without one. */
const struct ft_estimate *ft_job_time_longest(const struct ft_job_time *time);

/* Fills MODEL with the run-time model of PERFORMANCE: its numbers are microseconds on the first
 * platform. */
void ft_job_time_model(const ft_performance *performance, ft_model *model);

/* ---- energy.c: the energy of a job is its power times its run time ---- */

/* The power of a job. */
struct ft_power {
  double watts;     /* 0: unknown */
  double deviation; /* standard deviation of its logarithm */
  unsigned runs;    /* with measured energy; 0: from the power of the node */
};

/* Returns the power of the app's runs on PLATFORM, as measured; watts 0: of none. */
struct ft_power ft_power_measured(const ft_performance *performance, const char *platform);

/* Returns the power of a job that uses the fraction PART of the nodes of a platform with NODE_WATTS
 * each, NODES of them. Watts 0: NODE_WATTS is 0. */
struct ft_power ft_power_of_nodes(double node_watts, double nodes, double part);

/* Fills OUT with the energy in joules of a run of SECONDS with POWER, whose watts are above 0. */
void ft_energy_estimate(const struct ft_estimate *seconds, const struct ft_power *power,
                        struct ft_estimate *out);

#endif
