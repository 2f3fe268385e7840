/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The population is an array of postfix trees; a subtree is a contiguous run of
 * symbols, so crossover and mutation are moves of memory.
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/core/hash.h"
#include "predictor/core/random.h"
#include "predictor/learn/constants.h"
#include "predictor/learn/symbolic.h"

enum {
  SEEN = 4096,     /* structures that are remembered with their fitted constants */
  ENOUGH_FITS = 3, /* of one structure: then what was found best is taken */
  EARLY_STEPS = 3, /* of Levenberg-Marquardt while evolving */
  LATE_STEPS = 60, /* on the front */
  FOLDS = 5,
  FIRST_DEPTH = 3  /* of the first trees, ramped from 1 */
};

struct tree {
  struct ft_expression code; /* scales are the data's and never change */
  double mape;
  bool known;
};

/* A structure (symbols and variables) that was fitted before, and the best that came of it. */
struct seen {
  uint64_t hash;
  unsigned fits;
  struct tree best;
};

struct search {
  struct ft_rows data;
  struct seen *seen;
  struct ft_symbolic_settings set;
  struct ft_random random;
  uint8_t unary[FT_SYMBOLS], binary[FT_SYMBOLS];
  int unary_count, binary_count;
};

void ft_symbolic_defaults(struct ft_symbolic_settings *settings)
{
  *settings = (struct ft_symbolic_settings){
    .population = 300,
    .generations = 150,
    .fitness_size = 3,
    .parsimony_size = 1.1,
    .crossover = 1,
    .mutation = 0.5,
    .primitives = 1u << FT_SYMBOL_ADD | 1u << FT_SYMBOL_MULTIPLY | 1u << FT_SYMBOL_SQUARE |
                  1u << FT_SYMBOL_CUBE,
    .constants = true,
    .seed = 1
  };
}

/* ---- what a tree is worth ---- */

static bool same_structure(const struct ft_expression *a, const struct ft_expression *b)
{
  return a->length == b->length && memcmp(a->symbol, b->symbol, a->length) == 0 &&
         memcmp(a->variable, b->variable, a->length) == 0;
}

static struct seen *find_seen(const struct search *f, const struct ft_expression *e)
{
  uint64_t hash = ft_hash64(FT_HASH_SEED, e->symbol, e->length);
  struct seen *seen;

  hash = ft_hash64(hash, e->variable, e->length);
  seen = &f->seen[hash % SEEN];
  if (seen->hash != hash || !same_structure(&seen->best.code, e))
    *seen = (struct seen){ .hash = hash };
  return seen;
}

/*
 * The same structure comes up again and again once a population agrees: after
 * some fits from different constants, the best of them is what it is worth.
 */
static void measure(const struct search *f, struct tree *t, struct ft_sweep *s)
{
  struct seen *seen;

  if (t->known)
    return;
  t->known = true;
  if (!f->set.constants) {
    t->mape = ft_constants_error(&f->data, &t->code, s);
    return;
  }
  seen = find_seen(f, &t->code);
  if (seen->fits >= ENOUGH_FITS) {
    *t = seen->best;
    return;
  }
  t->mape = ft_constants_fit(&f->data, &t->code, s, EARLY_STEPS);
  if (!seen->fits++ || t->mape < seen->best.mape)
    seen->best = *t;
}

/* ---- trees ---- */

static double draw_constant(struct search *f)
{
  return exp(ft_random_normal(&f->random));
}

static void add_terminal(struct search *f, struct ft_expression *e)
{
  int at = e->length++;

  /* as many constants as one more variable would bring */
  e->variable[at] = (uint8_t)ft_random_below(&f->random, f->data.columns + 1);
  if (e->variable[at] == f->data.columns) {
    e->symbol[at] = FT_SYMBOL_CONSTANT;
    e->constant[at] = draw_constant(f);
    e->variable[at] = 0;
  } else {
    e->symbol[at] = FT_SYMBOL_VARIABLE;
  }
}

static uint8_t draw_operator(struct search *f)
{
  uint64_t i = ft_random_below(&f->random, (uint64_t)(f->unary_count + f->binary_count));

  return i < (uint64_t)f->unary_count ? f->unary[i] : f->binary[i - (uint64_t)f->unary_count];
}

