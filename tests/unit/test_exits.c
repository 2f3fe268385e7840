/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Processes that start and end between two samples, with real processes. */
#include "config.h"

#include "tests/unit/unit.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/measure/internal.h"
#include "agent/measure/taskstats.h"
#include "predictor/core/text.h"
#include "predictor/core/units.h"

#define MIB ((double)FT_MIB)

enum { PARENT_MIB = 200, CHILD_MIB = 150, BESIDE_MIB = 40 };

struct watch {
  int root_fd;
  struct ft_measure *measure;
  struct ft_tree *tree;
  ft_observation seen;
  int go[2], told[2];
  pid_t pid;
};

static char *self; /* this program */

static char *take_mib(size_t mib)
{
  char *memory = mmap(NULL, mib << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

  if (memory == MAP_FAILED)
    _exit(9);
  memset(memory, 1, mib << 20);
  return memory;
}

/* Allocates until this process has MIB, because a sanitizer uses memory of its own. */
static char *fill_up(size_t mib)
{
  char statm[64];
  struct ft_text text;
  uint64_t pages = 0;

  if (ft_proc_read(AT_FDCWD, "/proc/self/statm", statm, sizeof statm) < 0)
    _exit(9);
  text = ft_text_from(statm);
  if (!ft_text_u64(&text, UINT64_MAX, &pages) || !ft_text_skip(&text, " ") ||
      !ft_text_u64(&text, UINT64_MAX, &pages))
    _exit(9);
  return take_mib(mib - (size_t)(pages * (uint64_t)sysconf(_SC_PAGESIZE) / FT_MIB));
}

static void wait_for(pid_t pid)
{
  int status;

  if (waitpid(pid, &status, 0) != pid || status)
    _exit(9);
}

static void run_again(const char *what)
{
  execl(self, self, what, NULL);
  _exit(9);
}

/* Short-lived children, each of a parent with PARENT_MIB. */

static void nothing(char *parents)
{
  (void)parents;
  if (fork() == 0)
    _exit(0);
  (void)wait(NULL);
}

static void own_program(char *parents)
{
  pid_t pid = fork();

  (void)parents;
  if (pid == 0)
    run_again("child");
  wait_for(pid);
}

static void own_memory(char *parents)
{
  pid_t pid = fork();

  (void)parents;
  if (pid == 0) {
    take_mib(CHILD_MIB);
    _exit(0);
  }
  wait_for(pid);
}

static void grandchild(char *parents)
{
  pid_t pid = fork();

  if (pid == 0) {
    own_program(parents);
    _exit(0);
  }
  wait_for(pid);
}

/* Pages of its parent become its own when it writes them. */
static void parents_pages(char *parents)
{
  pid_t pid = fork();

  if (pid == 0) {
    memset(parents, 2, (size_t)CHILD_MIB << 20);
    _exit(0);
  }
  wait_for(pid);
}

static void one_after_another(char *parents)
{
  for (int i = 0; i < 3; i++)
    own_program(parents);
}

/* The parent ends in the same interval. */
static void with_its_parent(char *parents)
{
  own_program(parents);
  _exit(0);
}

static void run_body(void (*body)(char *parents), const int *go, const int *told)
{
  char *parents = fill_up(PARENT_MIB);
  char byte;

  /* the same in all cases: a forked child shares all pages of its parent */
  if (write(told[1], "", 1) != 1 || read(go[0], &byte, 1) != 1)
    _exit(9);
  body(parents);
  if (write(told[1], "", 1) != 1)
    _exit(9);
  (void)!read(go[0], &byte, 1);
}

static void watch_open(struct watch *watch)
{
  struct ft_measure_settings settings = { .seconds = 0.1, .rule = FT_RULE_RSS };
  struct ft_error err = { "" };

  memset(watch, 0, sizeof *watch);
  watch->root_fd = settings.root_fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  watch->measure = ft_measure_open(&settings, &err);
  assert_non_null(watch->measure);
  watch->tree = ft_tree_open(watch->measure, &err);
  assert_non_null(watch->tree);
  assert_int_equal(ft_tree_add_root(watch->tree, getpid(), 0, true, &err), 0);
  ft_measure_sample(watch->measure);
  assert_int_equal(pipe(watch->go), 0);
  assert_int_equal(pipe(watch->told), 0);
}

/* Waits until the parent has written something or has ended. */
static void hear(struct watch *watch)
{
  char byte;

  (void)!read(watch->told[0], &byte, 1);
}

static void watch_close(struct watch *watch)
{
  ft_tree_close(watch->tree, &watch->seen);
  ft_measure_close(watch->measure);
  close(watch->root_fd);
  for (int i = 0; i < 2; i++) {
    close(watch->go[i]);
    if (watch->told[i] >= 0)
      close(watch->told[i]);
  }
}

/* The parent runs and was sampled; BODY waits for the next byte. */
static void watch_until_ready(struct watch *watch, void (*body)(char *parents))
{
  watch->pid = fork();
  assert_true(watch->pid >= 0);
  if (watch->pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    run_body(body, watch->go, watch->told);
    _exit(0);
  }
  close(watch->told[1]);
  watch->told[1] = -1;
  hear(watch);
  for (int i = 0; i < 3; i++)
    ft_measure_sample(watch->measure);
}

static void watch_to_the_end(struct watch *watch)
{
  assert_int_equal(write(watch->go[1], "", 1), 1);
  hear(watch);
  ft_measure_sample(watch->measure);
  (void)!write(watch->go[1], "", 1);
  assert_int_equal(waitpid(watch->pid, NULL, 0), watch->pid);
  watch_close(watch);
}

static void run_case(struct watch *watch, void (*body)(char *parents))
{
  watch_open(watch);
  watch_until_ready(watch, body);
  watch_to_the_end(watch);
}

static bool exits_work(void)
{
  struct ft_error err = { "" };
  int root_fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC), fd;

  fd = ft_taskstats_open(root_fd, &err);
  if (fd < 0)
    print_message("# skipped: %s\n", err.text);
  ft_taskstats_close(fd);
  close(root_fd);
  return fd >= 0;
}

