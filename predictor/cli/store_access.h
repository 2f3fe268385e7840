/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What history, report, import and export share: the store, whose runs, since when. */
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
  struct ft_config config; /* its state_directory is the folder */
  char path[PATH_MAX];     /* of the store */
  int state_fd;
  struct ft_store *store;        /* NULL: it could not be opened */
  struct ft_store_access_asked *runs; /* what the agent told in its place; NULL: nothing */
  bool refused;                  /* the agent has said that these runs are not told */
};

/*
 * Open the state folder STATE (NULL: the configured one) and the store in it, for
 * writing with CREATE. Returns 0; -1 with ERR where there is no such folder, or, with
 * state_fd >= 0, no store that may be read. Released with ft_store_access_close either way.
 */
int ft_store_access_open(struct ft_store_access *records, const char *state, bool create,
                         struct ft_error *err);

/*
 * The same for reading the runs of WANTED, whose limit does not count: where the store may not be
 * read, the agent is asked for them, and tells a user's own (root and SlurmUser: all).
 */
int ft_store_access_ask(struct ft_store_access *records, const char *state,
                        const struct ft_store_filter *wanted, struct ft_error *err);
void ft_store_access_close(struct ft_store_access *records);

/* As ft_store_each and ft_store_each_app, of what was opened. */
int ft_store_access_each(struct ft_store_access *records, const struct ft_store_filter *filter,
                         bool (*visit)(const ft_observation *observation, void *data), void *data,
                         struct ft_error *err);
int ft_store_access_apps(struct ft_store_access *records,
                         bool (*visit)(const struct ft_store_app *app, void *data), void *data,
                         struct ft_error *err);

/*
 * Call VISIT with how often submissions were refused, by user and app, of FILTER's app and user and
 * since the day of its time; it returns false to stop. From the store that was opened, or the agent
 * where that told the runs. Returns 0; -1 with ERR.
 */
int ft_store_access_rejections(struct ft_store_access *records,
                               const struct ft_store_filter *filter,
                               bool (*visit)(const struct ft_rejections *one, void *data),
                               void *data, struct ft_error *err);

/*
 * Call VISIT with the runs of WANTED that go on on this node, as measured so far, and NOW_BYTES of
 * memory that each has now (negative: not measured), as the agent tells. -1 with ERR where it does
 * not.
 */
int ft_store_access_live(struct ft_store_access *records, const struct ft_store_filter *wanted,
                         void (*visit)(const ft_observation *observation, double now_bytes,
                                       void *data),
                         void *data, struct ft_error *err);

/*
 * A filter from --app, --user and --since, each NULL where it was not given.
 * Since is a day, a time (this machine's zone unless it has one) or an age: "30d", "12h".
 * The strings must outlive FILTER. Returns 0; -1 with ERR.
 */
int ft_store_access_filter(const char *app, const char *user, const char *since,
                           struct ft_store_filter *filter, struct ft_error *err);

/*
 * What TEXT, the value of --OPTION, is as a time, UTC: a day, a time or an age before now, as above.
 * Returns 0; -1 with ERR.
 */
int ft_store_access_time(const char *option, const char *text, double *time, struct ft_error *err);

/*
 * Enters the job TEXT into FILTER: "139", which is that job and every task of the job array of that
 * number, or "139_4", a task of it. Returns false, leaving FILTER alone, where TEXT is neither.
 */
bool ft_store_access_job(const char *text, struct ft_store_filter *filter);

/* The job of OBSERVATION as Slurm shows it: "139_4" for a task of a job array. Returns OUT. */
const char *ft_store_access_job_name(const ft_observation *observation, char out[24]);

/* What the job would have had on its node without foretell, in bytes; 0: not known. */
double ft_store_access_asked(const ft_observation *observation);

/* Apps of users, each once, numbered as they come. Zeroed to begin with. */
struct ft_app_set {
  struct ft_app_name {
    char app[128];
    uint32_t uid;
  } * name;
  size_t count, room;
  uint32_t *slot; /* number + 1; 0: free */
  size_t slots;
};

/* The number of UID's APP, added when it is new; -1 out of memory. */
long ft_app_set_add(struct ft_app_set *set, const char *app, uint32_t uid);
void ft_app_set_free(struct ft_app_set *set);

#endif
