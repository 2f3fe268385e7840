/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The counting samplers: perf's software events against getrusage of the children, NVML against a
 * fake library, PAPI as far as this machine has counters (tests/guest/arm64 has some), hwloc
 * against machines stored as XML.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent/measure/attach.h"
#include "agent/measure/gpu_driver.h"
#include "agent/measure/nvml.h"
#include "agent/measure/papi.h"
#include "predictor/core/units.h"
#include "tests/unit/unit.h"

/* ---- process trees under control of the test ---- */

static char self[4096];

static double cpu_seconds(void)
{
  struct timespec now;

  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void spin(double seconds)
{
  while (cpu_seconds() < seconds)
    ;
}

static void touch(size_t pages)
{
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  char *memory =
      mmap(NULL, pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

  madvise(memory, pages * page, MADV_NOHUGEPAGE);
  for (size_t i = 0; i < pages; i++)
    memory[i * page] = 1;
  munmap(memory, pages * page);
}

static void await(int fd)
{
  char byte;

  if (read(fd, &byte, 1) != 1)
    _exit(1);
}

struct worker {
  pid_t pid;
  int start; /* one byte starts one process of it */
};

/* Starts a process that runs WORK(fd); WORK waits on fd itself. */
static struct worker begin(void (*work)(int))
{
  struct worker worker;
  int pipes[2];

  assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
  worker.pid = fork();
  if (worker.pid == 0) {
    close(pipes[1]);
    work(pipes[0]);
    _exit(0);
  }
  close(pipes[0]);
  worker.start = pipes[1];
  return worker;
}

static void go(const struct worker *worker, size_t processes)
{
  assert_int_equal(write(worker->start, "goon", processes), (ssize_t)processes);
}

/* Waits until PID has used SECONDS of CPU time, however loaded the machine is. */
static void await_cpu(pid_t pid, double seconds)
{
  struct timespec used;
  clockid_t clock;

  assert_int_equal(clock_getcpuclockid(pid, &clock), 0);
  do {
    usleep(5000);
    assert_int_equal(clock_gettime(clock, &used), 0);
  } while ((double)used.tv_sec + 1e-9 * (double)used.tv_nsec < seconds);
}

static void settle(void)
{
  usleep(50000);
}

static void work_forks(int fd)
{
  await(fd);
  for (int i = 0; i < 3; i++) {
    if (fork() == 0) {
      spin(0.15);
      touch(500);
      for (int n = 0; n < 20; n++)
        usleep(500);
      _exit(0);
    }
  }
  spin(0.15);
  while (wait(NULL) > 0)
    ;
}

/* Two processes, parent and child, both started before the counters are attached; both wait. */
static void work_had_child(int fd)
{
  if (fork() == 0) {
    await(fd);
    if (fork() == 0) {
      spin(0.3);
      _exit(0);
    }
    wait(NULL);
    _exit(0);
  }
  await(fd);
  spin(0.3);
  wait(NULL);
}

static void work_executes(int fd)
{
  await(fd);
  spin(0.3);
  if (fork() == 0)
    execl(self, self, "spin", NULL);
  wait(NULL);
}

static void work_late(int fd)
{
  spin(0.1);
  await(fd);
  spin(0.1);
}

/* A process of the job counts an event of its own until the byte comes. */
static void work_counts_itself(int fd)
{
  struct perf_event_attr attr = { .size = sizeof attr,
                                  .type = PERF_TYPE_SOFTWARE,
                                  .config = PERF_COUNT_SW_TASK_CLOCK,
                                  .exclude_kernel = 1 };

  if (fork() == 0) {
    if (syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC) < 0)
      _exit(1);
    await(fd);
    _exit(0);
  }
  wait(NULL);
}

/* ---- measuring them ---- */

static struct ft_measure *open_measure(void)
{
  struct ft_measure_settings settings = { .seconds = 0.1 };
  struct ft_error err;
  struct ft_measure *measure;

  settings.root_fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  measure = ft_measure_open(&settings, &err);
  if (!measure)
    fail_msg("%s", err.text);
  return measure;
}

static void close_measure(struct ft_measure *measure)
{
  int root = measure->settings.root_fd;

  ft_measure_close(measure);
  close(root);
}

static const struct ft_measure_report *report_of(const struct ft_measure *measure, const char *name)
{
  size_t count;
  const struct ft_measure_report *reports = ft_measure_reports(measure, &count);

  for (size_t i = 0; i < count; i++)
    if (strcmp(reports[i].name, name) == 0)
      return &reports[i];
  fail_msg("no sampler %s", name);
  return NULL;
}

static double counter(const ft_observation *out, const char *name)
{
  for (pb_size_t i = 0; i < out->counters_count; i++)
    if (strcmp(out->counters[i].name, name) == 0)
      return out->counters[i].value;
  return -1;
}

static struct ft_tree *open_tree(struct ft_measure *measure, pid_t root, bool skip_self)
{
  struct ft_error err;
  struct ft_tree *tree = ft_tree_open(measure, &err);

  if (!tree || ft_tree_add_root(tree, root, 0, skip_self, &err) < 0)
    fail_msg("%s", err.text);
  return tree;
}

static double clock_of(const struct rusage *usage)
{
  return (double)usage->ru_utime.tv_sec + (double)usage->ru_stime.tv_sec +
         1e-6 * (double)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec);
}

