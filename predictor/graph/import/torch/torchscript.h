/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * TorchScript archives (torch/csrc/jit/docs/serialization.md): a zip archive with the program in
 * a small subset of Python, and pickles of modules, attributes and tensor shapes. Both are
 * parsed and traced by our own code; nothing is executed, no weight is read.
 */
#ifndef FT_GRAPH_TORCHSCRIPT_H
#define FT_GRAPH_TORCHSCRIPT_H

#include "predictor/graph/aten/aten.h"
#include "predictor/graph/import/archive.h"
#include "predictor/graph/import/build.h"

/* Reads the archive into BUILD's graph. Returns 0, or -1 and fills BUILD's error. */
int ft_torchscript_read(struct ft_build *build, struct ft_archive *archive);

/* ---- between the parts of the reader (torchscript_*.c) ---- */

enum ft_script_kind {
  FT_SCRIPT_NAME,
  FT_SCRIPT_VALUE, /* a number, string, None, True, False */
  FT_SCRIPT_LIST,
  FT_SCRIPT_TUPLE,
  FT_SCRIPT_DICT,
  FT_SCRIPT_CALL,      /* children: the function, then the arguments */
  FT_SCRIPT_ATTRIBUTE, /* child: the object */
  FT_SCRIPT_INDEX      /* children: the object and the index */
};

/* A node of an expression's syntax tree. */
struct ft_script_node {
  uint8_t kind;            /* enum ft_script_kind */
  uint32_t slot;           /* NAME: index of the function's variable */
  const char *text;        /* NAME, ATTRIBUTE: the name */
  const char *key;         /* of a keyword argument: its keyword; else NULL */
  const char *path;        /* NAME, ATTRIBUTE of a dotted name: "torch.conv2d"; else NULL */
  struct ft_operand value; /* VALUE */
  struct ft_script_node **kids;
  size_t count, room;
};

enum ft_script_verb {
  FT_SCRIPT_ASSIGN,
  FT_SCRIPT_RUN, /* an expression statement */
  FT_SCRIPT_IF,
  FT_SCRIPT_FOR,
  FT_SCRIPT_WHILE,
  FT_SCRIPT_RETURN
};

struct ft_script_body;

struct ft_script_statement {
  uint8_t verb;                  /* enum ft_script_verb */
  uint32_t at;                   /* byte offset in its file */
  struct ft_script_node *target; /* ASSIGN, FOR: a NAME, a TUPLE of them, or an ATTRIBUTE */
  struct ft_script_node *value;  /* assigned, evaluated, returned, iterated over; the condition */
  struct ft_script_body *body, *otherwise; /* of IF, FOR, WHILE; otherwise: "else" */
};

struct ft_script_body {
  struct ft_script_statement *statements;
  size_t count, room;
  bool raises; /* always ends in an exception */
};

struct ft_script_parameter {
  const char *name, *type;          /* type: as annotated, "" if it is not */
  uint32_t slot;                    /* index of its variable */
  struct ft_script_node *otherwise; /* its default; NULL: none */
};

struct ft_script_function {
  const char *name; /* "__torch__.torch.nn.functional.relu", "__torch__.Net.forward" */
  const char *part; /* the file that defines it */
  struct ft_script_parameter *parameters;
  size_t parameter_count, parameter_room;
  uint32_t slots; /* number of variables, parameters included */
  struct ft_script_body body;
};

struct ft_script_class {
  const char *name;
  struct ft_field *constants; /* members declared as Final[...] = value */
  size_t constant_count, constant_room;
  const char **buffers; /* names of the members that are buffers, not parameters */
  size_t buffer_count, buffer_room;
};

/* A small tensor of the archive, which may hold sizes: its member's name and its bytes. */
struct ft_script_small {
  const char *key, *data;
  size_t length;
};

/* A parsed program. All memory belongs to the graph's arena. */
struct ft_script {
  struct ft_script_small *small;
  size_t small_count, small_room;
  struct ft_script_function *functions; /* sorted by name */
  struct ft_script_class *classes;      /* sorted by name */
  size_t function_count, function_room, class_count, class_room;
  const char *data, *constants; /* the pickles data.pkl and constants.pkl */
  size_t data_length, constants_length;
  const char *data_part, *constants_part; /* their names in the archive, for errors */
};

/* Parses TEXT, the member PART ("code/__torch__/torch/nn/functional.py"), and adds its definitions
 * to SCRIPT. Returns 0, or -1 with BUILD's error. */
int ft_script_parse(struct ft_build *build, struct ft_script *script, const char *part,
                    const char *text, size_t length);
/* Sorts functions and classes by name; precedes ft_script_function and ft_script_class, which
 * return the definition of NAME, or NULL. */
void ft_script_sort(struct ft_script *script);
const struct ft_script_function *ft_script_function(const struct ft_script *script,
                                                    const char *name);
const struct ft_script_class *ft_script_class(const struct ft_script *script, const char *name);

/* Converts a pickle, DATA of LENGTH bytes, to VALUE; PART is its name in errors. Tensors that are
 * among CONSTANTS' small ones get their values; CONSTANTS may be NULL. Returns 0 or -1. */
int ft_pickle_read(struct ft_tracer *l, const char *part, const char *data, size_t length,
                   const struct ft_script *constants, struct ft_operand *value);

/* graph->expand: traces the program with the sizes of IN. Returns 0, or -1 with IN's error. */
int ft_script_run(struct ft_infer *in);

#endif
