/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * TensorFlow: a frozen GraphDef or a SavedModel (tensorflow/core/framework/graph.proto,
 * core/protobuf/saved_model.proto). The reader stores nodes and functions. ft_tensorflow_run
 * traces them when the input sizes are known, and inlines the functions.
 */
#ifndef FT_GRAPH_TENSORFLOW_H
#define FT_GRAPH_TENSORFLOW_H

#include "predictor/graph/aten/aten.h"
#include "predictor/graph/import/build.h"
#include "predictor/graph/ir/symbol_table.h"

/* Reads FD, a SavedModel if SAVED_MODEL, else a GraphDef, into BUILD's graph. The caller closes
 * FD. Returns 0, or -1 and fills BUILD's error. */
int ft_tensorflow_read(struct ft_build *build, int fd, bool saved_model);

/* ---- between the parts of the reader (tensorflow_*.c) ---- */

struct ft_tf_attribute {
  const char *key, *text; /* a string, or the name of a function */
  int64_t integer;        /* also a bool or a type */
  const int64_t *integers;
  size_t count;
  struct ft_declared *shape, *tensor;
};

struct ft_tf_node {
  const char *name, *op;
  const char **inputs;
  struct ft_tf_attribute *attributes;
  size_t input_count, input_room, attribute_count, attribute_room;
  uint64_t at; /* byte offset in the file */
  /* of a constant: its weight or tensor, valid only during trace number EXPANSION */
  struct ft_weight *weight;
  uint32_t tensor;
  uint64_t expansion;
};

/* The result that an input refers to. Names are interned: equal names have the same address. */
struct ft_tf_link {
  const char *input; /* NULL: an empty slot */
  const struct ft_tf_node *node;
  uint32_t which, argument; /* result index of NODE; number of the function's argument, from 1 */
};

/* The nodes of the graph or of a function. */
struct ft_tf_function {
  const char *name;
  struct ft_tf_node *nodes;
  const char **arguments, **outputs, **results; /* results: the input that each output reads */
  size_t node_count, node_room, argument_count, argument_room, output_count, output_room;
  struct ft_symbol_table by_name;
  struct ft_tf_link *links; /* hash table by the address of the input's name */
  size_t link_room;         /* a power of two */
  size_t *order, ordered;   /* nodes that the results depend on, in trace order; set on first use */
};

struct ft_tf_program {
  struct ft_tf_function graph;
  struct ft_tf_function *functions;
  size_t function_count, function_room;
  struct ft_symbol_table by_name;     /* functions */
  struct ft_symbol_table untrainable; /* variables that are not trainable */
  const char **outputs;               /* results that the signature names: "node:0" */
  size_t output_count, output_room;
  uint64_t expansion;     /* number of traces so far */
  bool default_signature; /* the outputs are those of serving_default */
};

/* Attribute KEY of NODE; NULL, or OTHERWISE, if there is none. */
const struct ft_tf_attribute *ft_tf_attribute(const struct ft_tf_node *node, const char *key);
int64_t ft_tf_integer(const struct ft_tf_node *node, const char *key, int64_t otherwise);
const char *ft_tf_text(const struct ft_tf_node *node, const char *key, const char *otherwise);
/* The FT_ELEMENT_ type of TensorFlow's DataType (types.proto). */
unsigned ft_tf_element(int64_t type);

/* Resolves the inputs and results of FN, whose nodes are indexed by name. Returns 0 or -1. */
int ft_tf_link_all(struct ft_build *build, struct ft_tf_function *fn);

/* graph->expand: traces the graph with the sizes of IN. Returns 0, or -1 with IN's error. */
int ft_tensorflow_run(struct ft_infer *in);

/* A node and the values of its inputs. ft_tensorflow_node records the node, appends its results to
 * OUT and returns 0 or -1. */
struct ft_tf_call {
  struct ft_tracer *l;
  const struct ft_tf_node *node;
  const struct ft_operand *in;
  size_t in_count;
  struct ft_operand *out; /* results, appended by ft_tf_give; the trace owns them */
  size_t out_count, out_room;
};
int ft_tensorflow_node(struct ft_tf_call *c);
/* Returns the name of the Ith known operator of TensorFlow and sets TYPE to the operator of the
 * graph that it mostly becomes ("": several); NULL after the last. */
const char *ft_tf_operator_at(size_t i, const char **type);
/* Appends VALUE to C's results. Returns 0 or -1. */
int ft_tf_give(struct ft_tf_call *c, struct ft_operand value);

#endif