/* Samples until WORKER ends. Returns the kernel's resource usage of it and its waited-for
 * children. */
static struct rusage follow(struct ft_measure *measure, const struct worker *worker)
{
  struct rusage usage;
  int status;

  while (wait4(worker->pid, &status, WNOHANG, &usage) == 0) {
    ft_measure_sample(measure);
    usleep(5000);
  }
  close(worker->start);
  assert_int_equal(status, 0);
  return usage;
}

/* Returns the counts of WORKER, PROCESSES processes that are started, until its end. */
static struct rusage count(struct ft_measure *measure, struct worker worker, bool skip_self,
                           size_t processes, ft_observation *out)
{
  struct ft_tree *tree = open_tree(measure, worker.pid, skip_self);
  struct rusage usage;

  memset(out, 0, sizeof *out);
  go(&worker, processes);
  usage = follow(measure, &worker);
  ft_tree_close(tree, out);
  return usage;
}

/* Skips the test where perf does not work. */
static struct ft_measure *open_perf(void)
{
  struct ft_measure *measure = open_measure();
  const struct ft_measure_report *report = report_of(measure, "perf");

  if (report->works && !strstr(report->why, "paranoid"))
    return measure;
  print_message("perf: %s\n", report->why);
  close_measure(measure);
  skip();
  return NULL;
}

/* ---- perf ---- */

static void test_a_job_that_counts_itself_is_left_alone(void **unused)
{
  static ft_observation out;
  struct ft_measure *measure = open_perf();
  struct worker worker = begin(work_counts_itself);
  struct ft_tree *tree = open_tree(measure, worker.pid, false);

  (void)unused;
  memset(&out, 0, sizeof out);
  while (!tree->uses_counters) {
    ft_measure_sample(measure);
    usleep(5000);
  }
  ft_measure_sample(measure);
  assert_int_equal(measure->descriptors, tree->count); /* statm, no event */
  go(&worker, 1);
  follow(measure, &worker);
  ft_tree_close(tree, &out);
  assert_int_equal(out.counters_count, 1);
  assert_near(counter(&out, "own-counters"), 1, 0);
  close_measure(measure);
}

