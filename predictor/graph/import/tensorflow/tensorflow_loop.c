/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Loops of a TensorFlow graph, of both kinds. A short one is followed turn by turn, so that what
 * each turn keeps is seen; of a long one the rest is a block that turns as often as its condition,
 * asked ahead, says; where that is not known the block has no bound.
 */
#include "config.h"

#include <math.h>
#include <string.h>

#include "predictor/graph/import/tensorflow/tensorflow_run.h"

enum {
  LOOK = 16,                  /* turns that are followed before the rest is counted */
  UNROLLED = FT_TF_NODES / 2, /* nodes of all turns that are followed */
  TURNS = 1 << 16             /* that are followed, however short */
};

/* The number that V is; NAN where it is none, or not known. */
static double number(const struct ft_tf_loop *loop, const struct ft_operand *v)
{
  const struct ft_tensor *t;

  if (v->type != FT_VALUE_TENSOR)
    return ft_value_is_number(v) ? ft_value_number(v) : (double)NAN;
  t = ft_live_of(&loop->r->live, v->tensor);
  return t->values && t->rank == 0 ? t->values[0] : (double)NAN;
}

static struct ft_operand number_like(struct ft_tf_loop *loop, const struct ft_operand *v,
                                     double value)
{
  struct ft_live *l = &loop->r->live;
  unsigned element =
      v->type == FT_VALUE_TENSOR ? ft_live_of(l, v->tensor)->element : FT_ELEMENT_INT64;

  return ft_value_tensor(ft_live_number(l, element, value));
}

/* The condition TURNS turns after the state, of which each changes numbers by STEPS. */
static int ask_ahead(struct ft_tf_loop *loop, const double *steps, double turns)
{
  struct ft_live *l = &loop->r->live;
  struct ft_operand *then = ft_live_take(l, (loop->count + 1) * sizeof *then);
  struct ft_live_frame frame; /* let go of: nothing of it is the network's */
  int truth;

  if (!then || ft_live_open(l, &frame) < 0)
    return FT_TF_FAILED;
  for (size_t i = 0; i < loop->count; i++)
    then[i] = steps[i] != 0 ? number_like(loop, &loop->state[i],
                                          number(loop, &loop->state[i]) + turns * steps[i])
                            : loop->state[i];
  truth = loop->ask(loop, then);
  ft_live_close(l, &frame);
  return truth;
}

/*
 * How many turns are left, the condition being true now: BEFORE and LAST are the states one and
 * two turns ago. -1 not known, FT_TF_FAILED with the error.
 */
static int64_t turns_left(struct ft_tf_loop *loop, const struct ft_operand *before,
                          const struct ft_operand *last)
{
  double *steps = ft_live_take(&loop->r->live, (loop->count + 1) * sizeof *steps);
  double low = 0, high = 1;
  int truth = 1;

  if (!steps)
    return FT_TF_FAILED;
  for (size_t i = 0; i < loop->count; i++) {
    double now = number(loop, &loop->state[i]), one = now - number(loop, &before[i]);

    steps[i] = isfinite(one) ? one : 0;
    if (steps[i] != 0 && number(loop, &before[i]) - number(loop, &last[i]) != one)
      return -1;
  }
  while (high < 0x1p40 && (truth = ask_ahead(loop, steps, high)) == 1) {
    low = high;
    high *= 2;
  }
  if (truth != 0)
    return truth == FT_TF_FAILED ? truth : -1;
  while (high - low > 1) {
    double middle = floor((low + high) / 2);

    truth = ask_ahead(loop, steps, middle);
    if (truth < 0)
      return truth == FT_TF_FAILED ? truth : -1;
    *(truth ? &low : &high) = middle;
  }
  return (int64_t)high;
}

/* ---- what a block leaves behind ---- */

/* The sizes after TURNS turns, the first of which made T of STATE; each dimension may grow. */
static void sizes_after(struct ft_tf_loop *loop, const struct ft_operand *state,
                        const struct ft_tensor *t, int64_t turns, int64_t *dims)
{
  const struct ft_tensor *s =
      state->type == FT_VALUE_TENSOR ? ft_live_of(&loop->r->live, state->tensor) : NULL;

  for (int i = 0; i < t->rank; i++) {
    int64_t grown = s && s->rank == t->rank && s->dims[i] >= 0 && t->dims[i] > s->dims[i]
                        ? t->dims[i] - s->dims[i]
                        : 0;

    dims[i] = t->dims[i];
    if (grown)
      dims[i] = turns < 0 ? -1 : ft_plus(t->dims[i], ft_times(grown, turns - 1));
    dims[i] = dims[i] > FT_GRAPH_DIMENSION ? -1 : dims[i];
  }
}

