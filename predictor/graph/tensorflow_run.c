/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A TensorFlow graph followed from its outputs back: each node once what it needs is there,
 * functions in the place of their calls, loops turn by turn while their condition is known.
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/core/text.h"
#include "predictor/graph/tensorflow.h"

enum { CALLS = 64, TURNS = 1 << 13, NODES = 1 << 18 };

struct run {
  struct ft_live live;
  struct ft_tf_program *program;
  int depth;
  size_t steps;
};

/* A function being followed, or the graph: what its nodes gave. */
struct scope {
  const struct ft_tf_function *function;
  struct ft_operand **values; /* of each node */
  size_t *counts;
  const struct ft_operand *arguments;
  size_t argument_count;
};

static int fail(struct run *r, const struct ft_tf_node *n, const char *what)
{
  return ft_error_set(r->live.in->err, "%s: byte %llu: %.40s \"%.120s\": %s", r->live.graph->file,
                      (unsigned long long)n->at, n->op, n->name, what);
}

/* ---- attributes ---- */

const struct ft_tf_attribute *ft_tf_attribute(const struct ft_tf_node *node, const char *key)
{
  for (size_t i = 0; i < node->attribute_count; i++)
    if (strcmp(node->attributes[i].key, key) == 0)
      return &node->attributes[i];
  return NULL;
}

int64_t ft_tf_integer(const struct ft_tf_node *node, const char *key, int64_t otherwise)
{
  const struct ft_tf_attribute *a = ft_tf_attribute(node, key);

  return a ? a->integer : otherwise;
}

const char *ft_tf_text(const struct ft_tf_node *node, const char *key, const char *otherwise)
{
  const struct ft_tf_attribute *a = ft_tf_attribute(node, key);

  return a ? a->text : otherwise;
}

int ft_tf_give(struct ft_tf_call *c, struct ft_operand value)
{
  struct ft_operand *out = ft_live_grow(c->l, c->out, &c->out_room, c->out_count, sizeof *out);

  if (!out)
    return -1;
  c->out = out;
  out[c->out_count++] = value;
  return 0;
}

/* ---- what an input names ---- */

/* "^node", "node", "node:1", "node:output:1": the node's part of it, and which result. */
static const struct ft_tf_node *source(const struct scope *s, struct ft_live *l, const char *input,
                                       size_t *which)
{
  static const char *const seconds[] = { "indices", "batch_mean", "argmax", "idx", NULL };
  const char *colon = strchr(input, ':'), *last = strrchr(input, ':');
  const char *name = input[0] == '^' ? input + 1 : input;
  struct ft_text number;
  uint64_t place;

  *which = 0;
  if (colon) {
    name = ft_live_text(l, name, (size_t)(colon - name));
    number = ft_text_from(last + 1);
    if (ft_text_u64(&number, UINT32_MAX, &place))
      *which = (size_t)place;
    for (size_t i = 0; last > colon && seconds[i]; i++)
      if ((size_t)(last - colon - 1) == strlen(seconds[i]) &&
          memcmp(colon + 1, seconds[i], strlen(seconds[i])) == 0)
        *which += 1;
  }
  return name ? ft_names_get(&((struct ft_tf_function *)s->function)->by_name, name) : NULL;
}

static struct ft_operand value_of(struct scope *s, struct ft_live *l, const char *input)
{
  size_t which;
  const struct ft_tf_node *n = source(s, l, input, &which);
  size_t i = n ? (size_t)(n - s->function->nodes) : 0;

  if (!n) {
    for (size_t a = 0; a < s->function->argument_count && a < s->argument_count; a++)
      if (strcmp(s->function->arguments[a], input) == 0)
        return s->arguments[a];
    return ft_value_some(FT_VALUE_OPAQUE);
  }
  return which < s->counts[i] ? s->values[i][which] : ft_value_some(FT_VALUE_OPAQUE);
}

/* ---- normalisation that is spelled out (tf.nn.batch_normalization) ---- */

static const struct ft_tf_node *node_at(struct scope *s, struct ft_live *l,
                                        const struct ft_tf_node *n, size_t i, const char *op)
{
  size_t which;
  const struct ft_tf_node *m = n && i < n->input_count ? source(s, l, n->inputs[i], &which) : NULL;

  return m && (!op || strncmp(m->op, op, strlen(op)) == 0) ? m : NULL;
}