static void test_a_job_that_need_not_be_counted_is_not(void **unused)
{
  static ft_observation out;
  struct ft_measure *measure = open_perf();
  struct worker worker = begin(work_forks);
  struct ft_error err;
  struct ft_tree *tree = ft_tree_open(measure, &err);
  size_t before = measure->descriptors;

  (void)unused;
  memset(&out, 0, sizeof out);
  ft_tree_set_counted(tree, false);
  assert_int_equal(ft_tree_add_root(tree, worker.pid, 0, false, &err), 0);
  assert_int_equal(measure->descriptors, before + 1); /* statm */
  go(&worker, 1);
  follow(measure, &worker);
  ft_tree_close(tree, &out);
  assert_int_equal(out.counters_count, 0);
  assert_true(out.has_cpu_seconds);
  close_measure(measure);
}

/* The watchdog holds one of a processor's counters: three groups take turns. */
static void test_few_events_are_counted_beside_the_watchdog(void **unused)
{
  struct ft_measure measure = { .proc_fd = -1 };
  unsigned all = 0;
  char path[] = "/tmp/ft-watchdog-XXXXXX";

  (void)unused;
  assert_non_null(mkdtemp(path));
  measure.proc_fd = open(path, O_RDONLY | O_DIRECTORY);
  assert_int_equal(ft_counter_next_groups(&measure), FT_COUNTER_GROUPS);
  assert_int_equal(mkdirat(measure.proc_fd, "sys", 0700), 0);
  assert_int_equal(mkdirat(measure.proc_fd, "sys/kernel", 0700), 0);
  for (int on = 0; on < 2; on++) {
    int fd = openat(measure.proc_fd, "sys/kernel/nmi_watchdog", O_WRONLY | O_CREAT, 0600);

    assert_int_equal(write(fd, on ? "1\n" : "0\n", 2), 2);
    close(fd);
    for (int i = 0; i < 3; i++) {
      unsigned groups = ft_counter_next_groups(&measure);

      assert_int_equal(__builtin_popcount(groups), on ? 1 : 3);
      all |= on ? groups : 0;
    }
  }
  assert_int_equal(all, FT_COUNTER_GROUPS);
  unlinkat(measure.proc_fd, "sys/kernel/nmi_watchdog", 0);
  unlinkat(measure.proc_fd, "sys/kernel", AT_REMOVEDIR);
  unlinkat(measure.proc_fd, "sys", AT_REMOVEDIR);
  close(measure.proc_fd);
  rmdir(path);
}

static void test_perf_counts_each_process_once(void **unused)
{
  static ft_observation out;
  struct ft_measure *measure = open_perf();
  struct rusage usage;

  (void)unused;
  usage = count(measure, begin(work_forks), false, 1, &out);
  assert_near(1e-9 * counter(&out, "task-clock"), clock_of(&usage), 0.1);
  assert_near(counter(&out, "context-switches"), (double)(usage.ru_nvcsw + usage.ru_nivcsw), 0.1);
  assert_true(counter(&out, "cpu-migrations") >= 0);
  assert_true(out.has_minor_faults && out.has_major_faults);
  assert_in_range(out.minor_faults, 1500, (uint64_t)(1.1 * (double)usage.ru_minflt));
  assert_int_equal(measure->descriptors, 0);
  close_measure(measure);
}

static void test_perf_counts_faults_as_the_kernel_does(void **unused)
{
  static ft_observation out;
  struct ft_measure *measure = open_perf();
  struct worker worker;
  struct ft_tree *tree;
  void *state = calloc(1, ft_sampler_perf.state_size);
  struct rusage usage;
  struct ft_error err;

  (void)unused;
  memset(&out, 0, sizeof out);
  worker = begin(work_forks);
  settle();
  tree = ft_tree_open(measure, &err);
  assert_non_null(tree);
  assert_int_equal(ft_sampler_perf.open(measure, tree, state), 0);
  assert_int_equal(ft_tree_add_root(tree, worker.pid, 0, false, &err), 0);
  ft_sampler_perf.added(measure, tree, state);
  go(&worker, 1);
  usage = follow(measure, &worker);
  ft_sampler_perf.close(measure, tree, state, &out);
  /* the kernel also counts faults before the attachment; a fork has a few dozen */
  assert_in_range(out.minor_faults, (uint64_t)usage.ru_minflt - 300, (uint64_t)usage.ru_minflt);
  assert_int_equal(out.major_faults, usage.ru_majflt);
  free(state);
  ft_tree_close(tree, NULL);
  close_measure(measure);
}

