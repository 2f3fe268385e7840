/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Shape rules and their tools. A rule reads its operator's inputs and attributes, and sets the
 * shapes of the outputs, and their values if these are few and known. What it cannot compute stays
 * unknown.
 */
#ifndef FT_GRAPH_INFER_H
#define FT_GRAPH_INFER_H

#include "predictor/graph/ir/graph.h"
#include "predictor/graph/shape/operators.h"

/* In the attribute "shape" of Reshape: an unknown size. (-1 follows from the others.) */
enum { FT_RESHAPE_UNKNOWN = -2 };

/* The value of a symbolic dimension. */
struct ft_binding {
  const char *name;
  ft_dim value;
};

struct ft_infer {
  struct ft_graph *graph;
  const struct ft_graph_sizes *sizes;
  struct ft_operator *op;  /* the current operator */
  const char *part;        /* member of the archive, for errors; NULL: the file has none */
  struct ft_operator feed; /* the producer of the graph's inputs, for errors */
  struct ft_error *err;
  struct ft_binding bindings[64]; /* of symbolic dimensions */
  size_t binding_count;
  uint64_t work;  /* elements of values computed so far; bounded */
  bool exhausted; /* memory was exhausted */
};

/* Return the Ith input, NULL if it is absent; the Ith output, a dummy tensor if it is absent. */
struct ft_tensor *ft_input(const struct ft_infer *in, unsigned i);
struct ft_tensor *ft_output(const struct ft_infer *in, unsigned i);

/* Return attribute NAME; NULL, or OTHERWISE if there is no integer of that name. */
const struct ft_attribute *ft_attribute(const struct ft_operator *op, const char *name);
int64_t ft_integer(const struct ft_operator *op, const char *name, int64_t otherwise);

/* Returns the value of input I, a scalar; unknown if it is not known or negative. */
ft_dim ft_input_number(const struct ft_infer *in, unsigned i);
/* Returns the element type in attribute NAME, OTHERWISE if it is absent, FT_ELEMENT_UNKNOWN for a
 * number that is no type. */
uint8_t ft_element_attribute(const struct ft_infer *in, const char *name, int64_t otherwise);

/*
 * Reads integers from attribute NAME or else, if SLOT is not negative, from the values of that
 * input. Returns their number; -1 if there is neither; -2 if they are unknown or more than ROOM.
 */
int ft_list(const struct ft_infer *in, const char *name, int slot, int64_t *out, int room);

/* Sets TENSOR's rank, with unknown dimensions. Returns them; NULL with the error. */
ft_dim *ft_shape(struct ft_infer *in, struct ft_tensor *tensor, int rank);
/* Sets COUNT dimensions of TENSOR from AT on to SIZES; -1: unknown. Returns 0; -1 with the error
 * for smaller sizes. */
int ft_set_dims(struct ft_infer *in, struct ft_tensor *tensor, int at, const int64_t *sizes,
                int count);
/* Copies FROM's shape to TENSOR, if it is known. Returns 0; -1 with the error. */
int ft_like(struct ft_infer *in, struct ft_tensor *tensor, const struct ft_tensor *from);

/* Allocates TENSOR's values, all NAN. Returns NULL if they are too many or their number is unknown.
 */
double *ft_values(struct ft_infer *in, struct ft_tensor *tensor);
/* Returns the number of TENSOR's values; 0 if they are not tracked or TENSOR is NULL. */
int64_t ft_value_count(const struct ft_tensor *tensor);

/*
 * Copies values from X to Y, if X has any: element (i, j, ...) of Y is element FROM + i * STEPS[0]
 * + j * STEPS[1] + ... of X. The caller ensures that all are inside X.
 */
void ft_copy_values(struct ft_infer *in, struct ft_tensor *y, const struct ft_tensor *x,
                    int64_t from, const int64_t *steps);

/* Writes X's strides, in elements, into STEPS (FT_GRAPH_RANK); 0 for those that are unknown. */
void ft_step_overlap(const struct ft_tensor *x, int64_t *steps);

/* Returns VALUE without its fraction, within +-2^62. */
int64_t ft_whole(double value);

/* Returns AXIS of RANK dimensions, counted from the end if negative; -1 with the error if it is
 * outside. */
int ft_axis(struct ft_infer *in, int64_t axis, int rank);
/* Sets MARKED for each of COUNT AXES of RANK dimensions. Returns 0; -1 with the error if one is
 * outside. */
int ft_mark_axes(struct ft_infer *in, const int64_t *axes, int count, int rank, bool *marked);

