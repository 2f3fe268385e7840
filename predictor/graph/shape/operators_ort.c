/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ONNX Runtime's own operators, by name. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "predictor/graph/shape/operator_row.h"

static const struct ft_operator_descriptor own[] = {
#define ORT_OPERATOR(...) DESCRIBE("com.microsoft", __VA_ARGS__)
#define ORT_VARIANT(...) DESCRIBE("com.microsoft", __VA_ARGS__)
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
#define NCHWC_OPERATOR(...) DESCRIBE("com.microsoft.nchwc", __VA_ARGS__)
#define NCHWC_VARIANT(...) DESCRIBE("com.microsoft.nchwc", __VA_ARGS__)
#include "predictor/graph/shape/operator_table_ort.h"
};

enum { OWN = sizeof own / sizeof *own, BLOCKED = sizeof blocked / sizeof *blocked };

static int compare_type(const void *key, const void *row)
{
  return strcmp(key, ((const struct ft_operator_descriptor *)row)->type);
}

const struct ft_operator_descriptor *ft_operator_find_ort(const char *domain, const char *type)
{
  if (strcmp(domain, "com.microsoft") == 0)
    return bsearch(type, own, OWN, sizeof *own, compare_type);
  if (strcmp(domain, "com.microsoft.nchwc") == 0)
    return bsearch(type, blocked, BLOCKED, sizeof *blocked, compare_type);
  return NULL;
}

const struct ft_operator_descriptor *ft_operator_at_ort(size_t i)
{
  return i < OWN ? &own[i] : i - OWN < BLOCKED ? &blocked[i - OWN] : NULL;
}
