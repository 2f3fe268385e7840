/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Functions, branches and loops of a TensorFlow graph, of both kinds. */
#include "config.h"

#include <string.h>

#include "predictor/graph/tensorflow_run.h"

enum { TURNS = 1 << 13 };

/* ---- functions and control flow ---- */

static struct ft_tf_function *function_of(struct ft_tf_run *r, const struct ft_tf_node *n,
                                          const char *key)
{
  struct ft_tf_function *fn = ft_names_get(&r->program->by_name, ft_tf_text(n, key, ""));

  if (!fn)
    (void)ft_tf_fail(r, n, "the file has no function of the name that it calls");
  return fn;
}

int ft_tf_run_function(struct ft_tf_run *r, struct ft_tf_call *c, const char *key,
                       const struct ft_operand *args, size_t count)
{
  const struct ft_tf_function *fn = function_of(r, c->node, key);
  const char *scope = r->live.scope;
  int status =
      fn ? ft_tf_follow(r, fn, fn->results, fn->results ? fn->output_count : 0, args, count, c)
         : -1;

  r->live.scope = scope;
  return status;
}

/* Truth of the only value in C: 1, 0; -1 not known. */
static int truth(const struct ft_tf_run *r, const struct ft_tf_call *c)
{
  return c->out_count ? ft_value_truth(&r->live, &c->out[0]) : -1;
}

/* A loop as often as it turns; where that is not known, once, in a block. */
int ft_tf_loop(struct ft_tf_run *r, struct ft_tf_call *c)
{
  static const char *const names[] = { "body" };
  const struct ft_operand *state = c->in;
  size_t count = c->in_count;
  struct ft_tf_call step;
  struct ft_live_frame frame;
  int goes_on = 1;

  for (int i = 0; i < TURNS && goes_on == 1; i++) {
    step = (struct ft_tf_call){ .l = &r->live, .node = c->node };
    if (ft_tf_run_function(r, &step, "cond", state, count) < 0)
      return -1;
    goes_on = truth(r, &step);
    if (goes_on == 0)
      break;
    step = (struct ft_tf_call){ .l = &r->live, .node = c->node };
    if (goes_on < 0 && ft_live_open(&r->live, &frame) < 0)
      return -1;
    if (ft_tf_run_function(r, &step, "body", state, count) < 0)
      return -1;
    if (goes_on < 0)
      ft_live_close(&r->live, &frame);
    state = step.out;
    count = step.out_count;
  }
  if (goes_on == 1)
    return ft_tf_fail(r, c->node, "a loop that does not end");
  if (goes_on < 0 && !ft_live_blocks(&r->live, "Loop", 0, &frame.block, names, 1, 0, -1))
    return -1;
  for (size_t i = 0; i < count; i++) {
    struct ft_operand v = state[i];

    if (goes_on < 0 && v.type == FT_VALUE_TENSOR) {
      const struct ft_tensor *t = ft_live_of(&r->live, v.tensor);
      uint32_t same =
          ft_live_constant(&r->live, t->element, t->rank < 0 ? 0 : t->rank, t->dims, NULL);

      if (!same)
        return -1;
      ft_live_of(&r->live, same)->data = true;
      v = ft_value_tensor(same);
    }
    if (ft_tf_give(c, v) < 0)
      return -1;
  }
  return 0;
}

/* Of two branches the one that is known to be taken, else both, and the first's results. */
int ft_tf_either(struct ft_tf_run *r, struct ft_tf_call *c)
{
  static const char *const names[] = { "then_branch", "else_branch" };
  int taken = c->in_count ? ft_value_truth(&r->live, &c->in[0]) : -1;
  struct ft_block *blocks[2];
  struct ft_live_frame frame;
  struct ft_tf_call sides[2];
  uint32_t first;

  if (!c->in_count)
    return ft_tf_fail(r, c->node, "expected a condition");
  if (taken >= 0)
    return ft_tf_run_function(r, c, taken ? "then_branch" : "else_branch", c->in + 1,
                              c->in_count - 1);
  for (int i = 0; i < 2; i++) {
    sides[i] = (struct ft_tf_call){ .l = &r->live, .node = c->node };
    if (ft_live_open(&r->live, &frame) < 0 ||
        ft_tf_run_function(r, &sides[i], names[i], c->in + 1, c->in_count - 1) < 0)
      return -1;
    ft_live_close(&r->live, &frame);
    blocks[i] = frame.block;
    blocks[i]->outputs = ft_live_take(&r->live, (sides[i].out_count + 1) * sizeof(uint32_t));
    for (size_t j = 0; blocks[i]->outputs && j < sides[i].out_count; j++)
      if (sides[i].out[j].type == FT_VALUE_TENSOR)
        blocks[i]->outputs[blocks[i]->output_count++] = sides[i].out[j].tensor;
  }
  first = ft_live_blocks(&r->live, "If", c->in[0].type == FT_VALUE_TENSOR ? c->in[0].tensor : 0,
                         blocks, names, 2, (uint32_t)sides[0].out_count, 1);
  if (!first)
    return -1;
  for (size_t i = 0; i < sides[0].out_count; i++) {
    if (sides[0].out[i].type == FT_VALUE_TENSOR &&
        ft_like(r->live.in, ft_live_of(&r->live, first + (uint32_t)i),
                ft_live_of(&r->live, sides[0].out[i].tensor)) < 0)
      return -1;
    if (ft_tf_give(c, ft_value_tensor(first + (uint32_t)i)) < 0)
      return -1;
  }
  return 0;
}

