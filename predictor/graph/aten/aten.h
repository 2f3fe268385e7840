/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * ATen, PyTorch's operators (aten/src/ATen/native/native_functions.yaml), as operators of the
 * graph. A call has the program's values as arguments. Calls without tensors are evaluated,
 * others are recorded.
 */
#ifndef FT_GRAPH_ATEN_H
#define FT_GRAPH_ATEN_H

#include "predictor/graph/shape/tracer.h"

enum ft_value_type {
  FT_VALUE_NONE,
  FT_VALUE_BOOL,
  FT_VALUE_INT,
  FT_VALUE_REAL,
  FT_VALUE_STRING,
  FT_VALUE_TENSOR,
  FT_VALUE_WEIGHT, /* a tensor that no operator has read yet */
  FT_VALUE_LIST,
  FT_VALUE_TUPLE,
  FT_VALUE_DICT, /* a list: key, value, key, value */
  FT_VALUE_OBJECT,
  FT_VALUE_NAME,  /* of a function or class */
  FT_VALUE_OPAQUE /* a value that is not tracked */
};

struct ft_values;
struct ft_object;

struct ft_operand {
  uint8_t type;  /* enum ft_value_type */
  bool known;    /* BOOL, INT, REAL, STRING: the value is known */
  bool computed; /* a 0-dimensional tensor whose value is tracked, not a Python number */
  union {
    int64_t integer; /* BOOL, INT */
    double real;
    const char *string; /* STRING, NAME; OPAQUE: the call that gave the value, or NULL */
    uint32_t tensor;
    struct ft_weight *weight;
    struct ft_values *list; /* shared by all who hold the list, as in Python */
    struct ft_object *object;
  };
};

struct ft_values {
  struct ft_operand *items;
  size_t count, room;
  bool sorted;   /* of an object's parameters: which tensors are trainable has been determined */
  bool merged;   /* what both sides of a branch left in the list has been merged */
  unsigned kept; /* number of enclosing branches that have saved the list's contents */
};

struct ft_field {
  const char *name;
  struct ft_operand value;
};

/* The field that holds an object's state if the state is no dictionary of its fields. */
#define FT_OBJECT_STATE "(state)"

struct ft_object {
  const char *type; /* its class */
  const char *path; /* path in the module tree: "layer1.0" */
  struct ft_field *fields;
  size_t count, room;
};

struct ft_call {
  struct ft_tracer *l;
  const char *name; /* "conv2d", without the namespace */
  const char *type; /* third column of aten_table.h; set by ft_aten */
  const struct ft_operand *args;
  const char *const *keys; /* keyword of each argument; NULL: positional */
  size_t count;
  unsigned outputs; /* number of results that the caller expects of an unknown operator */
  struct ft_operand result;
};

/* Returned by an operator's function that has replaced the call by one of another operator, which
 * ft_aten runs. */
enum { FT_ATEN_REPLACED = 2 };

/* Values. Constructors return NONE when memory is exhausted; l->failed is then set. */
struct ft_operand ft_value_none(void);
struct ft_operand ft_value_bool(bool value);
struct ft_operand ft_value_int(int64_t value);
struct ft_operand ft_value_dim(ft_dim dim); /* unknown where DIM is */
struct ft_operand ft_value_real(double value);
struct ft_operand ft_value_string(const char *text);
struct ft_operand ft_value_tensor(uint32_t tensor);
struct ft_operand ft_value_unknown(uint8_t type); /* a number of unknown value, or OPAQUE */
struct ft_operand ft_value_list(struct ft_tracer *l, uint8_t type, const struct ft_operand *items,
                                size_t count);
int ft_value_append(struct ft_tracer *l, struct ft_values *list, struct ft_operand item);
/* Returns the field NAME of OBJECT, or NULL. */
struct ft_operand *ft_object_field(const struct ft_object *object, const char *name);
int ft_object_set(struct ft_tracer *l, struct ft_object *object, const char *name,
                  struct ft_operand value);
