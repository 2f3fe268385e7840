/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The operator graph of a network, of any framework. Its operators, attributes and element types
 * are ONNX's; readers of other formats translate into them. Weights are not read.
 *
 *   ft_graph_read    file -> graph: operators, tensors, declared shapes (import/read.h)
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
  FT_GRAPH_VALUES = 1024, /* elements of a tensor whose values are tracked */
  FT_GRAPH_NAME = 4096    /* bytes of a name */
};

/* Largest size of a dimension and number of elements of a tensor; more is an error. */
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

/* Returns the bits of an element; 0 if TYPE has no fixed size (strings, unknown). */
unsigned ft_element_bits(unsigned type);
bool ft_element_is_real(unsigned type);
const char *ft_element_name(unsigned type);
/* Returns the element of TYPE, of 8 to 64 bits, at DATA in little-endian order; NAN for other
 * types. */
double ft_element_value(unsigned type, const uint8_t *data);

/* A tensor as the file declares it. */
struct ft_declared {
  ft_dim *dims;
  const char **symbols; /* of an input: the names of symbolic dimensions; NULL: none */
  const double *values; /* of a small constant, else NULL */
  int64_t elements;     /* of a constant */
  uint64_t at;          /* byte position in the file */
  int rank;             /* -1: unknown */
  uint8_t element;      /* enum ft_element */
  bool kept;            /* the file marks it as no parameter */
  bool learnt;          /* the file marks it as a parameter, or as computed from one */
  bool folded;          /* the file marks it as computed from a parameter */
  bool mixed;           /* the file marks it as computed from a parameter and others, or buffers */
  bool frozen;          /* a parameter that is not trained */
  bool wide;            /* 32 bits at any precision */
};

struct ft_sized {
  int rank; /* -1: unknown */
  ft_dim *dims;
};

/* The elements of an ONNX sequence. */
struct ft_sequence {
  ft_dim count;
  const struct ft_sized *items; /* of each element; NULL: unknown */
  struct ft_sized each;         /* the dimensions that all elements share */
};

