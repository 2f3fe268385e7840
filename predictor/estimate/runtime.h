/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Run time of a job on each known platform. */
#ifndef FT_ESTIMATE_RUNTIME_H
#define FT_ESTIMATE_RUNTIME_H

#include <stddef.h>

#include "predictor/estimate/estimate.h"
#include "predictor/record/record.h"

/* Platforms of an ft_performance at most (foretell.options). */
#define FT_RUNTIME_PLATFORMS 16

/* Largest absolute log ratio of run times: a factor of 22,000. Chosen by judgement. */
#define FT_RUNTIME_MAX_LOG_RATIO 10.0

struct ft_platform_runtime {
  const char *platform; /* borrowed from the performance */
  unsigned runs;        /* completed there; 0: transferred from other platforms */
  bool known;           /* false: no ratio is known, the following fields are unset */
  /* run time on the first platform divided by that here: median, 5 % and 95 % quantile */
  double speed, speed_p05, speed_p95;
  struct ft_estimate seconds; /* run time here, in seconds */
};

/*
 * Estimates the run time of a job with COUNT FEATURES from PERFORMANCE into OUT, in the order of
 * its platforms. Returns the number of platforms; 0 if there is no run time. Allocates nothing.
 */
size_t ft_runtime_estimate(const ft_performance *performance, const ft_feature *features,
                           size_t count, struct ft_platform_runtime out[FT_RUNTIME_PLATFORMS]);

#endif