/* Append a random tree of at most DEPTH levels. */
static void grow(struct search *f, struct ft_expression *e, int depth)
{
  uint8_t symbol;

  if (depth <= 0 || e->length > FT_EXPRESSION_NODES / 2 ||
      ft_random_double(&f->random) < 0.2) {
    add_terminal(f, e);
    return;
  }
  symbol = draw_operator(f);
  for (int i = 0; i < ft_symbol_arity(symbol); i++)
    grow(f, e, depth - 1);
  e->variable[e->length] = 0;
  e->symbol[e->length++] = symbol;
}

static void begin(const struct search *f, struct ft_expression *e)
{
  memset(e, 0, sizeof *e);
  e->slope = 1;
  for (size_t i = 0; i < f->data.columns; i++)
    e->scale[i] = 1;
}

/*
 * Put nodes FROM..TO-1 of SOURCE in place of FIRST..LAST of TARGET. False, and
 * nothing changed, when the result would be too long or too deep.
 */
static bool splice(struct ft_expression *target, int first, int last,
                   const struct ft_expression *source, int from, int to)
{
  struct ft_expression e = *target;
  int added = to - from, tail = target->length - last - 1;
  int depth = 0, deepest = 0;

  if (first + added + tail > FT_EXPRESSION_NODES)
    return false;
  memcpy(e.symbol + first, source->symbol + from, (size_t)added);
  memcpy(e.variable + first, source->variable + from, (size_t)added);
  memcpy(e.constant + first, source->constant + from, (size_t)added * sizeof *e.constant);
  memcpy(e.symbol + first + added, target->symbol + last + 1, (size_t)tail);
  memcpy(e.variable + first + added, target->variable + last + 1, (size_t)tail);
  memcpy(e.constant + first + added, target->constant + last + 1,
         (size_t)tail * sizeof *e.constant);
  e.length = (uint8_t)(first + added + tail);
  for (int i = 0; i < e.length; i++) {
    depth += 1 - ft_symbol_arity(e.symbol[i]);
    if (depth > deepest)
      deepest = depth;
  }
  if (deepest > FT_EXPRESSION_DEPTH)
    return false;
  *target = e;
  return true;
}

static int draw_node(struct search *f, const struct ft_expression *e)
{
  return (int)ft_random_below(&f->random, e->length);
}

static void cross(struct search *f, struct tree *a, struct tree *b)
{
  int i = draw_node(f, &a->code), j = draw_node(f, &b->code);
  struct ft_expression old = a->code;

  if (splice(&a->code, ft_expression_start(&a->code, i), i, &b->code, ft_expression_start(&b->code, j), j + 1))
    a->known = false;
  if (splice(&b->code, ft_expression_start(&b->code, j), j, &old, ft_expression_start(&old, i), i + 1))
    b->known = false;
}

/* A random tree takes a subtree's place. */
static bool mutate_subtree(struct search *f, struct ft_expression *e)
{
  struct ft_expression grown;
  int i = draw_node(f, e);

  begin(f, &grown);
  grow(f, &grown, 2);
  return splice(e, ft_expression_start(e, i), i, &grown, 0, grown.length);
}

/* A symbol becomes another of as many operands. */
static bool mutate_node(struct search *f, struct ft_expression *e)
{
  int i = draw_node(f, e), arity = ft_symbol_arity(e->symbol[i]);

  if (arity == 0) {
    uint8_t length = e->length;

    e->length = (uint8_t)i;
    add_terminal(f, e);
    e->length = length;
  } else if (arity == 1) {
    e->symbol[i] = f->unary[ft_random_below(&f->random, (uint64_t)f->unary_count)];
  } else {
    e->symbol[i] = f->binary[ft_random_below(&f->random, (uint64_t)f->binary_count)];
  }
  return true;
}