struct ft_tensor {
  const char *name;
  const struct ft_declared *constant; /* an initialiser or a constant's value; else NULL */
  const struct ft_declared *declared; /* the file's declaration; NULL: none */
  /* set by ft_graph_infer: */
  ft_dim *dims;
  const double *values; /* NULL: not tracked; NAN: this one is unknown. Integers round past 2^53 */
  const struct ft_sequence *sequence; /* its elements; NULL: no sequence, or unknown */
  int rank;                           /* -1: unknown */
  uint8_t element;
  bool data;         /* depends on input data, not only on input shapes */
  float saved;       /* training keeps this multiple of its bytes; 0: once (hf_shapes.c) */
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
  const char *reference; /* in a function before inlining: name of the caller's attribute */
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
 * How a library computes an operator; set by readers, never by a file. The last six are of
 * Attention (schedule_decomposed.c).
 */
struct ft_operator_hints {
  const char *decomposed; /* several operations: a row of decomposed.c; NULL: one */
  uint8_t upcast;         /* 1: the softmax is in 32 bits; 2: queries and keys too */
  uint8_t softcap;        /* scores are saved: 1 before the mask is added, 2 after it */
  bool dropout;           /* of the probabilities */
  bool plain;             /* never one fused kernel */
  bool math;              /* requests a kernel that does not exist in 16 bits */
  bool masked;            /* the mask is a tensor */
};

struct ft_operator {
  const char *name, *type, *domain;          /* domain "" for ONNX's own */
  const struct ft_operator_descriptor *kind; /* NULL: unknown operator */
  const struct ft_operator_hints *hints;     /* NULL: none */
  uint32_t *inputs, *outputs;                /* tensors; 0: absent */
  uint32_t *captures;                        /* outer tensors that its subgraphs read */
  struct ft_attribute *attributes;
  uint32_t input_count, output_count, capture_count, attribute_count;
  uint64_t at;        /* byte position in the file */
  bool resolved;      /* set by ft_graph_infer: the shapes of all outputs are known */
  bool data;          /* an input depends on input data */
  bool folded_norm;   /* of a convolution: the exporter folded a batch normalisation into it */
  bool composite;     /* PyTorch computes it within an operator that the exporter has split */
  bool idle;          /* set by ft_graph_infer: a dropout of nothing, which returns its input */
  int64_t trip_count; /* of a loop; -1: unknown; 1 for other operators */
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
  const char *producer; /* the program that wrote it; "": unknown */
  int64_t version;      /* operator set, 0 unknown */
  /* PyTorch 2 wrote it for ONNX, and marked each scaled_dot_product_attention, or scaled its
   * queries and its keys; PyTorch runs other attention operator by operator */
  bool marks_attention;
  struct ft_block block;
  struct ft_tensor *tensors; /* index 0: absent */
  uint32_t tensor_count;
  uint32_t operator_count; /* also in subgraphs */
  uint32_t *kv_cache;      /* keys and values kept for the next token */
  uint32_t kv_cache_count;
  uint32_t logits;     /* result from which the training loss is computed; 0: none */
  bool logits_wide;    /* the loss casts the logits to 32 bits */
  bool generates;      /* it can generate tokens one by one */
  bool adapts;         /* it can be built with adapters (LoRA) and with quantised weights */
  uint8_t stored;      /* enum ft_element of the weights, by the file; 0: unknown */
  uint8_t computed;    /* the 16-bit element of most weights in the graph, set by ft_graph_cost; 0:
                          they have another */
  int64_t max_tokens;  /* longest input of a language model; 0: unknown, or no such model */
  bool states_trained; /* the file states which parameters are trained (ft_declared.frozen) */
  uint32_t weight_inputs;    /* inputs that are taken for weights, which the file does not hold */
  int64_t doubtful_elements; /* of inputs beside these that may be weights, too */
  struct ft_block *other_block; /* of ft_graph_restore_norms: the one that is not in use, or NULL */
  uint32_t restored_norms;      /* normalisations that it has inserted into the block in use */
  bool guessed;                 /* of an unknown family: built from common configuration fields */
  double approximate;      /* exact parameters; the memory lies within this factor of the estimate,
                              either way; 0: its activations are no approximation */
  struct ft_arena arena;   /* memory of the file's content */
  struct ft_arena results; /* memory of inferred results; emptied by ft_graph_infer */
  /* of a program: traces it when its input sizes are known (tracer.h); NULL: the file has a graph
   */
  int (*expand)(struct ft_infer *in);
  void *program;
  void (*release)(void *program); /* frees memory outside the arena; or NULL */
};

/* Frees GRAPH with all that it owns; NULL has no effect. */
void ft_graph_free(struct ft_graph *graph);

/* A generic architecture's true parameter count lies within this factor of the count, either way
 * (tests/bench/hf_guess). */
#define FT_GRAPH_GUESS 1.6

/* Values of ft_graph.approximate: of activations by the modules' results, and of those that were
 * compared with PyTorch at several sizes (tests/fixtures/graph/make-hf-shapes). */
#define FT_GRAPH_APPROXIMATE 4.0
#define FT_GRAPH_MEASURED 1.3

/* Sizes that a file does not fix, and what is trained. */
struct ft_graph_sizes {
  int64_t batch; /* of an unknown dimension named batch or N, else of the first; 1 or more */
  const char *input_option; /* option that sets `input`, for messages; NULL: --input */
  const char *input;        /* NULL, or "CxHxW", "name=CxHxW,dimension=N,..." without the batch */
  /* tokens that a language model generates after the prompt (ft_graph.generates), 0: none; the
   * graph is the pass of the last one, else of the prompt */
  int64_t generate;
  bool last;
  bool static_cache;  /* the KV cache has room for all tokens from the start */
  unsigned trainable; /* trained layers, counted from the last one with parameters; 0: all */
  /* ft_graph.adapts only: */
  unsigned lora;          /* rank of adapters, and nothing else is trained; 0: none */
  bool lora_everywhere;   /* in all linear layers, not only those of queries and values */
  uint8_t quantized_bits; /* 4 or 8: weights are quantised by bitsandbytes; 0: as the file says */
};

/* Returns the option that sets the input's size, for messages. */
static inline const char *ft_graph_input_option(const struct ft_graph_sizes *sizes)
{
  return sizes->input_option ? sizes->input_option : "--input";
}

/*
 * Infers the shape of every tensor. May be called again with other sizes. Returns 0; -1 with ERR on
 * contradictions, inputs of unknown size, and past FT_LIMIT_GRAPH. Unknown operators, and shapes
 * that cannot be computed, are no error: see ft_operator.resolved.
 */
int ft_graph_infer(struct ft_graph *graph, const struct ft_graph_sizes *sizes,
                   struct ft_error *err);

/* Returns the number of TENSOR's elements. */
ft_dim ft_tensor_elements(const struct ft_tensor *tensor);

/* Returns what training keeps of TENSOR's BYTES. */
int64_t ft_tensor_saved(const struct ft_tensor *tensor, int64_t bytes);

/* Returns TENSOR's size in bytes, with 4 bytes for each element of unknown type. */
ft_dim ft_tensor_bytes(const struct ft_tensor *tensor);

/* Writes TENSOR's shape into OUT of SIZE bytes: "1x64x56x56", "?x3", "scalar", "?". Returns OUT. */
const char *ft_tensor_show(const struct ft_tensor *tensor, char *out, size_t size);

#endif
