/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The samplers on real processes of this machine. */
#include "config.h"

#include "tests/unit/watch.h"

#include <dirent.h>
#include <pthread.h>
#include <sys/resource.h>

#include "predictor/core/text.h"

static bool has_no_process(struct watch *watch)
{
  return ft_tree_latest(watch->tree)->processes == 0;
}

static void a_child_is_found_and_its_end_too(void **state)
{
  struct watch watch;
  pid_t pid;

  (void)state;
  watch_open(&watch);
  assert_true(watch.measure->own_proc);
  pid = begin(hold_64);
  sample_until(&watch, has_64);
  assert_int_equal(ft_tree_latest(watch.tree)->processes, 1);
  assert_true(ft_tree_latest(watch.tree)->rss_bytes < 128.0 * FT_MIB);
  end(pid);
  sample_until(&watch, has_no_process);
  assert_int_equal(watch.tree->count, 1);
  watch_close(&watch);
  assert_true(watch.seen.rss_bytes >= 64 * FT_MIB);
}

static void *idle(void *argument)
{
  pause();
  return argument;
}

static void eight_threads(void)
{
  pthread_t thread;

  for (int i = 0; i < 8; i++)
    if (pthread_create(&thread, NULL, idle, NULL))
      _exit(9);
  hold(64);
  pause();
}

static void threads_do_not_count_as_processes(void **state)
{
  struct watch watch;
  pid_t pid;

  (void)state;
  watch_open(&watch);
  pid = begin(eight_threads);
  sample_until(&watch, has_64);
  assert_int_equal(ft_tree_latest(watch.tree)->processes, 1);
  assert_true(ft_tree_latest(watch.tree)->rss_bytes < 128.0 * FT_MIB);
  for (size_t i = 0; i < watch.tree->count; i++) {
    watch.tree->members[i].next_details = 0;
    watch.tree->members[i].changed = true;
    watch.tree->polls[i].details_due = 0;
  }
  ft_measure_sample(watch.measure);
  assert_int_equal(ft_tree_latest(watch.tree)->threads, 9);
  end(pid);
  watch_close(&watch);
}

/* While it holds 64 MiB, its child holds 96 MiB for 50 ms between two samples. */
static void brief_child(void)
{
  struct timespec pause = { 0, 50000000 };
  pid_t pid = fork();

  if (pid == 0) {
    hold(96);
    nanosleep(&pause, NULL);
    _exit(0);
  }
  waitpid(pid, NULL, 0);
}

static void a_child_between_two_samples_is_in_the_peak(void **state)
{
  struct watch watch;
  struct rusage usage;
  ft_task_end told = ft_task_end_init_zero;
  pid_t pid;

  (void)state;
  watch_open(&watch);
  pid = begin(brief_child);
  assert_int_equal(waitpid(pid, NULL, 0), pid);
  ft_measure_sample(watch.measure);
  assert_int_equal(ft_tree_latest(watch.tree)->processes, 0);
  assert_int_equal(getrusage(RUSAGE_CHILDREN, &usage), 0);
  told.has_largest_process_bytes = true;
  told.largest_process_bytes = (uint64_t)usage.ru_maxrss * FT_KIB;
  ft_tree_add_end(watch.tree, &told);
  watch_close(&watch);
  assert_true(watch.seen.rss_bytes >= 96 * FT_MIB);
}

/* ---- unchanged processes are not read at every sample ---- */

static int spike_flags, spike_advice;

static char *take_mib(size_t mib, int flags, int advice)
{
  char *memory = mmap(NULL, mib << 20, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);

  if (memory == MAP_FAILED)
    _exit(9);
  if (advice)
    (void)madvise(memory, mib << 20, advice);
  memset(memory, 1, mib << 20);
  return memory;
}

/* Unchanged until the signal, then 96 MiB for a moment; then as before plus 1 MiB. */
static void spike(void)
{
  char byte;

  if (read(gates.go[0], &byte, 1) != 1)
    _exit(9);
  munmap(take_mib(96, spike_flags, spike_advice), 96 << 20);
  take_mib(1, MAP_PRIVATE, 0);
  if (write(gates.told[1], "", 1) != 1)
    _exit(9);
  (void)!read(gates.go[0], &byte, 1);
}

