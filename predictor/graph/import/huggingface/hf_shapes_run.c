/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Traces a network of hf_shapes_table.inc: its modules one after the other, each on the latest
 * result of its size. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "predictor/graph/import/huggingface/hf_run.h"
#include "predictor/graph/import/huggingface/hf_shapes.h"

enum {
  LOOSE = 1 << 16, /* parameters that only the last operator reads */
  RECENT = 8,      /* results that a later module may read */
  INPUTS = 4
};

static const char input_kinds[] = "tiam";

struct trace {
  struct ft_hf_run *run;
  int64_t length, batch; /* tokens or samples of the input */
  uint32_t x, before;    /* current result; the input of the last module */
  uint32_t recent[RECENT], *loose, serial;
  size_t loose_count, next;
  uint32_t inputs[INPUTS];
  bool embedded;
};

static int64_t rows_per_sample(const struct trace *t, struct ft_hf_positions p)
{
  double rows = p.fixed + p.per_token * (double)t->length;

  return rows >= 1 ? rows < 1 << 30 ? (int64_t)rows : 1 << 30 : 1;
}

static void add_loose(struct trace *t, uint32_t tensor)
{
  if (tensor && t->loose_count < LOOSE)
    t->loose[t->loose_count++] = tensor;
}

static uint32_t new_weight(struct trace *t, const struct ft_hf_module *m, int rank,
                           const int64_t *dims)
{
  struct ft_hf_run *r = t->run;
  const char *name = ft_tracer_format(&r->live, "%c.%u", m->kind, t->serial++);
  int64_t size = 1;

  for (int i = 0; i < rank; i++)
    size = ft_known_times(size, dims[i]);
  ft_hf_scope(r, name);
  if (!size)
    return 0;
  return rank == 1
             ? ft_hf_weight(r, name, size, 0, 0)
             : ft_hf_reshape(r, ft_hf_weight(r, name, dims[0], size / dims[0], 0), dims, rank);
}

/* A tensor (batch, ROWS, FEATURES): the current or a recent result, or else a constant. */
static uint32_t find_input(struct trace *t, int64_t rows, int64_t features)
{
  int64_t dims[3] = { t->batch, rows, features }, one[3] = { 1, 1, 1 };
  uint32_t from, list;

  for (size_t i = 0; i < RECENT; i++) {
    uint32_t x = t->recent[(t->next + RECENT - 1 - i) % RECENT];

    if (x && ft_hf_size(t->run, x, 1) == rows && ft_hf_size(t->run, x, 2) == features)
      return x;
  }
  from = ft_hf_constant(t->run, FT_ELEMENT_FLOAT, one, 3);
  list = ft_tracer_list(&t->run->live, dims, 3);
  if (!from || !list)
    return 0;
  ft_tracer_of(&t->run->live, from)->data = true; /* keeps it from being folded */
  return ft_tracer_binary(&t->run->live, "Tile", from, list);
}

static void set_result(struct trace *t, uint32_t x)
{
  t->x = x;
  t->recent[t->next] = x;
  t->next = (t->next + 1) % RECENT;
}

static bool reads_matrix(const struct trace *t, uint32_t x, int64_t rows, int64_t features)
{
  return x && ft_hf_size(t->run, x, 1) == rows && ft_hf_size(t->run, x, 2) == features;
}

static void run_linear(struct trace *t, const struct ft_hf_module *m, bool activated)
{
  int64_t rows = rows_per_sample(t, m->in);
  uint32_t x = m->same_input && reads_matrix(t, t->before, rows, m->dims[1])
                   ? t->before
                   : find_input(t, rows, m->dims[1]);
  uint32_t w = new_weight(t, m, 2, m->dims), b = m->biased ? new_weight(t, m, 1, m->dims) : 0, y;

  y = ft_hf_linear_of(t->run, x, w, b);
  if (y && activated)
    y = ft_tracer_unary(&t->run->live, "Gelu", y);
  /* queries and keys, gates and values: their product stands for what the network does with them */
  if (m->same_input && x == t->before && reads_matrix(t, t->x, rows, m->dims[0]))
    y = ft_hf_binary(t->run, "Mul", t->x, y);
  t->before = x;
  set_result(t, y);
}

static void run_norm(struct trace *t, const struct ft_hf_module *m)
{
  uint32_t x = find_input(t, rows_per_sample(t, m->in), m->dims[0]);
  uint32_t w = new_weight(t, m, 1, m->dims), b = m->biased ? new_weight(t, m, 1, m->dims) : 0;

  if (!x || !w)
    return;
  ft_tracer_op(&t->run->live, m->biased ? "LayerNormalization" : "RMSNormalization");
  ft_tracer_in(&t->run->live, x);
  ft_tracer_in(&t->run->live, w);
  if (b)
    ft_tracer_in(&t->run->live, b);
  ft_tracer_int(&t->run->live, "axis", -1);
  set_result(t, ft_tracer_end(&t->run->live, 1));
}