/* x m + (shift - mean m) with m = rsqrt(variance + e) gain: the inputs x, gain, shift, mean,
 * variance, "" where there is no gain. */
static bool is_normalisation(struct scope *s, struct ft_live *l, const struct ft_tf_node *n,
                             const char *in[5])
{
  const struct ft_tf_node *scaled = node_at(s, l, n, 0, "Mul"), *sub = node_at(s, l, n, 1, "Sub");
  const struct ft_tf_node *mean = node_at(s, l, sub, 1, "Mul"), *factor, *root, *sum;

  if (strncmp(n->op, "Add", 3) != 0 || !scaled || !sub || !mean || scaled->input_count < 2 ||
      mean->input_count < 2)
    return false;
  factor = node_at(s, l, scaled, 1, NULL);
  if (!factor || node_at(s, l, mean, 1, NULL) != factor)
    return false;
  root = strcmp(factor->op, "Rsqrt") == 0 ? factor : node_at(s, l, factor, 0, "Rsqrt");
  sum = node_at(s, l, root, 0, "Add");
  if (!sum || sum->input_count < 2 || (factor != root && factor->input_count < 2))
    return false;
  in[0] = scaled->inputs[0];
  in[1] = factor == root ? "" : factor->inputs[1];
  in[2] = sub->inputs[0];
  in[3] = mean->inputs[0];
  in[4] = sum->inputs[0];
  return true;
}

/* ---- order ---- */

/* A loop of the first kind: the switch that EXIT ends, and the merge that it takes its value from. */
static const struct ft_tf_node *merge_of(struct scope *s, struct ft_live *l,
                                         const struct ft_tf_node *exit,
                                         const struct ft_tf_node **condition)
{
  const struct ft_tf_node *sw = node_at(s, l, exit, 0, "Switch");
  const struct ft_tf_node *merge = node_at(s, l, sw, 0, "Merge");

  *condition = node_at(s, l, sw, 1, "LoopCond");
  return merge && *condition && merge->input_count > 1 ? merge : NULL;
}

/* The merges of the loop with CONDITION, into LIST where that is not NULL; how many. */
static size_t merges_of(struct scope *s, struct ft_live *l, const struct ft_tf_node *condition,
                        const struct ft_tf_node **list)
{
  const struct ft_tf_function *fn = s->function;
  size_t count = 0;

  for (size_t i = 0; i < fn->node_count; i++) {
    const struct ft_tf_node *merge;

    if (strcmp(fn->nodes[i].op, "Switch") != 0 || node_at(s, l, &fn->nodes[i], 1, NULL) != condition)
      continue;
    merge = node_at(s, l, &fn->nodes[i], 0, "Merge");
    if (!merge || merge->input_count < 2)
      continue;
    if (list)
      list[count] = merge;
    count++;
  }
  return count;
}

static const char *const *needs(struct scope *s, struct ft_live *l, const struct ft_tf_node *n,
                                const char *room[5], size_t *count)
{
  const struct ft_tf_node *condition, **merges;
  const char **wanted;

  if (strcmp(n->op, "Exit") == 0 && merge_of(s, l, n, &condition)) {
    *count = merges_of(s, l, condition, NULL);
    merges = ft_live_take(l, (*count + 1) * sizeof *merges);
    wanted = ft_live_take(l, (*count + 1) * sizeof *wanted);
    if (merges && wanted) {
      (void)merges_of(s, l, condition, merges);
      for (size_t i = 0; i < *count; i++)
        wanted[i] = merges[i]->inputs[0];
      return wanted;
    }
  }
  *count = strcmp(n->op, "Merge") == 0 ? 1 : n->input_count; /* a loop's second is its own result */
  if (!is_normalisation(s, l, n, room))
    return n->inputs;
  *count = 5;
  return room;
}

struct visit {
  size_t node, next, count;
  const char *const *list;
  const char *room[5];
};

/* Add the nodes that INPUT needs to ORDER, each behind what it needs itself. */
static int put_in_order(struct run *r, struct scope *s, const char *input, uint8_t *seen,
                        struct visit *stack, size_t *order, size_t *count)
{
  size_t which, depth = 0;
  const struct ft_tf_node *nodes = s->function->nodes, *n = source(s, &r->live, input, &which);

