/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The operators that are known, by name. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "predictor/graph/shape/operator_row.h"

static const struct ft_operator_descriptor table[] = {
#define OPERATOR(...) DESCRIBE("", __VA_ARGS__)
#include "predictor/graph/shape/operator_table.h"
#undef OPERATOR
};

enum { COUNT = sizeof table / sizeof *table };

static int compare_type(const void *key, const void *row)
{
  return strcmp(key, ((const struct ft_operator_descriptor *)row)->type);
}

const struct ft_operator_descriptor *ft_operator_find_made(const char *domain, const char *type)
{
  const struct ft_operator_descriptor *own = domain[0] ? ft_operator_find_ort(domain, type) : NULL;

  /* ONNX Runtime's other operators of these names do the same; previews keep theirs */
  if (own ||
      (domain[0] && strcmp(domain, "com.microsoft") != 0 && strcmp(domain, "ai.onnx.preview") != 0))
    return own;
  return bsearch(type, table, COUNT, sizeof *table, compare_type);
}

const struct ft_operator_descriptor *ft_operator_find(const char *domain, const char *type)
{
  const struct ft_operator_descriptor *found = ft_operator_find_made(domain, type);

  return found && !(found->flags & FT_OPERATOR_INTERNAL) ? found : NULL;
}

const struct ft_operator_descriptor *ft_operator_at(size_t i)
{
  return i < COUNT ? &table[i] : ft_operator_at_ort(i - COUNT);
}
