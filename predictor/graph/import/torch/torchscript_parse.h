/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The text of a TorchScript program being read: what torchscript_parse.c (statements, definitions)
 * and torchscript_expression.c (words, expressions) share. */
#ifndef FT_GRAPH_TORCHSCRIPT_PARSE_H
#define FT_GRAPH_TORCHSCRIPT_PARSE_H

#include "predictor/graph/import/torch/torchscript.h"

/* Blocks and expressions within each other. */
enum { FT_SCRIPT_DEPTH = 200 };

struct ft_script_text {
  struct ft_build *build;
  struct ft_script *script;
  const char *part, *module; /* "code/__torch__/x.py", "__torch__.x" */
  const char *begin, *at, *end;
  int depth;
  uint32_t *slot_of; /* of each name, + 1: in the function at hand */
  uint32_t *stamp;   /* the function that it was in */
  size_t slot_room, stamp_room, slot_count;
  uint32_t function, slots;
};

/* "FILE: PART: byte AT: expected EXPECTED"; -1. */
int ft_script_expected(struct ft_script_text *p, const char *expected);

/* Step over blanks, LINES and line ends too. */
void ft_script_blanks(struct ft_script_text *p, bool lines);
/* Take TEXT where it stands next. */
bool ft_script_literal(struct ft_script_text *p, const char *text);
/* A name, the same text for the same bytes; NULL with the error. */
const char *ft_script_word(struct ft_script_text *p, uint32_t *number);
/* "A.B" */
const char *ft_script_join(struct ft_script_text *p, const char *a, const char *b);
/* The place of a name among the variables of the function at hand. */
int ft_script_slot(struct ft_script_text *p, uint32_t name, uint32_t *slot);

struct ft_script_node *ft_script_new(struct ft_script_text *p, uint8_t kind);
int ft_script_add(struct ft_script_text *p, struct ft_script_node *n, struct ft_script_node *kid);
/* Up to CLOSE: expressions with commas between them; of calls with KEYS before "=". */
int ft_script_sequence(struct ft_script_text *p, struct ft_script_node *n, char close, bool keys,
                       bool pairs);
/* NULL with the error. */
struct ft_script_node *ft_script_expression(struct ft_script_text *p);

#endif
