/* SPDX-License-Identifier: GPL-3.0-or-later */
/* foretell graph --operators: the operator table, with the operators of each format that map to it.
 */
#include "config.h"

#include <string.h>

#include "predictor/cli/cli.h"
#include "predictor/cli/graph_operators.h"
#include "predictor/graph/aten/aten.h"
#include "predictor/graph/import/paddle/paddle.h"
#include "predictor/graph/import/tensorflow/tensorflow.h"
#include "predictor/graph/shape/operators.h"

/* A reader's table. AT returns the name of operator I, NULL past the end, and sets the type that it
 * maps to. */
static const struct format {
  const char *name, *key;
  const char *(*at)(size_t i, const char **type);
} formats[] = { { "PyTorch", "pytorch", ft_aten_operator_at },
                { "TensorFlow", "tensorflow", ft_tf_operator_at },
                { "PaddlePaddle", "paddlepaddle", ft_pd_operator_at } };

enum { FORMATS = sizeof formats / sizeof *formats };

static const char *const works[] = {
  [FT_WORK_NONE] = "none",
  [FT_WORK_CONV] = "convolution",
  [FT_WORK_TRANSPOSED] = "transposed convolution",
  [FT_WORK_PRODUCT] = "matrix product",
  [FT_WORK_GEMM] = "gemm",
  [FT_WORK_EINSUM] = "einsum",
  [FT_WORK_RECURRENT] = "recurrence",
  [FT_WORK_ATTENTION] = "attention",
  [FT_WORK_STATES] = "linear attention",
  [FT_WORK_ORT] = "ONNX Runtime",
  [FT_WORK_NORM] = "2 per element",
  [FT_WORK_STATISTICS] = "5 per element",
  [FT_WORK_POOL] = "1 per input element",
};

static const char *const views[] = {
  [FT_VIEW_NONE] = "none",         [FT_VIEW_ELEMENT] = "one element",
  [FT_VIEW_RESHAPED] = "reshaped", [FT_VIEW_SAME] = "same",
  [FT_VIEW_ONES] = "ones",         [FT_VIEW_PART] = "part",
  [FT_VIEW_EXPANDED] = "expanded", [FT_VIEW_PERMUTED] = "permuted",
  [FT_VIEW_OTHER] = "other",
};

static const char *const gradients[] = {
  [FT_GRADIENT_NEW] = "new",
  [FT_GRADIENT_PASSES] = "passed on",
  [FT_GRADIENT_STOPS] = "none",
};

static const struct bit {
  unsigned value;
  const char *name;
} saved[] = { { FT_SAVES_FIRST, "first input" }, { FT_SAVES_SECOND, "second input" },
              { FT_SAVES_THIRD, "third input" }, { FT_SAVES_BOTH, "both inputs" },
              { FT_SAVES_RESULT, "result" },     { FT_SAVES_INDICES, "indices" },
              { FT_SAVES_MASK, "mask" },         { FT_SAVES_STATISTICS, "statistics" },
              { FT_SAVES_GATES, "gates" },       { 0, NULL } },
  properties[] = { { FT_OPERATOR_IN_PLACE, "in place" },
                   { FT_OPERATOR_REUSES_INPUT, "in place in training" },
                   { FT_OPERATOR_ENLARGES, "enlarges" },
                   { FT_OPERATOR_AUTOCAST_32, "autocast to 32 bits" },
                   { FT_OPERATOR_TAKES_BIAS, "takes a bias" },
                   { FT_OPERATOR_READS_SHAPE, "reads only shapes" },
                   { FT_OPERATOR_PACKED, "packed weights" },
                   { FT_OPERATOR_INTERNAL, "not an ONNX operator" },
                   { 0, NULL } };

/* Returns whether a name that maps to MADE maps to the operator TYPE. With TYPE "": whether it maps
 * to several operators, or to none because the reader computes its result. */
static bool maps_to(const char *made, const char *type)
{
  return type[0] ? strcmp(made, type) == 0 : !ft_operator_find_made("", made);
}

