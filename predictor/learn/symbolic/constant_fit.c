/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/learn/cholesky.h"
#include "predictor/learn/symbolic/constant_fit.h"
#include "predictor/learn/symbolic/constant_fit_work.h"

/* gcc vectorises these loops only at -O3; at -O2 it is a third slower. clang does so at -O2. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3")
#endif

enum {
  NODES = FT_EXPRESSION_NODES,
  BLOCK = FT_ROW_BLOCKS_BLOCK,
  LANES = 8,      /* partial sums of a dot product, one per SIMD lane */
  CONSTANTS = 10, /* largest number fitted in one equation; more fit noise (was compared) */
  PARAMETERS = CONSTANTS + 2 /* with intercept and slope */
};

struct ft_sweep {
  double value[NODES][BLOCK];
  double adjoint[NODES][BLOCK];
  const double *at[NODES]; /* per node: its values; those of a variable are in the table */
  struct ft_links links;
  bool active[NODES];  /* the node depends on a fitted constant */
  bool through_origin; /* the intercept is fixed at 0 */
  int fitted;          /* number of constants of the last fit */
};

struct ft_sweep *ft_sweep_new(void)
{
  struct ft_sweep *s = malloc(sizeof *s);

  if (s)
    s->through_origin = false;
  return s;
}

void ft_sweep_through_origin(struct ft_sweep *s, bool through_origin)
{
  s->through_origin = through_origin;
}

/* Fills the links of S: the operands of each node. */
static void link_nodes(const struct ft_expression *e, struct ft_sweep *s)
{
  int stack[NODES], top = 0;

  for (int i = 0; i < e->length; i++) {
    int arity = ft_symbol_arity(e->symbol[i]);

    s->links.right[i] = arity == 2 ? stack[--top] : -1;
    s->links.left[i] = arity >= 1 ? stack[--top] : -1;
    stack[top++] = i;
  }
}

/* Computes the values V of SYMBOL with the operands A and B for a block of rows. */
static void apply_symbol(enum ft_symbol symbol, const double *restrict a, const double *restrict b,
                         double *restrict v)
{
#define EACH(expression)                                                                           \
  for (size_t r = 0; r < BLOCK; r++)                                                               \
    v[r] = (expression);                                                                           \
  break
  switch (symbol) {
  case FT_SYMBOL_ADD:
    EACH(a[r] + b[r]);
  case FT_SYMBOL_MULTIPLY:
    EACH(a[r] * b[r]);
  case FT_SYMBOL_SQUARE:
    EACH(a[r] * a[r]);
  case FT_SYMBOL_CUBE:
    EACH(a[r] * a[r] * a[r]);
  case FT_SYMBOL_SUBTRACT:
    EACH(a[r] - b[r]);
  case FT_SYMBOL_DIVIDE:
    EACH(a[r] / b[r]);
  case FT_SYMBOL_ROOT:
    EACH(sqrt(fabs(a[r])));
  case FT_SYMBOL_LOG:
    EACH(log1p(fabs(a[r])));
  case FT_SYMBOL_SINE:
    EACH(sin(a[r]));
  case FT_SYMBOL_COSINE:
    EACH(cos(a[r]));
  case FT_SYMBOL_EXPONENTIAL:
    EACH(exp(a[r]));
  case FT_SYMBOL_MINIMUM:
    EACH(b[r] < a[r] ? b[r] : a[r]);
  case FT_SYMBOL_CONSTANT:
  case FT_SYMBOL_VARIABLE:
  case FT_SYMBOLS:
    break;
  }
#undef EACH
}

/* Evaluates all nodes for the block of rows from FIRST on; ONLY_ACTIVE: only active nodes. */
static void forward_sweep(const struct ft_row_blocks *f, const struct ft_expression *e,
                          struct ft_sweep *s, size_t first, bool only_active)
{
  for (int i = 0; i < e->length; i++) {
    if (only_active && !s->active[i])
      continue;
    s->at[i] = s->value[i];
    if (e->symbol[i] == FT_SYMBOL_VARIABLE)
      s->at[i] = f->x + e->variable[i] * f->padded + first;
    else if (e->symbol[i] == FT_SYMBOL_CONSTANT)
      for (size_t r = 0; r < BLOCK; r++)
        s->value[i][r] = e->constant[i];
    else
      apply_symbol(e->symbol[i], s->at[s->links.left[i]],
                   s->links.right[i] >= 0 ? s->at[s->links.right[i]] : NULL, s->value[i]);
  }
}

/* Computes the derivatives DA and DB of the root with respect to a node's operands (NULL: not
 * needed), whose values are A and B. D is the derivative with respect to the node, V the node's
 * value. */
