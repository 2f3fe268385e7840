/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Names and reads the files of the state directory. A user's own file that its file system lets
 * only the learner read, because it has no ACLs, is fetched from the learner (state_fetch.h).
 *
 *   site                      the site file: cluster and policy
 *   apps                      declared apps of the site
 *   platforms                 platforms of foretell.conf: prices
 *   partitions/NAME           a partition: limits and node types
 *   partitions/.all           all partitions in one file
 *   models/UID/NAME.model     models of a user's apps; only that user can read the directory (ACL)
 *   models/UID/KEY.kin        a user's apps with the same similarity key
 *   models/UID/usage          what a user's apps used, also of what they requested
 *   models/UID/NAME.perf      run times of an app, of the previous release; removed when the app's
 *                             model is published
 *   models/site/NAME.model    declared apps, pooled over users, without history
 *   models/4294967295/...     the same with history, for the learner
 *   relative.model            the cross-platform model (estimate/relative.h)
 *   prior                     the anonymous site-wide prior
 *   prior.apps                its data with a hash of each app: only for the learner
 *   programs/HASH             anonymous memory that the runs of a program needed
 *   program-users/HASH        its data by user: only for the learner
 *   gpus                      anonymous measured memory of networks on the cluster's GPUs
 *   mig.conf                  MIG profiles of the site (estimate/gpu/mig.h); optional
 *   .searched.NUMBER          an equation that foretell rebuild --slurm hands to the learner;
 * removed as the temporary files of ft_io_write_file are, if neither does it store.db observations
 *   learner.lock              locked (fcntl) while a learner uses the directory
 *   agent.lock                the same of an agent, for live/ and spool/
 *   agent.number              random bits of the agent's number, which it sends to the learner
 */
#ifndef FT_RECORD_STATE_FILES_H
#define FT_RECORD_STATE_FILES_H

#include <stdbool.h>
#include <stdint.h>

#include "predictor/record/model_file.h"

#define FT_STATE_SITE "site"
#define FT_STATE_APPS "apps"
#define FT_STATE_PLATFORMS "platforms"
#define FT_STATE_RELATIVE "relative.model"
#define FT_STATE_PARTITIONS "partitions"
/* In FT_STATE_PARTITIONS: all partitions in one file, for readers that need all. */
#define FT_STATE_PARTITION_LIST ".all"
#define FT_STATE_MODELS "models"
#define FT_STATE_SHARED "models/site"
/* Used as the UID of models pooled over all users. */
#define FT_STATE_POOLED UINT32_MAX
#define FT_STATE_PRIOR "prior"
#define FT_STATE_PRIOR_APPS "prior.apps"
#define FT_STATE_USAGE "usage"
#define FT_STATE_PROGRAMS "programs"
#define FT_STATE_PROGRAM_USERS "program-users"
#define FT_STATE_MIG "mig.conf"
#define FT_STATE_GPUS "gpus"
#define FT_STATE_STORE "store.db"
#define FT_STATE_AGENT_LOCK "agent.lock"
#define FT_STATE_LEARNER_LOCK "learner.lock"
#define FT_STATE_AGENT_NUMBER "agent.number"

/* Appended to the path of a daemon's socket: that of its socket for queries by users' commands. */
#define FT_STATE_QUERY_SUFFIX ".ask"

/* Whether NAME is a file for the learner only (mode 0600): the store, what SQLite keeps beside it,
 * copies whose names begin alike, and what is made of all users' runs. */
bool ft_state_is_private(const char *name);

/* Size of an array for a file name, in bytes: 64 of the name, '-', 16 digits, a suffix, NUL. */
#define FT_STATE_NAME_SIZE 128

/*
 * Writes the file name of APP's model to OUT: the letters, digits, '.', '_' and '-' of its first 64
 * bytes, without a leading dot, then '-' and 16 hexadecimal digits of its hash.
 */
void ft_state_model_name(const char *app, char out[FT_STATE_NAME_SIZE]);

/* Writes the name of the file NUMBER that holds the result of an equation search to OUT. */
void ft_state_search_name(uint32_t number, char out[FT_STATE_NAME_SIZE]);

/* Writes the app of an imported run whose source names no app to OUT: USER (empty: the number UID),
 * '/' and the job name, without the part that a workflow manager adds for one job of a task. A name
 * that is too long is truncated and ends in its hash. */
void ft_state_imported_app(const char *user, uint32_t uid, const char *job_name, char out[128]);

/* Writes the file name of a partition, as ft_state_model_name without the suffix. */
void ft_state_partition_name(const char *partition, char out[FT_STATE_NAME_SIZE]);

/* Reads the section of QUANTITY of the model of APP of user UID and, unless HISTORY is NULL, its
 * runs from the state directory STATE_FD: the user's own, else the site's, which has no runs. A
 * file of another app counts as missing. Returns 0; -1 on error, sets errno (ENOENT: no model, or
 * none of QUANTITY) and fills ERR. */
int ft_state_read_model(int state_fd, uint32_t uid, const char *app, uint32_t quantity,
                        ft_model *model, struct ft_history *history, struct ft_error *err);

/* The same of host memory, for the user's own models only. */
int ft_state_read_own_model(int state_fd, uint32_t uid, const char *app, ft_model *model,
                            struct ft_history *history, struct ft_error *err);

