/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sub-commands whose rooms are not landed yet: delete a line as its file arrives. */
#include "config.h"

#include "predictor/cli/cli.h"

#define STUB(name)                                                                            \
  int ft_command_##name(int argc, char **argv)                                                \
  {                                                                                           \
    (void)argc;                                                                               \
    return ft_complain(argv[0], FT_EXIT_SYSTEM, "not in this build");                         \
  }

STUB(history)
STUB(report)
STUB(import)
STUB(export)
