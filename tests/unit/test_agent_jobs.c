/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The state machine of jobs, with simulated process trees and a simulated clock. */
#include "config.h"

#include "tests/unit/unit.h"

#include <malloc.h>
#include <math.h>
#include <signal.h>

#include "agent/job.h"
#include "agent/jobs.h"
#include "agent/outcome.h"
#include "daemon/log.h"
#include "predictor/core/units.h"

#define BATCH UINT32_C(0xfffffffb)
#define EXTERN UINT32_C(0xfffffffc)
#define SLURMSTEPD 500

/* ---- trees ---- */

struct ft_tree {
  int roots, skipped;
};

static struct fake {
  int open, roots;
  bool alive, stopped;
  bool counted; /* the latest tree */
  uint64_t rss;
  const char *expected; /* expected command of the latest tree */
} fake;

struct ft_tree *ft_tree_open(struct ft_measure *measure, struct ft_error *err)
{
  (void)measure;
  (void)err;
  fake.open++;
  return calloc(1, sizeof(struct ft_tree));
}

int ft_tree_add_root(struct ft_tree *tree, pid_t pid, uint64_t start_ticks, bool skip_self,
                     struct ft_error *err)
{
  (void)start_ticks;
  (void)pid;
  (void)err;
  tree->roots++;
  tree->skipped += skip_self;
  fake.roots = tree->roots;
  return 0;
}

void ft_tree_set_mark(struct ft_tree *tree, const char *mark, uid_t user)
{
  (void)tree;
  (void)mark;
  (void)user;
}

void ft_tree_set_counted(struct ft_tree *tree, bool counted)
{
  (void)tree;
  fake.counted = counted;
}

void ft_tree_expect_command(struct ft_tree *tree, const char *pattern)
{
  (void)tree;
  fake.expected = pattern;
}

void ft_tree_add_end(struct ft_tree *tree, const ft_task_end *end)
{
  (void)tree;
  (void)end;
}

bool ft_tree_alive(const struct ft_tree *tree)
{
  (void)tree;
  return fake.alive;
}

bool ft_tree_was_stopped(const struct ft_tree *tree)
{
  (void)tree;
  return fake.stopped;
}

const struct ft_sample *ft_tree_latest(const struct ft_tree *tree)
{
  static struct ft_sample sample;

  (void)tree;
  sample = (struct ft_sample){ .rss_bytes = (double)fake.rss / 2 };
  return &sample;
}

void ft_tree_observe(const struct ft_tree *tree, ft_observation *out)
{
  (void)tree;
  out->has_rss_bytes = true;
  out->rss_bytes = fake.rss;
}

void ft_tree_close(struct ft_tree *tree, ft_observation *out)
{
  fake.open--;
  if (out) {
    out->has_rss_bytes = true;
    out->rss_bytes = fake.rss;
    out->samples = 10;
  }
  free(tree);
}

/* ---- the world around ---- */

static struct world {
  struct ft_jobs *jobs;
  struct ft_instant now;
  unsigned finished, forgotten, suspended;
  ft_observation last;
} w;

static void finished(const ft_observation *o, void *data)
{
  (void)data;
  w.finished++;
  w.last = *o;
}

static void forget(uint32_t job_id, void *data)
{
  (void)job_id;
  (void)data;
  w.forgotten++;
}

static bool suspend(const ft_observation *o, void *data)
{
  (void)data;
  w.suspended++;
  w.last = *o;
  return true;
}

static void open_jobs(void)
{
  const struct ft_jobs_settings settings = { .rule = FT_RULE_RSS,
                                             .grace_seconds = 30,
                                             .finished = finished,
                                             .remove_journal = forget,
                                             .save_partial = suspend };
  struct ft_error err;

  w.jobs = ft_jobs_open(&settings, &err);
}

static int setup(void **state)
{
  (void)state;
  w = (struct world){ .now = { 100, 5000 } };
  fake = (struct fake){ .alive = true, .rss = 50 * FT_MIB };
  open_jobs();
  return w.jobs ? 0 : -1;
}

static int teardown(void **state)
{
  (void)state;
  ft_jobs_close(w.jobs);
  return fake.open;
}

static void pass(double seconds)
{
  w.now.monotonic += seconds;
  w.now.utc += seconds;
  (void)ft_jobs_tick(w.jobs, w.now);
}

static ft_announcement announcement(uint32_t job, uint32_t step)
{
  return (ft_announcement){ .schema = FT_SCHEMA,
                            .job_id = job,
                            .step_id = step,
                            .uid = 1000,
                            .node = "one",
                            .cpus = 2,
                            .alloc_mem_bytes = 100 * FT_MIB };
}

static bool say(const ft_announcement *a)
{
  bool keep = ft_jobs_announce(w.jobs, a, SLURMSTEPD, false, w.now);

  (void)ft_jobs_tick(w.jobs, w.now);
  return keep;
}

