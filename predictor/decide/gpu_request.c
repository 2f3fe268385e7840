/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <string.h>

#include "predictor/decide/gpu_request.h"

/* Maximum number of GPUs of a job and of an item of a list; above any cluster's. */
enum { MAX_GPUS = 100000 };

/* Arrays instead of pointers, which would need relocations when the plugin is loaded. */
static const struct {
  char name[16];
  bool takes_other_gres, is_settable;
} options[FT_GPU_OPTIONS] = {
  [FT_GPU_OPTION_NODE] = { "gpus-per-node", false, true },
  [FT_GPU_OPTION_JOB] = { "gpus", false, true },
  [FT_GPU_OPTION_GRES] = { "gres", true, true },
  [FT_GPU_OPTION_TASK] = { "gpus-per-task", false, false },
  [FT_GPU_OPTION_TRES] = { "tres-per-task", true, false },
  [FT_GPU_OPTION_SOCKET] = { "gpus-per-socket", false, false },
};

const char *ft_gpu_option_name(enum ft_gpu_option option)
{
  return options[option].name;
}

enum ft_gpu_option ft_gpu_option_from_name(const char *name)
{
  return FT_TABLE_FIND_INLINED(options, name);
}

bool ft_gpu_option_is_mixed(enum ft_gpu_option option)
{
  return options[option].takes_other_gres;
}

bool ft_gpu_option_is_settable(enum ft_gpu_option option)
{
  return options[option].is_settable;
}

struct ft_text ft_gres_skip_prefix(struct ft_text piece)
{
  if (!ft_text_skip(&piece, "gres:"))
    (void)ft_text_skip(&piece, "gres/");
  return piece;
}

struct ft_text ft_gpu_request_parse(struct ft_text piece, uint64_t *count)
{
  struct ft_text number;
  const char *last;

  piece = ft_gres_skip_prefix(piece);
  last = piece.at;
  for (const char *at = piece.at; at < piece.end; at++)
    if (*at == ':' || *at == '=')
      last = at + 1;
  number = ft_text_of(last, (size_t)(piece.end - last));
  *count = 1;
  if (ft_text_u64(&number, MAX_GPUS, count) && !ft_text_left(&number))
    piece.end = last > piece.at ? last - 1 : last;
  else
    *count = 1;
  return piece;
}

bool ft_gpu_request_count(enum ft_gpu_option option, const char *value, uint64_t *count)
{
  struct ft_text list = ft_text_from(value), piece, name;
  bool parsed = true;

  *count = 0;
  while (ft_text_until(&list, ',', &piece)) {
    uint64_t each;
    struct ft_text kind = ft_gpu_request_parse(piece, &each);
    bool counted = ft_text_left(&kind) < ft_text_left(&piece);

    if (!options[option].takes_other_gres && !counted)
      parsed = false;
    else if (!options[option].takes_other_gres ||
             (ft_text_until(&kind, ':', &name) && ft_text_equals(name, "gpu")))
      *count += each;
  }
  if (*count > MAX_GPUS)
    *count = MAX_GPUS;
  return parsed;
}

enum ft_gpu_option ft_gpu_request_find(const struct ft_gpu_request *gpus)
{
  uint64_t count;

  for (enum ft_gpu_option i = 0; i < FT_GPU_OPTIONS; i++)
    if (gpus->value[i] && (!ft_gpu_request_count(i, gpus->value[i], &count) || count > 0))
      return i;
  return gpus->value[FT_GPU_OPTION_GRES] ? FT_GPU_OPTION_GRES : FT_GPU_OPTIONS;
}

/* Returns the number of tasks on a node, 1 if the request does not determine it. */
static uint64_t count_tasks_on_node(const ft_request *r)
{
  uint64_t nodes = r->nodes ? r->nodes : 1;

  if (r->tasks_per_node)
    return r->tasks_per_node;
  return r->tasks ? (r->tasks + nodes - 1) / nodes : 1;
}

uint32_t ft_gpu_request_per_node(const struct ft_gpu_request *gpus, const ft_request *request)
{
  enum ft_gpu_option which = ft_gpu_request_find(gpus);
  uint64_t nodes = request->nodes ? request->nodes : 1, count;

  if (which == FT_GPU_OPTIONS)
    return 0;
  (void)ft_gpu_request_count(which, gpus->value[which], &count);
  if (which == FT_GPU_OPTION_JOB)
    count = (count + nodes - 1) / nodes;
  else if (which == FT_GPU_OPTION_TASK || which == FT_GPU_OPTION_TRES)
    count *= count_tasks_on_node(request);
  return (uint32_t)(count > MAX_GPUS ? MAX_GPUS : count);
}
