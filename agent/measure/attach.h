/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Selects the threads of a tree to which counters must be attached, for samplers whose counters are
 * inherited by threads and processes that begin later. Each thread that began earlier is selected
 * once.
 */
#ifndef FT_MEASURE_ATTACH_H
#define FT_MEASURE_ATTACH_H

#include "agent/measure/internal.h"

/* Maximum number of attached threads of a tree; a job announced at its start has about five. */
enum { FT_ATTACH_LIMIT = 256 };

/* An attached thread. */
struct ft_attached {
  pid_t tid;
  uint64_t start; /* of its process, clock ticks after boot */
  uint64_t ticks; /* time of attaching, by the same clock */
  bool root;      /* the first thread of a root */
};

/* Zero-initialise; free with ft_attach_free. */
struct ft_attach {
  struct ft_attached *threads;
  size_t count, size;
  double missed_seconds; /* CPU time used before the counters were attached */
  bool incomplete;       /* attaching to a thread failed, or there were too many threads */
};

/*
 * Attaches counters to TID. SKIPPED: TID belongs to a root whose own work does not count, only that
 * of its descendants. Returns 0; -1 with errno, ESRCH if the thread has ended.
 */
typedef int ft_attach_thread(void *state, pid_t tid, bool skipped);

/*
 * Calls ATTACH_THREAD for the threads of TREE that inherit no counter: of new roots, of their
 * running descendants, and of older members found otherwise. Processes forked in the 0.1 ms between
 * listing and attaching are missed; nothing is counted twice.
 */
void ft_attach_tree(struct ft_attach *attach, const struct ft_measure *measure,
                    const struct ft_tree *tree, ft_attach_thread *attach_thread, void *state);

/*
 * Whether the counts cover the whole run, which used CPU_SECONDS since (negative: unknown): at most
 * 2 % of its CPU time is missing.
 */
bool ft_attach_is_whole(const struct ft_attach *attach, double cpu_seconds);

void ft_attach_free(struct ft_attach *attach);

/*
 * Hardware events are counted in groups of at most four where the kernel's NMI watchdog holds a
 * counter, one group in each tree. FT_COUNTER_GROUPS: of an event that belongs to all. Returns the
 * groups of the next tree, bits of that.
 */
enum { FT_COUNTER_GROUPS = 7 };
unsigned ft_counter_next_groups(const struct ft_measure *measure);

/*
 * Sum of an event's counts over threads. With more events than hardware counters the kernel
 * multiplexes them: a count covers `running` of the `enabled` nanoseconds of a thread
 * (perf_event_open(2)).
 */
struct ft_counter_sum {
  double value; /* scaled to the enabled time of each thread */
  double enabled,
      counted; /* enabled nanoseconds: of all threads, of threads that were counted at all */
  bool any;
};

void ft_counter_sum_add(struct ft_counter_sum *sum, uint64_t value, uint64_t enabled,
                        uint64_t running);

/* Returns the count of all threads, extrapolated to those that were not counted; negative if fewer
 * than half by time were counted, or no thread was read. */
double ft_counter_sum_whole(const struct ft_counter_sum *sum);

/* Adds VALUE to OUT's counter NAME, which is created if missing. Returns 0; -1 if the list is
 * full. */
int ft_counter_add(ft_observation *out, const char *name, double value);

#endif