/* A new symbol is put above a subtree. */
static bool mutate_insert(struct search *f, struct ft_expression *e)
{
  struct ft_expression put;
  int i = draw_node(f, e), start = ft_expression_start(e, i);
  uint8_t symbol = draw_operator(f);

  begin(f, &put);
  memcpy(put.symbol, e->symbol + start, (size_t)(i + 1 - start));
  memcpy(put.variable, e->variable + start, (size_t)(i + 1 - start));
  memcpy(put.constant, e->constant + start, (size_t)(i + 1 - start) * sizeof *e->constant);
  put.length = (uint8_t)(i + 1 - start);
  if (put.length + 2 > FT_EXPRESSION_NODES)
    return false;
  if (ft_symbol_arity(symbol) == 2)
    add_terminal(f, &put);
  put.variable[put.length] = 0;
  put.symbol[put.length++] = symbol;
  return splice(e, start, i, &put, 0, put.length);
}

/* A symbol gives way to one of its operands. */
static bool mutate_shrink(struct search *f, struct ft_expression *e)
{
  int i = draw_node(f, e), arity = ft_symbol_arity(e->symbol[i]), last = i - 1;
  struct ft_expression old = *e;

  if (!arity)
    return false;
  if (arity == 2 && ft_random_below(&f->random, 2))
    last = ft_expression_start(e, last) - 1;
  return splice(e, ft_expression_start(e, i), i, &old, ft_expression_start(&old, last), last + 1);
}

/* Every constant is drawn anew, or nudged. */
static bool mutate_constants(struct search *f, struct ft_expression *e)
{
  bool changed = false;

  for (int i = 0; i < e->length; i++)
    if (e->symbol[i] == FT_SYMBOL_CONSTANT) {
      e->constant[i] = ft_random_below(&f->random, 2)
                           ? draw_constant(f)
                           : e->constant[i] * (1 + 0.1 * ft_random_normal(&f->random));
      changed = true;
    }
  return changed;
}

static void mutate(struct search *f, struct tree *t)
{
  static bool (*const operators[])(struct search *, struct ft_expression *) = {
    mutate_subtree, mutate_node, mutate_insert, mutate_shrink, mutate_constants
  };
  uint64_t which = ft_random_below(&f->random, sizeof operators / sizeof *operators);

  if (operators[which](f, &t->code))
    t->known = false;
}

/* ---- selection ---- */

static const struct tree *by_fitness(struct search *f, const struct tree *from, size_t count)
{
  const struct tree *best = &from[ft_random_below(&f->random, count)];

  for (unsigned i = 1; i < f->set.fitness_size; i++) {
    const struct tree *other = &from[ft_random_below(&f->random, count)];

    if (other->mape < best->mape)
      best = other;
  }
  return best;
}

/* Double tournament, fitness first (Luke and Panait 2002). */
static const struct tree *choose(struct search *f, const struct tree *from, size_t count)
{
  const struct tree *a = by_fitness(f, from, count), *b = by_fitness(f, from, count);
  const struct tree *shorter = a->code.length <= b->code.length ? a : b;
  const struct tree *longer = shorter == a ? b : a;

  if (a->code.length == b->code.length)
    return ft_random_below(&f->random, 2) ? a : b;
  return ft_random_double(&f->random) < f->set.parsimony_size / 2 ? shorter : longer;
}

/* The best tree of each length so far. */
static void remember(struct tree *best, const struct tree *t)
{
  struct tree *b = &best[t->code.length];

  if (!b->known || t->mape < b->mape)
    *b = *t;
}

/* One generation: parents at the front of POOL, offspring behind them, then both selected from. */
static void generation(struct search *f, struct tree *pool, struct tree *next, struct tree *best,
                       struct ft_sweep *s)
{
  size_t n = f->set.population;

  for (size_t i = 0; i < n; i++)
    pool[n + i] = pool[i];
  for (size_t i = n; i + 1 < 2 * n; i += 2)
    if (ft_random_double(&f->random) < f->set.crossover)
      cross(f, &pool[i], &pool[i + 1]);
  for (size_t i = n; i < 2 * n; i++) {
    if (ft_random_double(&f->random) < f->set.mutation)
      mutate(f, &pool[i]);
    measure(f, &pool[i], s);
    remember(best, &pool[i]);
  }
  for (size_t i = 0; i < n; i++)
    next[i] = *choose(f, pool, 2 * n);
  memcpy(pool, next, n * sizeof *pool);
  for (size_t i = n - 1; i > 0; i--) { /* neighbours are crossed: shuffle them */
    size_t j = ft_random_below(&f->random, i + 1);
    struct tree t = pool[i];

    pool[i] = pool[j];
    pool[j] = t;
  }
}

