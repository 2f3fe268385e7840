/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Genetic programming on expression trees. Trees are in slots, two per member of the population:
 * selection moves slot indices, and only offspring are copied.
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/learn/symbolic/constant_fit.h"
#include "predictor/learn/symbolic/symbolic_work.h"

enum {
  CACHE_ENTRIES = 4096, /* entries of the cache of fitted structures; bounds memory */
  ENOUGH_FITS = 3, /* fits of a structure from different constants, after which the best is reused;
                      chosen by tests/bench/symbolic */
  EARLY_STEPS = 3, /* Levenberg-Marquardt steps during evolution */
  FIRST_DEPTH = 3, /* largest depth of the initial trees, ramped from 1; compared */
  PROGRESS_INTERVAL = 1024 /* trees between two calls of the progress callback: up to seconds */
};

void ft_symbolic_defaults(struct ft_symbolic_settings *settings)
{
  *settings =
      (struct ft_symbolic_settings){ .population = 300,
                                     .generations = 150,
                                     .fitness_size = 3,
                                     .parsimony_size = 1.1,
                                     .crossover = 1,
                                     .mutation = 0.5,
                                     .primitives = 1u << FT_SYMBOL_ADD | 1u << FT_SYMBOL_MULTIPLY |
                                                   1u << FT_SYMBOL_SQUARE | 1u << FT_SYMBOL_CUBE,
                                     .constants = true,
                                     .seed = 1 };
}

/* ---- fitness ---- */

static void copy_tree(struct ft_symbolic_tree *to, const struct ft_symbolic_tree *from)
{
  ft_expression_tree_copy(&to->code, &from->code);
  to->code.intercept = from->code.intercept;
  to->code.slope = from->code.slope;
  to->mape = from->mape;
  to->known = from->known;
}

static bool same_structure(const struct ft_expression *a, const struct ft_expression *b)
{
  return a->length == b->length && memcmp(a->symbol, b->symbol, a->length) == 0 &&
         memcmp(a->variable, b->variable, a->length) == 0;
}

/* Returns a hash of HASH and COUNT bytes. It is called for every offspring, so it takes eight bytes
 * per step. */
static uint64_t hash_bytes(uint64_t hash, const uint8_t *bytes, size_t count)
{
  for (size_t i = 0; i < count; i += sizeof hash) {
    uint64_t word = 0;

    memcpy(&word, bytes + i, count - i < sizeof word ? count - i : sizeof word);
    hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    hash ^= hash >> 32;
  }
  return hash;
}

/* Returns the cache entry of the structure of E, which is emptied if it has another structure. */
static struct ft_symbolic_cached *find_cached(const struct ft_symbolic_search *f,
                                              const struct ft_expression *e)
{
  uint64_t hash = hash_bytes(hash_bytes(e->length, e->symbol, e->length), e->variable, e->length);
  struct ft_symbolic_cached *cached = &f->cache[hash % CACHE_ENTRIES];

  if (cached->hash != hash || !same_structure(&cached->best.code, e)) {
    cached->hash = hash;
    cached->fits = 0;
  }
  return cached;
}

/*
 * Computes the error of T unless it is known. Structures recur as a population converges: after
 * ENOUGH_FITS fits of a structure from different constants, the best fit is reused.
 */
static void measure_tree(const struct ft_symbolic_search *f, struct ft_symbolic_tree *t)
{
  struct ft_symbolic_cached *cached;

  if (t->known)
    return;
  t->known = true;
  if (!f->set.constants) {
    t->mape = ft_symbolic_fit_expression(f, &t->code, 0);
    return;
  }
  cached = find_cached(f, &t->code);
  if (cached->fits >= ENOUGH_FITS) {
    copy_tree(t, &cached->best);
    return;
  }
  t->mape = ft_symbolic_fit_expression(f, &t->code, EARLY_STEPS);
  if (!cached->fits++ || t->mape < cached->best.mape)
    copy_tree(&cached->best, t);
  if (!ft_constant_fit_fitted(f->sweep))
    cached->fits = ENOUGH_FITS;
}