static bool job_start(uint32_t job)
{
  ft_announcement a = announcement(job, 0);

  a.which_event = ft_announcement_job_start_tag;
  return say(&a);
}

static void put_submission(const char *app, ft_task_start *start)
{
  ft_submission s = { .schema = FT_SCHEMA, .job_name = "train" };
  struct ft_error err;
  struct ft_buf buf;

  (void)ft_string_copy(app, s.app, sizeof s.app);
  s.has_request = true;
  s.request.time_limit_seconds = 600;
  ft_buf_init(&buf, FT_LIMIT_RECORD);
  assert_int_equal(ft_record_encode(FT_RECORD_SUBMISSION, &s, &buf, &err), 0);
  memcpy(start->submission.bytes, buf.data, buf.length);
  start->submission.size = (pb_size_t)buf.length;
  ft_buf_free(&buf);
}

static bool task_start_of(uint32_t job, uint32_t step, uint32_t restart)
{
  ft_announcement a = announcement(job, step);

  a.restart_count = restart;
  a.which_event = ft_announcement_task_start_tag;
  a.event.task_start = (ft_task_start){ .pid = SLURMSTEPD, .tasks = 1, .limit_bytes = 60 * FT_MIB };
  put_submission("unet3d", &a.event.task_start);
  return say(&a);
}

static bool task_start(uint32_t job, uint32_t step)
{
  return task_start_of(job, step, 0);
}

static bool task_end_with(uint32_t job, uint32_t step, int status, uint64_t oom_kills)
{
  ft_announcement a = announcement(job, step);

  a.which_event = ft_announcement_task_end_tag;
  a.event.task_end = (ft_task_end){
    .status = status, .has_oom_kills = oom_kills > 0, .oom_kills = oom_kills, .last = true
  };
  return say(&a);
}

static bool task_end(uint32_t job, uint32_t step, int status)
{
  return task_end_with(job, step, status, 0);
}

static bool job_end(uint32_t job)
{
  ft_announcement a = announcement(job, 0);

  a.which_event = ft_announcement_job_end_tag;
  return say(&a);
}

static void begin_batch(uint32_t job)
{
  assert_true(task_start(job, BATCH));
}

#define EXIT(code) ((code) << 8)

/* ---- what must hold ---- */

static void a_batch_job_is_over_with_its_script(void **state)
{
  (void)state;
  assert_true(job_start(7));
  begin_batch(7);
  pass(12);
  assert_false(task_end(7, BATCH, 0));
  assert_int_equal(w.finished, 1);
  assert_int_equal(w.forgotten, 1);
  assert_int_equal(w.last.outcome, FT_OUTCOME_COMPLETED);
  assert_false(w.last.censored);
  assert_false(w.last.peak_is_bound);
  assert_false(w.last.unsettled);
  assert_true(w.last.runtime_seconds == 12);
  assert_true(w.last.start_time == 5000 && w.last.end_time == 5012);
  assert_string_equal(w.last.submission.app, "unet3d");
  assert_int_equal(w.last.limit_bytes, 100 * FT_MIB);
  assert_int_equal(w.last.rss_bytes, 50 * FT_MIB);
  assert_int_equal(w.last.rule, FT_RULE_RSS);
  assert_false(job_end(7));
  assert_int_equal(w.finished, 1);
  assert_int_equal(ft_jobs_tree_count(w.jobs), 0);
}

static void outcomes_are_distinguished(void **state)
{
  static const struct {
    int status;
    uint64_t oom_kills, rss;
    ft_outcome outcome;
    bool unsettled;
  } cases[] = {
    { EXIT(0), 0, 50 * FT_MIB, FT_OUTCOME_COMPLETED, false },
    { EXIT(3), 0, 50 * FT_MIB, FT_OUTCOME_FAILED, false },
    { SIGSEGV, 0, 50 * FT_MIB, FT_OUTCOME_FAILED, false },
    { SIGKILL, 0, 50 * FT_MIB, FT_OUTCOME_UNKNOWN, true },
    { SIGTERM, 0, 99 * FT_MIB, FT_OUTCOME_UNKNOWN, true },
    { SIGKILL, 0, 99 * FT_MIB, FT_OUTCOME_OUT_OF_MEMORY, true },
    { EXIT(137), 0, 99 * FT_MIB, FT_OUTCOME_OUT_OF_MEMORY, true },
    { EXIT(137), 0, 20 * FT_MIB, FT_OUTCOME_FAILED, true },
    { EXIT(137), 1, 20 * FT_MIB, FT_OUTCOME_OUT_OF_MEMORY, false },
    { EXIT(0), 2, 20 * FT_MIB, FT_OUTCOME_OUT_OF_MEMORY, false },
  };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    uint32_t job = (uint32_t)i + 1;

    fake.rss = cases[i].rss;
    begin_batch(job);
    (void)task_end_with(job, BATCH, cases[i].status, cases[i].oom_kills);
    assert_int_equal(w.finished, i + 1);
    /* the step's limit, not the job's */
    assert_int_equal(w.last.killed_at_bytes, cases[i].oom_kills ? 60 * FT_MIB : 0);
    assert_int_equal(w.last.outcome, cases[i].outcome);
    assert_int_equal(w.last.censored, cases[i].outcome != FT_OUTCOME_COMPLETED);
    assert_int_equal(w.last.unsettled, cases[i].unsettled);
  }
}

