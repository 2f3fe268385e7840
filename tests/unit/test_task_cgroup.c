/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The cgroup to which a task's memory is charged, on recorded layouts of /proc and cgroups. */
#include "config.h"

#include "tests/unit/fixture.h"

#include "plugin/cgroup.h"
#include "predictor/core/cgroup.h"
#include "predictor/core/io.h"

static char folder[SCRATCH_SIZE];
static int folder_fd;

/* Writes TEXT into PATH below the scratch directory, whose path replaces every @. */
static void put(const char *path, const char *text)
{
  char full[512], parent[512];
  struct ft_error err;
  struct ft_buf buf;
  int fd;

  (void)snprintf(full, sizeof full, "%s/%s", folder, path);
  (void)snprintf(parent, sizeof parent, "%s", full);
  *strrchr(parent, '/') = '\0';
  assert_int_equal(ft_io_make_path(parent, 0700, &err), 0);
  ft_buf_init(&buf, FT_LIMIT_PROC);
  for (; *text; text++)
    assert_int_equal(
        ft_buf_add(&buf, *text == '@' ? folder : text, *text == '@' ? strlen(folder) : 1), 0);
  fd = open(full, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  assert_true(fd >= 0);
  assert_int_equal(ft_io_write_all(fd, buf.data, buf.length), 0);
  close(fd);
  ft_buf_free(&buf);
}

/* The calling process is slurmstepd, the task is 4242. */
static bool find(struct ft_cgroup *out)
{
  char proc[64];

  (void)snprintf(proc, sizeof proc, "%s/proc", folder);
  return ft_cgroup_find(proc, 4242, out);
}

static const char v1_mounts[] =
    "24 1 0:20 / /proc rw - proc proc rw\n"
    "30 1 0:27 / @/cpu rw shared:9 - cgroup cgroup rw,cpu,cpuacct\n"
    "31 1 0:28 / @/memory rw,nosuid shared:10 master:3 - cgroup cgroup rw,memory\n"
    "32 1 0:29 / @/unified rw - cgroup2 cgroup2 rw,nsdelegate\n";

static void v1_adds_up_to_the_job(void **state)
{
  struct ft_cgroup c;
  ft_task_end end = { 0 };

  (void)state;
  put("proc/self/mountinfo", v1_mounts);
  put("proc/self/cgroup", "7:cpu,cpuacct:/\n5:memory:/slurm/uid_0/job_17/step_batch\n0::/\n");
  put("proc/4242/cgroup", "7:cpu,cpuacct:/\n5:memory:/slurm/uid_0/job_17/step_batch/task_0\n"
                          "1:name=systemd:/x\n0::/\n");
  put("memory/slurm/memory.max_usage_in_bytes", "99999\n");
  put("memory/slurm/memory.limit_in_bytes", "10\n");
  put("memory/slurm/uid_0/job_17/memory.max_usage_in_bytes", "5000\n");
  put("memory/slurm/uid_0/job_17/memory.limit_in_bytes", "8000\n");
  put("memory/slurm/uid_0/job_17/memory.oom_control",
      "oom_kill_disable 0\nunder_oom 0\noom_kill 0\n");
  put("memory/slurm/uid_0/job_17/step_batch/memory.max_usage_in_bytes", "4000\n");
  put("memory/slurm/uid_0/job_17/step_batch/memory.limit_in_bytes", "7000\n");
  put("memory/slurm/uid_0/job_17/step_batch/memory.oom_control", "oom_kill 1\n");
  put("memory/slurm/uid_0/job_17/step_batch/task_0/memory.limit_in_bytes", "9223372036854771712\n");
  put("memory/slurm/uid_0/job_17/step_batch/task_0/memory.oom_control", "oom_kill 2\n");
  assert_true(find(&c));
  ft_cgroup_read(&c, &end);
  assert_true(end.has_charge_bytes && end.charge_bytes == 5000);
  assert_true(end.has_cgroup_limit_bytes && end.cgroup_limit_bytes == 7000);
  assert_true(end.has_oom_kills && end.oom_kills == 3);
  ft_cgroup_free(&c);
}

static void v2_counts_the_steps_own(void **state)
{
  struct ft_cgroup c;
  ft_task_end end = { 0 };

  (void)state;
  put("proc/self/mountinfo", "31 1 0:28 / @/v2 rw - cgroup2 cgroup2 rw\n");
  put("proc/self/cgroup", "0::/system.slice/slurmstepd.scope/job_17/step_0/slurm\n");
  put("proc/4242/cgroup", "0::/system.slice/slurmstepd.scope/job_17/step_0/user/task_3\n");
  put("v2/system.slice/slurmstepd.scope/job_17/memory.peak", "5000\n");
  put("v2/system.slice/slurmstepd.scope/job_17/memory.max", "6000\n");
  put("v2/system.slice/slurmstepd.scope/job_17/memory.events", "low 0\noom 1\noom_kill 4\n");
  put("v2/system.slice/slurmstepd.scope/job_17/step_0/memory.events", "oom_kill 3\n");
  put("v2/system.slice/slurmstepd.scope/job_17/step_0/user/task_3/memory.max", "max\n");
  put("v2/system.slice/slurmstepd.scope/job_17/step_0/user/task_3/memory.events", "oom_kill 2\n");
  assert_true(find(&c));
  assert_true(c.unified);
  ft_cgroup_read(&c, &end);
  assert_true(end.charge_bytes == 5000);
  assert_true(end.cgroup_limit_bytes == 6000);
  assert_true(end.oom_kills == 3);
  ft_cgroup_free(&c);
}

/* Paths one byte below, at and above what fits: the task's cgroup, and its directory. */
static void paths_of_cgroups_have_a_limit(void **state)
{
  static const struct {
    const char *root, *mount;
    size_t longest; /* of the task's cgroup */
  } rows[] = { { "/", "/", PATH_MAX - 2 },
               { "/", "/v2", PATH_MAX - sizeof "/v2" },
               { "/root", "/", PATH_MAX - 1 } };
  static char path[PATH_MAX + 2], text[PATH_MAX + 8];

  (void)state;
  for (size_t i = 0; i < COUNT_OF(rows); i++)
    for (size_t n = rows[i].longest - 1; n <= rows[i].longest + 1; n++) {
      const char *root = rows[i].root[1] ? rows[i].root : "";
      ft_task_end end = { 0 };
      struct ft_cgroup c;
      int job;

      (void)snprintf(text, sizeof text, "31 1 0:28 %s %s rw - cgroup2 cgroup2 rw\n", rows[i].root,
                     rows[i].mount);
      put("proc/self/mountinfo", text);
      (void)snprintf(text, sizeof text, "0::%s/job_17/step_0/slurm\n", root);
      put("proc/self/cgroup", text);
      memset(path, 'w', n);
      path[n] = '\0';
      job = snprintf(text, sizeof text, "%s/job_17/step_0/user/", root);
      memcpy(path, text, (size_t)job);
      (void)snprintf(text, sizeof text, "0::%s\n", path);
      put("proc/4242/cgroup", text);
      if (find(&c) != (n <= rows[i].longest))
        fail_msg("%s mounted at %s, %zu bytes", rows[i].root, rows[i].mount, n);
      ft_cgroup_read(&c, &end);
      assert_false(end.has_charge_bytes);
      ft_cgroup_free(&c);
    }
}

static void mounts_of_cgroups_have_a_limit(void **state)
{
  static char path[PATH_MAX + 2], text[2 * PATH_MAX];
  static struct ft_cgroup_mounts mounts;

  (void)state;
  for (size_t n = PATH_MAX - 2; n <= PATH_MAX; n++) {
    memset(path, 'w', n);
    path[0] = '/';
    path[n] = '\0';
    for (int root = 0; root < 2; root++) {
      (void)snprintf(text, sizeof text, "31 1 0:28 %s %s rw - cgroup2 cgroup2 rw\n",
                     root ? path : "/", root ? "/v2" : path);
      assert_int_equal(ft_cgroup_parse_mounts(ft_text_from(text), &mounts), n < PATH_MAX);
    }
  }
}

/* ---- the level whose limit was hit ---- */

/* A level of a job's cgroups, from the job's own down: its limits and the kernel's counts. */
struct level {
  const char *folder;
  long long limit, peak, failures; /* KiB; a limit of 0: none */
};

static void put_number(const char *folder_in, const char *file, long long value)
{
  char path[128], text[32];

  (void)snprintf(path, sizeof path, "memory/hits/%s/%s", folder_in, file);
  (void)snprintf(text, sizeof text, "%lld\n", value);
  put(path, text);
}

static void put_level(const struct level *l, const char *name)
{
  char file[64];

  (void)snprintf(file, sizeof file, "%s.limit_in_bytes", name);
  put_number(l->folder, file, l->limit ? l->limit * 1024 : 9223372036854771712);
  (void)snprintf(file, sizeof file, "%s.max_usage_in_bytes", name);
  put_number(l->folder, file, l->peak * 1024);
  (void)snprintf(file, sizeof file, "%s.failcnt", name);
  put_number(l->folder, file, l->failures);
}

static void v1_finds_the_limit_that_was_hit(void **state)
{
  static const struct {
    struct level memory[3];
    struct level swap; /* also with the memory limit of the job itself */
    uint64_t hits;
  } cases[] = {
    /* the job's own, its step's, both */
    { { { "job_17", 8000, 8000, 5 }, { "job_17/step_0", 0, 8000, 0 } }, { 0 }, 5 },
    { { { "job_17", 8000, 7000, 0 }, { "job_17/step_0", 7000, 7000, 3 } }, { 0 }, 3 },
    { { { "job_17", 8000, 8000, 2 }, { "job_17/step_0", 8000, 8000, 3 } }, { 0 }, 5 },
    /* an ancestor of the job, which no file of the job shows */
    { { { ".", 8000, 8000, 9 }, { "job_17", 8000, 5000, 0 }, { "job_17/step_0", 0, 5000, 0 } },
      { 0 },
      0 },
    /* an allocation of several pages may fail before the last page is used */
    { { { "job_17", 8000, 7990, 1 } }, { 0 }, 1 },
    { { { "job_17", 80000, 70000, 7 } }, { 0 }, 0 },
    /* a limit that was lowered later */
    { { { "job_17", 6000, 8000, 1 } }, { 0 }, 1 },
    /* no limit at all */
    { { { "job_17", 0, 8000, 0 } }, { 0 }, 0 },
    /* swap is limited like memory, and is checked first */
    { { { "job_17", 8000, 8000, 0 } }, { "job_17", 8000, 8000, 4 }, 4 },
    /* Linux 6.18 does not count its failures */
    { { { "job_17", 8000, 8000, 0 } }, { "job_17", 8000, 8000, 0 }, 1 },
    { { { "job_17", 8000, 8000, 0 } }, { "job_17", 9000, 8000, 0 }, 0 },
  };

  (void)state;
  put("proc/self/mountinfo", v1_mounts);
  put("proc/self/cgroup", "5:memory:/hits/job_17/step_0\n");
  put("proc/4242/cgroup", "5:memory:/hits/job_17/step_0/task_0\n");
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    const struct level none = { "job_17/step_0", 0, 0, 0 };
    ft_task_end end = { 0 };
    struct ft_cgroup c;

    put_level(&none, "memory");
    for (size_t k = 0; k < COUNT_OF(cases[i].memory) && cases[i].memory[k].folder; k++)
      put_level(&cases[i].memory[k], "memory");
    if (cases[i].swap.folder)
      put_level(&cases[i].swap, "memory.memsw");
    assert_true(find(&c));
    ft_cgroup_read(&c, &end);
    assert_true(end.has_limit_hits);
    if (end.limit_hits != cases[i].hits)
      fail_msg("case %zu: %llu, expected %llu", i, (unsigned long long)end.limit_hits,
               (unsigned long long)cases[i].hits);
    ft_cgroup_free(&c);
  }
}