static void test_perf_attaches_to_what_ran_before(void **unused)
{
  static ft_observation out;
  struct ft_measure *measure = open_perf();
  struct worker worker;

  (void)unused;
  worker = begin(work_had_child);
  settle();
  (void)count(measure, worker, false, 2, &out);
  assert_near(1e-9 * counter(&out, "task-clock"), 0.6, 0.1);
  close_measure(measure);
}

static void test_perf_leaves_out_a_skipped_root(void **unused)
{
  static ft_observation out;
  struct ft_measure *measure = open_perf();
  struct rusage usage;

  (void)unused;
  usage = count(measure, begin(work_executes), true, 1, &out);
  assert_true(clock_of(&usage) > 0.55);
  /* the program spins until its own CPU clock is 0.3 s; exec does not reset that clock */
  assert_near(1e-9 * counter(&out, "task-clock"), 0.3, 0.15);
  close_measure(measure);
}

static void test_perf_counts_several_trees_separately(void **unused)
{
  static ft_observation out[2];
  struct ft_measure *measure = open_perf();
  struct worker workers[2];
  struct ft_tree *trees[2];

  (void)unused;
  memset(out, 0, sizeof out);
  workers[0] = begin(work_forks);
  workers[1] = begin(work_had_child);
  settle();
  for (int i = 0; i < 2; i++)
    trees[i] = open_tree(measure, workers[i].pid, false);
  go(&workers[0], 1);
  go(&workers[1], 2);
  for (int i = 0; i < 2; i++) {
    follow(measure, &workers[i]);
    ft_tree_close(trees[i], &out[i]);
  }
  assert_near(1e-9 * counter(&out[0], "task-clock"), 0.6, 0.15);
  assert_near(1e-9 * counter(&out[1], "task-clock"), 0.6, 0.15);
  close_measure(measure);
}

static void test_counts_of_part_of_a_run_are_not_reported(void **unused)
{
  static ft_observation out;
  struct ft_measure *measure = open_perf();
  struct worker worker;

  (void)unused;
  worker = begin(work_late);
  await_cpu(worker.pid, 0.1);
  (void)count(measure, worker, false, 1, &out);
  assert_true(counter(&out, "task-clock") < 0);
  close_measure(measure);
}

