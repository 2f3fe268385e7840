/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a program computes without tensors: numbers and lists; strings are in aten_string.c. */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/core/text.h"
#include "predictor/graph/aten/aten.h"

static int give(struct ft_call *c, struct ft_operand v)
{
  c->result = v;
  return 0;
}

static bool is(const struct ft_call *c, const char *name)
{
  return strcmp(c->name, name) == 0;
}

#define IS_ONE_OF(c, ...) ft_string_listed((const char *const[]){ __VA_ARGS__, NULL }, (c)->name)

/* ---- numbers ---- */

static int64_t divide(int64_t a, int64_t b)
{
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

/* A whole result of two whole numbers; FALSE: not this operation, or none that can be told. */
static bool integers(const char *name, int64_t a, int64_t b, int64_t *out)
{
  if (strcmp(name, "add") == 0)
    return !__builtin_add_overflow(a, b, out);
  if (strcmp(name, "sub") == 0)
    return !__builtin_sub_overflow(a, b, out);
  if (strcmp(name, "mul") == 0)
    return !__builtin_mul_overflow(a, b, out);
  if (b == 0 || (a == INT64_MIN && b == -1))
    return false;
  if (strcmp(name, "floordiv") == 0 || strcmp(name, "floor_divide") == 0) {
    *out = divide(a, b);
    return true;
  }
  if (strcmp(name, "trunc") == 0) {
    *out = a / b;
    return true;
  }
  if (strcmp(name, "remainder") == 0 || strcmp(name, "mod") == 0) {
    *out = a % b + (a % b != 0 && (a < 0) != (b < 0) ? b : 0);
    return true;
  }
  return false;
}

static double reals(const char *name, double a, double b)
{
  static const char *const names[] = { "add",     "sub",  "mul",          "div",
                                       "truediv", "pow",  "floordiv",     "remainder",
                                       "trunc",   "fmod", "floor_divide", "mod" };
  size_t i = 0;

  while (i < sizeof names / sizeof *names && strcmp(name, names[i]) != 0)
    i++;
  switch (i) {
  case 0:
    return a + b;
  case 1:
    return a - b;
  case 2:
    return a * b;
  case 3:
  case 4:
    return b == 0 ? (double)NAN : a / b;
  case 5:
    return pow(a, b);
  case 6:
  case 10:
    return b == 0 ? (double)NAN : floor(a / b);
  case 8:
    return b == 0 ? (double)NAN : trunc(a / b);
  case 9:
    return b == 0 ? (double)NAN : fmod(a, b);
  case 7:
  case 11:
    return b == 0 ? (double)NAN : a - b * floor(a / b);
  default:
    return (double)NAN;
  }
}

static int arithmetic(struct ft_call *c, const struct ft_operand *a, const struct ft_operand *b)
{
  bool whole = a->type != FT_VALUE_REAL && b->type != FT_VALUE_REAL;
  const struct ft_operand *mode = ft_arg(c, 99, "rounding_mode");
  const char *name = c->name;
  double value;
  int64_t out;
  bool real;

  if (is(c, "div") && mode->type == FT_VALUE_STRING)
    name = strcmp(mode->string, "trunc") == 0 ? "trunc" : "floordiv";
  real = !whole || strcmp(name, "div") == 0 || strcmp(name, "truediv") == 0 ||
         strcmp(name, "fmod") == 0;
  if (!a->known || !b->known)
    return give(c, ft_value_some(real ? FT_VALUE_REAL : FT_VALUE_INT));
  if (whole && integers(name, a->integer, b->integer, &out))
    return give(c, ft_value_int(out));
  value = reals(name, ft_value_number(a), ft_value_number(b));
  if (whole && strcmp(name, "pow") == 0 && value == floor(value) && fabs(value) < 0x1p53)
    return give(c, ft_value_int((int64_t)value));
  if (whole && strcmp(name, "pow") == 0 && b->integer < 0)
    return give(c, ft_value_real(value));
  return give(c, real ? ft_value_real(value) : ft_value_some(FT_VALUE_INT));
}

/* ---- comparison ---- */

/* Elements that one question compares: lists that stand in lists again and again have no end. */
enum { COMPARED = 1 << 16 };

/* Whether A and B are the same, lists to a DEPTH and while there are comparisons LEFT: 1, 0; -1 not
 * known. */
static int same(const struct ft_operand *a, const struct ft_operand *b, int depth, int *left)
{
  int all = 1;

  if (ft_value_is_number(a) && ft_value_is_number(b))
    return a->known && b->known ? ft_value_number(a) == ft_value_number(b) : -1;
  if (a->type == FT_VALUE_STRING && b->type == FT_VALUE_STRING)
    return a->known && b->known ? strcmp(a->string, b->string) == 0 : -1;
  if (a->type == FT_VALUE_OPAQUE || b->type == FT_VALUE_OPAQUE)
    return -1;
  if ((a->type == FT_VALUE_LIST || a->type == FT_VALUE_TUPLE) && a->type == b->type) {
    if (a->list->count != b->list->count)
      return 0;
    for (size_t i = 0; i < a->list->count && all; i++) {
      int one = -1;

      if (*left <= 0)
        return -1;
      --*left;
      if (depth)
        one = same(&a->list->items[i], &b->list->items[i], depth - 1, left);

      all = one == 0 ? 0 : one < 0 ? -1 : all;
    }
    return all;
  }
  if (a->type == FT_VALUE_NONE || b->type == FT_VALUE_NONE)
    return a->type == b->type;
  return a->type == b->type ? -1 : 0;
}

static int compare(struct ft_call *c, const struct ft_operand *a, const struct ft_operand *b)
{
  double x = ft_value_number(a), y = ft_value_number(b);
  int equal, left = COMPARED;

  if (is(c, "eq") || is(c, "ne")) {
    equal = same(a, b, 8, &left);
    return give(c, equal < 0 ? ft_value_some(FT_VALUE_BOOL)
                             : ft_value_bool((equal == 1) == is(c, "eq")));
  }
  if (isnan(x) || isnan(y))
    return give(c, ft_value_some(FT_VALUE_BOOL));
  return give(c, ft_value_bool(is(c, "lt")   ? x < y
                               : is(c, "le") ? x <= y
                               : is(c, "gt") ? x > y
                                             : x >= y));
}

static struct ft_operand truth_of(const struct ft_call *c, const struct ft_operand *v, bool negated)
{
  int truth = ft_value_truth(c->l, v);

  return truth < 0 ? ft_value_some(FT_VALUE_BOOL) : ft_value_bool((truth == 1) != negated);
}

static struct ft_operand add(const struct ft_operand *a, const struct ft_operand *b)
{
  int64_t sum;

  if (a->type == FT_VALUE_REAL || b->type == FT_VALUE_REAL)
    return ft_value_real(ft_value_number(a) + ft_value_number(b));
  return a->known && b->known && integers("add", a->integer, b->integer, &sum)
             ? ft_value_int(sum)
             : ft_value_some(FT_VALUE_INT);
}

/* all and any of a list of truths; the extremes and the sum of numbers */
static int over_list(struct ft_call *c, const struct ft_values *list)
{
  bool all = is(c, "all"), any = is(c, "any");
  struct ft_operand best = list->count ? list->items[0] : ft_value_none(), sum = ft_value_int(0);

  for (size_t i = 0; i < list->count; i++) {
    const struct ft_operand *v = &list->items[i];
    int truth = ft_value_truth(c->l, v);

    if (all || any) {
      if (truth == (any ? 1 : 0))
        return give(c, ft_value_bool(any));
      if (truth < 0)
        return give(c, ft_value_some(FT_VALUE_BOOL));
      continue;
    }
    if (!ft_value_is_number(v) || !v->known)
      return give(c, ft_value_some(FT_VALUE_INT));
    if (is(c, "max") ? ft_value_number(v) > ft_value_number(&best)
                     : ft_value_number(v) < ft_value_number(&best))
      best = *v;
    sum = add(&sum, v);
  }
  if (all || any)
    return give(c, ft_value_bool(all));
  if (is(c, "sum"))
    return give(c, sum);
  return give(c, best);
}

static int one_number(struct ft_call *c, const struct ft_operand *a)
{
  double x = ft_value_number(a);

  if (is(c, "neg"))
    return give(c, !a->known ? *a
                   : a->type == FT_VALUE_REAL
                       ? ft_value_real(-x)
                       : ft_value_int(a->integer == INT64_MIN ? INT64_MAX : -a->integer));
  if (is(c, "abs"))
    return give(c, a->type == FT_VALUE_REAL ? ft_value_real(fabs(x))
                   : a->known               ? ft_value_int(ft_whole(fabs(x)))
                                            : *a);
  if (IS_ONE_OF(c, "Int", "int", "trunc", "ceil", "floor", "round", "IntImplicit"))
    return give(c, isnan(x) ? ft_value_some(FT_VALUE_INT)
                            : ft_value_int(ft_whole(is(c, "ceil")    ? ceil(x)
                                                    : is(c, "floor") ? floor(x)
                                                    : is(c, "round") ? rint(x)
                                                                     : trunc(x))));
  if (IS_ONE_OF(c, "float", "Float", "FloatImplicit"))
    return give(c, ft_value_real(x));
  if (IS_ONE_OF(c, "sqrt", "exp", "log", "log2", "rsqrt"))
    return give(c, ft_value_real(is(c, "sqrt")    ? sqrt(x)
                                 : is(c, "exp")   ? exp(x)
                                 : is(c, "log")   ? log(x)
                                 : is(c, "rsqrt") ? 1 / sqrt(x)
                                                  : log2(x)));
  if (IS_ONE_OF(c, "NumToTensor", "to", "item", "clone", "detach", "tensor", "scalar_tensor",
                "ScalarImplicit", "clamp", "as_tensor", "type_as", "lift_fresh"))
    return give(c, *a);
  return 1;
}

static int two_numbers(struct ft_call *c, const struct ft_operand *a, const struct ft_operand *b)
{
  if (IS_ONE_OF(c, "add", "sub", "mul", "div", "truediv", "pow", "floordiv", "remainder",
                "floor_divide", "mod", "fmod"))
    return arithmetic(c, a, b);
  if (IS_ONE_OF(c, "eq", "ne", "lt", "le", "gt", "ge"))
    return compare(c, a, b);
  if (IS_ONE_OF(c, "max", "min", "sym_max", "sym_min"))
    return give(c, !a->known || !b->known ? ft_value_some(a->type)
                   : (ft_value_number(a) > ft_value_number(b)) == (strstr(c->name, "max") != NULL)
                       ? *a
                       : *b);
  return one_number(c, a);
}

/* ---- lists ---- */

enum { REPEATED = 1 << 22 }; /* elements of a list that was multiplied */

static struct ft_operand *element(const struct ft_values *list, const struct ft_operand *index)
{
  int64_t at = index->integer;

  if (index->type != FT_VALUE_INT || !index->known)
    return NULL;
  at = at < 0 ? at + (int64_t)list->count : at;
  return at < 0 || at >= (int64_t)list->count ? NULL : &list->items[at];
}

static int concatenate(struct ft_call *c, const struct ft_operand *a, const struct ft_operand *b)
{
  struct ft_operand sum = ft_value_list(c->l, a->type, a->list->items, a->list->count);

  for (size_t i = 0; sum.type == a->type && i < b->list->count; i++)
    if (ft_value_append(c->l, sum.list, b->list->items[i]) < 0)
      return -1;
  return give(c, sum);
}

/* A, N times; longer ones than are followed are not known. */
static int times(struct ft_call *c, const struct ft_operand *a, int64_t n)
{
  struct ft_operand all = ft_value_list(c->l, a->type, NULL, 0);
  int64_t count = n > 0 ? ft_times((int64_t)a->list->count, n) : 0;

  if (all.type != a->type)
    return -1;
  if (count > REPEATED)
    return give(c, ft_value_some(FT_VALUE_OPAQUE));
  all.list->items = count ? ft_live_take(c->l, (size_t)count * sizeof *all.list->items) : NULL;
  if (count && !all.list->items)
    return -1;
  all.list->count = all.list->room = (size_t)count;
  for (size_t i = 0; i < all.list->count; i++)
    all.list->items[i] = a->list->items[i % a->list->count];
  return give(c, all);
}

/* A bound of a slice of N elements, as Python settles it: within LEAST and MOST. */
static int64_t settle(int64_t at, int64_t n, int64_t least, int64_t most)
{
  at = at < 0 ? at + n : at;
  return at < least ? least : at > most ? most : at;
}

static int part(struct ft_call *c, const struct ft_operand *a)
{
  struct ft_operand some = ft_value_list(c->l, a->type, NULL, 0);
  int64_t n = (int64_t)a->list->count, step = ft_arg_int(c, 3, NULL, 1), back = step < 0;
  int64_t start = ft_arg_int(c, 1, NULL, back ? n - 1 : 0);
  int64_t end = ft_arg_int(c, 2, NULL, back ? -n - 1 : n);

  if (step == 0 || step == INT64_MIN || start == INT64_MIN || end == INT64_MIN)
    return give(c, ft_value_some(FT_VALUE_OPAQUE));
  start = settle(start, n, back ? -1 : 0, n - back);
  end = settle(end, n, back ? -1 : 0, n - back);
  step = step > n ? n + 1 : step < -n ? -n - 1 : step;
  for (int64_t i = start; some.type == a->type && (back ? i > end : i < end); i += step)
    if (ft_value_append(c->l, some.list, a->list->items[i]) < 0)
      return -1;
  return give(c, some);
}

/* list(A), or dict(A) of pairs. */
static int copied(struct ft_call *c, const struct ft_operand *a)
{
  bool pairs = is(c, "dict") && a->type != FT_VALUE_DICT;
  struct ft_operand all =
      ft_value_list(c->l, is(c, "dict") ? FT_VALUE_DICT : FT_VALUE_LIST, NULL, 0);

  for (size_t i = 0; all.list && i < a->list->count; i++) {
    const struct ft_operand *one = &a->list->items[i];

    if (pairs && (one->type != FT_VALUE_TUPLE || one->list->count != 2))
      return 1;
    if (ft_value_append(c->l, all.list, pairs ? one->list->items[0] : *one) < 0 ||
        (pairs && ft_value_append(c->l, all.list, one->list->items[1]) < 0))
      return -1;
  }
  return give(c, all);
}

/* Python's order: numbers by size, strings by their bytes. */
static int by_order(const void *a, const void *b)
{
  const struct ft_operand *x = a, *y = b;
  double m = ft_value_number(x), n = ft_value_number(y);

  if (x->type == FT_VALUE_STRING && y->type == FT_VALUE_STRING)
    return strcmp(x->string, y->string);
  return m < n ? -1 : m > n;
}

static void reverse(struct ft_values *list)
{
  for (size_t i = 0; i < list->count / 2; i++) {
    struct ft_operand one = list->items[i];

    list->items[i] = list->items[list->count - 1 - i];
    list->items[list->count - 1 - i] = one;
  }
}

/* Numbers or strings in order; of what is not known neither which nor where. */
static void sort(struct ft_values *list, bool descending)
{
  bool known = true;

  for (size_t i = 0; i < list->count; i++) {
    const struct ft_operand *v = &list->items[i];

    known = known && v->known && (ft_value_is_number(v) || v->type == FT_VALUE_STRING) &&
            (v->type == FT_VALUE_STRING) == (list->items[0].type == FT_VALUE_STRING);
  }
  if (known && list->count)
    qsort(list->items, list->count, sizeof *list->items, by_order);
  for (size_t i = 0; !known && i < list->count; i++)
    list->items[i] =
        ft_value_some(ft_value_is_number(&list->items[i]) ? list->items[i].type : FT_VALUE_OPAQUE);
  if (known && descending)
    reverse(list);
}

/* sorted(a, reverse), which is a new list; a.sort(reverse), a.reverse(), a.clear() */
static int order(struct ft_call *c, const struct ft_operand *a)
{
  bool descending = ft_arg_true(c, 1, "reverse", false);
  struct ft_operand list = *a;

  if (is(c, "sorted"))
    list = ft_value_list(c->l, FT_VALUE_LIST, a->list->items, a->list->count);
  if (!list.list || ft_value_change(c->l, list.list) < 0)
    return -1;
  if (is(c, "clear"))
    list.list->count = 0;
  else if (is(c, "reverse"))
    reverse(list.list);
  else
    sort(list.list, descending);
  return give(c, is(c, "sorted") ? list : ft_value_none());
}

/* a.index(b), a.count(b), a.remove(b); 1: that cannot be told. */
static int seek(struct ft_call *c, const struct ft_operand *a, const struct ft_operand *b)
{
  int64_t found = 0;
  int left = COMPARED, equal;

  for (size_t i = 0; i < a->list->count; i++) {
    equal = same(&a->list->items[i], b, 4, &left);
    if (equal < 0)
      return give(c, ft_value_some(is(c, "remove") ? FT_VALUE_NONE : FT_VALUE_INT));
    found += equal;
    if (equal && is(c, "index"))
      return give(c, ft_value_int((int64_t)i));
    if (equal && is(c, "remove")) {
      if (ft_value_change(c->l, a->list) < 0)
        return -1;
      memmove(&a->list->items[i], &a->list->items[i + 1],
              (a->list->count - i - 1) * sizeof *a->list->items);
      a->list->count--;
      return give(c, ft_value_none());
    }
  }
  return is(c, "count") ? give(c, ft_value_int(found)) : 1;
}

/* What changes the list A: 0, or -1; 1: it is another call. */
static int changed(struct ft_call *c, const struct ft_operand *a, const struct ft_operand *b)
{
  struct ft_operand *at;
  size_t count = a->list->count;

  if (ft_value_change(c->l, a->list) < 0)
    return -1;
  if (is(c, "append") && c->count == 2)
    return ft_value_append(c->l, a->list, *b) < 0 ? -1 : give(c, *a);
  if (is(c, "pop") && count) {
    at = c->count > 1 ? element(a->list, b) : &a->list->items[count - 1];
    if (!at)
      return 1;
    c->result = *at;
    memmove(at, at + 1, (size_t)(a->list->items + count - at - 1) * sizeof *at);
    a->list->count--;
    return 0;
  }
  if (is(c, "insert") && c->count == 3 && b->type == FT_VALUE_INT && b->known) {
    size_t place = (size_t)settle(b->integer, (int64_t)count, 0, (int64_t)count);

    if (ft_value_append(c->l, a->list, c->args[2]) < 0)
      return -1;
    at = &a->list->items[place];
    memmove(at + 1, at, (count - place) * sizeof *at);
    *at = c->args[2];
    return give(c, *a);
  }
  if (is(c, "_set_item") && c->count == 3) {
    at = element(a->list, b);
    if (at)
      *at = c->args[2];
    return give(c, *a);
  }
  return 1;
}

/* Two lists, A and B. */
static int both_lists(struct ft_call *c, const struct ft_operand *a, const struct ft_operand *b)
{
  if (is(c, "eq") || is(c, "ne"))
    return compare(c, a, b);
  if (a->list == b->list)
    return 1;
  if (is(c, "add"))
    return concatenate(c, a, b);
  if (!is(c, "extend") && !is(c, "add_"))
    return 1;
  for (size_t i = 0; i < b->list->count; i++)
    if (ft_value_append(c->l, a->list, b->list->items[i]) < 0)
      return -1;
  return give(c, *a);
}

static int lists(struct ft_call *c, const struct ft_operand *a, const struct ft_operand *b)
{
  const struct ft_operand *at;
  int left = COMPARED;

  if (is(c, "len"))
    return give(c, ft_value_int((int64_t)a->list->count / (a->type == FT_VALUE_DICT ? 2 : 1)));
  if (is(c, "list") || is(c, "dict"))
    return copied(c, a);
  if (a->type == FT_VALUE_DICT)
    return 1;
  if (IS_ONE_OF(c, "append", "pop", "insert", "_set_item"))
    return changed(c, a, b);
  if (is(c, "mul") && b->type == FT_VALUE_INT && b->known)
    return times(c, a, b->integer);
  if (is(c, "slice"))
    return part(c, a);
  if (is(c, "copy"))
    return give(c, ft_value_list(c->l, FT_VALUE_LIST, a->list->items, a->list->count));
  if (is(c, "sorted") || is(c, "sort") || is(c, "reverse") || is(c, "clear"))
    return order(c, a);
  if (is(c, "index") || is(c, "count") || is(c, "remove"))
    return seek(c, a, b);
  if (is(c, "__getitem__")) {
    at = element(a->list, b);
    return at ? give(c, *at) : 1;
  }
  if (is(c, "__contains__")) {
    bool known = true;

    for (size_t i = 0; i < a->list->count; i++) {
      int equal = same(&a->list->items[i], b, 4, &left);

      if (equal == 1)
        return give(c, ft_value_bool(true));
      known = known && equal == 0;
    }
    return give(c, known ? ft_value_bool(false) : ft_value_some(FT_VALUE_BOOL));
  }
  if (IS_ONE_OF(c, "max", "min", "all", "any", "sum"))
    return over_list(c, a->list);
  return b->type == FT_VALUE_LIST || b->type == FT_VALUE_TUPLE ? both_lists(c, a, b) : 1;
}

static int dictionary(struct ft_call *c, const struct ft_operand *a, const struct ft_operand *b)
{
  size_t which = is(c, "values") ? 1 : 0;
  struct ft_operand list, pair;
  int left = COMPARED;

  for (size_t i = 0; i + 1 < a->list->count && c->count > 1; i += 2) {
    if (same(&a->list->items[i], b, 4, &left) != 1)
      continue;
    if (is(c, "__contains__"))
      return give(c, ft_value_bool(true));
    if (is(c, "__getitem__") || is(c, "get"))
      return give(c, a->list->items[i + 1]);
    if (is(c, "_set_item") && c->count == 3) {
      if (ft_value_change(c->l, a->list) < 0)
        return -1;
      a->list->items[i + 1] = c->args[2];
      return give(c, *a);
    }
  }
  if (is(c, "__contains__"))
    return give(c, ft_value_bool(false));
  if (is(c, "get"))
    return give(c, c->count > 2 ? c->args[2] : ft_value_none());
  if (is(c, "_set_item") && c->count == 3)
    return ft_value_append(c->l, a->list, *b) < 0 || ft_value_append(c->l, a->list, c->args[2]) < 0
               ? -1
               : give(c, *a);
  if (!is(c, "keys") && !is(c, "values") && !is(c, "items"))
    return 1;
  list = ft_value_list(c->l, FT_VALUE_LIST, NULL, 0);
  for (size_t i = 0; list.type == FT_VALUE_LIST && i + 1 < a->list->count; i += 2) {
    pair = is(c, "items") ? ft_value_list(c->l, FT_VALUE_TUPLE, &a->list->items[i], 2)
                          : a->list->items[i + which];
    if (ft_value_append(c->l, list.list, pair) < 0)
      return -1;
  }
  return give(c, list);
}

/* What does not depend on what it is asked of. */
static int facts(struct ft_call *c)
{
  static const struct {
    const char *name;
    int truth;
  } known[] = {
    { "is_grad_enabled", 1 },    { "is_autocast_enabled", 0 }, { "is_scripting", 1 },
    { "is_tracing", 0 },         { "_is_tracing", 0 },         { "is_autocast_cpu_enabled", 0 },
    { "has_torch_function", 0 }, { "is_compiling", 0 },        { "_jit_internal_is_scripting", 1 }
  };

  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (is(c, known[i].name))
      return give(c, ft_value_bool(known[i].truth));
  if (IS_ONE_OF(c, "warn", "print", "manual_seed", "_set_grad_enabled", "set_grad_enabled",
                "annotate_"))
    return give(c, ft_value_none());
  if ((is(c, "dict") || is(c, "list")) && !c->count)
    return give(c, ft_value_list(c->l, c->name[0] == 'd' ? FT_VALUE_DICT : FT_VALUE_LIST, NULL, 0));
  if (is(c, "str") && c->count == 1 && c->args[0].type != FT_VALUE_STRING)
    return ft_aten_to_text(c, &c->args[0]);
  if (is(c, "device") || is(c, "type"))
    return c->count && c->args[0].type == FT_VALUE_STRING ? give(c, c->args[0]) : 1;
  return 1;
}

/* ---- truths ---- */

static int identity(struct ft_call *c, const struct ft_operand *a, const struct ft_operand *b)
{
  bool same_kind = a->type == b->type;

  if (a->type == FT_VALUE_OPAQUE || b->type == FT_VALUE_OPAQUE)
    return give(c, ft_value_some(FT_VALUE_BOOL));
  if (b->type != FT_VALUE_NONE)
    same_kind = same_kind && a->integer == b->integer;
  return give(c, ft_value_bool(same_kind == is(c, "__is__")));
}

static int truths(struct ft_call *c, const struct ft_operand *a, const struct ft_operand *b)
{
  bool or = strstr(c->name, "or") != NULL;

  if (is(c, "__is__") || is(c, "__isnot__"))
    return identity(c, a, b);
  if (is(c, "__not__") || is(c, "Bool") || (is(c, "bool") && !ft_value_is_tensor(a)))
    return give(c, truth_of(c, a, is(c, "__not__")));
  if (!IS_ONE_OF(c, "__and__", "__or__", "logical_and", "logical_or") || a->type != FT_VALUE_BOOL ||
      b->type != FT_VALUE_BOOL)
    return 1;
  if (!a->known || !b->known)
    return give(c, ft_value_some(FT_VALUE_BOOL));
  return give(c, ft_value_bool(or ? a->integer || b->integer : a->integer && b->integer));
}

/* ---- loops ---- */

/* How often a range turns, and its number in turn I. */
static int ranges(struct ft_call *c)
{
  int64_t first = ft_arg_int(c, 0, NULL, 0), second = ft_arg_int(c, 1, NULL, 0),
          step = ft_arg_int(c, 2, NULL, 1), product;

  if (is(c, "__range_length")) {
    if (first == INT64_MIN || second == INT64_MIN || step == INT64_MIN || step == 0)
      return give(c, ft_value_some(FT_VALUE_INT));
    return give(
        c, ft_value_int(ft_whole(fmax(0, ceil(((double)second - (double)first) / (double)step)))));
  }
  if (first == INT64_MIN || __builtin_mul_overflow(first, step, &product) ||
      __builtin_add_overflow(product, second, &product))
    return give(c, ft_value_some(FT_VALUE_INT));
  return give(c, ft_value_int(product));
}

/* How many a tensor's first dimension has. */
static int length_of_tensor(struct ft_call *c)
{
  struct ft_operand dims;

  if (ft_aten_size(c) < 0)
    return -1;
  dims = c->result;
  return give(c, dims.type == FT_VALUE_LIST && dims.list->count ? dims.list->items[0]
                                                                : ft_value_some(FT_VALUE_INT));
}

static bool is_several(const struct ft_operand *v)
{
  return v->type == FT_VALUE_LIST || v->type == FT_VALUE_TUPLE || v->type == FT_VALUE_STRING;
}

/* What nobody here can look into. */
static bool is_closed(const struct ft_operand *v)
{
  return v->type == FT_VALUE_OPAQUE || ft_value_is_tensor(v);
}

int ft_aten_number(struct ft_call *c)
{
  const struct ft_operand *a = ft_arg(c, 0, NULL), *b = ft_arg(c, 1, NULL);
  bool equality = is(c, "eq") || is(c, "ne");
  int status = facts(c);

  if (status == 1)
    status = truths(c, a, b);
  if (status <= 0)
    return status;
  if ((is(c, "__range_length") || is(c, "__derive_index")) && c->count == 3)
    return ranges(c);
  if (equality && (is_several(a) || is_several(b)) && (is_closed(a) || is_closed(b)))
    return give(c, ft_value_some(FT_VALUE_BOOL));
  if (a->type == FT_VALUE_DICT && !IS_ONE_OF(c, "len", "list", "dict"))
    return dictionary(c, a, b);
  if (a->type == FT_VALUE_LIST || a->type == FT_VALUE_TUPLE || a->type == FT_VALUE_DICT)
    return lists(c, a, b);
  if (a->type == FT_VALUE_STRING)
    return equality ? compare(c, a, b) : ft_aten_text(c);
  if (is(c, "len") && ft_value_is_tensor(a))
    return length_of_tensor(c);
  if (ft_value_is_number(a)) {
    status = ft_value_is_number(b) ? two_numbers(c, a, b) : one_number(c, a);
    if (status <= 0)
      return status;
  }
  return equality && !ft_value_is_tensor(a) && !ft_value_is_tensor(b) ? compare(c, a, b) : 1;
}
