/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lists, tuples and dictionaries of a program. */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/core/text.h"
#include "predictor/graph/aten/aten.h"

enum { REPEATED = 1 << 22 }; /* elements; a longer list * n is unknown */

static struct ft_operand *list_element(const struct ft_values *list, const struct ft_operand *index)
{
  int64_t at = index->integer;

  if (index->type != FT_VALUE_INT || !index->known)
    return NULL;
  at = at < 0 ? at + (int64_t)list->count : at;
  return at < 0 || at >= (int64_t)list->count ? NULL : &list->items[at];
}

static struct ft_operand add_numbers(const struct ft_operand *a, const struct ft_operand *b)
{
  int64_t sum;

  if (a->type == FT_VALUE_REAL || b->type == FT_VALUE_REAL)
    return ft_value_real(ft_value_number(a) + ft_value_number(b));
  return a->known && b->known && !__builtin_add_overflow(a->integer, b->integer, &sum)
             ? ft_value_int(sum)
             : ft_value_unknown(FT_VALUE_INT);
}

/* all, any, max, min and sum of a list */
static int reduce_list(struct ft_call *c, const struct ft_values *list)
{
  bool all = ft_aten_is(c, "all"), any = ft_aten_is(c, "any");
  struct ft_operand best = list->count ? list->items[0] : ft_value_none(), sum = ft_value_int(0);

  for (size_t i = 0; i < list->count; i++) {
    const struct ft_operand *v = &list->items[i];
    int truth = ft_value_truth(c->l, v);

    if (all || any) {
      if (truth == (any ? 1 : 0))
        return ft_give_value(c, ft_value_bool(any));
      if (truth < 0)
        return ft_give_value(c, ft_value_unknown(FT_VALUE_BOOL));
      continue;
    }
    if (!ft_value_is_number(v) || !v->known)
      return ft_give_value(c, ft_value_unknown(FT_VALUE_INT));
    if (ft_aten_is(c, "max") ? ft_value_number(v) > ft_value_number(&best)
                             : ft_value_number(v) < ft_value_number(&best))
      best = *v;
    sum = add_numbers(&sum, v);
  }
  if (all || any)
    return ft_give_value(c, ft_value_bool(all));
  if (ft_aten_is(c, "sum"))
    return ft_give_value(c, sum);
  return ft_give_value(c, best);
}

static int concatenate_lists(struct ft_call *c, const struct ft_operand *a,
                             const struct ft_operand *b)
{
  struct ft_operand sum = ft_value_list(c->l, a->type, a->list->items, a->list->count);

  for (size_t i = 0; sum.type == a->type && i < b->list->count; i++)
    if (ft_value_append(c->l, sum.list, b->list->items[i]) < 0)
      return -1;
  return ft_give_value(c, sum);
}

/* A * N */
static int repeat_list(struct ft_call *c, const struct ft_operand *a, int64_t n)
{
  struct ft_operand all = ft_value_list(c->l, a->type, NULL, 0);
  int64_t count = n > 0 ? ft_known_times((int64_t)a->list->count, n) : 0;

  if (all.type != a->type)
    return -1;
  if (count > REPEATED)
    return ft_give_value(c, ft_value_unknown(FT_VALUE_OPAQUE));
  all.list->items = count ? ft_tracer_take(c->l, (size_t)count * sizeof *all.list->items) : NULL;
  if (count && !all.list->items)
    return -1;
  all.list->count = all.list->room = (size_t)count;
  for (size_t i = 0; i < all.list->count; i++)
    all.list->items[i] = a->list->items[i % a->list->count];
  return ft_give_value(c, all);
}

/* A slice bound or position AT of a list of N elements, clamped to LEAST..MOST as Python does. */
static int64_t clamp_index(int64_t at, int64_t n, int64_t least, int64_t most)
{
  at = at < 0 ? at + n : at;
  return at < least ? least : at > most ? most : at;
}

