/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Traces for replay. Bits of the first byte: 1 peak_rss, 2 without input, 4 a time zone is given.
 * The reader detects the format.
 */
#include "config.h"

#include <math.h>

#include "predictor/rebuild/trace.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/limit.h"

const size_t fuzz_limit = FT_LIMIT_LINE + 2;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  struct ft_trace_source source = { .name = "fuzz", .format = FT_TRACE_NEXTFLOW };
  struct ft_trace trace = { 0 };
  struct ft_error err = { "" };

  if (!size)
    return 0;
  source.fd = fuzz_fd(data + 1, size - 1);
  source.peak_rss = data[0] & 1;
  source.no_input = data[0] & 2;
  source.zone = data[0] & 4 ? ft_timezone_open("+01:00", NULL, &err) : NULL;
  (void)ft_trace_detect_format(&source, &err);
  if (ft_trace_read(&trace, &source, &err) < 0)
    fuzz_refused(&err);
  for (size_t i = 0; i < trace.count; i++)
    for (size_t j = 0; j < trace.process[i].count; j++) {
      const struct ft_replay_run *run = &trace.process[i].run[j];

      fuzz_must(run->bytes > 0 && isfinite(run->bytes) && run->seconds > 0 &&
                isfinite(run->seconds) && isfinite(run->end_time) && run->request_bytes >= 0 &&
                isfinite(run->request_bytes));
    }
  ft_trace_free(&trace);
  ft_timezone_close((struct ft_timezone *)source.zone);
  return 0;
}
