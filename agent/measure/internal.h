/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Shared by the samplers: a tree and its processes, which discovery.c finds at each sample, and
 * bounded reads of /proc and /sys.
 */
#ifndef FT_MEASURE_INTERNAL_H
#define FT_MEASURE_INTERNAL_H

#include "agent/measure/measure.h"
#include "agent/measure/tree_index.h"
#include "predictor/core/hot.h"
#include "predictor/core/text.h"

/* PID_MAX_LIMIT of a 64-bit kernel (include/linux/threads.h). */
#define FT_PID_LIMIT (4 << 20)

/* Maximum number of samplers; the table is in measure.c. */
enum { FT_SAMPLERS_LIMIT = 16 };

/* Number of trees by which their fetches into the cache precede their use. Without it a node with
 * 1,000 jobs would spend a fifth of a sample on waiting for memory. */
enum { FT_TREES_AHEAD = 8 };

/* Number of stored ancestors of a root; a subreaper, which adopts orphans, is among the nearest. */
enum { FT_ANCESTORS_LIMIT = 8 };

/* Totals that the kernel keeps for a process and, separately, for its waited-for children. */
enum ft_total {
  FT_TOTAL_CPU_SECONDS,
  FT_TOTAL_SYSTEM_SECONDS, /* included in CPU seconds: kernel mode */
  FT_TOTAL_MINOR_FAULTS,
  FT_TOTAL_MAJOR_FAULTS,
  FT_TOTAL_READ_BYTES,
  FT_TOTAL_WRITE_BYTES,
  FT_TOTALS
};

/*
 * Poll state of a process: decides whether the process is read at this sample. At most samples no
 * other data of most processes is touched, so it is small and stored contiguously.
 */
struct ft_poll_state {
  pid_t pid;
  int statm_fd;             /* -1: opened for each read */
  uint32_t unchanged_reads; /* consecutive ones with the same size and RSS */
  uint32_t last_read;       /* number of the sample at which statm was read last */
  uint32_t next_read;       /* number of the sample at which it is read next */
  float details_due;        /* seconds after the tree was opened; next detailed read */
  uint64_t statm_hash;      /* of the latest text of statm */
};

/*
 * A process of a tree. The array is compacted at each sample, so addresses are not stable; pid and
 * start identify a process (a pid alone may be reused).
 */
struct ft_member {
  pid_t pid;
  pid_t parent, session;
  uint64_t start;    /* clock ticks after boot: field 22 of stat */
  bool fresh;        /* found at this sample */
  bool root;         /* added by ft_tree_add_root */
  bool skipped;      /* its own memory and totals do not count */
  bool zombie;       /* ended, not yet waited for; uses no memory */
  bool reaped_child; /* has waited for a child since the last detailed read */
  bool gone;         /* ended since the previous sample; removed after this one */
  bool read_details; /* the expensive files are read at this sample (a detailed read) */
  bool counted;      /* its whole RSS is in this sample's sum */
  bool forked;       /* had not called exec at the last detailed read */

  /* data of tree.c and of the samplers */
  double details_read_at, next_details, details_interval; /* seconds */
  double size_bytes, rss_bytes, shared_bytes;             /* latest statm */
  bool changed; /* size or RSS, since the last detailed read */
  double max_rss_bytes;
  double summed_bytes; /* its part of the last sum in which it lived */
  double pss_bytes;    /* read in round pss_round of pss.c */
  uint32_t pss_round;
  double ended_at;         /* seconds after boot, by its exit record; INFINITY: alive */
  double min_others_bytes; /* minimum since the last detailed read of the other processes' RSS */
  unsigned threads;
  double open_files; /* NAN: not counted yet; negative: not readable */
  double swap_bytes, hugetlb_bytes;
  double totals[FT_TOTALS];         /* since its start, with waited-for children */
  double initial_totals[FT_TOTALS]; /* of a skipped root when it was added; not the tree's */
  double children_faults; /* minor faults of waited-for children, when its totals were last read */
  double pending_totals[FT_TOTALS]; /* of ended descendants, not included in its totals yet */
  bool has_pending;
};

/* Whether MEMBER is alive and counts. */
static inline bool ft_member_lives(const struct ft_member *member)
{
  return !member->skipped && !member->gone && !member->zombie;
}

/*
 * Sets FIELD of an observation to VALUE. Leaves FIELD unset if VALUE is negative (not measured) or
 * above 2^62 (an implausible reading).
 */
static inline void ft_set_measured(bool *has, uint64_t *field, double value)
{
  if (!(value >= 0 && value <= 0x1p62))
    return;
  *has = true;
  *field = (uint64_t)value;
}

