/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include "tests/unit/unit.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "predictor/core/io.h"
#include "predictor/core/units.h"
#include "predictor/estimate/quantity.h"
#include "predictor/history/import.h"
#include "predictor/history/sacct_text.h"
#include "predictor/history/step_overlap.h"

enum { MOST = 32 };

/* the result of an import */
struct found {
  struct ft_import import;
  ft_observation run[MOST];
  unsigned count;
  unsigned skipped;
  struct ft_error first, err;
  int status;
};

static int collect_run(const ft_observation *o, void *data, struct ft_error *err)
{
  struct found *found = data;

  (void)err;
  assert_true(found->count < MOST);
  found->run[found->count++] = *o;
  return 0;
}

static void skipped(const struct ft_error *why, void *data)
{
  struct found *found = data;

  if (!found->skipped++)
    found->first = *why;
}

static int find_uid(const char *user, uint32_t *uid, void *data)
{
  (void)data;
  *uid = 77;
  return strcmp(user, "alice") == 0 ? 0 : -1;
}

static void prepare(struct found *found)
{
  memset(found, 0, sizeof *found);
  found->import = (struct ft_import){
    .find_uid = find_uid, .put = collect_run, .skipped = skipped, .data = found
  };
}

static const char *fixture(const char *name)
{
  static char path[4096];
  const char *top = getenv("FT_TOP_SRCDIR");

  (void)snprintf(path, sizeof path, "%s/tests/fixtures/%s", top ? top : "..", name);
  return path;
}

static void import_file(struct found *found, const char *name, const char *zone,
                        int (*import)(struct ft_import *, struct ft_error *))
{
  const char *path = fixture(name);

  found->import.fd = open(path, O_RDONLY);
  if (found->import.fd < 0)
    fail_msg("%s", path);
  found->import.name = name;
  found->import.zone = zone ? ft_timezone_open(zone, fixture("zoneinfo"), &found->err) : NULL;
  assert_true(!zone || found->import.zone);
  found->status = import(&found->import, &found->err);
  close(found->import.fd);
  ft_timezone_close((struct ft_timezone *)found->import.zone);
}

static void import_text(struct found *found, const char *text,
                        int (*import)(struct ft_import *, struct ft_error *))
{
  int fd = memfd_create("table", MFD_CLOEXEC);

  assert_int_equal(ft_io_write_all(fd, text, strlen(text)), 0);
  lseek(fd, 0, SEEK_SET);
  found->import.fd = fd;
  found->import.name = "t";
  found->err.text[0] = '\0';
  found->status = import(&found->import, &found->err);
  close(fd);
}

static void job_ids_in_all_forms(void **state)
{
  static const struct {
    const char *text;
    bool good;
    uint32_t job, task, het;
    bool array, pending;
    const char *base, *step;
  } cases[] = {
    { "123", true, 123, 0, 0, false, false, "123", "" },
    { "123_4", true, 123, 4, 0, true, false, "123_4", "" },
    { "123_0", true, 123, 0, 0, true, false, "123_0", "" },
    { "123+1", true, 123, 0, 1, false, false, "123+1", "" },
    { "123.batch", true, 123, 0, 0, false, false, "123", "batch" },
    { "123.extern", true, 123, 0, 0, false, false, "123", "extern" },
    { "123_4.0", true, 123, 4, 0, true, false, "123_4", "0" },
    { "123+1.interactive", true, 123, 0, 1, false, false, "123+1", "interactive" },
    { "123.0+1", true, 123, 0, 0, false, false, "123", "0+1" },
    { "123_[5-9]", true, 123, 0, 0, true, true, "", "" },
    { "123_[5-9,12%3]", true, 123, 0, 0, true, true, "", "" },
    { "", false, 0, 0, 0, false, false, "", "" },
    { "0", false, 0, 0, 0, false, false, "", "" },
    { "abc", false, 0, 0, 0, false, false, "", "" },
    { "123.", false, 0, 0, 0, false, false, "", "" },
    { "123_", false, 0, 0, 0, false, false, "", "" },
    { "123_[5-9", false, 0, 0, 0, false, false, "", "" },
    { "123x", false, 0, 0, 0, false, false, "", "" },
    { "4294967296", false, 0, 0, 0, false, false, "", "" },
    { "-5", false, 0, 0, 0, false, false, "", "" },
  };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct ft_sacct_id id;

    if (ft_sacct_id(cases[i].text, &id) != cases[i].good)
      fail_msg("'%s'", cases[i].text);
    if (cases[i].good && (id.job != cases[i].job || id.array_task != cases[i].task ||
                          id.het_offset != cases[i].het || id.is_array != cases[i].array ||
                          id.pending != cases[i].pending || strcmp(id.base, cases[i].base) != 0 ||
                          strcmp(id.step, cases[i].step) != 0))
      fail_msg("'%s': job %u, task %u, het %u, base %s, step %s", cases[i].text, id.job,
               id.array_task, id.het_offset, id.base, id.step);
  }
}

