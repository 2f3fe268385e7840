/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <string.h>

#include "predictor/core/hash.h"
#include "predictor/graph/ir/symbol_table.h"

enum { STEPS = 1 << 27 }; /* limit of ft_symbol_table.steps */

struct ft_symbol_table_slot {
  const char *name;
  uint64_t hash;
  void *value;
};

/* Returns NAME's slot, or the free slot for it; NULL if the table's steps exceed STEPS. */
static struct ft_symbol_table_slot *find_symbol_slot(struct ft_symbol_table *n, const char *name,
                                                     uint64_t hash)
{
  size_t at = hash & (n->room - 1);

  for (; n->slots[at].name; at = (at + 1) & (n->room - 1)) {
    if (n->slots[at].hash == hash && strcmp(n->slots[at].name, name) == 0)
      break;
    if (++n->steps > STEPS)
      return NULL;
  }
  return &n->slots[at];
}

/* Folds the upper bits into the lower ones, which find_symbol_slot uses. */
static uint64_t hash_of(const char *name)
{
  uint64_t hash = ft_hash64(FT_HASH_SEED, name, strlen(name));

  return hash ^ hash >> 32;
}

/* Doubles the table. Returns 0; -1 if the arena is full. */
static int enlarge_symbol_table(struct ft_symbol_table *n)
{
  struct ft_symbol_table old = *n;

  n->room = old.room ? 2 * old.room : 256;
  n->slots = ft_arena_take(n->arena, n->room * sizeof *n->slots);
  if (!n->slots) {
    *n = old;
    return -1;
  }
  for (size_t i = 0; i < old.room; i++) {
    struct ft_symbol_table_slot *slot =
        old.slots[i].name ? find_symbol_slot(n, old.slots[i].name, old.slots[i].hash) : NULL;

    if (slot)
      *slot = old.slots[i];
  }
  return 0;
}

void *ft_symbol_table_get(struct ft_symbol_table *names, const char *name)
{
  const struct ft_symbol_table_slot *slot =
      names->room ? find_symbol_slot(names, name, hash_of(name)) : NULL;

  return slot && slot->name ? slot->value : NULL;
}

int ft_symbol_table_put(struct ft_symbol_table *names, const char *name, void *value)
{
  uint64_t hash = hash_of(name);
  struct ft_symbol_table_slot *slot;

  if (2 * names->count >= names->room && enlarge_symbol_table(names) < 0)
    return -1;
  slot = find_symbol_slot(names, name, hash);
  if (!slot)
    return -1;
  names->count += !slot->name;
  *slot = (struct ft_symbol_table_slot){ name, hash, value };
  return 0;
}
