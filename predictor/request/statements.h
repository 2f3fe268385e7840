/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a program of a few lines is told by, whatever its language: the modules that it imports, the
 * scripts that it names, and the functions that it calls. Numbers, other strings, comments,
 * variables that it assigns, and the order of its lines do not count. Nothing is parsed: names are
 * found, in time linear in the text.
 */
#ifndef FT_REQUEST_STATEMENTS_H
#define FT_REQUEST_STATEMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "predictor/core/text.h"

enum { FT_STATEMENT_NAMES = 24 }; /* different ones of a kind; further ones do not count */

/* Hashes of distinct names, in no order. */
struct ft_name_set {
  size_t count;
  uint64_t hash[FT_STATEMENT_NAMES];
};

/* All zero: no statement has been taken. */
struct ft_statements {
  struct ft_name_set modules, calls, names;
};

/* Whether NAME has an extension of programs: "fit.R". */
bool ft_names_program(const char *name);

/* Take a LINE of statements: import x; library(x); f(...). */
void ft_statements_add_line(struct ft_statements *statements, struct ft_text line);

/*
 * A hash of STATEMENTS; 0: they have no name. WHOLE: modules and calls count, as in a line for
 * python -c; else modules alone, where there are any: a document grows by a call, what it is built
 * on stays.
 */
uint64_t ft_statements_hash(const struct ft_statements *statements, bool whole);

#endif