static void refuse_perf(void)
{
  struct sock_filter filter[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = { .len = COUNT_OF(filter), .filter = filter };

  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
    _exit(2);
}

static void test_perf_reports_why_it_is_denied(void **unused)
{
  pid_t pid = fork();
  int status;

  (void)unused;
  if (pid == 0) {
    struct ft_measure *measure;
    const struct ft_measure_report *perf;

    refuse_perf();
    measure = open_measure();
    perf = report_of(measure, "perf");
    _exit(!perf->works && strstr(perf->why, "seccomp") ? 0 : 1);
  }
  assert_int_equal(waitpid(pid, &status, 0), pid);
  assert_int_equal(status, 0);
}

/* ---- PAPI ---- */

/* Anonymous memory of this process, page by page: statm lags behind by the per-CPU counters. */
static double anonymous_bytes(void)
{
  char text[4096];
  struct ft_text line;
  uint64_t kib = 0;
  int fd = open("/proc/self/smaps_rollup", O_RDONLY | O_CLOEXEC);
  const char *at;

  assert_true(ft_proc_reread(fd, text, sizeof text) > 0);
  close(fd);
  at = strstr(text, "\nAnonymous:");
  assert_non_null(at);
  line = ft_text_from(at + strlen("\nAnonymous:"));
  while (ft_text_skip(&line, " "))
    ;
  assert_true(ft_text_u64(&line, UINT64_MAX, &kib));
  return (double)kib * 1024;
}

static void test_missing_papi_is_reported(void **unused)
{
  struct ft_measure_report report = { 0 };

  (void)unused;
  assert_false(ft_papi_probe("libpapi-of-nobody.so.0", &report));
  assert_true(strstr(report.why, "apt-get install"));
}

static void test_papi_is_quiet_and_leaves_no_memory(void **unused)
{
  struct ft_measure_report report = { 0 };
  FILE *caught = tmpfile();
  int kept = dup(STDERR_FILENO);
  double before;
  long said;
  bool works;

  (void)unused;
  fflush(stderr);
  dup2(fileno(caught), STDERR_FILENO);
  works = ft_papi_probe(NULL, &report);
  before = anonymous_bytes();
  for (int i = 0; i < 20; i++)
    assert_true(ft_papi_probe(NULL, &report) == works);
  said = lseek(STDERR_FILENO, 0, SEEK_CUR);
  dup2(kept, STDERR_FILENO);
  close(kept);
  fclose(caught);
  assert_int_equal(said, 0);
  assert_true(report.why[0]);
#ifndef __SANITIZE_ADDRESS__
  /* On an unknown processor PAPI 7.0.1 leaks 208 KiB at each load and unload; an agent loads it
   * once. */
  if (!strstr(report.why, "no default PMU"))
    assert_true(anonymous_bytes() - before < 512 << 10);
#else
  (void)before;
#endif
}

static void test_papi_or_perf_counts_instructions_where_there_are_any(void **unused)
{
  static ft_observation out;
  struct ft_measure *measure = open_measure();
  const char *name = report_of(measure, "papi")->works ? "PAPI_TOT_INS" : "instructions";
  bool has = report_of(measure, "papi")->works || strstr(report_of(measure, "perf")->why, name);

  (void)unused;
  (void)count(measure, begin(work_forks), false, 1, &out);
  if (has)
    assert_true(counter(&out, name) > 1e6);
  else
    assert_true(counter(&out, name) < 0);
  close_measure(measure);
}

static void test_counters_stop_at_their_limit(void **unused)
{
  static ft_observation out;
  const size_t limit = COUNT_OF(out.counters);
  char name[16];

  (void)unused;
  memset(&out, 0, sizeof out);
  for (size_t i = 0; i < limit; i++) {
    snprintf(name, sizeof name, "counter %zu", i);
    assert_int_equal(ft_counter_add(&out, name, 1), 0);
  }
  assert_int_equal(ft_counter_add(&out, "one more", 1), -1);
  assert_int_equal(ft_counter_add(&out, "counter 3", 2), 0);
  assert_near(counter(&out, "counter 3"), 3, 0);
}

/* ---- NVML, with a fake library ---- */

static const char *fake(void)
{
  static char path[4096];

  snprintf(path, sizeof path, "%s/tests/unit/.libs/libfakenvml.so", getenv("FT_TOP_BUILDDIR"));
  return path;
}

static void script(const char *name, bool mig)
{
  char pid[16];

  snprintf(pid, sizeof pid, "%d", (int)getpid());
  setenv("FT_FAKE_NVML", name, 1);
  setenv("FT_FAKE_NVML_PID", pid, 1);
  if (mig)
    setenv("FT_FAKE_NVML_MIG", "1", 1);
  else
    unsetenv("FT_FAKE_NVML_MIG");
}

/* Samples the scripted GPUs LOOKS times, SECONDS apart, for a tree of this process alone. */
static void sample_gpus(int looks, double seconds, ft_observation *out, struct ft_sample *sample)
{
  struct ft_measure_report report;
  struct ft_measure measure = { .now = 1, .proc_fd = -1 };
  struct ft_tree tree = { .measure = &measure };
  struct ft_stat stat = { .session = 1 };
  void *state = calloc(1, ft_sampler_nvml.state_size);

  memset(out, 0, sizeof *out);
  assert_non_null(ft_tree_add_member(&tree, getpid(), &stat));
  tree.members[0].root = true;
  assert_true(ft_gpu_driver_probe(fake(), &report));
  assert_int_equal(ft_sampler_nvml.open(&measure, &tree, state), 0);
  for (int i = 0; i < looks; i++) {
    sample->gpu_bytes = -1;
    ft_sampler_nvml.sample(&measure, &tree, state, sample);
    measure.now += seconds;
  }
  ft_sampler_nvml.last(&measure, &tree, state);
  ft_sampler_nvml.close(&measure, &tree, state, out);
  ft_tree_free_members(&tree);
  free(state);
}

static void test_nvml_measures_a_job_on_a_gpu(void **unused)
{
  static ft_observation out;
  struct ft_sample sample;

  (void)unused;
  script("gpus", false);
  sample_gpus(4, 10, &out, &sample);
  assert_near(sample.gpu_bytes, 3.0 * (double)FT_GIB, 0);
  assert_true(out.has_gpu_memory_bytes);
  assert_int_equal(out.gpu_memory_bytes, 3 * FT_GIB);
  assert_string_equal(out.gpu_name, "NVIDIA A100-SXM4-40GB");
  assert_string_equal(out.mig_profile, "");
  assert_true(out.has_gpu_energy_joules && out.has_gpu_utilisation);
  assert_near(out.gpu_energy_joules, 5 * 1.5, 1e-9); /* the last at the end of the job */
  assert_near(out.gpu_utilisation, 0.5, 1e-9);
  assert_true(out.has_gpu_transfer_bytes);
  assert_int_equal(out.gpu_transfer_bytes, 5 * (1000 + 500));
}

static void test_nvml_does_not_pause_for_a_few_slow_queries(void **unused)
{
  static ft_observation out;
  struct ft_sample sample;

  (void)unused;
  script("gpus", false);
  setenv("FT_FAKE_NVML_BUSY", "3", 1);
  sample_gpus(3, 0.001, &out, &sample);
  unsetenv("FT_FAKE_NVML_BUSY");
  assert_int_equal(out.gpu_transfer_bytes, 4 * (1000 + 500));
}

static void test_nvml_counts_a_shared_gpu_for_no_job(void **unused)
{
  static ft_observation out;
  struct ft_sample sample;

  (void)unused;
  script("shared", false);
  sample_gpus(4, 10, &out, &sample);
  assert_int_equal(out.gpu_memory_bytes, 3 * FT_GIB);
  assert_false(out.has_gpu_energy_joules || out.has_gpu_utilisation || out.has_gpu_transfer_bytes);
}

static void test_nvml_measures_a_mig_instance(void **unused)
{
  static ft_observation out;
  struct ft_sample sample;
  struct ft_nvml *nvml;
  char profile[32];
  double part;

  (void)unused;
  script("gpus", true);
  sample_gpus(2, 10, &out, &sample);
  assert_int_equal(out.gpu_memory_bytes, 4 * FT_GIB); /* sum of both GPUs */
  assert_false(out.has_gpu_utilisation);
  /* the counter of the fake grows by 1.5 J a reading of any GPU: the first and the last reading of
   * the undivided GPU are 6 apart, those of the divided one 6, of which 2c.3g.20gb has 2 / 7 */
  assert_true(out.has_gpu_energy_joules);
  assert_near(out.gpu_energy_joules, 6 * 1.5 * (1 + 2.0 / 7), 1e-9);

  nvml = ft_nvml_open(fake(), NULL);
  assert_int_equal(ft_nvml_devices(nvml), 2); /* the third is lost from the bus */
  assert_true(ft_nvml_mig_profile(nvml, 1, 0, profile, sizeof profile));
  assert_string_equal(profile, "1g.5gb"); /* the driver's name */
  assert_true(ft_nvml_mig_profile(nvml, 1, 1, profile, sizeof profile));
  assert_string_equal(profile, "2c.3g.20gb"); /* from its slices and memory */
  assert_false(ft_nvml_mig_profile(nvml, 1, 2, profile, sizeof profile));
  assert_false(ft_nvml_mig_profile(nvml, 0, -1, profile, sizeof profile));
  assert_false(ft_nvml_mig_profile(nvml, 7, 0, profile, sizeof profile));
  assert_true(ft_nvml_mig_part(nvml, 1, 0, &part));
  assert_near(part, 1.0 / 7, 1e-12);
  assert_false(ft_nvml_mig_part(nvml, 0, 0, &part) || ft_nvml_mig_part(nvml, 7, 0, &part));
  ft_nvml_close(nvml);
}

static void test_nvml_reports_nothing_for_a_job_without_gpu(void **unused)
{
  static ft_observation out;
  struct ft_sample sample;

  (void)unused;
  script("idle", false);
  sample_gpus(3, 10, &out, &sample);
  assert_true(sample.gpu_bytes < 0);
  assert_false(out.has_gpu_memory_bytes || out.has_gpu_energy_joules || out.has_gpu_utilisation);
  assert_string_equal(out.gpu_name, "");
}

static void test_nvml_reports_what_is_missing(void **unused)
{
  const struct {
    const char *library, *script, *says;
  } cases[] = {
    { "libnvidia-ml-of-nobody.so.1", "gpus", "no NVIDIA driver" },
    { "libm.so.6", "gpus", "has no nvmlInit_v2" },
    { NULL, "driver", "Driver Not Loaded" },
    { NULL, "none", "finds no GPU" },
  };
  struct ft_measure_report report;

  (void)unused;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    script(cases[i].script, false);
    assert_false(ft_gpu_driver_probe(cases[i].library ? cases[i].library : fake(), &report));
    if (!strstr(report.why, cases[i].says))
      fail_msg("\"%s\" does not say \"%s\"", report.why, cases[i].says);
  }
}

