/* SPDX-License-Identifier: GPL-3.0-or-later */
/* foretell(1): finds the sub-command and hands it its own argv. */
#include "config.h"

#include <locale.h>
#include <string.h>

#include "predictor/cli/cli.h"

struct command {
  const char *name;
  int (*run)(int argc, char **argv);
  const char *summary;
};

static const struct command commands[] = {
  { "predict", ft_command_predict, "what a submission would need and what would be decided" },
  { "history", ft_command_history, "list apps, their runs and what was learnt from them" },
  { "job", ft_command_job, "what a job asked for and used, and what to ask next time" },
  { "profile", ft_command_profile, "measure a command with the agent's samplers" },
  { "plot", ft_command_plot, "draw a run or an app's fit as SVG or PNG" },
  { "report", ft_command_report, "what predictions got right, saved and cost" },
  { "import", ft_command_import, "learn from sacct output or a CSV table" },
  { "export", ft_command_export, "write the observations out" },
  { "forget", ft_command_forget, "remove runs for good: an app's, a job's, a user's, old ones" },
  { "fit", ft_command_fit, "find an equation for a column of any table" },
  { "graph", ft_command_graph, "what a network costs, from its model file" },
  { "replay", ft_command_replay, "what it would have saved on a trace of past jobs" },
  { "train", ft_command_train, "learn from a table how fast runs are elsewhere" },
  { "relative", ft_command_relative, "how fast a table's runs would be on other platforms" },
  { "doctor", ft_command_doctor, "check the installation and say what to do" },
};

enum { COMMANDS = sizeof commands / sizeof *commands };

static int print_command_list(void)
{
  printf("Usage: foretell COMMAND [OPTION]... [ARGUMENT]...\n"
         "Predicts what a Slurm job will need from what its past runs needed.\n\n");
  for (int i = 0; i < COMMANDS; i++)
    printf("  %-9s %s\n", commands[i].name, commands[i].summary);
  printf("\n"
         "  -h, --help     show this help and exit\n"
         "      --version  show the version and exit\n\n"
         "foretell COMMAND --help shows a command's options, man foretell-COMMAND all about it.\n");
  return ft_flush(NULL);
}

static int print_version(void)
{
  printf("foretell %s\n", PACKAGE_VERSION);
  return ft_flush(NULL);
}

static const struct command *find_command(const char *name)
{
  for (int i = 0; i < COMMANDS; i++)
    if (strcmp(commands[i].name, name) == 0)
      return &commands[i];
  return NULL;
}

static size_t min_of_three(size_t a, size_t b)
{
  return a < b ? a : b;
}

/* Levenshtein's distance, of words of up to 15 letters; longer ones are far away, a beginning is
 * near. */
static size_t edit_distance(const char *a, const char *b)
{
  enum { LONGEST = 15 };
  size_t row[LONGEST + 1], m = strlen(a), n = strlen(b);

  if (m > LONGEST || n > LONGEST)
    return LONGEST;
  if (m >= 3 && strncmp(a, b, m) == 0)
    return 0;
  for (size_t j = 0; j <= n; j++)
    row[j] = j;
  for (size_t i = 1; i <= m; i++) {
    size_t diagonal = row[0];

    row[0] = i;
    for (size_t j = 1; j <= n; j++) {
      size_t above = row[j];

      row[j] = min_of_three(diagonal + (a[i - 1] != b[j - 1]), 1 + min_of_three(above, row[j - 1]));
      diagonal = above;
    }
  }
  return row[n];
}

static int report_unknown_command(const char *name)
{
  const char *nearest = NULL;
  size_t best = 3; /* more than two slips are another word */

  for (int i = 0; i < COMMANDS; i++) {
    size_t d = edit_distance(name, commands[i].name);

    if (d < best) {
      best = d;
      nearest = commands[i].name;
    }
  }
  if (nearest)
    return ft_print_error(NULL, FT_EXIT_USAGE, "no command \"%s\"; did you mean \"%s\"?", name,
                          nearest);
  return ft_print_error(NULL, FT_EXIT_USAGE, "no command \"%s\"; see foretell --help", name);
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

  /* letters as the terminal shows them, numbers as files need them */
  (void)setlocale(LC_CTYPE, "");
  if (argc < 2) {
    (void)ft_print_error(NULL, 0, "which command? see foretell --help");
    return FT_EXIT_USAGE;
  }
  if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
    return print_command_list();
  if (strcmp(argv[1], "--version") == 0)
    return print_version();
  if (strcmp(argv[1], "help") == 0)
    return argc > 2 ? help_on(argv[2]) : print_command_list();
  command = find_command(argv[1]);
  return command ? command->run(argc - 1, argv + 1) : report_unknown_command(argv[1]);
}
