/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Loops of TensorFlow 1 and 2. The first iterations are unrolled, so that the tensors which each
 * saves for the backward pass are counted. If unrolling all would exceed a limit, the remaining
 * iterations become a subgraph. Its trip count is determined by evaluating the condition for later
 * iterations, or is unknown.
 */
#include "config.h"

#include <math.h>
#include <string.h>

#include "predictor/graph/import/tensorflow/tensorflow_run.h"

enum {
  UNROLLED_FIRST = 16,              /* iterations before the trip count is determined */
  UNROLLED_NODES = FT_TF_NODES / 2, /* nodes in all unrolled iterations */
  UNROLLED_ITERATIONS = 1 << 16     /* unrolled iterations */
};

/* The value of V; NAN if V is no number or unknown. */
static double tracked_number(const struct ft_tf_loop *loop, const struct ft_operand *v)
{
  const struct ft_tensor *t;

  if (v->type != FT_VALUE_TENSOR)
    return ft_value_is_number(v) ? ft_value_number(v) : (double)NAN;
  t = ft_tracer_of(&loop->r->live, v->tensor);
  return t->values && t->rank == 0 ? t->values[0] : (double)NAN;
}

static struct ft_operand constant_like(struct ft_tf_loop *loop, const struct ft_operand *v,
                                       double value)
{
  struct ft_tracer *l = &loop->r->live;
  unsigned element =
      v->type == FT_VALUE_TENSOR ? ft_tracer_of(l, v->tensor)->element : FT_ELEMENT_INT64;

  return ft_value_tensor(ft_tracer_number(l, element, value));
}

/* Evaluates the condition after N more iterations, if each adds STEPS to the numbers in the state.
 */
static int condition_after(struct ft_tf_loop *loop, const double *steps, double n)
{
  struct ft_tracer *l = &loop->r->live;
  struct ft_operand *then = ft_tracer_take(l, (loop->count + 1) * sizeof *then);
  struct ft_tracer_frame frame; /* discarded: nothing in it belongs to the network */
  int truth;

  if (!then || ft_tracer_open(l, &frame) < 0)
    return FT_TF_FAILED;
  for (size_t i = 0; i < loop->count; i++)
    then[i] = steps[i] != 0 ? constant_like(loop, &loop->state[i],
                                            tracked_number(loop, &loop->state[i]) + n * steps[i])
                            : loop->state[i];
  truth = loop->condition(loop, then);
  ft_tracer_close(l, &frame);
  return truth;
}

/*
 * Returns the remaining trip count, given that the condition holds for the current state; -1 if
 * unknown; FT_TF_FAILED on error. BEFORE and LAST are the states one and two iterations ago. The
 * count is doubled until the condition fails, then bisected.
 */
static int64_t remaining_iterations(struct ft_tf_loop *loop, const struct ft_operand *before,
                                    const struct ft_operand *last)
{
  double *steps = ft_tracer_take(&loop->r->live, (loop->count + 1) * sizeof *steps);
  double low = 0, high = 1;
  int truth = 1;

  if (!steps)
    return FT_TF_FAILED;
  for (size_t i = 0; i < loop->count; i++) {
    double now = tracked_number(loop, &loop->state[i]),
           one = now - tracked_number(loop, &before[i]);

    steps[i] = isfinite(one) ? one : 0;
    if (steps[i] != 0 && tracked_number(loop, &before[i]) - tracked_number(loop, &last[i]) != one)
      return -1;
  }
  while (high < 0x1p40 && (truth = condition_after(loop, steps, high)) == 1) {
    low = high;
    high *= 2;
  }
  if (truth != 0)
    return truth == FT_TF_FAILED ? truth : -1;
  while (high - low > 1) {
    double middle = floor((low + high) / 2);

    truth = condition_after(loop, steps, middle);
    if (truth < 0)
      return truth == FT_TF_FAILED ? truth : -1;
    *(truth ? &low : &high) = middle;
  }
  return (int64_t)high;
}

/* ---- state after the loop ---- */

/* Extrapolates sizes to N iterations from the first, which changed STATE to T; dimensions may
 * grow linearly. */
static void sizes_after_iterations(struct ft_tf_loop *loop, const struct ft_operand *state,
                                   const struct ft_tensor *t, int64_t n, ft_dim *dims)
{
  const struct ft_tensor *s =
      state->type == FT_VALUE_TENSOR ? ft_tracer_of(&loop->r->live, state->tensor) : NULL;

  for (int i = 0; i < t->rank; i++) {
    ft_dim grown = s && s->rank == t->rank ? ft_dim_minus(t->dims[i], s->dims[i]) : FT_DIM_UNKNOWN;

    dims[i] = t->dims[i];
    if (ft_dim_or(grown, 0) > 0)
      dims[i] = ft_dim_plus(dims[i], ft_dim_times(grown, ft_dim_of(n - 1)));
    if (ft_dim_or(dims[i], 0) > FT_GRAPH_DIMENSION)
      dims[i] = FT_DIM_UNKNOWN;
  }
}

/* Sets RESULT's sizes to those of FROM after N iterations. LENGTH: of a list, its elements after
 * the first iteration, and 0 else. */
