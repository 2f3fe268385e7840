/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Queue of requests to forget runs. Each has a tombstone in the store and is done by a pass
 * (history/forget.h), one pass after another; passes that an earlier learner did not complete
 * continue. A pass is complete when its runs have left the store, the models are rebuilt, the
 * users' directories contain nothing of removed apps, and the store's files are overwritten.
 */
#ifndef FT_LEARNER_FORGET_QUEUE_H
#define FT_LEARNER_FORGET_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "predictor/history/forget.h"

/* Progress of one request; owned by the caller, and not moved before ft_forget_queue_drop. */
struct ft_forget_report {
  ft_forgotten total; /* so far */
  bool done;
  bool failing; /* the last step failed; reason in `why` */
  struct ft_error why;
  int64_t id; /* of the tombstone */
  struct ft_forget_report *next;
};

/*
 * Largest store that the learner overwrites itself: half a second on a disk (70 MB/s, measured with
 * SQLite 3.40), during which no request is answered. A child overwrites larger stores.
 */
#define FT_SCRUB_INLINE_BYTES (32 << 20)

struct ft_forget_queue;

/* BEFORE_REMOVAL and DATA as of struct ft_forget_pass. Returns NULL out of memory. */
struct ft_forget_queue *ft_forget_queue_open(
    int (*before_removal)(const ft_observation *observation, void *data, struct ft_error *err),
    void *data);
void ft_forget_queue_close(struct ft_forget_queue *queue);

/*
 * Adds a request: WHAT has a criterion and is no dry run. On return STORE has the tombstone and
 * accepts no run that WHAT covers. REPORT, zeroed before, receives the progress. Returns 0; -1 and
 * ERR.
 */
int ft_forget_queue_add(struct ft_forget_queue *queue, struct ft_store *store,
                        const ft_forget *what, struct ft_forget_report *report,
                        struct ft_error *err);

/* Stops updating REPORT; its passes continue. */
void ft_forget_queue_drop(struct ft_forget_queue *queue, struct ft_forget_report *report);

/* Removes some runs. Returns 1 if more are left, 0 if not, -1 and ERR: call again later. */
int ft_forget_queue_step(struct ft_forget_queue *queue, struct ft_store *store,
                         struct ft_error *err);

/*
 * Completes the pass whose runs are removed; the caller has rebuilt the models and cleaned the
 * users' directories. Returns 1 if a pass was completed, 0 if there was none, -1 and ERR: call
 * again later.
 */
int ft_forget_queue_finish(struct ft_forget_queue *queue, struct ft_store *store,
                           struct ft_error *err);

/* Whether a pass is not complete. */
bool ft_forget_queue_busy(const struct ft_forget_queue *queue);

#endif
