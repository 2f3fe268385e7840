/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * To which threads of a tree counters are attached, for samplers whose counters
 * pass to every thread and process that is begun afterwards ("inherit"). Given a
 * tree's roots, it hands out each thread that lived before, once.
 */
#ifndef FT_MEASURE_ATTACH_H
#define FT_MEASURE_ATTACH_H

#include "agent/measure/internal.h"

/* Threads that one tree is attached to; a job announced at its start has about five. */
enum { FT_ATTACH_LIMIT = 256 };

/* A thread that was handed out, and when its process began. */
struct ft_attached {
  pid_t tid;
  uint64_t start; /* clock ticks after boot */
  uint64_t ticks; /* the same clock when it was handed out */
  bool root;      /* the first thread of a root */
};

/* Zeroed to begin; freed with ft_attach_free. */
struct ft_attach {
  struct ft_attached *threads;
  size_t count, size;
  double missed_seconds; /* CPU time that was used before anything counted it */
  bool incomplete;       /* a thread could not be attached to, or there were too many */
};

/*
 * Attach counters to TID. SKIPPED: it belongs to a root whose own work does not
 * count, only that of the programs begun below it. Returns 0; -1 when it cannot
 * be, with errno ESRCH where the thread has ended meanwhile.
 */
typedef int ft_attach_thread(void *state, pid_t tid, bool skipped);

/*
 * Hand out the threads of TREE that no counter reaches by inheritance: of roots
 * that are new, of what already ran below them, and of older members that were
 * found otherwise. What was forked in the 0.1 ms between being listed and being
 * attached to is missed; nothing is counted twice.
 */
void ft_attach_tree(struct ft_attach *attach, const struct ft_measure *measure,
                    const struct ft_tree *tree, ft_attach_thread *attach_thread, void *state);

/*
 * Whether counts made through ATTACH speak for the whole run, which took
 * CPU_SECONDS since (negative: not known): nothing was left out but 2 % of its CPU time.
 */
bool ft_attach_is_whole(const struct ft_attach *attach, double cpu_seconds);

void ft_attach_free(struct ft_attach *attach);

/*
 * What an event counted over threads. Where there are more events than the processor has counters
 * the kernel lets them take turns: VALUE is of RUNNING of the ENABLED nanoseconds of a thread.
 */
struct ft_counter_sum {
  double value;            /* scaled to the time that each thread's was enabled */
  double enabled, counted; /* nanoseconds of all threads; of those that had a turn */
  bool any;
};

void ft_counter_sum_add(struct ft_counter_sum *sum, uint64_t value, uint64_t enabled,
                        uint64_t running);

/* The count of all threads, those without a turn being as the others; negative where these were
 * fewer than half by their time, or no thread was read. */
double ft_counter_sum_whole(const struct ft_counter_sum *sum);

/*
 * Put a counter into OUT under NAME, adding to one of that name. Returns 0, -1
 * when OUT's list is full.
 */
int ft_counter_add(ft_observation *out, const char *name, double value);

#endif