static void v2_finds_the_limit_that_was_hit(void **state)
{
  static const struct {
    const char *job, *job_local, *step, *step_local; /* memory.events; "": the file is missing */
    uint64_t hits, kills, limit;                     /* the job has 8000, the step 7000 */
    bool known;
    uint64_t nested;
  } cases[] = {
    /* the step's, the job's, both */
    { "oom 1\noom_kill 1\n", "low 0\noom 0\n", "oom 1\noom_kill 1\n", "oom 1\n", 1, 1, 7000, true,
      0 },
    { "oom 1\noom_kill 1\n", "low 0\noom 1\n", "oom 0\noom_kill 1\n", "oom 0\n", 1, 1, 8000, true,
      0 },
    { "oom 5\noom_kill 1\n", "low 0\noom 2\n", "oom 3\noom_kill 1\n", "oom 3\n", 5, 1, 7000, true,
      0 },
    /* another step's */
    { "oom 1\noom_kill 1\n", "low 0\noom 0\n", "oom 0\noom_kill 0\n", "oom 0\n", 0, 0, 7000, true,
      0 },
    /* the limit of the node's slice, or the node itself, caused the kill */
    { "oom 0\noom_kill 1\n", "low 0\noom 0\n", "oom 0\noom_kill 1\n", "oom 0\n", 0, 1, 7000, true,
      0 },
    /* the limit of a container, whose cgroup is below the step's */
    { "oom 3\noom_kill 1\n", "low 0\noom 0\n", "oom 3\noom_kill 1\n", "oom 0\n", 0, 1, 7000, true,
      3 },
    /* the step's, beside a container's */
    { "oom 4\noom_kill 2\n", "low 0\noom 0\n", "oom 4\noom_kill 2\n", "oom 1\n", 1, 2, 7000, true,
      3 },
    /* before Linux 5.2 */
    { "oom 1\noom_kill 1\n", "", "oom 1\noom_kill 1\n", "", 2, 1, 7000, true, 0 },
    { "oom 1\noom_kill 1\n", "", "oom 0\noom_kill 1\n", "", 1, 1, 8000, true, 0 },
    { "oom 0\noom_kill 1\n", "", "oom 0\noom_kill 1\n", "", 0, 1, 7000, true, 0 },
    { "oom_kill 1\n", "oom \noom x\n", "", "", 0, 1, 7000, false, 0 },
  };

  (void)state;
  put("proc/self/mountinfo", "31 1 0:28 / @/v2 rw - cgroup2 cgroup2 rw\n");
  put("proc/self/cgroup", "0::/hits/job_17/step_0/slurm\n");
  put("proc/4242/cgroup", "0::/hits/job_17/step_0/user/task_0\n");
  put("v2/hits/memory.events.local", "oom 1\noom_kill 1\n");
  put("v2/hits/job_17/memory.max", "8000\n");
  put("v2/hits/job_17/step_0/memory.max", "7000\n");
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    ft_task_end end = { 0 };
    struct ft_cgroup c;

    put("v2/hits/job_17/memory.events", cases[i].job);
    put("v2/hits/job_17/memory.events.local", cases[i].job_local);
    put("v2/hits/job_17/step_0/memory.events", cases[i].step);
    put("v2/hits/job_17/step_0/memory.events.local", cases[i].step_local);
    assert_true(find(&c));
    ft_cgroup_read(&c, &end);
    if (end.has_limit_hits != cases[i].known || end.limit_hits != cases[i].hits ||
        end.oom_kills != cases[i].kills || end.cgroup_limit_bytes != cases[i].limit ||
        end.nested_limit_hits != cases[i].nested)
      fail_msg("case %zu: %llu hits, %llu nested, %llu kills, limit %llu", i,
               (unsigned long long)end.limit_hits, (unsigned long long)end.nested_limit_hits,
               (unsigned long long)end.oom_kills, (unsigned long long)end.cgroup_limit_bytes);
    ft_cgroup_free(&c);
  }
}