static int set_result_sizes(struct ft_tf_loop *loop, uint32_t result,
                            const struct ft_operand *state, uint32_t from, int64_t length,
                            int64_t n)
{
  struct ft_tracer *l = &loop->r->live;
  struct ft_tensor t = *ft_tracer_of(l, from);
  ft_dim dims[FT_GRAPH_RANK + 1] = { ft_dim_plus(ft_dim_of(length), ft_dim_of(n - 1)) }, *to;
  int more = length > 0;

  ft_tracer_of(l, result)->data = true;
  ft_tracer_of(l, result)->element = t.element;
  if (t.rank < 0 || t.rank + more > FT_GRAPH_RANK)
    return 0;
  if (ft_dim_or(dims[0], 0) > FT_GRAPH_DIMENSION)
    dims[0] = FT_DIM_UNKNOWN;
  sizes_after_iterations(loop, state, &t, n, dims + more);
  to = ft_shape(l->in, ft_tracer_of(l, result), t.rank + more);
  if (to)
    memcpy(to, dims, (size_t)(t.rank + more) * sizeof *to);
  return to ? 0 : -1;
}

static size_t list_length(const struct ft_operand *v)
{
  return v->type == FT_VALUE_LIST ? v->list->count : 0;
}

/* The tensor that the loop's subgraph returns for NEXT: NEXT itself, or the element appended to a
 * list; 0: none. */
static uint32_t body_result(const struct ft_operand *next, bool longer)
{
  const struct ft_operand *v = longer ? &next->list->items[next->list->count - 1] : next;

  return v->type == FT_VALUE_TENSOR ? v->tensor : 0;
}

/* Sets STATE to the state after N iterations. NEXT is the state after one, RESULT the loop's
 * result. */
static int set_final_state(struct ft_tf_loop *loop, struct ft_operand *state,
                           const struct ft_operand *next, bool longer, uint32_t result, int64_t n)
{
  double from = tracked_number(loop, state), to = tracked_number(loop, next);
  struct ft_operand all = ft_value_tensor(result);
  uint32_t tensor = body_result(next, longer);

  if (tensor &&
      set_result_sizes(loop, result, state, tensor, longer ? (int64_t)next->list->count : 0, n) < 0)
    return -1;
  if (n >= 0 && !isnan(from) && !isnan(to))
    *state = constant_like(loop, next, from + (double)n * (to - from));
  else if (!longer)
    *state = tensor ? all : *next;
  else
    *state = tensor ? ft_value_list(&loop->r->live, FT_VALUE_TUPLE, &all, 1)
                    : ft_value_unknown(FT_VALUE_OPAQUE);
  return 0;
}

/* Records the rest of the loop as a subgraph with trip count N (-1: unknown). */
static int record_remaining_loop(struct ft_tf_loop *loop, int64_t n)
{
  static const char *const names[] = { "body" };
  struct ft_tracer *l = &loop->r->live;
  struct ft_operand *next = ft_tracer_take(l, (loop->count + 1) * sizeof *next);
  size_t *lengths = ft_tracer_take(l, (loop->count + 1) * sizeof *lengths);
  uint32_t *outputs = ft_tracer_take(l, (loop->count + 1) * sizeof *outputs), count = 0, result;
  struct ft_tracer_frame frame;

  if (!next || !lengths || !outputs)
    return -1;
  for (size_t i = 0; i < loop->count; i++)
    lengths[i] = list_length(&loop->state[i]);
  if (ft_tracer_open(l, &frame) < 0 || loop->body(loop, loop->state, next) < 0)
    return -1;
  for (size_t i = 0; i < loop->count; i++) {
    outputs[count] = body_result(&next[i], list_length(&next[i]) > lengths[i]);
    count += outputs[count] != 0;
  }
  frame.block->outputs = outputs;
  frame.block->output_count = count;
  ft_tracer_close(l, &frame);
  result = ft_tracer_blocks(l, "Loop", 0, &frame.block, names, 1, count, n);
  if (!result)
    return -1;
  for (size_t i = 0; i < loop->count; i++) {
    bool longer = list_length(&next[i]) > lengths[i];
    uint32_t one = body_result(&next[i], longer) ? result++ : 0;

    if (set_final_state(loop, &loop->state[i], &next[i], longer, one, n) < 0)
      return -1;
  }
  return l->in->err->text[0] ? -1 : 0;
}

/* Whether N more iterations, each as long as those so far, exceed the limit. */
static bool exceeds_unroll_limit(const struct ft_tf_loop *loop, size_t steps, int64_t done,
                                 int64_t n)
{
  double each = (double)(loop->r->steps - steps) / (double)done + 1;

  return (double)loop->r->steps + each * (double)n > UNROLLED_NODES;
}

int ft_tf_run_loop(struct ft_tf_loop *loop)
{
  struct ft_tracer *l = &loop->r->live;
  size_t bytes = loop->count * sizeof *loop->state, begun = loop->r->steps;
  struct ft_operand *before = ft_tracer_take(l, bytes + 1), *last = ft_tracer_take(l, bytes + 1);
  struct ft_operand *next = ft_tracer_take(l, bytes + 1);

  if (!before || !last || !next)
    return -1;
  for (int64_t iteration = 0;; iteration++) {
    int truth = loop->condition(loop, loop->state);
    int64_t left = -1;

    if (truth == FT_TF_FAILED)
      return -1;
    if (truth == 0)
      return 0;
    if (truth < 0)
      return record_remaining_loop(loop, -1);
    if (iteration == UNROLLED_FIRST) {
      left = remaining_iterations(loop, before, last);
      if (left == FT_TF_FAILED)
        return -1;
      if (left >= 0 && exceeds_unroll_limit(loop, begun, iteration, left))
        return record_remaining_loop(loop, left);
    }
    if (iteration > UNROLLED_FIRST &&
        (loop->r->steps > UNROLLED_NODES || iteration > UNROLLED_ITERATIONS))
      return record_remaining_loop(loop, -1);
    if (loop->body(loop, loop->state, next) < 0)
      return -1;
    memcpy(last, before, bytes);
    memcpy(before, loop->state, bytes);
    memcpy(loop->state, next, bytes);
  }
}
