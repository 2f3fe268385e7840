/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Observation recorder: stores finished observations, updates and publishes the models of their
 * apps. */
#ifndef FT_LEARNER_RECORDER_H
#define FT_LEARNER_RECORDER_H

#include <stdbool.h>

#include "learner/cluster/platform_map.h"
#include "learner/forget_queue.h"
#include "learner/publish.h"
#include "predictor/history/stale_models.h"
#include "predictor/record/record.h"

struct ft_recorder;
struct ft_store;

/*
 * Records in the state directory STATE_FD, whose path is STATE_PATH. STATE_FD and PUBLISHER are
 * borrowed. Returns NULL and ERR.
 */
struct ft_recorder *ft_recorder_open(int state_fd, const char *state_path,
                                     struct ft_publisher *publisher, struct ft_error *err);
void ft_recorder_close(struct ft_recorder *recorder);

/* Limits the observations of an app in the store to the latest MAX_RUNS; 0: no limit. */
void ft_recorder_set_max_runs(struct ft_recorder *recorder, uint64_t max_runs);

/*
 * Removes runs older than MAX_AGE_SECONDS, and a user's apps except the MAX_APPS that ran last; 0:
 * no limit. ft_recorder_maintain does the work, at once and every hour.
 */
void ft_recorder_set_expiry(struct ft_recorder *recorder, double max_age_seconds,
                            uint64_t max_apps);

/* Sets the site's COUNT declared apps, which have pooled models besides each user's. APPS is
 * copied. */
void ft_recorder_set_shared(struct ft_recorder *recorder, const ft_declared_app *apps,
                            size_t count);

/* Sets the memory accounting rule of the models. A change rebuilds all models. */
void ft_recorder_set_rule(struct ft_recorder *recorder, ft_rule rule);

/* Sets the cost of a failed attempt (policy.failure_price). A change rebuilds all models. */
void ft_recorder_set_failure_cost(struct ft_recorder *recorder, double cost);

/*
 * Begins to give the platforms that MAP, borrowed, assigns to nodes to the runs that were stored
 * while their node had none by a section. ft_recorder_maintain does the work.
 */
void ft_recorder_name_platforms(struct ft_recorder *recorder, const struct ft_platform_map *map);

/* Enables the index of similar apps and the site-wide prior (policy.borrow). */
void ft_recorder_set_borrow(struct ft_recorder *recorder, bool borrow);

/*
 * Works for a few milliseconds on removal of old runs, requests to forget, names of platforms, and
 * stale models.
 * Returns whether more work is due at once. Failures are logged; the next call tries again.
 */
bool ft_recorder_maintain(struct ft_recorder *recorder);

/*
 * Stores OBSERVATION and updates the models of its app. Sets REBUILD if ft_recorder_maintain has to
 * rebuild one. Returns 0, also for a run that is never to be stored because it is forgotten or has
 * completed before; 1 and ERR if the store refuses this observation, -1 and ERR if it accepts none
 * now.
 *
 * Between ft_recorder_begin and ft_recorder_commit the run is stored, and REBUILD set, only by the
 * latter. On failure the call returns -1, and the caller must call ft_recorder_rollback: one of the
 * runs since ft_recorder_begin is refused, or the store accepts none now.
 */
int ft_recorder_add(struct ft_recorder *recorder, const ft_observation *observation, bool *rebuild,
                    struct ft_error *err);

/* Observations in a transaction, which take 30 KB of memory each. With more, a commit costs less
 * than a tenth of the observations. */
enum { FT_RECORDER_TOGETHER = 128 };

/* Begins a transaction of at most FT_RECORDER_TOGETHER observations. Returns 0; -1 and ERR. */
int ft_recorder_begin(struct ft_recorder *recorder, struct ft_error *err);

/* Stores the observations since ft_recorder_begin durably, and updates the models. Returns 0; -1
 * and ERR if none is stored. */
int ft_recorder_commit(struct ft_recorder *recorder, bool *rebuild, struct ft_error *err);