static void values_as_sacct_writes_them(void **state)
{
  ft_outcome outcome;
  uint64_t bytes;
  int32_t code, signal;
  char unit, node[16];

  (void)state;
  assert_int_equal(ft_sacct_state("CANCELLED by 1000", &outcome), FT_SACCT_ENDED);
  assert_int_equal(outcome, FT_OUTCOME_CANCELLED);
  assert_int_equal(ft_sacct_state("CANCELLED+", &outcome), FT_SACCT_ENDED);
  assert_int_equal(ft_sacct_state("DEADLINE", &outcome), FT_SACCT_ENDED);
  assert_int_equal(outcome, FT_OUTCOME_TIMEOUT);
  assert_int_equal(ft_sacct_state("RUNNING", &outcome), FT_SACCT_NOT_ENDED);
  assert_int_equal(ft_sacct_state("SLEEPING", &outcome), FT_SACCT_UNKNOWN_STATE);
  assert_int_equal(ft_sacct_state("", &outcome), FT_SACCT_UNKNOWN_STATE);
  assert_true(ft_sacct_reqmem("4G", &bytes, &unit) && bytes == 4 * FT_GIB && unit == 0);
  assert_true(ft_sacct_reqmem("4Gn", &bytes, &unit) && bytes == 4 * FT_GIB && unit == 'n');
  assert_true(ft_sacct_reqmem("2000Mc", &bytes, &unit) && bytes == 2000 * FT_MIB && unit == 'c');
  assert_true(ft_sacct_reqmem("62.50G", &bytes, &unit) && bytes == 64000 * FT_MIB);
  assert_true(ft_sacct_reqmem("0n", &bytes, &unit) && bytes == 0);
  assert_false(ft_sacct_reqmem("?", &bytes, &unit));
  assert_true(ft_units_parse_bytes(ft_text_from("4016K"), 1, &bytes) && bytes == 4016 * FT_KIB);
  assert_true(ft_units_parse_bytes(ft_text_from("1073741824"), 1, &bytes) && bytes == FT_GIB);
  assert_true(ft_sacct_exit("1:9", &code, &signal) && code == 1 && signal == 9);
  assert_false(ft_sacct_exit("1", &code, &signal));
  assert_int_equal(ft_sacct_tres("cpu=00:00:12,vmem=9K,mem=4016K", "mem", &bytes), 1);
  assert_true(bytes == 4016 * FT_KIB);
  assert_int_equal(ft_sacct_tres("cpu=00:00:12,vmem=9K", "mem", &bytes), 0);
  assert_int_equal(ft_sacct_tres("mem=lots", "mem", &bytes), -1);
  assert_true(ft_sacct_first_node("n[01-03,07],m1", node, sizeof node));
  assert_string_equal(node, "n01");
  assert_true(ft_sacct_first_node("n1,m2", node, sizeof node));
  assert_string_equal(node, "n1");
  assert_false(ft_sacct_first_node("averyveryverylongname", node, sizeof node));
  assert_false(ft_sacct_first_node("", node, sizeof node));
}