static void derive_operands(enum ft_symbol symbol, const double *restrict d,
                            const double *restrict v, const double *restrict a,
                            const double *restrict b, double *restrict da, double *restrict db)
{
#define EACH(to, expression)                                                                       \
  for (size_t r = 0; to && r < BLOCK; r++)                                                         \
  to[r] = (expression)
  switch (symbol) {
  case FT_SYMBOL_ADD:
    EACH(da, d[r]);
    EACH(db, d[r]);
    break;
  case FT_SYMBOL_SUBTRACT:
    EACH(da, d[r]);
    EACH(db, -d[r]);
    break;
  case FT_SYMBOL_MULTIPLY:
    EACH(da, d[r] * b[r]);
    EACH(db, d[r] * a[r]);
    break;
  case FT_SYMBOL_DIVIDE:
    EACH(da, d[r] / b[r]);
    EACH(db, -d[r] * v[r] / b[r]);
    break;
  case FT_SYMBOL_SQUARE:
    EACH(da, 2 * d[r] * a[r]);
    break;
  case FT_SYMBOL_CUBE:
    EACH(da, 3 * d[r] * a[r] * a[r]);
    break;
  case FT_SYMBOL_ROOT:
    EACH(da, v[r] > 0 ? d[r] * copysign(0.5, a[r]) / v[r] : 0);
    break;
  case FT_SYMBOL_LOG:
    EACH(da, d[r] * copysign(1, a[r]) / (1 + fabs(a[r])));
    break;
  case FT_SYMBOL_SINE:
    EACH(da, d[r] * cos(a[r]));
    break;
  case FT_SYMBOL_COSINE:
    EACH(da, -d[r] * sin(a[r]));
    break;
  case FT_SYMBOL_EXPONENTIAL:
    EACH(da, d[r] * v[r]);
    break;
  case FT_SYMBOL_MINIMUM:
    EACH(da, b[r] < a[r] ? 0 : d[r]);
    EACH(db, b[r] < a[r] ? d[r] : 0);
    break;
  case FT_SYMBOL_CONSTANT:
  case FT_SYMBOL_VARIABLE:
  case FT_SYMBOLS:
    break;
  }
#undef EACH
}

/* Computes the derivative of the root with respect to every active node, after a forward sweep. */
static void backward_sweep(const struct ft_expression *e, struct ft_sweep *s)
{
  for (size_t r = 0; r < BLOCK; r++)
    s->adjoint[e->length - 1][r] = 1;
  for (int i = e->length - 1; i >= 0; i--) {
    int l = s->links.left[i], k = s->links.right[i];

    if (l >= 0 && s->active[i])
      derive_operands(e->symbol[i], s->adjoint[i], s->value[i], s->at[l], k >= 0 ? s->at[k] : NULL,
                      s->active[l] ? s->adjoint[l] : NULL,
                      k >= 0 && s->active[k] ? s->adjoint[k] : NULL);
  }
}

/* The normal equations of a step: H step = g, with the Jacobian J and the residuals r. */
struct normal {
  int count, node[CONSTANTS];       /* nodes of the constants; intercept and slope follow */
  double h[PARAMETERS][PARAMETERS]; /* J'J */
  double g[PARAMETERS];             /* J'r */
};

/* Weighted sums of the residuals over the rows. */
struct sums {
  double squares, absolutes;
};

static inline double block_dot(const double *restrict a, const double *restrict b)
{
  double part[LANES] = { 0 };

  for (size_t r = 0; r < BLOCK; r += LANES)
    for (size_t k = 0; k < LANES; k++)
      part[k] += a[r + k] * b[r + k];
  return ((part[0] + part[4]) + (part[1] + part[5])) + ((part[2] + part[6]) + (part[3] + part[7]));
}

static inline double block_absolute_sum(const double *restrict a)
{
  double part[LANES] = { 0 };

  for (size_t r = 0; r < BLOCK; r += LANES)
    for (size_t k = 0; k < LANES; k++)
      part[k] += fabs(a[r + k]);
  return ((part[0] + part[4]) + (part[1] + part[5])) + ((part[2] + part[6]) + (part[3] + part[7]));
}

/* Computes the weighted residuals of a block with root values ROOT. */
static void block_residuals(const struct ft_row_blocks *f, const struct ft_expression *e,
                            const double *restrict root, size_t first, double *restrict residual)
{
  const double *restrict w = f->weight + first, *restrict y = f->y + first;

  for (size_t r = 0; r < BLOCK; r++)
    residual[r] = w[r] * (y[r] - e->intercept - e->slope * root[r]);
}

/* Sums all residuals. S has the values of the last block afterwards, for its derivatives. */
static struct sums measure_residuals(const struct ft_row_blocks *f, const struct ft_expression *e,
                                     struct ft_sweep *s, bool only_active)
{
  struct sums sums = { 0, 0 };
  double residual[BLOCK];

  for (size_t first = 0; first < f->rows; first += BLOCK) {
    forward_sweep(f, e, s, first, only_active);
    block_residuals(f, e, s->at[e->length - 1], first, residual);
    sums.squares += block_dot(residual, residual);
    sums.absolutes += block_absolute_sum(residual);
  }
  return sums;
}

/* Builds N at the current constants. EVALUATED: S has the values of the only block. */
static void build_normal_equations(const struct ft_row_blocks *f, const struct ft_expression *e,
                                   struct ft_sweep *s, bool evaluated, struct normal *n)
{
  double jacobian[PARAMETERS][BLOCK], residual[BLOCK];
  int size = n->count + 2;

