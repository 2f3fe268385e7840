/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Operator descriptors, one for each row of operator_table*.h. */
#ifndef FT_GRAPH_OPERATORS_H
#define FT_GRAPH_OPERATORS_H

#include "predictor/graph/ir/graph.h"

struct ft_infer;

/* Identifiers of operators: FT_OP_Conv. ONNX Runtime's operators with a name of ONNX share its
 * identifier. */
enum ft_operator_id {
  FT_OP_UNKNOWN,
#define OPERATOR(type, ...) FT_OP_##type,
#include "predictor/graph/shape/operator_table.h"
#undef OPERATOR
#define ORT_OPERATOR(type, ...) FT_OP_##type,
#define NCHWC_OPERATOR(type, ...) FT_OP_##type,
#define ORT_VARIANT(...)
#define NCHWC_VARIANT(...)
#include "predictor/graph/shape/operator_table_ort.h"
#undef ORT_OPERATOR
#undef NCHWC_OPERATOR
#undef ORT_VARIANT
#undef NCHWC_VARIANT
#define ML_OPERATOR(type, ...) FT_OP_##type,
#define TRAINING_OPERATOR(type, ...) FT_OP_##type,
#include "predictor/graph/shape/operator_table_ml.h"
#undef ML_OPERATOR
#undef TRAINING_OPERATOR
  FT_OP_COUNT
};

/* How the multiplications of an operator are counted. */
enum ft_work {
  FT_WORK_NONE,       /* copies, views, element-wise */
  FT_WORK_CONV,       /* a filter's elements for each output element */
  FT_WORK_TRANSPOSED, /* a filter's elements for each input element */
  FT_WORK_PRODUCT,    /* matrix product: the inner dimension for each output element */
  FT_WORK_GEMM,
  FT_WORK_EINSUM,
  FT_WORK_RECURRENT,
  FT_WORK_ATTENTION,
  FT_WORK_STATES,     /* a recurrent state is updated and read for each token */
  FT_WORK_ORT,        /* ONNX Runtime's operators: ft_ort_macs */
  FT_WORK_NORM,       /* normalisation by given statistics: 2 per element */
  FT_WORK_STATISTICS, /* normalisation by the data's statistics: 5 per element */
  FT_WORK_POOL        /* one per input element */
};

/* How an operator's result shares the storage of its first input. */
enum ft_view {
  FT_VIEW_NONE,     /* not: it has its own storage */
  FT_VIEW_ELEMENT,  /* Gather: one element along an axis, if the index is a known scalar */
  FT_VIEW_RESHAPED, /* a view if the input's strides allow it, otherwise a copy */
  FT_VIEW_SAME,
  FT_VIEW_ONES,     /* dimensions of 1 added or removed */
  FT_VIEW_PART,     /* a range along an axis */
  FT_VIEW_EXPANDED, /* the same element many times */
  FT_VIEW_PERMUTED,
  FT_VIEW_OTHER /* strides that are not tracked */
};

/* Tensors saved for the backward pass, by bits. */
enum {
  FT_SAVES_NOTHING = 0,
  FT_SAVES_FIRST = 1,  /* its first input */
  FT_SAVES_SECOND = 2, /* its second, if the first needs a gradient */
  FT_SAVES_RESULT = 4,
  FT_SAVES_INDICES = 8,     /* indices of maxima: 8 bytes per output element */
  FT_SAVES_MASK = 16,       /* a byte per output element */
  FT_SAVES_STATISTICS = 32, /* mean and deviation of each group */
  FT_SAVES_BOTH = 64,       /* each of two operands, for the other's gradient */
  FT_SAVES_GATES = 128,     /* a recurrence: gates and cell of each step */
  FT_SAVES_THIRD = 256      /* its third: the values of attention; beside BOTH as its first */
};

/* The gradient of an operator's inputs. */
enum ft_gradient {
  FT_GRADIENT_NEW,    /* a new tensor for each input */
  FT_GRADIENT_PASSES, /* the output's gradient, or a view of it */
  FT_GRADIENT_STOPS   /* none: comparisons, rounding, indices */
};