bool ft_value_is_tensor(const struct ft_operand *value);
bool ft_value_is_number(const struct ft_operand *value);
bool ft_value_is_list(const struct ft_operand *value);  /* or a tuple */
double ft_value_number(const struct ft_operand *value); /* NAN: unknown */
/* Python's bool(VALUE): 1, 0, or -1 if unknown. Of a tensor its tracked value counts. */
int ft_value_truth(const struct ft_tracer *l, const struct ft_operand *value);
/* VALUE as a tensor of the graph; a number becomes a constant. Returns 0 if VALUE is none, or on
 * error (l->failed). */
uint32_t ft_value_as_tensor(struct ft_tracer *l, const struct ft_operand *value);

/* Elements that one comparison may visit: lists may contain themselves. */
enum { FT_VALUE_COMPARED = 1 << 16 };
/* Whether A and B are equal: 1, 0, or -1 if unknown. Lists are compared to DEPTH, and while
 * LEFT, which is counted down, is above 0. */
int ft_value_equal(const struct ft_operand *a, const struct ft_operand *b, int depth, int *left);

/* Saves LIST for the enclosing branches; called before LIST is changed in place. Returns 0 or
 * -1. */
int ft_list_before_change(struct ft_tracer *l, struct ft_values *list);
/* Registers a new LIST, which enclosing branches need not restore. Returns 0 or -1. */
int ft_list_created(struct ft_tracer *l, struct ft_values *list);

/* ---- lists changed on one side of a branch (aten_change.c) ---- */

struct ft_changed {
  struct ft_values *list;
  struct ft_operand *items; /* before the side; after ft_changes_undo, after it */
  size_t count;
  bool made; /* created on this side */
};

struct ft_changes {
  struct ft_changes *outer;
  struct ft_changed *all;
  size_t count, room;
  unsigned level;
};

/* Until ft_changes_end (0 or -1), CHANGES saves what lists held before they are changed. */
void ft_changes_begin(struct ft_tracer *l, struct ft_changes *changes);
int ft_changes_end(struct ft_tracer *l, struct ft_changes *changes);
/* Restores the lists; CHANGES then holds what they held at the end of the side. */
void ft_changes_undo(struct ft_changes *changes);

/* One side of a branch: a closed subgraph (ft_tracer_close) and its results. */
struct ft_side {
  struct ft_block *block;
  const struct ft_operand *values;
  size_t count;
};
/*
 * Records a branch on CONDITION with both SIDES. Returns a tuple of results with the shapes of
 * the first side's; values other than tensors are the first side's. Returns FT_VALUE_NONE on
 * error.
 */
struct ft_operand ft_value_branch(struct ft_tracer *l, const struct ft_operand *condition,
                                  const struct ft_side sides[2]);

/*
 * Evaluates or records CALL and sets its result. Returns 0, or -1 with the error if its
 * arguments contradict each other. An unknown name becomes an operator of unknown kind with
 * results of unknown shape.
 */
int ft_aten(struct ft_call *call);
/* Evaluates a call on numbers, lists, strings and sizes. Returns 0 or -1; 1: not such a call. */
int ft_aten_scalar(struct ft_call *call);
/* The same for a list, tuple or dictionary as the first argument. */
int ft_aten_list(struct ft_call *c);
/* The same for a string as the first argument; never returns 1. */
int ft_aten_string(struct ft_call *call);
/* Gives str(VALUE) as the result. Returns 0 or -1. */
int ft_aten_to_string(struct ft_call *call, const struct ft_operand *value);

/* ---- for the families (aten_*.c) ---- */

