/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * ATen's operators with hostile arguments. Each line of an input is a list of arguments, separated
 * by spaces: every row of aten_table.h, and every function of the language itself, is called with
 * it in a graph of its own.
 *
 *   <2,3,?>  a tensor of float of these sizes, "?" unknown; <> a scalar, <?> of unknown rank
 *   i<2,3>   one of int64; =1,2 one whose numbers are known
 *   [1,2]    a list of what stands between the commas, (1,2) a tuple
 *   7 -1.5   numbers; i? f? b? ones that are not known; True, False, None, *: not followed
 *   key=7    by its name; anything else is text
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/core/buf.h"
#include "predictor/core/text.h"
#include "predictor/graph/analyse.h"
#include "predictor/graph/aten/aten.h"
#include "tests/fuzz/graph.h"
#include "tests/fuzz/limit.h"

enum { ARGUMENTS = 16, ITEMS = 64, LINES = 2, LEVELS = 4 };

static const struct {
  const char *name;
  int (*run)(struct ft_call *c);
  const char *type;
} table[] = {
#include "predictor/graph/aten/aten_table.h"
};

/* Functions of aten_scalar.c, and some that write into their first argument. */
static const char *const others[] = {
  "__contains__",  "__derive_index",
  "__getitem__",   "__is__",
  "__isnot__",     "__not__",
  "__or__",        "__range_length",
  "_set_item",     "add_",
  "append",        "clamp_",
  "copy",          "copy_",
  "dict",          "endswith",
  "extend",        "fill_",
  "find",          "floordiv",
  "format",        "get",
  "index_put_",    "insert",
  "int",           "items",
  "join",          "keys",
  "len",           "list",
  "lower",         "mod",
  "percentFormat", "pop",
  "relu_",         "replace",
  "scatter_",      "sorted",
  "split",         "squeeze_",
  "startswith",    "str",
  "strip",         "sym_max",
  "transpose_",    "truediv",
  "unsqueeze_",    "values",
};

/* ---- arguments ---- */

static bool take_int(struct ft_text *text, int64_t *value)
{
  bool negative = ft_text_skip(text, "-");
  uint64_t number;

  if (!ft_text_u64(text, (uint64_t)INT64_MAX + negative, &number))
    return false;
  *value = negative ? (int64_t)(0 - number) : (int64_t)number;
  return true;
}

/* Reads comma-separated numbers of TEXT; anything else is -1. */
static int take_ints(struct ft_text text, int64_t *out, int room)
{
  struct ft_text one;
  int count = 0;

  while (count < room && ft_text_until(&text, ',', &one))
    if (!take_int(&one, &out[count++]))
      out[count - 1] = -1;
  return count;
}

static struct ft_operand constant(struct ft_tracer *l, struct ft_text text)
{
  int64_t numbers[ITEMS], count = take_ints(text, numbers, ITEMS);

  return ft_value_tensor(ft_tracer_list(l, numbers, (size_t)count));
}

static struct ft_operand tensor(struct ft_tracer *l, struct ft_text text, unsigned element)
{
  struct ft_declared *d = ft_tracer_take(l, sizeof *d);
  bool unknown = ft_text_equals(text, "?");
  int64_t dims[FT_GRAPH_RANK];
  int rank = unknown ? 0 : take_ints(text, dims, FT_GRAPH_RANK);
  uint32_t made = d ? ft_tracer_input(l, "x", d) : 0;
  ft_dim *to = made && !unknown ? ft_shape(l->in, ft_tracer_of(l, made), rank) : NULL;

  for (int i = 0; to && i < rank; i++)
    to[i] = ft_dim_of(dims[i] < 0 ? -1 : dims[i] % (FT_GRAPH_DIMENSION + 1));
  if (made)
    ft_tracer_of(l, made)->element = (uint8_t)element;
  if (made)
    ft_tracer_of(l, made)->data = true;
  return ft_value_tensor(made);
}

static struct ft_operand operand(struct ft_tracer *l, struct ft_text *text, int level);

static struct ft_operand list(struct ft_tracer *l, struct ft_text *text, int level)
{
  const char *close = *text->at == '(' ? ")" : "]";
  struct ft_operand all =
      ft_value_list(l, *text->at++ == '(' ? FT_VALUE_TUPLE : FT_VALUE_LIST, NULL, 0);

  while (all.list && ft_text_left(text) && !ft_text_skip(text, close) && all.list->count < ITEMS) {
    const char *begin = text->at;

    if (ft_value_append(l, all.list, operand(l, text, level - 1)) < 0)
      break;
    if (!ft_text_skip(text, ",") && text->at == begin)
      text->at++;
  }
  return all;
}

/* An argument that is neither a number nor a list. */
static struct ft_operand word(struct ft_tracer *l, struct ft_text *text)
{
  static const struct {
    const char *text;
    struct ft_operand value;
  } words[] = { { "True", { .type = FT_VALUE_BOOL, .known = true, .integer = 1 } },
                { "False", { .type = FT_VALUE_BOOL, .known = true } },
                { "None", { .type = FT_VALUE_NONE } },
                { "i?", { .type = FT_VALUE_INT } },
                { "f?", { .type = FT_VALUE_REAL } },
                { "b?", { .type = FT_VALUE_BOOL } },
                { "nan", { .type = FT_VALUE_REAL } },
                { "*", { .type = FT_VALUE_OPAQUE } } };
  const char *begin = text->at;
  char *kept;

  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (ft_text_skip(text, words[i].text))
      return words[i].value;
  while (ft_text_left(text) && !strchr(",])", *text->at))
    text->at++;
  kept = ft_tracer_text(l, begin, (size_t)(text->at - begin));
  return kept ? ft_value_string(kept) : ft_value_none();
}

