/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Products of matrices by OpenBLAS. The library starts threads and takes 4 ms as it is loaded
 * (measured), so it is loaded while a network is trained and never else.
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

/* Load it, to count on one thread. To be closed in either case. 0; -1 with ERR where it is not
 * there. */
int ft_blas_open(struct ft_blas *blas, struct ft_error *err);
void ft_blas_close(struct ft_blas *blas);

/*
 * C = A B + ADD C, of ROWS x INNER, INNER x COLUMNS and ROWS x COLUMNS numbers, row by row;
 * A, or B, is taken as it is or as the transpose of what stands there.
 */
void ft_blas_multiply(const struct ft_blas *blas, const float *a, bool a_turned, const float *b,
                      bool b_turned, size_t rows, size_t inner, size_t columns, float add,
                      float *c);

#endif
