/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Networks of Hugging Face from their config.json alone, most of them of words: what
 * transformers builds of it (5.23.0, src/transformers/models/), with every one of its parameters.
 */
#ifndef FT_GRAPH_HF_H
#define FT_GRAPH_HF_H

#include "predictor/graph/import/build.h"

/* Read FD, a config.json, into BUILD's graph. Returns 0 or -1. */
int ft_hf_read(struct ft_build *build, int fd);

/* ---- between the parts of the reader (hf*.c) ---- */

/* Which function puts it together (hf_run.h). */
enum ft_hf_kind {
  FT_HF_LANGUAGE,
  FT_HF_T5,
  FT_HF_SIDES, /* encoder and decoder */
  FT_HF_VIT,
  FT_HF_CLIP,
  FT_HF_MAMBA,
  FT_HF_SEES, /* words, some of which stand for pictures */
  FT_HF_TOWER /* pictures alone */
};

/* What makes words of a picture's patches (hf_vlm.c). */
enum ft_hf_join {
  FT_HF_JOIN_NOT,
  FT_HF_JOIN_ONE,     /* a matrix: paligemma */
  FT_HF_JOIN_TWO,     /* two of them: llava */
  FT_HF_JOIN_POOL,    /* means of neighbours, a norm and a matrix: gemma3 */
  FT_HF_JOIN_SHUFFLE, /* neighbours side by side and a matrix: idefics3 */
  FT_HF_JOIN_MERGE    /* a norm, neighbours side by side and two matrices: qwen2_vl */
};

enum { FT_HF_SLIDES = 1024 }; /* layers past these see all words */

enum ft_hf_norm { FT_HF_LAYER, FT_HF_PLAIN /* without a shift */, FT_HF_ROOT, FT_HF_BARE };

/* Matrices kept in a few bits (hf_quantized.c). */
struct ft_hf_quantized {
  uint8_t bits;        /* 0: none are */
  uint8_t scale_bits;  /* of the number that shares of a matrix have in common: */
  int64_t group, tile; /* so many features of a row, or so many rows and columns; 0: a row */
  bool whole;          /* the whole matrix */
  bool zeros;          /* and each of these shares has a zero of BITS */
  bool order;          /* each column has the number of its share, in 32 bits */
  bool written_out;    /* a product first writes the matrix out */
  bool experts, only_experts;
  const char **left_out; /* modules that are not */
  size_t left_out_count;
};

/* A network in numbers, whatever the family. */
struct ft_hf {
  const char *type;
  int64_t hidden, layers, heads, kv_heads, head, inner, vocab, embedding;
  int64_t positions, types; /* learnt ones; 0: none */
  int64_t experts, chosen, expert_inner, shared_inner;
  int64_t dense_layers, dense_inner;      /* of them without experts, and their width */
  int64_t q_rank, kv_rank, turned, value; /* latent attention: ranks (0: none), features of a head
                                             that positions turn, and of its values */
  int64_t buckets, decoder_layers, decoder_heads, decoder_inner;
  int64_t relative;     /* distances that deberta tells apart; 0: none */
  int64_t mels, frames; /* of whisper's sound; 0: words */
  int64_t image, patch, channels, labels, projection;
  int64_t state, window, rank; /* mamba */
  const struct ft_hf *vision;  /* clip, and those that see */
  /* those that see: patches a side that become one word, layers that are read, features of words */
  int64_t merged, read_layers, joined;
  uint8_t join;                         /* enum ft_hf_join */
  bool no_class, norm_first, pool_head; /* of a tower: nothing stands before the patches */
  bool open_size, many;                 /* sizes, and how many pictures, are given with --input */
  bool masked;                          /* attention has a mask of its own kind */
  uint8_t kind, norm;                   /* enum ft_hf_kind, enum ft_hf_norm */
  int norms;                            /* of a layer: 1, 2 or 4 */
  bool norm_after, norm_embedding, norm_final, parallel;
  bool bias_qkv, bias_out, bias_inner, gated, norm_heads, norm_heads_whole, rotary;
  bool shared_gate;                     /* of the shared expert */
  bool router_bias, expert_bias, sinks; /* sinks: one more score of each head */
  bool norm_added;                      /* what is added is normalised: olmo2 */
  bool norm_heads_each;                 /* norm_heads with gains of each head's own */
  bool bias_each;                       /* every layer has its own relative positions: umt5 */
  bool every_expert;                    /* all of them work on every word: llama4 */
  bool norm_root_heads;                 /* norm_heads by the root mean square, without gains */
  bool pooler, head_transform, head_bias, tied, with_head, causal;
  bool spread;    /* keys and values are copied for every head of queries */
  bool shared;    /* every layer has the same weights: albert */
  bool plain_key; /* keys have no bias */
  bool relative_norm, bias_conv;
  bool guessed; /* of no known family: hf_generic.c */
  struct ft_hf_quantized quantized;
  const char *activation;
  /* training (hf_training.c): what drops out, how attention and other operations are written */
  bool drop_embedding, drop_attention, drop_attended, drop_hidden, drop_inner;
  int upcast; /* 1: the softmax is in 32 bits; 2: queries and keys too */
  bool plain_attention, loss_wide;
  bool math; /* heads that share keys are given to a kernel that takes none such */
  int softcap; /* scores are kept: 1 before the mask is added, 2 behind */
  bool fused_qkv,
      fused_gate; /* one matrix makes queries, keys and values; gate and what it gates */
  bool caches;    /* keys and values are kept in copies */
  int64_t reach;  /* words that layers of SLIDES see, a bit for each layer */
  uint64_t slides[FT_HF_SLIDES / 64];
  bool wide_angles;                          /* autocast turns in 32 bits, and leaves it so */
  bool dense_queries;                        /* queries are copied behind each other */
  int64_t rotated;                           /* features of a head that positions turn; 0: all */
  const char *spelt_norm, *spelt_activation; /* spelt.h; "": in one kernel */
};

/* graph->expand */
int ft_hf_run(struct ft_infer *in);

#endif