/* Stores T if it is the best tree of its length. */
static void keep_best_of_length(struct ft_symbolic_search *f, const struct ft_symbolic_tree *t)
{
  struct ft_symbolic_tree *b = &f->best[t->code.length];

  if (!b->known || t->mape < b->mape)
    copy_tree(b, t);
  f->best_error = fmin(f->best_error, t->mape);
}

/* Reports G finished generations. Returns false to cancel. */
static bool report_progress(const struct ft_symbolic_search *f, unsigned g)
{
  return !f->set.progress || f->set.progress(f->set.data, g, f->best_error);
}

/* ---- selection ---- */

/* Returns the candidate with the smallest error of a tournament. */
static uint32_t tournament_best(struct ft_symbolic_search *f, uint32_t count)
{
  uint32_t best = ft_grower_below(&f->grower, count);

  for (unsigned i = 1; i < f->set.fitness_size; i++) {
    uint32_t other = ft_grower_below(&f->grower, count);

    best = f->mape[other] < f->mape[best] ? other : best;
  }
  return best;
}

/* Double tournament, fitness first (Luke and Panait 2002). */
static uint32_t select_tournament(struct ft_symbolic_search *f, uint32_t count)
{
  uint32_t a = tournament_best(f, count), b = tournament_best(f, count);
  uint32_t shorter = f->length[a] <= f->length[b] ? a : b;

  if (f->length[a] == f->length[b])
    return ft_grower_below(&f->grower, 2) ? a : b;
  return ft_grower_chance(&f->grower, f->set.parsimony_size / 2) ? shorter : a + b - shorter;
}

/* ---- generations ---- */

/* Assigns the slots that no parent uses to the offspring, candidate[population] and following. */
static void assign_offspring_slots(struct ft_symbolic_search *f)
{
  uint32_t n = f->set.population, found = n;

  memset(f->used, 0, 2 * (size_t)n);
  for (uint32_t i = 0; i < n; i++)
    f->used[f->candidate[i]] = 1;
  for (uint32_t slot = 0; slot < 2 * n && found < 2 * n; slot++)
    if (!f->used[slot])
      f->candidate[found++] = slot;
}

/* Creates two offspring of parents I and I + 1; a last parent without a partner is copied. */
static void breed_pair(struct ft_symbolic_search *f, uint32_t i)
{
  uint32_t n = f->set.population;
  const struct ft_symbolic_tree *a = &f->slot[f->candidate[i]];
  const struct ft_symbolic_tree *b = i + 1 < n ? &f->slot[f->candidate[i + 1]] : NULL;
  struct ft_symbolic_tree *x = &f->slot[f->candidate[n + i]];
  struct ft_symbolic_tree *y = b ? &f->slot[f->candidate[n + i + 1]] : NULL;
  bool changed[2];

  copy_tree(x, a);
  if (!b)
    return;
  copy_tree(y, b);
  if (!ft_grower_chance(&f->grower, f->set.crossover))
    return;
  ft_expression_tree_cross(&f->grower, &a->code, &b->code, &x->code, &y->code, changed);
  x->known &= !changed[0];
  y->known &= !changed[1];
}

/*
 * Runs generation G + 1. The next parents are selected from parents and offspring. Returns false if
 * cancelled.
 */
static bool run_generation(struct ft_symbolic_search *f, unsigned g)
{
  uint32_t n = f->set.population;

  assign_offspring_slots(f);
  for (uint32_t i = 0; i < n; i += 2)
    breed_pair(f, i);
  for (uint32_t i = 0; i < 2 * n; i++) {
    struct ft_symbolic_tree *t = &f->slot[f->candidate[i]];

    if (i >= n) {
      if (ft_grower_chance(&f->grower, f->set.mutation) &&
          ft_expression_tree_mutate(&f->grower, &t->code))
        t->known = false;
      measure_tree(f, t);
      keep_best_of_length(f, t);
      if (i % PROGRESS_INTERVAL == PROGRESS_INTERVAL - 1 && !report_progress(f, g))
        return false;
    }
    f->mape[i] = t->mape;
    f->length[i] = t->code.length;
  }
  for (uint32_t i = 0; i < n; i++)
    f->next[i] = f->candidate[select_tournament(f, 2 * n)];
  memcpy(f->candidate, f->next, n * sizeof *f->next);
  return report_progress(f, g + 1);
}