static void steps_belong_to_their_job(void **state)
{
  static const struct {
    uint32_t job, array, task, het;
    ft_outcome outcome;
    uint64_t kib;
    bool bound;
    const char *node;
  } expected[] = {
    { 101, 0, 0, 0, FT_OUTCOME_COMPLETED, 1048576, false, "node01" },
    { 102, 0, 0, 0, FT_OUTCOME_COMPLETED, 2097152 + 10240, false, "node01" },
    { 103, 0, 0, 0, FT_OUTCOME_COMPLETED, 1048576 + 524288 + 1024, false, "node01" },
    { 105, 104, 1, 0, FT_OUTCOME_OUT_OF_MEMORY, 4190208, false, "node01" },
    { 106, 104, 2, 0, FT_OUTCOME_FAILED, 2048, false, "node01" },
    { 107, 0, 0, 0, FT_OUTCOME_COMPLETED, 3072 + 4096, false, "node01" },
    { 108, 0, 0, 1, FT_OUTCOME_COMPLETED, 8192, false, "node02" },
    { 109, 0, 0, 0, FT_OUTCOME_COMPLETED, 1048576 + 1024, true, "node07" },
    { 110, 0, 0, 0, FT_OUTCOME_CANCELLED, 5000, false, "node01" },
    { 112, 0, 0, 0, FT_OUTCOME_TIMEOUT, 6000, false, "node01" },
    { 114, 0, 0, 0, FT_OUTCOME_OUT_OF_MEMORY, 4000000 + 100, false, "node01" },
    { 115, 0, 0, 0, FT_OUTCOME_NODE_FAIL, 0, false, "node01" },
  };
  struct found *f = malloc(sizeof *f);
  const ft_observation *o;

  (void)state;
  prepare(f);
  import_file(f, "sacct/slurm-22.05-full.txt", "Europe/Berlin", ft_import_sacct);
  if (f->status < 0)
    fail_msg("%s", f->err.text);
  assert_int_equal(f->count, COUNT_OF(expected));
  assert_true(f->import.runs == COUNT_OF(expected) && f->import.not_ended == 3);
  for (size_t i = 0; i < COUNT_OF(expected); i++) {
    o = &f->run[i];
    if (o->job_id != expected[i].job || o->array_job_id != expected[i].array ||
        o->array_task_id != expected[i].task || o->het_offset != expected[i].het ||
        o->outcome != expected[i].outcome || o->rss_bytes != expected[i].kib * FT_KIB ||
        o->has_rss_bytes != (expected[i].kib > 0) || o->peak_is_bound != expected[i].bound ||
        o->censored != (o->outcome != FT_OUTCOME_COMPLETED) ||
        strcmp(o->node, expected[i].node) != 0)
      fail_msg("%u: %s, %llu KiB, bound %d, node %s", o->job_id, ft_outcome_name(o->outcome),
               (unsigned long long)(o->rss_bytes / FT_KIB), o->peak_is_bound, o->node);
  }
  o = &f->run[0];
  assert_true(o->submit_time == 1784534400 && o->start_time == 1784534405);
  assert_true(o->end_time == 1784535005 && o->runtime_seconds == 600);
  assert_int_equal(o->source, FT_SOURCE_SACCT_TOTAL);
  assert_string_equal(o->submission.app, "alice/train");
  assert_string_equal(o->user, "alice");
  assert_int_equal(o->uid, 1000);
  assert_string_equal(o->cluster, "cl1");
  assert_true(o->has_limit_bytes && o->limit_bytes == 4 * FT_GIB);
  assert_int_equal(o->submission.request.mem_unit, FT_MEM_NODE);
  assert_true(o->submission.request.mem_bytes == 4 * FT_GIB &&
              o->submission.request.time_limit_seconds == 3600);
  assert_true(o->has_cpu_seconds && fabs(o->cpu_seconds - 2292.345) < 1e-6);
  assert_true(o->has_read_bytes && o->read_bytes == 2000 && o->write_bytes == 1000);
  assert_string_equal(f->run[1].submission.app, "alice/two steps");
  o = &f->run[7];
  assert_true(o->cpus == 4 && o->submission.request.mem_bytes == 4 * FT_GIB &&
              o->limit_bytes == 4 * FT_GIB);
  assert_true(
      ft_feature_find(o->submission.features, o->submission.features_count, "nodes")->number == 3);
  assert_true(
      ft_feature_find(o->submission.features, o->submission.features_count, "tasks")->number == 12);
  free(f);
}

static void concurrent_steps_add_up_on_each_node(void **state)
{
  static const struct {
    const char *what;
    struct {
      const char *node;
      double start, end, bytes;
    } step[5];
    double peak;
  } cases[] = {
    { "on one node", { { "a", 1, 9, 5 }, { "a", 2, 8, 3 } }, 8 },
    { "on different nodes", { { "a", 1, 9, 5 }, { "b", 2, 8, 3 } }, 5 },
    { "on both nodes", { { "a", 1, 9, 5 }, { "b", 2, 8, 3 }, { NULL, 3, 4, 2 } }, 7 },
    { "one after another", { { "a", 1, 2, 5 }, { "a", 2, 8, 3 }, { "b", 1, 2, 6 } }, 6 },
    { "the smaller node has more",
      { { "a", 1, 9, 5 }, { "b", 2, 8, 3 }, { "b", 3, 4, 3 }, { "c", 3, 4, 1 } },
      6 },
    { "unknown nodes", { { NULL, 1, 9, 5 }, { NULL, 2, 8, 3 } }, 8 },
    { "an unknown time", { { "a", 0, 9, 5 }, { "a", 2, 8, 3 } }, 5 },
  };
  struct ft_step_overlap steps = { 0 };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    for (size_t k = 0; k < 5 && cases[i].step[k].bytes > 0; k++)
      assert_int_equal(ft_step_overlap_add(&steps, cases[i].step[k].node, cases[i].step[k].start,
                                           cases[i].step[k].end, cases[i].step[k].bytes),
                       0);
    if (ft_step_overlap_peak(&steps) != cases[i].peak)
      fail_msg("%s: %g, expected %g", cases[i].what, ft_step_overlap_peak(&steps), cases[i].peak);
    ft_step_overlap_clear(&steps);
  }
  assert_true(ft_step_overlap_peak(&steps) == 0);
  ft_step_overlap_free(&steps);
}

