/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Finds new processes of trees, with one scan for all trees. The newest pid of the namespace shows
 * whether any process began: if none, the scan is free; if a few, only these pids are examined;
 * otherwise /proc is listed. The descendants of a new root are found by the kernel's lists of
 * children. Orphans that it left before it was added are found among the unrelated processes:
 * those examined last that belong to no tree.
 */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/measure/internal.h"
#include "predictor/core/array_grow.h"
#include "predictor/core/buf.h"
#include "predictor/core/io.h"

enum {
  PROBE_LIMIT = 1024,    /* unknown pids up to the newest that are examined singly */
  RETRY_LIMIT = 8,       /* newest of them that may not be visible yet */
  CANDIDATES_KEPT = 256, /* a larger array is freed after the scan */
  THREADS_LIMIT = 256,   /* threads whose children are listed; more: /proc is listed */
  PASSES_LIMIT = 32,    /* generations below a new root; more, as of a fork bomb: /proc is listed */
  UNRELATED_LIMIT = 256 /* unrelated processes that are remembered. */
};

/* Interval of full scans, for processes that do not advance the newest pid (clone3 with
 * set_tid). */
#define SCAN_SECONDS 30.0
/* Fraction of a core that they may take: with very many processes they are rarer. */
#define SCAN_BUDGET 0.001

/* A process that may be new to a tree. */
struct candidate {
  pid_t pid;
  struct ft_stat stat;
};

/* A process that belonged to no tree when it was examined. */
struct unrelated_process {
  pid_t pid;
  uint64_t begun; /* ticks after boot; not earlier than its start */
};

struct ft_discovery {
  int loadavg_fd; /* -1: /proc is listed at every scan */
  DIR *proc;
  pid_t newest; /* newest pid at the last scan; 0: unknown */
  double next_scan;
  pid_t retry[RETRY_LIMIT]; /* pids allocated but not visible at the last scan */
  size_t retries;
  struct unrelated_process unrelated[UNRELATED_LIMIT]; /* ring buffer */
  size_t oldest_unrelated;                             /* its index */
  uint64_t latest_forgotten;         /* start of the latest one that left the ring, ticks */
  uint64_t opened;                   /* ticks after boot */
  pid_t reexamined[UNRELATED_LIMIT]; /* unrelated processes that the next scan examines again */
  size_t reexamined_count;
  struct candidate *candidates;
  size_t count, size;
};

struct ft_discovery *ft_discovery_new(struct ft_measure *measure)
{
  struct ft_discovery *discovery = calloc(1, sizeof *discovery);

  if (!discovery)
    return NULL;
  discovery->loadavg_fd = measure->own_proc ? ft_proc_open(measure->proc_fd, "loadavg") : -1;
  discovery->proc = ft_io_open_directory(measure->proc_fd, ".");
  discovery->opened = ft_proc_ticks(measure);
  measure->known_pids = calloc(FT_PID_LIMIT / 8, 1);
  if (!discovery->proc || !measure->known_pids) {
    ft_discovery_free(discovery);
    return NULL;
  }
  return discovery;
}

void ft_discovery_free(struct ft_discovery *discovery)
{
  if (!discovery)
    return;
  if (discovery->loadavg_fd >= 0)
    close(discovery->loadavg_fd);
  if (discovery->proc)
    closedir(discovery->proc);
  free(discovery->candidates);
  free(discovery);
}

/* Makes the next scan examine every process of the node again that is no member: a root older than
 * the context may have old descendants, and after a wrap-around a known pid may be another process.
 */
static void restart_discovery(struct ft_measure *measure)
{
  uint8_t *fresh = calloc(FT_PID_LIMIT / 8, 1);

  if (fresh) {
    free(measure->known_pids);
    measure->known_pids = fresh;
  } else {
    memset(measure->known_pids, 0, FT_PID_LIMIT / 8);
  }
  for (size_t t = 0; t < measure->tree_count; t++)
    for (size_t i = 0; i < measure->trees[t]->count; i++)
      ft_pids_add(measure->known_pids, measure->trees[t]->polls[i].pid);
  measure->discovery->newest = 0;
}

/* Remembers that PID, which began at or before BEGUN, belongs to no tree. */
static void add_unrelated(struct ft_discovery *discovery, pid_t pid, uint64_t begun)
{
  struct unrelated_process *oldest = &discovery->unrelated[discovery->oldest_unrelated];

  if (oldest->begun > discovery->latest_forgotten)
    discovery->latest_forgotten = oldest->begun;
  *oldest = (struct unrelated_process){ .pid = pid, .begun = begun };
  discovery->oldest_unrelated = (discovery->oldest_unrelated + 1) % UNRELATED_LIMIT;
}

