/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How long a job would run, on each platform that anything is known of. */
#ifndef FT_ESTIMATE_RUNTIME_H
#define FT_ESTIMATE_RUNTIME_H

#include <stddef.h>

#include "predictor/estimate/estimate.h"
#include "predictor/record/record.h"

/* The most platforms that a performance names (foretell.options). */
#define FT_RUNTIME_PLATFORMS 16

/* Log of the largest ratio of run times that is believed: 1 to 22,000. */
#define FT_RUNTIME_MAX_LOG_RATIO 10.0

struct ft_platform_runtime {
  const char *platform; /* borrowed from the performance */
  unsigned runs;        /* completed there; 0: told from other platforms' runs */
  bool known;           /* false: nothing is, and what follows is not set */
  /* run time on the first place over that here: the median, and 5 and 95 % of its distribution */
  double speed, speed_p05, speed_p95;
  struct ft_estimate seconds;
};

/*
 * What PERFORMANCE, as read, whose pace is in microseconds, says of a job with FEATURES, into OUT
 * in the order of its places. Returns how many; 0: it knows no run time. Allocates nothing.
 */
size_t ft_runtime_estimate(const ft_performance *performance, const ft_feature *features,
                           size_t count, struct ft_platform_runtime out[FT_RUNTIME_PLATFORMS]);

#endif
