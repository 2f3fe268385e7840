/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The file of an app's models and runs, and that of the previous release. */
#include "config.h"

#include "tests/unit/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "predictor/core/hash.h"
#include "predictor/core/io.h"
#include "predictor/record/file_header.h"
#include "predictor/record/model_file.h"

enum { HEAD = 20, ROW = 12 }; /* bytes, see model_file.h */

/* Bytes: what a submission reads of an app is small. */
_Static_assert(sizeof(ft_model) < 20000, "ft_model");

static ft_model memory, gpu, read_model;
static struct ft_history runs, read_runs;
static struct ft_error err;

static void fill_model(ft_model *model, const char *method)
{
  *model = (ft_model){ .schema = FT_SCHEMA, .app = "unet3d", .uid = 1000, .runs = 200 };
  model->columns_count = 2;
  strcpy(model->columns[0].name, "batch");
  strcpy(model->columns[1].name, "arch");
  model->columns[1].categorical = true;
  model->columns[1].categories_count = 2;
  model->has_evaluator = true;
  strcpy(model->evaluator.method, method);
}

/* COUNT runs whose every field differs from 0 in some run. */
static void fill_runs(size_t count)
{
  memset(&runs, 0, sizeof runs);
  runs.count = count;
  for (size_t i = 0; i < count; i++) {
    runs.run[i] = (ft_run){ .key = UINT64_MAX - i,
                            .time = 1.7e9 + (double)i,
                            .bytes = 1e9 / (double)(i + 1),
                            .runtime_seconds = 60.5,
                            .censored = i % 2,
                            .sampled = i % 3 == 1,
                            .killed_by = i % 4 == 1,
                            .x_count = i ? 2 : 1,
                            .predicted_log = 20,
                            .equation_log = 20.5F,
                            .residual = -0.25F,
                            .values = { [1] = 1e9F, [2] = 3, [FT_RUN_VALUES - 1] = 8 },
                            .network_bytes = 5e8F,
                            .gpu = 0xfedcba98,
                            .gpu_limit_bytes = 4e10F };
    runs.run[i].x[0] = i % 5 ? (float)i : NAN;
    runs.run[i].x[1] = (float)(i % 2);
  }
}

static int make_files(void **state)
{
  (void)state;
  fill_model(&memory, "regression");
  fill_model(&gpu, "quantiles");
  gpu.held_bytes = 4e10;
  gpu.quantity = 1;
  fill_runs(FT_HISTORY_RUNS);
  return 0;
}

static void encode(size_t sections, const struct ft_history *history, struct ft_buf *out)
{
  const ft_model *const all[] = { &memory, &gpu };

  ft_buf_init(out, FT_LIMIT_RECORD);
  assert_int_equal(ft_model_file_encode(all, sections, history, out, &err), 0);
}

static int decode(const struct ft_buf *file, uint32_t quantity, struct ft_history *history)
{
  return ft_model_file_decode(file->data, file->length, "m", quantity, &read_model, history, &err);
}

static void assert_runs_equal(void)
{
  assert_int_equal(read_runs.count, runs.count);
  for (size_t i = 0; i < runs.count; i++) {
    const ft_run *a = &runs.run[i], *b = &read_runs.run[i];

    assert_true(a->key == b->key && a->time == b->time && a->bytes == b->bytes &&
                a->runtime_seconds == b->runtime_seconds && a->censored == b->censored &&
                a->sampled == b->sampled && a->killed_by == b->killed_by &&
                a->x_count == b->x_count && a->predicted_log == b->predicted_log &&
                a->equation_log == b->equation_log && a->residual == b->residual &&
                a->network_bytes == b->network_bytes && a->gpu == b->gpu &&
                a->gpu_limit_bytes == b->gpu_limit_bytes);
    assert_memory_equal(a->x, b->x, sizeof a->x);
    assert_memory_equal(a->values, b->values, sizeof a->values);
  }
}