/* Sets MAX to VALUE if VALUE is larger. */
static inline void ft_update_max(double *max, double value)
{
  if (value > *max)
    *max = value;
}

/* Whether the set PIDS, one bit per pid, has PID, which is below FT_PID_LIMIT. */
static inline bool ft_pids_have(const uint8_t *pids, pid_t pid)
{
  return pids[pid >> 3] & (1u << (pid & 7));
}

static inline void ft_pids_add(uint8_t *pids, pid_t pid)
{
  pids[pid >> 3] |= (uint8_t)(1u << (pid & 7));
}

static inline void ft_pids_remove(uint8_t *pids, pid_t pid)
{
  pids[pid >> 3] &= (uint8_t) ~(1u << (pid & 7));
}

struct ft_measure {
  struct ft_measure_settings settings;
  int proc_fd; /* "proc" below root_fd */
  double now;  /* ft_io_monotonic of the current sample */
  double page_bytes;
  double tick_seconds; /* clock tick of the times in stat */
  uint32_t sample_count;
  bool own_proc; /* proc_fd is the running kernel's /proc, of this pid namespace */
  bool new_pids; /* pids were allocated since the previous scan, or that is unknown */
  size_t descriptors, descriptors_limit; /* of statm and perf events; see ft_proc_may_keep_open */
  struct ft_measure_report reports[FT_SAMPLERS_LIMIT];
  size_t report_count;
  struct ft_tree **trees;
  size_t tree_count, trees_size;
  struct ft_tree_index pids;      /* tree and member by pid */
  struct ft_tree_index sessions;  /* number of members by session */
  struct ft_tree_index ancestors; /* number of trees by ancestor of their roots */
  struct ft_tree_index marks;     /* tree by hash of its mark */
  struct ft_tree_index cgroups;   /* tree by hash of its cgroup's path */
  /* by hash of a cgroup's path: time at which processes of others were in it, seconds */
  struct ft_tree_index shared_cgroups;
  size_t shared_cgroup_count;
  struct ft_discovery *discovery;  /* of discovery.c */
  struct ft_reader *reader;        /* of reader.c */
  uint8_t *known_pids;             /* examined since pids last wrapped around */
  struct ft_cgroup_mounts *mounts; /* of cgroup.c */
  struct ft_exits *exits;          /* of exits.c */
  struct ft_rapl *rapl;            /* of rapl.c */
};

/* Totals of the rusage of one slurmstepd or task, which grow from one announced end to the next. */
struct ft_end {
  uint32_t pid;
  bool last; /* the last end of its step was announced: a later process has the pid again */
  double totals[FT_TOTALS];
};

struct ft_tree {
  /* a sample that reads no member reads only these of the tree: one line of the cache */
  struct ft_measure *measure;
  double stop_due;    /* time of the next check whether a member is stopped */
  uint32_t next_read; /* minimum of the members', or earlier */
  bool changed;       /* a member is or was new, changed, or is due for a detailed read */
  bool idle_grew;     /* a member with unchanged readings has grown */
  bool stopped;       /* a member was stopped at a check */

  size_t place; /* index in the context's trees */
  struct ft_member *members;
  struct ft_poll_state *polls; /* parallel to members */
  size_t count, size;
  size_t alive;          /* living members, including skipped ones */
  double memory_changed; /* ft_io_monotonic of the last change of a member's size or RSS */
  double started;        /* ft_io_monotonic */
  double verified_bytes; /* maximum sum of RSS at a sample at which all members were read */
  struct ft_sample latest;
  uint32_t samples;

  /* maximum of each field of struct ft_sample; negative: never measured */
  struct ft_sample max;
  double rss_time, pss_time,
      charge_time; /* times of these maxima; charge_time: of the charge less cache */
  double
      spike_bytes; /* peak between two samples, by the kernel's high water marks; negative: none */
  double spike_time;
  double spike_bound_bytes; /* upper bound of the peak while short-lived children lived */
  bool exits_lost;          /* the kernel lost exit records */
  bool rss_is_bound;        /* set at closing: the peak may be higher */
  bool charge_peak_known;   /* by the kernel's own maximum of the charge */
  double largest_bytes;     /* largest peak of one process */
  uint32_t max_processes, max_threads;
  double max_open_files, max_swap_bytes, max_hugetlb_bytes;
  double ended_totals[FT_TOTALS]; /* of ended members that no living member's totals include */
  double max_sums[FT_TOTALS];     /* maximum sum of all processes' totals so far */

