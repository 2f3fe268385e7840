/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shapes of operators with subgraphs: If, Loop, Scan, SequenceMap. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "predictor/graph/shape/infer.h"

static struct ft_block *block_of(const struct ft_infer *in, const char *name)
{
  const struct ft_attribute *a = ft_attribute(in->op, name);

  return a && a->type == FT_ATTRIBUTE_BLOCK ? a->block : NULL;
}

static int infer_nested_block(struct ft_infer *in, struct ft_block *block)
{
  struct ft_operator *outer = in->op;
  int status = ft_infer_block(in, block);

  in->op = outer;
  return status;
}

static struct ft_tensor *block_result(const struct ft_infer *in, const struct ft_block *block,
                                      unsigned i)
{
  return i < block->output_count ? &in->graph->tensors[block->outputs[i]] : NULL;
}

/* Dimensions that differ between the branches are unknown. A known condition selects one branch. */
int ft_infer_if(struct ft_infer *in)
{
  struct ft_block *yes = block_of(in, "then_branch"), *no = block_of(in, "else_branch");
  const struct ft_tensor *condition = ft_input(in, 0);

  if (!yes || !no)
    return ft_contradiction(in, "expected two branches");
  if (ft_value_count(condition) == 1 && !isnan(condition->values[0])) {
    yes = condition->values[0] != 0 ? yes : no;
    no = yes;
  }
  if (infer_nested_block(in, yes) < 0 || (no != yes && infer_nested_block(in, no) < 0))
    return -1;
  for (unsigned i = 0; i < in->op->output_count; i++) {
    const struct ft_tensor *a = block_result(in, yes, i), *b = block_result(in, no, i);
    struct ft_tensor *y = ft_output(in, i);

    if (!a || !b || a->rank < 0 || a->rank != b->rank)
      continue;
    y->element = a->element;
    if (ft_like(in, y, a) < 0)
      return -1;
    for (int j = 0; j < y->rank; j++)
      if (!ft_dim_equal(a->dims[j], b->dims[j]))
        y->dims[j] = FT_DIM_UNKNOWN;
    if (a == b) {
      y->values = a->values;
      y->sequence = a->sequence;
    }
  }
  return 0;
}

/* Sets the subgraph input TO to the shape of FROM without its first DROPPED dimensions. */
static int set_body_input(struct ft_infer *in, struct ft_tensor *to, const struct ft_tensor *from,
                          int dropped)
{
  to->data = true;
  to->rank = -1;
  if (!from || from->rank < dropped)
    return 0;
  to->element = from->element;
  if (!ft_shape(in, to, from->rank - dropped))
    return -1;
  memcpy(to->dims, from->dims + dropped, (size_t)to->rank * sizeof *to->dims);
  return 0;
}

/* Applies the body to each tensor of a sequence; other sequence inputs are iterated in parallel. */
int ft_infer_sequence_map(struct ft_infer *in)
{
  struct ft_block *body = block_of(in, "body");
  const struct ft_tensor *first = ft_input(in, 0);
  ft_dim count = first && first->sequence ? first->sequence->count : FT_DIM_UNKNOWN;

  if (!body || body->input_count < in->op->input_count)
    return ft_contradiction(in, "expected a body with %u inputs", in->op->input_count);
  for (unsigned i = 0; i < in->op->input_count; i++) {
    struct ft_tensor *to = &in->graph->tensors[body->inputs[i]];
    const struct ft_tensor *x = ft_input(in, i);

    bool one = !i || (x && x->sequence);

    if (set_body_input(in, to, one ? NULL : x, 0) < 0 ||
        (one && ft_infer_sequence_each(in, x, to) < 0))
      return -1;
  }
  in->op->trip_count = ft_dim_or(count, -1);
  if (infer_nested_block(in, body) < 0)
    return -1;
  for (unsigned i = 0; i < in->op->output_count; i++) {
    const struct ft_tensor *each = block_result(in, body, i);

    if (each && ft_infer_sequence_of(in, ft_output(in, i), each, count) < 0)
      return -1;
  }
  return 0;
}

/* Sets the loop output TO from the subgraph output FROM. A COLLECTED output is stacked over the
 * iterations: its first dimension is TRIP_COUNT (-1: unknown). */
static int set_loop_output(struct ft_infer *in, struct ft_tensor *to, const struct ft_tensor *from,
                           bool collected, int64_t trip_count)
{
  if (!from || from->rank < 0)
    return 0;
  to->element = from->element;
  if (!ft_shape(in, to, from->rank + collected))
    return -1;
  if (collected && ft_set_dims(in, to, 0, &trip_count, 1) < 0)
    return -1;
  memcpy(to->dims + collected, from->dims, (size_t)from->rank * sizeof *to->dims);
  return 0;
}

