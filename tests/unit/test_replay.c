/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include "tests/unit/unit.h"

#include <sys/mman.h>
#include <unistd.h>

#include "predictor/core/io.h"
#include "predictor/core/random.h"
#include "predictor/estimate/allocation.h"
#include "predictor/estimate/quantity.h"
#include "predictor/online/online.h"
#include "predictor/rebuild/replay.h"
#include "predictor/rebuild/trace.h"

static struct ft_history history;

#define GB 1e9

/* one workflow process with one run an hour */
static void runs_of(struct ft_replay_run *run, const double *gigabytes, size_t count)
{
  for (size_t i = 0; i < count; i++)
    run[i] = (struct ft_replay_run){ .request_bytes = 8 * GB,
                                     .bytes = gigabytes[i] * GB,
                                     .seconds = 3600 };
}

static const struct ft_replay_options plain = {
  .seeds = 1, .seed = 1, .failure_time_fraction = 1, .price = 1, .node_bytes = 10 * GB
};

/* Runs with peaks of 1, 2, 1 and 4 GB; the first policy has only the request of 8 GB. */
static void policies_waste_the_amounts_computed_by_hand(void **state)
{
  static const struct {
    enum ft_baseline_policy policy;
    double ttf, gbh, failures;
  } cases[] = {
    { FT_POLICY_REQUEST, 1, 7 + 6 + 7 + 4, 0 },
    { FT_POLICY_REQUEST, 0.5, 7 + 6 + 7 + 4, 0 },
    /* 1 fails; 1.95; 1.9 and 3.8 fail, 7.6 */
    { FT_POLICY_QUANTILE, 1, 7 + 1 + 0.95 + (1.9 + 3.8 + 3.6), 3 },
    /* without an input a line is the mean, and the mean plus its largest error is the maximum */
    { FT_POLICY_REGRESSION, 1, 7 + 1 + 1 + 2, 2 },
    /* 1 fails, then the node's 10; 1; 1 fails, the largest (2) fails, the node's */
    { FT_POLICY_TOVAR, 1, 7 + (1 + 8) + 0 + (1 + 2 + 6), 3 },
    { FT_POLICY_LARGEST, 1, 7 + 1 + 1 + 2, 2 },
    { FT_POLICY_LARGEST, 0.5, 7 + 0.5 + 1 + 1, 2 },
  };
  static const double need[] = { 1, 2, 1, 4 };
  struct ft_replay_run run[COUNT_OF(need)];

  (void)state;
  runs_of(run, need, COUNT_OF(need));
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct ft_replay_score scores[FT_REPLAY_METHODS] = { 0 };
    struct ft_replay_options options = plain;
    struct ft_replay_figures f;
    struct ft_error err;

    options.failure_time_fraction = cases[i].ttf;
    assert_int_equal(ft_replay_process(run, COUNT_OF(run), &options, scores, &err), 0);
    ft_replay_compute_figures(&scores[cases[i].policy], &options, &f);
    assert_near(f.wastage_gbh, cases[i].gbh, 1e-9);
    assert_near(f.failures, cases[i].failures, 0);
    assert_false(f.has_coverage90);
  }
}

static void a_line_through_the_input_is_followed(void **state)
{
  struct ft_replay_score scores[FT_REPLAY_METHODS] = { 0 };
  struct ft_replay_run run[40];
  ft_feature input[COUNT_OF(run)];
  struct ft_error err;

  (void)state;
  for (size_t i = 0; i < COUNT_OF(run); i++) {
    pb_size_t none = 0;
    double x = (double)(i * 7 % COUNT_OF(run));

    assert_true(ft_feature_number(&input[i], &none, 1, "input_bytes", x * 1e6));
    run[i] = (struct ft_replay_run){ .request_bytes = 8 * GB,
                                     .bytes = (1 + 0.1 * x) * GB,
                                     .seconds = 3600,
                                     .features = &input[i],
                                     .feature_count = 1 };
  }
  assert_int_equal(ft_replay_process(run, COUNT_OF(run), &plain, scores, &err), 0);
  assert_true(scores[FT_POLICY_REGRESSION].byte_seconds <
              0.5 * scores[FT_POLICY_LARGEST].byte_seconds);
  assert_true(scores[FT_REPLAY_FORETELL].byte_seconds <
              0.5 * scores[FT_POLICY_LARGEST].byte_seconds);
}

