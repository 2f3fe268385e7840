/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Prints the equation of an app's model, as text, LaTeX and JSON. */
#include "config.h"

#include <stdio.h>

#include "predictor/cli/cli.h"
#include "predictor/cli/model/model_equation.h"
#include "predictor/estimate/equation.h"
#include "predictor/history/json.h"
#include "predictor/learn/table/show.h"

enum {
  DIGITS = 4, /* significant digits of a coefficient */
  VARIABLES = sizeof((ft_equation *)NULL)->columns,
  NAME = sizeof((ft_column *)NULL)->name + sizeof((ft_category_names *)NULL)->name[0] + 1
};

int ft_show_equation(const ft_model *model, const ft_categories *categories, bool latex,
                     struct ft_buf *out)
{
  const ft_equation *q = &model->evaluator.equation;
  char name[VARIABLES][NAME];
  const char *names[VARIABLES];
  struct ft_law law;

  if (!model->evaluator.has_equation || !ft_equation_open(q, &law))
    return 0;
  for (size_t v = 0; v < q->columns_count; v++) {
    const ft_column *column = &model->columns[q->columns[v]];
    bool level = q->levels[v] && q->levels[v] <= column->categories_count;

    (void)snprintf(name[v], sizeof name[v], "%s%s%s", column->name, level ? "=" : "",
                   level ? ft_category_name(categories, q->columns[v], q->levels[v] - 1U) : "");
    names[v] = name[v];
  }
  return ft_show_expression(&law.code, names, q->columns_count, NULL, model->evaluator.max_value,
                            latex, DIGITS, out);
}

json_t *ft_equation_json(const ft_model *model, const ft_categories *categories)
{
  const ft_equation *q = &model->evaluator.equation;
  struct ft_buf text, latex;
  json_t *json = NULL;

  ft_buf_init(&text, FT_LIMIT_LINE);
  ft_buf_init(&latex, FT_LIMIT_LINE);
  if (ft_show_equation(model, categories, false, &text) == 0 &&
      ft_show_equation(model, categories, true, &latex) == 0 && text.length)
    json = json_pack("{s:o, s:o, s:f, s:I, s:f, s:b}", "equation", ft_json_text(text.data), "latex",
                     ft_json_text(latex.data), "error", q->error, "runs", (json_int_t)q->runs,
                     "fitted", q->fitted, "used", model->evaluator.by_equation);
  ft_buf_free(&text);
  ft_buf_free(&latex);
  return json ? json : json_null();
}
