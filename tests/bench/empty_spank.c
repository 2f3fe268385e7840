/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A SPANK plugin that does nothing: the fixed cost of any plugin in sbatch. */
#include <slurm/spank.h>

SPANK_PLUGIN(empty, 1)

int slurm_spank_init_post_opt(spank_t spank, int ac, char *av[])
{
  (void)spank;
  (void)ac;
  (void)av;
  return 0;
}
