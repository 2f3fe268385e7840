/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Several operators of a file that a framework runs as one kernel: GELU, SiLU, hard swish, layer,
 * group and RMS normalisation, attention. Only the input and the output need memory.
 */
#ifndef FT_GRAPH_FUSE_H
#define FT_GRAPH_FUSE_H

#include "predictor/graph/ir/graph.h"

enum ft_fused {
  FT_FUSED_NOT,
  FT_FUSED_INSIDE,     /* its result is not stored */
  FT_FUSED_ACTIVATION, /* the last of GELU, SiLU, hard swish: saves its input */
  FT_FUSED_NORM,       /* the last of a normalisation: saves its input and statistics */
  FT_FUSED_ATTENTION   /* softmax between two products: saves queries, keys, values, the result */
};

struct ft_fusion {
  uint8_t kind;
  bool bias;             /* adds a constant to a product with no other reader: one kernel too */
  uint32_t input;        /* of the last operator: the kernel's input; of attention the queries */
  uint32_t keys, values; /* of attention */
  int64_t groups; /* number of means of a normalisation, of rows of probabilities of attention; 0:
                     unknown */
  uint8_t statistics; /* of a normalisation: numbers saved for each group */
};

/* Fills FUSIONS, one for each operator of BLOCK, all 0 before. ATTENTION: scaled dot-product
 * attention is fused, too. Returns 0; -1 if memory is exhausted. */
int ft_fuse(struct ft_graph *graph, const struct ft_block *block, bool attention,
            struct ft_fusion *fusions);

#endif
