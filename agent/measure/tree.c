/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Who belongs to which tree. Given roots, one look finds new descendants of all
 * trees, reads every member's statm and marks those that ended. Members stay when
 * they are re-parented. Nothing is listed or opened where no process was born.
 */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/measure/internal.h"

enum {
  PID_LIMIT = 4 << 20,     /* PID_MAX_LIMIT of a 64-bit kernel (include/linux/threads.h) */
  PROBE_LIMIT = 512,       /* pids given out since the last look that are tried one by one */
  RETRY_LIMIT = 16,        /* of them, the newest, that may not be visible yet */
  MEMBERS_LIMIT = 1 << 20, /* of one tree: far above any kernel.threads-max in use */
  CANDIDATES_LIMIT = PID_LIMIT
};

/* Births that no advance of the newest pid tells (clone3 with set_tid, a race) wait this long. */
#define SCAN_SECONDS 30.0

/*
 * A process's first look at the costly files, and the longest wait between two later ones:
 * while its size and RSS change (a thread brings a stack), and while neither does.
 */
#define LOOK_FIRST_SECONDS 1.0
#define LOOK_LONGEST_SECONDS 8.0
#define LOOK_IDLE_SECONDS 32.0

/*
 * A process whose statm said the same so often is read at every fourth instant only, where
 * instants are as dense as that; as soon as it differs, its high water mark is looked at,
 * which holds whatever was between.
 */
#define STILL_SAMPLES 10
#define STILL_PART 4
#define STILL_SECONDS 0.5 /* no process goes unread for longer */

/* A process that may be new to a tree. */
struct candidate {
  pid_t pid;
  struct ft_stat stat;
};

struct ft_discovery {
  int loadavg_fd;      /* -1: every look is a scan */
  DIR *proc;
  pid_t newest;        /* the newest pid at the last look; 0: not known */
  double next_scan;
  uint8_t *known;      /* a bit for each pid looked at since pids last wrapped: never looked at twice */
  pid_t retry[RETRY_LIMIT]; /* pids given out but not yet visible at the last look */
  size_t retries;
  struct candidate *candidates;
  size_t count, size;
};

struct ft_discovery *ft_discovery_new(struct ft_measure *measure)
{
  struct ft_discovery *discovery = calloc(1, sizeof *discovery);
  int fd;

  if (!discovery)
    return NULL;
  discovery->loadavg_fd =
      measure->own_proc ? openat(measure->proc_fd, "loadavg", O_RDONLY | O_CLOEXEC) : -1;
  fd = openat(measure->proc_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd >= 0)
    discovery->proc = fdopendir(fd);
  discovery->known = calloc(PID_LIMIT / 8, 1);
  if (!discovery->proc || !discovery->known) {
    if (fd >= 0 && !discovery->proc)
      close(fd);
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
  free(discovery->known);
  free(discovery->candidates);
  free(discovery);
}

static bool is_known(const struct ft_discovery *discovery, pid_t pid)
{
  return discovery->known[pid >> 3] & (1u << (pid & 7));
}

static void set_known(struct ft_discovery *discovery, pid_t pid)
{
  discovery->known[pid >> 3] |= (uint8_t)(1u << (pid & 7));
}

/* A new root may have old descendants, and after a wrap a known pid may be someone else. */
void ft_discovery_restart(struct ft_discovery *discovery)
{
  uint8_t *fresh = calloc(PID_LIMIT / 8, 1);

  if (fresh) {
    free(discovery->known);
    discovery->known = fresh;
  } else {
    memset(discovery->known, 0, PID_LIMIT / 8);
  }
  discovery->newest = 0;
}

/* ---- members ---- */

struct ft_member *ft_tree_find(const struct ft_tree *tree, pid_t pid)
{
  for (size_t i = 0; i < tree->count; i++)
    if (tree->members[i].pid == pid && !tree->members[i].gone)
      return &tree->members[i];
  return NULL;
}

static struct ft_tree *tree_of(const struct ft_measure *measure, pid_t pid)
{
  for (struct ft_tree *tree = measure->trees; tree; tree = tree->next)
    if (ft_tree_find(tree, pid))
      return tree;
  return NULL;
}

static void member_close(struct ft_measure *measure, struct ft_member *member)
{
  if (member->statm_fd < 0)
    return;
  close(member->statm_fd);
  member->statm_fd = -1;
  measure->descriptors--;
}

static int open_statm(struct ft_measure *measure, pid_t pid)
{
  char name[32];
  int fd;

  if (measure->descriptors >= measure->descriptors_limit)
    return -1;
  snprintf(name, sizeof name, "%d/statm", (int)pid);
  fd = openat(measure->proc_fd, name, O_RDONLY | O_CLOEXEC);
  if (fd >= 0)
    measure->descriptors++;
  return fd;
}

static struct ft_member *member_add(struct ft_tree *tree, pid_t pid, const struct ft_stat *stat)
{
  struct ft_measure *measure = tree->measure;
  struct ft_member *member;

