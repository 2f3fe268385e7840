/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Networks with parameters given as expressions of the configuration (hf_shapes_table.inc), fitted
 * to those of transformers within 1 %. Their activations are those of the modules that have
 * parameters, one after the other.
 */
#ifndef FT_GRAPH_HF_SHAPES_H
#define FT_GRAPH_HF_SHAPES_H

#include "predictor/graph/import/huggingface/hf_config.h"

struct ft_hf_run;

enum {
  FT_HF_MODULE_RANK = 6,  /* dimensions of a parameter */
  FT_HF_MODULES = 100000, /* modules of a network */
};

/* A number of rows per sample: FIXED + PER_TOKEN * length of the input. */
struct ft_hf_positions {
  double fixed, per_token;
};

struct ft_hf_module {
  char kind;                       /* a letter of ROWS; '*': a group of the next MODULES */
  bool biased, same_input, traced; /* traced: its positions are known */
  int rank;
  int64_t dims[FT_HF_MODULE_RANK], times,
      modules; /* a module is repeated TIMES times where it stands */
  struct ft_hf_positions in, out;
};

struct ft_hf_module_list {
  size_t count;
  size_t base; /* number of those of the base network, which are the first */
  struct ft_hf_module modules[];
};

/* A row of the table; hf_shapes.c documents KEYS and ROWS. */
struct ft_hf_shapes {
  const char *type;         /* model_type */
  const char *architecture; /* class; "": none is named, the base network */
  const char *keys, *rows;
};
extern const struct ft_hf_shapes ft_hf_shapes_table[];

/* Returns the row of TYPE and ARCHITECTURE, or NULL. */
const struct ft_hf_shapes *ft_hf_shapes_find(const char *type, const char *architecture);

/* Evaluates ROW for the configuration C into M, a network of kind FT_HF_SHAPES; fails with C. */
void ft_hf_shapes_read(struct ft_hf_config *c, const struct ft_hf_shapes *row, struct ft_hf *m);

/* Traces the network. Returns the output tensor, 0 on error. */
uint32_t ft_hf_shapes_run(struct ft_hf_run *r);

#endif
