/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * TensorFlow: a frozen GraphDef or a SavedModel (tensorflow/core/framework/graph.proto,
 * core/protobuf/saved_model.proto). Nodes and functions are kept as the file has them; they are
 * followed, functions in their callers' place, when the sizes of the inputs are known.
 */
#ifndef FT_GRAPH_TENSORFLOW_H
#define FT_GRAPH_TENSORFLOW_H

#include "predictor/graph/aten/aten.h"
#include "predictor/graph/import/build.h"
#include "predictor/graph/ir/symbol_table.h"

/* Read FD, a SavedModel or a GraphDef alone, into BUILD's graph. Returns 0 or -1. */
int ft_tensorflow_read(struct ft_build *build, int fd, bool saved_model);

/* ---- between the parts of the reader (tensorflow_*.c) ---- */

struct ft_tf_attribute {
  const char *key, *text; /* a string, or the name of a function */
  int64_t integer;        /* also of a truth or a type */
  const int64_t *integers;
  size_t count;
  struct ft_declared *shape, *tensor;
};

struct ft_tf_node {
  const char *name, *op;
  const char **inputs;
  struct ft_tf_attribute *attributes;
  size_t input_count, input_room, attribute_count, attribute_room;
  uint64_t at; /* its byte in the file */
  /* of a constant: what it became in the expansion of that number, learnt or not */
  struct ft_weight *weight;
  uint32_t tensor;
  uint64_t expansion;
};

/* What an input, which is the same text wherever it stands, names. */
struct ft_tf_link {
  const char *input; /* NULL: nothing stands here */
  const struct ft_tf_node *node;
  uint32_t which, argument; /* of the node's results; of the function's arguments, from 1 on */
};

/* The nodes of the graph or of a function. */
struct ft_tf_function {
  const char *name;
  struct ft_tf_node *nodes;
  const char **arguments, **outputs, **results; /* results: what each output is */
  size_t node_count, node_room, argument_count, argument_room, output_count, output_room;
  struct ft_symbol_table by_name;
  struct ft_tf_link *links; /* by their text's address */
  size_t link_room;         /* a power of two */
  size_t *order, ordered;   /* of what the results need, once that is known */
};

struct ft_tf_program {
  struct ft_tf_function graph;
  struct ft_tf_function *functions;
  size_t function_count, function_room;
  struct ft_symbol_table by_name; /* functions */
  struct ft_symbol_table settled; /* variables that are not learnt */
  const char **outputs;    /* of the signature: "node:0" */
  size_t output_count, output_room;
  uint64_t expansion; /* counts the times that it was followed */
  bool signed_for;    /* the outputs are of serving_default */
};

const struct ft_tf_attribute *ft_tf_attribute(const struct ft_tf_node *node, const char *key);
int64_t ft_tf_integer(const struct ft_tf_node *node, const char *key, int64_t otherwise);
const char *ft_tf_text(const struct ft_tf_node *node, const char *key, const char *otherwise);
/* DataType (types.proto) as ours. */
unsigned ft_tf_element(int64_t type);

/* Look up once what the inputs and results of FN name, its nodes being known by name. 0 or -1. */
int ft_tf_link_all(struct ft_build *build, struct ft_tf_function *fn);

/* graph->expand */
int ft_tensorflow_run(struct ft_infer *in);

/* One node whose inputs are known; VALUES are its results. 1: not known here. */
struct ft_tf_call {
  struct ft_tracer *l;
  const struct ft_tf_node *node;
  const struct ft_operand *in;
  size_t in_count;
  struct ft_operand *out; /* grown by ft_tf_give */
  size_t out_count, out_room;
};
int ft_tensorflow_node(struct ft_tf_call *c);
/* The name of the Ith of TensorFlow's operators that are known, with TYPE, the operator of the
 * graph that it mostly becomes ("": several); NULL behind the last. */
const char *ft_tf_operator_at(size_t i, const char **type);
int ft_tf_give(struct ft_tf_call *c, struct ft_operand value);

#endif