/* A SIGKILL near the limit is scancel's or the user's if the kernel reports no OOM kill. */
static void the_kernels_count_of_oom_kills_decides(void **state)
{
  static const struct {
    ft_rule rule;
    bool counted;
    ft_outcome outcome;
  } cases[] = { { FT_RULE_RSS, false, FT_OUTCOME_OUT_OF_MEMORY },
                { FT_RULE_RSS, true, FT_OUTCOME_OUT_OF_MEMORY },
                { FT_RULE_CGROUP, false, FT_OUTCOME_OUT_OF_MEMORY },
                { FT_RULE_CGROUP, true, FT_OUTCOME_UNKNOWN } };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct ft_exit_evidence ending = { .has_status = true,
                                       .status = SIGKILL,
                                       .batch = true,
                                       .has_oom_kills = cases[i].counted,
                                       .peak_bytes = 95,
                                       .limit_bytes = 100,
                                       .rule = cases[i].rule };

    assert_int_equal(ft_outcome_from_node(&ending).outcome, cases[i].outcome);
    assert_false(ft_outcome_from_node(&ending).final);
  }
}

/* Where the kernel counts failed charges, the node knows whose limit was hit. */
static void a_kill_counts_at_the_limit_that_was_hit(void **state)
{
  static const struct {
    bool known;
    uint64_t hits, limit; /* of the cgroup, MiB */
    bool has_killed_at;
    uint64_t killed_at; /* MiB */
  } cases[] = {
    { false, 0, 0, true, 60 },
    { false, 0, 50, true, 50 },
    { true, 1, 50, true, 50 },
    { true, 7, 0, true, 60 },
    /* the job's limit; its step may use only a part */
    { true, 1, 90, true, 90 },
    /* out of memory above the job */
    { true, 0, 50, true, 0 },
    { true, 0, 0, true, 0 },
  };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    uint32_t job = (uint32_t)i + 1;
    ft_announcement a = announcement(job, BATCH);

    begin_batch(job);
    a.which_event = ft_announcement_task_end_tag;
    a.event.task_end = (ft_task_end){ .status = SIGKILL,
                                      .has_oom_kills = true,
                                      .oom_kills = 1,
                                      .has_limit_hits = cases[i].known,
                                      .limit_hits = cases[i].hits,
                                      .has_cgroup_limit_bytes = cases[i].limit > 0,
                                      .cgroup_limit_bytes = cases[i].limit * FT_MIB,
                                      .last = true };
    (void)say(&a);
    assert_int_equal(w.finished, i + 1);
    assert_int_equal(w.last.outcome, FT_OUTCOME_OUT_OF_MEMORY);
    assert_int_equal(w.last.has_killed_at_bytes, cases[i].has_killed_at);
    assert_int_equal(w.last.killed_at_bytes, cases[i].killed_at * FT_MIB);
  }
}

/* A container's own limit is not the job's: the run is a lower bound, also if Slurm reports that it
 * was out of memory. */
static void a_containers_limit_is_not_the_jobs(void **state)
{
  ft_announcement a = announcement(1, BATCH);

  (void)state;
  begin_batch(1);
  fake.rss = 20 * FT_MIB;
  a.which_event = ft_announcement_task_end_tag;
  a.event.task_end = (ft_task_end){ .status = EXIT(137),
                                    .has_oom_kills = true,
                                    .oom_kills = 1,
                                    .has_limit_hits = true,
                                    .has_nested_limit_hits = true,
                                    .nested_limit_hits = 2,
                                    .has_cgroup_limit_bytes = true,
                                    .cgroup_limit_bytes = 60 * FT_MIB,
                                    .last = true };
  (void)say(&a);
  assert_int_equal(w.finished, 1);
  assert_true(w.last.has_killed_at_bytes);
  assert_int_equal(w.last.killed_at_bytes, 20 * FT_MIB);
}

/* One step is killed at its own limit, another one by an ancestor's limit: the former gives the
 * censored peak, in any order. */
static void a_kill_at_a_limit_counts_among_other_kills(void **state)
{
  (void)state;
  for (uint32_t first = 0; first < 2; first++) {
    uint32_t job = first + 1;

    begin_batch(job);
    for (uint32_t step = 0; step < 2; step++) {
      ft_announcement a = announcement(job, step);

      (void)task_start(job, step);
      a.which_event = ft_announcement_task_end_tag;
      a.event.task_end = (ft_task_end){ .status = SIGKILL,
                                        .has_oom_kills = true,
                                        .oom_kills = 1,
                                        .has_limit_hits = true,
                                        .limit_hits = step == first,
                                        .last = true };
      (void)say(&a);
    }
    (void)task_end(job, BATCH, EXIT(1));
    assert_int_equal(w.finished, first + 1);
    assert_true(w.last.has_killed_at_bytes);
    assert_int_equal(w.last.killed_at_bytes, 60 * FT_MIB);
  }
}

