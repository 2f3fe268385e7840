/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What begins and ends between two samples: the kernel's messages, and real processes. */
#include "config.h"

#include "tests/unit/unit.h"

#include <fcntl.h>
#include <linux/acct.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <linux/taskstats.h>
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

#if TASKSTATS_VERSION >= 12

/* ---- messages ---- */

struct message {
  struct nlmsghdr header;
  struct genlmsghdr command;
  struct nlattr group, pid;
  uint32_t thread;
  struct nlattr pad, stats;
  char content[sizeof(struct taskstats) + 64];
};

struct thread {
  uint32_t thread, process, parent;
  uint8_t flags;
  uint64_t high_kib;
};

static size_t make(struct message *message, const struct thread *thread, size_t size)
{
  struct taskstats stats = { .version = 12,
                             .ac_pid = thread->thread,
                             .ac_tgid = thread->process,
                             .ac_ppid = thread->parent,
                             .ac_flag = thread->flags,
                             .ac_minflt = 3,
                             .hiwater_rss = thread->high_kib };
  size_t length = offsetof(struct message, content) + size;

  memset(message, 0, sizeof *message);
  message->header.nlmsg_len = (uint32_t)length;
  message->header.nlmsg_type = 31;
  message->command.cmd = TASKSTATS_CMD_NEW;
  message->group.nla_len = (uint16_t)(length - offsetof(struct message, group));
  message->group.nla_type = TASKSTATS_TYPE_AGGR_PID;
  message->pid = (struct nlattr){ 8, TASKSTATS_TYPE_PID };
  message->thread = thread->thread;
  message->pad = (struct nlattr){ 4, TASKSTATS_TYPE_NULL };
  message->stats = (struct nlattr){ (uint16_t)(4 + size), TASKSTATS_TYPE_STATS };
  memcpy(message->content, &stats, size < sizeof stats ? size : sizeof stats);
  return length;
}

static void ends_are_read_by_process(void **state)
{
  static const struct thread threads[] = {
    { 10, 10, 1, AGROUP, 100 },         /* one thread */
    { 21, 20, 1, 0, 70 },               /* a thread that leaves its process behind */
    { 20, 20, 1, AFORK, 90 },           /* the first of a fork's */
    { 22, 20, 1, AGROUP, 95 },          /* its last */
    { 31, 30, 1, AGROUP, 60 },          /* whose first is not at hand */
    { 40, 40, 1, AGROUP | AFORK, 200 }, /* a fork */
  };
  static const struct {
    pid_t pid;
    bool forked;
    double kib;
  } expected[] = { { 10, false, 100 }, { 20, true, 95 }, { 30, true, 60 }, { 40, true, 200 } };
  static struct ft_exit exits[FT_EXITS_LIMIT];
  struct message message;
  int pair[2];
  bool more, lost;

  (void)state;
  assert_int_equal(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair), 0);
  for (size_t i = 0; i < COUNT_OF(threads); i++) {
    size_t length = make(&message, &threads[i], sizeof(struct taskstats));

    assert_int_equal(send(pair[1], &message, length, 0), (ssize_t)length);
  }
  assert_int_equal(ft_taskstats_read(pair[0], exits, &more, &lost), COUNT_OF(expected));
  assert_false(more);
  assert_false(lost);
  for (size_t i = 0; i < COUNT_OF(expected); i++)
    if (exits[i].pid != expected[i].pid || exits[i].forked != expected[i].forked ||
        exits[i].high_bytes != expected[i].kib * (double)FT_KIB || exits[i].parent != 1)
      fail_msg("%zu: process %d, %d, %g", i, (int)exits[i].pid, exits[i].forked,
               exits[i].high_bytes);
  close(pair[0]);
  close(pair[1]);
}