static void in_order_of_arrival_only_ended_runs_are_known(void **state)
{
  static const double need[] = { 1, 1, 1 };
  struct ft_replay_score scores[FT_REPLAY_METHODS] = { 0 };
  struct ft_replay_run run[COUNT_OF(need)];
  struct ft_error err;

  (void)state;
  runs_of(run, need, COUNT_OF(need));
  /* the file's last run came first; the second came before the end of that run, the first after
   * it */
  run[2].submit_time = 1000;
  run[2].end_time = 5000;
  run[1].submit_time = 4000;
  run[1].end_time = 9000;
  run[0].submit_time = 6000;
  run[0].end_time = 9000;
  assert_int_equal(ft_replay_process(run, COUNT_OF(run), &plain, scores, &err), 0);
  assert_near(scores[FT_POLICY_LARGEST].byte_seconds / 3600 / GB, 7 + 7 + 0, 1e-9);
  assert_near(scores[FT_POLICY_LARGEST].predicted_runs, 1, 0);
  assert_near(scores[FT_REPLAY_FORETELL].interval_runs, 1, 0);
}

static void the_published_protocol_plays_seven_tenths_from_34_runs_on(void **state)
{
  struct ft_replay_score scores[FT_REPLAY_METHODS] = { 0 };
  struct ft_replay_options options = plain;
  struct ft_replay_run run[40];
  struct ft_error err;
  double need[COUNT_OF(run)];

  (void)state;
  for (size_t i = 0; i < COUNT_OF(run); i++)
    need[i] = 2;
  runs_of(run, need, COUNT_OF(run));
  options.published = true;
  options.seeds = 3;
  assert_false(ft_replay_includes(&options, 33));
  assert_int_equal(ft_replay_process(run, 33, &options, scores, &err), 0);
  assert_near(scores[FT_POLICY_LARGEST].runs, 0, 0);
  assert_int_equal(ft_replay_process(run, COUNT_OF(run), &options, scores, &err), 0);
  for (unsigned m = 0; m < FT_REPLAY_METHODS; m++)
    if (ft_replay_has_method(&options, m))
      assert_near(scores[m].runs, 3 * 28, 0);
  assert_near(scores[FT_POLICY_REQUEST].byte_seconds / 3600 / GB, 3 * 28 * 6, 1e-9);
  assert_near(scores[FT_POLICY_LARGEST].failures, 0, 0);
}

/* ---- the allocation ---- */

static struct ft_estimate spread(double low, double high)
{
  struct ft_estimate e = { .runs = 100 };

  for (int i = 0; i < FT_ESTIMATE_LEVELS; i++)
    e.quantile[i] = exp(log(low) + (log(high) - log(low)) * i / (FT_ESTIMATE_LEVELS - 1));
  return e;
}

/* Expected waste of a first allocation if failed attempts are retried by ft_allocation. */
static double waste_of(const struct ft_estimate *e, double first, double price)
{
  double waste = 0;
  enum { DRAWS = 2000 };

  for (int i = 0; i < DRAWS; i++) {
    double need = ft_estimate_quantile(e, (i + 0.5) / DRAWS), bytes = first;

    while (bytes < need) {
      waste += price * bytes / DRAWS;
      bytes = ft_allocation(e, bytes, price);
    }
    waste += (bytes - need) / DRAWS;
  }
  return waste;
}

static void no_other_allocation_is_expected_to_waste_less(void **state)
{
  static const double prices[] = { 0.2, 1, 5 };
  struct ft_estimate e = spread(GB, 6 * GB);

  (void)state;
  for (size_t i = 0; i < COUNT_OF(prices); i++) {
    double chosen = waste_of(&e, ft_allocation(&e, 0, prices[i]), prices[i]);

    for (double p = 0.02; p < 0.999; p += 0.02)
      assert_true(chosen <= 1.02 * waste_of(&e, ft_estimate_quantile(&e, p), prices[i]));
  }
}