static void a_mounted_part_is_found(void **state)
{
  struct ft_cgroup c;
  ft_task_end end = { 0 };

  (void)state;
  put("proc/self/mountinfo", "31 1 0:28 /pod @/part rw - cgroup2 cgroup2 rw\n");
  put("proc/self/cgroup", "0::/pod/job_17/step_0/slurm\n");
  put("proc/4242/cgroup", "0::/pod/job_17/step_0/user/task_0\n");
  put("part/job_17/memory.peak", "12\n");
  assert_true(find(&c));
  ft_cgroup_read(&c, &end);
  assert_true(end.charge_bytes == 12);
  ft_cgroup_free(&c);
}

/* The name of the job's cgroup does not matter; the positions of slurmstepd and the task do. */
static void a_job_is_identified_by_its_processes_cgroups(void **state)
{
#define SCOPE "/system.slice/slurmstepd.scope"
  static const struct {
    bool v1;
    const char *stepd, *task, *job; /* NULL: none */
  } cases[] = {
    /* 22.05 to 25.11; 26.05 with CgroupJobIdPaths=yes */
    { false, SCOPE "/job_17/step_batch/slurm", SCOPE "/job_17/step_batch/user/task_0",
      SCOPE "/job_17" },
    { false, SCOPE "/job_17/step_0/slurm", SCOPE "/job_17/step_0/user/task_special",
      SCOPE "/job_17" },
    /* 26.05 */
    { false, SCOPE "/s7JDM817Z5HE00/step_batch/slurm",
      SCOPE "/s7JDM817Z5HE00/step_batch/user/task_0", SCOPE "/s7JDM817Z5HE00" },
    { false, "/s7/step_0/slurm", "/s7/step_0/user/task_0/of/the/user", "/s7" },
    /* v1, of every release */
    { true, "/slurm/uid_0/job_17/step_0", "/slurm/uid_0/job_17/step_0/task_1",
      "/slurm/uid_0/job_17" },
    /* another step's slurmstepd, another job's */
    { false, SCOPE "/s7/step_0/slurm", SCOPE "/s7/step_1/user/task_0", NULL },
    { false, SCOPE "/s7/step_0/slurm", SCOPE "/s8/step_0/user/task_0", NULL },
    { true, "/slurm/uid_0/job_17/step_0", "/slurm/uid_0/job_17/step_1/task_0", NULL },
    /* a name with the same beginning */
    { false, "/s7/step_1/slurm", "/s7/step_10/user/task_0", NULL },
    { true, "/slurm/uid_0/job_17/step_1", "/slurm/uid_0/job_17/step_10/task_0", NULL },
    /* Slurm has created no cgroup */
    { false, "/system.slice/slurmd.service", "/system.slice/slurmd.service", NULL },
    { false, "/user.slice/user-0.slice/session-1.scope", "/user.slice/user-0.slice/session-2.scope",
      NULL },
    { false, "/system.slice/slurmd.service", "/user.slice/user-0.slice/session-2.scope", NULL },
    { true, "/system.slice/slurmd.service", "/user.slice/session-2.scope", NULL },
    { true, "/", "/slurm/uid_0/job_17/step_1/task_0", NULL },
    { true, "/", "/", NULL },
    { false, "/", "/user/task_0", NULL },
    /* the root cgroup is never a job's */
    { false, "/step_0/slurm", "/step_0/user/task_0", NULL },
    { true, "/step_0", "/step_0/task_0", NULL },
    { false, "", "", NULL },
  };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    char job[128] = "";
    bool found = ft_cgroup_job_of(cases[i].stepd, cases[i].task, cases[i].v1, job, sizeof job);

    if (found != (cases[i].job != NULL) || strcmp(job, cases[i].job ? cases[i].job : "") != 0)
      fail_msg("case %zu: %d, \"%s\"", i, found, job);
  }
}