/* Prepends the dimension BATCH to TO's shape. */
static int prepend_batch(struct ft_infer *in, struct ft_tensor *to, ft_dim batch)
{
  const struct ft_tensor inner = *to;

  if (!ft_shape(in, to, inner.rank + 1))
    return -1;
  to->dims[0] = batch;
  memcpy(to->dims + 1, inner.dims, (size_t)inner.rank * sizeof *to->dims);
  return 0;
}

/* Extrapolates a loop-carried tensor: each iteration adds the growth of the first over FROM. */
static void extrapolate_growth(struct ft_tensor *to, const struct ft_tensor *from,
                               int64_t trip_count)
{
  for (int i = 0; from && from->rank == to->rank && i < to->rank; i++) {
    ft_dim more = ft_dim_minus(to->dims[i], from->dims[i]);

    if (ft_dim_known(from->dims[i]) && !ft_dim_is(more, 0))
      to->dims[i] = ft_dim_plus(from->dims[i], ft_dim_times(more, ft_dim_of(trip_count)));
  }
}

/* Infers the body from the carried inputs, once. Outputs: the carried tensors after all iterations,
 * then the scan outputs, stacked over the iterations. */
int ft_infer_loop(struct ft_infer *in)
{
  struct ft_block *body = block_of(in, "body");
  const struct ft_tensor *count = ft_input(in, 0);
  unsigned carried = in->op->input_count > 2 ? in->op->input_count - 2 : 0;
  int64_t trip_count = -1;

  if (!body || body->input_count < carried + 2)
    return ft_contradiction(in, "expected a body with %u inputs", carried + 2);
  if (ft_value_count(count) == 1 && !isnan(count->values[0]))
    trip_count = ft_whole(count->values[0]);
  in->op->trip_count = trip_count = trip_count > FT_GRAPH_DIMENSION ? -1 : trip_count;
  for (unsigned i = 0; i < 2; i++) {
    struct ft_tensor *t = &in->graph->tensors[body->inputs[i]];

    t->element = i ? FT_ELEMENT_BOOL : FT_ELEMENT_INT64;
    if (!ft_shape(in, t, 0))
      return -1;
  }
  for (unsigned i = 0; i < carried; i++)
    if (set_body_input(in, &in->graph->tensors[body->inputs[i + 2]], ft_input(in, i + 2), 0) < 0)
      return -1;
  if (infer_nested_block(in, body) < 0)
    return -1;
  for (unsigned i = 0; i < in->op->output_count; i++) {
    if (set_loop_output(in, ft_output(in, i), block_result(in, body, i + 1), i >= carried,
                        trip_count) < 0)
      return -1;
    if (i < carried)
      extrapolate_growth(ft_output(in, i), ft_input(in, i + 2), trip_count);
  }
  return 0;
}

/*
 * Inputs: states, then tensors scanned along their first axis. Opset 8 has an optional first input
 * with the sequence lengths, and a batch dimension before all others.
 */
int ft_infer_scan(struct ft_infer *in)
{
  int64_t scanned = ft_integer(in->op, "num_scan_inputs", 0), trip_count = -1;
  ft_dim batch = ft_dim_of(1);
  struct ft_block *body = block_of(in, "body");
  unsigned old = in->graph->version == 8,
           count = in->op->input_count - (in->op->input_count && old);
  int64_t states = scanned < 1 || scanned > count ? -1 : (int64_t)count - scanned;

  if (!body || states < 0 || body->input_count < count)
    return ft_contradiction(in, "expected a body with %u inputs", count);
  for (unsigned i = 0; i < count; i++) {
    const struct ft_tensor *x = ft_input(in, i + old);

    if (i >= states && x && x->rank > (int)old) {
      trip_count = ft_dim_or(x->dims[old], -1);
      batch = old ? x->dims[0] : ft_dim_of(1);
    }
    if (set_body_input(in, &in->graph->tensors[body->inputs[i]], x, (int)old + (i >= states)) < 0)
      return -1;
  }
  in->op->trip_count = ft_dim_or(ft_dim_times(ft_dim_of(trip_count), batch), -1);
  if (infer_nested_block(in, body) < 0)
    return -1;
  for (unsigned i = 0; i < in->op->output_count; i++) {
    struct ft_tensor *y = ft_output(in, i);

    if (set_loop_output(in, y, block_result(in, body, i), i >= states, trip_count) < 0)
      return -1;
    if (old && y->rank >= 0 && prepend_batch(in, y, batch) < 0)
      return -1;
  }
  return 0;
}