/* Makes the next scan examine again the unrelated processes that may have begun since SINCE, in
 * ticks after boot; every process, if some of these have left the ring. */
static void reexamine_since(struct ft_measure *measure, uint64_t since)
{
  struct ft_discovery *discovery = measure->discovery;

  if (since <= discovery->opened || since <= discovery->latest_forgotten) {
    restart_discovery(measure);
    return;
  }
  for (size_t i = 0; i < UNRELATED_LIMIT && discovery->reexamined_count < UNRELATED_LIMIT; i++) {
    struct unrelated_process *process = &discovery->unrelated[i];

    if (process->begun < since)
      continue;
    ft_pids_remove(measure->known_pids, process->pid);
    discovery->reexamined[discovery->reexamined_count++] = process->pid;
    *process = (struct unrelated_process){ 0 };
  }
}

void ft_discovery_reexamine(const struct ft_tree *tree)
{
  uint64_t since = UINT64_MAX;

  for (size_t i = 0; i < tree->count; i++)
    if (tree->members[i].root && tree->members[i].start < since)
      since = tree->members[i].start;
  reexamine_since(tree->measure, since == UINT64_MAX ? 0 : since);
}

/* Adds the children in LIST, text of a "children" file, to TREE. */
static void add_listed_children(struct ft_tree *tree, struct ft_text list)
{
  struct ft_measure *measure = tree->measure;
  struct ft_text word;

  while (ft_text_word(&list, &word)) {
    struct ft_stat stat;
    uint64_t pid;

    if (!ft_text_u64(&word, FT_PID_LIMIT - 1, &pid) || ft_tree_of(measure, (pid_t)pid) ||
        ft_stat_read(measure, (pid_t)pid, &stat) < 0)
      continue;
    if (ft_tree_add_member(tree, (pid_t)pid, &stat))
      ft_pids_add(measure->known_pids, (pid_t)pid);
  }
}

/* Adds the children of thread TID of PID. Returns 0; -1 if the kernel does not list them
 * (CONFIG_PROC_CHILDREN). */
static int add_thread_children(struct ft_tree *tree, pid_t pid, pid_t tid)
{
  const struct ft_measure *measure = tree->measure;
  char thread[64], name[80];
  struct ft_buf text;
  int status;

  (void)snprintf(thread, sizeof thread, "%d/task/%d", (int)pid, (int)tid);
  (void)snprintf(name, sizeof name, "%s/children", thread);
  ft_buf_init(&text, FT_LIMIT_PROC);
  status = ft_io_read_file(measure->proc_fd, name, &text, NULL);
  if (status == 0)
    add_listed_children(tree, ft_text_of(ft_buf_text(&text), text.length));
  else if (faccessat(measure->proc_fd, thread, F_OK, 0) < 0)
    status = 0; /* it has ended */
  ft_buf_free(&text);
  return status;
}

/* Adds the children of TREE's member INDEX to TREE. Returns 0; -1 if not all can be listed. */
static int add_children(struct ft_tree *tree, size_t index)
{
  pid_t pid = tree->polls[index].pid, threads[THREADS_LIMIT] = { pid };
  size_t count = 1;

  if (tree->members[index].threads != 1)
    count = ft_proc_threads(tree->measure, pid, threads, THREADS_LIMIT);
  for (size_t i = 0; i < count; i++)
    if (add_thread_children(tree, pid, threads[i]) < 0)
      return -1;
  return count < THREADS_LIMIT ? 0 : -1;
}

/* Adds the descendants of TREE's member with index ROOT to TREE, a generation in each pass. The
 * last pass finds none: the kernel may omit a child while another one ends. Returns as
 * add_children; -1 also after PASSES_LIMIT passes. */
static int add_descendants(struct ft_tree *tree, size_t root)
{
  size_t old = tree->count;

  for (int pass = 0; pass < PASSES_LIMIT; pass++) {
    size_t before = tree->count;

    if (add_children(tree, root) < 0)
      return -1;
    for (size_t i = old; i < before; i++)
      if (add_children(tree, i) < 0)
        return -1;
    if (tree->count == before)
      return 0;
  }
  return -1;
}

void ft_discovery_add_root(struct ft_tree *tree, const struct ft_member *root)
{
  struct ft_measure *measure = tree->measure;
  uint64_t start = root->start;

  if (!measure->own_proc || add_descendants(tree, (size_t)(root - tree->members)) < 0)
    start = 0;
  reexamine_since(measure, start);
}

