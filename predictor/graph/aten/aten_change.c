/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Contents of lists before a branch changes them. Both sides of a branch that depends on data
 * change the same list objects, so each side must begin with the contents before the branch. A
 * list is saved at its first change, once for each enclosing branch.
 */
#include "config.h"

#include <string.h>

#include "predictor/graph/aten/aten.h"

static struct ft_changed *append_change(struct ft_tracer *l, struct ft_changes *changes)
{
  struct ft_changed *all =
      ft_tracer_grow(l, changes->all, &changes->room, changes->count, sizeof *all);

  if (!all)
    return NULL;
  changes->all = all;
  all[changes->count] = (struct ft_changed){ .made = true };
  return &all[changes->count++];
}

void ft_changes_begin(struct ft_tracer *l, struct ft_changes *changes)
{
  *changes =
      (struct ft_changes){ .outer = l->changes, .level = l->changes ? l->changes->level + 1 : 1 };
  l->changes = changes;
}

int ft_changes_end(struct ft_tracer *l, struct ft_changes *changes)
{
  l->changes = changes->outer;
  for (size_t i = 0; i < changes->count; i++) {
    struct ft_changed *one = &changes->all[i], *outer;

    one->list->kept = changes->level - 1;
    outer = one->made && changes->outer ? append_change(l, changes->outer) : NULL;
    if (outer)
      outer->list = one->list;
  }
  return l->failed ? -1 : 0;
}

void ft_changes_undo(struct ft_changes *changes)
{
  for (size_t i = 0; i < changes->count; i++) {
    struct ft_changed *one = &changes->all[i];
    struct ft_operand *items = one->list->items;
    size_t count = one->list->count;

    if (one->made)
      continue;
    one->list->items = one->items;
    one->list->count = one->list->room = one->count;
    one->items = items;
    one->count = count;
  }
}

int ft_list_created(struct ft_tracer *l, struct ft_values *list)
{
  struct ft_changed *one = l->changes ? append_change(l, l->changes) : NULL;

  if (!l->changes)
    return 0;
  if (!one)
    return -1;
  one->list = list;
  list->kept = l->changes->level;
  return 0;
}

int ft_list_before_change(struct ft_tracer *l, struct ft_values *list)
{
  for (struct ft_changes *c = l->changes; c && c->level > list->kept; c = c->outer) {
    struct ft_changed *one = append_change(l, c);

    if (!one)
      return -1;
    one->list = list;
    one->items = ft_tracer_take(l, (list->count + 1) * sizeof *one->items);
    if (!one->items)
      return -1;
    if (list->count)
      memcpy(one->items, list->items, list->count * sizeof *one->items);
    one->count = list->count;
    one->made = false;
  }
  if (l->changes && list->kept < l->changes->level)
    list->kept = l->changes->level;
  return 0;
}