static int slice_list(struct ft_call *c, const struct ft_operand *a)
{
  struct ft_operand some = ft_value_list(c->l, a->type, NULL, 0);
  int64_t n = (int64_t)a->list->count, step = ft_arg_int(c, 3, NULL, 1), back = step < 0;
  int64_t start = ft_arg_int(c, 1, NULL, back ? n - 1 : 0);
  int64_t end = ft_arg_int(c, 2, NULL, back ? -n - 1 : n);

  if (step == 0 || step == INT64_MIN || start == INT64_MIN || end == INT64_MIN)
    return ft_give_value(c, ft_value_unknown(FT_VALUE_OPAQUE));
  start = clamp_index(start, n, back ? -1 : 0, n - back);
  end = clamp_index(end, n, back ? -1 : 0, n - back);
  step = step > n ? n + 1 : step < -n ? -n - 1 : step;
  for (int64_t i = start; some.type == a->type && (back ? i > end : i < end); i += step)
    if (ft_value_append(c->l, some.list, a->list->items[i]) < 0)
      return -1;
  return ft_give_value(c, some);
}

/* list(A), or dict(A) of pairs */
static int copy_list(struct ft_call *c, const struct ft_operand *a)
{
  bool pairs = ft_aten_is(c, "dict") && a->type != FT_VALUE_DICT;
  struct ft_operand all =
      ft_value_list(c->l, ft_aten_is(c, "dict") ? FT_VALUE_DICT : FT_VALUE_LIST, NULL, 0);

  for (size_t i = 0; all.list && i < a->list->count; i++) {
    const struct ft_operand *one = &a->list->items[i];

    if (pairs && (one->type != FT_VALUE_TUPLE || one->list->count != 2))
      return 1;
    if (ft_value_append(c->l, all.list, pairs ? one->list->items[0] : *one) < 0 ||
        (pairs && ft_value_append(c->l, all.list, one->list->items[1]) < 0))
      return -1;
  }
  return ft_give_value(c, all);
}

/* Python's order: numbers by value, strings by their bytes. */
static int compare_in_python_order(const void *a, const void *b)
{
  const struct ft_operand *x = a, *y = b;
  double m = ft_value_number(x), n = ft_value_number(y);

  if (x->type == FT_VALUE_STRING && y->type == FT_VALUE_STRING)
    return strcmp(x->string, y->string);
  return m < n ? -1 : m > n;
}

static void reverse_list(struct ft_values *list)
{
  for (size_t i = 0; i < list->count / 2; i++) {
    struct ft_operand one = list->items[i];

    list->items[i] = list->items[list->count - 1 - i];
    list->items[list->count - 1 - i] = one;
  }
}

/* Sorts numbers or strings; if one is unknown, all become unknown. */
static void sort_list(struct ft_values *list, bool descending)
{
  bool known = true;

  for (size_t i = 0; i < list->count; i++) {
    const struct ft_operand *v = &list->items[i];

    known = known && v->known && (ft_value_is_number(v) || v->type == FT_VALUE_STRING) &&
            (v->type == FT_VALUE_STRING) == (list->items[0].type == FT_VALUE_STRING);
  }
  if (known && list->count)
    qsort(list->items, list->count, sizeof *list->items, compare_in_python_order);
  for (size_t i = 0; !known && i < list->count; i++)
    list->items[i] = ft_value_unknown(ft_value_is_number(&list->items[i]) ? list->items[i].type
                                                                          : FT_VALUE_OPAQUE);
  if (known && descending)
    reverse_list(list);
}

/* sorted(a, reverse), a new list; a.sort(reverse), a.reverse(), a.clear() */
static int order_list(struct ft_call *c, const struct ft_operand *a)
{
  bool descending = ft_arg_bool(c, 1, "reverse", false);
  struct ft_operand list = *a;

  if (ft_aten_is(c, "sorted"))
    list = ft_value_list(c->l, FT_VALUE_LIST, a->list->items, a->list->count);
  if (!list.list || ft_list_before_change(c->l, list.list) < 0)
    return -1;
  if (ft_aten_is(c, "clear"))
    list.list->count = 0;
  else if (ft_aten_is(c, "reverse"))
    reverse_list(list.list);
  else
    sort_list(list.list, descending);
  return ft_give_value(c, ft_aten_is(c, "sorted") ? list : ft_value_none());
}