/* ---- loops of the first kind: Enter, Merge, Switch, NextIteration, Exit ---- */

/* A turn of a loop: what its nodes gave, begun anew from what is outside. */
struct turn {
  struct ft_tf_scope inside;
  uint8_t *seen;
  struct ft_tf_visit *stack;
  size_t *order;
};

static int begin_turn(struct ft_tf_run *r, const struct ft_tf_scope *s, struct turn *t,
                      const struct ft_tf_node *const *merges, const struct ft_operand *state,
                      size_t count)
{
  size_t n = s->function->node_count;

  r->steps += n / 8; /* what is copied and looked through */
  if (r->steps > FT_TF_NODES)
    return ft_live_fail(&r->live, "more than %d nodes, loops unrolled", FT_TF_NODES);
  memcpy(t->inside.values, s->values, n * sizeof *s->values);
  memcpy(t->inside.counts, s->counts, n * sizeof *s->counts);
  for (size_t i = 0; i < n; i++)
    t->seen[i] = s->counts[i] ? 2 : 0;
  for (size_t i = 0; i < count; i++) {
    size_t at = (size_t)(merges[i] - s->function->nodes);
    struct ft_operand *kept = ft_live_take(&r->live, sizeof *kept);

    if (!kept)
      return -1;
    *kept = state[i];
    t->inside.values[at] = kept;
    t->inside.counts[at] = 1;
    t->seen[at] = 2;
  }
  return 0;
}

/* The value of INPUT within a turn. */
static int value_in(struct ft_tf_run *r, struct turn *t, const char *input,
                    struct ft_operand *value)
{
  size_t count = 0;

  if (ft_tf_order(r, &t->inside, input, t->seen, t->stack, t->order, &count) < 0 ||
      ft_tf_run_nodes(r, &t->inside, t->order, count) < 0)
    return -1;
  *value = ft_tf_value(&t->inside, input);
  return 0;
}

/* The loop with CONDITION, turn by turn; where its end is not known, once, in a block. */
static int run_loop(struct ft_tf_run *r, struct ft_tf_scope *s, const struct ft_tf_node *condition)
{
  static const char *const names[] = { "body" };
  struct ft_live *l = &r->live;
  size_t n = s->function->node_count + 1, count = ft_tf_merges(s, condition, NULL);
  const struct ft_tf_node **merges = ft_live_take(l, (count + 1) * sizeof *merges);
  struct ft_operand *state = ft_live_take(l, (count + 1) * sizeof *state);
  struct ft_operand *next = ft_live_take(l, (count + 1) * sizeof *next), value;
  struct turn t = { .inside = *s };
  struct ft_live_frame frame;
  int goes_on = 1;

  t.inside.values = ft_live_take(l, n * sizeof *t.inside.values);
  t.inside.counts = ft_live_take(l, n * sizeof *t.inside.counts);
  t.seen = ft_live_take(l, n);
  t.stack = ft_live_take(l, n * sizeof *t.stack);
  t.order = ft_live_take(l, n * sizeof *t.order);
  if (!merges || !state || !next || !t.inside.values || !t.inside.counts || !t.seen || !t.stack ||
      !t.order)
    return -1;
  (void)ft_tf_merges(s, condition, merges);
  for (size_t i = 0; i < count; i++)
    state[i] = ft_tf_value(s, merges[i]->inputs[0]);
  for (int i = 0; i < TURNS && goes_on == 1; i++) {
    if (begin_turn(r, s, &t, merges, state, count) < 0 ||
        value_in(r, &t, condition->input_count ? condition->inputs[0] : "", &value) < 0)
      return -1;
    goes_on = ft_value_truth(l, &value);
    if (goes_on == 0)
      break;
    if (goes_on < 0 && ft_live_open(l, &frame) < 0)
      return -1;
    for (size_t j = 0; j < count; j++) {
      const struct ft_tf_node *again = ft_tf_before(s, merges[j], 1, "NextIteration");

      next[j] = state[j];
      if (again && again->input_count && value_in(r, &t, again->inputs[0], &next[j]) < 0)
        return -1;
    }
    if (goes_on < 0)
      ft_live_close(l, &frame);
    else
      memcpy(state, next, count * sizeof *state);
  }
  if (goes_on == 1)
    return ft_tf_fail(r, condition, "a loop that does not end");
  if (goes_on < 0 && !ft_live_blocks(l, "Loop", 0, &frame.block, names, 1, 0, -1))
    return -1;
  for (size_t i = 0; i < count; i++) { /* what it ends with stands for the merge from now on */
    size_t at = (size_t)(merges[i] - s->function->nodes);
    struct ft_operand *kept = ft_live_take(l, sizeof *kept);

    if (!kept)
      return -1;
    *kept = state[i];
    s->values[at] = kept;
    s->counts[at] = 1;
  }
  return 0;
}

int ft_tf_leave(struct ft_tf_run *r, struct ft_tf_scope *s, struct ft_tf_call *c)
{
  const struct ft_tf_node *condition, *merge = ft_tf_merge(s, c->node, &condition);
  size_t at = merge ? (size_t)(merge - s->function->nodes) : 0;

  if (!merge)
    return ft_tf_fail(r, c->node, "expected the end of a loop");
  if (!s->counts[at] && run_loop(r, s, condition) < 0)
    return -1;
  return s->counts[at] ? ft_tf_give(c, s->values[at][0])
                       : ft_tf_give(c, ft_value_some(FT_VALUE_OPAQUE));
}