  /* from ft_tree_add_end; negative: none */
  double end_rss_bytes, end_charge_bytes;
  struct ft_end *ends; /* one entry per reporting process */
  size_t end_count;

  char mark[64]; /* environment marker of the tree's processes */
  bool has_mark;
  uid_t user;                          /* owner of the marked processes */
  pid_t ancestors[FT_ANCESTORS_LIMIT]; /* ancestors of the latest root, parent first; 0: end */

  char **expected; /* patterns of the commands that its app is declared to run */
  size_t expected_count;
  bool command_ran; /* a process ran one of them */

  bool counted;       /* its performance events are counted */
  bool uses_counters; /* it uses performance events itself */
  bool includes_self; /* a root is the calling process itself: foretell profile, not a job */
  char *cgroup; /* path in its hierarchy of the cgroup whose memory usage counts; NULL: none */
  bool cgroup_v1;

  void *states[FT_SAMPLERS_LIMIT]; /* index of the sampler's report; NULL: the sampler does not work
                                    */
};

/* Returns the number of descriptors that may be kept open. */
size_t ft_proc_descriptors_limit(void);

/* Whether one more descriptor of a process may be kept open. The limit leaves room for those of
 * each tree's cgroup, without which its memory usage would not be measured at all. */
bool ft_proc_may_keep_open(const struct ft_measure *measure);

/* Opens the file NAME below FD for repeated reads, without blocking. Returns -1 with errno. */
int ft_proc_open(int fd, const char *name);

/*
 * Reads the file NAME (a path below FD without a leading '/') into TEXT of SIZE bytes, truncated
 * and NUL-terminated. Returns the length; -1 with errno.
 */
ssize_t ft_proc_read(int fd, const char *name, char *text, size_t size);

/* Reads an open file likewise, from its beginning. */
ssize_t ft_proc_reread(int fd, char *text, size_t size);

/* Reads proc/PID/NAME likewise. */
ssize_t ft_proc_read_pid(const struct ft_measure *measure, pid_t pid, const char *name, char *text,
                         size_t size);

/*
 * Reads all of /proc/PID/NAME, for which the kernel takes the process's mmap lock, in a child: the
 * process may be stuck with the lock. Sets TEXT, NUL-terminated and valid until the next call, and
 * CPU_SECONDS (may be NULL) to the child's CPU time. Returns the length; -1 with errno, ETIMEDOUT:
 * the process is stuck; EAGAIN: the child waits for another one.
 */
ssize_t ft_reader_read(const struct ft_measure *measure, pid_t pid, const char *name,
                       const char **text, double *cpu_seconds);

/* Creates and frees the reader of PROC_FD; NULL out of memory. ft_reader_rest ends its child, which
 * the next read starts again. */
struct ft_reader *ft_reader_new(int proc_fd);
void ft_reader_rest(struct ft_reader *reader);
void ft_reader_free(struct ft_reader *reader);
const struct ft_supervised *ft_reader_child(const struct ft_reader *reader);

/* Parses the number after KEY at the beginning of a line (memory.stat, status). False if absent. */
bool ft_proc_value(const char *text, const char *key, double *value);

/* Parses a single number (memory.current); "max" gives a negative value. False if it is neither. */
bool ft_proc_number(const char *text, double *value);

/* Whether smaps_rollup of other users' processes may be read (CAP_SYS_PTRACE). */
bool ft_proc_may_trace(const struct ft_measure *measure);

/* Whether io and fd of these may be read, too, which only their owner may open
 * (CAP_DAC_READ_SEARCH). */
bool ft_proc_may_open(const struct ft_measure *measure);

/* Fields of /proc/PID/stat. */
struct ft_stat {
  char command[16]; /* TASK_COMM_LEN */
  pid_t parent, group, session;
  bool forked;  /* has not called exec */
  bool stopped; /* by a signal, such as scontrol suspend's SIGSTOP */
  bool thread;  /* the pid is a thread other than the process's first */
  uint64_t start;
  unsigned threads;
  double own[FT_TOTALS];      /* up to FT_TOTAL_MAJOR_FAULTS; the rest stays 0 */
  double children[FT_TOTALS]; /* of waited-for children */
};

/* Parses the text of a stat file. Returns 0; -1 if it is malformed. */
int ft_stat_parse(const char *text, size_t length, double tick_seconds, struct ft_stat *stat);

/* Reads and parses PID's stat file. Returns 0; -1 if there is no such process. */
int ft_stat_read(const struct ft_measure *measure, pid_t pid, struct ft_stat *stat);

/* Creates and frees the discovery data; ft_discovery_find_processes finds new and ended processes
 * of all trees. */
