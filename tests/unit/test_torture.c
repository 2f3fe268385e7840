/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Every allocation of foretell fails in turn: the call must return an error and release everything,
 * and the same call without failures must succeed. The linker's --wrap replaces malloc, calloc and
 * realloc.
 */
#include "config.h"

#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "predictor/core/timezone.h"
#include "predictor/decide/decide.h"
#include "predictor/graph/import/read.h"
#include "predictor/graph/training/memory.h"
#include "predictor/history/store.h"
#include "predictor/online/online.h"
#include "predictor/rebuild/rebuild.h"
#include "predictor/record/state_files.h"
#include "predictor/request/describe.h"
#include "predictor/site/conf.h"

static struct ft_history history;

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);

static long countdown = -1; /* allocations until the failure; negative: none fails */

static bool fails(void)
{
  if (countdown < 0 || countdown-- > 0)
    return false;
  errno = ENOMEM;
  return true;
}

void *__wrap_malloc(size_t size)
{
  return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
  return fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
  return fails() ? NULL : __real_realloc(old, size);
}

static char folder[] = "/tmp/foretell-test-XXXXXX";
static int folder_fd;
static ft_model model, copy;

/* A call under test: returns 0, or -1 with ERR. */
typedef int call(struct ft_error *err);

static void torture(call *what)
{
  struct ft_error err;

  for (long n = 0; n < 10000; n++) {
    int status;

    err.text[0] = '\0';
    countdown = n;
    status = what(&err);
    if (countdown >= 0) { /* no allocation failed */
      countdown = -1;
      assert_int_equal(status, 0);
      return;
    }
    countdown = -1;
    if (status == 0)
      fail_msg("success, although allocation %ld failed", n);
    assert_true(err.text[0] != '\0');
  }
  fail_msg("never ended");
}

static int write_model(struct ft_error *err)
{
  const ft_model *const section = &model;

  return ft_model_file_write(&section, 1, &history, folder_fd, "m", 0600, err);
}

static int read_model(struct ft_error *err)
{
  return ft_model_file_read(folder_fd, "m", 0, &copy, &history, err);
}

static int submission_as_text(struct ft_error *err)
{
  static ft_submission submission = { .schema = FT_SCHEMA };
  struct ft_buf out;
  int status;

  ft_buf_init(&out, FT_LIMIT_ENVIRONMENT);
  status = ft_submission_to_text(&submission, NULL, &out, err);
  ft_buf_free(&out);
  return status;
}

static int read_config(struct ft_error *err)
{
  static struct ft_config config;
  char path[64];

  (void)snprintf(path, sizeof path, "%s/c", folder);
  return ft_config_read(path, &config, err);
}

static int open_zone(struct ft_error *err)
{
  const char *top = getenv("FT_TOP_SRCDIR");
  struct ft_timezone *zone;
  char path[4096];

  (void)snprintf(path, sizeof path, "%s/tests/fixtures/zoneinfo", top ? top : ".");
  zone = ft_timezone_open("Europe/Berlin", path, err);
  ft_timezone_close(zone);
  assert_true(zone || !strstr(err->text, "not a time zone file"));
  return zone ? 0 : -1;
}

static int make_forecast(ft_predictor *predictor, struct ft_error *err)
{
  ft_job_request *job = ft_job_request_new(0, err);
  ft_forecast *forecast = NULL;

  if (job && ft_job_request_set(job, "app", "absent", err) == 0)
    forecast = ft_forecast_make(predictor, job, err);
  ft_forecast_free(forecast);
  ft_job_request_free(job);
  return forecast ? 0 : -1;
}

static int predict(struct ft_error *err)
{
  const struct ft_value values[] = { { "batch", 32, NULL }, { "arch", 0, "resnet50" } };
  ft_predictor *predictor = ft_predictor_open(folder, err);
  ft_prediction *prediction;
  int status = -1;

  if (!predictor)
    return -1;
  prediction = ft_predict_memory(predictor, 0, "absent", values, 2, err);
  if (!prediction && errno == ENOENT)
    status = 0; /* the expected answer: no such model */
  ft_prediction_free(prediction);
  if (status == 0)
    status = make_forecast(predictor, err);
  ft_predictor_close(predictor);
  return status;
}

static int learn(struct ft_error *err)
{
  static ft_model learning;
  ft_observation o = { .schema = FT_SCHEMA, .job_id = 7, .outcome = FT_OUTCOME_COMPLETED };
  ft_model before;
  int status;

  ft_online_init(&learning, &history, "unet3d", 1000, FT_RULE_RSS);
  o.has_rss_bytes = true;
  o.rss_bytes = 1 << 30;
  before = learning;
  status = ft_online_update(&learning, &history, &o, err);
  if (status < 0)
    assert_memory_equal(&before, &learning, sizeof before);
  return status < 0 ? -1 : 0;
}

static int describe(struct ft_error *err)
{
  static const char script[] = "#!/bin/sh\npython3 train.py --batch 32 --data=./in.bin\n";
  const struct ft_description what = { .user = "alice",
                                       .job_name = "train",
                                       .directory = "/tmp",
                                       .params = "batch=64",
                                       .script = script,
                                       .script_length = sizeof script - 1 };
  const ft_request request = { .nodes = 1 };
  static struct ft_file_queries files;
  static ft_submission out;

  return ft_describe(&what, &request, &out, &files, err);
}

