/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Shapes of ONNX's operators of classical machine learning (ai.onnx.ml, onnx/docs/Operators-ml.md)
 * and of training steps (ai.onnx.preview.training). A sample is a row of features.
 */
#include "config.h"

#include <string.h>

#include "predictor/graph/shape/infer.h"

/* Returns the length of the list attribute NAME; unknown if absent or too long to be stored. */
static ft_dim attribute_list_length(const struct ft_infer *in, const char *name)
{
  const struct ft_attribute *a = ft_attribute(in->op, name);

  return a && a->count ? ft_dim_of((int64_t)a->count) : FT_DIM_UNKNOWN;
}

/* Returns the number of classes or categories: the length of the first known list of NAMES. */
static ft_dim category_count(const struct ft_infer *in, const char *const *names)
{
  ft_dim count = FT_DIM_UNKNOWN;

  for (; *names && !ft_dim_known(count); names++)
    count = attribute_list_length(in, *names);
  return count;
}

/* Returns the number of samples (rows) of X; a vector is one sample. */
static ft_dim sample_count(const struct ft_tensor *x)
{
  if (!x || x->rank < 0 || x->rank > 2)
    return FT_DIM_UNKNOWN;
  return x->rank == 2 ? x->dims[0] : ft_dim_of(1);
}

/* Sets Y to (ROWS, COLUMNS) of type ELEMENT. Returns 0; -1 with the error. */
static int set_table_shape(struct ft_infer *in, struct ft_tensor *y, ft_dim rows, ft_dim columns,
                           uint8_t element)
{
  y->element = element;
  if (!ft_shape(in, y, 2))
    return -1;
  y->dims[0] = rows;
  y->dims[1] = columns;
  return 0;
}

static const char *const class_labels[] = { "classlabels_ints", "classlabels_int64s",
                                            "classlabels_strings", NULL };

/* Outputs: the class of each sample, and scores (samples, classes). An SVM without probabilities
 * has one score per pair of classes; their number stays unknown. */
int ft_infer_ml_classify(struct ft_infer *in)
{
  bool pairs = ft_operator_is(in->op, FT_OP_SVMClassifier) &&
               !ft_dim_known(attribute_list_length(in, "prob_a"));
  bool strings = ft_dim_known(attribute_list_length(in, "classlabels_strings"));
  ft_dim rows = sample_count(ft_input(in, 0));
  struct ft_tensor *y = ft_output(in, 0);

  y->element = strings ? FT_ELEMENT_STRING : FT_ELEMENT_INT64;
  if (!ft_shape(in, y, 1))
    return -1;
  y->dims[0] = rows;
  return set_table_shape(in, ft_output(in, 1), rows,
                         pairs ? FT_DIM_UNKNOWN : category_count(in, class_labels),
                         FT_ELEMENT_FLOAT);
}

/* (samples, targets) */
int ft_infer_ml_regress(struct ft_infer *in)
{
  bool any = ft_operator_is(in->op, FT_OP_TreeEnsemble); /* the output has the input's type */
  const struct ft_tensor *x = ft_input(in, 0);
  int64_t targets = ft_integer(in->op, "targets", ft_integer(in->op, "n_targets", 1));

  return set_table_shape(in, ft_output(in, 0), sample_count(x),
                         targets < 1 ? FT_DIM_UNKNOWN : ft_dim_of(targets),
                         any && x ? x->element : FT_ELEMENT_FLOAT);
}

/* Element-wise; the output is float. */
int ft_infer_ml_scale(struct ft_infer *in)
{
  ft_output(in, 0)->element = FT_ELEMENT_FLOAT;
  return ft_like(in, ft_output(in, 0), ft_input(in, 0));
}

/* Returns the type of the output labels: from the attributes; without them integers for strings and
 * strings for integers. */
static uint8_t label_element(const struct ft_infer *in)
{
  const struct ft_attribute *tensor = ft_attribute(in->op, "values_tensor");
  const struct ft_tensor *x = ft_input(in, 0);

  if (tensor && tensor->tensor)
    return tensor->tensor->element;
  if (ft_attribute(in->op, "values_int64s"))
    return FT_ELEMENT_INT64;
  if (ft_attribute(in->op, "values_floats"))
    return FT_ELEMENT_FLOAT;
  if (ft_attribute(in->op, "values_strings"))
    return FT_ELEMENT_STRING;
  return x && x->element == FT_ELEMENT_STRING ? FT_ELEMENT_INT64 : FT_ELEMENT_STRING;
}

/* Element-wise mapping of labels. */
int ft_infer_ml_label(struct ft_infer *in)
{
  ft_output(in, 0)->element = label_element(in);
  return ft_like(in, ft_output(in, 0), ft_input(in, 0));
}