static void init_tree(struct ft_symbolic_tree *t)
{
  t->known = false;
  t->code.intercept = 0;
  t->code.slope = 1;
  for (int i = 0; i < FT_EXPRESSION_NODES; i++)
    t->code.scale[i] = 1;
}

static bool create_population(struct ft_symbolic_search *f)
{
  uint32_t n = f->set.population;

  for (size_t i = 0; i < 2 * (size_t)n; i++)
    init_tree(&f->slot[i]);
  for (int i = 0; i <= FT_EXPRESSION_NODES; i++)
    init_tree(&f->best[i]);
  for (uint32_t i = 0; i < n; i++) {
    struct ft_symbolic_tree *t = &f->slot[i];

    f->candidate[i] = i;
    ft_expression_tree_grow(&f->grower, &t->code, 1 + (int)(i % FIRST_DEPTH));
    measure_tree(f, t);
    keep_best_of_length(f, t);
    if (i % PROGRESS_INTERVAL == PROGRESS_INTERVAL - 1 && !report_progress(f, 0))
      return false;
  }
  return true;
}

/* Runs all generations. Returns false if cancelled. */
static bool run_generations(struct ft_symbolic_search *f)
{
  f->best_error = INFINITY;
  if (!create_population(f))
    return false;
  for (unsigned g = 0; g < f->set.generations; g++)
    if (!run_generation(f, g))
      return false;
  return true;
}

/* ---- the search ---- */

static int check_symbolic_table(const double *x, const double *y, size_t rows, size_t columns,
                                struct ft_error *err)
{
  for (size_t i = 0; i < rows * columns; i++)
    if (!(fabs(x[i]) <= FT_SYMBOLIC_MAX))
      return ft_error_set(err, "symbolic regression: row %zu: a value is not a number within %g",
                          i / columns + 1, FT_SYMBOLIC_MAX);
  for (size_t r = 0; r < rows; r++)
    if (!(fabs(y[r]) <= FT_SYMBOLIC_MAX && fabs(y[r]) >= 1 / FT_SYMBOLIC_MAX))
      return ft_error_set(err,
                          "symbolic regression: row %zu: the target is %g; expected a number "
                          "from %g to %g, for MAPE divides by it",
                          r + 1, y[r], 1 / FT_SYMBOLIC_MAX, FT_SYMBOLIC_MAX);
  return 0;
}

/* Returns the scale of a column: the mean of its absolute values. */
static double mean_size(const double *value, size_t rows)
{
  double mean = 0;

  for (size_t r = 0; r < rows; r++)
    mean += fabs(value[r]) / (double)rows;
  return mean > 1 / FT_SYMBOLIC_MAX ? mean : 1;
}

/* Copies and scales the rows, or a random sample of them (Knuth's algorithm S). */
static void copy_scaled_table(struct ft_symbolic_search *f, const double *x, const double *y,
                              size_t rows, double *scale)
{
  size_t columns = f->data.columns, padded = f->data.padded, to = 0;
  double *sx = f->copy, *sy = sx + padded * columns, *w = sy + padded;
  struct ft_random random;

  ft_random_seed(&random, f->set.seed);
  for (size_t r = 0; r < rows && to < f->data.rows; r++) {
    if (rows > f->data.rows && ft_random_below(&random, rows - r) >= f->data.rows - to)
      continue;
    for (size_t c = 0; c < columns; c++)
      sx[c * padded + to] = x[r * columns + c];
    sy[to++] = y[r];
  }
  for (size_t c = 0; c <= columns; c++) {
    double *column = sx + c * padded; /* column `columns` is the target */

    scale[c] = mean_size(column, f->data.rows);
    if (c < columns) {
      f->range[c] = ft_interval_of(column, f->data.rows, f->copy + padded * (columns + 2));
      f->range[c].low /= scale[c];
      f->range[c].high /= scale[c];
    }
    for (size_t r = 0; r < f->data.rows; r++)
      column[r] /= scale[c];
  }
  for (size_t r = 0; r < f->data.rows; r++)
    w[r] = 1 / fabs(sy[r]);
  f->data.x = sx;
  f->data.y = sy;
  f->data.weight = w;
  ft_row_blocks_fill(sx, sy, w, &f->data);
}

