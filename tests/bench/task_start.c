/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Measures the CPU time of a task's start on a full node: of adding its root to a new tree and of
 * the sample that follows, above that of a sample without a start; and of the samples themselves.
 * Each of JOBS trees has PROCESSES processes, one of them a daemon whose parent has ended, which
 * its environment alone assigns to its job. As on a node, another process forks the jobs: a fork by
 * the one that is measured would copy its page tables, and the copies' faults would be counted.
 *
 *   task_start [JOBS [PROCESSES [CGROUP]]]    100 and 20
 *
 * With CGROUP, an existing cgroup of the memory controller (version 1), each job has a cgroup of
 * its own below it, laid out as Slurm's, and a slurmstepd, which is not measured: task_start 1000
 * 20 /sys/fs/cgroup/memory
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent/measure/measure.h"
#include "predictor/core/io.h"
#include "predictor/core/sort.h"
#include "predictor/core/text.h"

enum {
  STARTS = 50,
  SAMPLES = 400,
  SETTLING_SAMPLES = 400,
  TASK_PROCESSES = 4,
  REMOVAL_TRIES = 1000
};
/* Seconds between samples: the agent's default (sample_hz = 10). */
#define SAMPLE_SECONDS 0.1

/* Returns argument INDEX as a number, or FALLBACK without one. */
static uint64_t parse_argument(int argc, char **argv, int index, uint64_t fallback)
{
  struct ft_text text = ft_text_from(index < argc ? argv[index] : "");
  uint64_t value;

  return ft_text_u64(&text, 1 << 20, &value) && !ft_text_left(&text) ? value : fallback;
}

static double cpu_seconds(void)
{
  struct timespec used;

  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return (double)used.tv_sec + 1e-9 * (double)used.tv_nsec;
}

/* Ends this process when PARENT, which forked it, ends. */
static void end_with(pid_t parent)
{
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent)
    _exit(0);
}

static void wait_for_signal(void)
{
  for (;;)
    pause();
}

/* A pipe on which daemons wait: it closes when all other processes of the benchmark have ended. */
static int until_end[2];

/* Begins a daemon with MARK in its environment; its parent ends. */
static void begin_daemon(const char *mark)
{
  char *const environment[] = { (char *)mark, NULL };
  char *const arguments[] = { "cat", NULL };

  if (fork() > 0)
    _exit(0);
  setsid();
  if (dup2(until_end[0], STDIN_FILENO) >= 0)
    execve("/bin/cat", arguments, environment);
  _exit(1);
}

/* Below it each job has a cgroup; NULL: none. */
static const char *cgroup_root;

/* Levels of a job's cgroup: of the job, of the slurmstepd of its step, of its task. */
static const char *const cgroup_levels[] = { "", "/step_0", "/step_0/task_0" };
enum { LEVEL_STEP = 1, LEVEL_TASK = 2, LEVELS = 3 };

/* Writes the path of FILE in JOB's cgroup of LEVEL to OUT; of the cgroup itself if FILE is empty.
 */
static void cgroup_path(uint64_t job, size_t level, const char *file, char out[PATH_MAX])
{
  (void)snprintf(out, PATH_MAX, "%s/foretell-bench-%u%s%s", cgroup_root, (unsigned)job,
                 cgroup_levels[level], file);
}

/* Makes JOB's cgroups. */
static void make_cgroups(uint64_t job)
{
  char path[PATH_MAX];

  for (size_t level = 0; level < LEVELS; level++) {
    cgroup_path(job, level, "", path);
    if (mkdir(path, 0755) < 0)
      perror(path);
  }
}

/* Moves this process to JOB's cgroup of LEVEL. */
static void enter_cgroup(uint64_t job, size_t level)
{
  char path[PATH_MAX];
  int fd;

  cgroup_path(job, level, "/cgroup.procs", path);
  fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0 || write(fd, "0", 1) != 1) {
    perror(path);
    _exit(1);
  }
  close(fd);
}

/* Removes JOB's cgroups as soon as its processes have ended. */
static void remove_cgroups(uint64_t job)
{
  char path[PATH_MAX];

  for (size_t level = LEVELS; level-- > 0;) {
    cgroup_path(job, level, "", path);
    for (int i = 0; i < REMOVAL_TRIES && rmdir(path) < 0 && errno == EBUSY; i++)
      usleep(10000);
  }
}

