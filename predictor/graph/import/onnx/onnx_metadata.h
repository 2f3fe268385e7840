/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Metadata that PyTorch's exporter (torch.onnx.export with dynamo=True) writes beside nodes, values
 * and the graph: what a node and a constant were in PyTorch. Files of other exporters have none.
 */
#ifndef FT_GRAPH_ONNX_METADATA_H
#define FT_GRAPH_ONNX_METADATA_H

#include "predictor/graph/import/onnx/onnx_tensor.h"

/* What a node was. */
struct ft_onnx_origin {
  bool folded_norm; /* a batch normalisation was folded into it */
  bool composite;   /* see ft_operator */
  bool rms_norm;    /* it is ATen's rms_norm */
  bool t5;          /* its module is a T5LayerNorm */
};

/* Reads an entry of a node's metadata_props, up to offset END. Returns 0 or -1. */
int ft_onnx_node_metadata(struct ft_onnx *o, uint64_t end, struct ft_onnx_origin *origin);
/* The same of the metadata_props of the value NAME. */
int ft_onnx_value_metadata(struct ft_onnx *o, uint64_t end, uint32_t name);
/* The same of the graph's metadata_props. */
int ft_onnx_graph_metadata(struct ft_onnx *o, uint64_t end);

/* Sets what ORIGIN states about OP. An RMS normalisation that is not stated to be ATen's was
 * written operator by operator, which saves more. */
void ft_onnx_set_origin(struct ft_operator *op, const struct ft_onnx_origin *origin);

/* Marks the constants of DRAFT, the outermost block, that were parameters (ft_declared.learnt) and
 * buffers (ft_declared.kept), after all metadata is read. Returns 0 or -1. */
int ft_onnx_mark_sources(struct ft_onnx *o, const struct ft_draft *draft);

/* Corrects the hints of RMSNormalizations by the element types of GRAPH, after ft_build_finish. */
void ft_onnx_hint_norms(struct ft_graph *graph);

#endif