/* On a busy node Slurm reports the end of a job before the agent has read the end of its task. */
static void a_task_end_that_is_read_late_counts(void **state)
{
  ft_announcement a = announcement(7, BATCH);

  (void)state;
  fake.alive = false;
  a.which_event = ft_announcement_task_start_tag;
  a.event.task_start = (ft_task_start){ .tasks = 1 };
  (void)say(&a);
  pass(20);
  assert_int_equal(w.finished, 0);
  (void)task_end(7, BATCH, EXIT(3));
  assert_int_equal(w.finished, 1);
  assert_int_equal(w.last.outcome, FT_OUTCOME_FAILED);
  assert_int_equal(w.last.exit_code, 3);
  /* a lost one is not waited for: the run has ended with its last process */
  a.job_id = 8;
  (void)say(&a);
  pass(31);
  assert_int_equal(w.finished, 2);
  assert_int_equal(w.last.outcome, FT_OUTCOME_UNKNOWN);
  assert_true(w.last.unsettled);
  assert_true(w.last.end_time == w.now.utc - 31 && w.last.runtime_seconds == 0);
}

/* Slurm 26.05's --mem-update: slurmstepd has a different limit at a task's end. */
static void a_limit_that_slurm_lowers_is_the_one_that_counts(void **state)
{
  ft_announcement a = announcement(1, BATCH);

  (void)state;
  begin_batch(1);
  a.alloc_mem_bytes = 40 * FT_MIB;
  a.which_event = ft_announcement_task_end_tag;
  a.event.task_end = (ft_task_end){ .status = SIGKILL,
                                    .has_oom_kills = true,
                                    .oom_kills = 1,
                                    .has_limit_hits = true,
                                    .limit_hits = 1,
                                    .has_cgroup_limit_bytes = true,
                                    .cgroup_limit_bytes = 40 * FT_MIB,
                                    .last = true };
  (void)say(&a);
  assert_int_equal(w.last.limit_bytes, 40 * FT_MIB);
  assert_int_equal(w.last.killed_at_bytes, 40 * FT_MIB);
}

static void an_array_task_has_its_own_features(void **state)
{
  static const ft_job_array array = { .values_count = 1,
                                      .values = { { .feature = "input_bytes",
                                                    .index_count = 2,
                                                    .index = { 4, 6 },
                                                    .value_count = 2,
                                                    .value = { 100, 200 } } },
                                      .predictions = { .index_count = 2,
                                                       .index = { 4, 6 },
                                                       .row_count = 2,
                                                       .row = { 1, 0 },
                                                       .p05_bytes_count = 2,
                                                       .p05_bytes = { 500, 300 },
                                                       .p50_bytes_count = 2,
                                                       .p50_bytes = { 600, 400 },
                                                       .p95_bytes_count = 2,
                                                       .p95_bytes = { 700, 450 } } };
  ft_submission s = { .schema = FT_SCHEMA, .app = "array" };
  struct ft_error err;
  struct ft_buf buf;

  (void)state;
  s.features_count = 2;
  s.features[0] = (ft_feature){ .name = "n", .category = "%a0", .per_task = true };
  s.features[1] = (ft_feature){ .name = "k", .has_number = true, .number = 3 };
  s.has_decision = s.decision.has_p50_bytes = true;
  s.decision.p50_bytes = 600;
  for (uint32_t element = 4; element < 8; element++) {
    ft_announcement a = announcement(element + 100, BATCH);
    const ft_feature *f;

    a.array_job_id = element < 7 ? 100 : 0;
    a.array_task_id = element < 7 ? element : 0;
    a.which_event = ft_announcement_task_start_tag;
    a.event.task_start = (ft_task_start){ .pid = SLURMSTEPD, .tasks = 1 };
    ft_buf_init(&buf, FT_LIMIT_RECORD);
    assert_int_equal(ft_record_encode(FT_RECORD_SUBMISSION, &s, &buf, &err), 0);
    assert_int_equal(ft_record_encode(FT_RECORD_JOB_ARRAY, &array, &buf, &err), 0);
    memcpy(a.event.task_start.submission.bytes, buf.data, buf.length);
    a.event.task_start.submission.size = (pb_size_t)buf.length;
    ft_buf_free(&buf);
    (void)say(&a);
    (void)task_end(element + 100, BATCH, 0);
    f = ft_feature_find(w.last.submission.features, w.last.submission.features_count, "n");
    assert_true(element < 7 ? f && f->has_number && f->number == element * 10 : !f);
    f = ft_feature_find(w.last.submission.features, w.last.submission.features_count, "k");
    assert_true(f && f->number == 3);
    f = ft_feature_find(w.last.submission.features, w.last.submission.features_count,
                        "input_bytes");
    assert_true(element == 4 || element == 6 ? f && f->number == 50 * (element - 2) : !f);
    /* the task's own prediction; without one, the prediction of the job */
    assert_int_equal(w.last.submission.decision.has_p50_bytes, element != 5);
    if (element == 4 || element == 6) {
      assert_true(w.last.submission.decision.p50_bytes == 100 * element);
      assert_true(w.last.submission.decision.p95_bytes == (element == 4 ? 450 : 700));
    }
    assert_true(element < 7 || w.last.submission.decision.p50_bytes == 600);
  }
}

