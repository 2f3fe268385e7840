/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the nodes of a TensorFlow graph need, and in which order they are followed. */
#include "config.h"

#include <string.h>

#include "predictor/core/text.h"
#include "predictor/graph/tensorflow_run.h"

/* ---- what an input names ---- */

/* "^node", "node", "node:1", "node:output:1": the node's part of it, and which result. */
const struct ft_tf_node *ft_tf_source(const struct ft_tf_scope *s, struct ft_live *l,
                                      const char *input, size_t *which)
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

struct ft_operand ft_tf_value(struct ft_tf_scope *s, struct ft_live *l, const char *input)
{
  size_t which;
  const struct ft_tf_node *n = ft_tf_source(s, l, input, &which);
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

const struct ft_tf_node *ft_tf_before(struct ft_tf_scope *s, struct ft_live *l,
                                      const struct ft_tf_node *n, size_t i, const char *op)
{
  size_t which;
  const struct ft_tf_node *m =
      n && i < n->input_count ? ft_tf_source(s, l, n->inputs[i], &which) : NULL;

  return m && (!op || strncmp(m->op, op, strlen(op)) == 0) ? m : NULL;
}

/* x m + (shift - mean m) with m = rsqrt(variance + e) gain: the inputs x, gain, shift, mean,
 * variance, "" where there is no gain. */
bool ft_tf_is_normalisation(struct ft_tf_scope *s, struct ft_live *l, const struct ft_tf_node *n,
                            const char *in[5])
{
  const struct ft_tf_node *scaled = ft_tf_before(s, l, n, 0, "Mul"),
                          *sub = ft_tf_before(s, l, n, 1, "Sub");
  const struct ft_tf_node *mean = ft_tf_before(s, l, sub, 1, "Mul"), *factor, *root, *sum;

  if (strncmp(n->op, "Add", 3) != 0 || !scaled || !sub || !mean || scaled->input_count < 2 ||
      mean->input_count < 2)
    return false;
  factor = ft_tf_before(s, l, scaled, 1, NULL);
  if (!factor || ft_tf_before(s, l, mean, 1, NULL) != factor)
    return false;
  root = strcmp(factor->op, "Rsqrt") == 0 ? factor : ft_tf_before(s, l, factor, 0, "Rsqrt");
  sum = ft_tf_before(s, l, root, 0, "Add");
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

/* A loop of the first kind: the switch that EXIT ends, and the merge that it takes its value from.
 */
const struct ft_tf_node *ft_tf_merge(struct ft_tf_scope *s, struct ft_live *l,
                                     const struct ft_tf_node *exit,
                                     const struct ft_tf_node **condition)
{
  const struct ft_tf_node *sw = ft_tf_before(s, l, exit, 0, "Switch");
  const struct ft_tf_node *merge = ft_tf_before(s, l, sw, 0, "Merge");

  *condition = ft_tf_before(s, l, sw, 1, "LoopCond");
  return merge && *condition && merge->input_count > 1 ? merge : NULL;
}

/* The merges of the loop with CONDITION, into LIST where that is not NULL; how many. */
size_t ft_tf_merges(struct ft_tf_scope *s, struct ft_live *l, const struct ft_tf_node *condition,
                    const struct ft_tf_node **list)
{
  const struct ft_tf_function *fn = s->function;
  size_t count = 0;

  for (size_t i = 0; i < fn->node_count; i++) {
    const struct ft_tf_node *merge;

    if (strcmp(fn->nodes[i].op, "Switch") != 0 ||
        ft_tf_before(s, l, &fn->nodes[i], 1, NULL) != condition)
      continue;
    merge = ft_tf_before(s, l, &fn->nodes[i], 0, "Merge");
    if (!merge || merge->input_count < 2)
      continue;
    if (list)
      list[count] = merge;
    count++;
  }
  return count;
}

static const char *const *needs(struct ft_tf_scope *s, struct ft_live *l,
                                const struct ft_tf_node *n, const char *room[5], size_t *count)
{
  const struct ft_tf_node *condition, **merges;
  const char **wanted;

  if (strcmp(n->op, "Exit") == 0 && ft_tf_merge(s, l, n, &condition)) {
    *count = ft_tf_merges(s, l, condition, NULL);
    merges = ft_live_take(l, (*count + 1) * sizeof *merges);
    wanted = ft_live_take(l, (*count + 1) * sizeof *wanted);
    if (merges && wanted) {
      (void)ft_tf_merges(s, l, condition, merges);
      for (size_t i = 0; i < *count; i++)
        wanted[i] = merges[i]->inputs[0];
      return wanted;
    }
  }
  *count = strcmp(n->op, "Merge") == 0 ? 1 : n->input_count; /* a loop's second is its own result */
  if (!ft_tf_is_normalisation(s, l, n, room))
    return n->inputs;
  *count = 5;
  return room;
}

/* Add the nodes that INPUT needs to ORDER, each behind what it needs itself. */
int ft_tf_order(struct ft_tf_run *r, struct ft_tf_scope *s, const char *input, uint8_t *seen,
                struct ft_tf_visit *stack, size_t *order, size_t *count)
{
  size_t which, depth = 0;
  const struct ft_tf_node *nodes = s->function->nodes,
                          *n = ft_tf_source(s, &r->live, input, &which);

  if (!n || seen[n - nodes])
    return 0;
  stack[depth++] = (struct ft_tf_visit){ .node = (size_t)(n - nodes) };
  seen[n - nodes] = 1;
  while (depth) {
    struct ft_tf_visit *v = &stack[depth - 1];

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
    n = ft_tf_source(s, &r->live, v->list[v->next++], &which);
    if (!n || seen[n - nodes] == 2)
      continue;
    if (seen[n - nodes] == 1)
      return ft_tf_fail(r, n, "waits for its own result");
    seen[n - nodes] = 1;
    stack[depth++] = (struct ft_tf_visit){ .node = (size_t)(n - nodes) };
  }
  return r->live.failed ? -1 : 0;
}
