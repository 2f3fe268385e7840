/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A model file, or one of the previous release, whose checksums are set right. What is read must be
 * written and read again, and the model must learn another run.
 */
#include "config.h"

#include <string.h>

#include "predictor/core/hash.h"
#include "predictor/online/quantity_models.h"
#include "predictor/online/online.h"
#include "predictor/online/performance.h"
#include "predictor/record/file_header.h"
#include "predictor/record/model_file.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/limit.h"

const size_t fuzz_limit = FT_LIMIT_RECORD;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { HEAD = 20, ROW = 12, OLD_HEAD = 28 }; /* bytes, see model_file.h and record.h */

static uint8_t file[FT_LIMIT_RECORD];
static ft_model model, again;
static struct ft_history runs, runs_again;
static ft_performance performance;
static struct ft_runtimes runtimes;
static struct ft_model_parts times = { .performance = &performance, .runtimes = &runtimes };

static const ft_observation run = { .schema = 1,
                                    .job_id = 1,
                                    .end_time = 1.7e9,
                                    .runtime_seconds = 60,
                                    .outcome = FT_OUTCOME_COMPLETED,
                                    .platform = "fuzz",
                                    .has_rss_bytes = true,
                                    .rss_bytes = 1 << 30 };

/* Sets the checksum at SUM to that of LENGTH bytes at AT, if the file of SIZE bytes has them. */
static void seal_part(uint8_t *sum, size_t at, size_t length, size_t size)
{
  if (at <= size && length <= size - at)
    ft_put32(sum, ft_checksum(file + at, length));
}

static void seal(size_t size)
{
  uint32_t rows = ft_get32(file + 12);
  size_t at = HEAD + (size_t)rows * ROW;

  if (ft_get32(file + 8) >> 16 < 2) {
    seal_part(file + 16, OLD_HEAD, rows, size);
    seal_part(file + 24, OLD_HEAD + (size_t)rows, ft_get32(file + 20), size);
    return;
  }
  for (size_t i = 0; at <= size && i < rows; i++) {
    uint8_t *row = file + HEAD + i * ROW;

    seal_part(row + 8, at, ft_get32(row + 4), size);
    at += ft_get32(row + 4);
  }
  seal_part(file + 16, HEAD, (size_t)rows * ROW, size);
}

static void write_and_read_again(void)
{
  const ft_model *const section = &model;
  struct ft_error err;
  struct ft_buf out;

  ft_buf_init(&out, FT_LIMIT_RECORD);
  fuzz_must(ft_model_file_encode(&section, 1, &runs, &out, &err) == 0);
  fuzz_must(ft_model_file_decode(out.data, out.length, "again", 0, &again, &runs_again, &err) == 0);
  fuzz_must(runs_again.count == runs.count);
  ft_buf_free(&out);
}

static void write_times_and_read_again(void)
{
  const struct ft_model_sections sections = { .performance = &performance, .runtimes = &runtimes };
  size_t count = runtimes.count;
  struct ft_error err;
  struct ft_buf out;

  ft_buf_init(&out, FT_LIMIT_RECORD);
  fuzz_must(ft_model_sections_encode(&sections, &out, &err) == 0);
  fuzz_must(ft_model_parts_decode(out.data, out.length, "again", &times, &err) == 0);
  fuzz_must(times.has_performance && runtimes.count == count);
  ft_buf_free(&out);
  fuzz_must(ft_performance_update(&performance, &runtimes, &run, &err) >= 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  struct ft_error err = { "" };

  if (size < OLD_HEAD || size > sizeof file)
    return 0;
  memcpy(file, data, size);
  seal(size);
  if (ft_model_parts_decode(file, size, "file", &times, &err) == 0 && times.has_performance)
    write_times_and_read_again();
  for (uint32_t quantity = 0; quantity < 2; quantity++) {
    if (ft_model_file_decode(file, size, "file", quantity, &model, &runs, &err) < 0) {
      fuzz_must(err.text[0] && !strchr(err.text, '\n'));
      continue;
    }
    write_and_read_again();
    fuzz_must(ft_quantity_model_fit(&model, &runs, FT_QUANTITY_GPU_MEMORY, &again, &err) >= 0);
    fuzz_must(ft_online_update(&model, &runs, &run, &err) >= 0);
    write_and_read_again();
  }
  return 0;
}
