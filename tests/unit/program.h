/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A TorchScript program of one module with a constant and no weights, made from the lines of its
 * forward(self, x).
 */
#ifndef FT_TESTS_UNIT_PROGRAM_H
#define FT_TESTS_UNIT_PROGRAM_H

#include "tests/unit/unit.h"

#include "predictor/core/buf.h"
#include "predictor/graph/analyse.h"
#include "predictor/graph/import/torch/torchscript.h"

struct program {
  struct ft_graph *graph;
  struct ft_script script;
  struct ft_build build;
  struct ft_error err;
};

/* an object of __torch__.Net without fields */
static const char program_pickle[] = "\x80\x02"
                                     "c__torch__\nNet\n)\x81}b.";

/* LINES are separated by "|". Release with program_free. */
static inline void program_read(struct program *p, const char *lines)
{
  char text[8192] = "class Net(Module):\n  sizes : Final[List[int]] = [1, 2]\n  def forward(self: "
                    "__torch__.Net,\n    x: Tensor) -> Tensor:\n"
                    "    ";
  size_t length = strlen(text);

  memset(p, 0, sizeof *p);
  p->graph = calloc(1, sizeof *p->graph);
  assert_non_null(p->graph);
  p->graph->arena.limit = p->graph->results.limit = FT_LIMIT_GRAPH;
  p->graph->file = p->graph->format = "program";
  for (const char *c = lines; *c && length + 8 < sizeof text; c++)
    length +=
        (size_t)snprintf(text + length, sizeof text - length, *c == '|' ? "\n    " : "%c", *c);
  text[length++] = '\n';
  ft_build_init(&p->build, p->graph, &p->err);
  assert_int_not_equal(ft_build_name(&p->build, "", 0), UINT32_MAX);
  p->script.data_part = "data.pkl";
  p->script.data = program_pickle;
  p->script.data_length = sizeof program_pickle - 1;
  if (ft_script_parse(&p->build, &p->script, "code/__torch__.py", text, length) < 0)
    fail_msg("%s: %s", lines, p->err.text);
  ft_script_sort(&p->script);
  p->graph->program = &p->script;
  p->graph->expand = ft_script_run;
}

/* Runs the program with an x of size INPUT, for example "2x3x4", behind a batch of BATCH. */
static inline int program_run(struct program *p, int64_t batch, const char *input)
{
  struct ft_graph_sizes sizes = { .batch = batch, .input = input };

  return ft_graph_infer(p->graph, &sizes, &p->err);
}

/* Returns the only result. */
static inline const struct ft_tensor *program_result(const struct program *p)
{
  const struct ft_block *b = &p->graph->block;

  assert_int_equal(b->output_count, 1);
  return &p->graph->tensors[b->outputs[0]];
}

static inline void program_free(struct program *p)
{
  ft_build_free(&p->build);
  ft_graph_free(p->graph);
}

#endif