static void each_section_is_read_by_itself(void **state)
{
  struct ft_buf file;

  (void)state;
  encode(2, &runs, &file);
  assert_int_equal(decode(&file, 0, &read_runs), 0);
  assert_string_equal(read_model.evaluator.method, "regression");
  assert_runs_equal();
  assert_int_equal(decode(&file, 1, NULL), 0);
  assert_string_equal(read_model.evaluator.method, "quantiles");
  assert_true(read_model.held_bytes == 4e10);
  assert_int_equal(decode(&file, 2, NULL), -1);
  assert_int_equal(errno, ENOENT);
  ft_buf_free(&file);
  /* the site's file of a pooled model has no runs */
  encode(1, NULL, &file);
  assert_int_equal(decode(&file, 0, &read_runs), 0);
  assert_int_equal(read_runs.count, 0);
  ft_buf_free(&file);
}

static void an_estimate_reads_no_runs(void **state)
{
  struct ft_buf file;

  (void)state;
  encode(2, &runs, &file);
  file.data[file.length - 1] ^= 1;
  assert_int_equal(decode(&file, 0, NULL), 0);
  assert_int_equal(decode(&file, 0, &read_runs), -1);
  assert_non_null(strstr(err.text, "checksum"));
  ft_buf_free(&file);
}

static void damage_anywhere_gives_one_line(void **state)
{
  char folder[SCRATCH_SIZE];
  struct ft_buf file;
  int dirfd = scratch_open(folder);

  (void)state;
  fill_runs(5);
  encode(1, &runs, &file);
  for (size_t i = 0; i < file.length; i++)
    for (int cut = 0; cut < 2; cut++) {
      if (!cut)
        file.data[i] ^= 0x55;
      assert_int_equal(
          ft_io_write_file_unsynced(dirfd, "m", file.data, cut ? i : file.length, 0600, &err), 0);
      assert_int_equal(ft_model_file_read(dirfd, "m", 0, &read_model, &read_runs, &err), -1);
      assert_true(strncmp(err.text, "m: ", 3) == 0 && !strchr(err.text, '\n'));
      if (!cut)
        file.data[i] ^= 0x55;
    }
  assert_int_equal(ft_model_file_read(dirfd, "absent", 0, &read_model, NULL, &err), -1);
  assert_int_equal(errno, ENOENT);
  ft_buf_free(&file);
  (void)scratch_close(folder, dirfd);
}

static void a_section_of_another_quantity_is_refused(void **state)
{
  struct ft_buf file;

  (void)state;
  encode(1, NULL, &file);
  ft_put32((unsigned char *)file.data + HEAD, 1);
  ft_put32((unsigned char *)file.data + 16, ft_checksum(file.data + HEAD, ROW));
  assert_int_equal(decode(&file, 1, NULL), -1);
  assert_non_null(strstr(err.text, "another quantity"));
  ft_buf_free(&file);
}

/* Sets the checksums of FILE to what they should be. */
static void seal(struct ft_buf *file)
{
  unsigned char *data = (unsigned char *)file->data;
  size_t rows = ft_get32(data + 12), at = HEAD + rows * ROW;

  for (size_t i = 0; i < rows; i++) {
    unsigned char *row = data + HEAD + i * ROW;

    if (ft_get32(row + 4) > file->length - at)
      break;
    ft_put32(row + 8, ft_checksum(data + at, ft_get32(row + 4)));
    at += ft_get32(row + 4);
  }
  ft_put32(data + 16, ft_checksum(data + HEAD, rows * ROW));
}

/* Returns the offset of the runs in FILE, its last section. */
static size_t runs_offset(const struct ft_buf *file, size_t rows)
{
  return file->length - ft_get32((const unsigned char *)file->data + HEAD + (rows - 1) * ROW + 4);
}

static void hostile_runs_are_refused(void **state)
{
  static const struct {
    const char *what;
    size_t at; /* in the section */
    uint32_t value;
    const char *why;
  } cases[] = {
    { "more runs than are kept", 0, FT_HISTORY_RUNS + 1, "more runs" },
    { "runs without an end", 0, UINT32_MAX, "more runs" },
    { "a column that is longer than the file", 8, UINT32_MAX, "truncated" },
  };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct ft_buf file;

    encode(1, &runs, &file);
    ft_put32((unsigned char *)file.data + runs_offset(&file, 2) + cases[i].at, cases[i].value);
    seal(&file);
    if (decode(&file, 0, &read_runs) == 0 || !strstr(err.text, cases[i].why))
      fail_msg("%s: %s", cases[i].what, err.text);
    ft_buf_free(&file);
  }
}