/* ---- the front ---- */

/* MAPE over the rows held out in turn, and its standard error. */
static double validate(const struct search *f, const struct ft_expression *e, double *fold_weight,
                       struct ft_sweep *s, double *standard_error)
{
  double total = 0, squares = 0;
  size_t counted = 0, folds = f->data.rows < FOLDS ? f->data.rows : FOLDS;

  for (size_t k = 0; k < folds; k++) {
    struct ft_rows part = f->data;
    struct ft_expression refit = *e;

    for (size_t r = 0; r < f->data.room; r++)
      fold_weight[r] = r % folds == k ? 0 : f->data.weight[r];
    part.weight = fold_weight;
    part.counted = f->data.rows - (f->data.rows + folds - 1 - k) / folds;
    if (f->set.constants)
      (void)ft_constants_fit(&part, &refit, s, LATE_STEPS);
    for (size_t r = k; r < f->data.rows; r += folds) {
      double x[FT_EXPRESSION_VARIABLES], error;

      for (size_t c = 0; c < f->data.columns; c++)
        x[c] = f->data.x[c * f->data.room + r];
      error = f->data.weight[r] * fabs(ft_expression_evaluate(&refit, x) - f->data.y[r]);
      total += error;
      squares += error * error;
      counted++;
    }
  }
  total /= (double)counted;
  *standard_error = sqrt(fmax(squares / (double)counted - total * total, 0) / (double)counted);
  return isfinite(total) ? total : INFINITY;
}

/* Turn the best of each length into the front; the simplest within one standard error is chosen. */
static void conclude(const struct search *f, struct tree *best, double *fold_weight,
                     struct ft_sweep *s, struct ft_symbolic_result *out)
{
  double least = INFINITY, lowest = INFINITY, margin = 0, error;

  out->count = 0;
  for (int length = 1; length <= FT_EXPRESSION_NODES; length++) {
    struct ft_symbolic_point *p = &out->front[out->count];

    if (!best[length].known)
      continue;
    if (f->set.constants)
      best[length].mape = ft_constants_fit(&f->data, &best[length].code, s, LATE_STEPS);
    if (!(best[length].mape < least * (1 - 1e-6)))
      continue;
    least = best[length].mape;
    p->expression = best[length].code;
    p->mape = least;
    p->validated = validate(f, &best[length].code, fold_weight, s, &error);
    if (p->validated < lowest) {
      lowest = p->validated;
      margin = error;
    }
    out->count++;
  }
  /* one standard error: Breiman, Friedman, Olshen, Stone 1984 */
  for (out->chosen = 0; out->chosen + 1 < out->count; out->chosen++)
    if (out->front[out->chosen].validated <= lowest + margin)
      break;
}

/* ---- the whole ---- */

static int prepare(struct search *f, const double *x, const double *y, double *copy, double *scale,
                   struct ft_error *err)
{
  double *sx = copy, *sy = copy + f->data.room * f->data.columns, *w = sy + f->data.room;

  for (size_t c = 0; c <= f->data.columns; c++) {
    double total = 0;

    for (size_t r = 0; r < f->data.rows; r++)
      total += fabs(c < f->data.columns ? x[r * f->data.columns + c] : y[r]);
    if (!isfinite(total))
      return ft_error_set(err, "symbolic regression: a value is not finite");
    scale[c] = total > 0 ? total / (double)f->data.rows : 1;
  }
  for (size_t r = 0; r < f->data.room; r++) {
    bool real = r < f->data.rows;

    if (real && y[r] == 0)
      return ft_error_set(err, "symbolic regression: row %zu: the target is 0, and MAPE divides by it",
                          r + 1);
    for (size_t c = 0; c < f->data.columns; c++)
      sx[c * f->data.room + r] = real ? x[r * f->data.columns + c] / scale[c] : 1;
    sy[r] = real ? y[r] / scale[f->data.columns] : 1;
    w[r] = real ? 1 / fabs(sy[r]) : 0;
  }
  f->data.x = sx;
  f->data.y = sy;
  f->data.weight = w;
  f->data.counted = f->data.rows;
  for (int symbol = FT_SYMBOL_ADD; symbol < FT_SYMBOLS; symbol++)
    if (f->set.primitives & 1u << symbol) {
      if (ft_symbol_arity(symbol) == 1)
        f->unary[f->unary_count++] = (uint8_t)symbol;
      else
        f->binary[f->binary_count++] = (uint8_t)symbol;
    }
  if (!f->binary_count && !f->unary_count)
    return ft_error_set(err, "symbolic regression: no primitives");
  return 0;
}

