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
    bool next, any = ft_text_skip(&r->rest, "|");

    r->broken |= !any && !ft_text_skip(&r->rest, "&") && !ft_text_skip(&r->rest, ",");
    next = !r->broken && one(r, depth);
    found = any || r->spread ? found || next : found && next;
  }
  return found;
}

bool ft_constraint_allows(const char *constraint, const ft_node_type *kind)
{
  struct reading r = { .rest = ft_text_from(constraint), .features = kind->features };
  bool found;

  if (!constraint[0] || !kind->has_features)
    return true;
  r.spread = strchr(constraint, '*');
  found = either(&r, 0);
  return found || r.broken || ft_text_left(&r.rest);
}

/* ---- --gres ---- */

struct ft_text ft_gres_skip_prefix(struct ft_text piece)
{
  if (!ft_text_skip(&piece, "gres:"))
    (void)ft_text_skip(&piece, "gres/");
  return piece;
}

/* "gpu:a100:2" or "gpu:2" as NAME, TYPE ("": none) and COUNT (1 where none is said). */
struct resource {
  struct ft_text name, type;
  uint64_t count;
};

static bool read_resource(struct ft_text piece, struct resource *out)
{
  struct ft_text part, number;
  bool counted = false;

  piece = ft_gres_skip_prefix(piece);
  *out = (struct resource){ .count = 1 };
  if (!ft_text_until(&piece, ':', &out->name) || !ft_text_left(&out->name))
    return false;
  while (!counted && ft_text_until(&piece, ':', &part)) {
    number = part;
    counted = ft_text_u64(&number, UINT32_MAX, &out->count) && !ft_text_left(&number);
    if (!counted && ft_text_left(&out->type))
      return false;
    if (!counted) {
      out->type = part;
      out->count = 1;
    }
  }
  return !ft_text_left(&piece);
}

/* The GPUs that PIECE of OPTION's value asks for; false: it is about something else. */
static bool read_gpus(enum ft_gpu_option option, struct ft_text piece, struct resource *out)
{
  struct ft_text kind, name;

  *out = (struct resource){ .name = ft_text_from("gpu") };
  kind = ft_gpu_request_parse(piece, &out->count);
  name = kind;
  if (ft_gpu_option_is_mixed(option)) {
    if (!ft_text_until(&kind, ':', &name) || !ft_text_equals(name, "gpu"))
      return false;
  } else {
    (void)ft_text_skip(&kind, "gpu:");
  }
  out->type = kind;
  return !memchr(kind.at, ':', ft_text_left(&kind));
}

/* How many of ASKED a node has that lists LIST. */
static uint64_t count_of(const struct resource *asked, const char *list)
{
  struct ft_text rest = ft_text_from(list), piece;
  struct resource one;
  uint64_t count = 0;

  while (ft_text_until(&rest, ',', &piece))
    if (read_resource(piece, &one) && ft_text_same(one.name, asked->name) &&
        (!ft_text_left(&asked->type) || ft_text_same(one.type, asked->type)))
      count += one.count;
  return count;
}

bool ft_gres_allows(const char *gres, const ft_node_type *kind)
{
  struct ft_text rest = ft_text_from(gres), piece;
  struct resource asked;

  if (kind->gres_truncated)
    return true;
  while (ft_text_until(&rest, ',', &piece))
    if (read_resource(piece, &asked) && !ft_text_equals(asked.name, "none") &&
        count_of(&asked, kind->gres) < asked.count)
      return false;
  return true;
}

bool ft_gpu_request_fits_node(const struct ft_gpu_request *asked, uint64_t tasks,
                              const ft_node_type *kind)
{
  for (enum ft_gpu_option i = 0; i < FT_GPU_OPTIONS && !kind->gres_truncated; i++) {
    struct ft_text rest = ft_text_from(asked->value[i]), piece;
    uint64_t times = i == FT_GPU_OPTION_TASK || i == FT_GPU_OPTION_TRES ? tasks : 1;
    struct resource one;

    /* what the whole job gets may be on several nodes, and what --gres has is asked elsewhere */
    while (i != FT_GPU_OPTION_JOB && i != FT_GPU_OPTION_GRES && ft_text_until(&rest, ',', &piece))
      if (read_gpus(i, piece, &one) && count_of(&one, kind->gres) < times * one.count)
        return false;
  }
  return true;
}

/* Whether PARTITION has TIMES what VALUE of OPTION asks for. */
static bool suffices(enum ft_gpu_option option, const char *value, uint64_t times,
                     const ft_partition *partition, const char *constraint)
{
  struct ft_text rest = ft_text_from(value), piece;
  struct resource one;

  while (ft_text_until(&rest, ',', &piece)) {
    uint64_t count = 0;

    if (!read_gpus(option, piece, &one))
      continue;
    for (size_t i = 0; i < partition->nodes_count; i++) {
      const ft_node_type *kind = &partition->nodes[i];

      if (kind->gres_truncated)
        return true;
      if (ft_constraint_allows(constraint, kind))
        count += kind->count * count_of(&one, kind->gres);
    }
    if (count < times * one.count)
      return false;
  }
  return true;
}

bool ft_gpu_request_fits_partition(const struct ft_gpu_request *asked, uint64_t nodes,
                                   uint64_t tasks, const ft_partition *partition,
                                   const char *constraint)
{
  for (enum ft_gpu_option i = 0; i < FT_GPU_OPTIONS; i++) {
    uint64_t times = i == FT_GPU_OPTION_JOB                               ? 1
                     : i == FT_GPU_OPTION_TASK || i == FT_GPU_OPTION_TRES ? tasks
                                                                          : nodes;

    if (!suffices(i, asked->value[i], times, partition, constraint))
      return false;
  }
  return true;
}
