/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>

#include "predictor/estimate/quantity.h"
#include "predictor/online/need.h"

/* Fraction of GPU memory in use from which a failed run counts as out of memory. It is below 1,
 * since the allocation that failed is not in use, and above the 0.75 that JAX preallocates. */
#define OUT_OF_MEMORY_FRACTION 0.8

static struct ft_need memory_need(const ft_run *run)
{
  bool together = run->killed_by == FT_KILLED_BY_LIMIT_TOGETHER;

  return (struct ft_need){ .value = run->bytes,
                           .censored = run->censored,
                           .sampled = run->sampled,
                           .killed_by = together ? FT_KILLED_BY_LIMIT : (ft_killer)run->killed_by,
                           .killed_together = together };
}

bool ft_need_ran_out_of_gpu(const ft_run *run)
{
  return run->censored && memory_need(run).killed_by != FT_KILLED_BY_LIMIT &&
         run->gpu_limit_bytes > 0 &&
         (double)run->values[FT_QUANTITY_GPU_MEMORY] >=
             OUT_OF_MEMORY_FRACTION * (double)run->gpu_limit_bytes;
}

void ft_need_set(ft_run *run, size_t quantity, double value)
{
  if (quantity == FT_QUANTITY_MEMORY)
    run->bytes = value;
  else
    run->values[quantity] = (float)value;
}

struct ft_need ft_need_of(const ft_run *run, size_t quantity)
{
  struct ft_need need;

  if (quantity == FT_QUANTITY_MEMORY)
    return memory_need(run);
  need = (struct ft_need){ .value = (double)run->values[quantity], .censored = run->censored };
  if (quantity == FT_QUANTITY_GPU_MEMORY && ft_need_ran_out_of_gpu(run)) {
    need.value = fmax(need.value, (double)run->gpu_limit_bytes);
    need.killed_by = FT_KILLED_BY_LIMIT;
  }
  return need;
}
