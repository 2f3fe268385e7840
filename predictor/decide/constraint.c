/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <string.h>

#include "predictor/core/text.h"
#include "predictor/decide/constraint.h"

/* Parentheses within one another: Slurm takes one level, and one of brackets. */
enum { DEEPEST = 4 };

struct reading {
  struct ft_text rest;
  const char *features;
  bool spread; /* what stands in brackets or has a count may be on different nodes */
  bool broken;
};

static bool either(struct reading *r, int depth);

/* A name with a count or without, or an expression in brackets or parentheses. */
static bool one(struct reading *r, int depth)
{
  const char *begin = r->rest.at;
  struct ft_text name;
  uint64_t count;
  bool found, bracket = ft_text_skip(&r->rest, "[");

  if (bracket || ft_text_skip(&r->rest, "(")) {
    bool outer = r->spread;

    r->spread |= bracket;
    found = depth < DEEPEST && either(r, depth + 1);
    r->spread = outer;
    r->broken |= !ft_text_skip(&r->rest, bracket ? "]" : ")");
  } else {
    char text[128];

    while (r->rest.at < r->rest.end && !strchr("&|,*()[]", *r->rest.at))
      r->rest.at++;
    name = ft_text_of(begin, (size_t)(r->rest.at - begin));
    r->broken |= !ft_text_left(&name) || !ft_text_copy(name, text, sizeof text);
    found = !r->broken && ft_text_lists(ft_text_from(r->features), text);
  }
  if (ft_text_skip(&r->rest, "*"))
    r->broken |= !ft_text_u64(&r->rest, UINT32_MAX, &count);
  return found;
}

/* From left to right, without precedence, as Slurm does; a comma is an "and". */
static bool either(struct reading *r, int depth)
{
  bool found = one(r, depth);

  while (!r->broken && r->rest.at < r->rest.end && !strchr(")]", *r->rest.at)) {
    bool next, or = ft_text_skip(&r->rest, "|");

    r->broken |= !or && !ft_text_skip(&r->rest, "&") && !ft_text_skip(&r->rest, ",");
    next = !r->broken && one(r, depth);
    found = or || r->spread ? found || next : found && next;
  }
  return found;
}

bool ft_constraint_allows(const char *constraint, const ft_node_kind *kind)
{
  struct reading r = { .rest = ft_text_from(constraint), .features = kind->features };
  bool found;

  if (!constraint[0] || !kind->has_features)
    return true;
  r.spread = strchr(constraint, '*');
  found = either(&r, 0);
  return found || r.broken || ft_text_left(&r.rest);
}
