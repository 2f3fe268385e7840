/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/learn/constants.h"

/* clang unrolls and vectorises these loops at -O2 already; gcc takes a third longer there */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3")
#endif

enum {
  LANES = 8,                 /* partial sums of a dot product, for vector units */
  CONSTANTS = 10,            /* fitted in one equation */
  PARAMETERS = CONSTANTS + 2 /* with intercept and slope */
};

struct ft_sweep {
  double value[FT_EXPRESSION_NODES][FT_ROWS_BLOCK];
  double adjoint[FT_EXPRESSION_NODES][FT_ROWS_BLOCK];
  int left[FT_EXPRESSION_NODES], right[FT_EXPRESSION_NODES]; /* operands' nodes */
};

struct ft_sweep *ft_sweep_new(void)
{
  return malloc(sizeof(struct ft_sweep));
}

/* Which nodes are whose operands. */
static void link_nodes(const struct ft_expression *e, struct ft_sweep *s)
{
  int stack[FT_EXPRESSION_NODES], top = 0;

  for (int i = 0; i < e->length; i++) {
    int arity = ft_symbol_arity(e->symbol[i]);

    s->right[i] = arity == 2 ? stack[--top] : -1;
    s->left[i] = arity >= 1 ? stack[--top] : -1;
    stack[top++] = i;
  }
}

static void forward(const struct ft_rows *f, const struct ft_expression *e, struct ft_sweep *s,
                    size_t first)
{
  for (int i = 0; i < e->length; i++) {
    const double *restrict a = s->value[s->left[i] >= 0 ? s->left[i] : 0];
    const double *restrict b = s->value[s->right[i] >= 0 ? s->right[i] : 0];
    const double *restrict column = f->x + e->variable[i] * f->room + first;
    double *restrict v = s->value[i];

#define EACH(expression)                   \
  for (size_t r = 0; r < FT_ROWS_BLOCK; r++)       \
    v[r] = (expression);                   \
  break
    switch ((enum ft_symbol)e->symbol[i]) {
    case FT_SYMBOL_CONSTANT:
      EACH(e->constant[i]);
    case FT_SYMBOL_VARIABLE:
      EACH(column[r]);
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
    case FT_SYMBOLS:
      break;
    }
#undef EACH
  }
}

/* The derivative of the root by every node, given the values of a forward sweep. */
static void backward(const struct ft_expression *e, struct ft_sweep *s)
{
  for (size_t r = 0; r < FT_ROWS_BLOCK; r++)
    s->adjoint[e->length - 1][r] = 1;
  for (int i = e->length - 1; i >= 0; i--) {
    int l = s->left[i] >= 0 ? s->left[i] : 0, k = s->right[i] >= 0 ? s->right[i] : 0;
    const double *restrict d = s->adjoint[i], *restrict v = s->value[i];
    const double *restrict a = s->value[l], *restrict b = s->value[k];
    double *restrict da = s->adjoint[l], *restrict db = s->adjoint[k];

#define EACH(first, second)              \
  for (size_t r = 0; r < FT_ROWS_BLOCK; r++) {   \
    da[r] = (first);                     \
    second;                              \
  }                                      \
  break
    switch ((enum ft_symbol)e->symbol[i]) {
    case FT_SYMBOL_ADD:
      EACH(d[r], db[r] = d[r]);
    case FT_SYMBOL_SUBTRACT:
      EACH(d[r], db[r] = -d[r]);
    case FT_SYMBOL_MULTIPLY:
      EACH(d[r] * b[r], db[r] = d[r] * a[r]);
    case FT_SYMBOL_DIVIDE:
      EACH(d[r] / b[r], db[r] = -d[r] * v[r] / b[r]);
    case FT_SYMBOL_SQUARE:
      EACH(2 * d[r] * a[r], (void)v);
    case FT_SYMBOL_CUBE:
      EACH(3 * d[r] * a[r] * a[r], (void)v);
    case FT_SYMBOL_ROOT:
      EACH(v[r] > 0 ? d[r] * copysign(0.5, a[r]) / v[r] : 0, (void)v);
    case FT_SYMBOL_LOG:
      EACH(d[r] * copysign(1, a[r]) / (1 + fabs(a[r])), (void)v);
    case FT_SYMBOL_SINE:
      EACH(d[r] * cos(a[r]), (void)v);
    case FT_SYMBOL_COSINE:
      EACH(-d[r] * sin(a[r]), (void)v);
    case FT_SYMBOL_EXPONENTIAL:
      EACH(d[r] * v[r], (void)v);
    case FT_SYMBOL_CONSTANT:
    case FT_SYMBOL_VARIABLE:
    case FT_SYMBOLS:
      break;
    }
#undef EACH
  }
}

struct normal {
  int count, node[CONSTANTS];      /* constants' nodes; two more parameters follow */
  double h[PARAMETERS][PARAMETERS]; /* J'J */
  double g[PARAMETERS];             /* J'r */
  double squares, absolutes;        /* sums over the rows, weighted */
};

static inline double dot(const double *restrict a, const double *restrict b)
{
  double part[LANES] = { 0 }, sum = 0;

  for (size_t r = 0; r < FT_ROWS_BLOCK; r += LANES)
    for (size_t k = 0; k < LANES; k++)
      part[k] += a[r + k] * b[r + k];
  for (size_t k = 0; k < LANES; k++)
    sum += part[k];
  return sum;
}

