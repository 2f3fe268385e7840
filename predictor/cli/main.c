/* SPDX-License-Identifier: GPL-3.0-or-later */
/* foretell(1): finds the sub-command and calls it with its own argv. */
#include "config.h"

#include <locale.h>
#include <string.h>

#include "predictor/cli/cli.h"
#include "predictor/core/nearest_name.h"
#include "predictor/core/text.h"

struct command {
  const char *name;
  int (*run)(int argc, char **argv);
  const char *summary;
};

static const struct command commands[] = {
  { "predict", ft_command_predict, "show what a submission would need and foretell's decision" },
  { "scripts", ft_command_scripts, "show what the batch scripts of a folder run" },
  { "history", ft_command_history, "list apps, their runs and their models" },
  { "job", ft_command_job, "show a job's request and use, and what to request next time" },
  { "profile", ft_command_profile, "measure a command with the agent's samplers" },
  { "plot", ft_command_plot, "draw a run or an app's fit as SVG or PNG" },
  { "report", ft_command_report, "show how good predictions were, what they saved and cost" },
  { "import", ft_command_import, "import runs from sacct's output or a CSV table" },
  { "export", ft_command_export, "write observations as CSV or JSON" },
  { "forget", ft_command_forget, "remove runs permanently: an app's, a job's, a user's, old ones" },
  { "rebuild", ft_command_rebuild, "rebuild models from the stored runs" },
  { "fit", ft_command_fit, "find an equation for a column of a table" },
  { "graph", ft_command_graph, "show a network's size and cost, from its model file" },
  { "shapes", ft_command_shapes, "tell what batches of images or texts of different sizes need" },
  { "replay", ft_command_replay, "replay past jobs: waste of foretell and of simple policies" },
  { "train", ft_command_train, "train a cross-platform model from a table of run times" },
  { "relative", ft_command_relative, "predict how fast a table's runs are on other platforms" },
  { "doctor", ft_command_doctor, "check the installation and recommend what to change" },
};

enum { COMMANDS = sizeof commands / sizeof *commands };

static int print_command_list(void)
{
  printf("Usage: foretell COMMAND [OPTION]... [ARGUMENT]...\n"
         "Predicts the memory and run time of Slurm jobs from past runs.\n\n");
  for (int i = 0; i < COMMANDS; i++)
    printf("  %-9s %s\n", commands[i].name, commands[i].summary);
  printf("\n"
         "  -h, --help     show this help and exit\n"
         "      --version  show the version and exit\n\n"
         "foretell COMMAND --help lists a command's options; man foretell-COMMAND documents it.\n");
  return ft_flush(NULL);
}

static int print_version(void)
{
  printf("foretell %s\n", PACKAGE_VERSION);
  return ft_flush(NULL);
}

static const struct command *find_command(const char *name)
{
  size_t i = FT_TABLE_FIND(commands, name);

  return i < COMMANDS ? &commands[i] : NULL;
}

static int report_unknown_command(const char *name)
{
  struct ft_nearest_name nearest;

  ft_nearest_name_begin(&nearest, name);
  for (int i = 0; i < COMMANDS; i++)
    ft_nearest_name_consider(&nearest, commands[i].name);
  if (nearest.name[0])
    return ft_print_error(NULL, FT_EXIT_USAGE, "unknown command \"%s\"; did you mean \"%s\"?", name,
                          nearest.name);
  return ft_print_error(NULL, FT_EXIT_USAGE, "unknown command \"%s\"; see foretell --help", name);
}

static int help_on(const char *name)
{
  const struct command *command = find_command(name);
  char help[] = "--help", called[16];
  char *argv[] = { called, help, NULL };

  if (!command)
    return report_unknown_command(name);
  (void)snprintf(called, sizeof called, "%s", command->name);
  return command->run(2, argv);
}

int main(int argc, char **argv)
{
  const struct command *command;

  /* only LC_CTYPE: numbers keep the decimal point that files need */
  (void)setlocale(LC_CTYPE, "");
  if (argc < 2)
    return ft_print_error(NULL, FT_EXIT_USAGE, "missing command; see foretell --help");
  if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
    return print_command_list();
  if (strcmp(argv[1], "--version") == 0)
    return print_version();
  if (strcmp(argv[1], "help") == 0)
    return argc > 2 ? help_on(argv[2]) : print_command_list();
  command = find_command(argv[1]);
  return command ? command->run(argc - 1, argv + 1) : report_unknown_command(argv[1]);
}