/* A convolution over rows, which are an image's pixels if its kernel has two dimensions. */
static void run_convolution(struct trace *t, const struct ft_hf_module *m)
{
  static const int64_t turned[] = { 0, 2, 1 };
  struct ft_hf_run *r = t->run;
  int axes = m->rank - 2;
  int64_t in = rows_per_sample(t, m->in), out = rows_per_sample(t, m->out), groups = 1;
  int64_t dims[FT_HF_MODULE_RANK + 1], strides[FT_HF_MODULE_RANK],
      pads[2 * FT_HF_MODULE_RANK] = { 0 }, flat[3];
  uint32_t x, w, b;

  if (t->x && ft_hf_size(r, t->x, 1) == in && ft_hf_size(r, t->x, 2) % m->dims[1] == 0)
    groups = ft_hf_size(r, t->x, 2) / m->dims[1];
  if (m->dims[0] % groups)
    groups = 1;
  x = find_input(t, in, groups * m->dims[1]);
  w = new_weight(t, m, m->rank, m->dims);
  b = m->biased ? new_weight(t, m, 1, m->dims) : 0;
  if (!x || !w)
    return;
  x = ft_tracer_transpose(&r->live, x, turned, 3);
  dims[0] = t->batch;
  dims[1] = groups * m->dims[1];
  for (int i = 0; i < axes; i++) {
    int64_t from = axes == 2 ? (int64_t)sqrt((double)in) : i ? 1 : in;
    int64_t to = axes == 2 ? (int64_t)sqrt((double)out) : i ? 1 : out;

    dims[i + 2] = from;
    strides[i] = to > 0 && from > to ? from / to : 1;
    pads[i + axes] = (to - 1) * strides[i] + m->dims[i + 2] - from;
    if (pads[i + axes] < 0 || pads[i + axes] > 4096)
      pads[i + axes] = m->dims[i + 2] > from ? m->dims[i + 2] - from : 0;
  }
  if (axes == 2 && dims[2] * dims[3] != in) {
    dims[2] = in;
    dims[3] = 1;
    strides[0] = out < in ? in / out : 1;
    strides[1] = 1;
    pads[2] = m->dims[2] - 1;
    pads[3] = m->dims[3] - 1;
  }
  x = ft_hf_reshape(r, x, dims, m->rank);
  if (!x)
    return;
  ft_tracer_op(&r->live, "Conv");
  ft_tracer_in(&r->live, x);
  ft_tracer_in(&r->live, w);
  if (b)
    ft_tracer_in(&r->live, b);
  ft_tracer_ints(&r->live, "kernel_shape", m->dims + 2, (size_t)axes);
  ft_tracer_ints(&r->live, "strides", strides, (size_t)axes);
  ft_tracer_ints(&r->live, "pads", pads, 2 * (size_t)axes);
  ft_tracer_int(&r->live, "group", groups);
  x = ft_tracer_end(&r->live, 1);
  if (!x)
    return;
  flat[0] = t->batch;
  flat[1] = m->dims[0];
  flat[2] = 1;
  for (int i = 0; i < axes; i++)
    flat[2] *= ft_hf_size(r, x, i + 2);
  x = ft_hf_reshape(r, x, flat, 3);
  set_result(t, x ? ft_tracer_transpose(&r->live, x, turned, 3) : 0);
}

static void run_embedding(struct trace *t, const struct ft_hf_module *m)
{
  uint32_t table = new_weight(t, m, 2, m->dims), ids = t->inputs[0];

  if (t->embedded || !ids) { /* positions, token types and the like */
    add_loose(t, table);
    return;
  }
  t->embedded = true;
  set_result(t, ft_hf_binary(t->run, "Gather", table, ids));
}

/* Whether the module after M reads an activation of M's result: the first layer of an MLP. */
static bool is_activated(const struct ft_hf_module *m, const struct ft_hf_module *end)
{
  const struct ft_hf_module *next = m + 1;

  return next < end && next->kind == 'L' && !next->same_input && m->dims[0] > m->dims[1] &&
         next->dims[1] == m->dims[0];
}

/* The number of M's kind among the inputs; -1: a module. */
static int input_number(const struct ft_hf_module *m)
{
  const char *kind = strchr(input_kinds, m->kind);

  return m->kind && kind ? (int)(kind - input_kinds) : -1;
}

/* Declares the input M. */
static uint32_t declare_input(struct ft_hf_run *r, const struct ft_hf_module *m)
{
  static const int64_t open[] = { -1 };
  int64_t side = m->kind == 'i' ? (int64_t)sqrt((double)m->dims[1]) : 0,
          picture[] = { m->dims[0], side, side };

  if (m->kind == 't')
    return ft_hf_ids(r, "input_ids");
  if (m->kind == 'a')
    return ft_hf_input(r, "input_values", FT_ELEMENT_FLOAT, 1, open);
  if (m->kind == 'm')
    return ft_hf_input(r, "input_features", FT_ELEMENT_FLOAT, 2, m->dims);
  return ft_hf_input(r, "pixel_values", FT_ELEMENT_FLOAT, 3, picture);
}