static void the_peak_of_an_unchanged_process_between_readings_is_counted(void **state)
{
  static const struct {
    const char *what;
    int flags, advice;
  } cases[] = {
    { "memory of its own", MAP_PRIVATE, MADV_NOHUGEPAGE },
    { "shared memory", MAP_SHARED, 0 },
    { "huge pages", MAP_PRIVATE, MADV_HUGEPAGE },
  };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct watch watch;
    struct rusage usage;
    double most;
    pid_t pid;
    char byte;

    open_gates();
    watch_open(&watch);
    spike_flags = cases[i].flags;
    spike_advice = cases[i].advice;
    pid = begin(spike);
    /* after its first second; the interval between two readings is then 1 s */
    sample_for(&watch, 2.3, 115);
    assert_int_equal(write(gates.go[1], "", 1), 1);
    assert_int_equal(read(gates.told[0], &byte, 1), 1);
    sample_for(&watch, 0.4, 20);
    assert_int_equal(write(gates.go[1], "", 1), 1);
    assert_int_equal(wait4(pid, NULL, 0, &usage), pid);
    watch_close(&watch);
    close_gates();
    most = (double)usage.ru_maxrss * FT_KIB;
    if (most < 96.0 * FT_MIB || (double)watch.seen.rss_bytes < 0.98 * most ||
        (double)watch.seen.rss_bytes > 1.02 * most)
      fail_msg("%s: %.1f MiB, the kernel says %.1f", cases[i].what,
               (double)watch.seen.rss_bytes / (double)FT_MIB, most / (double)FT_MIB);
  }
}

static void rank(void)
{
  char byte;

  if (read(gates.go[0], &byte, 1) != 1)
    _exit(9);
  hold(8);
  if (write(gates.told[1], "", 1) != 1)
    _exit(9);
  pause();
}

/* Returns the resident bytes of COUNT processes, by the kernel. */
static double sum_of_ranks(const pid_t *pids, size_t count)
{
  double bytes = 0;

  for (size_t i = 0; i < count; i++) {
    char name[32], text[128];
    struct ft_text cursor;
    uint64_t pages;
    ssize_t length;
    int fd;

    (void)snprintf(name, sizeof name, "/proc/%d/statm", (int)pids[i]);
    fd = open(name, O_RDONLY | O_CLOEXEC);
    length = read(fd, text, sizeof text - 1);
    assert_true(length > 0);
    close(fd);
    text[length] = '\0';
    cursor = ft_text_from(strchr(text, ' ') + 1);
    assert_true(ft_text_u64(&cursor, UINT64_MAX, &pages));
    bytes += (double)pages * (double)sysconf(_SC_PAGESIZE);
  }
  return bytes;
}

/* Whether ranks that grow together after SETTLING samples without change are all counted at one of
 * the next LATER samples. */
static void ranks_add_up(int settling, int later)
{
  enum { RANKS = 40 };
  struct watch watch;
  pid_t pids[RANKS];
  double before, own, grown, expected;
  char byte;

  open_gates();
  watch_open(&watch);
  for (size_t i = 0; i < RANKS; i++)
    pids[i] = begin(rank);
  sample_for(&watch, 0.5, settling);
  assert_int_equal(ft_tree_latest(watch.tree)->processes, RANKS);
  before = ft_tree_latest(watch.tree)->rss_bytes;
  own = sum_of_ranks(pids, RANKS);
  for (size_t i = 0; i < RANKS; i++)
    assert_int_equal(write(gates.go[1], "", 1), 1);
  for (size_t i = 0; i < RANKS; i++)
    assert_int_equal(read(gates.told[0], &byte, 1), 1);
  for (int i = 0; i < later; i++)
    ft_measure_sample(watch.measure);
  /* The kernel's counts of pages lag behind, on a busy machine by some dozen pages on each
   * processor, so they are compared with themselves: all ranks rest now. */
  grown = (ft_tree_latest(watch.tree)->rss_bytes - before) / FT_MIB;
  expected = (sum_of_ranks(pids, RANKS) - own) / FT_MIB;
  assert_true(expected >= 7.5 * RANKS);
  if (!(grown >= expected - 4))
    fail_msg("%g MiB more, by the kernel %g", grown, expected);
  for (size_t i = 0; i < RANKS; i++)
    end(pids[i]);
  watch_close(&watch);
  close_gates();
}

static void simultaneous_peaks_of_ranks_add_up(void **state)
{
  (void)state;
  /* idle: two of the forty are read at each sample */
  ranks_add_up(50, 3);
  /* at rest: one in seven or eight samples, whichever sample they grow at */
  for (int i = 0; i < 3; i++)
    ranks_add_up(600, 20);
}