/* Writes the environment variable of JOB to OUT. */
static void job_mark(uint64_t job, char out[64])
{
  (void)snprintf(out, 64, "SLURM_JOB_ID=%u", (unsigned)job);
}

/* What the process that forks the jobs is to do. */
struct order {
  pid_t end;    /* kill and reap this root; 0: begin a job, of: */
  uint64_t job; /* its number */
  uint64_t count;
  bool has_daemon;
};

/* Begins the job of ORDER in a session of its own. Returns the pid of its root. */
static pid_t begin_job(const struct order *order)
{
  pid_t parent = getpid(), root = fork(), child;
  char mark[64];

  if (root)
    return root;
  setsid();
  end_with(parent);
  if (cgroup_root) {
    prctl(PR_SET_NAME, "task");
    enter_cgroup(order->job, LEVEL_TASK);
  }
  job_mark(order->job, mark);
  parent = getpid();
  for (uint64_t i = 1; i < order->count; i++) {
    bool is_daemon = order->has_daemon && i == 1;

    child = fork();
    if (child == 0) {
      if (is_daemon)
        begin_daemon(mark);
      end_with(parent);
      wait_for_signal();
    }
    if (is_daemon)
      waitpid(child, NULL, 0);
  }
  wait_for_signal();
  return 0;
}

/* Begins the job of ORDER below a process in the place of its slurmstepd, which ends with it.
 * Returns the pid of the job's root; -1 on error. */
static pid_t begin_job_in_cgroup(const struct order *order)
{
  pid_t parent = getpid(), root = -1;
  int ends[2];

  make_cgroups(order->job);
  if (pipe2(ends, O_CLOEXEC) < 0)
    return -1;
  if (fork() == 0) {
    end_with(parent);
    prctl(PR_SET_NAME, "slurmstepd");
    enter_cgroup(order->job, LEVEL_STEP);
    root = begin_job(order);
    (void)!write(ends[1], &root, sizeof root);
    waitpid(root, NULL, 0);
    _exit(0);
  }
  close(ends[1]);
  if (read(ends[0], &root, sizeof root) != sizeof root)
    root = -1;
  close(ends[0]);
  return root;
}

/* Executes the orders that arrive at FD, and replies to each with the pid of the job's root. */
static void fork_jobs(int fd, pid_t parent)
{
  struct order order;

  end_with(parent);
  while (read(fd, &order, sizeof order) == sizeof order) {
    pid_t root = order.end;

    if (root) {
      kill(root, SIGKILL);
      waitpid(-1, NULL, 0);
    } else {
      root = cgroup_root ? begin_job_in_cgroup(&order) : begin_job(&order);
    }
    if (write(fd, &root, sizeof root) != sizeof root)
      break;
  }
  _exit(0);
}

/* Starts the process that forks the jobs. Returns the socket for orders; -1 with errno. */
static int start_forking(void)
{
  pid_t parent = getpid(), pid;
  int ends[2];

  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0 || (pid = fork()) < 0)
    return -1;
  if (pid == 0) {
    close(ends[0]);
    fork_jobs(ends[1], parent);
  }
  close(ends[1]);
  return ends[0];
}

/* Has ORDER executed. Returns the root's pid; exits on error. */
static pid_t give_order(int forking, struct order order)
{
  pid_t root;

  if (write(forking, &order, sizeof order) == sizeof order &&
      read(forking, &root, sizeof root) == sizeof root && root > 0)
    return root;
  fprintf(stderr, "task_start: cannot begin a job\n");
  exit(3);
}

/* Opens the tree of JOB, whose root is PID. Exits on error. */
static struct ft_tree *open_tree(struct ft_measure *measure, uint64_t job, pid_t pid)
{
  char mark[64];
  struct ft_error err = { 0 };
  struct ft_tree *tree = ft_tree_open(measure, &err);

  job_mark(job, mark);
  if (tree)
    ft_tree_set_mark(tree, mark, getuid());
  if (!tree || ft_tree_add_root(tree, pid, 0, false, &err) < 0) {
    fprintf(stderr, "task_start: %s\n", err.text);
    exit(3);
  }
  return tree;
}