/* Argument I, or the one with keyword KEY; a NONE value if it is not given. */
const struct ft_operand *ft_arg(const struct ft_call *c, unsigned i, const char *key);
bool ft_arg_given(const struct ft_call *c, unsigned i, const char *key);
uint32_t ft_arg_tensor(const struct ft_call *c, unsigned i);
uint32_t ft_arg_optional(const struct ft_call *c, unsigned i); /* 0 if it is None */
/* An integer; OTHERWISE if it is not given, INT64_MIN if its value is unknown. */
int64_t ft_arg_int(const struct ft_call *c, unsigned i, const char *key, int64_t otherwise);
bool ft_arg_bool(const struct ft_call *c, unsigned i, const char *key, bool otherwise);
/* Integers of a list, or a single one, into OUT. Returns their number, 0 if not given, -1 if one
 * is unknown or there are more than ROOM. */
int ft_arg_ints(const struct ft_call *c, unsigned i, const char *key, int64_t *out, int room);
/* The N SIZES as dimensions into DIMS; OPEN: -1 follows from the others, INT64_MIN is not known.
 * Returns 0, or -1 with the error if another one is negative or past FT_GRAPH_DIMENSION. */
int ft_aten_dims(struct ft_call *c, const int64_t *sizes, int n, bool open, ft_dim *dims);
/* The same for N dimensions: one number stands for all, OTHERWISE if not given. Returns 0, or -1
 * with the error. */
int ft_arg_each(const struct ft_call *c, unsigned i, const char *key, int n, int64_t otherwise,
                int64_t *out);
/* Rank of argument I, -1 if unknown; an axis within RANK, counted from the front, or -1 with the
 * error. */
int ft_arg_rank(const struct ft_call *c, unsigned i);
int ft_arg_axis(const struct ft_call *c, unsigned i, const char *key, int64_t otherwise, int rank);
/* Whether C calls NAME, or one of the names. */
bool ft_aten_is(const struct ft_call *c, const char *name);
#define FT_ATEN_IS_ONE_OF(c, ...)                                                                  \
  ft_string_listed((const char *const[]){ __VA_ARGS__, NULL }, (c)->name)
/* ---- results (aten_arguments.c) ---- */

int ft_give_value(struct ft_call *c, struct ft_operand value);
int ft_give(struct ft_call *c, uint32_t tensor);
int ft_give_many(struct ft_call *c, uint32_t first, unsigned count);
/* TENSOR and MORE results whose sizes are never read. */
int ft_give_first(struct ft_call *c, uint32_t tensor, unsigned more);
int ft_aten_unknown(struct ft_call *c);
/* Returns argument 0 as a tensor and its index in X. Returns NULL if its rank is unknown: the
 * caller then returns ft_aten_not_shaped. */
const struct ft_tensor *ft_aten_shaped(struct ft_call *c, uint32_t *x);
/* Records the call as an operator of unknown kind; -1 if X is 0. */
int ft_aten_not_shaped(struct ft_call *c, uint32_t x);
/* Records TYPE (Squeeze, Unsqueeze, ...) of X with COUNT axes, 0: without that attribute. Returns 0
 * if X is 0. */
uint32_t ft_aten_axes(struct ft_tracer *l, const char *type, uint32_t x, const int64_t *axes,
                      size_t count);
/* Sets the attributes of an operator whose result has DIMS and ELEMENT. */
void ft_aten_result(struct ft_tracer *l, const ft_dim *dims, int rank, unsigned element);
/* Records one operator with all tensors of the call as inputs and a result of DIMS. */
int ft_aten_of_shape(struct ft_call *c, const ft_dim *dims, int rank, unsigned element);
unsigned ft_aten_element(int64_t scalar_type); /* from c10/core/ScalarType.h */

/* The operator of the graph that ATen's NAME becomes; "": several, which depend on its arguments,
 * or it is not known. */
const char *ft_aten_type_of(const char *name);
/* The name of the Ith of ATen's operators that are known, with TYPE as ft_aten_type_of; NULL behind
 * the last. */
const char *ft_aten_operator_at(size_t i, const char **type);
/* Y replaces X after an in-place operation, also within the tensor that X is a view of. */
void ft_aten_replace(struct ft_tracer *l, uint32_t x, uint32_t y);