/* Discards the observations since ft_recorder_begin. */
void ft_recorder_rollback(struct ft_recorder *recorder);

/*
 * Publishes models that observations have changed: each at once, but at most once a second. Works
 * for some milliseconds, and a quarter of the time at most. Sets REBUILD as ft_recorder_add does.
 * Returns the monotonic time of the next call; INFINITY if no model has to be published.
 */
double ft_recorder_publish(struct ft_recorder *recorder, bool *rebuild);

/* The same time, without publishing. */
double ft_recorder_publish_due(const struct ft_recorder *recorder);

/* Replaces the monotonic clock, for tests of the above. */
void ft_recorder_set_clock(struct ft_recorder *recorder, double (*clock)(void));

/* Whether the store was replaced or restored while this process had it open. Nothing is stored
 * then; a process that opens it again goes on. */
bool ft_recorder_was_replaced(const struct ft_recorder *recorder);

/* Returns 1 if a run of UID's job, or job array, JOB_ID is stored, else 0; -1 and ERR. */
int ft_recorder_has_job(struct ft_recorder *recorder, uint32_t job_id, uint32_t uid,
                        struct ft_error *err);

/*
 * Adds a request to forget runs (see ft_forget_queue_add for WHAT and REPORT). ft_recorder_maintain
 * does the work; matching observations that come later are not stored. Returns 0; -1 and ERR.
 */
int ft_recorder_forget(struct ft_recorder *recorder, const ft_forget *what,
                       struct ft_forget_report *report, struct ft_error *err);
void ft_recorder_drop_report(struct ft_recorder *recorder, struct ft_forget_report *report);

/*
 * Marks the models of some more of PASS's apps as stale; ft_recorder_maintain rebuilds them.
 * Returns as ft_store_mark_step.
 */
int ft_recorder_mark_step(struct ft_recorder *recorder, struct ft_mark_pass *pass,
                          struct ft_error *err);

/* As ft_store_mark_extend. */
int ft_recorder_mark_extend(struct ft_recorder *recorder, struct ft_mark_pass *pass,
                            struct ft_error *err);

/* Sets OUT to the progress of PASS, whose failures are those of the recorder since its start.
 * Returns 0; -1 and ERR. */
int ft_recorder_rebuild_progress(struct ft_recorder *recorder, const struct ft_mark_pass *pass,
                                 ft_rebuild_progress *out, struct ft_error *err);

/* Whether a request is not complete: ft_recorder_maintain must be called again soon. */
bool ft_recorder_is_forgetting(const struct ft_recorder *recorder);

/*
 * Overwrites removed runs in the store's file where that is due (ft_store_scrub). Returns NULL; the
 * store's path if it is too large for the learner, and a child has to do it.
 */
const char *ft_recorder_scrub(struct ft_recorder *recorder);

/*
 * Counts what WHAT, a dry run, would remove. PASS and the return values are those of
 * ft_store_forget_begin and ft_store_forget_step.
 */
int ft_recorder_count_begin(struct ft_recorder *recorder, const ft_forget *what,
                            struct ft_forget_pass *pass, struct ft_error *err);
int ft_recorder_count_step(struct ft_recorder *recorder, struct ft_forget_pass *pass,
                           struct ft_error *err);

/* Whether a tombstone covers OBSERVATION; false also if the store cannot be read. */
bool ft_recorder_is_forgotten(struct ft_recorder *recorder, const ft_observation *observation);

/*
 * Calls SEE with the node, platform and time of the store's runs that came since the last call, at
 * most 4096.
 */
void ft_recorder_each_node(struct ft_recorder *recorder,
                           void (*see)(const char *node, const char *platform, double time,
                                       void *data),
                           void *data);

/*
 * Returns the store, for what concerns no model, until the next call of the recorder; NULL and ERR
 * if it cannot be opened.
 */
struct ft_store *ft_recorder_store(struct ft_recorder *recorder, struct ft_error *err);

#endif
