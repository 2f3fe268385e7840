/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parses --constraint, --gres and GPU options, and compares them with the nodes of a type. */
#include "config.h"

#include <string.h>

#include "predictor/core/text.h"
#include "predictor/decide/constraint.h"

/* Maximum nesting of parentheses and brackets; Slurm accepts one level of each. */
enum { MAX_DEPTH = 4 };

struct constraint_parser {
  struct ft_text rest;  /* text that is not parsed yet */
  const char *features; /* of the node type, comma-separated */
  bool several_nodes;   /* operands in brackets or with a count may be on different nodes */
  bool invalid;
};

static bool parse_expression(struct constraint_parser *r, int depth);

/* Parses a feature, or an expression in brackets or parentheses, with an optional count. Returns
 * whether the node type satisfies it. */
static bool parse_operand(struct constraint_parser *r, int depth)
{
  const char *begin = r->rest.at;
  struct ft_text name;
  uint64_t count;
  bool found, bracket = ft_text_skip(&r->rest, "[");

  if (bracket || ft_text_skip(&r->rest, "(")) {
    bool outer = r->several_nodes;

    r->several_nodes |= bracket;
    found = depth < MAX_DEPTH && parse_expression(r, depth + 1);
    r->several_nodes = outer;
    r->invalid |= !ft_text_skip(&r->rest, bracket ? "]" : ")");
  } else {
    char text[128];

    while (r->rest.at < r->rest.end && !strchr("&|,*()[]", *r->rest.at))
      r->rest.at++;
    name = ft_text_of(begin, (size_t)(r->rest.at - begin));
    r->invalid |= !ft_text_left(&name) || !ft_text_copy(name, text, sizeof text);
    found = !r->invalid && ft_text_lists(ft_text_from(r->features), text);
  }
  if (ft_text_skip(&r->rest, "*"))
    r->invalid |= !ft_text_u64(&r->rest, UINT32_MAX, &count);
  return found;
}

/* Parses operands and operators and returns whether the node type satisfies them. Evaluates from
 * left to right without precedence, as Slurm does; a comma means "and". */
static bool parse_expression(struct constraint_parser *r, int depth)
{
  bool found = parse_operand(r, depth);

  while (!r->invalid && r->rest.at < r->rest.end && !strchr(")]", *r->rest.at)) {
    bool next, any = ft_text_skip(&r->rest, "|");

    r->invalid |= !any && !ft_text_skip(&r->rest, "&") && !ft_text_skip(&r->rest, ",");
    next = !r->invalid && parse_operand(r, depth);
    found = any || r->several_nodes ? found || next : found && next;
  }
  return found;
}

bool ft_constraint_allows(const char *constraint, const ft_node_type *kind)
{
  struct constraint_parser r = { .rest = ft_text_from(constraint), .features = kind->features };
  bool found;

  if (!constraint[0] || !kind->has_features)
    return true;
  r.several_nodes = strchr(constraint, '*');
  found = parse_expression(&r, 0);
  return found || r.invalid || ft_text_left(&r.rest);
}

/* ---- --gres ---- */

/* Parsed generic resource: "gpu:a100:2" or "gpu:2". TYPE may be empty; COUNT is 1 by default. */
struct resource {
  struct ft_text name, type;
  uint64_t count;
};

/* Parses PIECE, an item of --gres or of a node's list. Returns false if it is invalid. */
static bool parse_gres(struct ft_text piece, struct resource *out)
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

/* Parses PIECE, an item of OPTION's value. Returns false if it does not request GPUs. */
static bool parse_gpus(enum ft_gpu_option option, struct ft_text piece, struct resource *out)
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

/* Returns the number of resources of WANTED's name and type in LIST, a node's generic resources. */
static uint64_t count_gres(const struct resource *wanted, const char *list)
{
  struct ft_text rest = ft_text_from(list), piece;
  struct resource one;
  uint64_t count = 0;

  while (ft_text_until(&rest, ',', &piece))
    if (parse_gres(piece, &one) && ft_text_same(one.name, wanted->name) &&
        (!ft_text_left(&wanted->type) || ft_text_same(one.type, wanted->type)))
      count += one.count;
  return count;
}

bool ft_gres_allows(const char *gres, const ft_node_type *kind)
{
  struct ft_text rest = ft_text_from(gres), piece;
  struct resource wanted;

  if (kind->gres_truncated)
    return true;
  while (ft_text_until(&rest, ',', &piece))
    if (parse_gres(piece, &wanted) && !ft_text_equals(wanted.name, "none") &&
        count_gres(&wanted, kind->gres) < wanted.count)
      return false;
  return true;
}

bool ft_gpu_request_fits_node(const struct ft_gpu_request *gpus, uint64_t tasks,
                              const ft_node_type *kind)
{
  for (enum ft_gpu_option i = 0; i < FT_GPU_OPTIONS && !kind->gres_truncated; i++) {
    struct ft_text rest = ft_text_from(gpus->value[i]), piece;
    uint64_t times = i == FT_GPU_OPTION_TASK || i == FT_GPU_OPTION_TRES ? tasks : 1;
    struct resource one;

    /* --gpus counts over all nodes of the job; ft_gres_allows compares --gres */
    while (i != FT_GPU_OPTION_JOB && i != FT_GPU_OPTION_GRES && ft_text_until(&rest, ',', &piece))
      if (parse_gpus(i, piece, &one) && count_gres(&one, kind->gres) < times * one.count)
        return false;
  }
  return true;
}

/* Returns whether the nodes of PARTITION that satisfy CONSTRAINT together have TIMES the GPUs that
 * OPTION with VALUE requests. */
static bool has_enough_gpus(enum ft_gpu_option option, const char *value, uint64_t times,
                            const ft_partition *partition, const char *constraint)
{
  struct ft_text rest = ft_text_from(value), piece;
  struct resource one;

  while (ft_text_until(&rest, ',', &piece)) {
    uint64_t count = 0;

    if (!parse_gpus(option, piece, &one))
      continue;
    for (size_t i = 0; i < partition->nodes_count; i++) {
      const ft_node_type *kind = &partition->nodes[i];

      if (kind->gres_truncated)
        return true;
      if (ft_constraint_allows(constraint, kind))
        count += kind->count * count_gres(&one, kind->gres);
    }
    if (count < times * one.count)
      return false;
  }
  return true;
}

bool ft_gpu_request_fits_partition(const struct ft_gpu_request *gpus, uint64_t nodes,
                                   uint64_t tasks, const ft_partition *partition,
                                   const char *constraint)
{
  for (enum ft_gpu_option i = 0; i < FT_GPU_OPTIONS; i++) {
    uint64_t times = i == FT_GPU_OPTION_JOB                               ? 1
                     : i == FT_GPU_OPTION_TASK || i == FT_GPU_OPTION_TRES ? tasks
                                                                          : nodes;

    if (!has_enough_gpus(i, gpus->value[i], times, partition, constraint))
      return false;
  }
  return true;
}
