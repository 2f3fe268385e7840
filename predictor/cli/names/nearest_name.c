/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <string.h>

#include "predictor/cli/names/nearest_name.h"
#include "predictor/core/text.h"

/* A suggestion differs by fewer edits. */
enum { MANY_EDITS = 3 };

static size_t min_of_three(size_t a, size_t b)
{
  return a < b ? a : b;
}

/* Returns the Levenshtein distance of A and B; 0 if A is a prefix of B with at least 3 letters,
 * LONGEST if a word is longer than that. */
static size_t edit_distance(const char *a, const char *b)
{
  enum { LONGEST = 63 };
  size_t row[LONGEST + 1], m = strlen(a), n = strlen(b);

  if (m > LONGEST || n > LONGEST)
    return LONGEST;
  if (m >= 3 && strncmp(a, b, m) == 0)
    return 0;
  for (size_t j = 0; j <= n; j++)
    row[j] = j;
  for (size_t i = 1; i <= m; i++) {
    size_t diagonal = row[0];

    row[0] = i;
    for (size_t j = 1; j <= n; j++) {
      size_t above = row[j];

      row[j] = min_of_three(diagonal + (a[i - 1] != b[j - 1]), 1 + min_of_three(above, row[j - 1]));
      diagonal = above;
    }
  }
  return row[n];
}

void ft_nearest_name_begin(struct ft_nearest_name *nearest, const char *wanted)
{
  *nearest = (struct ft_nearest_name){ .wanted = wanted, .distance = MANY_EDITS };
}

void ft_nearest_name_consider(struct ft_nearest_name *nearest, const char *name)
{
  size_t distance = edit_distance(nearest->wanted, name);

  /* more edits than letters make a name of nothing */
  if (distance >= nearest->distance || distance >= strlen(nearest->wanted))
    return;
  nearest->distance = distance;
  (void)ft_string_copy(name, nearest->name, sizeof nearest->name);
}
