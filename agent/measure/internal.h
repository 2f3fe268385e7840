/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the samplers see of a tree: its members, found at each instant by
 * discovery.c, and the bounded reads of /proc and /sys that all of them share.
 */
#ifndef FT_MEASURE_INTERNAL_H
#define FT_MEASURE_INTERNAL_H

#include "agent/measure/measure.h"
#include "agent/measure/tree_index.h"
#include "predictor/core/hot.h"
#include "predictor/core/text.h"

/* PID_MAX_LIMIT of a 64-bit kernel (include/linux/threads.h). */
#define FT_PID_LIMIT (4 << 20)

/* Every sampler there can be; the table is in measure.c. */
enum { FT_SAMPLERS_LIMIT = 16 };

/* Ancestors of a tree's roots that are remembered: a subreaper stands near them. */
enum { FT_ABOVE_LIMIT = 8 };

/* What the kernel adds up over a process's life and its waited-for children's. */
enum ft_total {
  FT_TOTAL_CPU_SECONDS,
  FT_TOTAL_SYSTEM_SECONDS, /* of them, in the kernel */
  FT_TOTAL_MINOR_FAULTS,
  FT_TOTAL_MAJOR_FAULTS,
  FT_TOTAL_READ_BYTES,
  FT_TOTAL_WRITE_BYTES,
  FT_TOTALS
};

/*
 * What tells whether a process is due to be read. At most instants it is all that is
 * looked at of most members, and so small and close together.
 */
struct ft_pulse {
  pid_t pid, session;
  int statm_fd;     /* -1: none kept, it is opened each time */
  uint32_t still;   /* for how many readings size and RSS have been the same */
  uint32_t read_at; /* the instant at which its statm was read last */
  float look_due;   /* seconds after the tree was opened: whatever statm says, look then */
  uint64_t said;    /* hash of the latest statm */
};

/*
 * A process of a tree. The array of them is packed anew at each sample: keep the
 * pid and start, not the address. A pid alone may be reused; with start it is not.
 */
struct ft_member {
  pid_t pid;
  pid_t parent;
  uint64_t start; /* clock ticks after boot: field 22 of stat */
  bool fresh;     /* first seen by this sample */
  bool root;      /* given to ft_tree_add_root */
  bool skipped;   /* its own memory and totals do not count */
  bool zombie;    /* ended, not yet waited for: it uses no memory */
  bool reaped;    /* it has waited for a child since that was last looked into */
  bool gone;      /* ended since the sample before; leaves the array after this one */
  bool look;      /* the costly files are due at this sample */
  bool counted;   /* all of its RSS is in this sample's sum */
  bool forked;    /* it had not called exec when it was looked at last */

  /* kept by tree.c and the samplers of this folder */
  double looked, next_look, look_interval;    /* seconds */
  double size_bytes, rss_bytes, shared_bytes; /* latest statm */
  bool changed;                               /* size or RSS, since the last look */
  double most_rss_bytes;                      /* the highest of them */
  double held_bytes; /* what of it the latest sum holds in which it lived */
  double pss_bytes;  /* as read in that round of pss.c */
  uint32_t pss_round;
  double ended_at; /* seconds after boot, of one whose end exits.c is told; INFINITY: it lives */
  double others_bytes; /* least RSS of the others at a sample since the last look */
  unsigned threads;
  double open_files; /* NAN: not counted yet; negative: they cannot be */
  double swap_bytes, hugetlb_bytes;
  double own[FT_TOTALS];    /* its life's totals, waited-for children included */
  double before[FT_TOTALS]; /* of a skipped root when it was added: not the tree's */
  double children_faults;   /* of children it has waited for, when its totals were last read */
  double owed[FT_TOTALS];   /* of members below it that ended, until its totals show them */
  bool owing;
};

/* Whether MEMBER counts and has not ended. */
static inline bool ft_member_lives(const struct ft_member *member)
{
  return !member->skipped && !member->gone && !member->zombie;
}

struct ft_measure {
  struct ft_measure_settings settings;
  int proc_fd; /* of root_fd's proc */
  double now;  /* ft_io_monotonic of the sample being taken */
  double page_bytes;
  double tick_seconds; /* of the times in stat */
  uint32_t instants;   /* sampled so far */
  bool own_proc;       /* proc is the running kernel's, of our own pid namespace */
  bool born;           /* pids were given out since the look before, as far as can be known */
  size_t descriptors, descriptors_limit; /* statm descriptors kept, and how many may be */
  struct ft_measure_report reports[FT_SAMPLERS_LIMIT];
  size_t report_count;
  struct ft_tree *trees;
  struct ft_tree_index pids;     /* tree and member by pid */
  struct ft_tree_index sessions; /* number of members by session */
  struct ft_tree_index above;    /* number of trees by ancestor of their roots */
  struct ft_tree_index marks;    /* tree by hash of its mark */
  struct ft_tree_index cgroups;  /* tree by hash of its cgroup's path */
  struct ft_tree_index shared; /* by hash of a cgroup's path: time at which strangers were in it */
  size_t shared_count;
  struct ft_discovery *discovery;  /* discovery.c's own */
  struct ft_cgroup_mounts *mounts; /* cgroup.c's own */
  struct ft_exits *exits;          /* exits.c's own */
};

