/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a set of processes uses, from the kernel. Knows nothing of the agent or
 * of Slurm: foretell profile and foretelld both use it. Every read of /proc
 * and /sys goes through a root descriptor, so that a folder of gathered files is
 * a test fixture.
 */
#ifndef FT_MEASURE_MEASURE_H
#define FT_MEASURE_MEASURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "predictor/core/error.h"
#include "predictor/record/record.h"

/* How to measure; zeroed, then what differs is set. */
struct ft_measure_settings {
  int root_fd;          /* of "/" or of a fixture */
  double seconds;       /* between samples; 0.1 */
  ft_rule rule;         /* PSS is read only where it could change the answer under it */
};

/* What one instant showed, summed over the processes; negative: not measured. */
struct ft_sample {
  double time;          /* ft_io_monotonic */
  double rss_bytes;
  double pss_bytes;
  double charge_bytes;
  double charge_less_cache_bytes;
  double gpu_bytes;
  unsigned processes;
  unsigned threads;
};

/* The processes of one job: a tree below one or more roots, and its cgroups. */
struct ft_tree;

/* A measuring context: the samplers that work here, and what each of the others lacks. */
struct ft_measure;

/* What a sampler can or cannot do here; filled once at opening. */
struct ft_measure_report {
  const char *name;     /* "rss", "exits", "cgroup", "perf", "papi", "io", "nvml", "pss" */
  bool works;
  char why[200];        /* what it uses, or what is missing and what to do */
};

/*
 * A source of figures. OPEN and CLOSE are called for each tree, SAMPLE at each
 * instant, of a sampler that goes BY_MEMBERS only at those at which one of them has
 * news; ADDED (NULL is allowed) as soon as a root was added, for what cannot
 * wait for the next instant, LAST (the same) before any is closed. STATE is the sampler's
 * own per-tree memory of state_size bytes.
 */
struct ft_sampler {
  const char *name;
  size_t state_size;
  bool by_members;
  bool (*probe)(struct ft_measure *measure, struct ft_measure_report *report);
  int (*open)(struct ft_measure *measure, struct ft_tree *tree, void *state);
  void (*added)(struct ft_measure *measure, struct ft_tree *tree, void *state);
  void (*sample)(struct ft_measure *measure, struct ft_tree *tree, void *state,
                 struct ft_sample *sample);
  void (*last)(struct ft_measure *measure, struct ft_tree *tree, void *state);
  void (*close)(struct ft_measure *measure, struct ft_tree *tree, void *state,
                ft_observation *out);
};

/* Open the context and probe every sampler. Returns NULL with ERR when /proc cannot be read. */
struct ft_measure *ft_measure_open(const struct ft_measure_settings *settings,
                                   struct ft_error *err);
void ft_measure_close(struct ft_measure *measure);

/* Another rule holds from now on, also for trees that are open. */
void ft_measure_set_rule(struct ft_measure *measure, ft_rule rule);

/* The samplers' reports, COUNT of them; owned by MEASURE. */
const struct ft_measure_report *ft_measure_reports(const struct ft_measure *measure,
                                                   size_t *count);

/*
 * Begin to watch a tree. Roots are added with ft_tree_add_root; processes that
 * a root's descendants leave behind are kept while they live. NULL out of memory.
 */
struct ft_tree *ft_tree_open(struct ft_measure *measure, struct ft_error *err);

/*
 * Add PID and everything below it. SKIP_SELF: PID's own memory does not count
 * (slurmstepd), only its descendants'. The cgroup is found through /proc/PID/cgroup
 * of the first descendant seen. Returns 0; -1 with ERR when there is no such process.
 */
int ft_tree_add_root(struct ft_tree *tree, pid_t pid, bool skip_self, struct ft_error *err);

/*
 * From now on a process whose parents have ended belongs to TREE too where it is USER's and
 * began with MARK in its environment ("SLURM_JOB_ID=57", up to 63 characters). Without a mark
 * only the leader of its process group or session, while he lives, and the cgroup tell of it.
 */
void ft_tree_set_mark(struct ft_tree *tree, const char *mark, uid_t user);

/*
 * From now on look whether a process of TREE runs what its app is declared to: whether a command
 * line matches PATTERN (fnmatch) or another one that is expected, from its first, second or third
 * word on, with that word's folder or without. Out of memory nothing is expected.
 */
void ft_tree_expect(struct ft_tree *tree, const char *pattern);

/*
 * Take a sample of every open tree: one look for new processes serves them all.
 * Cost with 50 processes: see tests/bench.
 */
void ft_measure_sample(struct ft_measure *measure);

/* The latest sample of TREE. */
const struct ft_sample *ft_tree_latest(const struct ft_tree *tree);

/* What the kernel knew at a task's end and no sample can: folded into the peaks. */
void ft_tree_note_end(struct ft_tree *tree, const ft_task_end *end);

/* Whether processes of TREE were seen stopped by a signal, which is looked at every second. */
bool ft_tree_was_stopped(const struct ft_tree *tree);

/* Whether any process of TREE still lives. */
bool ft_tree_alive(const struct ft_tree *tree);

/*
 * End: fill what was measured into OUT (peaks, counters, I/O, threads, samples,
 * sample_seconds, time_to_peak_seconds, command_ran where one was expected, peak_is_bound where
 * children too brief to be sampled may have made it higher, or the kernel could not keep the
 * records of their ends, and where OUT has none yet limit_bytes, that of the tree's cgroup; nothing
 * else) and free TREE. OUT may be NULL.
 */
void ft_tree_close(struct ft_tree *tree, ft_observation *out);

/* Enter into OUT the peaks of TREE so far that its samples show: what brief processes, counters and
 * the kernel's totals add is there at its end. */
void ft_tree_observe(const struct ft_tree *tree, ft_observation *out);

/*
 * The platform: hwloc's picture in one line, "AMD EPYC 7763; 2 packages, 128
 * cores, 2 threads a core; L3 32 MiB; 512 GiB". Returns -1 with ERR.
 */
int ft_platform_fingerprint(char *out, size_t size, struct ft_error *err);

#endif