static void add_candidate(struct ft_discovery *discovery, pid_t pid, const struct ft_stat *stat)
{
  struct candidate *candidates = ft_array_grow(discovery->candidates, &discovery->size,
                                               discovery->count, sizeof *candidates, FT_PID_LIMIT);

  if (!candidates)
    return;
  discovery->candidates = candidates;
  candidates[discovery->count++] = (struct candidate){ .pid = pid, .stat = *stat };
}

/* Examines PID. Returns false if it does not exist (yet). */
static bool probe_pid(struct ft_measure *measure, pid_t pid)
{
  struct ft_discovery *discovery = measure->discovery;
  struct ft_stat stat;

  if (pid <= 0 || pid >= FT_PID_LIMIT || ft_pids_have(measure->known_pids, pid) ||
      ft_tree_of(measure, pid))
    return true;
  if (ft_stat_read(measure, pid, &stat) < 0)
    return false;
  if (discovery->loadavg_fd >= 0)
    ft_pids_add(measure->known_pids, pid);
  if (!stat.thread)
    add_candidate(discovery, pid, &stat);
  return true;
}

static void scan_processes(struct ft_measure *measure)
{
  double begun = ft_io_monotonic(), used;
  struct dirent *entry;

  rewinddir(measure->discovery->proc);
  while ((entry = readdir(measure->discovery->proc))) {
    struct ft_text name = ft_text_from(entry->d_name);
    uint64_t pid;

    if (ft_text_u64(&name, FT_PID_LIMIT - 1, &pid) && !ft_text_left(&name))
      probe_pid(measure, (pid_t)pid);
  }
  used = ft_io_monotonic() - begun;
  measure->discovery->next_scan = measure->now + fmax(SCAN_SECONDS, used / SCAN_BUDGET);
}

/* Returns the newest pid of the namespace, the last field of loadavg; 0: unknown. */
FT_HOT static pid_t newest_pid(const struct ft_discovery *discovery)
{
  char text[128];
  ssize_t length =
      discovery->loadavg_fd < 0 ? -1 : ft_proc_reread(discovery->loadavg_fd, text, sizeof text);
  struct ft_text cursor, word;
  uint64_t pid = 0;

  if (length <= 0)
    return 0;
  cursor = ft_text_of(text, (size_t)length);
  for (int i = 0; i < 5; i++)
    if (!ft_text_word(&cursor, &word))
      return 0;
  return ft_text_u64(&word, FT_PID_LIMIT - 1, &pid) ? (pid_t)pid : 0;
}

static bool is_members_session(const struct ft_measure *measure, pid_t session)
{
  return ft_tree_index_find(&measure->sessions, (uint64_t)session) ||
         ft_tree_index_find(&measure->pids, (uint64_t)session);
}

/* The pids allocated since the last scan, and the last session found to be unrelated; 0: none. */
struct births {
  pid_t from, to, unrelated;
};

/*
 * Whether PID, one of BIRTHS, is unrelated to all trees by its session alone; getsid(2) costs a
 * tenth of reading stat. A session is inherited or created, never joined, so it is unrelated if its
 * leader lives, existed at an earlier scan, and neither the leader nor the session belongs to a
 * member.
 */
static bool is_unrelated_session(const struct ft_measure *measure, pid_t session,
                                 const struct births *births)
{
  if (session == births->unrelated && session)
    return true;
  /* session 0 has no leader (started by init); only its processes' children are in it */
  if (session == 0)
    return !is_members_session(measure, 0);
  return session > 0 && session < FT_PID_LIMIT && ft_pids_have(measure->known_pids, session) &&
         (session < births->from || session > births->to) &&
         (kill(session, 0) == 0 || errno == EPERM) && !is_members_session(measure, session);
}

static bool probe_new(struct ft_measure *measure, pid_t pid, struct births *births)
{
  pid_t session;

  if (ft_tree_of(measure, pid))
    return true;
  /* after a wrap-around another process may have had this pid */
  ft_pids_remove(measure->known_pids, pid);
  session = getsid(pid);
  if (session < 0 && errno == ESRCH)
    return false;
  if (!is_unrelated_session(measure, session, births))
    return probe_pid(measure, pid);
  births->unrelated = session;
  ft_pids_add(measure->known_pids, pid);
  add_unrelated(measure->discovery, pid, ft_proc_ticks(measure));
  return true;
}

/*
 * Examines the pids FROM to TO. The kernel allocates a pid before the process is visible
 * (copy_process calls alloc_pid early), so the newest missing ones are examined again at the next
 * scan.
 */
