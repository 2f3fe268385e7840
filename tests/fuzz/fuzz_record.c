/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The first byte chooses the kind of record. A decoded record must encode again, and estimates from
 * it and updates of it must be sound.
 */
#include "config.h"

#include <math.h>

#include "predictor/estimate/allocation.h"
#include "predictor/estimate/gpu/gpu_calibration.h"
#include "predictor/estimate/memory.h"
#include "predictor/estimate/runtime.h"
#include "predictor/online/online.h"
#include "predictor/online/performance.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/limit.h"
#include "tests/fuzz/message.h"

static struct ft_history history;
static struct ft_runtimes runtimes;

const size_t fuzz_limit = FT_LIMIT_RECORD + 1;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static union fuzz_message message;

static const ft_observation run = { .schema = 1,
                                    .job_id = 1,
                                    .end_time = 1.7e9,
                                    .runtime_seconds = 60,
                                    .outcome = FT_OUTCOME_COMPLETED,
                                    .platform = "fuzz",
                                    .has_rss_bytes = true,
                                    .rss_bytes = 1 << 30,
                                    .submission.features_count = 1,
                                    .submission.features = {
                                        { .name = "batch", .has_number = true, .number = 16 } } };

static void check_quantiles(const struct ft_estimate *e)
{
  for (int i = 0; i < FT_ESTIMATE_LEVELS; i++)
    fuzz_must(e->quantile[i] > 0 && isfinite(e->quantile[i]) &&
              (!i || e->quantile[i] >= e->quantile[i - 1]));
}

static void ask_model(const ft_model *model)
{
  struct ft_estimate estimate;
  double bytes;

  if (ft_estimate_memory(model, NULL, 0, &estimate, NULL) == 0)
    check_quantiles(&estimate);
  for (int failed = 0; failed < 2; failed++)
    if (ft_allocate_memory(model, run.submission.features, 1, failed * 0x1p31, 1, &estimate, &bytes,
                           NULL) == 0)
      fuzz_must(bytes > failed * 0x1p31 && isfinite(bytes));
}

static void try_model(ft_model *model)
{
  ask_model(model);
  history.count = 0;
  if (ft_online_update(model, &history, &run, NULL) > 0)
    ask_model(model);
}

static void ask_performance(const ft_performance *p)
{
  struct ft_platform_runtime place[FT_RUNTIME_PLATFORMS];
  size_t count = ft_runtime_estimate(p, run.submission.features, 1, place);

  for (size_t i = 0; i < count; i++)
    if (place[i].known) {
      fuzz_must(place[i].speed_p05 > 0 && place[i].speed >= place[i].speed_p05 &&
                place[i].speed_p95 >= place[i].speed && isfinite(place[i].speed_p95));
      check_quantiles(&place[i].seconds);
    }
}

static void try_performance(ft_performance *p)
{
  ask_performance(p);
  runtimes.count = 0;
  if (ft_performance_update(p, &runtimes, &run, NULL) > 0)
    ask_performance(p);
  ft_performance_set_transfer(p, &runtimes, "told", -1, 0.1);
  ask_performance(p);
  ft_performance_clear_transfers(p, &runtimes);
  ask_performance(p);
}

static void try_gpus(const ft_gpus *gpus)
{
  struct ft_gpu_device device;

  for (size_t i = 0; i < gpus->kinds_count; i++) {
    ft_gpu_device_fit(gpus->kinds[i].runs, gpus->kinds[i].runs_count, 0x1p29, 0x1p32, &device);
    fuzz_must(device.context_bytes >= 0 && isfinite(device.context_bytes) && device.slope > 0 &&
              isfinite(device.slope) && device.deviation >= 0 && isfinite(device.deviation));
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  enum ft_record record;
  struct ft_error err;
  struct ft_buf again;

  if (!size)
    return 0;
  record = data[0] % (FT_RECORD_PROGRAM + 1);
  if (ft_record_decode(record, data + 1, size - 1, &message, &err) < 0) {
    fuzz_must(err.text[0]);
    return 0;
  }
  ft_buf_init(&again, FT_LIMIT_RECORD);
  fuzz_must(ft_record_encode(record, &message, &again, &err) == 0);
  ft_buf_free(&again);
  if (record == FT_RECORD_MODEL)
    try_model(&message.model);
  else if (record == FT_RECORD_PERFORMANCE)
    try_performance(&message.performance);
  else if (record == FT_RECORD_GPUS)
    try_gpus(&message.gpus);
  return 0;
}