static struct ft_operand operand(struct ft_tracer *l, struct ft_text *text, int level)
{
  bool whole = ft_text_starts(*text, "i<");
  struct ft_text sizes = ft_text_of("", 0), number = *text;
  double real;
  int64_t integer;

  if (whole || ft_text_starts(*text, "<")) {
    text->at += whole ? 2 : 1;
    (void)ft_text_until(text, '>', &sizes);
    return tensor(l, sizes, whole ? FT_ELEMENT_INT64 : FT_ELEMENT_FLOAT);
  }
  if (ft_text_skip(text, "=")) {
    sizes = *text;
    text->at = text->end;
    return constant(l, sizes);
  }
  if (level && (ft_text_starts(*text, "[") || ft_text_starts(*text, "(")))
    return list(l, text, level);
  if (take_int(text, &integer) && (!ft_text_left(text) || strchr(",])", *text->at)))
    return ft_value_int(integer);
  *text = number;
  if (ft_text_double(text, &real))
    return ft_value_real(real);
  *text = number;
  return word(l, text);
}

static size_t read_arguments(struct ft_tracer *l, struct ft_text line, struct ft_operand *args,
                             const char **keys)
{
  struct ft_text one, key, rest;
  size_t count = 0;

  for (; count < ARGUMENTS && ft_text_until(&line, ' ', &one); count++) {
    rest = one;
    keys[count] = NULL;
    if (memchr(one.at, '=', ft_text_left(&one)) && *one.at != '=' &&
        ft_text_until(&rest, '=', &key)) {
      keys[count] = ft_tracer_text(l, key.at, ft_text_left(&key));
      one = rest;
    }
    args[count] = operand(l, &one, LEVELS);
  }
  return count;
}

/* ---- calls ---- */

static const char *called; /* the operator being called */

static void must(bool holds, const char *what)
{
  if (holds)
    return;
  (void)fprintf(stderr, "%s: %s\n", called, what);
  abort();
}

/* Every tensor of the graph has valid sizes, and each result is one of them. */
static void check_result(const struct ft_tracer *l, const struct ft_operand *v, int level)
{
  if (v->type == FT_VALUE_TENSOR)
    must(v->tensor > 0 && v->tensor < l->graph->tensor_count, "a result that is no tensor");
  if ((v->type == FT_VALUE_LIST || v->type == FT_VALUE_TUPLE) && level)
    for (size_t i = 0; i < v->list->count; i++)
      check_result(l, &v->list->items[i], level - 1);
}

static void check_tensors(const struct ft_graph *g)
{
  for (uint32_t i = 1; i < g->tensor_count; i++)
    for (int j = 0; j < g->tensors[i].rank; j++)
      must(!ft_dim_inferred(g->tensors[i].dims[j]), "a size that nothing inferred");
}

/* Computes costs if the call succeeded. */
static void check_costs(struct ft_graph *graph, struct ft_error *err)
{
  struct ft_memory memory;
  struct ft_cost cost;

  check_tensors(graph);
  if (ft_graph_cost(graph, &cost, err) < 0 || ft_graph_memory(graph, &cost, &memory, err) < 0)
    must(err->text[0] != '\0', "refused without a word");
  else
    must(cost.macs >= 0 && cost.activations >= 0 && memory.saved_bytes >= 0, "a negative cost");
}

/* Calls NAME with the arguments of LINE, in a graph of its own. */
static void call(struct ft_graph *graph, const char *name, struct ft_text line)
{
  struct ft_graph_sizes sizes = { .batch = 1 };
  struct ft_error err = { "" };
  struct ft_infer in = { .graph = graph, .sizes = &sizes, .err = &err };
  struct ft_operand args[ARGUMENTS];
  const char *keys[ARGUMENTS];
  struct ft_call c = { .name = name, .args = args, .keys = keys };
  struct ft_tracer l;

  called = name;
  if (graph->results.used > FT_LIMIT_GRAPH / 2)
    ft_arena_free(&graph->results);
  must(ft_tracer_begin(&l, &in) == 0, "no memory");
  c.l = &l;
  c.count = read_arguments(&l, line, args, keys);
  if (err.text[0])
    return;
  if (ft_aten(&c) < 0) {
    must(err.text[0] != '\0', "refused without a word");
    return;
  }
  check_result(&l, &c.result, LEVELS);
  if (c.result.type == FT_VALUE_TENSOR)
    (void)ft_tracer_output(&l, c.result.tensor);
  check_costs(graph, &err);
}

static void call_all(struct ft_graph *graph, struct ft_text line)
{
  for (size_t i = 0; i < sizeof table / sizeof *table; i++)
    call(graph, table[i].name, line);
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    call(graph, others[i], line);
}

const size_t fuzz_limit = 16 << 10; /* each line takes a call of every row */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  struct ft_text text = ft_text_of((const char *)data, size), line;
  struct ft_graph graph = { .file = "fuzz", .format = "aten" };

  graph.arena.limit = graph.results.limit = FT_LIMIT_GRAPH;
  for (int i = 0; i < LINES && ft_text_line(&text, &line); i++) {
    call_all(&graph, line);
    ft_arena_free(&graph.results);
  }
  return 0;
}