enum ft_operator_flag {
  /* most PyTorch modules compute it in place; its backward pass needs the result */
  FT_OPERATOR_REUSES_INPUT = 1 << 0,
  /* an activation function or dropout: can be computed in place, without memory */
  FT_OPERATOR_IN_PLACE = 1 << 1,
  /* its result may have more elements than all its inputs, without a bound */
  FT_OPERATOR_ENLARGES = 1 << 2,
  /* torch.amp, "CUDA Ops that can autocast to float32" */
  FT_OPERATOR_AUTOCAST_32 = 1 << 3,
  /* a layer whose kernel adds a bias, its third input */
  FT_OPERATOR_TAKES_BIAS = 1 << 4,
  /* reads only the shape of its input */
  FT_OPERATOR_READS_SHAPE = 1 << 5,
  /* quantised inputs have several weights in a byte */
  FT_OPERATOR_PACKED = 1 << 6,
  /* only readers create it; an operator of this name in a file is another one */
  FT_OPERATOR_INTERNAL = 1 << 7
};

struct ft_operator_descriptor {
  const char *type;                  /* ONNX's name, or an internal one */
  const char *domain;                /* "" for ONNX's own */
  const char *rule;                  /* the name of the shape rule: ft_infer_RULE */
  int (*infer)(struct ft_infer *in); /* sets outputs; 0, or -1 with the error of a contradiction */
  const char *bits;                  /* with FT_OPERATOR_PACKED: the attribute that gives the bits
                                        of a weight; NULL: 4 */
  uint32_t quantized_inputs;         /* bit I: input I is a weight that may be quantised */
  uint32_t scale_inputs;             /* bit I: input I is a scale or zero point, never a weight */
  uint16_t id;                       /* enum ft_operator_id */
  uint16_t saves;                    /* FT_SAVES_* */
  uint16_t flags;                    /* enum ft_operator_flag */
  uint8_t work;                      /* enum ft_work */
  uint8_t weight;                    /* with FT_WORK_CONV...: which input is the weight */
  uint8_t view;                      /* enum ft_view */
  uint8_t gradient;                  /* enum ft_gradient */
  uint8_t gates;                     /* with FT_SAVES_GATES: tensors saved per output element */
  int8_t trainable_inputs;           /* number of inputs, from the first on, that may need a
                                        gradient; 0: all, -1: none */
};

/* Returns the descriptor of a file's operator TYPE of DOMAIN ("" for ONNX's own); NULL if it is
 * unknown or internal (FT_OPERATOR_INTERNAL). */
const struct ft_operator_descriptor *ft_operator_find(const char *domain, const char *type);

/* The same with internal operators, for readers. */
const struct ft_operator_descriptor *ft_operator_find_made(const char *domain, const char *type);

/* Returns the Ith descriptor in the order of the tables; NULL after the last. */
const struct ft_operator_descriptor *ft_operator_at(size_t i);

/* Whether OP is known and is ID. */
static inline bool ft_operator_is(const struct ft_operator *op, enum ft_operator_id id)
{
  return op->kind && op->kind->id == id;
}

/* Whether OP is known and has FLAG. */
static inline bool ft_operator_has(const struct ft_operator *op, enum ft_operator_flag flag)
{
  return op->kind && op->kind->flags & flag;
}

/* Whether OP's results may lie in its first input's memory whatever its other inputs are. */
static inline bool ft_operator_is_view(const struct ft_operator *op)
{
  return op->kind && op->kind->view > FT_VIEW_ELEMENT;
}

/* Returns the index of OP's input I in the graph's tensors; 0: OP has none. */
static inline uint32_t ft_input_of(const struct ft_operator *op, uint32_t i)
{
  return i < op->input_count ? op->inputs[i] : 0;
}

/* Returns OP's input I, a tensor of GRAPH; NULL: OP has none. */
static inline struct ft_tensor *ft_input_tensor(const struct ft_graph *graph,
                                                const struct ft_operator *op, uint32_t i)
{
  uint32_t tensor = ft_input_of(op, i);

  return tensor ? &graph->tensors[tensor] : NULL;
}

/* Returns the operator of BLOCK that produces TENSOR, one of BLOCK's tensors; NULL: none. */
static inline struct ft_operator *ft_block_producer(const struct ft_block *block,
                                                    const struct ft_tensor *tensor)
{
  return tensor->producer && tensor->producer <= block->operator_count
             ? &block->operators[tensor->producer - 1]
             : NULL;
}

#endif
