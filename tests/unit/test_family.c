/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Processes whose parents have ended, and processes that share their parents' memory. */
#include "config.h"

#include "tests/unit/watch.h"

#include "predictor/core/process.h"

enum { TOLD_FD = 3 };

static const char *self; /* this program */

/* The child of a child that ended at once, in its own session. */
static void become_daemon(void)
{
  if (fork() > 0)
    _exit(0);
  setsid();
  if (fork() > 0)
    _exit(0);
  hold_64();
}

static void a_daemon_is_found_below_its_subreaper(void **state)
{
  struct watch watch;
  pid_t pid, daemon = 0;

  (void)state;
  assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0);
  watch_open(&watch);
  pid = begin(become_daemon);
  assert_int_equal(waitpid(pid, NULL, 0), pid);
  sample_until(&watch, has_64);
  for (size_t i = 0; i < watch.tree->count; i++)
    if (!watch.tree->members[i].skipped && watch.tree->members[i].rss_bytes >= 64.0 * FT_MIB)
      daemon = watch.tree->members[i].pid;
  assert_true(daemon > 1);
  kill(daemon, SIGKILL);
  while (waitpid(-1, NULL, 0) > 0)
    ;
  prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0);
  watch_close(&watch);
}

/* Executed again with a marker in its environment, like every process that Slurm starts. */
static void become_marked_daemon(void)
{
  if (dup2(gates.told[1], TOLD_FD) < 0)
    _exit(9);
  execle(self, self, "daemon", NULL, (char *[]){ "HOME=/", "FT_MARK=57", NULL });
  _exit(9);
}

static bool waited_long(struct watch *watch)
{
  return ft_io_monotonic() - watch->tree->started > 1;
}

/* The double fork's child belongs to init before the first sample, in a session without a
 * leader. */
static void a_daemon_is_found_by_its_marker(void **state)
{
  static const struct {
    const char *mark;
    bool mine, found;
  } cases[] = {
    { "FT_MARK=57", true, true },
    { "FT_MARK=57", false, false },
    { "FT_MARK=5", true, false },
    { "", true, false },
    { "HOME=/", true, true },
    { "a mark that is longer than the sixty-three characters that one may be at most", true,
      false },
  };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    uid_t user = getuid();
    struct watch watch;
    pid_t pid, daemon = 0;
    bool found;

    open_gates();
    watch_open(&watch);
    /* like a daemon of slurmstepd itself: its parent is outside the tree by now */
    ft_tree_set_mark(watch.tree, cases[i].mark, cases[i].mine ? user : user + 1);
    pid = begin(become_marked_daemon);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(read(gates.told[0], &daemon, sizeof daemon), sizeof daemon);
    sample_until(&watch, cases[i].found ? has_64 : waited_long);
    found = ft_tree_find(watch.tree, daemon) != NULL;
    kill(daemon, SIGKILL);
    watch_close(&watch);
    close_gates();
    if (found != cases[i].found)
      fail_msg("%s: %d", cases[i].mark, found);
  }
}

/* A job that has left a daemon behind and has a child with a child, which reports 0 in place of a
 * daemon's pid. */
static void become_job(void)
{
  const pid_t none = 0;

  setsid();
  if (fork() == 0)
    become_marked_daemon();
  wait(NULL);
  if (fork() == 0) {
    if (fork() == 0) {
      (void)!write(gates.told[1], &none, sizeof none);
      hold_64();
    }
    pause();
  }
  pause();
}