/* Selects the elements of the last dimension whose indices are the second input. */
int ft_infer_ml_extract(struct ft_infer *in)
{
  const struct ft_tensor *x = ft_input(in, 0), *chosen = ft_input(in, 1);
  struct ft_tensor *y = ft_output(in, 0);

  if (!x || !chosen || x->rank < 0)
    return 0;
  if (x->rank < 2)
    return set_table_shape(in, y, ft_dim_of(1), ft_tensor_elements(chosen), x->element);
  if (ft_like(in, y, x) < 0)
    return -1;
  y->element = x->element;
  y->dims[y->rank - 1] = ft_tensor_elements(chosen);
  return 0;
}

/* Concatenates the features of all inputs: (samples, sum of inputdimensions). */
int ft_infer_ml_features(struct ft_infer *in)
{
  const struct ft_attribute *sizes = ft_attribute(in->op, "inputdimensions");
  ft_dim sum = sizes && sizes->integers ? ft_dim_of(0) : FT_DIM_UNKNOWN;

  for (size_t i = 0; ft_dim_known(sum) && i < sizes->count; i++)
    sum = ft_dim_plus(sum, ft_dim_of(sizes->integers[i]));
  return set_table_shape(in, ft_output(in, 0), sample_count(ft_input(in, 0)), sum,
                         FT_ELEMENT_FLOAT);
}

/* Appends a dimension of the number of categories. */
int ft_infer_ml_one_hot(struct ft_infer *in)
{
  static const char *const names[] = { "cats_int64s", "cats_strings", NULL };
  const struct ft_tensor *x = ft_input(in, 0);
  struct ft_tensor *y = ft_output(in, 0);

  if (!x || x->rank < 0)
    return 0;
  y->element = FT_ELEMENT_FLOAT;
  if (!ft_shape(in, y, x->rank + 1))
    return -1;
  memcpy(y->dims, x->dims, (size_t)x->rank * sizeof *y->dims);
  y->dims[x->rank] = category_count(in, names);
  return 0;
}

/* Converts a map to (1, size of the vocabulary); a SPARSE map to (1, max_map). */
int ft_infer_ml_map(struct ft_infer *in)
{
  static const char *const names[] = { "int64_vocabulary", "string_vocabulary", NULL };
  const struct ft_attribute *form = ft_attribute(in->op, "map_form");
  bool sparse = form && form->string && strcmp(form->string, "SPARSE") == 0;
  int64_t most = ft_integer(in->op, "max_map", -1);
  struct ft_tensor *y = ft_output(in, 0);

  if (set_table_shape(in, y, ft_dim_of(1), category_count(in, names), FT_ELEMENT_FLOAT) < 0)
    return -1;
  return sparse ? ft_set_dims(in, y, 1, &most, 1) : 0;
}

/* A sequence of maps, one for each sample, with a number for each class. */
int ft_infer_ml_zip(struct ft_infer *in)
{
  const struct ft_tensor *x = ft_input(in, 0);
  ft_dim *dims = ft_arena_take(&in->graph->results, sizeof *dims); /* owned by the graph */
  struct ft_tensor each = { .rank = 1, .dims = dims, .element = FT_ELEMENT_FLOAT };

  if (!dims) {
    in->exhausted = true;
    return -1;
  }
  dims[0] = category_count(in, class_labels);
  if (x && x->rank > 0 && !ft_dim_known(dims[0]))
    dims[0] = x->dims[x->rank - 1];
  return ft_infer_sequence_of(in, ft_output(in, 0), &each, sample_count(x));
}

/* Inputs: learning rate, step count, then lists of equal length: parameters, gradients, one or two
 * of optimiser states. Outputs: the updated parameters and states. */
int ft_infer_optimizer(struct ft_infer *in)
{
  unsigned lists = ft_operator_is(in->op, FT_OP_Adam) ? 4 : 3, each;

  if (in->op->input_count < 2 + lists || (in->op->input_count - 2) % lists)
    return ft_contradiction(in, "%u inputs: expected 2 and %u lists of the same length",
                            in->op->input_count, lists);
  each = (in->op->input_count - 2) / lists;
  for (unsigned i = 0; i < in->op->output_count; i++) {
    const struct ft_tensor *x = ft_input(in, 2 + i + (i < each ? 0 : each));

    if (x)
      ft_output(in, i)->element = x->element;
    if (ft_like(in, ft_output(in, i), x) < 0)
      return -1;
  }
  return 0;
}

/* One gradient per input named by attribute "xs", with its shape. */
int ft_infer_gradient(struct ft_infer *in)
{
  for (unsigned i = 0; i < in->op->output_count; i++)
    if (ft_like(in, ft_output(in, i), ft_input(in, i)) < 0)
      return -1;
  return 0;
}