static void a_child_between_two_samples_is_in_the_peak(void **state)
{
  enum { BOTH_MIB = PARENT_MIB + CHILD_MIB };
  static const struct {
    const char *what;
    void (*body)(char *parents);
    double mib;
    bool bound;
  } cases[] = {
    { "a child that only ends", nothing, PARENT_MIB, false },
    { "a program of its own", own_program, BOTH_MIB, false },
    { "memory of its own, and its parent's shared", own_memory, BOTH_MIB, false },
    { "a child's child", grandchild, BOTH_MIB, false },
    { "the parent's pages, written", parents_pages, PARENT_MIB, true },
    { "three, one after another or at once", one_after_another, BOTH_MIB, true },
    { "its parent ends with it", with_its_parent, BOTH_MIB, false },
  };

  (void)state;
  if (!exits_work())
    skip();
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct watch watch;
    double mib;

    run_case(&watch, cases[i].body);
    mib = (double)watch.seen.rss_bytes / MIB;
    if (mib < 0.97 * cases[i].mib || mib > 1.04 * cases[i].mib ||
        watch.seen.peak_is_bound != cases[i].bound)
      fail_msg("%s: %.1f MiB%s, expected %g%s", cases[i].what, mib,
               watch.seen.peak_is_bound ? " at least" : "", cases[i].mib,
               cases[i].bound ? " at least" : "");
  }
}

/* ---- overlap of processes in time ---- */

enum { GO_FD = 20, TOLD_FD = 21 };

static void tell(void)
{
  if (write(TOLD_FD, "", 1) != 1)
    _exit(9);
}

static void wait_to_go(void)
{
  char byte;

  if (read(GO_FD, &byte, 1) != 1)
    _exit(9);
}

/* Programs of their own that allocate at once or at a signal; both report it and wait to be
 * released. */
static int be_large(void)
{
  fill_up(CHILD_MIB);
  tell();
  wait_to_go();
  return 0;
}

static int be_large_later(void)
{
  tell();
  wait_to_go();
  return be_large();
}

static pid_t begin_program(const char *what)
{
  pid_t pid = fork();

  if (pid == 0)
    run_again(what);
  return pid;
}

static void follow_each_other(void)
{
  for (int i = 0; i < 2; i++)
    wait_for(begin_program("large"));
}

static void grow_together(void)
{
  pid_t pids[2];

  for (int i = 0; i < 2; i++)
    pids[i] = begin_program("large later");
  for (int i = 0; i < 2; i++)
    wait_for(pids[i]);
}

static void let_go(struct watch *watch, int count)
{
  for (int i = 0; i < count; i++)
    assert_int_equal(write(watch->go[1], "", 1), 1);
}

static void a_later_process_does_not_overlap_an_ended_one(void **state)
{
  static const struct {
    void (*body)(void);
    int at_once; /* number of reports before the sample, and number of released processes */
    bool bound;
  } cases[] = { { follow_each_other, 1, false }, { grow_together, 2, true } };

  (void)state;
  if (!exits_work())
    skip();
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct watch watch;

    watch_open(&watch);
    watch.pid = fork();
    if (watch.pid == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (dup2(watch.go[0], GO_FD) < 0 || dup2(watch.told[1], TOLD_FD) < 0)
        _exit(9);
      cases[i].body();
      _exit(0);
    }
    for (int k = 0; k < cases[i].at_once; k++)
      hear(&watch);
    for (int k = 0; k < 3; k++)
      ft_measure_sample(watch.measure);
    let_go(&watch, cases[i].at_once);
    for (int k = 0; k < cases[i].at_once; k++)
      hear(&watch);
    if (!cases[i].bound)
      ft_measure_sample(watch.measure);
    let_go(&watch, cases[i].at_once);
    assert_int_equal(waitpid(watch.pid, NULL, 0), watch.pid);
    ft_measure_sample(watch.measure);
    watch_close(&watch);
    if (watch.seen.peak_is_bound != cases[i].bound ||
        (double)watch.seen.rss_bytes < 0.97 * CHILD_MIB * MIB ||
        (double)watch.seen.rss_bytes > 1.3 * CHILD_MIB * MIB)
      fail_msg("case %zu: %.1f MiB, %d", i, (double)watch.seen.rss_bytes / MIB,
               watch.seen.peak_is_bound);
  }
}

