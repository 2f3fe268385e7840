/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where things lie in the state folder:
 *   site                      the site file: cluster and policy
 *   apps                      the site's declared apps
 *   platforms                 what foretell.conf says of platforms: prices
 *   partitions/NAME           each partition: its limits and kinds of nodes
 *   partitions/.all           all of them in one file
 *   models/UID/NAME.model     a user's apps; only that user may read the folder (ACL)
 *   models/UID/LIKENESS.kin   which of them are alike in their job's name or their program
 *   models/UID/NAME.perf      how long their runs take, here and on other platforms
 *   models/site/NAME.model    apps that the site declares, pooled over users, without history
 *   models/4294967295/...     the same with it, which the agent learns on
 *   relative.model            how an app's run time on one platform tells it on others
 *                             (estimate/relative.h)
 *   prior                     what the site's apps need at large; nobody is named in it
 *   prior.apps                the same with each app's hash: the agent's own
 *   gpus                      what networks have needed on the cluster's GPUs, nothing says whose
 *   mig.conf                  the site's own MIG slices (estimate/mig.h), where it has any
 *   store.db                  the agent's observations
 *   agent.lock                locked (fcntl) while an agent works here
 */
#ifndef FT_RECORD_STATE_FILES_H
#define FT_RECORD_STATE_FILES_H

#include <stddef.h>
#include <stdint.h>

#include "predictor/record/record.h"

#define FT_STATE_SITE "site"
#define FT_STATE_APPS "apps"
#define FT_STATE_PLATFORMS "platforms"
#define FT_STATE_RELATIVE "relative.model"
#define FT_STATE_PARTITIONS "partitions"
/* All of them in one file of that folder, for who asks for all. */
#define FT_STATE_PARTITION_LIST ".all"
#define FT_STATE_MODELS "models"
#define FT_STATE_SHARED "models/site"
/* Whose models those of all users together are. */
#define FT_STATE_POOLED UINT32_MAX

#define FT_STATE_PRIOR "prior"
#define FT_STATE_PRIOR_APPS "prior.apps"
#define FT_STATE_MIG "mig.conf"
#define FT_STATE_GPUS "gpus"
#define FT_STATE_STORE "store.db"
#define FT_STATE_LOCK "agent.lock"

/* Behind the path of the agent's socket: the one where users' commands ask it. */
#define FT_STATE_QUERY_SUFFIX ".ask"

/* Room for any name that ft_state_model gives. */
#define FT_STATE_NAME_SIZE 128

/*
 * The file name of APP's model: the letters, digits, '.', '_' and '-' of its
 * first 64 bytes (never a dot first), a '-' and 16 hexadecimal digits of its hash.
 */
void ft_state_model_name(const char *app, char out[FT_STATE_NAME_SIZE]);

/*
 * The app of what is imported without one: USER (his number UID where it is empty), '/' and
 * the job's name, without what a workflow's manager adds for one job of a task; cut to fit, it ends
 * in its hash.
 */
void ft_state_imported_app(const char *user, uint32_t uid, const char *job_name, char out[128]);

/* The same for a partition's file, without ".model". */
void ft_state_partition_name(const char *partition, char out[FT_STATE_NAME_SIZE]);

/*
 * Read the model of user UID's APP under the state folder STATE_FD: his own,
 * else the site's. Returns 0; -1 with ERR, errno being ENOENT where there is
 * none. A file that names another app counts as none.
 */
int ft_state_read_model(int state_fd, uint32_t uid, const char *app, ft_model *model,
                        struct ft_error *err);

/* The same, of the user's own models alone. */
int ft_state_read_own_model(int state_fd, uint32_t uid, const char *app, ft_model *model,
                            struct ft_error *err);

/* The site's model of APP, without history, whether the user has one or not. Returns likewise. */
int ft_state_read_shared(int state_fd, const char *app, ft_model *model, struct ft_error *err);

/* The same as ft_state_read_model without the model's history: all that an estimate needs. */
int ft_state_read_evaluator(int state_fd, uint32_t uid, const char *app, ft_model *model,
                            struct ft_error *err);

enum ft_similarity { FT_SIMILAR_NAME, FT_SIMILAR_PROGRAM, FT_SIMILARITIES };

/*
 * How apps with TEXT for a job's name or a program are alike: "name:train" for "Train_v2-17",
 * without its numbers and what separates them. False where TEXT says nothing of what is run.
 */
bool ft_state_similarity(enum ft_similarity kind, const char *text, char out[80]);

/* The name of the file with the apps of LIKENESS. */
void ft_state_similar_apps_name(const char *similarity_key, char out[FT_STATE_NAME_SIZE]);

/* Read user UID's apps of LIKENESS. Returns as ft_state_read_model. */
int ft_state_read_similar_apps(int state_fd, uint32_t uid, const char *similarity_key,
                               ft_similar_apps *kin, struct ft_error *err);

/* The name of the file with APP's run times. */
void ft_state_performance_name(const char *app, char out[FT_STATE_NAME_SIZE]);

/*
 * Read how long user UID's APP takes, without its history: his own, else the site's. Returns as
 * ft_state_read_model.
 */
int ft_state_read_performance(int state_fd, uint32_t uid, const char *app,
                              ft_performance *performance, struct ft_error *err);

/* The same with its history, of the user's own alone. */
int ft_state_read_own_performance(int state_fd, uint32_t uid, const char *app,
                                  ft_performance *performance, struct ft_error *err);

/* Read what is known of platforms; nothing of any where there is no such file. Returns as
 * ft_record_read. */
int ft_state_read_platforms(int state_fd, ft_platforms *platforms, struct ft_error *err);

/* Read the site file. Returns as ft_record_read. */
int ft_state_read_site(int state_fd, ft_site *site, struct ft_error *err);

/*
 * Read the partition that a job typed as PARTITION goes to: the first of a
 * list, SITE's default one when empty. Returns as ft_record_read.
 */
int ft_state_read_partition(int state_fd, const ft_site *site, const char *typed,
                            ft_partition *partition, struct ft_error *err);

/* Read the site's declared apps; none where SITE says so. Returns as ft_record_read. */
int ft_state_read_apps(int state_fd, const ft_site *site, ft_apps *apps, struct ft_error *err);

#endif