static void messages_that_are_cut_or_wrong_are_passed_over(void **state)
{
  static const struct thread thread = { 10, 10, 1, AGROUP, 100 };
  static struct ft_exit exits[FT_EXITS_LIMIT];
  struct message message;
  size_t whole = make(&message, &thread, sizeof(struct taskstats)), told = 0;
  int pair[2];
  bool more, lost;

  (void)state;
  assert_int_equal(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair), 0);
  /* cut at each byte, the kernel's length as it was */
  for (size_t length = 0; length < whole; length++) {
    assert_int_equal(send(pair[1], &message, length, 0), (ssize_t)length);
    told += ft_taskstats_read(pair[0], exits, &more, &lost);
  }
  /* and each byte of its headers as it should not be */
  for (size_t at = 0; at < offsetof(struct message, content) + 2; at++)
    for (int value = 0; value < 256; value += 51) {
      make(&message, &thread, sizeof(struct taskstats));
      ((char *)&message)[at] = (char)value;
      (void)send(pair[1], &message, whole, 0);
      told += ft_taskstats_read(pair[0], exits, &more, &lost) > 1;
    }
  /* a kernel from before the process's number stood there, and one of tomorrow */
  (void)send(pair[1], &message, make(&message, &thread, offsetof(struct taskstats, ac_tgid)), 0);
  told += ft_taskstats_read(pair[0], exits, &more, &lost);
  assert_int_equal(told, 0);
  (void)send(pair[1], &message, make(&message, &thread, sizeof(struct taskstats) + 64), 0);
  assert_int_equal(ft_taskstats_read(pair[0], exits, &more, &lost), 1);
  close(pair[0]);
  close(pair[1]);
}

#endif

/* ---- processes ---- */

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

/* As much as makes this process one of MIB: a sanitizer's own memory is in it. */
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

/* The brief children, each in a parent of PARENT_MIB. */

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

/* What it writes of its parent's pages is its own from then on. */
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

  /* the same in all: what a forked child shares is all of the parent */
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
  assert_int_equal(ft_tree_add_root(watch->tree, getpid(), true, &err), 0);
  ft_measure_sample(watch->measure);
  assert_int_equal(pipe(watch->go), 0);
  assert_int_equal(pipe(watch->told), 0);
}

/* Until the parent has said something, or has ended. */
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

/* The parent runs and was sampled; BODY waits for what follows. */
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

static void strangers_are_not_in_it(void **state)
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
  /* another job's, which has nothing to do with it: its root is not ours */
  ft_tree_close(watch.tree, NULL);
  watch.tree = ft_tree_open(watch.measure, &err);
  other = ft_tree_open(watch.measure, &err);
  assert_non_null(seen);
  pid = fork();
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    take_mib(BESIDE_MIB);
    (void)!write(watch.told[1], "", 1);
    (void)!read(watch.go[0], &byte, 1);
    own_program(NULL);
    (void)!write(watch.told[1], "", 1);
    pause();
  }
  hear(&watch);
  assert_int_equal(ft_tree_add_root(watch.tree, pid, false, &err), 0);
  for (int i = 0; i < 3; i++)
    ft_measure_sample(watch.measure);
  assert_int_equal(write(watch.go[1], "", 1), 1);
  hear(&watch);
  /* told at the other's end, and kept for whom it belongs to */
  ft_tree_close(other, seen);
  assert_false(seen->has_rss_bytes && seen->rss_bytes > 0);
  kill(pid, SIGKILL);
  assert_int_equal(waitpid(pid, NULL, 0), pid);
  watch_close(&watch);
  assert_in_range(watch.seen.rss_bytes, (CHILD_MIB + BESIDE_MIB) * FT_MIB,
                  (CHILD_MIB + BESIDE_MIB + 20) * FT_MIB);
  free(seen);
}

/* The queue of this process's netlink socket as small as the kernel makes one. */
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

static void a_loss_of_records_makes_a_bound(void **state)
{
  static const struct {
    const char *what;
    ft_rule rule;
    double charge_mib; /* the kernel's own peak; 0: not told */
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
    watch.tree->most.charge_less_cache_bytes = end.has_charge_bytes ? 400 * MIB : -1;
    ft_tree_note_end(watch.tree, &end);
    watch_to_the_end(&watch);
    if (watch.seen.peak_is_bound != cases[i].bound)
      fail_msg("%s: %d", cases[i].what, watch.seen.peak_is_bound);
    assert_in_range(watch.seen.rss_bytes, 0.97 * PARENT_MIB * MIB, 1.04 * PARENT_MIB * MIB);
  }
}

int main(int argc, char **argv)
{
  const struct CMUnitTest tests[] = {
#if TASKSTATS_VERSION >= 12
    cmocka_unit_test(ends_are_read_by_process),
    cmocka_unit_test(messages_that_are_cut_or_wrong_are_passed_over),
#endif
    cmocka_unit_test(a_child_between_two_samples_is_in_the_peak),
    cmocka_unit_test(a_loss_of_records_makes_a_bound),
    cmocka_unit_test(strangers_are_not_in_it),
  };

  self = argv[0];
  if (argc > 1 && strcmp(argv[1], "child") == 0) {
    fill_up(CHILD_MIB);
    return 0;
  }
  return cmocka_run_group_tests(tests, NULL, NULL);
}
