/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Multi-layer perceptrons in single precision: rectified linear units (Nair and Hinton 2010) in all
 * layers but the last, initialised after He et al. 2015, trained by Adam (Kingma and Ba 2015).
 */
#ifndef FT_LEARN_MLP_H
#define FT_LEARN_MLP_H

#include "predictor/core/error.h"
#include "predictor/core/random.h"
#include "predictor/learn/neural/blas.h"

struct ft_number_stream;

enum {
  FT_MLP_LAYERS = 4,  /* largest number of layers */
  FT_MLP_WIDTH = 1024 /* largest number of units of a layer (Nichols et al. 2022) */
};

/* Layer L maps width[L] numbers to width[L + 1]. All 0 is an empty network. */
struct ft_mlp {
  size_t layers, width[FT_MLP_LAYERS + 1];
  size_t parameters;
  float *parameter; /* per layer: weight[in * outs + out], then bias[out] */
};

/* Activations and gradients of a mini-batch. */
struct ft_mlp_pass {
  size_t rows;
  const float *in;
  float *out[FT_MLP_LAYERS];   /* out[layer][row * width + i] */
  float *grad[FT_MLP_LAYERS];  /* gradient of the loss with respect to out */
};

/* Adam's state: the gradient and running means of the gradient and of its square. */
struct ft_adam {
  size_t steps;
  float *gradient, *mean, *square; /* one number per parameter */
};

/*
 * Creates NETWORK with LAYERS (1 to FT_MLP_LAYERS) layers and random weights. Layer L has WIDTH[L]
 * inputs and WIDTH[L + 1] outputs, at most FT_MLP_WIDTH. The caller frees NETWORK in either case.
 * Returns 0; -1 on error and fills ERR.
 */
int ft_mlp_create(struct ft_mlp *network, const size_t *width, size_t layers,
                  struct ft_random *random, struct ft_error *err);
void ft_mlp_free(struct ft_mlp *network);

/* Creates PASS for at most ROWS rows. The caller frees PASS in either case. Returns 0; -1 on error
 * and fills ERR. */
int ft_mlp_pass_create(struct ft_mlp_pass *pass, const struct ft_mlp *network, size_t rows,
                       struct ft_error *err);
void ft_mlp_pass_free(struct ft_mlp_pass *pass);

/* Creates ADAM for the parameters of NETWORK. The caller frees ADAM in either case. Returns 0; -1
 * on error and fills ERR. */
int ft_adam_create(struct ft_adam *adam, const struct ft_mlp *network, struct ft_error *err);
void ft_adam_free(struct ft_adam *adam);

/* Evaluates ROWS rows IN, which must stay valid for the backward pass. The outputs are
 * pass->out[layers - 1]. */
void ft_mlp_forward(const struct ft_blas *blas, const struct ft_mlp *network, const float *in,
                    size_t rows, struct ft_mlp_pass *pass);

/*
 * Backpropagates pass->grad[layers - 1], the gradient of the loss with respect to the outputs, and
 * adds the gradient with respect to the parameters to GRADIENT. GRAD_IN gets the gradient with
 * respect to the inputs; NULL: not needed.
 */
void ft_mlp_backward(const struct ft_blas *blas, const struct ft_mlp *network,
                     struct ft_mlp_pass *pass, float *gradient, float *grad_in);

/* Updates NETWORK by adam->gradient, which becomes 0. RATE is the learning rate. */
void ft_adam_step(struct ft_adam *adam, struct ft_mlp *network, float rate);

/* Evaluates one row IN into OUT, without OpenBLAS. Allocates nothing. */
void ft_mlp_predict(const struct ft_mlp *network, const float *in, float *out);

/*
 * Writes NETWORK, of INS inputs and OUTS outputs, to STREAM, or reads it into a zeroed one that the
 * caller frees in either case. Returns 0; -1 on error and fills ERR.
 */
int ft_mlp_serialise(struct ft_number_stream *stream, size_t ins, size_t outs,
                     struct ft_mlp *network, struct ft_error *err);

#endif