/* The first call of a driver may never return. Samples go on, and the child is replaced. */
static void test_nvml_that_never_returns_stops_no_sample(void **unused)
{
  const struct ft_supervised_limits limits = ft_supervised_limits;
  const struct ft_supervised *child = ft_gpu_driver_child();
  struct ft_measure_report report = { 0 };
  struct ft_measure measure = { .now = 1, .proc_fd = -1 };
  struct ft_tree tree = { .measure = &measure };
  struct ft_sample sample = { .gpu_bytes = -1 };
  static ft_observation out;
  void *state = calloc(1, ft_sampler_nvml.state_size);
  uint64_t before = child->replaced;

  (void)unused;
  script("gpus", false);
  assert_true(ft_gpu_driver_probe(fake(), &report));
  assert_false(report.blocked);
  script("stuck", false);
  ft_supervised_limits = (struct ft_supervised_limits){ 0.001, 0 };
  assert_int_equal(ft_sampler_nvml.open(&measure, &tree, state), 0);
  for (int i = 0; i < 100; i++, measure.now++)
    ft_sampler_nvml.sample(&measure, &tree, state, &sample);
  assert_true(sample.gpu_bytes < 0);
  assert_true(ft_supervised_is_blocked(child));
  assert_true(child->replaced > before);
  ft_sampler_nvml.last(&measure, &tree, state);
  ft_sampler_nvml.close(&measure, &tree, state, &out);
  assert_false(out.has_gpu_memory_bytes);
  ft_supervised_limits = limits;
  free(state);
}