/* The job of test_measure.c, seen by the slurmstepd of its script and of its step. */
static void each_release_lets_slurmstepd_find_the_job(void **state)
{
  static const struct {
    const char *fixture;
    int stepd, task;
    uint64_t peak;
  } cases[] = { { "proc-slurm-22.05", 877, 888, 68947968 },
                { "proc-slurm-22.05", 902, 911, 68947968 },
                { "proc-slurm-26.05", 815, 830, 71446528 },
                { "proc-slurm-26.05", 844, 863, 71446528 },
                { "proc-slurm-26.05-job", 3656, 3670, 69406720 },
                { "proc-slurm-26.05-job", 3685, 3698, 69406720 } };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    char node[SCRATCH_SIZE], from[160], to[160], proc[160], mounts[256];
    ft_task_end end = { 0 };
    struct ft_cgroup c;

    fixture_make(cases[i].fixture, node);
    (void)snprintf(from, sizeof from, "%s/proc/%d/cgroup", node, cases[i].stepd);
    (void)snprintf(to, sizeof to, "%s/proc/self/cgroup", node);
    assert_int_equal(rename(from, to), 0);
    (void)snprintf(mounts, sizeof mounts, "31 1 0:28 / %s/sys/fs/cgroup rw - cgroup2 cgroup rw\n",
                   node);
    fixture_put(node, "proc/self/mountinfo", mounts, strlen(mounts));
    (void)snprintf(proc, sizeof proc, "%s/proc", node);
    assert_true(ft_cgroup_find(proc, cases[i].task, &c));
    ft_cgroup_read(&c, &end);
    assert_int_equal(end.charge_bytes, cases[i].peak);
    assert_int_equal(end.cgroup_limit_bytes, 300 << 20);
    ft_cgroup_free(&c);
    assert_int_equal(scratch_remove(node), 0);
  }
}

