/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Matrix products by OpenBLAS. Loading the library takes 4 ms and starts threads, so it is loaded
 * only during training.
 */
#ifndef FT_LEARN_BLAS_H
#define FT_LEARN_BLAS_H

#include <stdbool.h>
#include <stddef.h>

#include "predictor/core/error.h"

struct ft_blas {
  void *library;
  void (*sgemm)(void); /* cblas_sgemm */
};

/* Loads OpenBLAS and limits it to one thread. The caller closes BLAS in either case. Returns 0; -1
 * if OpenBLAS is not installed, and fills ERR. */
int ft_blas_open(struct ft_blas *blas, struct ft_error *err);
void ft_blas_close(struct ft_blas *blas);

/*
 * C = A B + BETA C with A of ROWS x INNER, B of INNER x COLUMNS and C of ROWS x COLUMNS numbers,
 * row by row. A_TRANSPOSED, B_TRANSPOSED: the array is the transpose. BLAS is open.
 */
void ft_blas_multiply(const struct ft_blas *blas, const float *a, bool a_transposed, const float *b,
                      bool b_transposed, size_t rows, size_t inner, size_t columns, float beta,
                      float *c);

#endif
