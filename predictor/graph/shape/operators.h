/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is known of each operator, in one place: operator_table*.h have a row for each. */
#ifndef FT_GRAPH_OPERATORS_H
#define FT_GRAPH_OPERATORS_H

#include "predictor/graph/ir/graph.h"

struct ft_infer;

/* Which operator it is: FT_OP_Conv. ONNX Runtime's operators of ONNX's names share theirs. */
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
  FT_WORK_NONE,       /* moves, views, element by element */
  FT_WORK_CONV,       /* every output element: one filter */
  FT_WORK_TRANSPOSED, /* every input element: one filter */
  FT_WORK_PRODUCT,    /* matrix product: every output element, the inner dimension */
  FT_WORK_GEMM,
  FT_WORK_EINSUM,
  FT_WORK_RECURRENT,
  FT_WORK_ATTENTION,
  FT_WORK_STATES,     /* a state is changed and read for every token */
  FT_WORK_EXPERTS,    /* a few of the experts of two weights for each token */
  FT_WORK_ORT,        /* of ONNX Runtime's own: ft_ort_macs */
  FT_WORK_NORM,       /* normalisation by statistics that are there: 2 per element */
  FT_WORK_STATISTICS, /* by statistics of the data: 5 per element */
  FT_WORK_POOL        /* one per input element */
};

/* How an operator's results lie in the memory of its first input. */
enum ft_view {
  FT_VIEW_NONE,     /* they have memory of their own */
  FT_VIEW_ELEMENT,  /* Gather: only where the index is a scalar that is known, one along an axis */
  FT_VIEW_RESHAPED, /* only where the input's strides allow it, otherwise a copy */
  FT_VIEW_SAME,
  FT_VIEW_ONES,     /* dimensions of 1 come or go */
  FT_VIEW_PART,     /* a range along an axis */
  FT_VIEW_EXPANDED, /* the same element many times */
  FT_VIEW_PERMUTED,
  FT_VIEW_OTHER /* strides that are not followed */
};

/* What the forward pass keeps for the backward pass, a bit each. */
enum {
  FT_SAVES_NOTHING = 0,
  FT_SAVES_FIRST = 1,  /* its first input */
  FT_SAVES_SECOND = 2, /* its second, where the first is learnt or fed */
  FT_SAVES_RESULT = 4,
  FT_SAVES_INDICES = 8,     /* where the largest were: 8 bytes for each result */
  FT_SAVES_MASK = 16,       /* a byte for each result */
  FT_SAVES_STATISTICS = 32, /* mean and deviation of each group */
  FT_SAVES_BOTH = 64,       /* of two operands each for the other's gradient */
  FT_SAVES_GATES = 128,     /* a recurrence: gates and cell of each step */
  FT_SAVES_THIRD = 256      /* its third: the values of attention */
};

/* How the gradient of an operator's inputs comes about. */
enum ft_gradient {
  FT_GRADIENT_NEW,    /* memory of its own for each input */
  FT_GRADIENT_PASSES, /* the result's own gradient, or a part of it */
  FT_GRADIENT_STOPS   /* there is none: comparisons, rounding, positions */
};

enum ft_operator_flag {
  /* PyTorch's modules mostly compute it in their input's place; its backward needs the result */
  FT_OPERATOR_REUSES_INPUT = 1 << 0,
  /* an activation function or dropout: can be computed in its input's place, costs no memory */
  FT_OPERATOR_IN_PLACE = 1 << 1,
  /* its result may have more elements than all its inputs, and nothing bounds how many */
  FT_OPERATOR_ENLARGES = 1 << 2,
  /* torch.amp, "CUDA Ops that can autocast to float32" */
  FT_OPERATOR_AUTOCAST_32 = 1 << 3,
  /* a layer whose kernel adds a bias, its third input */
  FT_OPERATOR_TAKES_BIAS = 1 << 4,
  /* reads the shape of its input alone, not its data */
  FT_OPERATOR_READS_SHAPE = 1 << 5,
  /* quantised inputs have several weights in a byte */
  FT_OPERATOR_PACKED = 1 << 6,
  /* made by readers alone: a file that has an operator of this name does not mean it */
  FT_OPERATOR_INTERNAL = 1 << 7
};

struct ft_operator_descriptor {
  const char *type;                  /* ONNX's name, or ours */
  const char *domain;                /* "" for ONNX's own */
  const char *rule;                  /* the name of the shape rule: ft_infer_RULE */
  int (*infer)(struct ft_infer *in); /* sets outputs; 0, or -1 with the error of a contradiction */
  const char *bits;                  /* with FT_OPERATOR_PACKED: the attribute that gives the bits
                                        of a weight; NULL: 4 */
  uint32_t quantized_inputs;         /* bit I: input I is a weight that may be whole numbers */
  uint32_t scale_inputs;             /* bit I: input I is a scale or a zero, never a weight */
  uint16_t id;                       /* enum ft_operator_id */
  uint16_t saves;                    /* FT_SAVES_* */
  uint16_t flags;                    /* enum ft_operator_flag */
  uint8_t work;                      /* enum ft_work */
  uint8_t weight;                    /* with FT_WORK_CONV...: which input is the weight */
  uint8_t view;                      /* enum ft_view */
  uint8_t gradient;                  /* enum ft_gradient */
  uint8_t gates;                     /* with FT_SAVES_GATES: tensors kept for each result */
  int8_t learnt_inputs;              /* how many inputs, from the first on, can be learnt or be
                                        computed from what is; 0: all, -1: none */
};

/*
 * The descriptor of the operator TYPE of DOMAIN ("" for ONNX's own) that a file has; NULL: not
 * known. What only readers make (FT_OPERATOR_INTERNAL) is not found.
 */
const struct ft_operator_descriptor *ft_operator_find(const char *domain, const char *type);

/* As ft_operator_find, for a reader: what only readers make is found too. */
const struct ft_operator_descriptor *ft_operator_find_made(const char *domain, const char *type);

/* The Ith descriptor of all, in the order of the tables; NULL behind the last. */
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

#endif
