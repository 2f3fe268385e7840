/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Networks of Hugging Face from their config.json alone: the layers that transformers builds from
 * it (5.23.0, src/transformers/models/), with every parameter.
 */
#ifndef FT_GRAPH_HF_H
#define FT_GRAPH_HF_H

#include "predictor/graph/import/build.h"

/*
 * Reads the config.json FD into BUILD's graph, whose program traces the network later. The caller
 * closes FD. Returns 0, or -1 and fills BUILD's error.
 */
int ft_hf_read(struct ft_build *build, int fd);

/* ---- between the parts of the reader (hf*.c) ---- */

/* The function of hf_run.c that traces the network. */
enum ft_hf_kind {
  FT_HF_LANGUAGE, /* one stack of layers over tokens: decoders and encoders */
  FT_HF_T5,
  FT_HF_ENCODER_DECODER,
  FT_HF_VIT,
  FT_HF_CLIP,
  FT_HF_MAMBA,
  FT_HF_VLM,    /* vision-language model: some tokens stand for images */
  FT_HF_VISION, /* a vision encoder alone */
  FT_HF_SHAPES  /* a row of hf_shapes_table.inc */
};

/* Multimodal projector: from patches of the vision encoder to tokens (hf_vlm.c). */
enum ft_hf_projector {
  FT_HF_PROJECTOR_NONE,
  FT_HF_PROJECTOR_LINEAR,  /* one linear layer: paligemma */
  FT_HF_PROJECTOR_MLP,     /* two linear layers: llava */
  FT_HF_PROJECTOR_POOL,    /* average pooling, norm, linear layer: gemma3 */
  FT_HF_PROJECTOR_SHUFFLE, /* pixel shuffle, linear layer: idefics3 */
  FT_HF_PROJECTOR_MERGE    /* norm, patch merger, two linear layers: qwen2_vl */
};

enum { FT_HF_WINDOW_LAYERS = 1024 }; /* layers beyond these attend to all tokens */

enum ft_hf_norm {
  FT_HF_LAYER_NORM,
  FT_HF_LAYER_NORM_NO_BIAS,
  FT_HF_RMS_NORM,
  FT_HF_LAYER_NORM_NO_AFFINE
};

/* Quantised matrices (hf_quantized.c): groups of elements share a scale, some also a zero point. */
struct ft_hf_quantized {
  uint8_t bits;       /* of an element; 0: nothing is quantised */
  uint8_t scale_bits; /* of a group's scale */
  int64_t group;      /* elements of a row in one group; 0: the row */
  int64_t tile;       /* rows, and columns, of a group that is a square; 0: none */
  bool per_tensor;    /* one group: the whole matrix */
  bool zeros;         /* each group has a zero point of BITS */
  bool column_groups; /* each column has a 32-bit group index (GPTQ's g_idx) */
  bool dequantized;   /* a product first writes the dequantised matrix */
  bool experts, only_experts;
  const char **excluded; /* names of modules that are not quantised */
  size_t excluded_count;
};

/* A network's configuration. The builders (hf_run.h) depend only on this struct, not on the model
 * family. A field of 0: the network has no such thing. */
struct ft_hf {
  const char *type;   /* model_type */
  uint8_t kind, norm; /* enum ft_hf_kind, enum ft_hf_norm */
  int64_t hidden, layers, heads, kv_heads, head_dim, inner, vocab, embedding;
  int64_t positions, types; /* rows of the learnt position and token type embeddings */
  const char *activation;
  int norms; /* norms of a layer: 1, 2 or 4 */
  bool norm_after, norm_embedding, norm_final, parallel;
  bool norm_added;       /* the norm is applied to what a residual connection adds: olmo2 */
  bool norm_qk;          /* queries and keys are normalised, head by head */
  bool norm_qk_whole;    /* ... before they are split into heads */
  bool norm_qk_per_head; /* ... each head has gains of its own */
  bool l2_norm_qk;       /* ... by their L2 norm, without gains */
  bool bias_qkv, bias_out, bias_inner, no_key_bias, gated, rotary;
  bool bias_per_layer; /* each layer has its own relative position bias (umt5); a projector has a
                          bias */
  bool sinks;          /* a learnt extra score for each head: gpt_oss */
  bool pooler, head_transform, head_bias, tied, with_head, causal;
  bool repeat_kv;     /* keys and values are copied for every query head */
  bool shared_layers; /* all layers share their weights: albert */
  bool masked;        /* attention gets an explicit mask */
  bool relative_norm, bias_conv;
  struct ft_hf_module_list *modules; /* of FT_HF_SHAPES */
  bool lower_bound;                  /* its activations are a lower bound */
  double saved;                      /* ft_tensor.saved of the base network; 0: not measured */
  bool guessed;                      /* unknown family, configuration read by hf_generic.c */
  /* mixture of experts */
  int64_t experts, experts_per_token, expert_inner, shared_inner;
  int64_t dense_layers, dense_inner; /* layers without experts, and their intermediate size */
  bool shared_gate, router_bias, expert_bias;
  bool all_experts;       /* every expert works on every token: llama4 */
  bool router_in_float32; /* ... at any precision: deepseek */
  bool limited_gate;      /* gate and up are limited: gpt_oss */
  /* multi-head latent attention: ranks, features of a head with rotary positions, value size */
  int64_t q_rank, kv_rank, rope_dim, value_dim;
  /* encoder-decoders */
  int64_t buckets, decoder_layers, decoder_heads, decoder_inner;
  int64_t relative_positions; /* rows of deberta's table of relative positions */
  int64_t mel_bins, frames;   /* of whisper's audio; 0: tokens */
  /* images */
  int64_t image, patch, channels, labels, projection;
  const struct ft_hf *vision; /* the vision encoder of clip or of a vision-language model */
  int64_t merge_size; /* patches per side that become one token; llava: 1 drops the class token */
  int64_t feature_layer; /* layer whose output the projector reads */
  int64_t projector_dim; /* output features of the projector */
  uint8_t projector;     /* enum ft_hf_projector */
  bool no_class_token, norm_first, pool_head;
  bool any_size, several_images;    /* --input sets the image size; and the number of images */
  int64_t state, conv_kernel, rank; /* mamba */
  struct ft_hf_quantized quantized;
  /* training (hf_training.c): where dropout is, and how operations are implemented */
  bool drop_embedding, drop_attention, drop_attention_output, drop_hidden, drop_mlp;
  int upcast; /* 1: the softmax is in float32; 2: queries and keys too */
  bool eager_attention, loss_in_float32;
  bool math_kernel;           /* grouped heads in a kernel that does not support them */
  int softcap;                /* attention scores are saved: 1 before the mask is added, 2 after */
  bool fused_qkv, fused_gate; /* one matrix for queries, keys and values; for gate and up */
  bool kv_cache;              /* keys and values are copied into a cache */
  bool rope_in_float32; /* under autocast rotary embedding is in float32, and so is its result */
  bool copy_queries;    /* queries are made contiguous */
  int64_t rotary_dim;   /* features of a head that are rotated; 0: all */
  int64_t window;       /* tokens in a sliding window */
  uint64_t window_layers[FT_HF_WINDOW_LAYERS / 64]; /* a bit for each layer that has the window */
  /* how transformers decomposes them (training/spelt.h); "": one kernel */
  const char *decomposed_norm, *decomposed_activation;
};

/* graph->expand: traces the network with the sizes of IN. Returns 0, or -1 with IN's error. */
int ft_hf_run(struct ft_infer *in);

#endif
