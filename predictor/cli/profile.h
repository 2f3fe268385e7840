/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What foretell profile knows of a run when it is over. */
#ifndef FT_CLI_PROFILE_H
#define FT_CLI_PROFILE_H

#include "agent/measure/measure.h"
#include "predictor/cli/cli.h"

struct ft_profile {
  char **command;
  const struct ft_measure *measure;
  const char *output;  /* the file that was written; NULL: none */
  int status;          /* as of waitpid */
  double runtime;      /* seconds */
  double seconds;      /* between samples */
};

/* The object that --json prints: foretell-profile(1) tells its keys. The caller owns it. */
json_t *ft_profile_json(const struct ft_profile *profile, const ft_observation *seen);

#endif
