/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Access to the store, shared by history, report, import and export; selection of runs. */
#ifndef FT_CLI_STORE_ACCESS_H
#define FT_CLI_STORE_ACCESS_H

#include <jansson.h>
#include <limits.h>
#include <stddef.h>
#include <stdint.h>

#include "predictor/cli/state_dir.h"
#include "predictor/core/error.h"
#include "predictor/history/rejections.h"
#include "predictor/history/store.h"

struct ft_store_access {
  struct ft_config config; /* its state_directory is the open one */
  char path[PATH_MAX];     /* of the store */
  int state_fd;
  struct ft_store *store;             /* NULL: not readable */
  struct ft_store_access_asked *runs; /* runs received from the learner instead; NULL: none */
  bool refused;                       /* the learner has denied access to these runs */
  bool elsewhere;                     /* ft_store_is_elsewhere */
};

/*
 * Opens the state directory STATE (NULL: the configured one) and its store, for writing with
 * CREATE. Returns 0; -1 and fills ERR if the directory is missing or, with state_fd >= 0, the
 * store is not readable. The caller calls ft_store_access_close in either case.
 */
int ft_store_access_open(struct ft_store_access *records, const char *state, bool create,
                         struct ft_error *err);

/*
 * Opens the store for reading the runs of WANTED, whose limit is ignored. If the store is not
 * readable, queries the learner, which returns a user's own runs (root and SlurmUser: all).
 */
int ft_store_access_ask(struct ft_store_access *records, const char *state,
                        const struct ft_store_filter *wanted, struct ft_error *err);
void ft_store_access_close(struct ft_store_access *records);

/* Like ft_store_each and ft_store_each_app, on the opened source. */
int ft_store_access_each(struct ft_store_access *records, const struct ft_store_filter *filter,
                         bool (*visit)(const ft_observation *observation, void *data), void *data,
                         struct ft_error *err);
int ft_store_access_apps(struct ft_store_access *records,
                         bool (*visit)(const struct ft_store_app *app, void *data), void *data,
                         struct ft_error *err);

/*
 * Calls VISIT with the number of rejected submissions by user and app, for FILTER's app and user
 * and since the day of its time, until VISIT returns false. Reads the opened store, or queries the
 * agent. Returns 0; -1 and fills ERR.
 */
int ft_store_access_rejections(struct ft_store_access *records,
                               const struct ft_store_filter *filter,
                               bool (*visit)(const struct ft_rejections *one, void *data),
                               void *data, struct ft_error *err);

/*
 * Calls VISIT with the running jobs that match WANTED: those that the agent of this host measures,
 * and those of the nodes whose agents the learner of this host asks. A job's node that both know is
 * visited twice. NOW_BYTES is the memory used now (negative: not measured). Returns the number of
 * agents that the learner has got no answer from.
 */
unsigned ft_store_access_live(struct ft_store_access *records, const struct ft_store_filter *wanted,
                              void (*visit)(const ft_observation *observation, double now_bytes,
                                            void *data),
                              void *data);

/*
 * Makes FILTER from --app, --user and --since; NULL: not given. SINCE is a day, a time (local zone
 * by default) or an age: "30d", "12h". The strings must outlive FILTER. Returns 0; -1 and fills
 * ERR.
 */
int ft_store_access_filter(const char *app, const char *user, const char *since,
                           struct ft_store_filter *filter, struct ft_error *err);

/*
 * Parses TEXT, the value of --OPTION, as a UTC time: a day, a time or an age before now. Returns
 * 0; -1 and fills ERR.
 */
int ft_store_access_time(const char *option, const char *text, double *time, struct ft_error *err);

/*
 * Sets the job TEXT in FILTER: "139" is that job and every task of that job array, "139_4" one
 * task. Returns false, and leaves FILTER unchanged, if TEXT is neither.
 */
bool ft_store_access_job(const char *text, struct ft_store_filter *filter);

/* Formats OBSERVATION's job as Slurm shows it: "139_4" for an array task. Returns OUT. */
const char *ft_store_access_job_name(const ft_observation *observation, char out[24]);

/* Returns the memory in bytes that the job would have had on its node without foretell; 0:
 * unknown. */
double ft_store_access_asked(const ft_observation *observation);

/* A set of (app, user) pairs, numbered in order of insertion. Initialise with zeros. */
struct ft_app_set {
  struct ft_app_name {
    char app[128];
    uint32_t uid;
  } * name;
  size_t count, room;
  uint32_t *slot; /* number + 1; 0: free */
  size_t slots;
};

/* Returns the number of UID's APP, which it inserts if new; -1 if out of memory. */
long ft_app_set_add(struct ft_app_set *set, const char *app, uint32_t uid);
void ft_app_set_free(struct ft_app_set *set);

#endif
