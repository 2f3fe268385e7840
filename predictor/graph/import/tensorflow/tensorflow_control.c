/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Functions, branches and loops. TensorFlow 2 writes a loop as a While node that calls functions,
 * TensorFlow 1 as Enter, Merge, Switch, NextIteration and Exit nodes. */
#include "config.h"

#include <string.h>

#include "predictor/graph/import/tensorflow/tensorflow_run.h"

/* ---- functions and control flow ---- */

static struct ft_tf_function *find_called_function(struct ft_tf_run *r, const struct ft_tf_node *n,
                                                   const char *key)
{
  struct ft_tf_function *fn = ft_symbol_table_get(&r->program->by_name, ft_tf_text(n, key, ""));

  if (!fn)
    (void)ft_tf_fail(r, n, "calls a function that the file does not have");
  return fn;
}

int ft_tf_run_function(struct ft_tf_run *r, struct ft_tf_call *c, const char *key,
                       const struct ft_operand *args, size_t count)
{
  const struct ft_tf_function *fn = find_called_function(r, c->node, key);
  const char *scope = r->live.scope;
  int status = fn ? ft_tf_trace_function(r, fn, fn->results, fn->results ? fn->output_count : 0,
                                         args, count, c)
                  : -1;

  r->live.scope = scope;
  return status;
}

/* Calls the function KEY (condition or body) of the While node with STATE. */
static int call_loop_function(struct ft_tf_loop *loop, const char *key,
                              const struct ft_operand *state, struct ft_tf_call *result)
{
  const struct ft_tf_call *c = loop->data;

  *result = (struct ft_tf_call){ .l = &loop->r->live, .node = c->node };
  return ft_tf_run_function(loop->r, result, key, state, loop->count);
}

static int evaluate_condition_function(struct ft_tf_loop *loop, const struct ft_operand *state)
{
  struct ft_tf_call c;

  if (call_loop_function(loop, "cond", state, &c) < 0)
    return FT_TF_FAILED;
  return c.out_count ? ft_value_truth(&loop->r->live, &c.out[0]) : -1;
}

static int run_body_function(struct ft_tf_loop *loop, const struct ft_operand *state,
                             struct ft_operand *next)
{
  struct ft_tf_call c;

  if (call_loop_function(loop, "body", state, &c) < 0)
    return -1;
  for (size_t i = 0; i < loop->count; i++)
    next[i] = i < c.out_count ? c.out[i] : ft_value_unknown(FT_VALUE_OPAQUE);
  return 0;
}

int ft_tf_loop(struct ft_tf_run *r, struct ft_tf_call *c)
{
  struct ft_tf_loop loop = { .r = r,
                             .count = c->in_count,
                             .condition = evaluate_condition_function,
                             .body = run_body_function,
                             .data = c };

  loop.state = ft_tracer_take(&r->live, (loop.count + 1) * sizeof *loop.state);
  if (!loop.state)
    return -1;
  memcpy(loop.state, c->in, loop.count * sizeof *loop.state);
  if (ft_tf_run_loop(&loop) < 0)
    return -1;
  for (size_t i = 0; i < loop.count; i++)
    if (ft_tf_give(c, loop.state[i]) < 0)
      return -1;
  return 0;
}

/* Inlines the branch that the condition selects; if the condition is unknown, records both. */
int ft_tf_if(struct ft_tf_run *r, struct ft_tf_call *c)
{
  static const char *const names[] = { "then_branch", "else_branch" };
  int taken = c->in_count ? ft_value_truth(&r->live, &c->in[0]) : -1;
  struct ft_side sides[2];
  struct ft_operand result;

  if (!c->in_count)
    return ft_tf_fail(r, c->node, "expected a condition");
  if (taken >= 0)
    return ft_tf_run_function(r, c, names[!taken], c->in + 1, c->in_count - 1);
  for (int i = 0; i < 2; i++) {
    struct ft_tf_call side = { .l = &r->live, .node = c->node };
    struct ft_tracer_frame frame;

    if (ft_tracer_open(&r->live, &frame) < 0 ||
        ft_tf_run_function(r, &side, names[i], c->in + 1, c->in_count - 1) < 0)
      return -1;
    ft_tracer_close(&r->live, &frame);
    sides[i] =
        (struct ft_side){ .block = frame.block, .values = side.out, .count = side.out_count };
  }
  result = ft_value_branch(&r->live, &c->in[0], sides);
  for (size_t i = 0; result.type == FT_VALUE_TUPLE && i < result.list->count; i++)
    if (ft_tf_give(c, result.list->items[i]) < 0)
      return -1;
  return result.type == FT_VALUE_TUPLE ? 0 : -1;
}

/* ---- loops of TensorFlow 1: Enter, Merge, Switch, NextIteration, Exit ---- */

/* A loop of Enter and Exit nodes, and the values of the iteration being traced. */
struct merge_loop {
  const struct ft_tf_scope *outside;
  const struct ft_tf_node *condition, **merges;
  const struct ft_operand *traced; /* the state for which INSIDE holds values */
  struct ft_tf_scope inside;
  uint8_t *seen;
  struct ft_tf_visit *stack;
  size_t *order;
};