  if (tree->count == tree->size) {
    size_t size = tree->size ? 2 * tree->size : 16;
    struct ft_member *members =
        size > MEMBERS_LIMIT ? NULL : realloc(tree->members, size * sizeof *members);

    if (!members)
      return NULL;
    tree->members = members;
    tree->size = size;
  }
  member = &tree->members[tree->count++];
  *member = (struct ft_member){ .pid = pid,
                                .parent = stat->parent,
                                .start = stat->start,
                                .fresh = true,
                                .statm_fd = open_statm(measure, pid),
                                .next_look = measure->now + LOOK_FIRST_SECONDS,
                                .look_interval = LOOK_FIRST_SECONDS,
                                .others_bytes = -1,
                                .open_files = -1,
                                .threads = stat->threads };
  for (size_t i = 0; i < FT_TOTALS; i++)
    member->own[i] = stat->own[i] + stat->children[i];
  return member;
}

void ft_tree_sweep(struct ft_tree *tree)
{
  size_t kept = 0;

  for (size_t i = 0; i < tree->count; i++) {
    struct ft_member *member = &tree->members[i];

    member->fresh = false;
    if (member->gone)
      member_close(tree->measure, member);
    else
      tree->members[kept++] = *member;
  }
  tree->count = kept;
}

void ft_tree_forget(struct ft_tree *tree)
{
  for (size_t i = 0; i < tree->count; i++)
    member_close(tree->measure, &tree->members[i]);
  free(tree->members);
}

int ft_tree_add_root(struct ft_tree *tree, pid_t pid, bool skip_self, struct ft_error *err)
{
  struct ft_measure *measure = tree->measure;
  struct ft_tree *other = pid > 0 && pid < PID_LIMIT ? tree_of(measure, pid) : NULL;
  struct ft_member *member;
  struct ft_stat stat;

  if (pid <= 0 || pid >= PID_LIMIT || ft_stat_read(measure, pid, &stat) < 0 || stat.thread)
    return ft_error_set(err, "there is no process %d", (int)pid);
  if (other && other != tree && ft_tree_find(other, pid)->start == stat.start)
    return ft_error_set(err, "process %d is being measured for another job", (int)pid);
  member = ft_tree_find(tree, pid);
  if (!member) {
    member = member_add(tree, pid, &stat);
    tree->alive++;
  }
  if (!member)
    return ft_error_set(err, "out of memory");
  member->root = true;
  member->skipped = skip_self;
  tree->command |= measure->own_proc && pid == getpid();
  ft_discovery_restart(measure->discovery);
  ft_tree_added(tree);
  return 0;
}

/* ---- who lives, and what it holds ---- */

/* Read a member's statm. Returns false when the process has ended and been waited for. */
static bool read_statm(struct ft_measure *measure, struct ft_member *member)
{
  char text[128];
  ssize_t length = member->statm_fd >= 0
                       ? ft_proc_reread(member->statm_fd, text, sizeof text)
                       : ft_proc_read_pid(measure, member->pid, "statm", text, sizeof text);
  struct ft_text cursor;
  uint64_t size, resident, shared;

  if (length < 0)
    return errno != ESRCH && errno != ENOENT && errno != ENODEV;
  cursor = ft_text_of(text, (size_t)length);
  if (!ft_text_u64(&cursor, UINT64_MAX, &size) || !ft_text_skip(&cursor, " ") ||
      !ft_text_u64(&cursor, UINT64_MAX, &resident) || !ft_text_skip(&cursor, " ") ||
      !ft_text_u64(&cursor, UINT64_MAX, &shared))
    return true;
  if ((double)resident * measure->page_bytes != member->rss_bytes ||
      (double)size * measure->page_bytes != member->size_bytes) {
    member->changed = true;
    if (member->still >= STILL_SAMPLES)
      member->next_look = fmin(member->next_look, member->looked + LOOK_FIRST_SECONDS);
    member->still = 0;
  } else if (member->still < STILL_SAMPLES) {
    member->still++;
  }
  /* an ended process that nobody has waited for has no memory, but its last totals */
  if (size == 0 && !member->zombie) {
    member->zombie = true;
    member->next_look = 0;
  }
  member->size_bytes = (double)size * measure->page_bytes;
  member->rss_bytes = (double)resident * measure->page_bytes;
  member->shared_bytes = (double)shared * measure->page_bytes;
  return true;
}

static bool may_wait(const struct ft_measure *measure, const struct ft_member *member)
{
  return member->still >= STILL_SAMPLES &&
         measure->settings.seconds * STILL_PART <= STILL_SECONDS &&
         (measure->instants + (uint32_t)member->pid) % STILL_PART;
}

static void look_at_member(struct ft_measure *measure, struct ft_member *member)
{
  member->look = false;
  if (may_wait(measure, member))
    return;
  member->gone = !read_statm(measure, member);
  member->look = !member->gone && measure->now >= member->next_look &&
                 (member->changed || measure->now >= member->next_look + LOOK_IDLE_SECONDS);
  if (!member->look)
    return;
  member->changed = false;
  member->looked = measure->now;
  member->look_interval *= 2;
  if (member->look_interval > LOOK_LONGEST_SECONDS)
    member->look_interval = LOOK_LONGEST_SECONDS;
  member->next_look = measure->now + member->look_interval;
}

static void look_at_members(struct ft_tree *tree)
{
  tree->alive = 0;
  for (size_t i = 0; i < tree->count; i++) {
    look_at_member(tree->measure, &tree->members[i]);
    tree->alive += !tree->members[i].gone && !tree->members[i].zombie;
  }
}

/* ---- who is new ---- */

static void add_candidate(struct ft_discovery *discovery, pid_t pid, const struct ft_stat *stat)
{
  if (discovery->count == discovery->size) {
    size_t size = discovery->size ? 2 * discovery->size : 64;
    struct candidate *candidates =
        size > CANDIDATES_LIMIT ? NULL
                                : realloc(discovery->candidates, size * sizeof *candidates);

    if (!candidates)
      return;
    discovery->candidates = candidates;
    discovery->size = size;
  }
  discovery->candidates[discovery->count++] = (struct candidate){ .pid = pid, .stat = *stat };
}

/* Returns false where PID is not there (yet); asking kill(2) costs a tenth of opening a file that is not. */
static bool probe_pid(struct ft_measure *measure, pid_t pid)
{
  struct ft_discovery *discovery = measure->discovery;
  struct ft_stat stat;

  if (pid <= 0 || pid >= PID_LIMIT || is_known(discovery, pid))
    return true;
  if (discovery->loadavg_fd >= 0 && kill(pid, 0) < 0 && errno == ESRCH)
    return false;
  if (ft_stat_read(measure, pid, &stat) < 0)
    return false;
  if (discovery->loadavg_fd >= 0)
    set_known(discovery, pid);
  if (!stat.thread && !tree_of(measure, pid))
    add_candidate(discovery, pid, &stat);
  return true;
}

static void scan(struct ft_measure *measure)
{
  struct dirent *entry;

  rewinddir(measure->discovery->proc);
  while ((entry = readdir(measure->discovery->proc))) {
    struct ft_text name = ft_text_from(entry->d_name);
    uint64_t pid;

    if (ft_text_u64(&name, PID_LIMIT - 1, &pid) && !ft_text_left(&name))
      probe_pid(measure, (pid_t)pid);
  }
  measure->discovery->next_scan = measure->now + SCAN_SECONDS;
}

/* The newest pid of the namespace: the last word of loadavg; 0 where that is not to be had. */
static pid_t newest_pid(const struct ft_discovery *discovery)
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
  return ft_text_u64(&word, PID_LIMIT - 1, &pid) ? (pid_t)pid : 0;
}

