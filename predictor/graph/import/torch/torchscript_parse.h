/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parser of a TorchScript program: shared by torchscript_parse.c (statements, definitions) and
 * torchscript_expression.c (tokens, expressions). */
#ifndef FT_GRAPH_TORCHSCRIPT_PARSE_H
#define FT_GRAPH_TORCHSCRIPT_PARSE_H

#include "predictor/graph/import/torch/torchscript.h"

/* Limit of nested blocks and expressions. */
enum { FT_SCRIPT_DEPTH = 200 };

/* A file being parsed. */
struct ft_script_text {
  struct ft_build *build;
  struct ft_script *script;
  const char *part, *module; /* "code/__torch__/x.py", "__torch__.x" */
  const char *begin, *at, *end; /* at: the next character */
  int depth;                    /* of nested blocks and expressions */
  uint32_t *slot_of;            /* by name: index of its variable in function `stamp` */
  uint32_t *stamp;              /* by name: number of the function that slot_of is valid for */
  size_t slot_room, stamp_room, slot_count;
  uint32_t function, slots; /* number of the current function, and of its variables so far */
};

/* Sets the error "FILE: PART: byte AT: expected EXPECTED". Returns -1. */
int ft_script_expected(struct ft_script_text *p, const char *expected);

/* Skips blanks, with LINES also ends of lines. */
void ft_script_blanks(struct ft_script_text *p, bool lines);
/* Skips TEXT if it is next. Returns whether it was. */
bool ft_script_literal(struct ft_script_text *p, const char *text);
/* Reads a name. Returns its text, the same address for equal names; NULL with the error. Sets
 * NUMBER, which may be NULL, to the name's number (ft_build_name). */
const char *ft_script_identifier(struct ft_script_text *p, uint32_t *number);
/* Returns "A.B", the same address for equal texts; NULL with the error. */
const char *ft_script_join(struct ft_script_text *p, const char *a, const char *b);
/* Sets SLOT to the index of the variable with the name numbered NAME in the current function, which
 * gets one if it has none. Returns 0 or -1. */
int ft_script_slot(struct ft_script_text *p, uint32_t name, uint32_t *slot);

/* Creates a node without children; NULL with the error. */
struct ft_script_node *ft_script_new(struct ft_script_text *p, uint8_t kind);
/* Appends KID to N's children. Returns 0 or -1. */
int ft_script_add(struct ft_script_text *p, struct ft_script_node *n, struct ft_script_node *kid);
/* Reads expressions, separated by commas, up to the character CLOSE and appends them to N's
 * children. KEYS: keyword arguments are allowed; PAIRS: "key: value" pairs, as in a dictionary.
 * Returns 0 or -1. */
int ft_script_sequence(struct ft_script_text *p, struct ft_script_node *n, char close, bool keys,
                       bool pairs);
/* Reads an expression. Returns its syntax tree; NULL with the error. */
struct ft_script_node *ft_script_expression(struct ft_script_text *p);

#endif