static void a_costlier_failure_gives_a_larger_allocation(void **state)
{
  struct ft_estimate e = spread(GB, 6 * GB);
  double before = 0;

  (void)state;
  for (double price = 0; price < 1000; price = 2 * price + 0.1) {
    double bytes = ft_allocation(&e, 0, price);

    assert_true(bytes >= before);
    before = bytes;
  }
}

static void a_failed_size_is_never_requested_again(void **state)
{
  struct ft_estimate e = spread(GB, 6 * GB);

  (void)state;
  for (double failed = 0.1 * GB; failed < 100 * GB; failed *= 1.3)
    assert_true(ft_allocation(&e, failed, 1) > failed);
}

/* Inputs of 10 and of 100 with the same median peak; the latter has a far larger variance. */
static void learn_two_kinds(ft_model *model, unsigned turns)
{
  ft_observation *o = calloc(1, sizeof *o);
  struct ft_error err;

  assert_non_null(o);
  ft_online_init(model, &history, "two-kinds", 0, FT_RULE_RSS);
  for (unsigned i = 1; i <= turns; i++) {
    bool wide = i % 2;

    *o = (ft_observation){ .schema = FT_SCHEMA,
                           .job_id = i,
                           .end_time = i,
                           .runtime_seconds = 60,
                           .outcome = FT_OUTCOME_COMPLETED,
                           .has_rss_bytes = true };
    o->rss_bytes = (uint64_t)(GB * (wide ? 0.5 + 0.1 * (i / 2 * 7 % 11) : 1));
    assert_true(ft_feature_number(o->submission.features, &o->submission.features_count, 24,
                                  "input_bytes", wide ? 100 : 10));
    assert_int_equal(ft_online_update(model, &history, o, &err), 1);
  }
  free(o);
}

static double allocated(const ft_model *model, double input, double failed)
{
  struct ft_estimate estimate;
  pb_size_t count = 0;
  ft_feature feature;
  struct ft_error err;
  double bytes = 0;

  assert_true(ft_feature_number(&feature, &count, 1, "input_bytes", input));
  if (ft_allocate_memory(model, &feature, 1, failed, 1, &estimate, &bytes, &err) < 0)
    fail_msg("%s", err.text);
  return bytes;
}

static void runs_of_similar_input_count_most(void **state)
{
  ft_model *model = malloc(sizeof *model);

  (void)state;
  assert_non_null(model);
  learn_two_kinds(model, 120);
  assert_near(allocated(model, 10, 0), 1.002 * GB, 0.01);
  assert_true(allocated(model, 100, 0) > 1.2 * GB);
  for (double failed = 0.1 * GB; failed < 100 * GB; failed *= 1.1)
    assert_true(allocated(model, 100, failed) > failed);
  /* too few runs to follow the inputs */
  learn_two_kinds(model, 4);
  assert_true(allocated(model, 10, 0) > 1.002 * GB);
  free(model);
}

/* ---- traces ---- */

static int read_text(struct ft_trace *trace, const char *text, struct ft_trace_source source,
                     struct ft_error *err)
{
  int fd = memfd_create("trace", MFD_CLOEXEC), status;
  struct ft_timezone *zone = ft_timezone_open("UTC", NULL, err);

  assert_non_null(zone);
  assert_true(fd >= 0 && ft_io_write_all(fd, text, strlen(text)) == 0 &&
              lseek(fd, 0, SEEK_SET) == 0);
  source.name = "t";
  source.fd = fd;
  source.zone = zone;
  assert_int_equal(ft_trace_detect_format(&source, err), 0);
  status = ft_trace_read(trace, &source, err);
  ft_timezone_close(zone);
  close(fd);
  return status;
}