  if (!n || seen[n - nodes])
    return 0;
  stack[depth++] = (struct visit){ .node = (size_t)(n - nodes) };
  seen[n - nodes] = 1;
  while (depth) {
    struct visit *v = &stack[depth - 1];

    if (!v->list)
      v->list = needs(s, &r->live, &nodes[v->node], v->room, &v->count);
    while (v->next < v->count && v->list[v->next][0] == '^')
      v->next++;
    if (v->next >= v->count) {
      seen[v->node] = 2;
      order[(*count)++] = v->node;
      depth--;
      continue;
    }
    n = source(s, &r->live, v->list[v->next++], &which);
    if (!n || seen[n - nodes] == 2)
      continue;
    if (seen[n - nodes] == 1)
      return fail(r, n, "waits for its own result");
    seen[n - nodes] = 1;
    stack[depth++] = (struct visit){ .node = (size_t)(n - nodes) };
  }
  return r->live.failed ? -1 : 0;
}

/* ---- functions and control flow ---- */

static int follow(struct run *r, const struct ft_tf_function *fn, const char *const *outputs,
                  size_t output_count, const struct ft_operand *args, size_t arg_count,
                  struct ft_tf_call *into);

static struct ft_tf_function *function_of(struct run *r, const struct ft_tf_node *n,
                                          const char *key)
{
  struct ft_tf_function *fn = ft_names_get(&r->program->by_name, ft_tf_text(n, key, ""));

  if (!fn)
    (void)fail(r, n, "the file has no function of the name that it calls");
  return fn;
}

static int call(struct run *r, struct ft_tf_call *c, const char *key, const struct ft_operand *args,
                size_t count)
{
  const struct ft_tf_function *fn = function_of(r, c->node, key);
  const char *scope = r->live.scope;
  int status = fn ? follow(r, fn, fn->results, fn->results ? fn->output_count : 0, args, count, c)
                  : -1;

  r->live.scope = scope;
  return status;
}

/* Truth of the only value in C: 1, 0; -1 not known. */
static int truth(const struct run *r, const struct ft_tf_call *c)
{
  return c->out_count ? ft_value_truth(&r->live, &c->out[0]) : -1;
}