static void unscale(struct ft_symbolic_result *out, const double *scale, size_t columns)
{
  for (unsigned i = 0; i < out->count; i++) {
    struct ft_expression *e = &out->front[i].expression;

    for (size_t c = 0; c < columns; c++)
      e->scale[c] = scale[c];
    e->intercept *= scale[columns];
    e->slope *= scale[columns];
  }
}

static bool evolve(struct search *f, struct tree *pool, struct tree *next, struct tree *best,
                   struct ft_sweep *s)
{
  for (size_t i = 0; i < f->set.population; i++) {
    begin(f, &pool[i].code);
    pool[i].known = false;
    grow(f, &pool[i].code, 1 + (int)(i % FIRST_DEPTH));
    measure(f, &pool[i], s);
    remember(best, &pool[i]);
  }
  for (unsigned g = 0; g < f->set.generations; g++) {
    double least = INFINITY;

    generation(f, pool, next, best, s);
    for (int length = 1; length <= FT_EXPRESSION_NODES; length++)
      if (best[length].known && best[length].mape < least)
        least = best[length].mape;
    if (f->set.progress && !f->set.progress(f->set.data, g + 1, least))
      return false;
  }
  return true;
}

int ft_symbolic_fit(const double *x, const double *y, size_t rows, size_t columns,
                    const struct ft_symbolic_settings *settings,
                    struct ft_symbolic_result *result, struct ft_error *err)
{
  struct search f = { .data = { .rows = rows, .columns = columns }, .set = *settings };
  double scale[FT_EXPRESSION_VARIABLES + 1], *copy = NULL;
  struct tree *pool = NULL, *next = NULL, *best = NULL;
  struct ft_sweep *sweep = NULL;
  int status = -1;

  if (rows < 2 || columns < 1 || columns > FT_EXPRESSION_VARIABLES || settings->population < 2 ||
      settings->population > 1000000 || rows > SIZE_MAX / 128 / (columns + 3))
    return ft_error_set(err,
                        "symbolic regression: expected 2 or more rows, 1 to %d columns and a "
                        "population of 2 to 1000000",
                        FT_EXPRESSION_VARIABLES);
  f.data.room = (rows + FT_ROWS_BLOCK - 1) / FT_ROWS_BLOCK * FT_ROWS_BLOCK;
  copy = malloc(f.data.room * (columns + 3) * sizeof *copy);
  f.seen = calloc(SEEN, sizeof *f.seen);
  pool = calloc(2 * (size_t)settings->population, sizeof *pool);
  next = calloc(settings->population, sizeof *next);
  best = calloc(FT_EXPRESSION_NODES + 1, sizeof *best);
  sweep = ft_sweep_new();
  if (!copy || !f.seen || !pool || !next || !best || !sweep) {
    ft_error_errno(err, "symbolic regression");
    goto out;
  }
  if (prepare(&f, x, y, copy, scale, err) < 0)
    goto out;
  ft_random_seed(&f.random, settings->seed);
  result->cancelled = !evolve(&f, pool, next, best, sweep);
  conclude(&f, best, copy + f.data.room * (columns + 2), sweep, result);
  unscale(result, scale, columns);
  status = result->count ? 0 : ft_error_set(err, "symbolic regression: no equation is defined "
                                                 "on all rows");
out:
  free(f.seen);
  free(sweep);
  free(best);
  free(next);
  free(pool);
  free(copy);
  return status;
}
