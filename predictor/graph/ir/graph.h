/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The operator graph of a network, whatever framework wrote it. The vocabulary
 * is ONNX's (operators, attributes, element types): a reader of another format
 * translates into it. Weights are never read.
 *
 *   ft_graph_read    file -> graph: operators, tensors, what the file says of shapes (import/read.h)
 *   ft_graph_infer   graph + sizes -> the shape of every tensor
 *   ft_graph_cost    -> parameters, MACs, activations of every operator (cost.h)
 */
#ifndef FT_GRAPH_GRAPH_H
#define FT_GRAPH_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "predictor/core/error.h"
#include "predictor/graph/ir/arena.h"
#include "predictor/graph/ir/dim.h"

enum {
  FT_GRAPH_RANK = 32,     /* dimensions of a tensor */
  FT_GRAPH_DEPTH = 16,    /* subgraphs within each other */
  FT_GRAPH_VALUES = 1024, /* elements of a tensor whose values are followed */
  FT_GRAPH_NAME = 4096    /* bytes of a name */
};

/* Past these nothing is believed: elements along one dimension, and of a tensor. */
#define FT_GRAPH_DIMENSION (INT64_C(1) << 40)
#define FT_GRAPH_ELEMENTS (INT64_C(1) << 50)

/* Element types, numbered as ONNX's TensorProto.DataType. */
enum ft_element {
  FT_ELEMENT_UNKNOWN = 0,
  FT_ELEMENT_FLOAT = 1,
  FT_ELEMENT_UINT8 = 2,
  FT_ELEMENT_INT8 = 3,
  FT_ELEMENT_INT16 = 5,
  FT_ELEMENT_INT32 = 6,
  FT_ELEMENT_INT64 = 7,
  FT_ELEMENT_STRING = 8, /* of no fixed size */
  FT_ELEMENT_BOOL = 9,
  FT_ELEMENT_FLOAT16 = 10,
  FT_ELEMENT_DOUBLE = 11,
  FT_ELEMENT_BFLOAT16 = 16,
  FT_ELEMENT_LAST = 26
};

/* Bits of one element; 0 when TYPE has no fixed size (strings, unknown). */
unsigned ft_element_bits(unsigned type);
bool ft_element_is_real(unsigned type);
const char *ft_element_name(unsigned type);
/* The element of TYPE, of 8 to 64 bits, whose bytes are at DATA, the lowest first; NAN: not known.
 */
double ft_element_value(unsigned type, const uint8_t *data);

/* What a file says of a tensor. */
struct ft_declared {
  ft_dim *dims;
  const char **symbols; /* of input dimensions with a name, else NULL */
  const double *values; /* of a small constant, else NULL */
  int64_t elements;     /* of a constant */
  uint64_t at;          /* byte position in the file */
  int rank;             /* -1: unknown */
  uint8_t element;      /* enum ft_element */
  bool kept;            /* the file says that it is not learnt */
};

struct ft_sized {
  int rank; /* -1: unknown */
  ft_dim *dims;
};

/* What a sequence of ONNX's holds. */
struct ft_sequence {
  ft_dim count;
  const struct ft_sized *items; /* NULL: which is which is not known */
  struct ft_sized each;         /* what they have in common */
};

struct ft_tensor {
  const char *name;
  const struct ft_declared *constant; /* an initialiser or a constant's value; else NULL */
  const struct ft_declared *declared; /* an input, or what the file says; else NULL */
  /* since the last ft_graph_infer */
  ft_dim *dims;
  const double
      *values; /* NULL: not followed; NAN: this one is not known. Whole numbers round past 2^53 */
  const struct ft_sequence *sequence; /* what it holds; NULL: it is none, or not known */
  int rank;                           /* -1: unknown */
  uint8_t element;
  bool data;         /* depends on what is fed to the network, not on its shape alone */
  uint32_t producer; /* operator in its block + 1; 0: none */
  uint32_t block;    /* the serial number of the block that defines it */
};

enum ft_attribute_type {
  FT_ATTRIBUTE_NONE,
  FT_ATTRIBUTE_REAL,
  FT_ATTRIBUTE_INTEGER,
  FT_ATTRIBUTE_STRING,
  FT_ATTRIBUTE_REALS,
  FT_ATTRIBUTE_INTEGERS,
  FT_ATTRIBUTE_STRINGS, /* how many, not which */
  FT_ATTRIBUTE_TENSOR,
  FT_ATTRIBUTE_BLOCK
};

struct ft_attribute {
  const char *name;
  const char *reference; /* in a function that is not in its place yet: the caller's attribute */
  enum ft_attribute_type type;
  double real;
  int64_t integer;
  const char *string;
  const double *reals;
  const int64_t *integers;
  size_t count; /* of reals, integers: FT_GRAPH_VALUES at most; of strings */
  const struct ft_declared *tensor;
  struct ft_block *block;
};