static void the_cgroup_of_another_process_does_not_count(void **state)
{
  static const char *const groups[] = { "0::/system.slice/slurmd.service\n",
                                        "0::/job_17/step_1/user/task_0\n",
                                        "0::/job_17/step_0\n",
                                        "0::/../job_17/step_0/user/task_0\n",
                                        "0::/\n",
                                        "",
                                        "garbage\n0:\n::\n" };
  struct ft_cgroup c;

  (void)state;
  put("proc/self/mountinfo", "31 1 0:28 / @/v2 rw - cgroup2 cgroup2 rw\n");
  put("proc/self/cgroup", "0::/job_17/step_0/slurm\n");
  for (size_t i = 0; i < COUNT_OF(groups); i++) {
    ft_task_end end = { 0 };

    put("proc/4242/cgroup", groups[i]);
    assert_false(find(&c));
    ft_cgroup_read(&c, &end);
    assert_false(end.has_charge_bytes);
    ft_cgroup_free(&c);
  }
  put("proc/4242/cgroup", "0::/job_17/step_0/user/task_0\n");
  assert_true(find(&c));
  ft_cgroup_free(&c);
  put("proc/self/mountinfo", "31 1 0:28 / x\n - - \n");
  assert_false(find(&c));
  ft_cgroup_free(&c);
}

static int set_up(void **state)
{
  (void)state;
  folder_fd = scratch_open(folder);
  return 0;
}

static int tear_down(void **state)
{
  (void)state;
  return scratch_close(folder, folder_fd);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(v1_adds_up_to_the_job),
    cmocka_unit_test(v2_counts_the_steps_own),
    cmocka_unit_test(paths_of_cgroups_have_a_limit),
    cmocka_unit_test(mounts_of_cgroups_have_a_limit),
    cmocka_unit_test(v1_finds_the_limit_that_was_hit),
    cmocka_unit_test(v2_finds_the_limit_that_was_hit),
    cmocka_unit_test(a_mounted_part_is_found),
    cmocka_unit_test(a_job_is_identified_by_its_processes_cgroups),
    cmocka_unit_test(each_release_lets_slurmstepd_find_the_job),
    cmocka_unit_test(the_cgroup_of_another_process_does_not_count)
  };

  return cmocka_run_group_tests_name("cgroup of a task", tests, set_up, tear_down);
}