static void steps_of_sacct_on_different_nodes_share_no_memory(void **state)
{
  static const char text[] =
      "JobID|JobName|UID|State|Start|End|NNodes|NodeList|MaxRSS|TRESUsageInTot\n"
      "7|mpi|1|COMPLETED|1000000000|1000000100|2|n[1-2]||\n"
      "7.0|one|1|COMPLETED|1000000000|1000000090|1|n1|5M|mem=5M\n"
      "7.1|two|1|COMPLETED|1000000010|1000000080|1|n2|7M|mem=7M\n"
      "7.2|both|1|COMPLETED|1000000020|1000000030|2|n[1-2]|1M|mem=2M\n";
  struct found *f = malloc(sizeof *f);

  (void)state;
  prepare(f);
  f->import.zone = ft_timezone_open("UTC", fixture("zoneinfo"), &f->err);
  import_text(f, text, ft_import_sacct);
  assert_int_equal(f->count, 1);
  assert_true(f->run[0].rss_bytes == 8 << 20);
  assert_int_equal(f->run[0].allocated_nodes, 2);
  ft_timezone_close((struct ft_timezone *)f->import.zone);
  free(f);
}

static void sampled_maxima_are_lower_bounds(void **state)
{
  struct found *f = malloc(sizeof *f);

  (void)state;
  prepare(f);
  import_file(f, "sacct/slurm-22.05-maxrss.txt", "+02:00", ft_import_sacct);
  if (f->status < 0)
    fail_msg("%s", f->err.text);
  assert_int_equal(f->count, 2);
  for (unsigned i = 0; i < f->count; i++) {
    assert_int_equal(f->run[i].source, FT_SOURCE_SACCT);
    assert_true(f->run[i].peak_is_bound && !f->run[i].censored);
  }
  assert_true(f->run[0].rss_bytes == FT_GIB);
  /* the times of the steps are missing: only the largest is certain */
  assert_true(f->run[1].rss_bytes == 2048 * FT_KIB);
  free(f);
}

/* A step of several tasks without TRESUsageInTot: the peak of one task does not show the job's. */
static void the_largest_task_is_no_estimate_of_several(void **state)
{
  static const struct {
    const char *columns, *steps;
    uint64_t mib;
    bool partial;
  } cases[] = {
    { "NTasks|AllocCPUS", "7.batch|1|8|20M|\n7.0|8|8|1901M|\n", 1921, true },
    { "NTasks|AllocCPUS", "7.0|8|8|1901M|mem=15000M\n", 15000, false },
    { "NTasks|AllocCPUS", "7.0|1|8|1901M|\n", 1901, false },
    { "NTasks|NNodes", "7.0|4|4|1901M|\n", 1901, false }, /* one task on each node */
    { "NTasks|NNodes", "7.0|8|4|1901M|\n", 1901, true },  /* two */
    /* small tasks do not hide what a large step needs */
    { "NTasks|AllocCPUS", "7.batch|1|8|900M|\n7.0|8|8|4M|\n", 904, false },
    { "NTasks|AllocCPUS", "7.batch|1|8|900M|\n7.0|8|8|100M|\n", 1000, true },
  };
  struct found *f = malloc(sizeof *f);
  char text[512], step[80];

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    size_t used = (size_t)snprintf(text, sizeof text,
                                   "JobID|%s|MaxRSS|TRESUsageInTot|User|UID|State|Start|End\n"
                                   "7||%d|||alice|1|COMPLETED|1000000000|1000000100\n",
                                   cases[i].columns, strstr(cases[i].columns, "NNodes") ? 4 : 8);
    const char *at = cases[i].steps;

    for (size_t length; *at; at += length + 1) {
      length = strcspn(at, "\n");
      (void)snprintf(step, sizeof step, "%.*s", (int)length, at);
      used += (size_t)snprintf(text + used, sizeof text - used,
                               "%s|||COMPLETED|1000000000|1000000100\n", step);
    }
    prepare(f);
    import_text(f, text, ft_import_sacct);
    if (f->status < 0)
      fail_msg("%s", f->err.text);
    if (f->count != 1 || f->run[0].censored != cases[i].partial ||
        f->import.partial != cases[i].partial || f->run[0].rss_bytes != cases[i].mib * FT_MIB ||
        f->run[0].outcome != FT_OUTCOME_COMPLETED)
      fail_msg("%zu: %llu MiB, %scensored", i, (unsigned long long)(f->run[0].rss_bytes / FT_MIB),
               f->run[0].censored ? "" : "not ");
  }
  free(f);
}