static void ended_processes_are_not_added_to_later_ones(void **state)
{
  struct watch watch;
  pid_t pid;

  (void)state;
  watch_open(&watch);
  pid = begin(hold_64);
  sample_until(&watch, has_64);
  for (int round = 0; round < 3; round++) {
    for (int i = 0; i < 15; i++)
      ft_measure_sample(watch.measure);
    end(pid);
    pid = begin(hold_64);
    for (int i = 0; i < 15; i++) {
      ft_measure_sample(watch.measure);
      doze(0.01);
    }
  }
  end(pid);
  watch_close(&watch);
  assert_in_range(watch.seen.rss_bytes, 64 * FT_MIB, 90 * FT_MIB);
}

/* 64 MiB that stay, beside 300 children of 4 MiB that live for 5 ms, four at a time. */
static void storm(void)
{
  hold(64);
  for (int i = 0; i < 300; i++) {
    if (i >= 4)
      wait(NULL);
    if (fork() == 0) {
      hold(4);
      doze(0.005);
      _exit(0);
    }
  }
  while (wait(NULL) > 0)
    ;
}

static void a_fork_storm_neither_hides_nor_double_counts_memory(void **state)
{
  struct watch watch;
  struct rusage usage;
  double most;
  pid_t pid;

  (void)state;
  watch_open(&watch);
  pid = begin(storm);
  while (wait4(pid, NULL, WNOHANG, &usage) == 0) {
    ft_measure_sample(watch.measure);
    doze(0.02);
  }
  watch_close(&watch);
  most = (double)usage.ru_maxrss * FT_KIB;
  /* at most four children, each with its parent's pages and four MiB of its own */
  assert_true((double)watch.seen.rss_bytes >= 64.0 * FT_MIB);
  assert_true((double)watch.seen.rss_bytes <= 5 * most);
}

static const char *written_name;

static void write_8(void)
{
  static char block[1 << 20];
  int fd;

  /* two generations: the kernel adds a child's bytes to the parent that waits for it */
  if (fork() > 0) {
    wait(NULL);
    return;
  }
  fd = open(written_name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  for (int i = 0; i < 8; i++)
    if (write(fd, block, sizeof block) < 0)
      _exit(9);
  fsync(fd);
  _exit(0);
}

static void bytes_written_count_once(void **state)
{
  char name[] = "./written-XXXXXX";
  struct watch watch;
  int fd = mkstemp(name);

  (void)state;
  assert_true(fd >= 0);
  close(fd);
  written_name = name;
  watch_open(&watch);
  for (int i = 0; i < 2; i++) {
    pid_t pid = begin(write_8);

    assert_int_equal(waitpid(pid, NULL, 0), pid);
    ft_measure_sample(watch.measure);
  }
  unlink(name);
  watch_close(&watch);
  if (!watch.seen.has_write_bytes || watch.seen.write_bytes < FT_MIB)
    skip(); /* a file system without storage */
  assert_in_range(watch.seen.write_bytes, 16 * FT_MIB, 20 * FT_MIB);
}

static size_t open_descriptors(void)
{
  DIR *dir = opendir("/proc/self/fd");
  size_t count = 0;

  while (readdir(dir))
    count++;
  closedir(dir);
  return count;
}

static void nothing_stays_open(void **state)
{
  size_t before = open_descriptors();
  struct watch watch;
  pid_t pid;

  (void)state;
  watch_open(&watch);
  pid = begin(hold_64);
  sample_until(&watch, has_64);
  watch_close(&watch);
  assert_int_equal(open_descriptors(), before);
  end(pid);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(
        a_child_between_two_samples_is_in_the_peak), /* runs first: ru_maxrss covers all children */
    cmocka_unit_test(a_child_is_found_and_its_end_too),
    cmocka_unit_test(threads_do_not_count_as_processes),
    cmocka_unit_test(the_peak_of_an_unchanged_process_between_readings_is_counted),
    cmocka_unit_test(simultaneous_peaks_of_ranks_add_up),
    cmocka_unit_test(ended_processes_are_not_added_to_later_ones),
    cmocka_unit_test(a_fork_storm_neither_hides_nor_double_counts_memory),
    cmocka_unit_test(bytes_written_count_once),
    cmocka_unit_test(nothing_stays_open),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