/* a.index(b), a.count(b), a.remove(b); 1: not found */
static int search_list(struct ft_call *c, const struct ft_operand *a, const struct ft_operand *b)
{
  int64_t found = 0;
  int left = FT_VALUE_COMPARED, equal;

  for (size_t i = 0; i < a->list->count; i++) {
    equal = ft_value_equal(&a->list->items[i], b, 4, &left);
    if (equal < 0)
      return ft_give_value(
          c, ft_value_unknown(ft_aten_is(c, "remove") ? FT_VALUE_NONE : FT_VALUE_INT));
    found += equal;
    if (equal && ft_aten_is(c, "index"))
      return ft_give_value(c, ft_value_int((int64_t)i));
    if (equal && ft_aten_is(c, "remove")) {
      if (ft_list_before_change(c->l, a->list) < 0)
        return -1;
      memmove(&a->list->items[i], &a->list->items[i + 1],
              (a->list->count - i - 1) * sizeof *a->list->items);
      a->list->count--;
      return ft_give_value(c, ft_value_none());
    }
  }
  return ft_aten_is(c, "count") ? ft_give_value(c, ft_value_int(found)) : 1;
}

/* append, pop, insert, _set_item on list A. Returns 0 or -1; 1: not such a call. */
static int change_list(struct ft_call *c, const struct ft_operand *a, const struct ft_operand *b)
{
  struct ft_operand *at;
  size_t count = a->list->count;

  if (ft_list_before_change(c->l, a->list) < 0)
    return -1;
  if (ft_aten_is(c, "append") && c->count == 2)
    return ft_value_append(c->l, a->list, *b) < 0 ? -1 : ft_give_value(c, *a);
  if (ft_aten_is(c, "pop") && count) {
    at = c->count > 1 ? list_element(a->list, b) : &a->list->items[count - 1];
    if (!at)
      return 1;
    c->result = *at;
    memmove(at, at + 1, (size_t)(a->list->items + count - at - 1) * sizeof *at);
    a->list->count--;
    return 0;
  }
  if (ft_aten_is(c, "insert") && c->count == 3 && b->type == FT_VALUE_INT && b->known) {
    size_t place = (size_t)clamp_index(b->integer, (int64_t)count, 0, (int64_t)count);

    if (ft_value_append(c->l, a->list, c->args[2]) < 0)
      return -1;
    at = &a->list->items[place];
    memmove(at + 1, at, (count - place) * sizeof *at);
    *at = c->args[2];
    return ft_give_value(c, *a);
  }
  if (ft_aten_is(c, "_set_item") && c->count == 3) {
    at = list_element(a->list, b);
    if (at)
      *at = c->args[2];
    return ft_give_value(c, *a);
  }
  return 1;
}

/* Operators of two lists, A and B. */
static int join_lists(struct ft_call *c, const struct ft_operand *a, const struct ft_operand *b)
{
  if (a->list == b->list)
    return 1;
  if (ft_aten_is(c, "add"))
    return concatenate_lists(c, a, b);
  if (!ft_aten_is(c, "extend") && !ft_aten_is(c, "add_"))
    return 1;
  for (size_t i = 0; i < b->list->count; i++)
    if (ft_value_append(c->l, a->list, b->list->items[i]) < 0)
      return -1;
  return ft_give_value(c, *a);
}