static void values_of_runs_are_checked(void **state)
{
  static const struct {
    double bytes;
    float x; /* of a category of two */
    uint8_t censored, killed_by;
    uint16_t x_count;
    bool good;
  } cases[] = { { 1e9, 1, 1, 1, 2, true },    { 1e9, -1, 0, 0, 2, true },
                { 1e9, NAN, 0, 0, 2, true },  { 0x1.1p50, 1, 0, 0, 2, false },
                { NAN, 1, 0, 0, 2, false },   { 1e9, 2, 0, 0, 2, false },
                { 1e9, -2, 0, 0, 2, false },  { 1e9, 1, 2, 0, 2, false },
                { 1e9, 1, 0, 200, 2, false }, { 1e9, 1, 0, 0, FT_HISTORY_COLUMNS + 1, false } };

  (void)state;
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct ft_buf file;

    runs.count = 1;
    runs.run[0] = (ft_run){ .bytes = cases[i].bytes,
                            .x = { 1, cases[i].x },
                            .x_count = cases[i].x_count,
                            .censored = cases[i].censored,
                            .killed_by = cases[i].killed_by };
    encode(1, &runs, &file);
    if ((decode(&file, 0, &read_runs) == 0) != cases[i].good)
      fail_msg("row %zu: %s", i, err.text);
    ft_buf_free(&file);
  }
}

static void columns_of_a_newer_version_are_skipped(void **state)
{
  struct ft_buf file, column;
  unsigned char *row;

  (void)state;
  encode(1, &runs, &file);
  /* a field that this version lacks, of 16 bytes a run */
  ft_buf_init(&column, FT_LIMIT_RECORD);
  assert_int_equal(ft_buf_add(&column, "\xff\x7f\0\0\x10\0\0\0", 8), 0);
  for (size_t i = 0; i < runs.count; i++)
    assert_int_equal(ft_buf_add(&column, "0123456789abcdef", 16), 0);
  assert_int_equal(ft_buf_add(&file, column.data, column.length), 0);
  row = (unsigned char *)file.data + HEAD + ROW;
  ft_put32(row + 4, ft_get32(row + 4) + (uint32_t)column.length);
  seal(&file);
  assert_int_equal(decode(&file, 0, &read_runs), 0);
  assert_runs_equal();
  ft_buf_free(&file);
  ft_buf_free(&column);
}

/* Written by the release before the sections: the app "unet3d" with 14 runs. */
static void a_file_of_the_previous_release_is_read(void **state)
{
  const char *top = getenv("FT_TOP_SRCDIR");
  char path[4096];

  (void)state;
  (void)snprintf(path, sizeof path, "%s/tests/fixtures/models/unet3d-1.model", top ? top : ".");
  assert_int_equal(ft_model_file_read(AT_FDCWD, path, 0, &read_model, &read_runs, &err), 0);
  assert_string_equal(read_model.app, "unet3d");
  assert_int_equal(read_model.runs, 14);
  assert_int_equal(read_runs.count, 14);
  for (size_t i = 0; i < 14; i++) {
    assert_near(read_runs.run[i].time, 1.76e9 + 3600 * (double)i + 605, 0);
    assert_near(read_runs.run[i].runtime_seconds, 600, 0);
    assert_true(read_runs.run[i].bytes > 1e9 && read_runs.run[i].x_count > 0);
    assert_int_equal(read_runs.run[i].censored, i == 12);
  }
  assert_int_equal(ft_model_file_read(AT_FDCWD, path, 0, &read_model, NULL, &err), 0);
  assert_int_equal(ft_model_file_read(AT_FDCWD, path, 1, &read_model, NULL, &err), -1);
  assert_int_equal(errno, ENOENT);
}

/* Returns the offset of NAME in FILE; SIZE_MAX: it is not there. */
static size_t names_offset(const struct ft_buf *file, const char *name)
{
  const char *at = memmem(file->data, file->length, name, strlen(name));

  return at ? (size_t)(at - file->data) : SIZE_MAX;
}