static void probe_range(struct ft_measure *measure, pid_t from, pid_t to)
{
  struct ft_discovery *discovery = measure->discovery;
  struct births births = { discovery->retries ? discovery->retry[0] : from, to, 0 };

  for (size_t i = 0; i < discovery->retries; i++)
    probe_new(measure, discovery->retry[i], &births);
  discovery->retries = 0;
  for (pid_t pid = from; pid <= to; pid++)
    if (!probe_new(measure, pid, &births) && to - pid < RETRY_LIMIT)
      discovery->retry[discovery->retries++] = pid;
}

/* Whether more than PROBE_LIMIT pids FROM to TO are unknown. After a wrap-around the kernel, too,
 * skips those in use. */
static bool are_many(const struct ft_measure *measure, pid_t from, pid_t to)
{
  int unknown = 0;

  for (pid_t pid = from; pid <= to && unknown <= PROBE_LIMIT; pid++)
    unknown += !ft_pids_have(measure->known_pids, pid);
  return unknown > PROBE_LIMIT;
}

/* Collects the processes that may belong to a tree. */
FT_HOT static void find_candidates(struct ft_measure *measure)
{
  struct ft_discovery *discovery = measure->discovery;
  pid_t newest = newest_pid(discovery), last = discovery->newest;

  discovery->count = 0;
  measure->new_pids = !newest || newest != last;
  if (newest && newest < last)
    restart_discovery(measure);
  if (!newest || !discovery->newest || are_many(measure, last + 1, newest) ||
      measure->now >= discovery->next_scan) {
    discovery->retries = 0;
    scan_processes(measure);
  } else if (newest != last || discovery->retries) {
    probe_range(measure, last + 1, newest);
  }
  for (size_t i = 0; i < discovery->reexamined_count; i++)
    probe_pid(measure, discovery->reexamined[i]);
  discovery->reexamined_count = 0;
  discovery->newest = newest;
}

/*
 * Returns the tree of CANDIDATE, or NULL. Its parent decides if that is a member. If the parent has
 * ended, the leader of the process group or session decides (a pid is not reused while it names
 * either), then a cgroup that only the tree uses, then the environment marker. Exceptions: a
 * slurmstepd, which is added as a root when announced; and a skipped root as leader, because a
 * shell's pipeline puts unrelated processes into its group.
 */
static struct ft_tree *home_of(struct ft_measure *measure, const struct candidate *candidate)
{
  const struct ft_stat *stat = &candidate->stat;
  const pid_t leaders[] = { stat->group, stat->session };
  struct ft_tree *tree = ft_tree_of(measure, stat->parent);

  if (tree)
    return tree;
  for (size_t i = 0; i < sizeof leaders / sizeof *leaders; i++) {
    tree = ft_tree_of(measure, leaders[i]);
    if (tree && !ft_tree_find(tree, leaders[i])->skipped)
      return tree;
  }
  if (ft_text_starts(ft_text_from(stat->command), "slurmstepd"))
    return NULL;
  return ft_orphan_tree_of(measure, candidate->pid, stat->parent);
}

/* Adds candidates to trees, in passes, because after a wrap-around children may precede parents.
 * The remaining candidates are unrelated. */
static void adopt_candidates(struct ft_measure *measure)
{
  struct ft_discovery *discovery = measure->discovery;
  size_t left = discovery->count, before;

  do {
    size_t kept = 0;

    before = left;
    for (size_t i = 0; i < left; i++) {
      struct candidate *candidate = &discovery->candidates[i];
      struct ft_tree *tree = home_of(measure, candidate);
      struct ft_member *member =
          tree ? ft_tree_add_member(tree, candidate->pid, &candidate->stat) : NULL;

      if (!member) {
        discovery->candidates[kept++] = *candidate;
        continue;
      }
      ft_tree_read_member(tree, (size_t)(member - tree->members));
    }
    left = kept;
  } while (left && left < before);
  for (size_t i = 0; i < left; i++)
    add_unrelated(discovery, discovery->candidates[i].pid, discovery->candidates[i].stat.start);
}

FT_HOT void ft_discovery_find_processes(struct ft_measure *measure)
{
  if (!measure->tree_count)
    return;
  measure->sample_count++;
  for (size_t i = 0; i < measure->tree_count; i++) {
    if (i + FT_TREES_AHEAD < measure->tree_count)
      __builtin_prefetch(measure->trees[i + FT_TREES_AHEAD]);
    ft_tree_read_due(measure->trees[i]);
  }
  find_candidates(measure);
  if (measure->discovery->count)
    adopt_candidates(measure);
  if (measure->discovery->size > CANDIDATES_KEPT) {
    free(measure->discovery->candidates);
    measure->discovery->candidates = NULL;
    measure->discovery->size = measure->discovery->count = 0;
  }
}
