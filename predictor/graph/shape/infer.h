/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What an operator's shape rule works with. A rule reads its inputs, gives its
 * outputs a shape (and values, where they are few and known) and leaves alone what it cannot tell.
 */
#ifndef FT_GRAPH_INFER_H
#define FT_GRAPH_INFER_H

#include "predictor/graph/ir/graph.h"
#include "predictor/graph/shape/operators.h"

enum { FT_RESHAPE_UNKNOWN = -2 }; /* a size of Reshape's that is not known; -1 is inferred */

struct ft_binding {
  const char *name;
  ft_dim value;
};

struct ft_infer {
  struct ft_graph *graph;
  const struct ft_graph_sizes *sizes;
  struct ft_operator *op;  /* the one at work */
  const char *part;        /* of the file, where it has parts: said in complaints */
  struct ft_operator feed; /* stands for what gives the graph its inputs */
  struct ft_error *err;
  struct ft_binding bindings[64]; /* what named dimensions are */
  int binding_count;
  uint64_t work;  /* elements of values computed so far, bounded */
  bool exhausted; /* memory was out for some */
};

/* The Ith input, NULL where it is absent; the Ith output, a spare tensor where it is. */
struct ft_tensor *ft_input(const struct ft_infer *in, unsigned i);
struct ft_tensor *ft_output(const struct ft_infer *in, unsigned i);

/* Attributes; NULL or OTHERWISE where there is none of that type. */
const struct ft_attribute *ft_attribute(const struct ft_operator *op, const char *name);
int64_t ft_integer(const struct ft_operator *op, const char *name, int64_t otherwise);

/* The only number in input I; unknown if it is negative. */
ft_dim ft_input_number(const struct ft_infer *in, unsigned i);
/* The element type that attribute NAME gives, OTHERWISE where it is absent; FT_ELEMENT_UNKNOWN
 * where there is no such type. */
uint8_t ft_element_attribute(const struct ft_infer *in, const char *name, int64_t otherwise);

/*
 * Whole numbers from attribute NAME or else, where SLOT is not negative, the values of that input.
 * Returns how many; -1: there is neither; -2: they are not known, or are more than ROOM.
 */
int ft_list(const struct ft_infer *in, const char *name, int slot, int64_t *out, int room);

/* Give TENSOR RANK dimensions, all unknown. NULL with the error. */
ft_dim *ft_shape(struct ft_infer *in, struct ft_tensor *tensor, int rank);
/*
 * Set COUNT of TENSOR's dimensions, from AT on, to SIZES as the file has them: -1 leaves one
 * unknown. Returns 0; -1 with the error of a contradiction.
 */
int ft_set_dims(struct ft_infer *in, struct ft_tensor *tensor, int at, const int64_t *sizes,
                int count);
/* The same shape as FROM, when that is known. Returns 0 or -1. */
int ft_like(struct ft_infer *in, struct ft_tensor *tensor, const struct ft_tensor *from);

/* Room for the values of TENSOR, all NAN; NULL when they are too many or its shape is not known. */
double *ft_values(struct ft_infer *in, struct ft_tensor *tensor);
/* How many values TENSOR has; 0 where they are not followed, and of NULL. */
int64_t ft_value_count(const struct ft_tensor *tensor);

/*
 * Y's values from X's: the element at (i, j, ...) of Y is the one at FROM + i * STEPS[0] + j *
 * STEPS[1] + ... of X, which the caller knows to lie inside. Nothing happens when X has none.
 */
void ft_copy_values(struct ft_infer *in, struct ft_tensor *y, const struct ft_tensor *x,
                    int64_t from, const int64_t *steps);

/* How far apart in X's values neighbours along each dimension are, into STEPS (FT_GRAPH_RANK); 0
 * where that is not known. */
void ft_step_overlap(const struct ft_tensor *x, int64_t *steps);

/* A value as a whole number, cut to +-2^62. */
int64_t ft_whole(double value);

/* AXIS of RANK dimensions, counted from the end when negative; -1 with the error when outside. */
int ft_axis(struct ft_infer *in, int64_t axis, int rank);

/* "FILE: byte N: Conv "name": TEXT"; -1. */
int ft_contradiction(struct ft_infer *in, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The shape of A and B broadcast together into DIMS (FT_GRAPH_RANK); its rank, -1 with the error.
 */
int ft_broadcast(struct ft_infer *in, const struct ft_tensor *a, const struct ft_tensor *b,
                 ft_dim *dims);

/* Give the graph's inputs their shapes: what was asked for, else what the file says. 0 or -1. */
int ft_infer_inputs(struct ft_infer *in);

/* Multiply-accumulates of OP of ONNX Runtime, FT_WORK_ORT (infer_ort.c). */
ft_dim ft_ort_macs(const struct ft_graph *graph, const struct ft_operator *op);

/* Infer one operator whose inputs have their shapes. Returns 0 or -1. */
int ft_infer_operator(struct ft_infer *in, struct ft_operator *op);

/* Infer the operators of a block whose inputs have their shapes. Returns 0 or -1. */
int ft_infer_block(struct ft_infer *in, struct ft_block *block);

/* The first result is the product of matrices A and B, turned as transA and transB say. Returns 0
 * or -1. */
int ft_infer_product(struct ft_infer *in, const struct ft_tensor *a, const struct ft_tensor *b);

/* TO as one of those in FROM, a sequence; TO as a sequence of COUNT like EACH. */
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
FT_RULE(told);
FT_RULE(det);
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
