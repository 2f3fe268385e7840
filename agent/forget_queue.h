/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The passes by which runs are forgotten (history/forget.h), one after the other, those that an
 * agent before this one did not end among them. A pass has ended when its runs have left the store,
 * the models have followed, nothing of their apps is left in users' folders and the store's files
 * are overwritten.
 */
#ifndef FT_AGENT_FORGET_H
#define FT_AGENT_FORGET_H

#include <stdbool.h>
#include <stdint.h>

#include "predictor/history/forget.h"

/* The progress of one request. Owned by the caller, who must not move it until it is dropped. */
struct ft_forget_report {
  ft_forgotten total; /* so far */
  bool over;
  bool failing; /* at the last try: why */
  struct ft_error why;
  int64_t id; /* of the tombstone */
  struct ft_forget_report *next;
};

/*
 * A store of so many bytes is rewritten within half a second on a disk (at some 70 MB/s, measured
 * with SQLite 3.40), in which no job is sampled. A larger one is another process's work.
 */
#define FT_SCRUB_INLINE_BYTES (32 << 20)

struct ft_forget_queue;

/* LEAVING and DATA as of struct ft_forget_pass. Returns NULL out of memory. */
struct ft_forget_queue *ft_forget_queue_open(int (*leaving)(const ft_observation *observation,
                                                            void *data, struct ft_error *err),
                                             void *data);
void ft_forget_queue_close(struct ft_forget_queue *forgetter);

/*
 * Forget WHAT, which names something and is no dry run: its tombstone is in STORE on return, so
 * that nothing it covers is put any more; the passes follow, and REPORT, zeroed before, tells of
 * them. Returns 0; -1 with ERR.
 */
int ft_forget_queue_add(struct ft_forget_queue *forgetter, struct ft_store *store,
                        const ft_forget *what, struct ft_forget_report *report,
                        struct ft_error *err);

/* Nobody looks at REPORT any more; the passes go on. */
void ft_forget_queue_drop(struct ft_forget_queue *forgetter, struct ft_forget_report *report);

/* Remove some runs. Returns 1 when there are more, 0 when not, -1 with ERR: try again later. */
int ft_forget_queue_step(struct ft_forget_queue *forgetter, struct ft_store *store,
                         struct ft_error *err);

/*
 * Nothing is left to publish or to sweep: end the pass whose runs are removed. Returns 1 when one
 * has ended, 0 when there was none, -1 with ERR: try again later.
 */
int ft_forget_queue_finish(struct ft_forget_queue *forgetter, struct ft_store *store,
                           struct ft_error *err);

/* Whether a pass is under way. */
bool ft_forget_queue_busy(const struct ft_forget_queue *forgetter);

#endif
