/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Mixture of experts: a router chooses some for each token (Shazeer et al. 2017), or weighs all
 * of them for every token (transformers 5.23, models/llama4). */
#include "config.h"

#include "predictor/graph/import/huggingface/hf_run.h"

/* X as (1, tokens, features). */
static uint32_t flatten_tokens(struct ft_hf_run *r, uint32_t x)
{
  int64_t dims[3] = { 1, ft_hf_size(r, x, 0) * ft_hf_size(r, x, 1), ft_hf_size(r, x, 2) };

  return ft_hf_reshape(r, x, dims, 3);
}

/* Every expert processes all of X, scaled by ROUTER's scores. */
static uint32_t run_all_experts(struct ft_hf_run *r, uint32_t x, uint32_t router)
{
  static const int64_t turned[] = { 2, 1, 0 };
  const struct ft_hf *m = r->m;
  int64_t copies[3] = { m->experts, 1, 1 }, dims[3] = { 0, 0, m->hidden }, zero = 0;
  uint32_t up = ft_hf_weight(r, "experts.gate_up", m->hidden, 2 * m->expert_inner, m->experts);
  uint32_t down = ft_hf_weight(r, "experts.down", m->expert_inner, m->hidden, m->experts);
  uint32_t scores = flatten_tokens(r, router), list, y, gate;

  if (!x || !scores || !up || !down)
    return 0;
  dims[0] = ft_hf_size(r, x, 0);
  dims[1] = ft_hf_size(r, x, 1);
  scores = ft_tracer_unary(&r->live, "Sigmoid", scores);
  scores = scores ? ft_tracer_transpose(&r->live, scores, turned, 3) : 0;
  list = ft_tracer_list(&r->live, copies, 3);
  x = flatten_tokens(r, x);
  x = x && list ? ft_tracer_binary(&r->live, "Tile", x, list) : 0;
  y = ft_hf_binary(r, "MatMul", ft_hf_binary(r, "Mul", x, scores), up);
  if (!y)
    return 0;
  gate = ft_tracer_slice(&r->live, y, 2, 0, m->expert_inner, 1);
  y = ft_tracer_slice(&r->live, y, 2, m->expert_inner, 2 * m->expert_inner, 1);
  y = ft_hf_binary(r, "Mul", y, ft_hf_activate(r, gate));
  y = ft_hf_binary(r, "MatMul", y, down);
  list = ft_tracer_list(&r->live, &zero, 1);
  if (!y || !list)
    return 0;
  ft_tracer_op(&r->live, "ReduceSum");
  ft_tracer_in(&r->live, y);
  ft_tracer_in(&r->live, list);
  y = ft_tracer_end(&r->live, 1);
  return ft_hf_reshape(r, y, dims, 3);
}

/* The experts that the router selects process each token. */
static uint32_t run_chosen_experts(struct ft_hf_run *r, uint32_t x, uint32_t router)
{
  const struct ft_hf *m = r->m;
  uint32_t parts[4] = { 0 }, biases[2] = { 0, 0 };
  bool packs = ft_hf_is_quantized(r, "experts");

  if (packs) {
    ft_hf_quantized_weight(r, "experts.gate_up", 2 * m->expert_inner, m->hidden, m->experts, parts);
    ft_hf_quantized_weight(r, "experts.down", m->hidden, m->expert_inner, m->experts, parts + 2);
  } else {
    parts[0] = ft_hf_weight(r, "experts.gate_up", 2 * m->expert_inner, m->hidden, m->experts);
    parts[2] = ft_hf_weight(r, "experts.down", m->hidden, m->expert_inner, m->experts);
  }
  if (m->expert_bias) {
    biases[0] = ft_hf_weight(r, "experts.gate_up.bias", m->experts, 2 * m->expert_inner, 0);
    biases[1] = ft_hf_weight(r, "experts.down.bias", m->experts, m->hidden, 0);
  }
  if (!x || !router || !parts[0] || !parts[2])
    return 0;
  ft_hf_scope(r, "experts");
  if (packs)
    ft_tracer_unknown(&r->live, "com.microsoft", "QMoE");
  else
    ft_tracer_op(&r->live, "MoE");
  ft_tracer_in(&r->live, x);
  ft_tracer_in(&r->live, router);
  ft_tracer_in(&r->live, parts[0]);
  if (packs) {
    ft_tracer_in(&r->live, parts[1]);
    ft_tracer_in(&r->live, biases[0]);
  }
  ft_tracer_in(&r->live, parts[2]);
  if (packs)
    ft_tracer_in(&r->live, parts[3]);
  for (int i = packs; i < 2; i++)
    if (biases[i])
      ft_tracer_in(&r->live, biases[i]);
  if (packs)
    ft_tracer_int(&r->live, "expert_weight_bits", 8); /* one element per weight */
  ft_tracer_int(&r->live, "k", m->experts_per_token);
  return ft_tracer_end(&r->live, 1);
}

uint32_t ft_hf_moe(struct ft_hf_run *r, uint32_t x)
{
  const struct ft_hf *m = r->m;
  uint32_t router = ft_hf_linear(r, x, "router", m->experts, m->router_bias);
  uint32_t y = m->all_experts ? run_all_experts(r, x, router) : run_chosen_experts(r, x, router),
           shared;

  if (!m->shared_inner)
    return y;
  shared = ft_hf_mlp(r, x, m->shared_inner);
  if (m->shared_gate) {
    uint32_t gate = ft_hf_linear(r, x, "shared_gate", 1, false);

    shared = ft_hf_binary(r, "Mul", gate ? ft_tracer_unary(&r->live, "Sigmoid", gate) : 0, shared);
  }
  return ft_hf_binary(r, "Add", y, shared);
}
