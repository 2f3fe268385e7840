/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Operator descriptors by domain and name. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "predictor/core/text.h"
#include "predictor/graph/shape/infer.h"

/* Short names for the tables. */
enum {
  NOTHING = FT_SAVES_NOTHING,
  FIRST = FT_SAVES_FIRST,
  SECOND = FT_SAVES_SECOND,
  THIRD = FT_SAVES_THIRD,
  RESULT = FT_SAVES_RESULT,
  INDICES = FT_SAVES_INDICES,
  MASK = FT_SAVES_MASK,
  STATISTICS = FT_SAVES_STATISTICS,
  BOTH = FT_SAVES_BOTH,
  GATES = FT_SAVES_GATES
};

enum {
  REUSES_INPUT = FT_OPERATOR_REUSES_INPUT,
  IN_PLACE = FT_OPERATOR_IN_PLACE,
  ENLARGES = FT_OPERATOR_ENLARGES,
  AUTOCAST_32 = FT_OPERATOR_AUTOCAST_32,
  TAKES_BIAS = FT_OPERATOR_TAKES_BIAS,
  READS_SHAPE = FT_OPERATOR_READS_SHAPE,
  PACKED = FT_OPERATOR_PACKED,
  INTERNAL = FT_OPERATOR_INTERNAL
};

#define IN(i) (1u << (i))

/* Expands a table row to a descriptor of DOMAIN_. */
#define DESCRIBE(domain_, type_, rule_, work_, weight_, view_, saves_, gradient_, ...)             \
  { .type = #type_,                                                                                \
    .domain = domain_,                                                                             \
    .rule = #rule_,                                                                                \
    .infer = ft_infer_##rule_,                                                                     \
    .id = FT_OP_##type_,                                                                           \
    .work = FT_WORK_##work_,                                                                       \
    .weight = weight_,                                                                             \
    .view = FT_VIEW_##view_,                                                                       \
    .saves = saves_,                                                                               \
    .gradient = FT_GRADIENT_##gradient_,                                                           \
    __VA_ARGS__ },

static const struct ft_operator_descriptor onnx[] = {
#define OPERATOR(...) DESCRIBE("", __VA_ARGS__)
#include "predictor/graph/shape/operator_table.h"
};

#define ORT_DOMAIN "com.microsoft"
#define NCHWC_DOMAIN "com.microsoft.nchwc"

static const struct ft_operator_descriptor runtime[] = {
#define ORT_OPERATOR(...) DESCRIBE(ORT_DOMAIN, __VA_ARGS__)
#define ORT_VARIANT(...) DESCRIBE(ORT_DOMAIN, __VA_ARGS__)
#define NCHWC_OPERATOR(...)
#define NCHWC_VARIANT(...)
#include "predictor/graph/shape/operator_table_ort.h"
#undef ORT_OPERATOR
#undef ORT_VARIANT
#undef NCHWC_OPERATOR
#undef NCHWC_VARIANT
};

static const struct ft_operator_descriptor blocked[] = {
#define ORT_OPERATOR(...)
#define ORT_VARIANT(...)
#define NCHWC_OPERATOR(...) DESCRIBE(NCHWC_DOMAIN, __VA_ARGS__)
#define NCHWC_VARIANT(...) DESCRIBE(NCHWC_DOMAIN, __VA_ARGS__)
#include "predictor/graph/shape/operator_table_ort.h"
};

#define ML_DOMAIN "ai.onnx.ml"
#define TRAINING_DOMAIN "ai.onnx.preview.training"

static const struct ft_operator_descriptor learning[] = {
#define ML_OPERATOR(...) DESCRIBE(ML_DOMAIN, __VA_ARGS__)
#define TRAINING_OPERATOR(...)
#include "predictor/graph/shape/operator_table_ml.h"
#undef ML_OPERATOR
#undef TRAINING_OPERATOR
};

static const struct ft_operator_descriptor training[] = {
#define ML_OPERATOR(...)
#define TRAINING_OPERATOR(...) DESCRIBE(TRAINING_DOMAIN, __VA_ARGS__)
#include "predictor/graph/shape/operator_table_ml.h"
};

#define ROWS(table) table, sizeof(table) / sizeof *(table)

static const struct domain {
  const char *name;
  const struct ft_operator_descriptor *rows; /* sorted by strcmp for bsearch */
  size_t count;
} domains[] = {
  { "", ROWS(onnx) },
  { ORT_DOMAIN, ROWS(runtime) },
  { NCHWC_DOMAIN, ROWS(blocked) },
  { ML_DOMAIN, ROWS(learning) },
  { TRAINING_DOMAIN, ROWS(training) },
};

enum { DOMAINS = sizeof domains / sizeof *domains };

static int compare_type(const void *key, const void *row)
{
  return strcmp(key, ((const struct ft_operator_descriptor *)row)->type);
}

static const struct ft_operator_descriptor *find_in_domain(const char *domain, const char *type)
{
  size_t i = FT_TABLE_FIND(domains, domain);

  return i < DOMAINS ? bsearch(type, domains[i].rows, domains[i].count, sizeof *domains[i].rows,
                               compare_type)
                     : NULL;
}

const struct ft_operator_descriptor *ft_operator_find_made(const char *domain, const char *type)
{
  const struct ft_operator_descriptor *found = find_in_domain(domain, type);

  /* without a row of their own, these domains' operators equal ONNX's of the same name */
  if (!found && (strcmp(domain, ORT_DOMAIN) == 0 || strcmp(domain, "ai.onnx.preview") == 0))
    found = find_in_domain("", type);
  return found;
}

const struct ft_operator_descriptor *ft_operator_find(const char *domain, const char *type)
{
  const struct ft_operator_descriptor *found = ft_operator_find_made(domain, type);

  return found && !(found->flags & FT_OPERATOR_INTERNAL) ? found : NULL;
}

const struct ft_operator_descriptor *ft_operator_at(size_t i)
{
  for (size_t k = 0; k < DOMAINS; k++) {
    if (i < domains[k].count)
      return &domains[k].rows[i];
    i -= domains[k].count;
  }
  return NULL;
}
