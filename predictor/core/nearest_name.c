/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <string.h>

#include "predictor/core/nearest_name.h"
#include "predictor/core/text.h"

/* A suggestion differs by fewer edits. */
enum { MANY_EDITS = 3 };

static size_t min_of_three(size_t a, size_t b, size_t c)
{
  return a < b ? a < c ? a : c : b < c ? b : c;
}

/* Returns the edits from A to B: letters inserted, removed or replaced, and neighbours exchanged
 * (optimal string alignment); LONGEST if a word is longer than that. */
static size_t edit_distance(const char *a, const char *b)
{
  enum { LONGEST = 63 };
  size_t rows[3][LONGEST + 1], m = strlen(a), n = strlen(b);

  if (m > LONGEST || n > LONGEST)
    return LONGEST;
  for (size_t i = 0; i <= m; i++) {
    size_t *row = rows[i % 3], *above = rows[(i + 2) % 3], *second = rows[(i + 1) % 3];

    row[0] = i;
    for (size_t j = 1; j <= n; j++) {
      if (i == 0) {
        row[j] = j;
        continue;
      }
      row[j] = min_of_three(above[j - 1] + (a[i - 1] != b[j - 1]), 1 + above[j], 1 + row[j - 1]);
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
          second[j - 2] + 1 < row[j])
        row[j] = second[j - 2] + 1;
    }
  }
  return rows[m % 3][n];
}

void ft_nearest_name_begin(struct ft_nearest_name *nearest, const char *wanted)
{
  *nearest = (struct ft_nearest_name){ .wanted = wanted, .distance = MANY_EDITS };
}

void ft_nearest_name_consider(struct ft_nearest_name *nearest, const char *name)
{
  const char *wanted = nearest->wanted;
  size_t letters = strlen(wanted), length = strlen(name), distance;

  if (letters >= 3 && strncmp(wanted, name, letters) == 0)
    distance = 0;
  else if (length >= 4 && strncmp(wanted, name, length) == 0 && strchr("_-", wanted[length]))
    distance = MANY_EDITS - 1; /* "batch_size" for "batch" */
  else if ((distance = edit_distance(wanted, name)) * 2 >= letters)
    return; /* with an edit for every second letter a name becomes any other */
  if (distance >= nearest->distance)
    return;
  nearest->distance = distance;
  (void)ft_string_copy(name, nearest->name, sizeof nearest->name);
}
