/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <stdlib.h>

#include "predictor/core/text.h"
#include "predictor/request/array.h"

/* One range of a list: COUNT indices from LOW in steps of STEP. */
struct range {
  uint64_t low, step, count;
};

/* Parses the next range. Returns 1; 0 at the end; -1 if it is malformed. */
static int next_range(struct ft_text *list, struct range *r)
{
  struct ft_text piece;
  uint64_t high, at_once;

  if (!ft_text_until(list, ',', &piece))
    return 0;
  (void)ft_text_skip(&piece, "[");
  if (!ft_text_u64(&piece, FT_ARRAY_MAX_SIZE - 1, &r->low))
    return -1;
  high = r->low;
  r->step = 1;
  if (ft_text_skip(&piece, "-") && !ft_text_u64(&piece, FT_ARRAY_MAX_SIZE - 1, &high))
    return -1;
  if (ft_text_skip(&piece, ":") && (!ft_text_u64(&piece, FT_ARRAY_MAX_SIZE, &r->step) || !r->step))
    return -1;
  (void)ft_text_skip(&piece, "]");
  /* "%4": at most four tasks at once */
  if (ft_text_skip(&piece, "%") && !ft_text_u64(&piece, FT_ARRAY_MAX_SIZE, &at_once))
    return -1;
  if (ft_text_left(&piece) || high < r->low)
    return -1;
  r->count = (high - r->low) / r->step + 1;
  return 1;
}

uint32_t ft_array_count(const char *list)
{
  struct ft_text text = ft_text_from(list);
  uint64_t total = 0;
  struct range r;
  int status;

  while ((status = next_range(&text, &r)) > 0)
    total += r.count;
  if (status < 0)
    return 0;
  return total < FT_ARRAY_MAX_SIZE ? (uint32_t)total : FT_ARRAY_MAX_SIZE;
}

static int compare_indices(const void *a, const void *b)
{
  uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

  return (x > y) - (x < y);
}

/* Sorts COUNT indices and removes duplicates. Returns the new number. */
static size_t sort_distinct(uint32_t *index, size_t count)
{
  size_t kept = 0;

  qsort(index, count, sizeof *index, compare_indices);
  for (size_t i = 0; i < count; i++)
    if (!kept || index[i] != index[kept - 1])
      index[kept++] = index[i];
  return kept;
}

size_t ft_array_spread(const char *list, uint32_t *index, size_t limit)
{
  struct ft_text text = ft_text_from(list);
  uint64_t total = ft_array_count(list), passed = 0;
  size_t wanted = total < limit ? total : limit, taken = 0;
  struct range r;

  while (taken < wanted && next_range(&text, &r) > 0) {
    while (taken < wanted) {
      uint64_t position = wanted == total ? taken : taken * (total - 1) / (wanted - 1);

      if (position >= passed + r.count)
        break;
      index[taken++] = (uint32_t)(r.low + (position - passed) * r.step);
    }
    passed += r.count;
  }
  return sort_distinct(index, taken);
}

struct task_value {
  float value;
  uint32_t index;
};

static int compare_task_values(const void *a, const void *b)
{
  const struct task_value *x = a, *y = b;

  return (x->value > y->value) - (x->value < y->value);
}

/* Writes at most LIMIT (2 or more) task indices of E to INDEX, evenly spaced in the order of their
 * values. Returns their number. */
static size_t spread_by_value(const ft_task_values *e, uint32_t *index, size_t limit)
{
  struct task_value sorted[sizeof e->index / sizeof *e->index];
  size_t known = e->index_count;

  if (known < 2)
    return 0;
  for (size_t i = 0; i < known; i++)
    sorted[i] = (struct task_value){ e->value[i], e->index[i] };
  qsort(sorted, known, sizeof *sorted, compare_task_values);
  if (limit > known)
    limit = known;
  for (size_t i = 0; i < limit; i++)
    index[i] = sorted[i * (known - 1) / (limit - 1)].index;
  return limit;
}

size_t ft_array_select_tasks(const char *list, const ft_job_array *array, uint32_t *index,
                             size_t limit)
{
  size_t lists = 0, share, taken;

  for (size_t i = 0; i < array->values_count; i++)
    lists += array->values[i].index_count > 1;
  if (!lists || ft_array_count(list) <= limit)
    return ft_array_spread(list, index, limit);
  share = limit / 2 / lists;
  if (share < 2)
    share = 2;
  taken = ft_array_spread(list, index, limit - share * lists);
  for (size_t i = 0; i < array->values_count; i++)
    taken += spread_by_value(&array->values[i], index + taken, share);
  return sort_distinct(index, taken);
}