/* The totals of one slurmstepd's or task's rusage, which grow from one end to the next. */
struct ft_end {
  uint32_t pid;
  double totals[FT_TOTALS];
};

struct ft_tree {
  struct ft_measure *measure;
  struct ft_tree *next;
  struct ft_member *members;
  struct ft_pulse *pulses; /* by the same index */
  size_t count, size;
  size_t alive;   /* members that live, skipped ones included */
  bool news;      /* a member is fresh or was before this instant, differs or is due for a look */
  bool stir;      /* one that was still has grown */
  double started; /* ft_io_monotonic */
  double sure_bytes; /* the highest sum of RSS at an instant at which every member was read */
  struct ft_sample latest;
  uint32_t samples;

  /* the highest that each sum of struct ft_sample ever was; negative: never measured */
  struct ft_sample most;
  double rss_time, pss_time, charge_time; /* when they were; charge less cache */
  double spike_bytes; /* RSS that only the kernel's high water marks saw; negative: none */
  double spike_time;
  double may_bytes;     /* what it may have been at most while brief children lived */
  bool stopped;         /* a member was, at an instant at which that was looked at */
  double stop_due;      /* when that is next */
  bool ends_lost;       /* of whom the kernel kept no record */
  bool rss_is_bound;    /* closed: more may have been used */
  bool charge_is_whole; /* the kernel's own peak of the charge is known */
  double largest_bytes; /* of one process */
  uint32_t most_processes, most_threads;
  double most_open_files, most_swap_bytes, most_hugetlb_bytes;
  double ended[FT_TOTALS]; /* of members that ended where no living member's totals show them */
  double shown[FT_TOTALS]; /* the highest sum of totals so far */

  /* what ft_tree_note_end told; negative: nothing */
  double end_rss_bytes, end_charge_bytes;
  struct ft_end *ends; /* totals by the pid that tells them */
  size_t end_count;

  char mark[64]; /* in the environment of what is the tree's */
  bool has_mark;
  uid_t user;                  /* whose processes they are */
  pid_t above[FT_ABOVE_LIMIT]; /* ancestors of the latest root, from its parent on; 0: no more */

  char **expected; /* patterns of the commands that its app is declared to run */
  size_t expected_count;
  bool command_ran; /* a process of it ran one */

  bool command; /* a root is the measuring process itself: a command, not a job */
  char *cgroup; /* path in its hierarchy of the cgroup whose charge counts; NULL: none */
  bool cgroup_v1;

  void *states[FT_SAMPLERS_LIMIT]; /* by report; NULL where the sampler does not work here */
};

/* Open such a file to be kept: never waiting, whatever stands there. Returns -1 with errno. */
int ft_proc_open(int fd, const char *name);

/*
 * Read the file NAME (a path without a leading '/', below FD) into TEXT of SIZE
 * bytes, cut there and ended by NUL. Returns the length, or -1 with errno.
 */
ssize_t ft_proc_read(int fd, const char *name, char *text, size_t size);

/* The same for a kept descriptor, from its beginning. */
ssize_t ft_proc_reread(int fd, char *text, size_t size);

/* The same for proc/PID/NAME. */
ssize_t ft_proc_read_pid(const struct ft_measure *measure, pid_t pid, const char *name, char *text,
                         size_t size);

/* The number after KEY at a line's beginning, as in memory.stat and status; false when absent. */
bool ft_proc_value(const char *text, const char *key, double *value);

/* One number alone, as in memory.current; "max" reads as negative. False when it is neither. */
bool ft_proc_number(const char *text, double *value);

/* Whether other users' io, fd and smaps_rollup may be read: CAP_SYS_PTRACE, if that is known. */
bool ft_proc_may_trace(const struct ft_measure *measure);

/* What one look at /proc/PID/stat tells. */
struct ft_stat {
  char command[16]; /* TASK_COMM_LEN */
  pid_t parent, group, session;
  bool forked; /* it has not called exec */
  bool stopped; /* by a signal, as scontrol suspend sends them */
  bool thread; /* PID is a thread other than its process's first */
  uint64_t start;
  unsigned threads;
  double own[FT_TOTALS];      /* up to FT_TOTAL_MAJOR_FAULTS; the rest stays 0 */
  double children[FT_TOTALS]; /* the same of children waited for */
};