static void output_of_older_slurm_and_epoch_times_are_read(void **state)
{
  struct found *f = malloc(sizeof *f);

  (void)state;
  prepare(f);
  import_file(f, "sacct/slurm-20.11-epoch.txt", NULL, ft_import_sacct);
  if (f->status < 0)
    fail_msg("%s", f->err.text);
  assert_int_equal(f->count, 3);
  assert_true(f->run[0].submit_time == 1784534400 && f->run[0].runtime_seconds == 600);
  assert_true(f->run[0].submission.request.mem_unit == FT_MEM_NODE &&
              f->run[0].limit_bytes == 4 * FT_GIB);
  assert_true(f->run[1].submission.request.mem_unit == FT_MEM_CPU &&
              f->run[1].submission.request.mem_bytes == 1000 * FT_MIB &&
              f->run[1].limit_bytes == 4000 * FT_MIB);
  assert_true(f->run[1].rss_bytes == 1049088);
  assert_true(f->run[2].submission.request.mem_unit == FT_MEM_ALL && !f->run[2].has_limit_bytes);
  free(f);
}

static void several_outputs_in_one_file(void **state)
{
  struct found *f = malloc(sizeof *f);

  (void)state;
  prepare(f);
  f->import.app = "chosen";
  import_file(f, "sacct/concatenated.txt", NULL, ft_import_sacct);
  if (f->status < 0)
    fail_msg("%s", f->err.text);
  assert_int_equal(f->count, 2);
  assert_true(f->run[0].rss_bytes == FT_GIB && f->run[0].runtime_seconds == 93784);
  assert_true(f->run[1].rss_bytes == 3 * FT_GIB / 2 && f->run[1].runtime_seconds == 3599);
  assert_string_equal(f->run[1].submission.app, "chosen");
  free(f);
}

/* ConsumedEnergyRaw is that of the nodes: all of it counts for a job that had them alone. */
static void slurms_energy_is_that_of_the_nodes(void **state)
{
  static const struct {
    const char *text;
    double joules; /* 0: none; negative: an error */
  } cases[] = { { "7200", 7200 }, { "0", 0 },    { "", 0 },     { "18446744073709551614", 0 },
                { "-5", 0 },      { "nan", -1 }, { "7.2K", -1 } };
  struct found *f = malloc(sizeof *f);

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    char text[256];

    prepare(f);
    (void)snprintf(text, sizeof text,
                   "JobID|UID|State|Start|End|ConsumedEnergyRaw\n"
                   "7|1|COMPLETED|1793527200|1793527260|%s\n",
                   cases[i].text);
    import_text(f, text, ft_import_sacct);
    assert_int_equal(f->status, cases[i].joules < 0 ? -1 : 0);
    if (cases[i].joules < 0) {
      assert_non_null(strstr(f->err.text, "ConsumedEnergyRaw"));
      assert_non_null(strstr(f->err.text, "expected joules"));
      continue;
    }
    assert_int_equal(f->run[0].has_node_energy_joules, cases[i].joules > 0);
    assert_near(f->run[0].node_energy_joules, cases[i].joules, 0);
    assert_near(ft_quantities[FT_QUANTITY_ENERGY].used_of(&f->run[0]), 0, 0);
    f->run[0].submission.request.exclusive = true;
    assert_near(ft_quantities[FT_QUANTITY_ENERGY].used_of(&f->run[0]), cases[i].joules, 0);
    f->run[0].has_package_energy_share = true;
    f->run[0].package_energy_share = 0.25;
    assert_near(ft_quantities[FT_QUANTITY_ENERGY].used_of(&f->run[0]), cases[i].joules / 4, 0);
    f->run[0].package_energy_share = 7; /* never more than the node's */
    assert_near(ft_quantities[FT_QUANTITY_ENERGY].used_of(&f->run[0]), cases[i].joules, 0);
  }
  free(f);
}