/* Smallest intercept relative to the smallest target; smaller ones are rounding errors. */
#define NO_INTERCEPT 1e-13

static void unscale_front(const struct ft_symbolic_search *f, struct ft_symbolic_result *out,
                          const double *scale)
{
  size_t columns = f->data.columns;
  double best_error = INFINITY;

  for (size_t r = 0; r < f->data.rows; r++)
    best_error = fmin(best_error, fabs(f->data.y[r]));
  for (unsigned i = 0; i < out->count; i++) {
    struct ft_expression *e = &out->front[i].expression;

    for (int node = 0; node < e->length; node++)
      if (e->symbol[node] == FT_SYMBOL_VARIABLE)
        e->scale[node] = scale[e->variable[node]];
    e->intercept *= fabs(e->intercept) > NO_INTERCEPT * best_error ? scale[columns] : 0;
    e->slope *= scale[columns];
  }
}

static int open_search(struct ft_symbolic_search *f, struct ft_error *err)
{
  size_t n = f->set.population;

  /* the scaled table, and its copy without a fold, which is no larger */
  f->copy = malloc(2 * f->data.padded * (f->data.columns + 2) * sizeof *f->copy);
  f->sweep = ft_sweep_new();
  f->cache = f->set.constants ? calloc(CACHE_ENTRIES, sizeof *f->cache) : NULL;
  f->slot = malloc(2 * n * sizeof *f->slot);
  f->best = malloc((FT_EXPRESSION_NODES + 1) * sizeof *f->best);
  f->candidate = malloc(2 * n * sizeof *f->candidate);
  f->next = malloc(n * sizeof *f->next);
  f->mape = malloc(2 * n * sizeof *f->mape);
  f->length = malloc(2 * n);
  f->used = malloc(2 * n);
  f->held_out = calloc((FT_SYMBOLIC_FRONT + 1) * f->data.rows, sizeof *f->held_out);
  if (f->copy && f->sweep && (f->cache || !f->set.constants) && f->slot && f->best &&
      f->candidate && f->next && f->mape && f->length && f->used && f->held_out)
    return 0;
  return ft_error_errno(err, "symbolic regression");
}

static void close_search(struct ft_symbolic_search *f)
{
  free(f->held_out);
  free(f->used);
  free(f->length);
  free(f->mape);
  free(f->next);
  free(f->candidate);
  free(f->best);
  free(f->slot);
  free(f->cache);
  free(f->sweep);
  free(f->copy);
}

int ft_symbolic_fit(const double *x, const double *y, size_t rows, size_t columns,
                    const struct ft_symbolic_settings *settings, struct ft_symbolic_result *result,
                    struct ft_error *err)
{
  struct ft_symbolic_search f = { .data = { .columns = columns }, .set = *settings };
  double scale[FT_EXPRESSION_VARIABLES + 1];
  int status = -1;

  if (rows < 2 || columns < 1 || columns > FT_EXPRESSION_VARIABLES || settings->population < 2 ||
      settings->population > FT_SYMBOLIC_POPULATION)
    return ft_error_set(err,
                        "symbolic regression: expected 2 or more rows, 1 to %d columns and a "
                        "population of 2 to %d",
                        FT_EXPRESSION_VARIABLES, FT_SYMBOLIC_POPULATION);
  ft_grower_init(&f.grower, f.set.seed, columns, f.set.primitives);
  if (!f.grower.binary_count && !f.grower.unary_count)
    return ft_error_set(err, "symbolic regression: no primitives");
  if (check_symbolic_table(x, y, rows, columns, err) < 0)
    return -1;
  f.data.rows = rows < FT_SYMBOLIC_ROWS ? rows : FT_SYMBOLIC_ROWS;
  f.data.padded = ft_row_blocks_padded(f.data.rows);
  if (open_search(&f, err) < 0)
    goto out;
  copy_scaled_table(&f, x, y, rows, scale);
  result->cancelled = !run_generations(&f);
  ft_symbolic_build_front(&f, result);
  unscale_front(&f, result, scale);
  status = result->count ? 0
                         : ft_error_set(err, "symbolic regression: no equation is defined "
                                             "on all rows");
out:
  close_search(&f);
  return status;
}
