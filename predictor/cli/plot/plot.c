/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * foretell plot draws a run's memory over time, or an app's fit: observed peaks against the
 * predictions made before each run, or against one feature.
 */
#include "config.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "predictor/cli/cli.h"
#include "predictor/cli/plot/plot.h"
#include "predictor/core/text.h"

static const char usage[] = "[OPTION]... [FILE.dat]";
static const char summary[] =
    "Draws a run (FILE.dat, from foretell profile or mprof) or, with --app, an app's fit.";

static int check_output(const struct ft_plot *plot, const char *name)
{
  if (plot->output && !ft_string_ends(plot->output, ".png") && !ft_string_ends(plot->output, ".svg"))
    return ft_print_error(name, FT_EXIT_USAGE,
                          "--output=%s: expected a name that ends in .svg or .png", plot->output);
  if (!plot->output && plot->json)
    return ft_print_error(name, FT_EXIT_USAGE, "--json needs --output=FILE");
  if (!plot->output && isatty(STDOUT_FILENO))
    return ft_print_error(name, FT_EXIT_USAGE,
                          "missing --output=FILE; SVG is not written to a terminal");
  return FT_EXIT_DONE;
}

int ft_command_plot(int argc, char **argv)
{
  struct ft_plot plot = { 0 };
  const struct ft_option options[] = {
    { 'o', "output", "FILE",
      "write to FILE, ending in .svg or .png; default: SVG to standard output", FT_OPTION_STRING,
      &plot.output },
    { 0, "app", "NAME", "draw the fit of this app", FT_OPTION_STRING, &plot.app },
    { 0, "by", "FEATURE", "draw its peaks against FEATURE", FT_OPTION_STRING, &plot.by },
    { 0, "user", "USER", "owner of the app; default: you", FT_OPTION_STRING, &plot.user },
    { 0, "state", "DIR", "state directory; default: as configured", FT_OPTION_STRING, &plot.state },
    { 0, "json", NULL, "describe the drawing as one JSON object", FT_OPTION_FLAG, &plot.json },
    { 0 },
  };
  struct ft_error err;
  json_t *drawn = NULL;
  int status = FT_EXIT_USAGE;
  int first = ft_options_parse(options, usage, summary, 1, argc, argv, &status);

  if (first < 0)
    return status;
  if ((plot.app != NULL) == (first < argc))
    return ft_print_error(argv[0], FT_EXIT_USAGE, "expected one FILE.dat, or --app=NAME");
  if (!plot.app && plot.by)
    return ft_print_error(argv[0], FT_EXIT_USAGE, "--by=%s: only with --app=NAME", plot.by);
  status = check_output(&plot, argv[0]);
  if (status != FT_EXIT_DONE)
    return status;

  plot.png = plot.output && ft_string_ends(plot.output, ".png");
  status =
      plot.app ? ft_plot_fit(&plot, &drawn, &err) : ft_plot_run(&plot, argv[first], &drawn, &err);
  if (status != FT_EXIT_DONE) {
    json_decref(drawn);
    return ft_print_error(argv[0], status, "%s", err.text);
  }
  if (plot.json)
    return ft_json_print(drawn);
  json_decref(drawn);
  return FT_EXIT_DONE;
}
