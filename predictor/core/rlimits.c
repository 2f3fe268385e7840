/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <sys/resource.h>

#include "predictor/core/rlimits.h"

/* Address space, bytes; enough for a model file of FT_LIMIT_GRAPH_READ and its graph. */
#define MAX_ADDRESS_SPACE (FT_RLIMITS_MEMORY ? (rlim_t)1 << 30 : RLIM_INFINITY)

static void lower_limit(int resource, rlim_t max)
{
  struct rlimit now;

  if (getrlimit(resource, &now) < 0)
    return;
  if (now.rlim_max == RLIM_INFINITY || now.rlim_max > max)
    now.rlim_max = max;
  now.rlim_cur = now.rlim_max;
  (void)setrlimit(resource, &now);
}

void ft_rlimits_set(unsigned seconds)
{
  lower_limit(RLIMIT_AS, MAX_ADDRESS_SPACE);
  lower_limit(RLIMIT_CPU, seconds);
  lower_limit(RLIMIT_CORE, 0);
}