struct ft_operator_descriptor;
struct ft_infer;

/*
 * How a library computes an operator, known to the reader besides the attributes. No file can set
 * it. The last six are of Attention (schedule_decomposed.c).
 */
struct ft_operator_hints {
  const char *decomposed; /* as several operations: which row of decomposed.c; NULL: as one */
  uint8_t upcast;         /* 1: the softmax is in 32 bits; 2: queries and keys too */
  uint8_t softcap;        /* scores are kept: 1 before the mask is added, 2 after it */
  bool dropout;           /* of the probabilities */
  bool plain;             /* never in one kernel */
  bool math;              /* asks for a kernel that there is none of in 16 bits */
  bool masked;            /* a mask is written out */
};

struct ft_operator {
  const char *name, *type, *domain;    /* domain "" for ONNX's own */
  const struct ft_operator_descriptor *kind; /* NULL: not known here */
  const struct ft_operator_hints *hints;     /* NULL: none */
  uint32_t *inputs, *outputs;          /* tensors; 0: absent */
  uint32_t *captures;                  /* tensors from outside that its blocks read */
  struct ft_attribute *attributes;
  uint32_t input_count, output_count, capture_count, attribute_count;
  uint64_t at;   /* byte position in the file */
  bool resolved; /* since ft_graph_infer: the shapes of all its outputs are known */
  bool data;     /* some input depends on what is fed to the network */
  int64_t trip_count; /* of a loop; -1: not known; 1 for every other operator */
};

struct ft_block {
  struct ft_operator *operators;
  uint32_t *inputs, *outputs, *constants;
  uint32_t operator_count, input_count, output_count, constant_count;
  const struct ft_draft *draft; /* while it is read */
};

struct ft_graph {
  const char *format; /* "onnx" */
  const char *file;
  const char *producer; /* what wrote it, "" when it does not say */
  int64_t version;      /* operator set, 0 unknown */
  struct ft_block block;
  struct ft_tensor *tensors; /* the first stands for "absent" */
  uint32_t tensor_count;
  uint32_t operator_count; /* blocks within blocks included */
  uint32_t *kv_cache;      /* keys and values that stay for the next token */
  uint32_t kv_cache_count;
  uint32_t logits;         /* of tokens: the result that training's loss is computed of; 0: none */
  bool logits_wide;        /* these are cast to 32 bits for it */
  bool generates;          /* it can generate tokens one by one */
  uint8_t stored;          /* enum ft_element that the file says its weights have; 0: not said */
  bool guessed;            /* put together by common fields: of no family that is known */
  struct ft_arena arena;   /* what was read */
  struct ft_arena results; /* what was inferred */
  /* a program's graph is made when its sizes are known (tracer.h); tensors and operators until
   * then: none */
  int (*expand)(struct ft_infer *in);
  void *program;
  void (*release)(void *program); /* what of it is not in the arena; or NULL */
};

/* Release a graph with all that belongs to it; NULL is allowed. */
void ft_graph_free(struct ft_graph *graph);

/* A generic architecture's true parameter count lies within this factor of the count, either way
 * (tests/bench/hf_guess). */
#define FT_GRAPH_GUESS 1.6

/* The sizes that a file leaves open. */
struct ft_graph_sizes {
  int64_t batch;     /* where a dimension called batch or N, else the first, is open; 1 or more */
  const char *input; /* NULL, or "CxHxW", "name=CxHxW,dimension=N,..." without the batch */
  /* tokens that a language model generates after those that are fed (ft_graph.generates), 0: none;
   * the pass that makes the last of them, else that of the prompt */
  int64_t generate;
  bool last;
  bool static_cache; /* room for all tokens is there from the first on */
};

/*
 * Find the shape of every tensor. May be called again with other sizes. Fails
 * on contradictions, on inputs of unknown size, and past FT_LIMIT_GRAPH;
 * an operator that is not known or whose outputs cannot be told is no failure: see
 * ft_operator.resolved.
 */
int ft_graph_infer(struct ft_graph *graph, const struct ft_graph_sizes *sizes,
                   struct ft_error *err);

/* Elements of TENSOR. */
ft_dim ft_tensor_elements(const struct ft_tensor *tensor);

/* Bytes of TENSOR (float's size where its element type is unknown). */
ft_dim ft_tensor_bytes(const struct ft_tensor *tensor);

/* "1x64x56x56", "?x3", "scalar", "?" into OUT. Returns OUT. */
const char *ft_tensor_show(const struct ft_tensor *tensor, char *out, size_t size);

#endif