static void a_requeued_run_is_a_new_run(void **state)
{
  (void)state;
  for (uint32_t counts = 0; counts < 2; counts++) {
    w.finished = 0;
    begin_batch(7);
    (void)task_end(7, BATCH, SIGTERM);
    assert_int_equal(w.finished, 1);
    assert_true(w.last.unsettled);
    pass(2);
    /* a script can unset the variable with the count */
    assert_true(task_start_of(7, BATCH, counts));
    (void)task_end(7, BATCH, 0);
    assert_int_equal(w.finished, 2);
    assert_int_equal(w.last.restart_count, counts);
    assert_int_equal(w.last.outcome, FT_OUTCOME_COMPLETED);
    pass(100);
  }
}

static void a_restarted_run_ends_the_previous_one(void **state)
{
  (void)state;
  begin_batch(7);
  fake.alive = false; /* its end records were lost */
  assert_true(task_start_of(7, BATCH, 1));
  assert_int_equal(w.finished, 1);
  assert_int_equal(w.last.restart_count, 0);
  assert_true(w.last.unsettled);
  assert_int_equal(ft_jobs_tree_count(w.jobs), 1);
}

/* SLURM_RESTART_COUNT=$i srun, below a batch script or a shell of salloc. */
static void restarts_that_a_script_claims_are_one_run(void **state)
{
  (void)state;
  for (int batch = 0; batch < 2; batch++) {
    uint32_t job = 7 + (uint32_t)batch;

    w.finished = 0;
    assert_true(task_start(job, batch ? BATCH : 0));
    if (!batch)
      (void)task_end(job, 0, 0);
    for (uint32_t i = 1; i < 40; i++) {
      (void)task_start_of(job, i, i);
      pass(1);
      (void)task_end(job, i, 0);
    }
    (void)task_start_of(job, 40, 40);
    if (batch)
      (void)task_end(job, BATCH, 0);
    (void)task_end(job, 40, 0);
    (void)job_end(job);
    assert_int_equal(w.finished, 1);
    assert_int_equal(w.last.restart_count, 0);
    assert_int_equal(w.last.outcome, FT_OUTCOME_COMPLETED);
    assert_true(w.last.runtime_seconds >= 39);
    assert_int_equal(fake.roots, 41); /* of one tree */
    assert_int_equal(ft_jobs_tree_count(w.jobs), 0);
  }
}

static void the_prolog_has_no_restart_count(void **state)
{
  (void)state;
  assert_true(job_start(7));
  assert_true(task_start_of(7, BATCH, 2));
  assert_int_equal(w.finished, 0);
  (void)task_end(7, BATCH, 0);
  assert_int_equal(w.finished, 1);
  assert_int_equal(w.last.restart_count, 2);
}

/* Only Slurm knows how long it was. */
static void a_suspended_run_is_not_settled(void **state)
{
  (void)state;
  begin_batch(7);
  fake.stopped = true;
  pass(8.7);
  (void)task_end(7, BATCH, 0);
  assert_int_equal(w.last.outcome, FT_OUTCOME_COMPLETED);
  assert_true(w.last.unsettled);
}

static void steps_are_one_tree(void **state)
{
  (void)state;
  begin_batch(7);
  assert_true(task_start(7, 0));
  assert_true(task_start(7, 1));
  assert_int_equal(fake.open, 1);
  assert_int_equal(fake.roots, 3);
  assert_true(task_end(7, 0, EXIT(1)));
  assert_true(task_end(7, BATCH, 0)); /* a step left behind in the background */
  assert_int_equal(w.finished, 0);
  assert_false(task_end(7, 1, 0));
  assert_int_equal(w.finished, 1);
  /* the script's end counts, as in Slurm */
  assert_int_equal(w.last.outcome, FT_OUTCOME_COMPLETED);
}

static void the_extern_step_is_ignored(void **state)
{
  (void)state;
  assert_true(task_start(7, EXTERN));
  assert_int_equal(ft_jobs_tree_count(w.jobs), 0);
  begin_batch(7);
  (void)task_end(7, BATCH, 0);
  assert_int_equal(w.finished, 1);
  (void)task_end(7, EXTERN, SIGKILL);
  assert_int_equal(w.finished, 1);
}