/* ---- the fingerprint ---- */

static void test_fingerprint_of_a_recorded_machine(void **unused)
{
  const struct {
    const char *file, *line;
  } cases[] = {
    { "two-packages.xml",
      "AMD EPYC 7763; 2 packages, 8 cores, 2 threads a core; L3 32 MiB; 512 GiB" },
    { "no-threads.xml", "Intel Xeon Gold 6130; 1 package, 4 cores; L3 22 MiB; 192 GiB" },
    { "arm64.xml", "aarch64 implementer 0x41 part 0xd0c; 1 package, 4 cores; 64 GiB" },
  };
  char path[4096], line[256];
  struct ft_error err;

  (void)unused;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    snprintf(path, sizeof path, "%s/tests/fixtures/hwloc/%s", getenv("FT_TOP_SRCDIR"),
             cases[i].file);
    setenv("HWLOC_XMLFILE", path, 1);
    assert_int_equal(ft_platform_fingerprint(line, sizeof line, &err), 0);
    assert_string_equal(line, cases[i].line);
    assert_int_equal(ft_platform_fingerprint(line, 12, &err), 0);
    assert_int_equal(strlen(line), 11);
  }
  unsetenv("HWLOC_XMLFILE");
}

static void test_fingerprint_leaves_no_memory(void **unused)
{
  char line[256];
  struct ft_error err;
  double before;

  (void)unused;
  assert_int_equal(ft_platform_fingerprint(line, sizeof line, &err), 0);
  assert_true(strstr(line, "package") && strstr(line, "core"));
  before = anonymous_bytes();
  for (int i = 0; i < 20; i++)
    assert_int_equal(ft_platform_fingerprint(line, sizeof line, &err), 0);
#ifndef __SANITIZE_ADDRESS__
  assert_true(anonymous_bytes() - before < 256 << 10);
#else
  (void)before;
#endif
}