/* Evaluates a call on list A, with argument 1 in B. Returns 0 or -1; 1: not such a call. */
static int list_operator(struct ft_call *c, const struct ft_operand *a, const struct ft_operand *b)
{
  const struct ft_operand *at;
  int left = FT_VALUE_COMPARED;

  if (ft_aten_is(c, "len"))
    return ft_give_value(
        c, ft_value_int((int64_t)a->list->count / (a->type == FT_VALUE_DICT ? 2 : 1)));
  if (ft_aten_is(c, "list") || ft_aten_is(c, "dict"))
    return copy_list(c, a);
  if (a->type == FT_VALUE_DICT)
    return 1;
  if (FT_ATEN_IS_ONE_OF(c, "append", "pop", "insert", "_set_item"))
    return change_list(c, a, b);
  if (ft_aten_is(c, "mul") && b->type == FT_VALUE_INT && b->known)
    return repeat_list(c, a, b->integer);
  if (ft_aten_is(c, "slice"))
    return slice_list(c, a);
  if (ft_aten_is(c, "copy"))
    return ft_give_value(c, ft_value_list(c->l, FT_VALUE_LIST, a->list->items, a->list->count));
  if (ft_aten_is(c, "sorted") || ft_aten_is(c, "sort") || ft_aten_is(c, "reverse") ||
      ft_aten_is(c, "clear"))
    return order_list(c, a);
  if (ft_aten_is(c, "index") || ft_aten_is(c, "count") || ft_aten_is(c, "remove"))
    return search_list(c, a, b);
  if (ft_aten_is(c, "__getitem__")) {
    at = list_element(a->list, b);
    return at ? ft_give_value(c, *at) : 1;
  }
  if (ft_aten_is(c, "__contains__")) {
    bool known = true;

    for (size_t i = 0; i < a->list->count; i++) {
      int equal = ft_value_equal(&a->list->items[i], b, 4, &left);

      if (equal == 1)
        return ft_give_value(c, ft_value_bool(true));
      known = known && equal == 0;
    }
    return ft_give_value(c, known ? ft_value_bool(false) : ft_value_unknown(FT_VALUE_BOOL));
  }
  if (FT_ATEN_IS_ONE_OF(c, "max", "min", "all", "any", "sum"))
    return reduce_list(c, a->list);
  return ft_value_is_list(b) ? join_lists(c, a, b) : 1;
}

/* Evaluates a call on dictionary A, with argument 1 in B. Returns 0 or -1; 1: not such a call. */
static int dictionary_operator(struct ft_call *c, const struct ft_operand *a,
                               const struct ft_operand *b)
{
  size_t which = ft_aten_is(c, "values") ? 1 : 0;
  struct ft_operand list, pair;
  int left = FT_VALUE_COMPARED;

  for (size_t i = 0; i + 1 < a->list->count && c->count > 1; i += 2) {
    if (ft_value_equal(&a->list->items[i], b, 4, &left) != 1)
      continue;
    if (ft_aten_is(c, "__contains__"))
      return ft_give_value(c, ft_value_bool(true));
    if (ft_aten_is(c, "__getitem__") || ft_aten_is(c, "get"))
      return ft_give_value(c, a->list->items[i + 1]);
    if (ft_aten_is(c, "_set_item") && c->count == 3) {
      if (ft_list_before_change(c->l, a->list) < 0)
        return -1;
      a->list->items[i + 1] = c->args[2];
      return ft_give_value(c, *a);
    }
  }
  if (ft_aten_is(c, "__contains__"))
    return ft_give_value(c, ft_value_bool(false));
  if (ft_aten_is(c, "get"))
    return ft_give_value(c, c->count > 2 ? c->args[2] : ft_value_none());
  if (ft_aten_is(c, "_set_item") && c->count == 3)
    return ft_value_append(c->l, a->list, *b) < 0 || ft_value_append(c->l, a->list, c->args[2]) < 0
               ? -1
               : ft_give_value(c, *a);
  if (!ft_aten_is(c, "keys") && !ft_aten_is(c, "values") && !ft_aten_is(c, "items"))
    return 1;
  list = ft_value_list(c->l, FT_VALUE_LIST, NULL, 0);
  for (size_t i = 0; list.type == FT_VALUE_LIST && i + 1 < a->list->count; i += 2) {
    pair = ft_aten_is(c, "items") ? ft_value_list(c->l, FT_VALUE_TUPLE, &a->list->items[i], 2)
                                  : a->list->items[i + which];
    if (ft_value_append(c->l, list.list, pair) < 0)
      return -1;
  }
  return ft_give_value(c, list);
}

int ft_aten_list(struct ft_call *c)
{
  const struct ft_operand *a = ft_arg(c, 0, NULL), *b = ft_arg(c, 1, NULL);

  if (a->type == FT_VALUE_DICT && !FT_ATEN_IS_ONE_OF(c, "len", "list", "dict"))
    return dictionary_operator(c, a, b);
  return list_operator(c, a, b);
}
