/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Dispatch from a configuration to the function that traces its network. */
#include "config.h"

#include <stdlib.h>

#include "predictor/graph/import/huggingface/hf_config.h"
#include "predictor/graph/import/huggingface/hf_run.h"
#include "predictor/graph/import/huggingface/hf_shapes.h"

static uint32_t embed_tokens(struct ft_hf_run *r, uint32_t ids, uint32_t *table)
{
  const struct ft_hf *m = r->m;
  bool early =
      m->types > 0 || m->embedding == m->hidden; /* opt projects before it adds positions */
  uint32_t x;

  r->prefix = "embeddings.";
  x = ft_hf_embed(r, ids, table);
  if (!early)
    x = ft_hf_linear(r, x, "project_in", m->hidden, false);
  if (m->positions)
    x = ft_hf_positions(r, x, "positions", m->positions);
  if (m->types)
    x = ft_hf_positions(r, x, "types", m->types);
  if (m->norm_embedding)
    x = ft_hf_normalise(r, x, "norm");
  x = ft_hf_drop(r, x, m->drop_embedding);
  if (early && m->embedding != m->hidden)
    x = ft_hf_linear(r, x, "project", m->hidden, true);
  return x;
}

/* Decoders and encoders: embeddings, layers, head. */
static uint32_t trace_language_model(struct ft_hf_run *r)
{
  uint32_t table = 0, ids = ft_hf_ids(r, "input_ids"), x;

  if (!ids || ft_infer_inputs(r->live.in) < 0)
    return 0;
  x = embed_tokens(r, r->m->causal ? ft_hf_input_tokens(r, ids) : ids, &table);
  return ft_hf_decode(r, x, table);
}

int ft_hf_run(struct ft_infer *in)
{
  static uint32_t (*const networks[])(struct ft_hf_run * r) = {
    [FT_HF_LANGUAGE] = trace_language_model,
    [FT_HF_T5] = ft_hf_t5,
    [FT_HF_ENCODER_DECODER] = ft_hf_encoder_decoder,
    [FT_HF_VIT] = ft_hf_vit,
    [FT_HF_CLIP] = ft_hf_clip,
    [FT_HF_MAMBA] = ft_hf_mamba,
    [FT_HF_VLM] = ft_hf_vlm,
    [FT_HF_VISION] = ft_hf_vision,
    [FT_HF_SHAPES] = ft_hf_shapes_run,
  };
  const struct ft_hf *file = in->graph->program;
  struct ft_hf_run *r = calloc(1, sizeof *r);
  struct ft_hf network = *file;
  int status = -1;
  uint32_t y;

  if (!r)
    return ft_error_set(in->err, "%s: out of memory", in->graph->file);
  if (in->sizes->quantized_bits)
    network.quantized = ft_hf_bitsandbytes(in->sizes->quantized_bits);
  r->m = &network;
  r->prefix = "";
  r->weights.arena = &in->graph->results;
  if (ft_tracer_begin(&r->live, in) < 0)
    goto out;
  y = networks[r->m->kind](r);
  if (y && ft_tracer_output(&r->live, y) == 0 && !r->live.failed)
    status = 0;
out:
  if (status < 0 && !in->err->text[0])
    (void)ft_error_set(in->err, "%s: out of memory for its network", in->graph->file);
  free(r);
  return status;
}