static void tables_of_nextflow_are_read_raw_and_with_units(void **state)
{
  static const char raw[] = "process,realtime,memory,rss,peak_rss,rchar,submit,start\n"
                            "B,2000,4096,1024,2048,77,1674490103000,1674490105000\n"
                            "A,0,4096,1024,2048,77,1674490103000,1674490105000\n"
                            "B,1000,-,3072,4096,-,-,-\n";
  static const char shown[] = "task_id\tname\trealtime\tpeak_rss\trss\trchar\tsubmit\n"
                              "1\tB (one)\t1m 2.5s\t4 KB\t1.5 KB\t2 MB\t2023-01-23 16:08:23.250\n";
  struct ft_trace trace = { 0 };
  const struct ft_replay_run *run;
  struct ft_error err;

  (void)state;
  assert_int_equal(read_text(&trace, raw, (struct ft_trace_source){ 0 }, &err), 0);
  assert_int_equal(trace.count, 1);
  assert_int_equal(trace.runs, 2);
  assert_int_equal(trace.skipped, 1);
  run = trace.process[0].run;
  assert_string_equal(trace.process[0].name, "B");
  assert_near(run[0].seconds, 2, 0);
  assert_near(run[0].bytes, 1024, 0);
  assert_near(run[0].request_bytes, 4096, 0);
  assert_near(run[0].end_time - run[0].submit_time, 4, 1e-6);
  assert_string_equal(run[0].features[0].name, "input_bytes");
  assert_int_equal(run[1].feature_count, 0);
  assert_near(run[1].submit_time, 0, 0);
  assert_int_equal(read_text(&trace, shown,
                             (struct ft_trace_source){ .peak_rss = true, .no_input = true }, &err),
                   0);
  assert_int_equal(trace.process[0].count, 3);
  run = &trace.process[0].run[2];
  assert_near(run->seconds, 62.5, 1e-9);
  assert_near(run->bytes, 4096, 0);
  assert_near(run->submit_time, 1674490103, 0);
  assert_int_equal(run->feature_count, 0);
  ft_trace_free(&trace);
}

static void names_of_processes_are_utf8(void **state)
{
  static const char text[] = "process,realtime,rss\nB\351ta,1,2\nna\303\257ve,1,2\nB\351ta,1,3\n";
  struct ft_trace trace = { 0 };
  struct ft_error err;

  (void)state;
  assert_int_equal(read_text(&trace, text, (struct ft_trace_source){ 0 }, &err), 0);
  assert_int_equal(trace.count, 2);
  assert_string_equal(trace.process[0].name, "B?ta");
  assert_int_equal(trace.process[0].count, 2);
  assert_string_equal(trace.process[1].name, "na\303\257ve");
  ft_trace_free(&trace);
}

static void a_killed_nextflow_attempt_gives_no_peak(void **state)
{
  /* two concatenated traces, with the missing values of pandas and of Nextflow */
  static const char text[] = "process,status,attempt,exit,realtime,memory,rss,rchar\r\n"
                             "A,COMPLETED,1,0,60000,4 GB,2 GB,nan\r\n"
                             "A,FAILED,1,137,30000,1 GB,1 GB,5\r\n"
                             "A,COMPLETED,2,143,60000,4 GB,2 GB,5\r\n"
                             "process,status,attempt,exit,realtime,memory,rss,rchar\r\n"
                             "A,CACHED,1,-,1m,NaN,2 GB,null\r\n"
                             "A,ABORTED,1,-,10,4 GB,1 MB,5\r\n"
                             "A,-,1,0.0,60000,4 GB,3 GB,5\r\n";
  static const struct {
    bool failed_too;
    size_t runs, passed_over;
  } cases[] = { { false, 3, 3 }, { true, 6, 0 } };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct ft_trace_source source = { .failed_too = cases[i].failed_too };
    struct ft_trace trace = { 0 };
    struct ft_error err = { "" };

    if (read_text(&trace, text, source, &err) < 0)
      fail_msg("%s", err.text);
    assert_int_equal(trace.count, 1);
    assert_int_equal(trace.runs, cases[i].runs);
    assert_int_equal(trace.skipped, cases[i].passed_over);
    assert_int_equal(trace.process[0].run[0].feature_count, 0);
    ft_trace_free(&trace);
  }
}