static double sample_cpu_seconds(struct ft_measure *measure)
{
  double before = cpu_seconds();

  ft_measure_sample(measure);
  return cpu_seconds() - before;
}

int main(int argc, char **argv)
{
  uint64_t jobs = parse_argument(argc, argv, 1, 100), processes = parse_argument(argc, argv, 2, 20);
  struct rlimit limit = { 1 << 20, 1 << 20 };
  struct ft_measure_settings settings = { .root_fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC),
                                          .seconds = SAMPLE_SECONDS };
  struct ft_tree **trees = calloc(jobs, sizeof *trees);
  double idle[SAMPLES], start[STARTS], mean = 0;
  struct ft_measure *measure;
  unsigned counted = 0;
  struct ft_error err;
  int forking;

  cgroup_root = argc > 3 ? argv[3] : NULL;
  if (pipe2(until_end, O_CLOEXEC) < 0 || (forking = start_forking()) < 0) {
    fprintf(stderr, "task_start: no pipe or no process\n");
    return 3;
  }
  if (setrlimit(RLIMIT_NOFILE, &limit) < 0) {
    limit.rlim_cur = limit.rlim_max = 0;
    (void)!getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
  }
  measure = ft_measure_open(&settings, &err);
  if (!measure || !trees) {
    fprintf(stderr, "task_start: %s\n", measure ? "no memory" : err.text);
    return 3;
  }
  for (uint64_t i = 0; i < jobs; i++)
    trees[i] = open_tree(
        measure, i + 1,
        give_order(forking,
                   (struct order){ .job = i + 1, .count = processes, .has_daemon = true }));
  for (int i = 0; i < SETTLING_SAMPLES; i++) {
    ft_measure_sample(measure);
    usleep(1e6 * SAMPLE_SECONDS);
  }
  for (uint64_t i = 0; i < jobs; i++)
    counted += ft_tree_latest(trees[i])->processes;
  for (int i = 0; i < SAMPLES; i++) {
    idle[i] = sample_cpu_seconds(measure);
    usleep(1e6 * SAMPLE_SECONDS);
  }
  for (int i = 0; i < STARTS; i++) {
    pid_t root;
    struct ft_tree *tree;
    double before, without;

    /* just before, because other load on the machine changes */
    usleep(1e6 * SAMPLE_SECONDS);
    without = sample_cpu_seconds(measure);
    root = give_order(forking,
                      (struct order){ .job = jobs + 1 + (uint64_t)i, .count = TASK_PROCESSES });
    usleep(1e6 * SAMPLE_SECONDS);
    before = cpu_seconds();
    tree = open_tree(measure, jobs + 1 + (uint64_t)i, root);
    ft_measure_sample(measure);
    start[i] = cpu_seconds() - before - without;
    if (ft_tree_latest(tree)->processes != TASK_PROCESSES)
      printf("start %d: %u of %d processes\n", i + 1, ft_tree_latest(tree)->processes,
             TASK_PROCESSES);
    (void)give_order(forking, (struct order){ .end = root });
    ft_tree_close(tree, NULL);
    ft_measure_sample(measure);
  }
  for (int i = 0; i < SAMPLES; i++)
    mean += idle[i] / SAMPLES;
  printf("%u jobs, %u of %u processes found\n", (unsigned)jobs, counted,
         (unsigned)(jobs * processes));
  printf("a sample: median %.2f ms, mean %.2f ms: %.2f %% of a core at %.0f a second\n",
         1e3 * ft_sort_median(idle, SAMPLES), 1e3 * mean, 100 * mean / SAMPLE_SECONDS,
         1 / SAMPLE_SECONDS);
  printf("a task's start: %.2f ms (goal: 1 ms)\n", 1e3 * ft_sort_median(start, STARTS));
  signal(SIGTERM, SIG_IGN);
  for (uint64_t i = 0; i < jobs; i++)
    ft_tree_close(trees[i], NULL);
  ft_measure_close(measure);
  free(trees);
  close(forking);
  close(until_end[1]);
  for (uint64_t i = 1; cgroup_root && i <= jobs + STARTS; i++)
    remove_cgroups(i);
  return 0;
}