  for (int i = 0; i < size; i++)
    memset(n->h[i], 0, (size_t)size * sizeof n->h[i][0]);
  memset(n->g, 0, sizeof n->g);
  for (size_t first = 0; first < f->rows; first += BLOCK) {
    const double *restrict w = f->weight + first, *restrict root;

    if (!evaluated)
      forward_sweep(f, e, s, first, false);
    if (n->count)
      backward_sweep(e, s);
    root = s->at[e->length - 1];
    block_residuals(f, e, root, first, residual);
    for (int i = 0; i < n->count; i++)
      for (size_t r = 0; r < BLOCK; r++)
        jacobian[i][r] = w[r] * e->slope * s->adjoint[n->node[i]][r];
    for (size_t r = 0; r < BLOCK; r++) {
      jacobian[n->count][r] = s->through_origin ? 0 : w[r];
      jacobian[n->count + 1][r] = w[r] * root[r];
    }
    for (int i = 0; i < size; i++) {
      n->g[i] += block_dot(jacobian[i], residual);
      for (int j = 0; j <= i; j++)
        n->h[i][j] += block_dot(jacobian[i], jacobian[j]);
    }
  }
}

/* Solves (H + LAMBDA diag H) STEP = g. Returns false if H is singular. */
static bool solve_damped(const struct normal *n, double lambda, double *step)
{
  double l[PARAMETERS][PARAMETERS];
  size_t size = (size_t)n->count + 2;

  for (size_t i = 0; i < size; i++) {
    memcpy(l[i], n->h[i], (i + 1) * sizeof *l[i]);
    l[i][i] += lambda * l[i][i] + DBL_MIN + 1e-14;
  }
  if (!ft_cholesky_factor(*l, PARAMETERS, size))
    return false;
  memcpy(step, n->g, size * sizeof *step);
  ft_cholesky_solve(*l, PARAMETERS, size, step, 1);
  return true;
}

static void apply_step(struct ft_expression *e, const struct normal *n, const double *step)
{
  for (int i = 0; i < n->count; i++)
    e->constant[n->node[i]] += step[i];
  e->intercept += step[n->count];
  e->slope += step[n->count + 1];
}

static double mape_of(const struct ft_row_blocks *f, struct sums sums)
{
  return isfinite(sums.absolutes) ? sums.absolutes / (double)f->rows : INFINITY;
}

double ft_constant_fit_error(const struct ft_row_blocks *f, const struct ft_expression *e,
                             struct ft_sweep *s)
{
  link_nodes(e, s);
  return mape_of(f, measure_residuals(f, e, s, false));
}

/* Chooses the constants to fit and marks the active nodes. */
static void choose_fitted(const struct ft_expression *e, struct ft_sweep *s, struct normal *n)
{
  int at = 0;

  n->count = ft_constant_fit_choose(e, &s->links, CONSTANTS, n->node);
  for (int i = 0; i < e->length; i++) {
    int l = s->links.left[i], k = s->links.right[i];

    s->active[i] = (l >= 0 && s->active[l]) || (k >= 0 && s->active[k]);
    if (at < n->count && n->node[at] == i) {
      s->active[i] = true;
      at++;
    }
  }
  s->fitted = n->count;
}

int ft_constant_fit_fitted(const struct ft_sweep *s)
{
  return s->fitted;
}

double ft_constant_fit(const struct ft_row_blocks *f, struct ft_expression *e, struct ft_sweep *s,
                       int steps)
{
  bool one_block = f->rows <= BLOCK; /* S then has all values */
  bool built = false;
  struct ft_expression before;
  struct sums now, next;
  double lambda = 1e-3, step[PARAMETERS];
  struct normal n;

  link_nodes(e, s);
  choose_fitted(e, s, &n);
  if (s->through_origin)
    e->intercept = 0;
  if (n.count == 0)
    steps = 1; /* linear least squares: one step is exact */
  now = measure_residuals(f, e, s, false);
  for (int i = 0; i < steps && isfinite(now.squares) && lambda < 1e12; i++) {
    if (!built)
      build_normal_equations(f, e, s, one_block, &n);
    built = true;
    /* if the root is constant over the rows, intercept and slope are one parameter */
    if (!solve_damped(&n, n.count ? lambda : 0, step) &&
        (n.count || !solve_damped(&n, lambda, step))) {
      lambda *= 100;
      continue;
    }
    memcpy(before.constant, e->constant, e->length * sizeof *e->constant);
    before.intercept = e->intercept;
    before.slope = e->slope;
    apply_step(e, &n, step);
    next = measure_residuals(f, e, s, one_block);
    if (next.squares < now.squares) {
      bool done = now.squares - next.squares < 1e-9 * now.squares;

      now = next;
      lambda /= 10;
      built = false;
      if (done)
        break;
    } else {
      memcpy(e->constant, before.constant, e->length * sizeof *e->constant);
      e->intercept = before.intercept;
      e->slope = before.slope;
      lambda *= 10;
    }
  }
  return mape_of(f, now);
}
