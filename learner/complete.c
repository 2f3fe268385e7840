/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <stdlib.h>

#include "learner/complete.h"
#include "predictor/core/text.h"
#include "predictor/record/state_files.h"

static void fill_default_memory(const ft_site *site, int state_fd, ft_observation *o)
{
  ft_partition *partition = malloc(sizeof *partition);

  if (partition && o->partition[0] &&
      ft_state_read_partition(state_fd, site, o->partition, partition, NULL) == 0) {
    uint64_t bytes = partition->def_mem_bytes * (partition->def_per_cpu ? o->cpus : 1);

    /* without a default memory a job gets the whole node */
    if (!partition->def_mem_bytes && partition->nodes_count == 1)
      bytes = partition->nodes[0].mem_bytes;
    o->has_partition_default_bytes = bytes > 0;
    o->partition_default_bytes = bytes;
  }
  free(partition);
}

void ft_complete_observation(const ft_site *site, int state_fd, const char *platform,
                             ft_observation *o)
{
  if (!o->cluster[0])
    (void)ft_string_copy(site->cluster, o->cluster, sizeof o->cluster);
  if (!o->slurm_version[0])
    (void)ft_string_copy(site->slurm_version, o->slurm_version, sizeof o->slurm_version);
  if (platform)
    (void)ft_string_copy(platform, o->platform, sizeof o->platform);
  fill_default_memory(site, state_fd, o);
}
