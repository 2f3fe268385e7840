/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Hashes a short program in any language by the modules that it imports, the scripts that it names
 * and the functions that it calls. Numbers, other strings, comments, assigned variables and the
 * order of lines do not change the hash. It searches for names without a parser, in time linear in
 * the length of the text.
 */
#ifndef FT_REQUEST_STATEMENTS_H
#define FT_REQUEST_STATEMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "predictor/core/text.h"

enum { FT_STATEMENT_NAMES = 24 }; /* names in a set; further ones are ignored */

/* Hashes of distinct names. */
struct ft_name_set {
  size_t count;
  uint64_t hash[FT_STATEMENT_NAMES];
};

/* Names in the lines so far. All zero: no lines. */
struct ft_statements {
  struct ft_name_set modules, calls, names;
};

/* Whether NAME has the extension of a program file: "fit.R". */
bool ft_names_program(const char *name);

/* Adds a LINE of statements: import x; library(x); f(...). */
void ft_statements_add_line(struct ft_statements *statements, struct ft_text line);

/* Returns a hash of STATEMENTS; 0 without names. WHOLE: of modules and calls, for the text of
 * python -c. Otherwise of modules only, if there are any: between versions of a here-document the
 * calls change, but the modules stay. */
uint64_t ft_statements_hash(const struct ft_statements *statements, bool whole);

#endif