/*
 * A pid counts as given out before the process can be seen under it
 * (copy_process calls alloc_pid early), so the newest that are not there are tried once more.
 */
static void probe_range(struct ft_measure *measure, pid_t from, pid_t to)
{
  struct ft_discovery *discovery = measure->discovery;

  for (size_t i = 0; i < discovery->retries; i++)
    probe_pid(measure, discovery->retry[i]);
  discovery->retries = 0;
  for (pid_t pid = from; pid <= to; pid++)
    if (!probe_pid(measure, pid) && to - pid < RETRY_LIMIT)
      discovery->retry[discovery->retries++] = pid;
}

/* Gather processes that may belong to a tree, with as little work as the newest pid allows. */
static void find_candidates(struct ft_measure *measure)
{
  struct ft_discovery *discovery = measure->discovery;
  pid_t newest = newest_pid(discovery), last = discovery->newest;

  discovery->count = 0;
  if (newest && newest < last)
    ft_discovery_restart(discovery);
  if (!newest || !discovery->newest || newest - last > PROBE_LIMIT ||
      measure->now >= discovery->next_scan) {
    discovery->retries = 0;
    scan(measure);
  } else if (newest != last || discovery->retries) {
    probe_range(measure, last + 1, newest);
  }
  discovery->newest = newest;
}