#define FT_ATEN(name) int ft_aten_##name(struct ft_call *c)
FT_ATEN(unary);
FT_ATEN(binary);
FT_ATEN(scalar_left);
FT_ATEN(same);
FT_ATEN(convolution);
FT_ATEN(conv);
FT_ATEN(conv_transpose);
FT_ATEN(pool);
FT_ATEN(adaptive_pool);
FT_ATEN(batch_norm);
FT_ATEN(layer_norm);
FT_ATEN(group_norm);
FT_ATEN(instance_norm);
FT_ATEN(linear);
FT_ATEN(matmul);
FT_ATEN(addmm);
FT_ATEN(baddbmm);
FT_ATEN(einsum);
FT_ATEN(recurrent);
FT_ATEN(cell);
FT_ATEN(embedding);
FT_ATEN(attention);
FT_ATEN(encoder_layer);
FT_ATEN(native_attention);
FT_ATEN(dropout);
FT_ATEN(softmax);
FT_ATEN(to);
FT_ATEN(size);
FT_ATEN(dim);
FT_ATEN(numel);
FT_ATEN(query);
FT_ATEN(item);
FT_ATEN(view);
FT_ATEN(view_as);
FT_ATEN(flatten);
FT_ATEN(unflatten);
FT_ATEN(transpose);
FT_ATEN(permute);
FT_ATEN(movedim);
FT_ATEN(unsqueeze);
FT_ATEN(squeeze);
FT_ATEN(expand);
FT_ATEN(repeat);
FT_ATEN(repeat_interleave);
FT_ATEN(cat);
FT_ATEN(stack);
FT_ATEN(split);
FT_ATEN(unbind);
FT_ATEN(slice);
FT_ATEN(select);
FT_ATEN(index_select);
FT_ATEN(gather);
FT_ATEN(index);
FT_ATEN(nonzero);
FT_ATEN(where);
FT_ATEN(masked_fill);
FT_ATEN(roll);
FT_ATEN(flip);
FT_ATEN(pixel_shuffle);
FT_ATEN(pad);
FT_ATEN(upsample);
FT_ATEN(grid_sample);
FT_ATEN(unfold);
FT_ATEN(im2col);
FT_ATEN(one_hot);
FT_ATEN(reduce);
FT_ATEN(arg);
FT_ATEN(extremum);
FT_ATEN(var_mean);
FT_ATEN(topk);
FT_ATEN(sort);
FT_ATEN(factory);
FT_ATEN(like);
FT_ATEN(arange);
FT_ATEN(meshgrid);
FT_ATEN(scalar_tensor);
FT_ATEN(nms);
FT_ATEN(roi_align);
FT_ATEN(deform_conv);
FT_ATEN(scatter);
FT_ATEN(fourier);
FT_ATEN(complex_part);
FT_ATEN(complex);
FT_ATEN(view_complex);
FT_ATEN(affine_grid);
FT_ATEN(outer);
FT_ATEN(add_product);
FT_ATEN(glu);
FT_ATEN(tensor_split);
FT_ATEN(hstack);
FT_ATEN(as_strided);
FT_ATEN(diagonal);
FT_ATEN(cdist);
FT_ATEN(col2im);
FT_ATEN(embedding_bag);
FT_ATEN(loss);
FT_ATEN(class_loss);
FT_ATEN(similarity);
FT_ATEN(broadcast);
FT_ATEN(weight_norm);
FT_ATEN(diff);
FT_ATEN(grouped_mm);
FT_ATEN(histogram);
FT_ATEN(stft);
FT_ATEN(prepack);
FT_ATEN(quantized);
FT_ATEN(quantize);
FT_ATEN(dequantize);
FT_ATEN(fake_quantize);
FT_ATEN(quantized_recurrent);
#undef FT_ATEN

#endif
