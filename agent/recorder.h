/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What becomes of a finished observation: it is stored, its app's model learns
 * from it, and the model file is replaced. What cannot be stored now waits in
 * the spool; no observation is lost while memory or disk has room.
 */
#ifndef FT_AGENT_LEDGER_H
#define FT_AGENT_LEDGER_H

#include <stdbool.h>

#include "agent/forget_queue.h"
#include "agent/publish.h"
#include "predictor/record/record.h"

struct ft_recorder;
struct ft_store;

/* Over the state folder STATE_FD, whose path is STATE_PATH (both borrowed). NULL with ERR. */
struct ft_recorder *ft_recorder_open(int state_fd, const char *state_path,
                                     struct ft_publisher *publisher, struct ft_error *err);
void ft_recorder_close(struct ft_recorder *ledger);

/* At most KEEP observations an app stay in the store; 0: all. */
void ft_recorder_set_max_runs(struct ft_recorder *ledger, uint64_t keep);

/*
 * Runs older than MAX_AGE_SECONDS go, and the apps of a user beyond the MAX_APPS that ran last; 0:
 * no limit. ft_recorder_maintain does it: from now on, and every hour.
 */
void ft_recorder_set_expiry(struct ft_recorder *ledger, double max_age_seconds, uint64_t max_apps);

/* The apps of the site, COUNT of them, have a model of all users' runs beside each user's own. */
void ft_recorder_set_shared(struct ft_recorder *ledger, const ft_declared_app *apps, size_t count);

/* Models tell the peak that counts under RULE; every one is made anew where it was another. */
void ft_recorder_set_rule(struct ft_recorder *ledger, ft_rule rule);

/* So much a failed attempt costs (policy.failure_price); models are made anew where it was another.
 */
void ft_recorder_set_failure_cost(struct ft_recorder *ledger, double price);

/* Whether it is noted which apps are alike and what apps need at large (policy.borrow). */
void ft_recorder_set_borrow(struct ft_recorder *ledger, bool borrow);

/*
 * Remove what is too old or too much and publish what others have put into the store, a few
 * milliseconds' work. Returns whether there
 * is more to do at once.
 */
bool ft_recorder_maintain(struct ft_recorder *ledger);

/*
 * Take OBSERVATION, which is complete as far as the agent knows. Returns whether
 * ft_recorder_maintain has a model to make of it.
 */
bool ft_recorder_add(struct ft_recorder *ledger, const ft_observation *observation);

/*
 * Forget WHAT, which names something and is no dry run, also where it waits in the spool.
 * ft_recorder_maintain does it; REPORT as of agent/forget_queue.h. Returns 0; -1 with ERR.
 */
int ft_recorder_forget(struct ft_recorder *ledger, const ft_forget *what,
                       struct ft_forget_report *report, struct ft_error *err);
void ft_recorder_drop_report(struct ft_recorder *ledger, struct ft_forget_report *report);

/* Whether it is being done: ft_recorder_maintain is to be called again soon even if it waits. */
bool ft_recorder_is_forgetting(const struct ft_recorder *ledger);

/*
 * Overwrite what was removed from the store where that is still to be done (ft_store_scrub).
 * Returns the path of the store where it is too large to do it here: another process is to do it.
 */
const char *ft_recorder_scrub(struct ft_recorder *ledger);

/* Count what WHAT, a dry run, would remove: PASS as of ft_store_forget_begin, and its steps. */
int ft_recorder_count_begin(struct ft_recorder *ledger, const ft_forget *what,
                            struct ft_forget_pass *pass, struct ft_error *err);
int ft_recorder_count_step(struct ft_recorder *ledger, struct ft_forget_pass *pass,
                           struct ft_error *err);

/* Whether OBSERVATION, of a run that goes on, is forgotten; false where that cannot be told. */
bool ft_recorder_is_forgotten(struct ft_recorder *ledger, const ft_observation *observation);

/* Try again what waits. Returns whether something still does. */
bool ft_recorder_retry(struct ft_recorder *ledger);

/*
 * Call SEE with nodes of the store's runs, the platform they were on, and when: those that came
 * since the last call, at most some thousands.
 */
void ft_recorder_each_node(struct ft_recorder *ledger,
                           void (*see)(const char *node, const char *platform, double time,
                                       void *data),
                           void *data);

/* Nothing is to be done for a while: give back what is held only to be faster. */
void ft_recorder_release_cache(struct ft_recorder *ledger);

/* The store, for reading; NULL with ERR while it cannot be opened. Good until the next call. */
struct ft_store *ft_recorder_store(struct ft_recorder *ledger, struct ft_error *err);

/* Whether something waits. */
bool ft_recorder_has_spooled(const struct ft_recorder *ledger);

#endif
