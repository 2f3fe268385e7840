/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A sub-command's options: one table defines the parser and --help. tests/docs/check-docs compares
 * it with the man page and the completion.
 */
#include "config.h"

#include <getopt.h>
#include <limits.h>
#include <string.h>

#include "predictor/cli/cli.h"
#include "predictor/core/text.h"
#include "predictor/core/units.h"

enum {
  LIMIT = 56,     /* options of one sub-command */
  LONG_ONLY = 256 /* getopt's value of the first option in the table; above all letters */
};

static void print_option(char letter, const char *name, const char *argument, const char *help)
{
  char left[64];
  int used = letter ? snprintf(left, sizeof left, "  -%c, --%s", letter, name)
                    : snprintf(left, sizeof left, "      --%s", name);

  if (argument && used > 0 && (size_t)used < sizeof left)
    (void)snprintf(left + used, sizeof left - (size_t)used, "=%s", argument);
  printf("%-26s  %s\n", left, help);
}

static int print_option_help(const struct ft_option *options, const char *name, const char *usage,
                             const char *summary)
{
  printf("Usage: foretell %s %s\n%s\n\n", name, usage, summary);
  for (const struct ft_option *o = options; o->name; o++)
    print_option(o->letter, o->name, o->argument, o->help);
  print_option('h', "help", NULL, "show this help and exit");
  return ft_flush(name);
}

/* Parses TEXT, a size as sbatch's --mem takes it: a whole number with or without K, M, G or T.
 * Returns whether it is one. */
static bool parse_slurm_size(struct ft_text text, uint64_t *bytes)
{
  struct ft_text rest = text;
  uint64_t number;

  return ft_text_u64(&rest, UINT64_MAX, &number) &&
         (rest.at == rest.end || memchr("KMGTkmgt", *rest.at, 8)) &&
         ft_units_parse_bytes(text, FT_MIB, bytes);
}

/* Parses TEXT into OPTION's target. Returns 0; -1 after an error message. */
static int store_option_value(const struct ft_option *option, const char *text, const char *command)
{
  struct ft_text cursor = ft_text_from(text);
  const char *expected;
  uint64_t number;

  switch (option->type) {
  case FT_OPTION_FLAG:
    *(bool *)option->target = true;
    return 0;
  case FT_OPTION_OPTIONAL:
    *(const char **)option->target = text ? text : "";
    return 0;
  case FT_OPTION_STRING:
    *(const char **)option->target = text;
    return 0;
  case FT_OPTION_DOUBLE:
    if (ft_text_is_double(cursor, option->target))
      return 0;
    expected = "a number";
    break;
  case FT_OPTION_COUNT:
    if (ft_text_u64(&cursor, ULONG_MAX, &number) && ft_text_left(&cursor) == 0) {
      *(unsigned long *)option->target = (unsigned long)number;
      return 0;
    }
    expected = "a whole number, 0 or more";
    break;
  default:
    if (parse_slurm_size(cursor, option->target))
      return 0;
    expected = "a whole number of MiB, or a size such as 4000M or 12G";
    break;
  }
  return ft_print_error(command, -1, "--%s=%s: expected %s", option->name, text, expected);
}

/* Prints the error that getopt found in the argument before optind. Returns FT_EXIT_USAGE. */
static int report_bad_option(int found, const char *name, char **argv)
{
  const char *word = argv[optind - 1];

  if (found == ':' && strncmp(word, "--", 2) != 0)
    ft_print_error(name, 0, "-%c needs an argument", optopt);
  else if (found == ':')
    ft_print_error(name, 0, "%s needs an argument", word);
  else if (optopt >= LONG_ONLY || (optopt && strncmp(word, "--", 2) == 0))
    ft_print_error(name, 0, "%.*s takes no argument", (int)strcspn(word, "="), word);
  else if (optopt)
    ft_print_error(name, 0, "unknown option -%c; see foretell %s --help", optopt, name);
  else
    ft_print_error(name, 0, "unknown option %.*s; see foretell %s --help", (int)strcspn(word, "="),
                   word, name);
  return FT_EXIT_USAGE;
}

/* Fills getopt's tables from OPTIONS. Returns the number of options. */
static int make_getopt_tables(const struct ft_option *options, bool stop, struct option *words,
                              char letters[2 * LIMIT + 8])
{
  size_t used = 0;
  int count = 0;

  if (stop)
    letters[used++] = '+';
  letters[used++] = ':';
  letters[used++] = 'h';
  for (const struct ft_option *o = options; o->name && count < LIMIT; o++, count++) {
    words[count] = (struct option){ .name = o->name,
                                    .has_arg = o->type == FT_OPTION_FLAG       ? no_argument
                                               : o->type == FT_OPTION_OPTIONAL ? optional_argument
                                                                               : required_argument,
                                    .val = LONG_ONLY + count };
    if (o->letter)
      letters[used++] = o->letter;
    if (o->letter && o->type != FT_OPTION_FLAG)
      letters[used++] = ':';
  }
  words[count] = (struct option){ .name = "help", .has_arg = no_argument, .val = 'h' };
  words[count + 1] = (struct option){ 0 };
  letters[used] = '\0';
  return count;
}

int ft_options_parse(const struct ft_option *options, const char *usage, const char *summary,
                     int operands, int argc, char **argv, int *status)
{
  struct option words[LIMIT + 2];
  char letters[2 * LIMIT + 8];
  int count = make_getopt_tables(options, operands == FT_OPERANDS_COMMAND, words, letters), found;

  optind = 0; /* glibc: reset getopt, which may have parsed another argv */
  opterr = 0;
  while ((found = getopt_long(argc, argv, letters, words, NULL)) != -1) {
    int which = found - LONG_ONLY;

    if (found == 'h') {
      *status = print_option_help(options, argv[0], usage, summary);
      return -1;
    }
    for (int i = 0; which < 0 && i < count; i++)
      if (options[i].letter && options[i].letter == found)
        which = i;
    if (which < 0) {
      *status = report_bad_option(found, argv[0], argv);
      return -1;
    }
    if (store_option_value(&options[which], optarg, argv[0]) < 0) {
      *status = FT_EXIT_USAGE;
      return -1;
    }
  }
  if (operands >= 0 && argc - optind > operands) {
    *status =
        ft_print_error(argv[0], FT_EXIT_USAGE, "unexpected argument '%s'; see foretell %s --help",
                       argv[optind + operands], argv[0]);
    return -1;
  }
  return optind;
}