static void names_of_categories_stay_with_the_runs(void **state)
{
  ft_categories *names = &runs.categories;
  struct ft_buf file;
  size_t sections;

  (void)state;
  memory.columns[1].categories[0] = ft_category_hash("unet");
  memory.columns[1].categories[1] = ft_category_hash("resnet50");
  names->schema = FT_SCHEMA;
  names->columns_count = names->columns[1].name_count = 2;
  strcpy(names->columns[1].name[0], "unet");
  strcpy(names->columns[1].name[1], "resnet50");
  encode(1, &runs, &file);
  sections = HEAD + 3 * ROW + ft_get32((const unsigned char *)file.data + HEAD + 4);
  /* followed by another name, not by the "3d" of the app */
  assert_true(names_offset(&file, "unet\x1a") > sections);
  assert_true(names_offset(&file, "resnet50") > sections);
  assert_int_equal(decode(&file, 0, &read_runs), 0);
  assert_runs_equal();
  assert_true(read_model.columns[1].categories[1] == ft_category_hash("resnet50"));
  assert_string_equal(ft_category_name(&read_runs.categories, 1, 0), "unet");
  assert_string_equal(ft_category_name(&read_runs.categories, 1, 1), "resnet50");
  assert_string_equal(ft_category_name(&read_runs.categories, 1, 2), "?");
  assert_string_equal(ft_category_name(&read_runs.categories, 2, 0), "?");
  /* they are the user's text */
  strcpy(names->columns[1].name[1], "\033[2J");
  ft_buf_free(&file);
  encode(1, &runs, &file);
  assert_int_equal(decode(&file, 0, NULL), 0);
  assert_int_equal(decode(&file, 0, &read_runs), -1);
  assert_non_null(strstr(err.text, "categories"));
  ft_buf_free(&file);
}

/* Written before the names were a section: the app "net" with 10 runs and two values of "arch". */
static void names_in_a_model_of_the_previous_release_are_read(void **state)
{
  const char *top = getenv("FT_TOP_SRCDIR");
  static ft_performance performance;
  struct ft_model_parts parts = { .performance = &performance };
  char path[4096];
  int fd;

  (void)state;
  (void)snprintf(path, sizeof path, "%s/tests/fixtures/models/net-2.model", top ? top : ".");
  for (int with_runs = 0; with_runs < 2; with_runs++) {
    const ft_column *arch = &read_model.columns[0];

    assert_int_equal(
        ft_model_file_read(AT_FDCWD, path, 0, &read_model, with_runs ? &read_runs : NULL, &err), 0);
    assert_string_equal(arch->name, "arch");
    assert_int_equal(arch->categories_count, 2);
    assert_true(arch->categories[0] == ft_category_hash("unet") &&
                arch->categories[1] == ft_category_hash("resnet50"));
  }
  assert_int_equal(read_runs.count, 10);
  assert_string_equal(ft_category_name(&read_runs.categories, 0, 1), "resnet50");
  fd = open(path, O_RDONLY);
  assert_int_equal(ft_model_parts_read(fd, "net", &parts, &err), 0);
  close(fd);
  assert_true(performance.columns[0].categories[1] == ft_category_hash("resnet50"));
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup(each_section_is_read_by_itself, make_files),
    cmocka_unit_test_setup(an_estimate_reads_no_runs, make_files),
    cmocka_unit_test_setup(damage_anywhere_gives_one_line, make_files),
    cmocka_unit_test_setup(a_section_of_another_quantity_is_refused, make_files),
    cmocka_unit_test_setup(hostile_runs_are_refused, make_files),
    cmocka_unit_test_setup(values_of_runs_are_checked, make_files),
    cmocka_unit_test_setup(columns_of_a_newer_version_are_skipped, make_files),
    cmocka_unit_test(a_file_of_the_previous_release_is_read),
    cmocka_unit_test_setup(names_of_categories_stay_with_the_runs, make_files),
    cmocka_unit_test(names_in_a_model_of_the_previous_release_are_read),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