static json_t *bits_as_json(const struct bit *list, unsigned bits)
{
  json_t *array = json_array();

  for (; list->name; list++)
    if (bits & list->value)
      json_array_append_new(array, json_string(list->name));
  return array;
}

/* Returns the names in FORMAT that map to TYPE. */
static json_t *names_as_json(const struct format *format, const char *type)
{
  json_t *array = json_array();
  const char *name, *made;

  for (size_t i = 0; (name = format->at(i, &made)) != NULL; i++)
    if (maps_to(made, type))
      json_array_append_new(array, json_string(name));
  return array;
}

static json_t *operator_as_json(const struct ft_operator_descriptor *kind)
{
  json_t *object = json_pack(
      "{s:s, s:s, s:s, s:s, s:s, s:o, s:s, s:o}", "name", kind->type, "domain", kind->domain,
      "shape_rule", kind->rule, "macs", works[kind->work], "view", views[kind->view],
      "kept_for_backward", bits_as_json(saved, kind->saves), "gradient", gradients[kind->gradient],
      "properties", bits_as_json(properties, kind->flags));

  for (size_t i = 0; i < FORMATS && !kind->domain[0]; i++)
    json_object_set_new(object, formats[i].key, names_as_json(&formats[i], kind->type));
  return object;
}

static int print_operators_json(void)
{
  json_t *list = json_array(), *several = json_object();
  const struct ft_operator_descriptor *kind;

  for (size_t i = 0; (kind = ft_operator_at(i)) != NULL; i++)
    json_array_append_new(list, operator_as_json(kind));
  for (size_t i = 0; i < FORMATS; i++)
    json_object_set_new(several, formats[i].key, names_as_json(&formats[i], ""));
  return ft_json_print(json_pack("{s:o, s:o}", "operators", list, "several_or_none", several));
}

/* Writes the names of BITS in LIST into OUT, or "nothing". Returns OUT. */
static const char *bits_as_text(const struct bit *list, unsigned bits, char *out, size_t size)
{
  size_t used = 0;

  (void)snprintf(out, size, "nothing");
  for (; list->name && used < size; list++)
    if (bits & list->value)
      used += (size_t)snprintf(out + used, size - used, "%s%s", used ? ", " : "", list->name);
  return out;
}

/* Prints the names in FORMAT that map to TYPE in one line; nothing if there are none. */
static void print_names(const struct format *format, const char *type)
{
  const char *name, *made;
  bool begun = false;

  for (size_t i = 0; (name = format->at(i, &made)) != NULL; i++)
    if (maps_to(made, type)) {
      if (!begun)
        printf("  %-13s", format->name);
      printf(" %s", name);
      begun = true;
    }
  if (begun)
    putchar('\n');
}

static void print_operator(const struct ft_operator_descriptor *kind)
{
  char text[256];

  printf("%s%s%s\n", kind->domain, kind->domain[0] ? "." : "", kind->type);
  printf("  shape rule    %s\n", kind->rule);
  if (kind->work != FT_WORK_NONE)
    printf("  MACs          %s\n", works[kind->work]);
  if (kind->view != FT_VIEW_NONE)
    printf("  view          %s\n", views[kind->view]);
  printf("  backward      saves %s, gradient %s\n",
         bits_as_text(saved, kind->saves, text, sizeof text), gradients[kind->gradient]);
  if (kind->flags)
    printf("  properties    %s\n", bits_as_text(properties, kind->flags, text, sizeof text));
  for (size_t i = 0; i < FORMATS && !kind->domain[0]; i++)
    print_names(&formats[i], kind->type);
}

int ft_graph_operators(bool json)
{
  const struct ft_operator_descriptor *kind;

  if (json)
    return print_operators_json();
  for (size_t i = 0; (kind = ft_operator_at(i)) != NULL; i++)
    print_operator(kind);
  printf("several operators, or none (the reader computes the result)\n");
  for (size_t i = 0; i < FORMATS; i++)
    print_names(&formats[i], "");
  return ft_flush("graph");
}
