/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Separate from mig_gres.c, which the plugin links: ft_gpu_find is in gpu_memory.c, which needs the
 * operator graphs. */
#include "config.h"

#include "predictor/estimate/gpu/mig_gres.h"

const struct ft_gpu *ft_mig_gpu_called(const struct ft_mig_table *table, const char *name)
{
  const struct ft_gpu *gpu = ft_gpu_find(name);

  if (gpu || !ft_mig_names_gpu(table, name))
    return gpu;
  for (size_t i = 0; (gpu = ft_gpu_at(i)); i++)
    if (!gpu->host && ft_mig_may_be(table, name, gpu->name))
      return gpu;
  return NULL;
}
