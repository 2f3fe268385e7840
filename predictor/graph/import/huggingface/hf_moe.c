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

/* ---- experts that the router selects: transformers 5.24, integrations/moe.py, grouped_mm ---- */

/* The rows of X (rows, ...) that WHICH names. */
static uint32_t gather_rows(struct ft_hf_run *r, uint32_t x, uint32_t which)
{
  return ft_hf_binary(r, "Gather", x, which);
}

/* The K largest of X's last axis; their places are the next tensor. */
static uint32_t select_largest(struct ft_hf_run *r, uint32_t x, int64_t k)
{
  if (!x)
    return 0;
  ft_tracer_op(&r->live, "TopK");
  ft_tracer_in(&r->live, x);
  ft_tracer_int(&r->live, "k", k);
  return ft_tracer_end(&r->live, 2);
}

/* The order in which PAIRS numbers X are sorted. */
static uint32_t sort_order(struct ft_hf_run *r, uint32_t x, int64_t pairs)
{
  uint32_t sorted = select_largest(r, x, pairs);

  return sorted ? sorted + 1 : 0;
}

/* Records that an adapter changes the matrices W of the experts that X reads. peft 0.21 makes one
 * of every family but those whose experts were one parameter before transformers 5
 * (utils/transformers_weight_conversion.py), and adds it to a copy of W. */
static void note_adapter(struct ft_hf_run *r, uint32_t x, uint32_t w)
{
  const struct ft_graph_sizes *sizes = r->live.in->sizes;

  if (!sizes->lora || !sizes->lora_everywhere || !x || !w)
    return;
  ft_tracer_unknown(&r->live, "peft", "ParamWrapper");
  ft_tracer_in(&r->live, x);
  ft_tracer_in(&r->live, w);
  (void)ft_tracer_end(&r->live, 1);
}

/* Each row of X times the matrix of its expert: OUT features of weights NAME. */
static uint32_t grouped_linear(struct ft_hf_run *r, uint32_t x, const char *name, int64_t out)
{
  const struct ft_hf *m = r->m;
  int64_t in = ft_hf_size(r, x, -1);
  bool packs = ft_hf_is_quantized(r, "experts");
  uint32_t parts[2] = { 0, 0 }, bias = 0;

  if (packs)
    ft_hf_quantized_weight(r, name, out, in, m->experts, parts);
  else
    parts[0] = ft_hf_weight(r, name, out, in, m->experts);
  if (m->expert_bias)
    bias = ft_hf_weight(r, ft_tracer_format(&r->live, "%s.bias", name), m->experts, out, 0);
  if (!x || !parts[0] || (packs && !parts[1]) || (m->expert_bias && !bias))
    return 0;
  ft_hf_scope(r, name);
  note_adapter(r, x, parts[0]);
  ft_tracer_op(&r->live, "GroupedLinear");
  ft_tracer_in(&r->live, x);
  ft_tracer_in(&r->live, parts[0]);
  ft_tracer_in(&r->live, bias);
  ft_tracer_in(&r->live, parts[1]);
  return ft_tracer_end(&r->live, 1);
}

/* GATE and UP: limited, and the gate is x sigmoid(alpha x) (gpt_oss). */
static uint32_t limited_gate(struct ft_hf_run *r, uint32_t gate, uint32_t up)
{
  uint32_t alpha = ft_hf_constant(r, FT_ELEMENT_FLOAT, NULL, 0), scaled;

  gate = gate ? ft_tracer_unary(&r->live, "Clip", gate) : 0;
  up = up ? ft_tracer_unary(&r->live, "Clip", up) : 0;
  scaled = ft_hf_binary(r, "Mul", gate, alpha);
  scaled = scaled ? ft_tracer_unary(&r->live, "Sigmoid", scaled) : 0;
  return ft_hf_binary(r, "Mul", ft_hf_binary(r, "Add", up, alpha),
                      ft_hf_binary(r, "Mul", gate, scaled));
}

/* Sums each token's experts: X (pairs, features) as (tokens, features). */
static uint32_t sum_experts(struct ft_hf_run *r, uint32_t x, int64_t tokens)
{
  int64_t dims[3] = { tokens, r->m->experts_per_token, r->m->hidden }, axis = 1;
  uint32_t list = ft_tracer_list(&r->live, &axis, 1);

  x = ft_hf_reshape(r, x, dims, 3);
  if (!x || !list)
    return 0;
  ft_tracer_op(&r->live, "ReduceSum");
  ft_tracer_in(&r->live, x);
  ft_tracer_in(&r->live, list);
  ft_tracer_int(&r->live, "keepdims", 0);
  return ft_tracer_end(&r->live, 1);
}

/* The experts that the router selects process each token: the pairs of a token and an expert are
 * sorted by expert. */
static uint32_t run_chosen_experts(struct ft_hf_run *r, uint32_t x, uint32_t router)
{
  const struct ft_hf *m = r->m;
  int64_t dims[3] = { ft_hf_size(r, x, 0), ft_hf_size(r, x, 1), m->hidden };
  int64_t tokens = dims[0] * dims[1], pairs[2] = { tokens * m->experts_per_token, 1 };
  int64_t rows[2] = { tokens, m->hidden }, inner = m->expert_inner;
  uint32_t scores, chosen, order, which, y, gate, up;

  ft_hf_scope(r, "router");
  ft_tracer_op(&r->live, m->router_in_float32 ? "Sigmoid" : "Softmax");
  ft_tracer_in(&r->live, router);
  ft_tracer_hints(&r->live)->decomposed = "float";
  scores = router ? ft_tracer_end(&r->live, 1) : 0;
  chosen = select_largest(r, scores, m->experts_per_token);
  order = sort_order(r, ft_hf_reshape(r, chosen ? chosen + 1 : 0, pairs, 1), pairs[0]);
  scores = gather_rows(r, ft_hf_reshape(r, chosen, pairs, 2), order);
  which = ft_hf_binary(r, "Div", order, ft_hf_constant(r, FT_ELEMENT_INT64, NULL, 0));
  ft_hf_scope(r, "experts");
  y = gather_rows(r, ft_hf_reshape(r, x, rows, 2), which);
  y = grouped_linear(r, y, "experts.gate_up", 2 * inner);
  gate = y ? ft_tracer_slice(&r->live, y, 1, 0, inner, 1) : 0;
  up = y ? ft_tracer_slice(&r->live, y, 1, inner, 2 * inner, 1) : 0;
  y = m->limited_gate ? limited_gate(r, gate, up)
                      : ft_hf_binary(r, "Mul", ft_hf_activate(r, gate), up);
  y = grouped_linear(r, y, "experts.down", m->hidden);
  y = ft_hf_binary(r, "Mul", y, scores);
  y = sum_experts(r, gather_rows(r, y, sort_order(r, order, pairs[0])), tokens);
  return ft_hf_reshape(r, y, dims, 3);
}

/* The scores of all experts for X; some families compute them in float32. */
static uint32_t router_scores(struct ft_hf_run *r, uint32_t x)
{
  const struct ft_hf *m = r->m;

  if (x && m->router_in_float32) {
    ft_tracer_op(&r->live, "Identity");
    ft_tracer_in(&r->live, x);
    ft_tracer_hints(&r->live)->decomposed = "float";
    x = ft_tracer_end(&r->live, 1);
  }
  return ft_hf_linear(r, x, "router", m->experts, m->router_bias);
}

uint32_t ft_hf_moe(struct ft_hf_run *r, uint32_t x)
{
  const struct ft_hf *m = r->m;
  uint32_t router = router_scores(r, x);
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
