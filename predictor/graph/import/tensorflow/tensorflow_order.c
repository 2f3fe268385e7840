/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inputs of nodes, and the order in which nodes are traced. */
#include "config.h"

#include <string.h>

#include "predictor/core/text.h"
#include "predictor/graph/import/tensorflow/tensorflow_run.h"

/* ---- names of inputs ---- */

/* The node that INPUT ("^node", "node", "node:1", "node:output:1") refers to; WHICH is set to the
 * index of the node's result. */
static const struct ft_tf_node *find_source(const struct ft_tf_function *fn, const char *input,
                                            uint32_t *which)
{
  static const char *const seconds[] = { "indices", "batch_mean", "argmax", "idx", NULL };
  const char *colon = strchr(input, ':'), *last = strrchr(input, ':');
  const char *name = input[0] == '^' ? input + 1 : input;
  char text[FT_GRAPH_NAME + 1];
  struct ft_text number;
  uint64_t place;

  *which = 0;
  if (colon) {
    if (!ft_text_copy(ft_text_of(name, (size_t)(colon - name)), text, sizeof text))
      return NULL;
    name = text;
    number = ft_text_from(last + 1);
    if (ft_text_u64(&number, UINT32_MAX - 1, &place))
      *which = (uint32_t)place;
    for (size_t i = 0; last > colon && seconds[i]; i++)
      if ((size_t)(last - colon - 1) == strlen(seconds[i]) &&
          memcmp(colon + 1, seconds[i], strlen(seconds[i])) == 0)
        *which += 1;
  }
  return ft_symbol_table_get(&((struct ft_tf_function *)fn)->by_name, name);
}

static struct ft_tf_link *link_slot(const struct ft_tf_function *fn, const char *input)
{
  size_t at = ((uintptr_t)input >> 4) * 0x9e3779b97f4a7c15u >> 20;

  for (at &= fn->link_room - 1; fn->links[at].input && fn->links[at].input != input;)
    at = (at + 1) & (fn->link_room - 1);
  return &fn->links[at];
}

static void resolve_input(struct ft_tf_function *fn, const char *input)
{
  struct ft_tf_link *link = link_slot(fn, input);

  if (link->input)
    return;
  *link = (struct ft_tf_link){ .input = input };
  link->node = find_source(fn, input, &link->which);
  for (size_t a = 0; !link->node && !link->argument && a < fn->argument_count; a++)
    if (strcmp(fn->arguments[a], input) == 0)
      link->argument = (uint32_t)a + 1;
}

int ft_tf_link_all(struct ft_build *build, struct ft_tf_function *fn)
{
  size_t count = fn->output_count;

  for (size_t i = 0; i < fn->node_count; i++)
    count += fn->nodes[i].input_count;
  for (fn->link_room = 16; fn->link_room < 2 * count;)
    fn->link_room *= 2;
  fn->links = ft_build_take(build, fn->link_room * sizeof *fn->links);
  if (!fn->links)
    return -1;
  for (size_t i = 0; i < fn->node_count; i++)
    for (size_t j = 0; j < fn->nodes[i].input_count; j++)
      resolve_input(fn, fn->nodes[i].inputs[j]);
  for (size_t i = 0; fn->results && i < fn->output_count; i++)
    if (fn->results[i])
      resolve_input(fn, fn->results[i]);
  return 0;
}

const struct ft_tf_node *ft_tf_source(const struct ft_tf_scope *s, const char *input,
                                      uint32_t *which)
{
  const struct ft_tf_link *link = link_slot(s->function, input);

  if (!link->input)
    return find_source(s->function, input, which);
  *which = link->which;
  return link->node;
}

struct ft_operand ft_tf_value(struct ft_tf_scope *s, const char *input)
{
  const struct ft_tf_link *link = link_slot(s->function, input);
  uint32_t which;
  const struct ft_tf_node *n = ft_tf_source(s, input, &which);
  size_t i = n ? (size_t)(n - s->function->nodes) : 0;

  if (!n)
    return link->argument && link->argument <= s->argument_count
               ? s->arguments[link->argument - 1]
               : ft_value_unknown(FT_VALUE_OPAQUE);
  return which < s->counts[i] ? s->values[i][which] : ft_value_unknown(FT_VALUE_OPAQUE);
}

/* ---- decomposed normalisation (tf.nn.batch_normalization) ---- */

const struct ft_tf_node *ft_tf_input_node(struct ft_tf_scope *s, const struct ft_tf_node *n,
                                          size_t i, const char *op)
{
  const struct ft_tf_node *m;
  uint32_t which;

  m = n && i < n->input_count ? ft_tf_source(s, n->inputs[i], &which) : NULL;

  return m && (!op || strncmp(m->op, op, strlen(op)) == 0) ? m : NULL;
}

