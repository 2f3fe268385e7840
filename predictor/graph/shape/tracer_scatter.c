/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A write into a part of a tensor is recorded when an operator next reads the tensor. */
#include "config.h"

#include <string.h>

#include "predictor/graph/shape/tracer.h"

enum { DEPTH = 16 }; /* nested pending writes; deeper ones are ignored. */

static int reserve_parts(struct ft_tracer *l, uint32_t tensor)
{
  uint32_t *part;

  while (l->part_count <= tensor) {
    part = ft_tracer_grow(l, l->part, &l->part_room, l->part_count, sizeof *part);
    if (!part)
      return -1;
    l->part = part;
    part[l->part_count++] = 0;
  }
  return 0;
}

void ft_tracer_scatter(struct ft_tracer *l, uint32_t x, uint32_t part)
{
  uint32_t now = ft_tracer_now(l, x);

  if (ft_tracer_of(l, now)->block != l->serial)
    return;
  if (now < l->part_count && l->part[now] && ft_tracer_now(l, l->part[now]) == part)
    return; /* PART replaced the tensor of the pending write */
  now = ft_tracer_now(l, ft_tracer_flush(l, now));
  if (reserve_parts(l, now) < 0)
    return;
  l->part[now] = part;
}

uint32_t ft_tracer_flush(struct ft_tracer *l, uint32_t tensor)
{
  uint32_t part = tensor < l->part_count ? l->part[tensor] : 0, whole;
  struct ft_tracer aside; /* the operator being composed, restored below */

  if (!part || l->part_depth == DEPTH)
    return tensor;
  aside = *l;
  l->part_depth++;
  l->part[tensor] = 0;
  l->ins = NULL;
  l->in_room = 0;
  ft_tracer_op(l, "ScatterND");
  ft_tracer_in(l, tensor);
  ft_tracer_in(l, part);
  whole = ft_tracer_end(l, 1);
  l->part_depth--;
  l->ins = aside.ins;
  l->in_room = aside.in_room;
  l->in_count = aside.in_count;
  l->type = aside.type;
  l->domain = aside.domain;
  l->attribute_count = aside.attribute_count;
  memcpy(l->attributes, aside.attributes, sizeof l->attributes);
  if (!whole) {
    l->failed = true;
    return tensor;
  }
  if (ft_tracer_of(l, tensor)->block == l->serial)
    ft_tracer_replace(l, tensor, whole);
  else
    l->part[tensor] = part; /* the write is local to this subgraph */
  return whole;
}
