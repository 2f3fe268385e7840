/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <sys/resource.h>

#include "predictor/core/rlimits.h"

#define MOST_BYTES (FT_RLIMITS_MEMORY ? (rlim_t)1 << 30 : RLIM_INFINITY)

static void limit(int resource, rlim_t most)
{
  struct rlimit now;

  if (getrlimit(resource, &now) < 0)
    return;
  if (now.rlim_max == RLIM_INFINITY || now.rlim_max > most)
    now.rlim_max = most;
  now.rlim_cur = now.rlim_max;
  (void)setrlimit(resource, &now);
}

void ft_rlimits_set(unsigned seconds)
{
  limit(RLIMIT_AS, MOST_BYTES);
  limit(RLIMIT_CPU, seconds);
  limit(RLIMIT_CORE, 0);
}
