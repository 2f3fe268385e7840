/* SPDX-License-Identifier: GPL-3.0-or-later */
/* PaddlePaddle's .pdmodel, a ProgramDesc (paddle/fluid/framework/framework.proto), and the JSON
 * of version 3. */
#ifndef FT_GRAPH_PADDLE_H
#define FT_GRAPH_PADDLE_H

#include "predictor/graph/aten/aten.h"
#include "predictor/graph/import/build.h"

/* Read FD, a .pdmodel or a JSON file, into BUILD's graph. The caller closes FD. Return 0, or -1 and
 * fill BUILD's error. */
int ft_paddle_read(struct ft_build *build, int fd);
int ft_paddle_read_json(struct ft_build *build, int fd);
/* Whether a JSON file that begins with the LENGTH bytes of HEAD is a PaddlePaddle 3 program. */
bool ft_paddle_is_json(const char *head, size_t length);

/* ---- between the parts of the reader (paddle*.c) ---- */

struct ft_pd_slot { /* an operator's input or output: a list of variables */
  const char *name;
  const char **variables;
  size_t count, room;
};

struct ft_pd_attribute {
  const char *name, *text;
  int64_t integer; /* also a bool or the number of a block */
  double real;
  const int64_t *integers;
  const double *reals;
  size_t count;
};

struct ft_pd_operator {
  const char *type;
  struct ft_pd_slot *inputs, *outputs;
  struct ft_pd_attribute *attributes;
  size_t input_count, input_room, output_count, output_room, attribute_count, attribute_room;
  uint64_t at; /* byte offset, in JSON the operator's number; for errors */
};

struct ft_pd_variable {
  const char *name;
  struct ft_declared declared;
  int64_t kind; /* VarType.Type: 7 is a dense tensor */
  bool persistable; /* a weight */
};

struct ft_pd_block {
  struct ft_pd_variable *variables;
  struct ft_pd_operator *operators;
  size_t variable_count, variable_room, operator_count, operator_room;
};

struct ft_pd_program {
  struct ft_pd_block *blocks;
  size_t count, room;
};

/* Makes PROGRAM the program of BUILD's graph. */
void ft_paddle_keep(struct ft_build *build, struct ft_pd_program *program);

/* graph->expand: traces the program with the sizes of IN. Returns 0, or -1 with IN's error. */
int ft_paddle_run(struct ft_infer *in);
/* The FT_ELEMENT_ type of VarType.Type (framework.proto). */
unsigned ft_pd_element(int64_t type);

/* Returns the name of the Ith known operator of PaddlePaddle 2 and sets TYPE to the operator of the
 * graph that it mostly becomes ("": several); NULL after the last. */
const char *ft_pd_operator_at(size_t i, const char **type);

#endif