struct ft_discovery *ft_discovery_new(struct ft_measure *measure);
void ft_discovery_free(struct ft_discovery *discovery);
void ft_discovery_find_processes(struct ft_measure *measure);

/* Adds the descendants of TREE's member ROOT to TREE, and makes the next scan examine again the
 * processes that may be orphans of TREE. ROOT may be invalid afterwards. */
void ft_discovery_add_root(struct ft_tree *tree, const struct ft_member *root);

/* Makes the next scan examine again the processes that may be orphans of TREE. */
void ft_discovery_reexamine(const struct ft_tree *tree);

/* Removes the members that are gone, after all samplers have run, and clears the flags of
 * change. */
void ft_tree_remove_ended(struct ft_tree *tree);

/* Frees the members of TREE. */
void ft_tree_free_members(struct ft_tree *tree);

/* Returns the member PID, or NULL. */
struct ft_member *ft_tree_find(const struct ft_tree *tree, pid_t pid);

/* Returns the tree with the member PID, or NULL. */
struct ft_tree *ft_tree_of(const struct ft_measure *measure, pid_t pid);

/* Adds the process PID with STAT. Returns NULL out of memory, and for a child of these samplers
 * (supervised.h), which is part of no job. */
struct ft_member *ft_tree_add_member(struct ft_tree *tree, pid_t pid, const struct ft_stat *stat);

/* Sets the parent and the session of TREE's MEMBER, which may have changed, to those of STAT. */
void ft_tree_move_member(struct ft_tree *tree, struct ft_member *member,
                         const struct ft_stat *stat);

/*
 * Reads statm of the member INDEX and sets gone, zombie and read_details; of all members that are
 * due; of all members that were not read at this sample.
 */
void ft_tree_read_member(struct ft_tree *tree, size_t index);
void ft_tree_read_due(struct ft_tree *tree);
void ft_tree_read_rest(struct ft_tree *tree);

/* Sets the cgroup that only TREE's processes use to PATH; to none if out of memory. */
void ft_cgroup_set(struct ft_tree *tree, const char *path, bool v1);

/* Removes the cgroup of TREE. */
void ft_cgroup_clear(struct ft_tree *tree);

/* Returns the tree whose cgroup, or a cgroup below it, has the process PID; NULL: none. */
struct ft_tree *ft_cgroup_tree_of(const struct ft_measure *measure, pid_t pid);

/* Stores the ancestors of a root of TREE, from PARENT on. */
void ft_orphan_set_ancestors(struct ft_tree *tree, pid_t parent);

/* Returns the tree of the orphan PID, by its cgroup, by a marker in its initial environment or by
 * its user namespace. NULL: none, or PARENT, its parent, is neither init nor an ancestor of the
 * tree's roots. */
struct ft_tree *ft_orphan_tree_of(const struct ft_measure *measure, pid_t pid, pid_t parent);

/* Removes TREE from the maps of ancestors and marks. */
void ft_orphan_remove_tree(struct ft_tree *tree);

/* Lists up to LIMIT threads of PID in TIDS. Returns their number. */
size_t ft_proc_threads(const struct ft_measure *measure, pid_t pid, pid_t *tids, size_t limit);

/* Returns the current time in clock ticks after boot, as field 22 of stat. */
uint64_t ft_proc_ticks(const struct ft_measure *measure);

/* Checks whether a new or due member of TREE, which is counted, uses performance counters itself;
 * then it is not counted any longer. */
void ft_own_counters_check(struct ft_tree *tree);

/* Checks whether a new or changed member of TREE runs an expected command. */
void ft_command_check(struct ft_tree *tree);

/* Frees the data of exits.c. */
void ft_exits_free(struct ft_measure *measure);

/* Closes the events of rapl.c. */
void ft_rapl_free(struct ft_measure *measure);

/* Writes why perf_event_open failed with ERROR, and the remedy, to WHY. LEVEL: maximum of
 * kernel.perf_event_paranoid with which it is permitted without a capability. */
void ft_perf_explain(const struct ft_measure *measure, int error, const char *level, char *why,
                     size_t size);

/* Frees the data of the cgroup sampler's probe. */
void ft_cgroup_free_mounts(struct ft_measure *measure);

extern const struct ft_sampler ft_sampler_rss, ft_sampler_pss, ft_sampler_cgroup, ft_sampler_io;
extern const struct ft_sampler ft_sampler_exits;
extern const struct ft_sampler ft_sampler_papi, ft_sampler_perf, ft_sampler_rapl, ft_sampler_nvml;

#endif