/* RESULT of the block gets the sizes of FROM after TURNS turns; a list's, of LENGTH steps. */
static int give_sizes(struct ft_tf_loop *loop, uint32_t result, const struct ft_operand *state,
                      uint32_t from, int64_t length, int64_t turns)
{
  struct ft_live *l = &loop->r->live;
  struct ft_tensor t = *ft_live_of(l, from);
  int64_t dims[FT_GRAPH_RANK + 1] = { turns < 0 ? -1 : ft_plus(length, turns - 1) }, *to;
  int more = length > 0;

  ft_live_of(l, result)->data = true;
  ft_live_of(l, result)->element = t.element;
  if (t.rank < 0 || t.rank + more > FT_GRAPH_RANK)
    return 0;
  if (dims[0] > FT_GRAPH_DIMENSION)
    dims[0] = -1;
  sizes_after(loop, state, &t, turns, dims + more);
  to = ft_shape(l->in, ft_live_of(l, result), t.rank + more);
  if (to)
    memcpy(to, dims, (size_t)(t.rank + more) * sizeof *to);
  return to ? 0 : -1;
}

static size_t length(const struct ft_operand *v)
{
  return v->type == FT_VALUE_LIST ? v->list->count : 0;
}

/* The tensor that the block gives for NEXT: itself, or a list's step; 0: none. */
static uint32_t given(const struct ft_operand *next, bool longer)
{
  const struct ft_operand *v = longer ? &next->list->items[next->list->count - 1] : next;

  return v->type == FT_VALUE_TENSOR ? v->tensor : 0;
}

/* What the turns leave of NEXT, for which the block gives RESULT. */
static int settle(struct ft_tf_loop *loop, struct ft_operand *state, const struct ft_operand *next,
                  bool longer, uint32_t result, int64_t turns)
{
  double from = number(loop, state), to = number(loop, next);
  struct ft_operand all = ft_value_tensor(result);
  uint32_t tensor = given(next, longer);

  if (tensor &&
      give_sizes(loop, result, state, tensor, longer ? (int64_t)next->list->count : 0, turns) < 0)
    return -1;
  if (turns >= 0 && !isnan(from) && !isnan(to))
    *state = number_like(loop, next, from + (double)turns * (to - from));
  else if (!longer)
    *state = tensor ? all : *next;
  else
    *state = tensor ? ft_value_list(&loop->r->live, FT_VALUE_TUPLE, &all, 1)
                    : ft_value_unknown(FT_VALUE_OPAQUE);
  return 0;
}

/* The rest of the loop as a block of TURNS turns (-1: not known). */
static int fold(struct ft_tf_loop *loop, int64_t turns)
{
  static const char *const names[] = { "body" };
  struct ft_live *l = &loop->r->live;
  struct ft_operand *next = ft_live_take(l, (loop->count + 1) * sizeof *next);
  size_t *lengths = ft_live_take(l, (loop->count + 1) * sizeof *lengths);
  uint32_t *outputs = ft_live_take(l, (loop->count + 1) * sizeof *outputs), count = 0, result;
  struct ft_live_frame frame;

  if (!next || !lengths || !outputs)
    return -1;
  for (size_t i = 0; i < loop->count; i++)
    lengths[i] = length(&loop->state[i]);
  if (ft_live_open(l, &frame) < 0 || loop->turn(loop, loop->state, next) < 0)
    return -1;
  for (size_t i = 0; i < loop->count; i++) {
    outputs[count] = given(&next[i], length(&next[i]) > lengths[i]);
    count += outputs[count] != 0;
  }
  frame.block->outputs = outputs;
  frame.block->output_count = count;
  ft_live_close(l, &frame);
  result = ft_live_blocks(l, "Loop", 0, &frame.block, names, 1, count, turns);
  if (!result)
    return -1;
  for (size_t i = 0; i < loop->count; i++) {
    bool longer = length(&next[i]) > lengths[i];
    uint32_t one = given(&next[i], longer) ? result++ : 0;

    if (settle(loop, &loop->state[i], &next[i], longer, one, turns) < 0)
      return -1;
  }
  return l->in->err->text[0] ? -1 : 0;
}

/* Whether the TURNS that are left, each as long as those so far, are too many to be followed. */
static bool too_long(const struct ft_tf_loop *loop, size_t steps, int64_t done, int64_t turns)
{
  double each = (double)(loop->r->steps - steps) / (double)done + 1;

  return (double)loop->r->steps + each * (double)turns > UNROLLED;
}

int ft_tf_turns(struct ft_tf_loop *loop)
{
  struct ft_live *l = &loop->r->live;
  size_t bytes = loop->count * sizeof *loop->state, begun = loop->r->steps;
  struct ft_operand *before = ft_live_take(l, bytes + 1), *last = ft_live_take(l, bytes + 1);
  struct ft_operand *next = ft_live_take(l, bytes + 1);

  if (!before || !last || !next)
    return -1;
  for (int64_t turn = 0;; turn++) {
    int truth = loop->ask(loop, loop->state);
    int64_t left = -1;

    if (truth == FT_TF_FAILED)
      return -1;
    if (truth == 0)
      return 0;
    if (truth < 0)
      return fold(loop, -1);
    if (turn == LOOK) {
      left = turns_left(loop, before, last);
      if (left == FT_TF_FAILED)
        return -1;
      if (left >= 0 && too_long(loop, begun, turn, left))
        return fold(loop, left);
    }
    if (turn > LOOK && (loop->r->steps > UNROLLED || turn > TURNS))
      return fold(loop, -1);
    if (loop->turn(loop, loop->state, next) < 0)
      return -1;
    memcpy(last, before, bytes);
    memcpy(before, loop->state, bytes);
    memcpy(loop->state, next, bytes);
  }
}