/* Sets the error 'FILE: byte N: Conv "name": TEXT'. Returns -1. */
int ft_contradiction(struct ft_infer *in, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Writes the shape of A broadcast with B into DIMS (FT_GRAPH_RANK). Returns its rank; -1 with the
 * error. */
int ft_broadcast(struct ft_infer *in, const struct ft_tensor *a, const struct ft_tensor *b,
                 ft_dim *dims);
/* Sets Y's shape to those of COUNT OPERANDS, all known, broadcast together. Returns 0; -1 with the
 * error. */
int ft_broadcast_shape(struct ft_infer *in, struct ft_tensor *y,
                       const struct ft_tensor *const *operands, int count);

/* Sets the shapes of the graph's inputs: the requested sizes, else the file's. Returns 0; -1 with
 * the error. */
int ft_infer_inputs(struct ft_infer *in);

/* Returns the multiply-accumulates of OP, whose work is FT_WORK_ORT (infer_ort.c). */
ft_dim ft_ort_macs(const struct ft_graph *graph, const struct ft_operator *op);

/* Infers OP, whose inputs have shapes. Returns 0; -1 with the error. */
int ft_infer_operator(struct ft_infer *in, struct ft_operator *op);

/* Infers the operators of BLOCK, whose inputs have shapes. Returns 0; -1 with the error. */
int ft_infer_block(struct ft_infer *in, struct ft_block *block);

/* Sets the first output's shape to the leading dimensions of A and B, broadcast, with ROWS unless A
 * is a vector and COLUMNS unless B is one. Returns 0; -1 with the error. */
int ft_matmul_shape(struct ft_infer *in, const struct ft_tensor *a, const struct ft_tensor *b,
                    ft_dim rows, ft_dim columns);
/* Sets the first output to the matrix product of A and B, transposed by transA and transB. Returns
 * 0; -1 with the error. */
int ft_infer_product(struct ft_infer *in, const struct ft_tensor *a, const struct ft_tensor *b);

/* Set TO's shape to that of FROM's elements, a sequence; make TO a sequence of COUNT elements like
 * EACH. Return 0; -1 with the error. */
int ft_infer_sequence_each(struct ft_infer *in, const struct ft_tensor *from, struct ft_tensor *to);
int ft_infer_sequence_of(struct ft_infer *in, struct ft_tensor *to, const struct ft_tensor *each,
                         ft_dim count);

/* Shape rules, by family (infer_*.c). */
#define FT_RULE(name) int ft_infer_##name(struct ft_infer *in)
FT_RULE(same);
FT_RULE(quantize);
FT_RULE(cast);
FT_RULE(unary);
FT_RULE(binary);
FT_RULE(variadic);
FT_RULE(where);
FT_RULE(dropout);
FT_RULE(batch_norm);
FT_RULE(norm);
FT_RULE(conv);
FT_RULE(conv_transpose);
FT_RULE(pool);
FT_RULE(global_pool);
FT_RULE(matmul);
FT_RULE(gemm);
FT_RULE(linear);
FT_RULE(einsum);
FT_RULE(recurrent);
FT_RULE(attention);
FT_RULE(linear_attention);
FT_RULE(causal_conv);
FT_RULE(constant);
FT_RULE(shape);
FT_RULE(size);
FT_RULE(constant_of_shape);
FT_RULE(range);
FT_RULE(reshape);
FT_RULE(flatten);
FT_RULE(squeeze);
FT_RULE(unsqueeze);
FT_RULE(transpose);
FT_RULE(concat);
FT_RULE(split);
FT_RULE(slice);
FT_RULE(gather);
FT_RULE(gather_elements);
FT_RULE(gather_nd);
FT_RULE(expand);
FT_RULE(tile);
FT_RULE(pad);
FT_RULE(resize);
FT_RULE(depth_to_space);
FT_RULE(space_to_depth);
FT_RULE(one_hot);
FT_RULE(top_k);
FT_RULE(non_zero);
FT_RULE(compress);
FT_RULE(sequence_construct);
FT_RULE(sequence_empty);
FT_RULE(sequence_change);
FT_RULE(sequence_at);
FT_RULE(sequence_length);
FT_RULE(split_to_sequence);
FT_RULE(concat_from_sequence);
FT_RULE(sequence_map);
FT_RULE(optional);
FT_RULE(optional_has);
FT_RULE(string_split);
FT_RULE(string_normalizer);
FT_RULE(match);
FT_RULE(tf_idf);
FT_RULE(image);
FT_RULE(reduce);
FT_RULE(arg);
FT_RULE(roi);
FT_RULE(grid_sample);
FT_RULE(random);
FT_RULE(nms);
FT_RULE(affine_grid);
FT_RULE(bit_cast);
FT_RULE(window);
FT_RULE(center_crop_pad);
FT_RULE(col2im);
FT_RULE(dft);
FT_RULE(from_attributes);
FT_RULE(det);
FT_RULE(grouped_linear);
FT_RULE(dynamic_quantize);
FT_RULE(max_unpool);
FT_RULE(mel);
FT_RULE(multinomial);
FT_RULE(loss);
FT_RULE(stft);
FT_RULE(unique);
FT_RULE(ml_classify);
FT_RULE(ml_extract);
FT_RULE(ml_features);
FT_RULE(ml_label);
FT_RULE(ml_map);
FT_RULE(ml_one_hot);
FT_RULE(ml_regress);
FT_RULE(ml_scale);
FT_RULE(ml_zip);
FT_RULE(optimizer);
FT_RULE(gradient);
FT_RULE(ort_attention);
FT_RULE(ort_broadcast);
FT_RULE(ort_concat);
FT_RULE(ort_embed);
FT_RULE(ort_gather);
FT_RULE(ort_gemm);
FT_RULE(ort_halves);
FT_RULE(ort_packed);
FT_RULE(ort_product);
FT_RULE(ort_reduce);
FT_RULE(ort_reorder);
FT_RULE(ort_skip);
FT_RULE(if);
FT_RULE(loop);
FT_RULE(scan);

#endif
