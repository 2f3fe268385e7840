/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include "learner/cluster/node_list.h"

/* Whether DIGITS is a number of RANGES, "01-16,20", as Slurm prints it: with the width of the
 * range's first number, or more digits if it is larger. */
static bool ranges_have(struct ft_text ranges, struct ft_text digits)
{
  size_t length = ft_text_left(&digits);
  bool padded = *digits.at == '0';
  struct ft_text range;
  uint64_t value, low, high;

  if (!ft_text_u64(&digits, UINT64_MAX, &value))
    return false;
  while (ft_text_until(&ranges, ',', &range)) {
    const char *begin = range.at;
    size_t width;

    if (!ft_text_u64(&range, UINT64_MAX, &low))
      continue;
    width = (size_t)(range.at - begin);
    high = low;
    if (ft_text_skip(&range, "-") && !ft_text_u64(&range, UINT64_MAX, &high))
      continue;
    if (value >= low && value <= high && (length == width || (length > width && !padded)))
      return true;
  }
  return false;
}

/* Whether PATTERN, "rack[0-1]n[01-16]", has NAME. Each level of recursion takes a digit of NAME. */
static bool pattern_has(struct ft_text pattern, struct ft_text name)
{
  struct ft_text ranges;

  while (ft_text_left(&pattern) && *pattern.at != '[')
    if (!ft_text_left(&name) || *name.at++ != *pattern.at++)
      return false;
  if (!ft_text_skip(&pattern, "["))
    return !ft_text_left(&name);
  if (!ft_text_until(&pattern, ']', &ranges))
    return false;
  for (const char *end = name.at; end < name.end && *end >= '0' && *end <= '9'; end++)
    if (ranges_have(ranges, ft_text_of(name.at, (size_t)(end + 1 - name.at))) &&
        pattern_has(pattern, ft_text_of(end + 1, (size_t)(name.end - end - 1))))
      return true;
  return false;
}

bool ft_node_list_has(struct ft_text list, const char *name)
{
  while (ft_text_left(&list)) {
    const char *end = list.at;

    /* a comma inside brackets separates ranges */
    for (bool inside = false; end < list.end && (inside || *end != ','); end++)
      inside = *end == '[' || (inside && *end != ']');
    if (pattern_has(ft_text_of(list.at, (size_t)(end - list.at)), ft_text_from(name)))
      return true;
    list.at = end < list.end ? end + 1 : end;
  }
  return false;
}