/* The same for the site's models only, without history. */
int ft_state_read_shared(int state_fd, const char *app, ft_model *model, struct ft_error *err);

/* Reads PARTS of the model of APP of user UID: each from the user's own file, else from the site's.
 * Returns 0, also if one of two is missing; otherwise as ft_state_read_model. */
int ft_state_read_parts(int state_fd, uint32_t uid, const char *app, struct ft_model_parts *parts,
                        struct ft_error *err);

/* As ft_state_read_model, of host memory and without runs, which estimates do not use. */
int ft_state_read_evaluator(int state_fd, uint32_t uid, const char *app, ft_model *model,
                            struct ft_error *err);

/* Source of a similarity key: job name and program, or the program alone. */
enum ft_similarity { FT_SIMILAR_NAME, FT_SIMILAR_PROGRAM, FT_SIMILARITIES };

/*
 * Writes a similarity key of a job to OUT: the words of JOB_NAME and PROGRAM without numbers, in
 * lower case, "job:train@fit.py" or "runs:fit.py" for "Train_v2-17" and "fit3.py". The extension
 * of a script stays, because scripts of two languages are two programs. A job name alone is a key
 * only of jobs whose program is unknown or generic. Returns false for a generic name, such as "job"
 * or "python".
 */
bool ft_state_similarity(enum ft_similarity kind, const char *job_name, const char *program,
                         char out[80]);

/* Writes the file name of the apps with SIMILARITY_KEY to OUT. */
void ft_state_similar_apps_name(const char *similarity_key, char out[FT_STATE_NAME_SIZE]);

/* Reads the apps of user UID with SIMILARITY_KEY. Returns as ft_state_read_model. */
int ft_state_read_similar_apps(int state_fd, uint32_t uid, const char *similarity_key,
                               ft_similar_apps *similar, struct ft_error *err);

/* Size of an array for the name of a program, in bytes. */
enum { FT_STATE_PROGRAM = 64 };

/*
 * Writes the program that all jobs of APP run to OUT: "samtools-sort" for "samtools-sort-a6a0170e",
 * an app that is named after its programs (request/describe.c). Returns false for an app with
 * another name, a script, which its name does not identify, and a generic name, such as "job".
 */
bool ft_state_program(const char *app, char out[FT_STATE_PROGRAM]);

/* Writes the name of the files about PROGRAM, without directory, to OUT. */
void ft_state_program_name(const char *program, char out[FT_STATE_NAME_SIZE]);

/* Returns a hash of NAME, an app or a program, in a file about usage; not 0. */
uint32_t ft_state_usage_hash(const char *name);

/* Reads what the apps of user UID used. Returns as ft_state_read_model. */
int ft_state_read_usage(int state_fd, uint32_t uid, ft_usage *usage, struct ft_error *err);

/* Reads what all users' runs of PROGRAM needed; ENOENT: too few users. Returns as
 * ft_state_read_model. */
int ft_state_read_program(int state_fd, const char *program, ft_program *out, struct ft_error *err);

/* The end of the names of files with run times in the previous release. */
#define FT_STATE_RUNTIMES_BEFORE ".perf"

/* Writes the name of APP's file of run times in the previous release to OUT. */
void ft_state_runtimes_before_name(const char *app, char out[FT_STATE_NAME_SIZE]);

/* Reads the run times of APP of user UID with the RUNTIMES of its runs, for the user's own models
 * only. Returns as ft_state_read_model. */
int ft_state_read_own_performance(int state_fd, uint32_t uid, const char *app,
                                  ft_performance *performance, struct ft_runtimes *runtimes,
                                  struct ft_error *err);

/* The same from the model file NAME under DIRFD, of any app. */
int ft_state_read_runtimes(int dirfd, const char *name, ft_performance *performance,
                           struct ft_runtimes *runtimes, struct ft_error *err);

/* The models of an app that learning updates. A model that is absent is undefined. */
struct ft_app_models {
  bool has_model, has_performance;
  ft_model model; /* of host memory */
  struct ft_history history;
  ft_performance performance;
  struct ft_runtimes runtimes;
};

/* Reads the MODELS of APP of user UID, the user's own. Returns as ft_state_read_model; ENOENT:
 * there is neither. */
int ft_state_read_own_app(int state_fd, uint32_t uid, const char *app, struct ft_app_models *models,
                          struct ft_error *err);

/* Reads the platforms of foretell.conf; a missing file has none. Returns as ft_record_read. */
int ft_state_read_platforms(int state_fd, ft_platforms *platforms, struct ft_error *err);

/* Reads the site file. Returns as ft_record_read. */
int ft_state_read_site(int state_fd, ft_site *site, struct ft_error *err);

/*
 * Reads the first partition of REQUESTED, the value of --partition; the default partition of SITE
 * if it is empty. Returns as ft_record_read.
 */
int ft_state_read_partition(int state_fd, const ft_site *site, const char *requested,
                            ft_partition *partition, struct ft_error *err);

/* Reads the declared apps of SITE; reads no file if SITE has none. Returns as ft_record_read. */
int ft_state_read_apps(int state_fd, const ft_site *site, ft_apps *apps, struct ft_error *err);

#endif