static void unrelated_processes_are_not_counted(void **state)
{
  struct watch watch;
  struct ft_error err = { "" };
  struct ft_tree *other;
  ft_observation *seen = calloc(1, sizeof *seen);
  pid_t pid;
  char byte;

  (void)state;
  if (!exits_work())
    skip();
  watch_open(&watch);
  /* another job's process with an unrelated root */
  ft_tree_close(watch.tree, NULL);
  watch.tree = ft_tree_open(watch.measure, &err);
  other = ft_tree_open(watch.measure, &err);
  assert_non_null(seen);
  pid = fork();
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    fill_up(BESIDE_MIB);
    (void)!write(watch.told[1], "", 1);
    (void)!read(watch.go[0], &byte, 1);
    own_program(NULL);
    (void)!write(watch.told[1], "", 1);
    pause();
  }
  hear(&watch);
  assert_int_equal(ft_tree_add_root(watch.tree, pid, 0, false, &err), 0);
  for (int i = 0; i < 3; i++)
    ft_measure_sample(watch.measure);
  assert_int_equal(write(watch.go[1], "", 1), 1);
  hear(&watch);
  /* reported at the other process's end, and kept for its own tree */
  ft_tree_close(other, seen);
  assert_false(seen->has_rss_bytes && seen->rss_bytes > 0);
  kill(pid, SIGKILL);
  assert_int_equal(waitpid(pid, NULL, 0), pid);
  watch_close(&watch);
  assert_in_range(watch.seen.rss_bytes, (CHILD_MIB + BESIDE_MIB) * FT_MIB,
                  (CHILD_MIB + BESIDE_MIB + 20) * FT_MIB);
  free(seen);
}

/* Makes the queue of this process's netlink socket as small as the kernel permits. */
static void shrink_queue(void)
{
  for (int fd = 0, least = 1, domain; fd < 64; fd++) {
    socklen_t size = sizeof domain;

    if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 && domain == AF_NETLINK)
      assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &least, sizeof least), 0);
  }
}

static void a_storm(char *parents)
{
  for (int i = 0; i < 50; i++)
    nothing(parents);
}

static void a_loss_of_records_makes_the_peak_a_lower_bound(void **state)
{
  static const struct {
    const char *what;
    ft_rule rule;
    double charge_mib; /* the kernel's own peak; 0: not available */
    bool bound;
  } cases[] = {
    { "RSS kills", FT_RULE_RSS, 0, true },
    { "the charge kills, and is known", FT_RULE_CGROUP, 500, false },
    { "the charge kills, and RSS stands for it", FT_RULE_CGROUP, 0, true },
  };

  (void)state;
  if (!exits_work())
    skip();
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct watch watch;
    ft_task_end end = ft_task_end_init_zero;

    watch_open(&watch);
    ft_measure_set_rule(watch.measure, cases[i].rule);
    watch_until_ready(&watch, a_storm);
    shrink_queue();
    end.has_charge_bytes = cases[i].charge_mib > 0;
    end.charge_bytes = (uint64_t)(cases[i].charge_mib * MIB);
    watch.tree->max.charge_less_cache_bytes = end.has_charge_bytes ? 400 * MIB : -1;
    ft_tree_add_end(watch.tree, &end);
    watch_to_the_end(&watch);
    if (watch.seen.peak_is_bound != cases[i].bound)
      fail_msg("%s: %d", cases[i].what, watch.seen.peak_is_bound);
    assert_in_range(watch.seen.rss_bytes, 0.97 * PARENT_MIB * MIB, 1.04 * PARENT_MIB * MIB);
  }
}

int main(int argc, char **argv)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_child_between_two_samples_is_in_the_peak),
    cmocka_unit_test(a_loss_of_records_makes_the_peak_a_lower_bound),
    cmocka_unit_test(a_later_process_does_not_overlap_an_ended_one),
    cmocka_unit_test(unrelated_processes_are_not_counted),
  };

  self = argv[0];
  if (argc > 1 && strcmp(argv[1], "child") == 0) {
    fill_up(CHILD_MIB);
    return 0;
  }
  /* A read takes the records of FT_EXITS_LIMIT ends on the whole machine; a case is in one read if
   * it is quick also on a busy one. Only root may do this. */
  (void)!nice(-20);
  if (argc > 1 && strcmp(argv[1], "large") == 0)
    return be_large();
  if (argc > 1 && strcmp(argv[1], "large later") == 0)
    return be_large_later();
  return cmocka_run_group_tests(tests, NULL, NULL);
}
