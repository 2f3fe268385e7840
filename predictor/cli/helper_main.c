/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * foretell-helper: `foretell helper` and nothing else. The plugin waits for
 * it inside sbatch, so it is not linked with what foretell draws and stores with.
 */
#include "config.h"

#include "predictor/cli/cli.h"

int main(int argc, char **argv)
{
  if (argc < 2)
    return ft_complain("helper", FT_EXIT_USAGE, "only the plugin starts this");
  return ft_command_helper(argc - 1, argv + 1);
}