/*
 * The tree that CANDIDATE belongs to. A parent that is a member decides. Where the
 * parent ended before it was seen, the leader of the process group or session does,
 * if he is a member (a pid is not given out again while it names either), or the
 * cgroup, if it is the tree's alone. A skipped root leads nobody: a shell's pipeline
 * puts strangers into its group.
 */
static struct ft_tree *home_of(struct ft_measure *measure, const struct candidate *candidate)
{
  const struct ft_stat *stat = &candidate->stat;
  struct ft_tree *tree = tree_of(measure, stat->parent);

  if (tree)
    return tree;
  for (tree = measure->trees; tree; tree = tree->next) {
    const struct ft_member *group = ft_tree_find(tree, stat->group);
    const struct ft_member *session = ft_tree_find(tree, stat->session);

    if ((group && !group->skipped) || (session && !session->skipped))
      return tree;
    if (stat->parent == 1 && ft_cgroup_holds(tree, candidate->pid))
      return tree;
  }
  return NULL;
}

/* Children may come before their parents where pids have wrapped: again until nothing changes. */
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
          tree ? member_add(tree, candidate->pid, &candidate->stat) : NULL;

      if (!member) {
        discovery->candidates[kept++] = *candidate;
        continue;
      }
      look_at_member(measure, member);
      tree->alive += !member->gone && !member->zombie;
    }
    left = kept;
  } while (left && left < before);
}

void ft_discovery_look(struct ft_measure *measure)
{
  if (!measure->trees)
    return;
  measure->instants++;
  for (struct ft_tree *tree = measure->trees; tree; tree = tree->next)
    look_at_members(tree);
  find_candidates(measure);
  if (measure->discovery->count)
    adopt_candidates(measure);
}
