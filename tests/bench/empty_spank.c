/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A SPANK plugin that does nothing, for tests/bench/sbatch: the fixed cost of any plugin. */
#include <slurm/spank.h>

SPANK_PLUGIN(empty, 1)

int slurm_spank_init_post_opt(spank_t spank, int ac, char *av[])
{
  (void)spank;
  (void)ac;
  (void)av;
  return 0;
}