/* Parse the text of a stat file. Returns 0, -1 when it is not one. */
int ft_stat_parse(const char *text, size_t length, double tick_seconds, struct ft_stat *stat);

/* Read and parse PID's. Returns -1 where there is no such process. */
int ft_stat_read(const struct ft_measure *measure, pid_t pid, struct ft_stat *stat);

/* A context's discovery, and one look for new and ended processes of all its trees. */
struct ft_discovery *ft_discovery_new(struct ft_measure *measure);
void ft_discovery_free(struct ft_discovery *discovery);
void ft_discovery_look(struct ft_measure *measure);

/* Adds the descendants of TREE's member ROOT, and looks again at the next look at each process that
 * may have been left by an earlier one: at those first seen since ROOT began, or at all. */
void ft_discovery_add_root(struct ft_tree *tree, const struct ft_member *root);

/* At the next look looks again at the processes that may be known as TREE's by its cgroup only. */
void ft_discovery_reconsider(const struct ft_tree *tree);

/* Forget the members marked gone and what was news, after every sampler saw it. */
void ft_tree_sweep(struct ft_tree *tree);

/* Tell the samplers that a root was added: the last thing that ft_tree_add_root does. */
void ft_tree_added(struct ft_tree *tree);

/* Release the members of TREE. */
void ft_tree_forget(struct ft_tree *tree);

/* The member called PID, or NULL. */
struct ft_member *ft_tree_find(const struct ft_tree *tree, pid_t pid);

/* The tree that PID is a member of, or NULL. */
struct ft_tree *ft_tree_of(const struct ft_measure *measure, pid_t pid);

/* Add the process PID, whose stat is STAT. NULL out of memory. */
struct ft_member *ft_tree_add_member(struct ft_tree *tree, pid_t pid, const struct ft_stat *stat);

/*
 * Read a member's statm; mark it gone, zombie or due for a look. Or of all of TREE's that are
 * due; or of those that were not read at this instant.
 */
void ft_tree_look_at(struct ft_tree *tree, size_t index);
void ft_tree_look(struct ft_tree *tree);
void ft_tree_look_at_rest(struct ft_tree *tree);

/* Makes PATH the cgroup that is TREE's alone; out of memory it has none. */
void ft_cgroup_set(struct ft_tree *tree, const char *path, bool v1);

/* Leaves TREE without a cgroup of its own. */
void ft_cgroup_clear(struct ft_tree *tree);

/* Returns the tree whose own cgroup holds PID, directly or below; NULL: none. */
struct ft_tree *ft_cgroup_tree_of(const struct ft_measure *measure, pid_t pid);

/* Remember who stands above a root of TREE whose parent is PARENT. */
void ft_orphan_note_above(struct ft_tree *tree, pid_t parent);

/* Returns the tree that PID belongs to, whose parent is PARENT, no member: by its cgroup or by a
 * mark in the environment that it began with. NULL: none, or PARENT did not adopt it. */
struct ft_tree *ft_orphan_tree_of(const struct ft_measure *measure, pid_t pid, pid_t parent);

/* Removes TREE from the maps of ancestors and marks. */
void ft_orphan_forget(struct ft_tree *tree);

/* Lists up to LIMIT threads of PID in TIDS. Returns their number. */
size_t ft_proc_threads(const struct ft_measure *measure, pid_t pid, pid_t *tids, size_t limit);

/* Now in clock ticks after boot, as field 22 of stat. */
uint64_t ft_proc_ticks(const struct ft_measure *measure);

/* Whether one of TREE's members that are new or changed runs what is expected of it. */
void ft_command_look(struct ft_tree *tree);

/* Release what exits.c holds for the context. */
void ft_exits_forget(struct ft_measure *measure);

/* Release what the cgroup sampler's probe found. */
void ft_cgroup_forget(struct ft_measure *measure);

/*
 * Put VALUE into FIELD of an observation; where it is negative it was not measured, and where no
 * machine has so much (2^62) what it was read from is not to be believed: neither is told.
 */
void ft_measure_put(bool *has, uint64_t *field, double value);

/* Put VALUE into MOST where it is higher (or the first). */
void ft_most(double *most, double value);

extern const struct ft_sampler ft_sampler_rss, ft_sampler_pss, ft_sampler_cgroup, ft_sampler_io;
extern const struct ft_sampler ft_sampler_exits;
extern const struct ft_sampler ft_sampler_papi, ft_sampler_perf, ft_sampler_nvml;

#endif