static void bad_sacct_lines_are_named(void **state)
{
#define HEAD "JobID|User|State|MaxRSS|Submit\n"
  static const struct {
    const char *text, *expected;
    unsigned runs, bad; /* with keep_going */
  } cases[] = {
    { "", "t: empty", 0, 0 },
    { "JobID,User,State\n1,alice,COMPLETED\n", "t: line 1: expected a header", 0, 0 },
    { "JobID|User\n", "t: line 1: expected a header of sacct -P with State", 0, 0 },
    { "JobID|State\n", "t: line 1: expected a column User or UID", 0, 0 },
    { HEAD "1|alice|COMPLETED|\n", "t: line 2: expected 5 columns as in the header, found 4", 0,
      1 },
    { HEAD "1|alice|COMPLETED||\nx|alice|FAILED||\n3|alice|FAILED||\n",
      "t: line 3, column 1: JobID 'x': expected a job id", 2, 1 },
    { HEAD "1|alice|SLEEPING||\n1.batch||COMPLETED|5K|\n2|alice|FAILED||\n",
      "t: line 2, column 9: State 'SLEEPING': expected a job state", 1, 1 },
    { HEAD "1|alice|COMPLETED||\n1.batch||COMPLETED|many|\n",
      "t: line 3, column 20: MaxRSS 'many': expected a size", 1, 1 },
    { HEAD "1|alice|COMPLETED||2026-07-20T10:00:00\n",
      "t: line 2, column 20: Submit '2026-07-20T10:00:00': a local time; give its time zone", 0,
      1 },
    { HEAD "1|alice|COMPLETED||yesterday\n", "Submit 'yesterday': expected a time", 0, 1 },
    { HEAD "1|mallory|COMPLETED||\n", "User 'mallory': unknown user; add the column UID", 0, 1 },
    { HEAD "1||COMPLETED||\n", "User '': expected a user name or a uid", 0, 1 },
    { HEAD "2.batch||COMPLETED|5K|\n", "JobID '2.batch': step without a preceding line", 0, 1 },
    { HEAD "1|alice|COMPLETED|99999999999P|\n", "MaxRSS '99999999999P': expected a size", 0, 1 },
  };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct found *f = malloc(sizeof *f);

    prepare(f);
    import_text(f, cases[i].text, ft_import_sacct);
    if (f->status != -1 || !strstr(f->err.text, cases[i].expected) || strchr(f->err.text, '\n'))
      fail_msg("case %zu: '%s', expected '%s'", i, f->err.text, cases[i].expected);
    prepare(f);
    f->import.keep_going = true;
    import_text(f, cases[i].text, ft_import_sacct);
    if (f->count != cases[i].runs || f->skipped != cases[i].bad || f->import.bad != cases[i].bad)
      fail_msg("case %zu: %u runs, %u skipped: %s", i, f->count, f->skipped, f->first.text);
    free(f);
  }
#undef HEAD
}

static void a_run_with_a_lost_line_is_a_bound(void **state)
{
  struct found *f = malloc(sizeof *f);

  (void)state;
  prepare(f);
  f->import.keep_going = true;
  import_text(f,
              "JobID|User|State|TRESUsageInTot\n"
              "1|alice|COMPLETED|\n1.batch||COMPLETED|mem=10K\n1.0||COMPLETED|mem=?\n"
              "2|alice|COMPLETED|\n2.batch||COMPLETED|mem=10K\n",
              ft_import_sacct);
  assert_int_equal(f->count, 2);
  assert_true(f->run[0].peak_is_bound && !f->run[1].peak_is_bound);
  free(f);
}

static void long_and_unusual_names_stay_distinct(void **state)
{
  struct found *f = malloc(sizeof *f);
  char text[2048];
  char name[300];

  (void)state;
  memset(name, 'n', sizeof name);
  name[299] = '\0';
  (void)snprintf(text, sizeof text,
                 "JobID|UID|State|JobName|User\n1|5|FAILED|%s1|alice\n2|5|FAILED|%s2|alice\n"
                 "3|5|FAILED|a\033[31mb|alice\n4|5|FAILED|a|\n",
                 name + 190, name + 190);
  prepare(f);
  import_text(f, text, ft_import_sacct);
  assert_int_equal(f->count, 4);
  assert_int_equal(f->run[0].uid, 5);
  assert_true(strlen(f->run[0].submission.app) < sizeof f->run[0].submission.app);
  assert_string_equal(f->run[2].submission.app, "alice/a?[31mb");
  assert_string_equal(f->run[3].submission.app, "5/a");
  free(f);
}