static int store_and_rebuild(struct ft_error *err)
{
  ft_observation o = { .schema = FT_SCHEMA,
                       .job_id = 7,
                       .uid = 1000,
                       .submission.app = "unet3d",
                       .outcome = FT_OUTCOME_COMPLETED,
                       .rss_bytes = 1 << 30 };
  struct ft_store *store;
  char path[64];
  int status = -1;

  o.has_rss_bytes = true;
  (void)snprintf(path, sizeof path, "%s/store.db", folder);
  store = ft_store_open(path, true, err);
  if (store && ft_store_put(store, &o, NULL, err) == 0 &&
      ft_rebuild_model(store, 1000, "unet3d", FT_RULE_RSS, &copy, err) == 0)
    status = 0;
  ft_store_close(store);
  unlink(path);
  return status;
}

static int join_partitions(struct ft_error *err)
{
  static const ft_site site = { .schema = FT_SCHEMA, .memory_is_consumable = true };
  static const ft_request request = { .partition = "one,two" };
  static ft_partition partition;
  struct ft_merged_partitions merged;

  return ft_decide_partition(folder_fd, &site, &request, &partition, &merged, err);
}

static void lists_of_partitions_survive(void **state)
{
  static const ft_partition partitions[] = { { .schema = FT_SCHEMA, .name = "one" },
                                             { .schema = FT_SCHEMA, .name = "two" } };
  char name[2][FT_STATE_NAME_SIZE];
  struct ft_error err;
  int fd;

  (void)state;
  assert_int_equal(mkdirat(folder_fd, FT_STATE_PARTITIONS, 0755), 0);
  fd = openat(folder_fd, FT_STATE_PARTITIONS, O_RDONLY | O_DIRECTORY);
  for (size_t i = 0; i < COUNT_OF(partitions); i++) {
    ft_state_partition_name(partitions[i].name, name[i]);
    assert_int_equal(ft_record_write(FT_RECORD_PARTITION, &partitions[i], fd, name[i], 0644, &err),
                     0);
  }
  torture(join_partitions);
  for (size_t i = 0; i < COUNT_OF(partitions); i++)
    assert_int_equal(unlinkat(fd, name[i], 0), 0);
  close(fd);
  assert_int_equal(unlinkat(folder_fd, FT_STATE_PARTITIONS, AT_REMOVEDIR), 0);
}

static void learning_survives(void **state)
{
  (void)state;
  torture(learn);
}

static void description_survives(void **state)
{
  (void)state;
  torture(describe);
}

static void store_survives(void **state)
{
  (void)state;
  torture(store_and_rebuild);
  assert_int_equal(copy.runs, 1);
}

static int analyse(struct ft_error *err)
{
  struct ft_graph_sizes sizes = { .batch = 4, .input = NULL };
  const char *top = getenv("FT_TOP_SRCDIR");
  struct ft_memory memory;
  struct ft_graph *graph;
  struct ft_cost cost;
  int status = -1;
  char path[4096];

  (void)snprintf(path, sizeof path, "%s/tests/fuzz/corpus/onnx/control.onnx", top ? top : ".");
  graph = ft_graph_read(path, err);
  if (graph && ft_graph_infer(graph, &sizes, err) == 0 && ft_graph_cost(graph, &cost, err) == 0 &&
      ft_graph_memory(graph, &cost, &memory, err) == 0) {
    assert_int_equal(cost.macs, 4 * 108);
    status = 0;
  }
  ft_graph_free(graph);
  return status;
}

static void graphs_survive(void **state)
{
  (void)state;
  torture(analyse);
}

static void records_survive(void **state)
{
  (void)state;
  torture(write_model);
  torture(read_model);
  torture(submission_as_text);
  assert_int_equal(strcmp(copy.app, "unet3d"), 0);
}

static void configuration_survives(void **state)
{
  FILE *f;
  char path[64];

  (void)state;
  (void)snprintf(path, sizeof path, "%s/c", folder);
  f = fopen(path, "w");
  assert_non_null(f);
  assert_true(fputs("mode = set\npartition gpu { mode = off }\n", f) > 0);
  assert_int_equal(fclose(f), 0);
  torture(read_config);
  unlink(path);
}

static void prediction_survives(void **state)
{
  (void)state;
  torture(predict);
}

static void time_zones_survive(void **state)
{
  (void)state;
  torture(open_zone);
}

static int set_up(void **state)
{
  (void)state;
  if (!mkdtemp(folder))
    return -1;
  folder_fd = open(folder, O_RDONLY | O_DIRECTORY);
  model.schema = FT_SCHEMA;
  strcpy(model.app, "unet3d");
  return folder_fd < 0 ? -1 : 0;
}

static int tear_down(void **state)
{
  (void)state;
  unlinkat(folder_fd, "m", 0);
  close(folder_fd);
  return rmdir(folder);
}

int main(void)
{
  const struct CMUnitTest tests[] = { cmocka_unit_test(records_survive),
                                      cmocka_unit_test(configuration_survives),
                                      cmocka_unit_test(prediction_survives),
                                      cmocka_unit_test(time_zones_survive),
                                      cmocka_unit_test(learning_survives),
                                      cmocka_unit_test(description_survives),
                                      cmocka_unit_test(store_survives),
                                      cmocka_unit_test(graphs_survive),
                                      cmocka_unit_test(lists_of_partitions_survive) };

  return cmocka_run_group_tests_name("torture", tests, set_up, tear_down);
}
