/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Resource usage of a set of processes, from the kernel. Independent of the agent and of Slurm:
 * both foretell profile and foretelld use it. Every read of /proc and /sys goes through a root
 * descriptor, so that a directory of gathered files can be a test fixture.
 */
#ifndef FT_MEASURE_MEASURE_H
#define FT_MEASURE_MEASURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "predictor/core/error.h"
#include "predictor/record/record.h"

/* The bit of a capability of linux/capability.h in a set. */
#define FT_CAPABILITY(number) (UINT64_C(1) << (number))

/* Reads the effective capabilities of PROCESS, a directory of /proc ("self", "17"), into SET.
 * Returns false if they are unknown. */
bool ft_measure_capabilities(int proc_fd, const char *process, uint64_t *set);

/* Settings; zero-initialise before setting fields. */
struct ft_measure_settings {
  int root_fd;    /* descriptor of "/" or of a fixture */
  double seconds; /* between samples, usually 0.1 */
  ft_rule rule;   /* PSS is read only where it could change the result under this rule */
};

/* Usage at one instant, summed over the processes of a tree; negative: not measured. */
struct ft_sample {
  double time; /* ft_io_monotonic */
  double rss_bytes;
  double pss_bytes;
  double charge_bytes;
  double charge_less_cache_bytes;
  double gpu_bytes;
  unsigned processes;
  unsigned threads;
};

/* The processes of one job: the descendants of one or more root processes, and their cgroups. */
struct ft_tree;

/* A context: the samplers, and for each whether it works on this machine. */
struct ft_measure;

/* Whether a sampler works on this machine; filled once by ft_measure_open. */
struct ft_measure_report {
  const char *name; /* "rss", "exits", "cgroup", "perf", "papi", "io", "nvml", "rapl", "pss" */
  bool works;
  bool absent;   /* this machine lacks the hardware: there is no remedy */
  bool blocked;  /* it works, or not: the kernel or a driver does not reply */
  char why[200]; /* its data source, or what is missing and the remedy */
};

/*
 * A data source. `open` and `close` are called once per tree. `sample` is called at each sample,
 * or, if by_members, only at those at which a process of the tree is new, changed or due for a
 * detailed read. `added` (may be NULL) is called immediately after a root was added, `last` (may be
 * NULL) before any sampler of the tree is closed. STATE is the sampler's per-tree memory of
 * state_size bytes.
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
  void (*close)(struct ft_measure *measure, struct ft_tree *tree, void *state, ft_observation *out);
};

/* Opens a context and probes all samplers. Returns NULL and ERR if /proc cannot be read. */
struct ft_measure *ft_measure_open(const struct ft_measure_settings *settings,
                                   struct ft_error *err);
void ft_measure_close(struct ft_measure *measure);

/* Sets the memory accounting rule, also for open trees. */
void ft_measure_set_rule(struct ft_measure *measure, ft_rule rule);

/* Returns the samplers' reports, owned by MEASURE, and sets COUNT. */
const struct ft_measure_report *ft_measure_reports(const struct ft_measure *measure, size_t *count);

/*
 * Creates a tree without processes; ft_tree_add_root adds them. Processes whose parent has ended
 * remain in the tree while they live. Returns NULL and ERR out of memory.
 */
struct ft_tree *ft_tree_open(struct ft_measure *measure, struct ft_error *err);

/*
 * Adds the process PID and its descendants, unless PID began at another time than START_TICKS,
 * clock ticks since boot; 0: whenever it began. SKIP_SELF: PID's own memory does not count, only
 * its descendants' (slurmstepd). The tree's cgroup follows from /proc/PID/cgroup of the first
 * descendant. Returns 0; -1 and ERR if there is no such process.
 */
int ft_tree_add_root(struct ft_tree *tree, pid_t pid, uint64_t start_ticks, bool skip_self,
                     struct ft_error *err);

/*
 * Sets the environment marker of TREE: a process whose ancestors have ended belongs to TREE if USER
 * owns it and its initial environment contains MARK ("SLURM_JOB_ID=57", at most 63 characters).
 * Without a marker only the cgroup or a living leader of its process group or session shows that it
 * belongs.
 */
void ft_tree_set_mark(struct ft_tree *tree, const char *mark, uid_t user);

/* Sets whether performance events of TREE's processes are counted, as without this call; before
 * TREE has a root. A tree that uses them itself is not counted on. */
void ft_tree_set_counted(struct ft_tree *tree, bool counted);

/*
 * Adds PATTERN (fnmatch(3)) to the commands that TREE's app is declared to run. A process runs one
 * if its command line, from its first, second or third argument on, matches, with or without that
 * argument's directory. No effect out of memory.
 */
void ft_tree_expect_command(struct ft_tree *tree, const char *pattern);

/* Samples all open trees, with one scan for new processes. Cost with 50 processes: see
 * tests/bench. */
void ft_measure_sample(struct ft_measure *measure);

/* What does not reply: the GPUs' driver, files of a process. And how many children were replaced
 * because of that (supervised.h). */
struct ft_measure_blocked {
  bool gpu, reads;
  uint64_t replaced;
};

struct ft_measure_blocked ft_measure_blocked(const struct ft_measure *measure);

/* Returns the number of living processes in all trees. */
size_t ft_measure_process_count(const struct ft_measure *measure);

/* Returns the latest sample, owned by TREE. */
const struct ft_sample *ft_tree_latest(const struct ft_tree *tree);

/* Merges the kernel's peaks and totals at a task's end into TREE's. */
void ft_tree_add_end(struct ft_tree *tree, const ft_task_end *end);

/* Whether processes of TREE were stopped by a signal, which is checked every 1 to 10 s. */
bool ft_tree_was_stopped(const struct ft_tree *tree);

/* Whether TREE has a living process. */
bool ft_tree_alive(const struct ft_tree *tree);

/*
 * Writes the measurements to OUT (which may be NULL) and frees TREE. Sets only peaks, counters,
 * I/O, threads, samples, sample_seconds, time_to_peak_seconds, command_ran if commands are
 * expected, peak_is_bound if short-lived processes may have raised the peak or the kernel lost
 * their exit records, and, unless OUT has one, limit_bytes of the tree's cgroup.
 */
void ft_tree_close(struct ft_tree *tree, ft_observation *out);

/* Writes TREE's peaks so far to OUT, from samples only: short-lived processes, counters and the
 * kernel's totals are added by ft_tree_close. */
void ft_tree_observe(const struct ft_tree *tree, ft_observation *out);

/*
 * Writes a fingerprint of the hardware, from hwloc, to OUT of SIZE bytes: "AMD EPYC 7763; 2
 * packages, 128 cores, 2 threads a core; L3 32 MiB; 512 GiB". Returns 0; -1 and ERR.
 */
int ft_platform_fingerprint(char *out, size_t size, struct ft_error *err);

#endif
