/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Result of foretell profile after a run. */
#ifndef FT_CLI_PROFILE_H
#define FT_CLI_PROFILE_H

#include "agent/measure/measure.h"
#include "predictor/cli/cli.h"

struct ft_profile {
  char **command;
  const struct ft_measure *measure;
  const char *output;  /* path of the samples; NULL: none written */
  int status;          /* as from waitpid */
  double runtime;      /* seconds */
  double seconds;      /* s between samples */
};

/* Returns the object that --json prints (keys: foretell-profile(1)). The caller owns it. */
json_t *ft_profile_json(const struct ft_profile *profile, const ft_observation *seen);

#endif