static void a_bad_trace_is_rejected_with_its_position(void **state)
{
  static const struct {
    const char *text, *error;
  } cases[] = {
    { "process,realtime,rss\nA,1000,many\n", "t: line 2, column 8: rss 'many': expected bytes" },
    { "process,realtime,rss\nA,soon,1\n", "t: line 2, column 3: realtime 'soon': expected milli" },
    { "process,realtime,rss\nA,1000,-1\n", "t: line 2, column 8: rss" },
    { "process,realtime,rss\nA,1e300,1\n", "t: line 2, column 3: realtime" },
    { "process,realtime,rss\nA,1\n", "t: line 2: expected 3 fields" },
    { "process,realtime,peak_rss\nA,1,1\n", "t: line 1: expected a column rss; it has peak_rss" },
    { "realtime,rss\n1,1\n", "t: line 1: expected a column process, or name" },
  };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct ft_trace trace = { 0 };
    struct ft_error err = { "" };

    assert_int_equal(read_text(&trace, cases[i].text, (struct ft_trace_source){ 0 }, &err), -1);
    if (strncmp(err.text, cases[i].error, strlen(cases[i].error)) != 0)
      fail_msg("\"%s\", expected \"%s\"", err.text, cases[i].error);
    ft_trace_free(&trace);
  }
}

static void other_tables_give_completed_runs(void **state)
{
  static const char csv[] =
      "app,user,peak_bytes,runtime_seconds,state,batch,request_mem_bytes,request_mem_unit,"
      "request_gpus_per_node\n"
      "a,u,1000,60,COMPLETED,4,4096,gpu,2\n"
      "a,u,500,60,FAILED,4,4096,gpu,2\n";
  static const char sacct[] =
      "JobID|JobName|User|State|Submit|End|Elapsed|NNodes|NodeList|ReqMem|MaxRSS|AllocCPUS\n"
      "7|train|nobody-here|COMPLETED|2026-07-20T10:00:00|2026-07-20T10:10:05|00:10:00|1|n|4G||4\n"
      "7.batch|batch||COMPLETED|2026-07-20T10:00:05|2026-07-20T10:10:05|00:10:00|1|n||1024K|4\n";
  struct ft_trace trace = { 0 };
  struct ft_error err;

  (void)state;
  if (read_text(&trace, csv, (struct ft_trace_source){ 0 }, &err) < 0 ||
      read_text(&trace, sacct, (struct ft_trace_source){ 0 }, &err) < 0)
    fail_msg("%s", err.text);
  assert_int_equal(trace.count, 2);
  assert_int_equal(trace.skipped, 1);
  assert_int_equal(trace.process[0].count, 1);
  assert_string_equal(trace.process[0].run[0].features[0].name, "batch");
  assert_near(trace.process[0].run[0].request_bytes, 2 * 4096, 0);
  assert_string_equal(trace.process[1].name, "nobody-here/train");
  assert_near(trace.process[1].run[0].bytes, 1 << 20, 0);
  assert_near(trace.process[1].run[0].request_bytes, 4.0 * (1 << 30), 0);
  assert_near(trace.process[1].run[0].seconds, 600, 0);
  ft_trace_free(&trace);
}

/* Runs of 1, 2, 1 and 4 hours under a limit of 8 hours: the same sums as of memory, in hours. A
 * timeout loses the whole limit. */