static void a_job_of_srun_ends_with_the_job(void **state)
{
  (void)state;
  assert_true(task_start(7, 0));
  assert_true(task_end(7, 0, 0));
  pass(3);
  assert_true(task_start(7, 1));
  assert_true(task_end(7, 1, EXIT(2)));
  assert_int_equal(w.finished, 0);
  assert_false(job_end(7));
  assert_int_equal(w.finished, 1);
  assert_int_equal(w.last.outcome, FT_OUTCOME_FAILED);
}

static void without_an_epilog_a_long_pause_ends_a_run(void **state)
{
  (void)state;
  assert_true(task_start(7, 0));
  pass(60);
  (void)task_end(7, 0, 0);
  fake.alive = false;
  for (int i = 0; i < 3500; i += 10)
    pass(10);
  assert_int_equal(w.finished, 0); /* salloc: the shell may still be there */
  for (int i = 0; i < 200; i += 10)
    pass(10);
  assert_int_equal(w.finished, 1);
  assert_int_equal(w.last.outcome, FT_OUTCOME_COMPLETED);
  assert_true(w.last.unsettled);
  assert_true(w.last.runtime_seconds == 60 && w.last.end_time == 5060);
}

static void lost_ends_are_found_by_ended_processes(void **state)
{
  (void)state;
  begin_batch(7);
  pass(60);
  assert_int_equal(w.finished, 0);
  fake.alive = false; /* slurmstepd was killed */
  for (int i = 0; i < 40; i++)
    pass(1);
  assert_int_equal(w.finished, 1);
  assert_true(w.last.unsettled);
}

static void a_task_end_alone_gives_a_censored_run(void **state)
{
  (void)state;
  (void)task_end(7, BATCH, 0);
  assert_int_equal(w.finished, 1);
  assert_true(w.last.peak_is_bound);
  assert_int_equal(w.last.outcome, FT_OUTCOME_COMPLETED);
}

/* Stops the agent during a run and starts another one. Returns the observation that it spooled. */
static ft_observation next_agent(void)
{
  ft_observation part;

  ft_jobs_close(w.jobs);
  assert_int_equal(w.finished, 0);
  assert_int_equal(w.suspended, 1);
  part = w.last;
  open_jobs();
  return part;
}

static void a_declared_app_has_an_expected_command(void **state)
{
  const ft_declared_app apps[] = { { .name = "blast", .command = "blastp *" },
                                   { .name = "unet3d", .command = "train.py *" } };

  (void)state;
  begin_batch(6);
  assert_null(fake.expected);
  ft_jobs_set_apps(w.jobs, apps, 2);
  begin_batch(7);
  assert_string_equal(fake.expected, "train.py *");
  assert_false(task_end(7, BATCH, 0));
  assert_true(w.last.has_command_ran && !w.last.command_ran);
}

static void an_agent_that_stops_hands_its_runs_on(void **state)
{
  ft_observation part;
  ft_announcement a;

  (void)state;
  fake.rss = 80 * FT_MIB;
  begin_batch(7);
  pass(10);
  part = next_agent();
  fake.rss = 30 * FT_MIB;
  a = announcement(7, BATCH);
  a.which_event = ft_announcement_task_start_tag;
  a.event.task_start.pid = SLURMSTEPD;
  (void)ft_jobs_announce(w.jobs, &a, SLURMSTEPD, true, (struct ft_instant){ 100, 5000 });
  ft_jobs_restore(w.jobs, &part);
  (void)ft_jobs_tick(w.jobs, w.now);
  pass(5);
  (void)task_end(7, BATCH, 0);
  assert_int_equal(w.finished, 1);
  assert_int_equal(w.last.rss_bytes, 80 * FT_MIB);
  assert_int_equal(w.last.samples, 20);
  assert_true(w.last.peak_is_bound);
  assert_true(w.last.runtime_seconds == 15);
}

static bool is_job_7(const ft_observation *o, void *data)
{
  assert_ptr_equal(data, &w);
  return o->job_id == 7 && strcmp(o->submission.app, "unet3d") == 0;
}

static void a_forgotten_job_has_no_spool_file(void **state)
{
  (void)state;
  begin_batch(7);
  begin_batch(8);
  ft_jobs_forget(w.jobs, is_job_7, &w);
  ft_jobs_forget(w.jobs, is_job_7, &w);
  assert_int_equal(w.forgotten, 1);
  assert_false(task_start(7, 0));
  assert_true(task_start(8, 0));
  assert_false(task_end(7, 0, 0));
  /* the store decides whether the observation is kept */
  (void)task_end(7, BATCH, 0);
  assert_int_equal(w.finished, 1);
  begin_batch(9);
  begin_batch(10);
  ft_jobs_forget(w.jobs, is_job_7, &w);
  ft_jobs_close(w.jobs);
  assert_int_equal(w.suspended, 3);
  open_jobs();
  begin_batch(7);
  ft_jobs_forget(w.jobs, is_job_7, &w);
  ft_jobs_close(w.jobs);
  assert_int_equal(w.suspended, 3);
  open_jobs();
}

