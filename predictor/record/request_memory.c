/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include "predictor/record/request_memory.h"

uint64_t ft_request_units_per_node(const ft_request *r, uint64_t cpus)
{
  uint64_t units = r->mem_unit == FT_MEM_CPU   ? cpus
                   : r->mem_unit == FT_MEM_GPU ? r->gpus_per_node
                                               : 1;

  return units ? units : 1;
}

uint64_t ft_request_node_bytes(const ft_request *r, uint64_t cpus)
{
  uint64_t bytes;

  if (r->mem_unit == FT_MEM_NONE || r->mem_unit == FT_MEM_ALL)
    return 0;
  return __builtin_mul_overflow(r->mem_bytes, ft_request_units_per_node(r, cpus), &bytes)
             ? UINT64_MAX
             : bytes;
}
