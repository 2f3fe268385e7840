/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is known of each operator: how its shapes follow and what it computes. */
#ifndef FT_GRAPH_OPERATORS_H
#define FT_GRAPH_OPERATORS_H

#include "predictor/graph/ir/graph.h"

struct ft_infer;

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

struct ft_operator_kind {
  const char *type;
  int (*infer)(struct ft_infer *in); /* sets outputs; 0, or -1 with the error of a contradiction */
  uint8_t work;                      /* enum ft_work */
  uint8_t weight;                    /* with FT_WORK_CONV...: which input is the weight */
  bool view;                         /* its output is its first input's memory */
};

/* NULL: not known. */
const struct ft_operator_kind *ft_operator_find(const char *domain, const char *type);

/* ONNX Runtime's own operators, where they do not do what ONNX's of the same name does
 * (operators_ort.c). */
const struct ft_operator_kind *ft_operator_find_ort(const char *domain, const char *type);

#endif
