/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Run time of a job on each platform of the app's run-time record. */
#ifndef FT_ESTIMATE_RUNTIME_H
#define FT_ESTIMATE_RUNTIME_H

#include <stddef.h>

#include "predictor/estimate/estimate.h"
#include "predictor/record/record.h"

/* Maximum number of platforms of an ft_performance (foretell.options). */
#define FT_RUNTIME_PLATFORMS 16

/* Maximum absolute value of the logarithm of a ratio of run times: a factor of 22,000. */
#define FT_RUNTIME_MAX_LOG_RATIO 10.0

/* Microseconds per second. The run-time model predicts microseconds. */
#define FT_RUNTIME_MICROSECONDS 1e6

struct ft_platform_runtime {
  const char *platform; /* name, borrowed from the ft_performance */
  unsigned runs;        /* completed runs on this platform; 0: predicted from other platforms */
  bool known;           /* the following fields are set */
  /* run time on the first platform divided by run time on this one: median, 5 and 95 % quantile */
  double speed, speed_p05, speed_p95;
  struct ft_estimate seconds; /* run time on this platform, in seconds */
};

/*
 * Estimates the run time of a job with COUNT FEATURES from PERFORMANCE into OUT, one element per
 * platform, in the order of PERFORMANCE. Returns the number of platforms; 0 without a recorded run
 * time. Allocates nothing.
 */
size_t ft_runtime_estimate(const ft_performance *performance, const ft_feature *features,
                           size_t count, struct ft_platform_runtime out[FT_RUNTIME_PLATFORMS]);

#endif
