/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * foretell(1): main.c knows the sub-commands, one file each. A sub-command
 * gets its own argv (argv[0] is its name) and returns the exit status.
 */
#ifndef FT_CLI_CLI_H
#define FT_CLI_CLI_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "predictor/core/error.h"
#include "predictor/record/record.h"

enum {
  FT_EXIT_DONE = 0,  /* done */
  FT_EXIT_NO = 1,    /* a negative answer: would not fit, would be rejected */
  FT_EXIT_USAGE = 2, /* wrong usage or input */
  FT_EXIT_SYSTEM = 3 /* the system's fault */
};

int ft_command_predict(int argc, char **argv);
int ft_command_history(int argc, char **argv);
int ft_command_job(int argc, char **argv);
int ft_command_profile(int argc, char **argv);
int ft_command_plot(int argc, char **argv);
int ft_command_report(int argc, char **argv);
int ft_command_import(int argc, char **argv);
int ft_command_export(int argc, char **argv);
int ft_command_fit(int argc, char **argv);
int ft_command_graph(int argc, char **argv);
int ft_command_replay(int argc, char **argv);
int ft_command_train(int argc, char **argv);
int ft_command_relative(int argc, char **argv);
int ft_command_forget(int argc, char **argv);
int ft_command_doctor(int argc, char **argv);

/* What an option's argument is and where it goes. */
enum ft_option_type {
  FT_OPTION_FLAG,   /* bool * */
  FT_OPTION_STRING, /* const char ** */
  FT_OPTION_DOUBLE, /* double *, finite */
  FT_OPTION_COUNT,  /* unsigned long *, 0 or more */
  FT_OPTION_BYTES   /* uint64_t *, as --mem: MiB without a suffix */
};

struct ft_option {
  char letter;          /* 0: none */
  const char *name;     /* long name, without dashes */
  const char *argument; /* as shown in --help: "FILE"; NULL for a flag */
  const char *help;     /* one line */
  enum ft_option_type type;
  void *target;
};

/*
 * Parse ARGV by OPTIONS (ended by a NULL name); options may follow operands,
 * "--" ends them (STOP: the first operand does). --help prints USAGE ("[OPTION]... FILE"),
 * SUMMARY and the options, and is answered here. Operands are moved to the end.
 * Returns the index of the first operand; -1 when the command is over with *STATUS.
 */
int ft_options_parse(const struct ft_option *options, const char *usage, const char *summary,
                     bool stop, int argc, char **argv, int *status);

/* "foretell NAME: TEXT" on standard error, in one line. Returns STATUS. */
int ft_print_error(const char *name, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Print TEXT as ft_print_plain, and blanks up to WIDTH characters; longer ones are printed whole.
 */
void ft_print_column(const char *text, size_t width);

/* Print TEXT, which comes from anywhere, with a question mark for each control character. */
void ft_print_plain(const char *text);

/* Write out what was printed. Returns an exit status: 3, having complained in the name of COMMAND
 * (NULL: of foretell), where any of it could not be. */
int ft_flush(const char *command);

/* Print OBJECT (stolen) as one line of JSON, or indented on a terminal. Returns an exit status: 3
 * when standard output fails. */
int ft_json_print(json_t *object);

/* JSON of a number of type double, or null where HAS is false or it is not finite. */
json_t *ft_json_number(bool has, double value);

/* A progress bar on standard error, drawn only on a terminal and at most 10 times a second; TOTAL
 * 0: unknown. */
struct ft_progress {
  const char *what;
  double total, next;
  bool shown;
};
void ft_progress_start(struct ft_progress *progress, const char *what, double total);
void ft_progress_step(struct ft_progress *progress, double done);
void ft_progress_end(struct ft_progress *progress);

/* A time as ISO 8601 in UTC, "2026-11-20T21:30:00Z". */
const char *ft_show_time(double time, char out[32]);

#endif
