/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a framework runs as one operation though a file spells it out: GELU,
 * SiLU, hard swish, layer and group normalisation. Only what goes in and what comes out is memory.
 */
#ifndef FT_GRAPH_FUSE_H
#define FT_GRAPH_FUSE_H

#include "predictor/graph/ir/graph.h"

enum ft_fused {
  FT_FUSED_NOT,
  FT_FUSED_INSIDE,     /* gives nothing that is kept */
  FT_FUSED_ACTIVATION, /* the last of GELU, SiLU, hard swish: needs its input again */
  FT_FUSED_NORM,       /* the last of a normalisation: needs its input and statistics */
  FT_FUSED_ATTENTION   /* softmax between two products: needs queries, keys, values, the result */
};

struct ft_fusion {
  uint8_t kind;
  bool bias;             /* adds a constant to a product with no other reader: one kernel too */
  uint32_t input;        /* of the last: what went in; of attention the queries */
  uint32_t keys, values; /* of attention */
  int64_t groups; /* of a normalisation: how many means and deviations it takes; of attention: how
                     many rows of probabilities; 0 unknown */
};

/*
 * Fill FUSIONS, one for each operator of BLOCK, all zeros before; ATTENTION: scaled dot-product
 * attention is one of them. Returns 0; -1 when memory is out.
 */
int ft_fuse(struct ft_graph *graph, const struct ft_block *block, bool attention,
            struct ft_fusion *fusions);

#endif