/* A loop as often as it turns; where that is not known, once, in a block. */
static int loop(struct run *r, struct ft_tf_call *c)
{
  static const char *const names[] = { "body" };
  const struct ft_operand *state = c->in;
  size_t count = c->in_count;
  struct ft_tf_call step;
  struct ft_live_frame frame;
  int goes_on = 1;

  for (int i = 0; i < TURNS && goes_on == 1; i++) {
    step = (struct ft_tf_call){ .l = &r->live, .node = c->node };
    if (call(r, &step, "cond", state, count) < 0)
      return -1;
    goes_on = truth(r, &step);
    if (goes_on == 0)
      break;
    step = (struct ft_tf_call){ .l = &r->live, .node = c->node };
    if (goes_on < 0 && ft_live_open(&r->live, &frame) < 0)
      return -1;
    if (call(r, &step, "body", state, count) < 0)
      return -1;
    if (goes_on < 0)
      ft_live_close(&r->live, &frame);
    state = step.out;
    count = step.out_count;
  }
  if (goes_on == 1)
    return fail(r, c->node, "a loop that does not end");
  if (goes_on < 0 && !ft_live_blocks(&r->live, "Loop", 0, &frame.block, names, 1, 0, -1))
    return -1;
  for (size_t i = 0; i < count; i++) {
    struct ft_operand v = state[i];

    if (goes_on < 0 && v.type == FT_VALUE_TENSOR) {
      const struct ft_tensor *t = ft_live_of(&r->live, v.tensor);
      uint32_t same = ft_live_constant(&r->live, t->element, t->rank < 0 ? 0 : t->rank, t->dims, NULL);

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
static int either(struct run *r, struct ft_tf_call *c)
{
  static const char *const names[] = { "then_branch", "else_branch" };
  int taken = c->in_count ? ft_value_truth(&r->live, &c->in[0]) : -1;
  struct ft_block *blocks[2];
  struct ft_live_frame frame;
  struct ft_tf_call sides[2];
  uint32_t first;

  if (!c->in_count)
    return fail(r, c->node, "expected a condition");
  if (taken >= 0)
    return call(r, c, taken ? "then_branch" : "else_branch", c->in + 1, c->in_count - 1);
  for (int i = 0; i < 2; i++) {
    sides[i] = (struct ft_tf_call){ .l = &r->live, .node = c->node };
    if (ft_live_open(&r->live, &frame) < 0 ||
        call(r, &sides[i], names[i], c->in + 1, c->in_count - 1) < 0)
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

/* ---- nodes ---- */

static int normalise(struct run *r, struct scope *s, struct ft_tf_call *c, const char *const in[5])
{
  struct ft_operand values[5];
  uint32_t tensors[5];
  bool own;

  for (int i = 0; i < 5; i++) {
    values[i] = in[i][0] ? value_of(s, &r->live, in[i]) : ft_value_none();
    tensors[i] = ft_value_as_tensor(&r->live, &values[i]);
    if (!tensors[i] && in[i][0])
      return -1;
  }
  own = ft_live_of(&r->live, tensors[3])->data; /* the data's own mean: of a layer */
  ft_live_op(&r->live, own ? "LayerNormalization" : "BatchNormalization");
  for (int i = 0; i < (own ? 3 : 5); i++)
    ft_live_in(&r->live, tensors[i]);
  if (own)
    ft_live_int(&r->live, "axis", -1);
  tensors[0] = ft_live_end(&r->live, 1);
  return tensors[0] ? ft_tf_give(c, ft_value_tensor(tensors[0])) : -1;
}

/* A variable, or a resource that stands for one. */
static int variable(struct run *r, struct ft_tf_call *c)
{
  const struct ft_tf_attribute *shape = ft_tf_attribute(c->node, "shape");
  struct ft_operand v = { .type = FT_VALUE_WEIGHT };
  const char *names[3] = { c->node->name, ft_tf_text(c->node, "shared_name", ""),
                           ft_tf_text(c->node, "debug_name", "") };

  if (!shape || !shape->shape || shape->shape->rank < 0)
    return ft_tf_give(c, ft_value_some(FT_VALUE_OPAQUE));
  v.weight = ft_live_take(&r->live, sizeof *v.weight);
  if (!v.weight)
    return -1;
  v.weight->name = c->node->name;
  v.weight->declared = *shape->shape;
  v.weight->declared.element = (uint8_t)ft_tf_element(ft_tf_integer(c->node, "dtype", 1));
  for (int i = 0; i < 3; i++)
    v.weight->declared.kept =
        v.weight->declared.kept || (names[i][0] && ft_names_get(&r->program->settled, names[i])) ||
        strstr(names[i], "moving_mean") || strstr(names[i], "moving_variance");
  for (int i = 0; i < v.weight->declared.rank; i++)
    if (v.weight->declared.dims[i] < 0)
      return ft_tf_give(c, ft_value_some(FT_VALUE_OPAQUE));
  return ft_tf_give(c, v);
}

static int input(struct run *r, struct ft_tf_call *c)
{
  const struct ft_tf_attribute *shape = ft_tf_attribute(c->node, "shape");
  struct ft_declared *d = ft_live_take(&r->live, sizeof *d);
  uint32_t tensor;

  if (!d)
    return -1;
  if (shape && shape->shape)
    *d = *shape->shape;
  else
    d->rank = -1;
  if (d->rank == 0) { /* what writers put where they do not know, or a phase to run in */
    const struct ft_tf_attribute *given = ft_tf_attribute(c->node, "_output_shapes");

    d->rank = given && given->shape ? given->shape->rank : d->rank;
    d->dims = given && given->shape ? given->shape->dims : d->dims;
  }
  d->element = (uint8_t)ft_tf_element(ft_tf_integer(c->node, "dtype", 1));
  d->at = c->node->at;
  tensor = ft_live_input(&r->live, c->node->name, d);
  return tensor ? ft_tf_give(c, ft_value_tensor(tensor)) : -1;
}

/* Weights of a frozen graph are constants; a list of sizes or a number is not learnt. */
static int constant(struct run *r, struct ft_tf_call *c)
{
  const struct ft_tf_attribute *a = ft_tf_attribute(c->node, "value");
  struct ft_operand v = { .type = FT_VALUE_WEIGHT };
  uint32_t tensor;

  if (!a || !a->tensor)
    return fail(r, c->node, "expected a value");
  if (a->tensor->rank > 0 && ft_element_is_real(a->tensor->element)) {
    struct ft_tf_node *node = (struct ft_tf_node *)c->node; /* each turn of a loop has the same */

    if (node->expansion != r->program->expansion) {
      node->weight = ft_live_take(&r->live, sizeof *node->weight);
      if (!node->weight)
        return -1;
      node->weight->name = node->name;
      node->weight->declared = *a->tensor;
      node->expansion = r->program->expansion;
    }
    v.weight = node->weight;
    return ft_tf_give(c, v);
  }
  tensor = ft_live_constant(&r->live, a->tensor->element, a->tensor->rank, a->tensor->dims,
                            a->tensor->values);
  return tensor ? ft_tf_give(c, ft_value_tensor(tensor)) : -1;
}

/* ---- loops of the first kind: Enter, Merge, Switch, NextIteration, Exit ---- */

static int run_nodes(struct run *r, struct scope *s, const size_t *order, size_t count);

/* A turn of a loop: what its nodes gave, begun anew from what is outside. */
struct turn {
  struct scope inside;
  uint8_t *seen;
  struct visit *stack;
  size_t *order;
};

static int begin_turn(struct run *r, const struct scope *s, struct turn *t,
                      const struct ft_tf_node *const *merges, const struct ft_operand *state,
                      size_t count)
{
  size_t n = s->function->node_count;

  r->steps += n / 8; /* what is copied and looked through */
  if (r->steps > NODES)
    return ft_live_fail(&r->live, "more than %d nodes, loops unrolled", NODES);
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
static int value_in(struct run *r, struct turn *t, const char *input, struct ft_operand *value)
{
  size_t count = 0;

  if (put_in_order(r, &t->inside, input, t->seen, t->stack, t->order, &count) < 0 ||
      run_nodes(r, &t->inside, t->order, count) < 0)
    return -1;
  *value = value_of(&t->inside, &r->live, input);
  return 0;
}

/* The loop with CONDITION, turn by turn; where its end is not known, once, in a block. */
static int run_loop(struct run *r, struct scope *s, const struct ft_tf_node *condition)
{
  static const char *const names[] = { "body" };
  struct ft_live *l = &r->live;
  size_t n = s->function->node_count + 1, count = merges_of(s, l, condition, NULL);
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
  (void)merges_of(s, l, condition, merges);
  for (size_t i = 0; i < count; i++)
    state[i] = value_of(s, l, merges[i]->inputs[0]);
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
      const struct ft_tf_node *again = node_at(s, l, merges[j], 1, "NextIteration");

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
    return fail(r, condition, "a loop that does not end");
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

static int leave(struct run *r, struct scope *s, struct ft_tf_call *c)
{
  const struct ft_tf_node *condition, *merge = merge_of(s, &r->live, c->node, &condition);
  size_t at = merge ? (size_t)(merge - s->function->nodes) : 0;

  if (!merge)
    return fail(r, c->node, "expected the end of a loop");
  if (!s->counts[at] && run_loop(r, s, condition) < 0)
    return -1;
  return s->counts[at] ? ft_tf_give(c, s->values[at][0])
                       : ft_tf_give(c, ft_value_some(FT_VALUE_OPAQUE));
}

static bool starts(const char *text, const char *with)
{
  return strncmp(text, with, strlen(with)) == 0;
}

static int run_node(struct run *r, struct scope *s, struct ft_tf_call *c)
{
  const char *op = c->node->op, *in[5];
  struct ft_operand *args;
  size_t count = 0;

  if (strcmp(op, "Const") == 0)
    return constant(r, c);
  if (strcmp(op, "Placeholder") == 0) {
    for (size_t i = 0; i < s->argument_count; i++)
      if (strcmp(s->function->arguments[i], c->node->name) == 0)
        return ft_tf_give(c, s->arguments[i]);
    return ft_tf_give(c, ft_value_some(FT_VALUE_OPAQUE));
  }
  if (strcmp(op, "VarHandleOp") == 0 || starts(op, "Variable"))
    return variable(r, c);
  if (strcmp(op, "Exit") == 0)
    return leave(r, s, c);
  if (is_normalisation(s, &r->live, c->node, in))
    return normalise(r, s, c, in);
  args = ft_live_take(&r->live, (c->node->input_count + 1) * sizeof *args);
  if (!args)
    return -1;
  for (size_t i = 0; i < c->node->input_count; i++)
    if (c->node->inputs[i][0] != '^')
      args[count++] = value_of(s, &r->live, c->node->inputs[i]);
  c->in = args;
  c->in_count = count;
  if (strcmp(op, "PartitionedCall") == 0 || strcmp(op, "StatefulPartitionedCall") == 0)
    return call(r, c, "f", args, count);
  if (strcmp(op, "While") == 0 || strcmp(op, "StatelessWhile") == 0)
    return loop(r, c);
  if (strcmp(op, "If") == 0 || strcmp(op, "StatelessIf") == 0)
    return either(r, c);
  if (ft_names_get(&r->program->by_name, op)) { /* a function called by its own name */
    const struct ft_tf_function *fn = ft_names_get(&r->program->by_name, op);

    return follow(r, fn, fn->results, fn->results ? fn->output_count : 0, args, count, c);
  }
  return ft_tensorflow_node(c);
}

static int run_nodes(struct run *r, struct scope *s, const size_t *order, size_t count)
{
  struct ft_live *l = &r->live;

  for (size_t i = 0; i < count; i++) {
    struct ft_tf_call c = { .l = l, .node = &s->function->nodes[order[i]] };

    if (s->counts[order[i]])
      continue;
    l->at = c.node->at;
    l->scope = c.node->name;
    if (++r->steps > NODES)
      return ft_live_fail(l, "more than %d nodes, loops unrolled", NODES);
    if (run_node(r, s, &c) < 0)
      return l->in->err->text[0] ? -1 : fail(r, c.node, "cannot be followed");
    s->values[order[i]] = c.out;
    s->counts[order[i]] = c.out_count;
  }
  return 0;
}

/* What OUTPUTS of FN are, into INTO. */
static int follow(struct run *r, const struct ft_tf_function *fn, const char *const *outputs,
                  size_t output_count, const struct ft_operand *args, size_t arg_count,
                  struct ft_tf_call *into)
{
  struct scope s = { .function = fn, .arguments = args, .argument_count = arg_count };
  struct ft_live *l = &r->live;
  size_t n = fn->node_count + 1, count = 0;
  uint8_t *seen = ft_live_take(l, n);
  struct visit *stack = ft_live_take(l, n * sizeof *stack);
  size_t *order = ft_live_take(l, n * sizeof *order);

  s.values = ft_live_take(l, n * sizeof *s.values);
  s.counts = ft_live_take(l, n * sizeof *s.counts);
  if (!seen || !stack || !order || !s.values || !s.counts)
    return -1;
  if (++r->depth > CALLS)
    return ft_live_fail(l, "functions within each other more than %d deep", CALLS);
  for (size_t i = 0; i < output_count; i++)
    if (outputs[i] && put_in_order(r, &s, outputs[i], seen, stack, order, &count) < 0)
      return -1;
  if (run_nodes(r, &s, order, count) < 0)
    return -1;
  r->depth--;
  for (size_t i = 0; i < output_count; i++)
    if (ft_tf_give(into, outputs[i] ? value_of(&s, l, outputs[i])
                                    : ft_value_some(FT_VALUE_OPAQUE)) < 0)
      return -1;
  return 0;
}

/* ---- the graph ---- */

/* Results that nobody uses: what a frozen graph is for. */
static const char **loose_ends(struct run *r, size_t *count)
{
  static const char *const none[] = { "NoOp", "Const", "Assert", "Placeholder", "SaveV2",
                                      "RestoreV2", "VarHandleOp", NULL };
  const struct ft_tf_function *g = &r->program->graph;
  const char **ends = ft_live_take(&r->live, (g->node_count + 1) * sizeof *ends);
  uint8_t *used = ft_live_take(&r->live, g->node_count + 1);
  struct scope s = { .function = g };
  size_t which;

  if (!ends || !used)
    return NULL;
  for (size_t i = 0; i < g->node_count; i++)
    for (size_t j = 0; j < g->nodes[i].input_count; j++) {
      const struct ft_tf_node *n = source(&s, &r->live, g->nodes[i].inputs[j], &which);

      if (n)
        used[n - g->nodes] = 1;
    }
  for (size_t i = 0; i < g->node_count; i++) {
    bool idle = used[i];

    for (size_t j = 0; none[j]; j++)
      idle = idle || strcmp(g->nodes[i].op, none[j]) == 0;
    if (!idle)
      ends[(*count)++] = g->nodes[i].name;
  }
  return ends;
}

/* Placeholders that the outputs need, before all else: sizes are given to them together. */
static int add_inputs(struct run *r, struct scope *s, const char *const *outputs, size_t count)
{
  const struct ft_tf_function *g = s->function;
  size_t n = g->node_count + 1, needed = 0;
  uint8_t *seen = ft_live_take(&r->live, n);
  struct visit *stack = ft_live_take(&r->live, n * sizeof *stack);
  size_t *order = ft_live_take(&r->live, n * sizeof *order);

  if (!seen || !stack || !order)
    return -1;
  for (size_t i = 0; i < count; i++)
    if (put_in_order(r, s, outputs[i], seen, stack, order, &needed) < 0)
      return -1;
  for (size_t i = 0; i < g->node_count; i++) {
    struct ft_tf_call c = { .l = &r->live, .node = &g->nodes[i] };

    if (seen[i] != 2 || strcmp(g->nodes[i].op, "Placeholder") != 0)
      continue;
    if (input(r, &c) < 0)
      return -1;
    s->values[i] = c.out;
    s->counts[i] = c.out_count;
  }
  return ft_infer_inputs(r->live.in);
}

/* Placeholders become arguments of the graph, which is then followed as a function is. */
static int follow_graph(struct run *r)
{
  struct ft_tf_function graph = r->program->graph;
  const char *const *outputs = r->program->outputs;
  struct ft_tf_call results = { .l = &r->live };
  size_t count = r->program->output_count, n = graph.node_count + 1;
  struct scope s = { .function = &graph };
  struct ft_operand *args;
  const char **names;
  size_t given = 0;

  if (!count)
    outputs = loose_ends(r, &count);
  s.values = ft_live_take(&r->live, n * sizeof *s.values);
  s.counts = ft_live_take(&r->live, n * sizeof *s.counts);
  args = ft_live_take(&r->live, n * sizeof *args);
  names = ft_live_take(&r->live, n * sizeof *names);
  if (!outputs || !s.values || !s.counts || !args || !names ||
      add_inputs(r, &s, outputs, count) < 0)
    return -1;
  for (size_t i = 0; i < graph.node_count; i++)
    if (s.counts[i]) {
      if (ft_live_of(&r->live, s.values[i][0].tensor)->rank < 0)
        return ft_error_set(r->live.in->err,
                            "%s: the file does not say the size of its input \"%.100s\": give it "
                            "with --input",
                            r->live.graph->file, graph.nodes[i].name);
      names[given] = graph.nodes[i].name;
      args[given++] = s.values[i][0];
    }
  graph.arguments = names;
  graph.argument_count = given;
  if (follow(r, &graph, outputs, count, args, given, &results) < 0)
    return -1;
  for (size_t i = 0; i < results.out_count; i++)
    if (results.out[i].type == FT_VALUE_TENSOR &&
        ft_live_output(&r->live, results.out[i].tensor) < 0)
      return -1;
  return 0;
}

int ft_tensorflow_run(struct ft_infer *in)
{
  struct run *r = calloc(1, sizeof *r);
  int status = -1;

  if (!r)
    return ft_error_set(in->err, "%s: out of memory", in->graph->file);
  r->program = in->graph->program;
  r->program->expansion++;
  if (ft_live_begin(&r->live, in) == 0)
    status = follow_graph(r);
  if (status == 0 && r->live.failed)
    status = -1;
  if (status < 0 && !in->err->text[0])
    (void)ft_error_set(in->err, "%s: its graph cannot be followed", in->graph->file);
  free(r);
  return status;
}