static void secrets_are_omitted(void **state)
{
  struct found *f = malloc(sizeof *f);

  (void)state;
  prepare(f);
  import_text(f, "JobID|UID|State|JobName|User\n1|5|FAILED|run-token=abcdef|alice\n",
              ft_import_sacct);
  assert_int_equal(f->count, 1);
  assert_string_equal(f->run[0].submission.job_name, "job");
  assert_string_equal(f->run[0].submission.app, "alice/job");
  prepare(f);
  f->import.features = "*";
  import_text(f,
              "app,uid,peak_mb,jobname,arch,hash\n"
              "a,5,3,8f14e45fceea167a5a36dedd4bea2543,dense,8f14e45fceea167a5a36dedd4bea2543\n",
              ft_import_csv);
  assert_int_equal(f->count, 1);
  assert_string_equal(f->run[0].submission.job_name, "job");
  assert_int_equal(f->run[0].submission.features_count, 1);
  free(f);
}

static void csv_columns_find_their_fields(void **state)
{
  static const struct ft_import_map map = { "finished", "end_time" };
  struct found *f = malloc(sizeof *f);

  (void)state;
  prepare(f);
  f->import.maps = &map;
  f->import.map_count = 1;
  f->import.features = "*";
  import_file(f, "csv/runs.csv", "Europe/Berlin", ft_import_csv);
  if (f->status < 0)
    fail_msg("%s", f->err.text);
  assert_int_equal(f->count, 3);
  assert_string_equal(f->run[0].submission.app, "unet3d, v2");
  assert_true(f->run[0].rss_bytes == 1024000000 && f->run[0].runtime_seconds == 12.5);
  assert_int_equal(f->run[0].source, FT_SOURCE_TRACE);
  assert_int_equal(f->run[0].uid, 77);
  assert_int_equal(f->run[0].submission.features_count, 2);
  assert_true(ft_feature_find(f->run[0].submission.features, 2, "batch")->number == 32);
  assert_true(f->run[0].end_time == 1784535005);
  assert_true(!f->run[0].censored && f->run[1].censored);
  assert_int_equal(f->run[1].outcome, FT_OUTCOME_OUT_OF_MEMORY);
  assert_true(f->run[1].rss_bytes == 2048500000 && f->run[1].runtime_seconds == 3600);
  assert_int_equal(f->run[2].submission.features_count, 1);
  assert_string_equal(f->run[2].submission.features[0].category, "a \"b\"");
  assert_true(f->run[2].end_time == 1784543405);
  assert_true(f->run[0].job_id != f->run[1].job_id);
  free(f);
}

static void tables_with_other_separators_are_read(void **state)
{
  static const char *const tables[] = { "app,peak_mb,uid\nx,5,1\n", "app\tpeak_mb\tuid\nx\t5\t1\n",
                                        "app;peak_mb;uid\nx;5;1\n" };
  struct found *f = malloc(sizeof *f);

  (void)state;
  for (size_t i = 0; i < COUNT_OF(tables); i++) {
    prepare(f);
    import_text(f, tables[i], ft_import_csv);
    if (f->status < 0 || f->count != 1 || f->run[0].rss_bytes != 5000000)
      fail_msg("%zu: %s", i, f->err.text);
  }
  free(f);
}

static void csv_units_are_in_column_names(void **state)
{
  static const struct {
    const char *column, *value;
    uint64_t rss;
    double runtime;
  } cases[] = {
    { "peak_bytes", "1000", 1000, 0 },    { "peak_kb", "1", 1000, 0 },
    { "peak_MB", "1.5", 1500000, 0 },     { "peak_gb", "1", 1000000000, 0 },
    { "peak_mib", "1", 1 << 20, 0 },      { "Peak RSS GiB", "1", 1 << 30, 0 },
    { "rss_bytes", "7", 7, 0 },           { "rss_kib", "2", 2048, 0 },
    { "maxrss", "4016K", 4016 << 10, 0 }, { "peak_mb", "2G", UINT64_C(2) << 30, 0 },
    { "runtime", "90", 0, 90 },           { "runtime", "1:30", 0, 90 },
    { "runtime_s", "90", 0, 90 },         { "elapsed", "1-00:00:01", 0, 86401 },
    { "duration_ms", "90000", 0, 90 },    { "runtime_hours", "1.5", 0, 5400 },
  };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct found *f = malloc(sizeof *f);
    char text[128];

    prepare(f);
    f->import.user = "alice";
    (void)snprintf(text, sizeof text, "app,%s\na,%s\n", cases[i].column, cases[i].value);
    import_text(f, text, ft_import_csv);
    if (f->status < 0 || f->count != 1 || f->run[0].rss_bytes != cases[i].rss ||
        fabs(f->run[0].runtime_seconds - cases[i].runtime) > 1e-9)
      fail_msg("%s = %s: %llu, %g: %s", cases[i].column, cases[i].value,
               (unsigned long long)f->run[0].rss_bytes, f->run[0].runtime_seconds, f->err.text);
    free(f);
  }
}