bool ft_tf_is_normalisation(struct ft_tf_scope *s, const struct ft_tf_node *n, const char *in[5])
{
  const struct ft_tf_node *scaled = ft_tf_input_node(s, n, 0, "Mul"),
                          *sub = ft_tf_input_node(s, n, 1, "Sub");
  const struct ft_tf_node *mean = ft_tf_input_node(s, sub, 1, "Mul"), *factor, *root, *sum, *own;

  if (strncmp(n->op, "Add", 3) != 0 || !scaled || !sub || !mean || scaled->input_count < 2 ||
      mean->input_count < 2)
    return false;
  factor = ft_tf_input_node(s, scaled, 1, NULL);
  if (!factor || ft_tf_input_node(s, mean, 1, NULL) != factor)
    return false;
  root = strcmp(factor->op, "Rsqrt") == 0 ? factor : ft_tf_input_node(s, factor, 0, "Rsqrt");
  sum = ft_tf_input_node(s, root, 0, "Add");
  if (!sum || sum->input_count < 2 || (factor != root && factor->input_count < 2))
    return false;
  in[0] = scaled->inputs[0];
  in[1] = factor == root ? "" : factor->inputs[1];
  in[2] = sub->inputs[0];
  in[3] = mean->inputs[0];
  in[4] = sum->inputs[0];
  /* mean and variance are those of the data: a layer normalisation */
  own = ft_tf_input_node(s, mean, 0, "Mean");
  if (own && own->input_count && strcmp(own->inputs[0], in[0]) == 0)
    in[3] = in[4] = "";
  return true;
}

/* ---- order ---- */

const struct ft_tf_node *ft_tf_merge(struct ft_tf_scope *s, const struct ft_tf_node *exit,
                                     const struct ft_tf_node **condition)
{
  const struct ft_tf_node *sw = ft_tf_input_node(s, exit, 0, "Switch");
  const struct ft_tf_node *merge = ft_tf_input_node(s, sw, 0, "Merge");

  *condition = ft_tf_input_node(s, sw, 1, "LoopCond");
  return merge && *condition && merge->input_count > 1 ? merge : NULL;
}

size_t ft_tf_merges(struct ft_tf_scope *s, const struct ft_tf_node *condition,
                    const struct ft_tf_node **list)
{
  const struct ft_tf_function *fn = s->function;
  size_t count = 0;

  for (size_t i = 0; i < fn->node_count; i++) {
    const struct ft_tf_node *merge;

    if (strcmp(fn->nodes[i].op, "Switch") != 0 ||
        ft_tf_input_node(s, &fn->nodes[i], 1, NULL) != condition)
      continue;
    merge = ft_tf_input_node(s, &fn->nodes[i], 0, "Merge");
    if (!merge || merge->input_count < 2)
      continue;
    if (list)
      list[count] = merge;
    count++;
  }
  return count;
}

static const char *const *node_inputs(struct ft_tf_scope *s, struct ft_tracer *l,
                                      const struct ft_tf_node *n, const char *room[5],
                                      size_t *count)
{
  const struct ft_tf_node *condition, **merges;
  const char **wanted;

  if (strcmp(n->op, "Exit") == 0 && ft_tf_merge(s, n, &condition)) {
    *count = ft_tf_merges(s, condition, NULL);
    merges = ft_tracer_take(l, (*count + 1) * sizeof *merges);
    wanted = ft_tracer_take(l, (*count + 1) * sizeof *wanted);
    if (merges && wanted) {
      (void)ft_tf_merges(s, condition, merges);
      for (size_t i = 0; i < *count; i++)
        wanted[i] = merges[i]->inputs[0];
      return wanted;
    }
  }
  *count = strcmp(n->op, "Merge") == 0
               ? 1
               : n->input_count; /* a loop's second input is the loop's own result */
  if (!ft_tf_is_normalisation(s, n, room))
    return n->inputs;
  *count = 5;
  return room;
}

int ft_tf_order(struct ft_tf_run *r, struct ft_tf_scope *s, const char *input, uint8_t *seen,
                struct ft_tf_visit *stack, size_t *order, size_t *count)
{
  uint32_t which;
  size_t depth = 0;
  const struct ft_tf_node *nodes = s->function->nodes, *n = ft_tf_source(s, input, &which);

  if (!n || seen[n - nodes])
    return 0;
  stack[depth++] = (struct ft_tf_visit){ .node = (size_t)(n - nodes) };
  seen[n - nodes] = 1;
  while (depth) {
    struct ft_tf_visit *v = &stack[depth - 1];

    if (!v->list)
      v->list = node_inputs(s, &r->live, &nodes[v->node], v->room, &v->count);
    while (v->next < v->count && v->list[v->next][0] == '^')
      v->next++;
    if (v->next >= v->count) {
      seen[v->node] = 2;
      order[(*count)++] = v->node;
      depth--;
      continue;
    }
    n = ft_tf_source(s, v->list[v->next++], &which);
    if (!n || seen[n - nodes] == 2)
      continue;
    if (seen[n - nodes] == 1)
      return ft_tf_fail(r, n, "depends on its own result");
    seen[n - nodes] = 1;
    stack[depth++] = (struct ft_tf_visit){ .node = (size_t)(n - nodes) };
  }
  return r->live.failed ? -1 : 0;
}
