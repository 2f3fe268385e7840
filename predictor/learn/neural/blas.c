/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <cblas.h>
#include <dlfcn.h>
#include <string.h>

#include "predictor/learn/neural/blas.h"

/* Returns the function NAME of LIBRARY; NULL: none. POSIX guarantees the conversion of dlsym()'s
 * result to a function pointer. */
static void (*find_blas_symbol(void *library, const char *name))(void)
{
  void *place = dlsym(library, name);
  void (*function)(void);

  memcpy(&function, &place, sizeof function);
  return function;
}

int ft_blas_open(struct ft_blas *blas, struct ft_error *err)
{
  void (*threads)(void);

  *blas = (struct ft_blas){ .library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL) };
  if (!blas->library)
    return ft_error_set(err, "%s; on Debian: apt-get install libopenblas0", dlerror());
  threads = find_blas_symbol(blas->library, "openblas_set_num_threads");
  blas->sgemm = find_blas_symbol(blas->library, "cblas_sgemm");
  if (!threads || !blas->sgemm)
    return ft_error_set(err, "libopenblas.so.0: not OpenBLAS with its C interface");
  /* with one thread the order of sums is fixed and fits are reproducible */
  ((void (*)(int))threads)(1);
  return 0;
}

void ft_blas_close(struct ft_blas *blas)
{
  if (blas->library)
    dlclose(blas->library);
  *blas = (struct ft_blas){ 0 };
}

void ft_blas_multiply(const struct ft_blas *blas, const float *a, bool a_transposed, const float *b,
                      bool b_transposed, size_t rows, size_t inner, size_t columns, float beta,
                      float *c)
{
  __typeof__(cblas_sgemm) *multiply = (__typeof__(cblas_sgemm) *)blas->sgemm;

  multiply(CblasRowMajor, a_transposed ? CblasTrans : CblasNoTrans,
           b_transposed ? CblasTrans : CblasNoTrans, (blasint)rows, (blasint)columns,
           (blasint)inner, 1, a, (blasint)(a_transposed ? rows : inner), b,
           (blasint)(b_transposed ? inner : columns), beta, c, (blasint)columns);
}
