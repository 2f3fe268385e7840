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
  unsigned finished, asked, forgotten, suspended;
  uint32_t asked_id;
  bool no_journal;
  ft_observation last;
} w;

static void finished(const ft_observation *o, void *data)
{
  (void)data;
  w.finished++;
  w.last = *o;
}

static void ask(uint32_t job_id, void *data)
{
  (void)data;
  w.asked++;
  w.asked_id = job_id;
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
  return !w.no_journal;
}

static void open_jobs(void)
{
  const struct ft_jobs_settings settings = { .rule = FT_RULE_RSS,
                                             .grace_seconds = 30,
                                             .query_seconds = 1,
                                             .finished = finished,
                                             .query_slurm = ask,
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

static ft_slurm_job record(void)
{
  return (ft_slurm_job){ .uid = 1000,
                         .user = "ann",
                         .partition = "main",
                         .account = "phys",
                         .submit_time = 4990,
                         .nodes = 2 };
}

static void answer(uint32_t job, bool over, ft_outcome outcome)
{
  ft_slurm_job r = record();

  r.final = over;
  r.outcome = outcome;
  ft_jobs_slurm_reply(w.jobs, job, &r, w.now);
  (void)ft_jobs_tick(w.jobs, w.now);
}

static void begin_batch(uint32_t job)
{
  assert_true(task_start(job, BATCH));
  answer(job, false, 0);
}

#define EXIT(code) ((code) << 8)

/* ---- what must hold ---- */

static void a_batch_job_is_over_with_its_script(void **state)
{
  (void)state;
  assert_true(job_start(7));
  assert_int_equal(w.asked_id, 7);
  begin_batch(7);
  pass(12);
  assert_false(task_end(7, BATCH, 0));
  assert_int_equal(w.finished, 1);
  assert_int_equal(w.forgotten, 1);
  assert_int_equal(w.last.outcome, FT_OUTCOME_COMPLETED);
  assert_false(w.last.censored);
  assert_false(w.last.peak_is_bound);
  assert_true(w.last.submit_time == 4990);
  assert_int_equal(w.last.allocated_nodes, 2);
  assert_true(w.last.runtime_seconds == 12);
  assert_true(w.last.start_time == 5000 && w.last.end_time == 5012);
  assert_string_equal(w.last.submission.app, "unet3d");
  assert_string_equal(w.last.user, "ann");
  assert_string_equal(w.last.account, "phys");
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
    bool asks;
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
    unsigned asked;

    fake.rss = cases[i].rss;
    begin_batch(job);
    asked = w.asked;
    (void)task_end_with(job, BATCH, cases[i].status, cases[i].oom_kills);
    assert_int_equal(w.finished, i + 1);
    /* the step's limit, not the job's */
    assert_int_equal(w.last.killed_at_bytes, cases[i].oom_kills ? 60 * FT_MIB : 0);
    assert_int_equal(w.last.outcome, cases[i].outcome);
    assert_int_equal(w.last.censored, cases[i].outcome != FT_OUTCOME_COMPLETED);
    pass(2);
    assert_int_equal(w.asked - asked, cases[i].asks);
    answer(job, true, FT_OUTCOME_FAILED);
    w.finished = (unsigned)i + 1;
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
static void a_task_end_read_after_the_job_end_counts(void **state)
{
  ft_announcement a = announcement(7, BATCH);

  (void)state;
  fake.alive = false;
  a.which_event = ft_announcement_task_start_tag;
  a.event.task_start = (ft_task_start){ .tasks = 1 };
  (void)say(&a);
  answer(7, true, FT_OUTCOME_FAILED);
  assert_int_equal(w.finished, 0);
  (void)task_end(7, BATCH, EXIT(3));
  assert_int_equal(w.finished, 1);
  assert_int_equal(w.last.outcome, FT_OUTCOME_FAILED);
  assert_int_equal(w.last.exit_code, 3);
  /* a lost one is not waited for */
  a.job_id = 8;
  a.which_event = ft_announcement_task_start_tag;
  a.event.task_start = (ft_task_start){ .tasks = 1 };
  (void)say(&a);
  answer(8, true, FT_OUTCOME_FAILED);
  pass(31);
  answer(8, true, FT_OUTCOME_FAILED);
  assert_true(w.finished > 1);
  assert_int_equal(w.last.outcome, FT_OUTCOME_FAILED);
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

static void slurm_supplies_what_the_node_cannot_measure(void **state)
{
  static const ft_outcome outcomes[] = { FT_OUTCOME_CANCELLED, FT_OUTCOME_TIMEOUT,
                                         FT_OUTCOME_PREEMPTED, FT_OUTCOME_OUT_OF_MEMORY };

  (void)state;
  for (uint32_t i = 0; i < COUNT_OF(outcomes); i++) {
    w.finished = 0;
    begin_batch(10 + i);
    (void)task_end(10 + i, BATCH, SIGKILL);
    assert_int_equal(w.finished, 1);
    pass(1);
    answer(10 + i, false, 0); /* still completing in Slurm */
    assert_int_equal(w.finished, 1);
    pass(3);
    answer(10 + i, true, outcomes[i]);
    assert_int_equal(w.finished, 2);
    assert_int_equal(w.last.outcome, outcomes[i]);
    assert_true(w.last.censored);
  }
}

static void slurm_does_not_override_the_kernel(void **state)
{
  (void)state;
  begin_batch(7);
  (void)task_end_with(7, BATCH, SIGKILL, 1);
  pass(2);
  answer(7, true, FT_OUTCOME_FAILED);
  assert_int_equal(w.finished, 1);
  assert_int_equal(w.last.outcome, FT_OUTCOME_OUT_OF_MEMORY);
}

/* Applies a record of a running JOB that has these IDs. */
static void answer_ids(uint32_t job, uint32_t array, uint32_t task, uint32_t het)
{
  ft_slurm_job r = record();

  r.identified = true;
  r.array_job_id = array;
  r.array_task_id = task;
  r.het_offset = het;
  ft_jobs_slurm_reply(w.jobs, job, &r, w.now);
}

/* A job's environment may call it a component or an array task: its runs would not be one. */
static void only_slurm_names_array_tasks_and_components(void **state)
{
  static const struct {
    uint32_t array, task, het;
  } cases[] = { { 0, 0, 0 }, { 90, 3, 0 }, { 0, 0, 2 } };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++)
    for (int late = 0; late < 2; late++) {
      uint32_t job = 100 + (uint32_t)(2 * i) + (uint32_t)late;
      ft_announcement a = announcement(job, BATCH);
      ft_submission s = { .schema = FT_SCHEMA, .app = "many", .het_offset = 7 };
      struct ft_buf buf;

      a.array_job_id = 50;
      a.array_task_id = job;
      a.which_event = ft_announcement_task_start_tag;
      a.event.task_start = (ft_task_start){ .pid = SLURMSTEPD, .tasks = 1 };
      ft_buf_init(&buf, FT_LIMIT_RECORD);
      assert_int_equal(ft_record_encode(FT_RECORD_SUBMISSION, &s, &buf, NULL), 0);
      memcpy(a.event.task_start.submission.bytes, buf.data, buf.length);
      a.event.task_start.submission.size = (pb_size_t)buf.length;
      ft_buf_free(&buf);
      assert_true(say(&a));
      w.finished = 0;
      if (!late)
        answer_ids(job, cases[i].array, cases[i].task, cases[i].het);
      (void)task_end(job, BATCH, 0);
      if (late)
        answer_ids(job, cases[i].array, cases[i].task, cases[i].het);
      assert_int_equal(w.finished, 1);
      assert_int_equal(w.last.array_job_id, cases[i].array);
      assert_int_equal(w.last.array_task_id, cases[i].task);
      assert_int_equal(w.last.het_offset, cases[i].het);
    }
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
    answer(element + 100, false, FT_OUTCOME_UNKNOWN);
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

static void an_inferred_oom_yields_only_to_a_better_reason(void **state)
{
  (void)state;
  fake.rss = 99 * FT_MIB;
  begin_batch(7);
  (void)task_end(7, BATCH, SIGKILL);
  pass(2);
  answer(7, true, FT_OUTCOME_CANCELLED);
  assert_int_equal(w.finished, 1);
  assert_int_equal(w.last.outcome, FT_OUTCOME_OUT_OF_MEMORY);
  begin_batch(8);
  (void)task_end(8, BATCH, SIGKILL);
  pass(2);
  answer(8, true, FT_OUTCOME_TIMEOUT);
  assert_int_equal(w.finished, 3);
  assert_int_equal(w.last.outcome, FT_OUTCOME_TIMEOUT);
}

static void a_requeued_run_is_a_new_run(void **state)
{
  ft_slurm_job r = record();

  (void)state;
  begin_batch(7);
  (void)task_end(7, BATCH, SIGTERM);
  pass(2);
  r.restart_count = 1;
  r.submit_time = 6000;
  ft_jobs_slurm_reply(w.jobs, 7, &r, w.now);
  assert_int_equal(w.last.outcome, FT_OUTCOME_REQUEUED);
  assert_true(w.last.submit_time == 4990);
  assert_true(task_start_of(7, BATCH, 1));
  ft_jobs_slurm_reply(w.jobs, 7, &r, w.now);
  w.finished = 0;
  (void)task_end(7, BATCH, 0);
  assert_int_equal(w.finished, 1);
  assert_int_equal(w.last.restart_count, 1);
  assert_true(w.last.submit_time == 6000);
  assert_int_equal(w.last.outcome, FT_OUTCOME_COMPLETED);
}

static void answer_restarts(uint32_t job, uint32_t restarts, bool over)
{
  ft_slurm_job r = record();

  r.restart_count = restarts;
  r.running = !over;
  r.final = over;
  r.outcome = FT_OUTCOME_COMPLETED;
  ft_jobs_slurm_reply(w.jobs, job, &r, w.now);
  (void)ft_jobs_tick(w.jobs, w.now);
}

static void a_restarted_run_ends_the_previous_one(void **state)
{
  (void)state;
  begin_batch(7);
  fake.alive = false; /* its end records were lost */
  assert_true(task_start_of(7, BATCH, 1));
  assert_int_equal(w.finished, 0);
  answer_restarts(7, 1, false);
  assert_int_equal(w.last.outcome, FT_OUTCOME_REQUEUED);
  assert_int_equal(w.last.restart_count, 0);
  assert_int_equal(ft_jobs_tree_count(w.jobs), 1);
}

/* SLURM_RESTART_COUNT=$i srun, below a batch script or a shell of salloc, while Slurm answers. */
static void restarts_unknown_to_slurm_are_one_run(void **state)
{
  (void)state;
  for (int batch = 0; batch < 2; batch++) {
    uint32_t job = 7 + (uint32_t)batch;

    w.finished = 0;
    assert_true(task_start(job, batch ? BATCH : 0));
    answer_restarts(job, 0, false);
    fake.rss = 90 * FT_MIB;
    if (!batch)
      (void)task_end(job, 0, 0);
    for (uint32_t i = 1; i < 40; i++) {
      (void)task_start_of(job, i, i);
      pass(1);
      answer_restarts(job, 0, false);
      fake.rss = 10 * FT_MIB;
      (void)task_end(job, i, 0);
    }
    (void)task_start_of(job, 40, 40);
    if (batch)
      (void)task_end(job, BATCH, 0);
    (void)task_end(job, 40, 0);
    (void)job_end(job);
    pass(2);
    answer_restarts(job, 0, true);
    for (int i = 0; i < 40; i++)
      pass(1);
    answer_restarts(job, 0, true);
    assert_int_equal(w.finished, 1);
    assert_int_equal(w.last.restart_count, 0);
    assert_int_equal(w.last.outcome, FT_OUTCOME_COMPLETED);
    assert_int_equal(w.last.submit_time, 4990);
    assert_true(w.last.runtime_seconds >= 39);
    if (!batch)
      assert_int_equal(w.last.rss_bytes, 90 * FT_MIB);
    assert_int_equal(ft_jobs_tree_count(w.jobs), 0);
  }
}

static void a_restart_count_needs_slurms_confirmation(void **state)
{
  (void)state;
  assert_true(task_start_of(7, BATCH, 12));
  (void)task_end(7, BATCH, 0);
  for (int i = 0; i < 700 && !w.finished; i++) {
    pass(1);
    ft_jobs_slurm_reply(w.jobs, 7, NULL, w.now);
  }
  assert_int_equal(w.finished, 1);
  assert_int_equal(w.last.restart_count, 0);
}

/* Slurm's reply to a query from before the run's start is no evidence about it. */
static void a_reply_from_before_the_start_refutes_no_restart(void **state)
{
  (void)state;
  assert_true(task_start(7, BATCH));
  (void)task_end(7, BATCH, SIGTERM);
  assert_true(task_start_of(7, BATCH, 1));
  answer_restarts(7, 0, false);
  assert_int_equal(ft_jobs_tree_count(w.jobs), 1);
  answer_restarts(7, 1, false);
  (void)task_end(7, BATCH, 0);
  assert_int_equal(w.last.restart_count, 1);
  assert_int_equal(w.last.outcome, FT_OUTCOME_COMPLETED);
}

static void a_job_has_one_pending_query(void **state)
{
  (void)state;
  for (uint32_t i = 0; i < 4200; i++) {
    (void)task_start_of(7, i, i);
    assert_int_equal(w.asked, 1);
  }
  answer_restarts(7, 0, false);
  assert_true(job_start(8));
  assert_int_equal(w.asked_id, 8);
}

static void the_prolog_has_no_restart_count(void **state)
{
  ft_slurm_job r = record();

  (void)state;
  assert_true(job_start(7));
  assert_true(task_start_of(7, BATCH, 2));
  assert_int_equal(w.finished, 0);
  r.restart_count = 2;
  ft_jobs_slurm_reply(w.jobs, 7, &r, w.now);
  (void)task_end(7, BATCH, 0);
  assert_int_equal(w.finished, 1);
  assert_int_equal(w.last.restart_count, 2);
}

static void slurm_reports_the_restart_count_of_a_running_job(void **state)
{
  ft_slurm_job r = record();

  (void)state;
  assert_true(task_start(7, BATCH));
  r.restart_count = 3;
  r.running = true;
  ft_jobs_slurm_reply(w.jobs, 7, &r, w.now);
  (void)task_end(7, BATCH, 0);
  assert_int_equal(w.finished, 1);
  assert_int_equal(w.last.restart_count, 3);
  assert_true(w.last.submit_time == 4990);
}

static void suspended_time_is_no_run_time(void **state)
{
  ft_slurm_job r = record();

  (void)state;
  begin_batch(7);
  fake.stopped = true;
  pass(8.7);
  (void)task_end(7, BATCH, 0);
  assert_int_equal(w.last.outcome, FT_OUTCOME_COMPLETED);
  pass(1.1);
  r.final = true;
  r.outcome = FT_OUTCOME_COMPLETED;
  r.suspended_seconds = 7;
  ft_jobs_slurm_reply(w.jobs, 7, &r, w.now);
  assert_int_equal(w.finished, 2);
  assert_true(fabs(w.last.runtime_seconds - 1.7) < 1e-9);
  ft_jobs_slurm_reply(w.jobs, 7, &r, w.now);
  assert_int_equal(w.finished, 2);
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
  answer(7, false, 0);
  assert_true(task_end(7, 0, 0));
  pass(3);
  assert_true(task_start(7, 1));
  assert_true(task_end(7, 1, EXIT(2)));
  assert_int_equal(w.finished, 0);
  assert_false(job_end(7));
  assert_int_equal(w.finished, 1);
  assert_int_equal(w.last.outcome, FT_OUTCOME_FAILED);
  pass(1);
  answer(7, true, FT_OUTCOME_FAILED);
  assert_int_equal(w.finished, 1);
}

static void without_an_epilog_slurm_is_queried(void **state)
{
  unsigned asked;

  (void)state;
  assert_true(task_start(7, 0));
  answer(7, false, 0);
  (void)task_end(7, 0, 0);
  fake.alive = false;
  asked = w.asked;
  for (int i = 0; i < 29; i++)
    pass(1);
  assert_int_equal(w.asked, asked);
  pass(2);
  assert_int_equal(w.asked, asked + 1);
  answer(7, false, 0); /* salloc: the shell is still there */
  assert_int_equal(w.finished, 0);
  for (int i = 0; i < 100 && w.asked == asked + 1; i++)
    pass(1);
  assert_int_equal(w.asked, asked + 2);
  answer(7, true, FT_OUTCOME_COMPLETED);
  assert_int_equal(w.finished, 1);
  assert_int_equal(w.last.outcome, FT_OUTCOME_COMPLETED);
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
  answer(7, true, FT_OUTCOME_NODE_FAIL);
  assert_true(w.finished >= 1);
  assert_int_equal(w.last.outcome, FT_OUTCOME_NODE_FAIL);
}

static void a_task_end_alone_gives_a_censored_run(void **state)
{
  (void)state;
  (void)task_end(7, BATCH, 0);
  answer(7, false, 0);
  assert_int_equal(w.finished, 1);
  assert_true(w.last.peak_is_bound);
  assert_int_equal(w.last.outcome, FT_OUTCOME_COMPLETED);
}

/* If the agent were killed before Slurm answers, the run would be lost. */
static void an_end_is_kept_until_slurm_reports_the_submit_time(void **state)
{
  (void)state;
  assert_true(task_end(7, BATCH, 0));
  assert_true(task_start(8, 0));
  assert_true(job_end(8));
  assert_int_equal(w.finished, 0);
  assert_int_equal(w.forgotten, 0);
  answer(7, false, 0);
  answer(8, true, FT_OUTCOME_COMPLETED);
  assert_int_equal(w.finished, 2);
  assert_int_equal(w.forgotten, 2);
}

static void without_slurm_nothing_is_lost(void **state)
{
  (void)state;
  assert_true(task_start(7, BATCH));
  ft_jobs_slurm_reply(w.jobs, 7, NULL, w.now);
  (void)task_end(7, BATCH, SIGKILL);
  assert_int_equal(w.finished, 0); /* waits for its submit time */
  for (int i = 0; i < 20 && !w.finished; i++) {
    pass(1);
    ft_jobs_slurm_reply(w.jobs, 7, NULL, w.now);
  }
  assert_int_equal(w.finished, 1);
  assert_true(w.last.censored);
  assert_true(w.last.submit_time == 0);
  /* Slurm answers again with the submit time; the store joins both records (test_store) */
  pass(100);
  answer(7, true, FT_OUTCOME_TIMEOUT);
  assert_int_equal(w.finished, 2);
  assert_int_equal(w.last.outcome, FT_OUTCOME_TIMEOUT);
  assert_true(w.last.submit_time > 0 && w.last.start_time <= w.last.end_time);
}

static void at_the_time_limit_slurms_state_counts(void **state)
{
  (void)state;
  begin_batch(7);
  pass(600);
  (void)task_end(7, BATCH, 0); /* a script that catches SIGTERM */
  pass(1);
  answer(7, true, FT_OUTCOME_TIMEOUT);
  assert_int_equal(w.last.outcome, FT_OUTCOME_TIMEOUT);
  assert_true(w.last.censored);
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
  answer(7, false, 0);
  pass(5);
  (void)task_end(7, BATCH, 0);
  assert_int_equal(w.finished, 1);
  assert_int_equal(w.last.rss_bytes, 80 * FT_MIB);
  assert_int_equal(w.last.samples, 20);
  assert_true(w.last.peak_is_bound);
  assert_true(w.last.runtime_seconds == 15);
}

static void replay(uint32_t job, pb_size_t event)
{
  ft_announcement a = announcement(job, BATCH);

  a.which_event = event;
  if (event == ft_announcement_task_end_tag)
    a.event.task_end.last = true;
  (void)ft_jobs_announce(w.jobs, &a, SLURMSTEPD, true, w.now);
}

/* Stored without a submit time it would count as a second run. */
static void a_run_without_a_submit_time_waits_for_the_next_agent(void **state)
{
  ft_observation part;

  (void)state;
  fake.rss = 80 * FT_MIB;
  assert_true(task_start(7, BATCH));
  pass(10);
  assert_true(task_end(7, BATCH, 0));
  part = next_agent();
  fake.rss = 30 * FT_MIB;
  replay(7, ft_announcement_task_start_tag);
  replay(7, ft_announcement_task_end_tag);
  ft_jobs_restore(w.jobs, &part);
  assert_int_equal(w.finished, 0);
  (void)ft_jobs_tick(w.jobs, w.now); /* queries Slurm */
  answer(7, true, FT_OUTCOME_COMPLETED);
  assert_int_equal(w.finished, 1);
  assert_int_equal(w.last.outcome, FT_OUTCOME_COMPLETED);
  assert_int_equal(w.last.rss_bytes, 80 * FT_MIB);
  assert_int_equal(w.last.samples, 10);
  assert_false(w.last.peak_is_bound);
  assert_true(w.last.submit_time == 4990);
  assert_true(w.last.runtime_seconds == 10);
}

static void a_run_that_cannot_be_spooled_is_delivered(void **state)
{
  (void)state;
  (void)task_end(7, BATCH, 0);
  w.no_journal = true;
  ft_jobs_close(w.jobs);
  assert_int_equal(w.suspended, 1);
  assert_int_equal(w.finished, 1);
  open_jobs();
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
  answer(7, false, 0);
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
  answer(7, false, 0);
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

/* Small until Slurm's record may be released; the allocator of a sanitizer hides this. */
static void ended_jobs_use_little_memory(void **state)
{
  enum { JOBS = 1000 };
  size_t before = in_use();

  (void)state;
  for (uint32_t job = 1; job <= JOBS; job++) {
    begin_batch(job);
    (void)task_end(job, BATCH, SIGKILL);
  }
  assert_true(in_use() - before < JOBS * sizeof(ft_observation) / 11);
  answer(500, true, FT_OUTCOME_CANCELLED);
  assert_int_equal(w.finished, JOBS + 1);
  assert_int_equal(w.last.job_id, 500);
  assert_string_equal(w.last.submission.app, "unet3d");
  assert_int_equal(w.last.rss_bytes, 50 * FT_MIB);
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
  answer(500, true, FT_OUTCOME_CANCELLED);
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
    TEST(a_task_end_read_after_the_job_end_counts),
    TEST(a_limit_that_slurm_lowers_is_the_one_that_counts),
    TEST(slurm_supplies_what_the_node_cannot_measure),
    TEST(slurm_does_not_override_the_kernel),
    TEST(an_array_task_has_its_own_features),
    TEST(only_slurm_names_array_tasks_and_components),
    TEST(an_inferred_oom_yields_only_to_a_better_reason),
    TEST(a_requeued_run_is_a_new_run),
    TEST(a_restarted_run_ends_the_previous_one),
    TEST(restarts_unknown_to_slurm_are_one_run),
    TEST(a_restart_count_needs_slurms_confirmation),
    TEST(a_reply_from_before_the_start_refutes_no_restart),
    TEST(a_job_has_one_pending_query),
    TEST(the_prolog_has_no_restart_count),
    TEST(slurm_reports_the_restart_count_of_a_running_job),
    TEST(suspended_time_is_no_run_time),
    TEST(steps_are_one_tree),
    TEST(the_extern_step_is_ignored),
    TEST(a_job_of_srun_ends_with_the_job),
    TEST(without_an_epilog_slurm_is_queried),
    TEST(lost_ends_are_found_by_ended_processes),
    TEST(a_task_end_alone_gives_a_censored_run),
    TEST(an_end_is_kept_until_slurm_reports_the_submit_time),
    TEST(without_slurm_nothing_is_lost),
    TEST(at_the_time_limit_slurms_state_counts),
    TEST(a_declared_app_has_an_expected_command),
    TEST(an_agent_that_stops_hands_its_runs_on),
    TEST(a_run_without_a_submit_time_waits_for_the_next_agent),
    TEST(a_run_that_cannot_be_spooled_is_delivered),
    TEST(a_forgotten_job_has_no_spool_file),
    TEST(a_job_without_a_task_leaves_no_trace),
    TEST(an_undecodable_submission_is_measured_without_features),
    TEST(the_first_submission_that_decodes_counts),
    TEST(the_number_of_jobs_is_bounded),
    TEST(one_user_leaves_room_for_others),
    TEST(ended_jobs_make_room),
    TEST(complete_jobs_are_dropped),
    TEST(ended_jobs_use_little_memory),
    TEST(delivered_jobs_use_less_memory),
    TEST(running_jobs_are_reported_as_measured_so_far),
    TEST(few_runs_are_counted),
  };

  return cmocka_run_group_tests_name("agent jobs", tests, NULL, NULL);
}
