/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Interface of foretell(1)'s sub-commands. main.c lists them; each has a file of its own, gets its
 * own argv (argv[0] is its name) and returns an exit status.
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
  FT_EXIT_SYSTEM = 3 /* system error */
};

int ft_command_predict(int argc, char **argv);
int ft_command_scripts(int argc, char **argv);
int ft_command_history(int argc, char **argv);
int ft_command_job(int argc, char **argv);
int ft_command_profile(int argc, char **argv);
int ft_command_plot(int argc, char **argv);
int ft_command_report(int argc, char **argv);
int ft_command_import(int argc, char **argv);
int ft_command_export(int argc, char **argv);
int ft_command_fit(int argc, char **argv);
int ft_command_graph(int argc, char **argv);
int ft_command_shapes(int argc, char **argv);
int ft_command_replay(int argc, char **argv);
int ft_command_train(int argc, char **argv);
int ft_command_relative(int argc, char **argv);
int ft_command_forget(int argc, char **argv);
int ft_command_rebuild(int argc, char **argv);
int ft_command_doctor(int argc, char **argv);

/* Type of an option's argument, and of the variable that receives it. */
enum ft_option_type {
  FT_OPTION_FLAG,     /* bool * */
  FT_OPTION_STRING,   /* const char ** */
  FT_OPTION_OPTIONAL, /* const char **, "" without an argument */
  FT_OPTION_DOUBLE,   /* double *, finite */
  FT_OPTION_COUNT,    /* unsigned long *, 0 or more */
  FT_OPTION_BYTES     /* uint64_t *, as --mem: MiB without a suffix */
};

struct ft_option {
  char letter;          /* 0: none */
  const char *name;     /* long name, without dashes */
  const char *argument; /* as shown in --help: "FILE"; NULL for a flag */
  const char *help;     /* one line */
  enum ft_option_type type;
  void *target;
};

/* Number of operands, if it is not a maximum. */
enum {
  FT_OPERANDS_ANY = -1,
  FT_OPERANDS_COMMAND = -2 /* any; the first operand ends the options */
};

/*
 * Parses ARGV by OPTIONS (ended by a NULL name). Options may follow operands; "--" ends the
 * options. OPERANDS: the maximum number of operands, or one of the above. --help prints USAGE
 * ("[OPTION]... FILE"), SUMMARY and the options. Moves the operands to the end. Returns the index
 * of the first operand; -1 when the command has ended, with its exit status in *STATUS.
 */
int ft_options_parse(const struct ft_option *options, const char *usage, const char *summary,
                     int operands, int argc, char **argv, int *status);

/* Prints "foretell NAME: TEXT" on standard error, in one line. Returns STATUS. */
int ft_print_error(const char *name, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Prints TEXT like ft_print_plain, padded with blanks to WIDTH characters. Never truncates. */
void ft_print_column(const char *text, size_t width);

/* Prints TEXT, which may come from any source, with a question mark for each control character. */
void ft_print_plain(const char *text);

/* Flushes standard output. Returns FT_EXIT_DONE; FT_EXIT_SYSTEM after an error message in the
 * name of COMMAND (NULL: of foretell) if a write failed. */
int ft_flush(const char *command);

/* Prints OBJECT, whose reference it steals, as one line of JSON, or indented on a terminal.
 * Returns FT_EXIT_DONE; FT_EXIT_SYSTEM if standard output fails, or OBJECT is NULL
 * (out of memory). */
int ft_json_print(json_t *object);

/* Returns a new JSON number of type double; null if HAS is false or VALUE is not finite. */
json_t *ft_json_number(bool has, double value);

/* A progress bar on standard error, drawn only on a terminal and at most 10 times a second. A
 * TOTAL of 0 is unknown. */
struct ft_progress {
  const char *what;
  double total, next;
  bool shown;
};
void ft_progress_start(struct ft_progress *progress, const char *what, double total);
void ft_progress_step(struct ft_progress *progress, double done);
void ft_progress_end(struct ft_progress *progress);

/* Formats TIME, in seconds since 1970, as ISO 8601 in UTC: "2026-11-20T21:30:00Z". Returns OUT. */
const char *ft_show_time(double time, char out[32]);

#endif