static void bad_csv_lines_are_named(void **state)
{
  static const struct {
    const char *text, *features, *expected;
    unsigned runs, bad; /* with keep_going */
  } cases[] = {
    { "", NULL, "t: empty", 0, 0 },
    { "a,b\n", NULL, "t: line 1: expected a column app", 0, 0 },
    { "app,b\n", NULL, "t: line 1: expected a column peak_mb", 0, 0 },
    { "app,peak_mb\n", "x", "no column 'x', which --features names", 0, 0 },
    { "app,peak_mb\na,1\na,1,2\n", NULL, "t: line 3: expected 2 columns", 1, 1 },
    { "app,peak_mb\na,lots\n", NULL, "t: line 2, column 3: peak_mb 'lots': expected a size", 0, 1 },
    { "app,peak_mb\na,-1\n", NULL, "expected a size from 0", 0, 1 },
    { "app,peak\na,12\n", NULL, "peak '12': expected a unit", 0, 1 },
    { "app,runtime\na,soon\n", NULL, "expected a number of seconds", 0, 1 },
    { "app,runtime,cpus\na,1,1.5\n", NULL, "cpus '1.5': expected a number", 0, 1 },
    { "app,runtime,uid\na,1,-1\n", NULL, "uid '-1': expected a number", 0, 1 },
    { "app,runtime,state\na,1,fine\n", NULL, "state 'fine': expected completed", 0, 1 },
    { "app,runtime,end\na,1,2026-07-20T10:00:00\n", NULL, "expected a time with its zone", 0, 1 },
    { "app,runtime,user\na,1,mallory\n", NULL, "'mallory' is not a user of this machine", 0, 1 },
    { "app,runtime\n,1\n", NULL, "t: line 2: expected an app", 0, 1 },
    { "app,runtime\n\"a,1\na,2\n", NULL, "a quoted field that begins here never ends", 1, 1 },
  };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct found *f = malloc(sizeof *f);

    for (int keep = 0; keep < 2; keep++) {
      prepare(f);
      f->import.keep_going = keep;
      f->import.user = "alice";
      f->import.features = cases[i].features;
      import_text(f, cases[i].text, ft_import_csv);
      if (!keep && (f->status != -1 || !strstr(f->err.text, cases[i].expected)))
        fail_msg("case %zu: '%s', expected '%s'", i, f->err.text, cases[i].expected);
    }
    if (f->count != cases[i].runs || f->skipped != cases[i].bad)
      fail_msg("case %zu: %u runs, %u skipped: %s", i, f->count, f->skipped, f->first.text);
    free(f);
  }
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(job_ids_in_all_forms),
    cmocka_unit_test(values_as_sacct_writes_them),
    cmocka_unit_test(steps_belong_to_their_job),
    cmocka_unit_test(concurrent_steps_add_up_on_each_node),
    cmocka_unit_test(steps_of_sacct_on_different_nodes_share_no_memory),
    cmocka_unit_test(sampled_maxima_are_lower_bounds),
    cmocka_unit_test(the_largest_task_is_no_estimate_of_several),
    cmocka_unit_test(output_of_older_slurm_and_epoch_times_are_read),
    cmocka_unit_test(several_outputs_in_one_file),
    cmocka_unit_test(slurms_energy_is_that_of_the_nodes),
    cmocka_unit_test(bad_sacct_lines_are_named),
    cmocka_unit_test(a_run_with_a_lost_line_is_a_bound),
    cmocka_unit_test(long_and_unusual_names_stay_distinct),
    cmocka_unit_test(secrets_are_omitted),
    cmocka_unit_test(csv_columns_find_their_fields),
    cmocka_unit_test(tables_with_other_separators_are_read),
    cmocka_unit_test(csv_units_are_in_column_names),
    cmocka_unit_test(bad_csv_lines_are_named)
  };

  return cmocka_run_group_tests_name("sacct", tests, NULL, NULL);
}