static int begin_iteration(struct ft_tf_loop *loop, const struct ft_operand *state)
{
  struct merge_loop *t = loop->data;
  const struct ft_tf_scope *s = t->outside;
  struct ft_tf_run *r = loop->r;
  size_t n = s->function->node_count;

  t->traced = state;
  r->steps += n / 8; /* counts the copies and look-ups below */
  if (r->steps > FT_TF_NODES)
    return ft_tracer_fail(&r->live, "more than %d nodes, loops unrolled", FT_TF_NODES);
  memcpy(t->inside.values, s->values, n * sizeof *s->values);
  memcpy(t->inside.counts, s->counts, n * sizeof *s->counts);
  for (size_t i = 0; i < n; i++)
    t->seen[i] = s->counts[i] ? 2 : 0;
  for (size_t i = 0; i < loop->count; i++) {
    size_t at = (size_t)(t->merges[i] - s->function->nodes);
    struct ft_operand *kept = ft_tracer_take(&r->live, sizeof *kept);

    if (!kept)
      return -1;
    *kept = state[i];
    t->inside.values[at] = kept;
    t->inside.counts[at] = 1;
    t->seen[at] = 2;
  }
  return 0;
}

/* Evaluates INPUT within an iteration. */
static int iteration_value(struct ft_tf_run *r, struct merge_loop *t, const char *input,
                           struct ft_operand *value)
{
  size_t count = 0;

  if (ft_tf_order(r, &t->inside, input, t->seen, t->stack, t->order, &count) < 0 ||
      ft_tf_run_nodes(r, &t->inside, t->order, count) < 0)
    return -1;
  *value = ft_tf_value(&t->inside, input);
  return 0;
}

static int evaluate_condition_node(struct ft_tf_loop *loop, const struct ft_operand *state)
{
  struct merge_loop *t = loop->data;
  struct ft_operand value;

  if (begin_iteration(loop, state) < 0 ||
      iteration_value(loop->r, t, t->condition->input_count ? t->condition->inputs[0] : "",
                      &value) < 0)
    return FT_TF_FAILED;
  return ft_value_truth(&loop->r->live, &value);
}

static int run_body_nodes(struct ft_tf_loop *loop, const struct ft_operand *state,
                          struct ft_operand *next)
{
  struct merge_loop *t = loop->data;

  if (t->traced != state && begin_iteration(loop, state) < 0)
    return -1;
  for (size_t i = 0; i < loop->count; i++) {
    const struct ft_tf_node *again = ft_tf_input_node(&t->inside, t->merges[i], 1, "NextIteration");

    next[i] = state[i];
    if (again && again->input_count && iteration_value(loop->r, t, again->inputs[0], &next[i]) < 0)
      return -1;
  }
  return 0;
}

/* Runs the loop with CONDITION; its final state becomes the values of its Merge nodes. */
static int run_merge_loop(struct ft_tf_run *r, struct ft_tf_scope *s,
                          const struct ft_tf_node *condition)
{
  struct ft_tracer *l = &r->live;
  size_t n = s->function->node_count + 1, count = ft_tf_merges(s, condition, NULL);
  struct merge_loop t = { .outside = s, .condition = condition, .inside = *s };
  struct ft_tf_loop loop = {
    .r = r, .count = count, .condition = evaluate_condition_node, .body = run_body_nodes, .data = &t
  };

  t.merges = ft_tracer_take(l, (count + 1) * sizeof *t.merges);
  t.inside.values = ft_tracer_take(l, n * sizeof *t.inside.values);
  t.inside.counts = ft_tracer_take(l, n * sizeof *t.inside.counts);
  t.seen = ft_tracer_take(l, n);
  t.stack = ft_tracer_take(l, n * sizeof *t.stack);
  t.order = ft_tracer_take(l, n * sizeof *t.order);
  loop.state = ft_tracer_take(l, (count + 1) * sizeof *loop.state);
  if (!t.merges || !t.inside.values || !t.inside.counts || !t.seen || !t.stack || !t.order ||
      !loop.state)
    return -1;
  (void)ft_tf_merges(s, condition, t.merges);
  for (size_t i = 0; i < count; i++)
    loop.state[i] = ft_tf_value(s, t.merges[i]->inputs[0]);
  if (ft_tf_run_loop(&loop) < 0)
    return -1;
  for (size_t i = 0; i < count; i++) {
    size_t at = (size_t)(t.merges[i] - s->function->nodes);

    s->values[at] = &loop.state[i];
    s->counts[at] = 1;
  }
  return 0;
}

int ft_tf_exit(struct ft_tf_run *r, struct ft_tf_scope *s, struct ft_tf_call *c)
{
  const struct ft_tf_node *condition, *merge = ft_tf_merge(s, c->node, &condition);
  size_t at = merge ? (size_t)(merge - s->function->nodes) : 0;

  if (!merge)
    return ft_tf_fail(r, c->node, "expected the end of a loop");
  if (!s->counts[at] && run_merge_loop(r, s, condition) < 0)
    return -1;
  return s->counts[at] ? ft_tf_give(c, s->values[at][0])
                       : ft_tf_give(c, ft_value_unknown(FT_VALUE_OPAQUE));
}
