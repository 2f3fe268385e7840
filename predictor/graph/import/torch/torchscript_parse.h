/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parser of a TorchScript program: shared by torchscript_parse.c (statements, definitions) and
 * torchscript_expression.c (tokens, expressions). */
#ifndef FT_GRAPH_TORCHSCRIPT_PARSE_H
#define FT_GRAPH_TORCHSCRIPT_PARSE_H

#include "predictor/graph/import/torch/torchscript.h"

/* Limit of nested blocks and expressions. */
enum { FT_SCRIPT_DEPTH = 200 };

struct ft_script_text {
  struct ft_build *build;
  struct ft_script *script;
  const char *part, *module; /* "code/__torch__/x.py", "__torch__.x" */
  const char *begin, *at, *end;
  int depth;
  uint32_t *slot_of; /* for each name: its variable's index in the current function, + 1 */
  uint32_t *stamp;   /* the function that slot_of is for */
  size_t slot_room, stamp_room, slot_count;
  uint32_t function, slots;
};

/* Sets the error "FILE: PART: byte AT: expected EXPECTED". Returns -1. */
int ft_script_expected(struct ft_script_text *p, const char *expected);

/* Skips blanks; with LINES line ends too. */
void ft_script_blanks(struct ft_script_text *p, bool lines);
/* Skips TEXT if it comes next. */
bool ft_script_literal(struct ft_script_text *p, const char *text);
/* Reads a name; equal names have the same address. NULL with the error. */
const char *ft_script_identifier(struct ft_script_text *p, uint32_t *number);
/* "A.B" */
const char *ft_script_join(struct ft_script_text *p, const char *a, const char *b);
/* The index of a name among the variables of the current function, into SLOT. Returns 0 or -1. */
int ft_script_slot(struct ft_script_text *p, uint32_t name, uint32_t *slot);

struct ft_script_node *ft_script_new(struct ft_script_text *p, uint8_t kind);
int ft_script_add(struct ft_script_text *p, struct ft_script_node *n, struct ft_script_node *kid);
/* Reads expressions separated by commas up to CLOSE into N; with KEYS, keyword arguments too.
 * Returns 0 or -1. */
int ft_script_sequence(struct ft_script_text *p, struct ft_script_node *n, char close, bool keys,
                       bool pairs);
/* Reads an expression. NULL with the error. */
struct ft_script_node *ft_script_expression(struct ft_script_text *p);

#endif