static void time_limits_are_replayed_as_memory_is(void **state)
{
  static const struct {
    unsigned method;
    double hours, failures;
  } cases[] = { { FT_POLICY_REQUEST, 7 + 6 + 7 + 4, 0 },
                { FT_POLICY_QUANTILE, 7 + 1 + 0.95 + (1.9 + 3.8 + 3.6), 3 },
                { FT_POLICY_REGRESSION, 7 + 1 + 1 + 2, 2 },
                { FT_POLICY_LARGEST, 7 + 1 + 1 + 2, 2 },
                { FT_POLICY_LAST, 7 + 1 + 1 + (1 + 2), 3 },
                { FT_POLICY_LAST_TWO, 7 + 1 + 0.5 + (1.5 + 3 + 2), 3 } };
  static const double need[] = { 1, 2, 1, 4 };
  struct ft_replay_run run[COUNT_OF(need)];
  struct ft_replay_score scores[FT_REPLAY_METHODS] = { 0 };
  struct ft_replay_options options = plain;
  struct ft_replay_figures f;
  struct ft_error err;

  (void)state;
  options.quantity = FT_QUANTITY_RUNTIME;
  options.timeout_probability = 0.01;
  options.max_seconds = 86400;
  for (size_t i = 0; i < COUNT_OF(need); i++)
    run[i] = (struct ft_replay_run){ .request_seconds = 8 * 3600, .seconds = need[i] * 3600 };
  assert_int_equal(ft_replay_process(run, COUNT_OF(need), &options, scores, &err), 0);
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    ft_replay_compute_figures(&scores[cases[i].method], &options, &f);
    assert_near(f.wastage_gbh, cases[i].hours, 1e-9);
    assert_near(f.failures, cases[i].failures, 0);
  }
  assert_false(ft_replay_has_method(&options, FT_POLICY_TOVAR));
  assert_false(ft_replay_has_method(&plain, FT_POLICY_LAST));
  /* without a limit the first gets the longest */
  run[0].request_seconds = 0;
  memset(scores, 0, sizeof scores);
  assert_int_equal(ft_replay_process(run, 1, &options, scores, &err), 0);
  ft_replay_compute_figures(&scores[FT_REPLAY_FORETELL], &options, &f);
  assert_near(f.wastage_gbh, 23, 1e-9);
}

/* Of 100 runs on a line with 2 % noise, one in a hundred exceeds the limit, the median is good, and
 * less is asked than by the largest so far. */
static void foretell_sets_limits_at_the_probability_of_a_timeout(void **state)
{
  static struct ft_replay_run run[400];
  static ft_feature feature[400];
  struct ft_replay_score scores[FT_REPLAY_METHODS] = { 0 };
  struct ft_replay_options options = plain;
  struct ft_replay_figures f;
  struct ft_random random;
  struct ft_error err;

  (void)state;
  options.quantity = FT_QUANTITY_RUNTIME;
  options.timeout_probability = 0.01;
  options.max_seconds = 86400;
  ft_random_seed(&random, 11);
  for (size_t i = 0; i < COUNT_OF(run); i++) {
    double n = 1 + 99 * ft_random_double(&random);

    feature[i] = (ft_feature){ .name = "n", .has_number = true, .number = n };
    run[i] =
        (struct ft_replay_run){ .seconds = (60 + 30 * n) * exp(0.02 * ft_random_normal(&random)),
                                .features = &feature[i],
                                .feature_count = 1 };
  }
  assert_int_equal(ft_replay_process(run, COUNT_OF(run), &options, scores, &err), 0);
  ft_replay_compute_figures(&scores[FT_REPLAY_FORETELL], &options, &f);
  assert_in_range((unsigned)f.failures, 0, 16); /* 4 of 400 expected, and the first ones */
  assert_true(f.has_mape && f.mape < 10 && f.coverage90 > 0.85);
  assert_true(scores[FT_REPLAY_FORETELL].byte_seconds <
              0.3 * scores[FT_POLICY_LARGEST].byte_seconds + 2 * 86400);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(time_limits_are_replayed_as_memory_is),
    cmocka_unit_test(foretell_sets_limits_at_the_probability_of_a_timeout),
    cmocka_unit_test(policies_waste_the_amounts_computed_by_hand),
    cmocka_unit_test(a_line_through_the_input_is_followed),
    cmocka_unit_test(in_order_of_arrival_only_ended_runs_are_known),
    cmocka_unit_test(the_published_protocol_plays_seven_tenths_from_34_runs_on),
    cmocka_unit_test(no_other_allocation_is_expected_to_waste_less),
    cmocka_unit_test(a_costlier_failure_gives_a_larger_allocation),
    cmocka_unit_test(a_failed_size_is_never_requested_again),
    cmocka_unit_test(runs_of_similar_input_count_most),
    cmocka_unit_test(tables_of_nextflow_are_read_raw_and_with_units),
    cmocka_unit_test(names_of_processes_are_utf8),
    cmocka_unit_test(a_killed_nextflow_attempt_gives_no_peak),
    cmocka_unit_test(a_bad_trace_is_rejected_with_its_position),
    cmocka_unit_test(other_tables_give_completed_runs),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