/* The residuals of a block, and their sums. */
static void residuals(const struct ft_rows *f, const struct ft_expression *e, const double *root,
                      size_t first, double *residual, struct normal *n)
{
  const double *w = f->weight + first, *y = f->y + first;

  for (size_t r = 0; r < FT_ROWS_BLOCK; r++)
    /* what is undefined where nothing counts must not spoil the sum */
    residual[r] = w[r] > 0 ? w[r] * (y[r] - e->intercept - e->slope * root[r]) : 0;
  n->squares += dot(residual, residual);
  for (size_t r = 0; r < FT_ROWS_BLOCK; r++)
    n->absolutes += fabs(residual[r]);
}

static void gather(const struct ft_rows *f, const struct ft_expression *e, struct ft_sweep *s,
                   struct normal *n)
{
  double jacobian[PARAMETERS][FT_ROWS_BLOCK], residual[FT_ROWS_BLOCK];
  int size = n->count + 2;

  memset(n->h, 0, sizeof n->h);
  memset(n->g, 0, sizeof n->g);
  n->squares = n->absolutes = 0;
  for (size_t first = 0; first < f->rows; first += FT_ROWS_BLOCK) {
    const double *restrict root = s->value[e->length - 1], *restrict w = f->weight + first;

    forward(f, e, s, first);
    if (n->count)
      backward(e, s);
    residuals(f, e, root, first, residual, n);
    for (int i = 0; i < n->count; i++)
      for (size_t r = 0; r < FT_ROWS_BLOCK; r++)
        jacobian[i][r] = w[r] * e->slope * s->adjoint[n->node[i]][r];
    for (size_t r = 0; r < FT_ROWS_BLOCK; r++) {
      jacobian[n->count][r] = w[r];
      jacobian[n->count + 1][r] = w[r] * root[r];
    }
    for (int i = 0; i < size; i++) {
      n->g[i] += dot(jacobian[i], residual);
      for (int j = 0; j <= i; j++)
        n->h[i][j] += dot(jacobian[i], jacobian[j]);
    }
  }
}

/* Solve (H + lambda diag H) step = g by Cholesky. False when H is not positive. */
static bool solve(const struct normal *n, double lambda, double *step)
{
  double l[PARAMETERS][PARAMETERS];
  int size = n->count + 2;

  for (int i = 0; i < size; i++)
    for (int j = 0; j <= i; j++) {
      double v = n->h[i][j];

      if (i == j)
        v += lambda * v + DBL_MIN + 1e-14;
      for (int k = 0; k < j; k++)
        v -= l[i][k] * l[j][k];
      if (i == j && !(v > 0))
        return false;
      l[i][j] = i == j ? sqrt(v) : v / l[j][j];
    }
  for (int i = 0; i < size; i++) {
    step[i] = n->g[i];
    for (int k = 0; k < i; k++)
      step[i] -= l[i][k] * step[k];
    step[i] /= l[i][i];
  }
  for (int i = size - 1; i >= 0; i--) {
    for (int k = i + 1; k < size; k++)
      step[i] -= l[k][i] * step[k];
    step[i] /= l[i][i];
  }
  return true;
}

static void move(struct ft_expression *e, const struct normal *n, const double *step)
{
  for (int i = 0; i < n->count; i++)
    e->constant[n->node[i]] += step[i];
  e->intercept += step[n->count];
  e->slope += step[n->count + 1];
}

double ft_constants_error(const struct ft_rows *f, const struct ft_expression *e, struct ft_sweep *s)
{
  struct normal n = { .count = 0 };
  double residual[FT_ROWS_BLOCK];

  link_nodes(e, s);
  for (size_t first = 0; first < f->rows; first += FT_ROWS_BLOCK) {
    forward(f, e, s, first);
    residuals(f, e, s->value[e->length - 1], first, residual, &n);
  }
  return isfinite(n.absolutes) ? n.absolutes / (double)f->counted : INFINITY;
}

double ft_constants_fit(const struct ft_rows *f, struct ft_expression *e, struct ft_sweep *s,
                            int steps)
{
  struct normal now, next;
  double lambda = 1e-3;

  now.count = 0;
  for (int i = 0; i < e->length && now.count < CONSTANTS; i++)
    if (e->symbol[i] == FT_SYMBOL_CONSTANT)
      now.node[now.count++] = i;
  if (now.count == 0)
    steps = 1; /* linear in what is left: one step is exact */
  link_nodes(e, s);
  gather(f, e, s, &now);
  next = now;
  for (int i = 0; i < steps && isfinite(now.squares) && lambda < 1e12; i++) {
    struct ft_expression moved = *e;
    double step[PARAMETERS], before = now.squares;

    if (!solve(&now, now.count ? lambda : 0, step)) {
      lambda *= 100;
      continue;
    }
    move(&moved, &now, step);
    gather(f, &moved, s, &next);
    if (next.squares < now.squares) {
      *e = moved;
      now = next;
      lambda /= 10;
      if (before - now.squares < 1e-9 * before)
        break;
    } else {
      lambda *= 10;
    }
  }
  return isfinite(now.absolutes) ? now.absolutes / (double)f->counted : INFINITY;
}
