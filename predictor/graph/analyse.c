/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include "predictor/graph/analyse.h"
#include "predictor/graph/shape/infer.h"

/* Returns the MACs of what is computed of parameters alone, once for all samples. */
static int64_t fixed_macs(const struct ft_cost *cost)
{
  int64_t sum = 0;

  for (size_t i = 0; i < cost->layer_count; i++)
    if (!cost->layers[i].depth && !cost->layers[i].op->data)
      sum = ft_known_plus(sum, ft_dim_or(cost->layers[i].macs, 0));
  return sum;
}

/* Multiplies MACs and activations by BATCH. */
static void scale_cost(struct ft_cost *cost, ft_dim batch)
{
  int64_t fixed = fixed_macs(cost), most;

  cost->macs = ft_known_plus(fixed, ft_known_times(cost->macs - fixed, ft_dim_or(batch, 1)));
  cost->activations = ft_known_times(cost->activations, ft_dim_or(batch, 1));
  if (ft_dim_get(cost->macs_at_most, &most))
    cost->macs_at_most =
        ft_dim_plus(ft_dim_of(fixed), ft_dim_times(ft_dim_of(most - fixed), batch));
  cost->activations_at_most = ft_dim_times(cost->activations_at_most, batch);
  cost->open_at_most = ft_dim_times(cost->open_at_most, batch);
  for (size_t i = 0; i < cost->layer_count; i++) {
    struct ft_layer *l = &cost->layers[i];

    if (!l->op->data)
      continue;
    l->macs = ft_dim_times(l->macs, batch);
    l->activations = ft_dim_times(l->activations, batch);
    l->macs_at_most = ft_dim_times(l->macs_at_most, batch);
    l->activations_at_most = ft_dim_times(l->activations_at_most, batch);
  }
}

/* Multiplies the bytes of activations by BATCH. */
static void scale_memory(struct ft_memory *memory, int64_t batch)
{
  memory->activation_peak_bytes = ft_known_times(memory->activation_peak_bytes, batch);
  memory->inference_peak_bytes = ft_known_plus(memory->weight_bytes, memory->activation_peak_bytes);
  memory->saved_bytes = ft_known_times(memory->saved_bytes, batch);
  memory->attention_bytes = ft_known_times(memory->attention_bytes, batch);
  for (size_t i = 0; i < memory->layer_count; i++) {
    memory->layers[i].live_bytes = ft_known_times(memory->layers[i].live_bytes, batch);
    memory->layers[i].saved_bytes = ft_known_times(memory->layers[i].saved_bytes, batch);
  }
}

/* Returns whether the file fixes a batch of 1, that of the exporter's example, in the first input
 * of more than one dimension. */
static bool has_one_sample(const struct ft_graph *graph)
{
  for (uint32_t i = 0; i < graph->block.input_count; i++) {
    const struct ft_tensor *t = &graph->tensors[graph->block.inputs[i]];

    if (t->rank > 1)
      return t->declared && t->declared->rank == t->rank && ft_dim_is(t->declared->dims[0], 1) &&
             ft_dim_is(t->dims[0], 1);
  }
  return false;
}

/* Trains only the last COUNT layers with parameters. Returns 0; -1 with ERR. */
static int freeze_layers(struct ft_graph *graph, struct ft_cost *cost, unsigned count,
                         struct ft_error *err)
{
  bool *keep = ft_arena_take(&graph->results, graph->tensor_count * sizeof *keep);

  if (!keep)
    return ft_error_set(err, "%s: out of memory", graph->file);
  for (size_t i = cost->layer_count; i-- > 0 && count;) {
    const struct ft_operator *op = cost->layers[i].op;
    bool any = false;

    for (uint32_t j = 0; j < op->input_count; j++) {
      any = any || cost->trainable[op->inputs[j]];
      keep[op->inputs[j]] = true;
    }
    count -= any;
  }
  for (uint32_t t = 0; t < graph->tensor_count; t++)
    if (cost->trainable[t] && !keep[t]) {
      cost->trainable[t] = false;
      cost->frozen[t] = true;
      cost->parameter_bytes -= ft_parameter_bytes(graph, cost, t);
    }
  return 0;
}

int ft_graph_analyse(struct ft_graph *graph, const struct ft_graph_sizes *sizes,
                     struct ft_analysis *analysis, struct ft_error *err)
{
  struct ft_graph_sizes one = *sizes;
  struct ft_error second;
  bool inferred = ft_graph_infer(graph, sizes, err) == 0;

  one.batch = 1;
  if (!inferred && (sizes->batch <= 1 || sizes->batch > FT_GRAPH_DIMENSION))
    return -1;
  analysis->scaled = !inferred || (sizes->batch > 1 && has_one_sample(graph));
  if (analysis->scaled && ft_graph_infer(graph, &one, &second) < 0)
    return inferred ? ft_error_set(err, "%s", second.text) : -1;
  if (ft_graph_cost(graph, &analysis->cost, err) < 0 ||
      (sizes->trainable && freeze_layers(graph, &analysis->cost, sizes->trainable, err) < 0) ||
      ft_graph_memory(graph, &analysis->cost, &analysis->memory, err) < 0)
    return -1;
  if (analysis->scaled) {
    scale_cost(&analysis->cost, ft_dim_of(sizes->batch));
    scale_memory(&analysis->memory, sizes->batch);
  }
  return 0;
}
