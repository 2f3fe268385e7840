/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Buffers with reference counts, and sizes of tensors. */
#include "config.h"

#include "predictor/graph/shape/infer.h"
#include "predictor/graph/training/schedule_plan.h"

/* ---- buffers ---- */

void ft_plan_emit(struct ft_plan *p, uint8_t kind, uint32_t buffer, int64_t bytes)
{
  struct ft_event *events = ft_arena_grow(&p->graph->results, p->out->events, &p->event_room,
                                          p->out->count, sizeof *events);

  if (!events) {
    p->failed = true;
    return;
  }
  p->out->events = events;
  events[p->out->count++] = (struct ft_event){ bytes, buffer, kind };
}

uint32_t ft_plan_allocate(struct ft_plan *p, int64_t bytes)
{
  uint32_t buffer = p->out->buffers, *references;
  int64_t *sizes;

  if (bytes <= 0)
    return 0;
  references = ft_arena_grow(&p->graph->results, p->references, &p->reference_room, buffer,
                             sizeof *references);
  if (references)
    p->references = references;
  sizes = ft_arena_grow(&p->graph->results, p->sizes, &p->size_room, buffer, sizeof *sizes);
  if (sizes)
    p->sizes = sizes;
  if (!references || !sizes) {
    p->failed = true;
    return 0;
  }
  references[buffer] = 1;
  sizes[buffer] = bytes;
  p->out->buffers++;
  p->live = ft_known_plus(p->live, bytes);
  if (p->live > p->out->peak_bytes)
    p->out->peak_bytes = p->live;
  if (p->live > p->out->peak_no_workspace_bytes)
    p->out->peak_no_workspace_bytes = p->live;
  ft_plan_emit(p, FT_EVENT_ALLOCATE, buffer, bytes);
  return buffer + 1;
}

uint32_t ft_plan_retain(struct ft_plan *p, uint32_t buffer)
{
  if (buffer)
    p->references[buffer - 1]++;
  return buffer;
}

void ft_plan_release(struct ft_plan *p, uint32_t buffer)
{
  if (!buffer || --p->references[buffer - 1])
    return;
  p->live = p->live > p->sizes[buffer - 1] ? p->live - p->sizes[buffer - 1] : 0;
  ft_plan_emit(p, FT_EVENT_FREE, buffer - 1, 0);
}

void ft_plan_save(struct ft_plan *p, uint32_t op, uint32_t buffer)
{
  struct ft_saved_buffer *saved;

  if (!buffer)
    return;
  saved =
      ft_arena_grow(&p->graph->results, p->saved, &p->saved_room, p->saved_count, sizeof *saved);
  if (!saved) {
    p->failed = true;
    return;
  }
  p->saved = saved;
  saved[p->saved_count++] = (struct ft_saved_buffer){ buffer, p->saved_first[op] };
  p->saved_first[op] = (uint32_t)p->saved_count;
}

void ft_plan_offload(struct ft_plan *p, uint32_t op)
{
  for (uint32_t k = p->saved_first[op]; k && !p->failed; k = p->saved[k - 1].next) {
    uint32_t buffer = p->saved[k - 1].buffer;

    p->out->offloaded_bytes = ft_known_plus(p->out->offloaded_bytes, p->sizes[buffer - 1]);
    ft_plan_release(p, buffer);
  }
}

void ft_plan_reload(struct ft_plan *p, uint32_t op)
{
  for (uint32_t k = p->saved_first[op]; k && !p->failed; k = p->saved[k - 1].next)
    p->saved[k - 1].buffer = ft_plan_allocate(p, p->sizes[p->saved[k - 1].buffer - 1]);
}

/* ---- tensors ---- */

int64_t ft_plan_bytes(const struct ft_plan *p, uint32_t t)
{
  const struct ft_tensor *x = ft_plan_tensor(p, t);
  ft_dim elements = p->cost->tables[t] ? ft_dim_of(p->cost->tables[t]) : ft_tensor_elements(x);
  ft_dim bytes = ft_plan_real(p, t) ? ft_dim_times(elements, ft_dim_of(p->storages[t].width))
                                    : ft_tensor_bytes(x);
  int64_t size;

  size = ft_known_times(ft_dim_or(bytes, 0), x->data ? p->options->batch : 1);
  return p->options->training ? ft_tensor_saved(x, size) : size;
}

void ft_plan_release_saved(struct ft_plan *p, uint32_t op)
{
  for (uint32_t k = p->saved_first[op]; k; k = p->saved[k - 1].next)
    ft_plan_release(p, p->saved[k - 1].buffer);
  p->saved_first[op] = 0;
}

bool ft_plan_runs(const struct ft_plan *p, const struct ft_operator *op)
{
  bool wanted = false;

  for (uint32_t i = 0; i < op->output_count; i++) {
    if (op->outputs[i] && p->cost->trainable[op->outputs[i]])
      return false; /* the exporter wrote a parameter as a copy of another */
    wanted = wanted || p->storages[op->outputs[i]].wanted;
  }
  return op->data || wanted;
}
