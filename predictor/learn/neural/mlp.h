/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Dense networks in single precision: rectified linear units (Nair and Hinton 2010) in all layers
 * but the last, started as He and others 2015, trained by Adam (Kingma and Ba 2015).
 */
#ifndef FT_LEARN_MLP_H
#define FT_LEARN_MLP_H

#include "predictor/core/error.h"
#include "predictor/core/random.h"
#include "predictor/learn/neural/blas.h"

struct ft_number_stream;
struct ft_number_reader;

enum { FT_MLP_LAYERS = 4, FT_MLP_WIDTH = 1024 };

/* Layer L takes width[L] numbers and gives width[L + 1]. All 0 is an empty one. */
struct ft_mlp {
  size_t layers, width[FT_MLP_LAYERS + 1];
  size_t parameters;
  float *parameter; /* by layer: weight[in * outs + out], then a bias each */
};

/* The numbers of some rows on their way through a network. */
struct ft_mlp_pass {
  size_t rows;
  const float *in;
  float *out[FT_MLP_LAYERS];   /* out[layer][row * width + i] */
  float *slope[FT_MLP_LAYERS]; /* of the loss, in the same places */
};

/* A network's gradient and its moments. */
struct ft_adam {
  size_t steps;
  float *gradient, *mean, *square; /* a place a parameter */
};

/*
 * Make NETWORK of LAYERS, 1 to FT_MLP_LAYERS, of WIDTH[0 .. LAYERS], each at most
 * FT_MLP_WIDTH but the first, its weights drawn. To be freed in either case. 0; -1 with ERR.
 */
int ft_mlp_create(struct ft_mlp *network, const size_t *width, size_t layers,
                  struct ft_random *random, struct ft_error *err);
void ft_mlp_free(struct ft_mlp *network);

/* Room for at most ROWS rows at once. To be freed in either case. 0; -1 with ERR. */
int ft_mlp_pass_create(struct ft_mlp_pass *pass, const struct ft_mlp *network, size_t rows,
                       struct ft_error *err);
void ft_mlp_pass_free(struct ft_mlp_pass *pass);

int ft_adam_create(struct ft_adam *adam, const struct ft_mlp *network, struct ft_error *err);
void ft_adam_free(struct ft_adam *adam);

/* The outputs of ROWS rows IN, into the last of pass->out. */
void ft_mlp_forward(const struct ft_blas *blas, const struct ft_mlp *network, const float *in,
                    size_t rows, struct ft_mlp_pass *pass);

/*
 * Given the loss's slopes at the outputs, in the last of pass->slope, add its gradient to GRADIENT;
 * SLOPE_IN, unless NULL, gets the slopes at the inputs.
 */
void ft_mlp_backward(const struct ft_blas *blas, const struct ft_mlp *network,
                     struct ft_mlp_pass *pass, float *gradient, float *slope_in);

/* One step down adam->gradient, which is then 0 again; RATE as Kingma and Ba's alpha. */
void ft_adam_step(struct ft_adam *adam, struct ft_mlp *network, float rate);

/* What it says of one row IN, into OUT; without OpenBLAS, and nothing is allocated. */
void ft_mlp_predict(const struct ft_mlp *network, const float *in, float *out);

void ft_mlp_save(const struct ft_mlp *network, struct ft_number_stream *out);

/* One of INS numbers that gives OUTS, and no other. To be freed in either case. 0; -1 with ERR. */
int ft_mlp_load(struct ft_number_reader *in, size_t ins, size_t outs, struct ft_mlp *network,
                struct ft_error *err);

#endif