int main(int argc, char **argv)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_perf_counts_each_process_once),
    cmocka_unit_test(test_a_job_that_counts_itself_is_left_alone),
    cmocka_unit_test(test_a_job_that_need_not_be_counted_is_not),
    cmocka_unit_test(test_few_events_are_counted_beside_the_watchdog),
    cmocka_unit_test(test_perf_counts_faults_as_the_kernel_does),
    cmocka_unit_test(test_perf_attaches_to_what_ran_before),
    cmocka_unit_test(test_perf_leaves_out_a_skipped_root),
    cmocka_unit_test(test_perf_counts_several_trees_separately),
    cmocka_unit_test(test_counts_of_part_of_a_run_are_not_reported),
    cmocka_unit_test(test_perf_reports_why_it_is_denied),
    cmocka_unit_test(test_missing_papi_is_reported),
    cmocka_unit_test(test_papi_is_quiet_and_leaves_no_memory),
    cmocka_unit_test(test_papi_or_perf_counts_instructions_where_there_are_any),
    cmocka_unit_test(test_counters_stop_at_their_limit),
    cmocka_unit_test(test_nvml_measures_a_job_on_a_gpu),
    cmocka_unit_test(test_nvml_does_not_pause_for_a_few_slow_queries),
    cmocka_unit_test(test_nvml_counts_a_shared_gpu_for_no_job),
    cmocka_unit_test(test_nvml_measures_a_mig_instance),
    cmocka_unit_test(test_nvml_reports_nothing_for_a_job_without_gpu),
    cmocka_unit_test(test_nvml_reports_what_is_missing),
    cmocka_unit_test(test_nvml_that_never_returns_stops_no_sample),
    cmocka_unit_test(test_fingerprint_of_a_recorded_machine),
    cmocka_unit_test(test_fingerprint_leaves_no_memory),
  };

  if (argc == 2 && strcmp(argv[1], "spin") == 0) {
    spin(0.3);
    return 0;
  }
  if (readlink("/proc/self/exe", self, sizeof self - 1) < 0)
    return 1;
  ft_supervised_limits = (struct ft_supervised_limits){ 60, 60 };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
