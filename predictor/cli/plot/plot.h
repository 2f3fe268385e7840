/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The two charts of foretell plot. */
#ifndef FT_CLI_PLOT_H
#define FT_CLI_PLOT_H

#include <jansson.h>
#include <stdbool.h>

#include "predictor/core/error.h"

struct ft_plot {
  const char *output; /* NULL: standard output */
  bool png, json;
  const char *app, *by, *user, *state;
};

/*
 * Draws the run in the file NAME, or the fit of PLOT's app. DRAWN receives a new object that
 * describes the chart, for --json. Returns an exit status; fills ERR unless it is 0.
 */
int ft_plot_run(const struct ft_plot *plot, const char *name, json_t **drawn, struct ft_error *err);
int ft_plot_fit(const struct ft_plot *plot, json_t **drawn, struct ft_error *err);

#endif