static void a_job_without_a_task_leaves_no_trace(void **state)
{
  (void)state;
  assert_true(job_start(7));
  assert_false(job_end(7));
  assert_false(job_end(8));
  assert_int_equal(w.finished, 0);
  assert_int_equal(w.forgotten, 1);
  assert_true(isinf(ft_jobs_tick(w.jobs, w.now)));
}

static void an_undecodable_submission_is_measured_without_features(void **state)
{
  ft_announcement a = announcement(7, BATCH);

  (void)state;
  a.which_event = ft_announcement_task_start_tag;
  a.event.task_start = (ft_task_start){ .pid = SLURMSTEPD };
  a.event.task_start.submission.size = 5;
  memset(a.event.task_start.submission.bytes, 0xff, 5);
  assert_true(say(&a));
  (void)task_end(7, BATCH, 0);
  assert_int_equal(w.finished, 1);
  assert_string_equal(w.last.submission.app, "");
}

static void the_first_submission_that_decodes_counts(void **state)
{
  ft_announcement a = announcement(7, BATCH);
  ft_task_start *start = &a.event.task_start;

  (void)state;
  a.which_event = ft_announcement_task_start_tag;
  *start = (ft_task_start){ .pid = SLURMSTEPD };
  start->submission.size = 5;
  memset(start->submission.bytes, 0xff, 5);
  assert_true(say(&a));
  put_submission("unet3d", start);
  assert_true(say(&a));
  a.step_id = 0;
  put_submission("another", start);
  assert_true(say(&a));
  (void)task_end(7, 0, 0);
  (void)task_end(7, BATCH, 0);
  assert_int_equal(w.finished, 1);
  assert_string_equal(w.last.submission.app, "unet3d");
}

static void the_number_of_jobs_is_bounded(void **state)
{
  ft_announcement a;

  (void)state;
  for (uint32_t job = 1; job <= FT_JOBS_LIMIT + 10; job++) {
    a = announcement(job, 0);
    a.uid = 1000 + job % 4;
    a.which_event = ft_announcement_job_start_tag;
    assert_int_equal(say(&a), job <= FT_JOBS_LIMIT);
  }
}

static void one_user_leaves_room_for_others(void **state)
{
  ft_announcement a = announcement(FT_JOBS_LIMIT + 1, 0);

  (void)state;
  for (uint32_t job = 1; job <= FT_JOBS_LIMIT; job++)
    assert_int_equal(job_start(job), job <= FT_JOBS_USER_LIMIT);
  a.uid = 1001;
  a.which_event = ft_announcement_job_start_tag;
  assert_true(say(&a));
}

static void ended_jobs_make_room(void **state)
{
  (void)state;
  for (uint32_t job = 1; job <= FT_JOBS_LIMIT + 10; job++) {
    begin_batch(job);
    (void)task_end(job, BATCH, 0);
    assert_int_equal(w.finished, job);
  }
}

static void complete_jobs_are_dropped(void **state)
{
  (void)state;
  begin_batch(7);
  (void)task_end(7, BATCH, 0);
  pass(30);
  assert_false(isinf(ft_jobs_tick(w.jobs, w.now)));
  pass(31);
  assert_true(isinf(ft_jobs_tick(w.jobs, w.now)));
  assert_int_equal(w.finished, 1);
}

static size_t in_use(void)
{
  struct mallinfo2 info = mallinfo2();

  return info.uordblks + info.hblkhd;
}

/* Only its number stays, for late announcements. */
static void delivered_jobs_use_less_memory(void **state)
{
  enum { JOBS = 1000 };
  size_t before = in_use();

  (void)state;
  for (uint32_t job = 1; job <= JOBS; job++) {
    begin_batch(job);
    (void)task_end(job, BATCH, 0);
  }
  assert_true(in_use() - before < JOBS * sizeof(ft_observation) / 12);
  assert_false(task_end(500, BATCH, SIGKILL));
  assert_false(job_end(500));
  assert_int_equal(w.finished, JOBS);
}