/* Makes the input M the current result, as (batch, rows, channels). */
static void read_input(struct trace *t, const struct ft_hf_module *m)
{
  static const int64_t turned[] = { 0, 2, 1 };
  uint32_t in = t->inputs[input_number(m)];
  int64_t dims[3] = { t->batch, m->rank ? m->dims[0] : 1, ft_hf_size(t->run, in, -1) };

  if (m->kind == 't')
    return;
  if (m->kind == 'i')
    dims[2] *= ft_hf_size(t->run, in, 2);
  in = ft_hf_reshape(t->run, in, dims, 3);
  set_result(t, in ? ft_tracer_transpose(&t->run->live, in, turned, 3) : 0);
}

static void run_module(struct trace *t, const struct ft_hf_module *m,
                       const struct ft_hf_module *end)
{
  int64_t elements = 1;

  for (int i = 0; i < m->rank; i++)
    elements = ft_known_times(elements, m->dims[i]);
  if (!elements)
    return;
  if (input_number(m) >= 0)
    read_input(t, m);
  else if (m->kind == 'L' && m->rank == 2)
    run_linear(t, m, is_activated(m, end));
  else if (m->kind == 'C' && m->rank > 2 && m->rank < FT_HF_MODULE_RANK && m->traced)
    run_convolution(t, m);
  else if (m->kind == 'N' && m->rank == 1)
    run_norm(t, m);
  else if (m->kind == 'E' && m->rank == 2)
    run_embedding(t, m);
  else
    add_loose(t, new_weight(t, m, m->rank, m->dims));
}

/* Sets what training keeps of the tensors from FIRST on. */
static void set_saved(struct ft_hf_run *r, uint32_t first)
{
  for (uint32_t t = first; t < r->live.in->graph->tensor_count; t++)
    r->live.in->graph->tensors[t].saved = (float)r->m->saved;
}

/* Declares all inputs and sets their sizes. Returns 0 or -1. */
static int declare_inputs(struct trace *t, const struct ft_hf_module *m,
                          const struct ft_hf_module *end)
{
  for (; m < end; m++) {
    int number = input_number(m);

    if (number >= 0 && !t->inputs[number])
      t->inputs[number] = declare_input(t->run, m);
  }
  if (ft_infer_inputs(t->run->live.in) < 0)
    return -1;
  for (int i = INPUTS - 1; i >= 0; i--)
    if (t->inputs[i])
      t->batch = ft_hf_size(t->run, t->inputs[i], 0);
  t->length = t->inputs[0]   ? ft_hf_size(t->run, t->inputs[0], 1)
              : t->inputs[2] ? ft_hf_size(t->run, t->inputs[2], 1)
                             : 1;
  return 0;
}

uint32_t ft_hf_shapes_run(struct ft_hf_run *r)
{
  const struct ft_hf_module_list *list = r->m->modules;
  const struct ft_hf_module *end = list->modules + list->count;
  struct trace *t = ft_tracer_take(&r->live, sizeof *t);
  const char *error = r->live.in->err->text;
  int64_t modules = 0;
  uint32_t first, x;

  if (r->live.in->sizes->lora) {
    (void)ft_error_set(r->live.in->err,
                       "%s: lora: unknown which layers of model_type %s have adapters",
                       r->live.in->graph->file, r->m->type);
    return 0;
  }
  if (!t || !(t->loose = ft_tracer_take(&r->live, LOOSE * sizeof *t->loose)))
    return 0;
  t->run = r;
  if (declare_inputs(t, list->modules, end) < 0)
    return 0;
  for (const struct ft_hf_module *group = list->modules; group < end; group += 1 + group->modules)
    for (int64_t i = 0; i < group->times; i++)
      for (int64_t j = 1; j <= group->modules; j++)
        for (int64_t k = 0; k < group[j].times; k++) {
          if (modules++ > FT_HF_MODULES)
            (void)ft_tracer_fail(&r->live, "more than %d modules", FT_HF_MODULES);
          if (error[0] || r->live.failed)
            return 0;
          first = r->live.in->graph->tensor_count;
          run_module(t, group + j, group + 1 + group->modules);
          if (group < list->modules + list->base)
            set_saved(r, first);
        }
  ft_hf_scope(r, "rest");
  ft_tracer_unknown(&r->live, "transformers", r->m->type); /* stands for what is not traced */
  ft_tracer_in(&r->live, t->x);
  for (size_t i = 0; i < t->loose_count; i++)
    ft_tracer_in(&r->live, t->loose[i]);
  x = error[0] ? 0 : ft_tracer_end(&r->live, 1);
  r->live.lost = true; /* results that no module reads are read by what is not traced */
  return x && ft_tracer_loose_ends(&r->live) == 0 ? x : 0;
}