static void what_ran_before_its_job_was_announced_is_found(void **state)
{
  struct timespec moment = { 0, 50000000 }; /* several ticks of the clock of starts */
  struct ft_error err = { "" };
  pid_t job, daemon = 0, told;
  struct ft_tree *tree;
  struct watch watch;

  (void)state;
  open_gates();
  watch_open(&watch);
  nanosleep(&moment, NULL);
  ft_tree_close(watch.tree, NULL);
  watch.tree = ft_tree_open(watch.measure, &err);
  job = begin(hold_64);
  assert_int_equal(ft_tree_add_root(watch.tree, job, 0, false, &err), 0);
  sample_until(&watch, has_64);
  end(job);
  job = begin(become_job);
  for (int i = 0; i < 2; i++) {
    assert_int_equal(read(gates.told[0], &told, sizeof told), sizeof told);
    daemon += told;
  }
  for (int i = 0; i < 5; i++) {
    ft_measure_sample(watch.measure);
    nanosleep(&moment, NULL);
  }
  tree = ft_tree_open(watch.measure, &err);
  ft_tree_set_mark(tree, "FT_MARK=57", getuid());
  assert_int_equal(ft_tree_add_root(tree, job, 0, false, &err), 0);
  ft_measure_sample(watch.measure);
  assert_int_equal(ft_tree_latest(tree)->processes, 4);
  assert_ptr_equal(ft_tree_of(watch.measure, daemon), tree);
  kill(daemon, SIGKILL);
  for (size_t i = 0; i < tree->count; i++)
    kill(tree->polls[i].pid, SIGKILL);
  assert_int_equal(waitpid(job, NULL, 0), job);
  ft_tree_close(tree, NULL);
  watch_close(&watch);
  close_gates();
}

/* A child in its parent's 64 MiB, as between vfork and a slow exec, or with a copy of them. */
static bool lend;

static void share_64(void)
{
  char byte;
  pid_t pid;

  hold(64);
  pid = lend ? vfork() : fork();
  if (pid == 0) {
    if (write(gates.told[1], "", 1) != 1)
      _exit(9);
    (void)!read(gates.go[0], &byte, 1);
    _exit(0);
  }
  waitpid(pid, NULL, 0);
}

static void memory_shared_by_vfork_counts_once(void **state)
{
  static const struct {
    bool lend;
    size_t least, most; /* MiB */
  } cases[] = { { true, 64, 100 }, { false, 128, 200 } };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct watch watch;
    pid_t pid;
    char byte;

    lend = cases[i].lend;
    open_gates();
    watch_open(&watch);
    pid = begin(share_64);
    assert_int_equal(read(gates.told[0], &byte, 1), 1);
    sample_for(&watch, 1.2, 12);
    assert_int_equal(ft_tree_latest(watch.tree)->processes, 2);
    assert_int_equal(write(gates.go[1], "", 1), 1);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    watch_close(&watch);
    close_gates();
    if (watch.seen.rss_bytes < cases[i].least * FT_MIB ||
        watch.seen.rss_bytes > cases[i].most * FT_MIB)
      fail_msg("%s: %.1f MiB", lend ? "vfork" : "fork",
               (double)watch.seen.rss_bytes / (double)FT_MIB);
  }
}

/* Runs as a program of its own: a daemon that writes its pid to descriptor 3. */
static int be_daemon(void)
{
  pid_t pid;

  if (fork() > 0)
    return 0;
  setsid();
  if (fork() > 0)
    _exit(0);
  pid = getpid();
  if (write(TOLD_FD, &pid, sizeof pid) != sizeof pid)
    _exit(9);
  alarm(600);
  hold_64();
  return 0;
}

/* The kernel may give the pid of an ended task to another process before the agent looks. */
static void a_reused_pid_is_no_root(void **state)
{
  struct watch watch;
  struct ft_error err;
  uint64_t start;
  pid_t job;

  (void)state;
  watch_open(&watch);
  job = begin(hold_64);
  start = ft_process_start_ticks((uint32_t)job);
  assert_true(start > 0);
  assert_int_equal(ft_tree_add_root(watch.tree, job, start + 1, false, &err), -1);
  assert_int_equal(ft_tree_add_root(watch.tree, job, start, false, &err), 0);
  end(job);
  watch_close(&watch);
}

int main(int argc, char **argv)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_daemon_is_found_below_its_subreaper),
    cmocka_unit_test(a_daemon_is_found_by_its_marker),
    cmocka_unit_test(what_ran_before_its_job_was_announced_is_found),
    cmocka_unit_test(memory_shared_by_vfork_counts_once),
    cmocka_unit_test(a_reused_pid_is_no_root),
  };

  if (argc > 1 && strcmp(argv[1], "daemon") == 0)
    return be_daemon();
  self = argv[0];
  return cmocka_run_group_tests(tests, NULL, NULL);
}