static void running_jobs_are_reported_as_measured_so_far(void **state)
{
  ft_observation o, earlier = { .job_id = 7, .has_rss_bytes = true, .rss_bytes = 70 * FT_MIB };
  double now_bytes = 0;

  (void)state;
  assert_false(ft_jobs_running(w.jobs, 0, w.now, &o, &now_bytes));
  begin_batch(7);
  assert_true(job_start(8));
  pass(12);
  for (unsigned i = 0; i < 2; i++) {
    assert_true(ft_jobs_running(w.jobs, i, w.now, &o, &now_bytes));
    if (o.job_id == 8) {
      assert_true(now_bytes < 0); /* no task has started */
      continue;
    }
    assert_true(now_bytes == (double)(25 * FT_MIB));
    assert_int_equal(o.rss_bytes, 50 * FT_MIB);
    assert_int_equal(o.limit_bytes, 100 * FT_MIB);
    assert_true(o.runtime_seconds == 12);
    assert_int_equal(o.outcome, FT_OUTCOME_UNKNOWN);
    assert_int_equal(o.rule, FT_RULE_RSS);
  }
  assert_false(ft_jobs_running(w.jobs, 2, w.now, &o, &now_bytes));
  ft_jobs_restore(w.jobs, &earlier);
  assert_true(ft_jobs_running(w.jobs, 1, w.now, &o, &now_bytes));
  assert_int_equal(o.rss_bytes, 70 * FT_MIB);
  assert_int_equal(w.finished, 0);
  assert_false(task_end(7, BATCH, 0));
  assert_true(ft_jobs_running(w.jobs, 0, w.now, &o, &now_bytes));
  assert_int_equal(o.job_id, 8);
}

/* Runs of NEW are counted until the app has enough, then one in 50. */
static void few_runs_are_counted(void **state)
{
  static const struct {
    enum ft_counters mode;
    const char *app;
    uint32_t known, counted; /* runs of the app's model, and counted here */
    int least, most;         /* of 1000 runs that are counted */
  } cases[] = {
    { FT_COUNTERS_NEW, "a", 0, 0, 1000, 1000 },
    { FT_COUNTERS_NEW, "a", 19, 19, 1000, 1000 },
    { FT_COUNTERS_NEW, "a", 20, 0, 10, 30 },
    { FT_COUNTERS_NEW, "a", 0, 20, 10, 30 },
    { FT_COUNTERS_NEW, "", 0, 0, 0, 0 },
    { FT_COUNTERS_OFF, "a", 0, 0, 0, 0 },
    { FT_COUNTERS_ALWAYS, "a", 50, 0, 1000, 1000 },
  };
  static struct ft_counter_choice choice;
  static ft_observation o, other;

  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    int counted = 0;

    choice = (struct ft_counter_choice){ .mode = cases[i].mode, .runs = 20 };
    o = (ft_observation){ .uid = 7, .counters_count = 1 };
    (void)ft_string_copy(cases[i].app, o.submission.app, sizeof o.submission.app);
    o.submission.app_runs = cases[i].known;
    for (uint32_t n = 0; n < cases[i].counted; n++)
      ft_counter_choice_add(&choice, &o);
    for (o.job_id = 1; o.job_id <= 1000; o.job_id++)
      counted += ft_counter_choice_wants(&choice, &o);
    if (counted < cases[i].least || counted > cases[i].most)
      fail_msg("case %zu: %d", i, counted);
    other = o;
    other.uid = 8;
    other.submission.app_runs = 0;
    assert_int_equal(ft_counter_choice_wants(&choice, &other),
                     cases[i].mode != FT_COUNTERS_OFF && cases[i].app[0]);
  }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
  const struct CMUnitTest tests[] = {
    TEST(a_batch_job_is_over_with_its_script),
    TEST(outcomes_are_distinguished),
    TEST(the_kernels_count_of_oom_kills_decides),
    TEST(a_kill_counts_at_the_limit_that_was_hit),
    TEST(a_containers_limit_is_not_the_jobs),
    TEST(a_kill_at_a_limit_counts_among_other_kills),
    TEST(a_task_end_that_is_read_late_counts),
    TEST(a_limit_that_slurm_lowers_is_the_one_that_counts),
    TEST(an_array_task_has_its_own_features),
    TEST(a_requeued_run_is_a_new_run),
    TEST(a_restarted_run_ends_the_previous_one),
    TEST(restarts_that_a_script_claims_are_one_run),
    TEST(the_prolog_has_no_restart_count),
    TEST(a_suspended_run_is_not_settled),
    TEST(steps_are_one_tree),
    TEST(the_extern_step_is_ignored),
    TEST(a_job_of_srun_ends_with_the_job),
    TEST(without_an_epilog_a_long_pause_ends_a_run),
    TEST(lost_ends_are_found_by_ended_processes),
    TEST(a_task_end_alone_gives_a_censored_run),
    TEST(a_declared_app_has_an_expected_command),
    TEST(an_agent_that_stops_hands_its_runs_on),
    TEST(a_forgotten_job_has_no_spool_file),
    TEST(a_job_without_a_task_leaves_no_trace),
    TEST(an_undecodable_submission_is_measured_without_features),
    TEST(the_first_submission_that_decodes_counts),
    TEST(the_number_of_jobs_is_bounded),
    TEST(one_user_leaves_room_for_others),
    TEST(ended_jobs_make_room),
    TEST(complete_jobs_are_dropped),
    TEST(delivered_jobs_use_less_memory),
    TEST(running_jobs_are_reported_as_measured_so_far),
    TEST(few_runs_are_counted),
  };

  return cmocka_run_group_tests_name("agent jobs", tests, NULL, NULL);
}
