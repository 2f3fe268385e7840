/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads the members of a TorchScript archive. */
#include "config.h"

#include <string.h>

#include "predictor/graph/import/torch/torchscript.h"

/* ---- the archive ---- */

enum {
  SMALL = 512,  /* bytes: larger constants hold no sizes */
  SMALLS = 4096 /* limit of small constants */
};

/* Member "net/constants/12": a tensor, read if it is small. */
static int read_small(struct ft_build *build, struct ft_archive *archive, uint64_t i,
                      struct ft_script *script)
{
  const char *key = strstr(ft_archive_name(archive, i), "/constants/");
  struct ft_script_small *list, one = { 0 };

  if (!key || script->small_count >= SMALLS || ft_archive_size(archive, i) > SMALL)
    return 0;
  key += strlen("/constants/");
  one.key = ft_build_same(build, key, strlen(key));
  one.data = one.key ? ft_archive_read(archive, i, &build->graph->arena, &one.length) : NULL;
  list = one.data ? ft_build_grow(build, script->small, &script->small_room, script->small_count,
                                  sizeof *list)
                  : NULL;
  if (!list)
    return -1;
  script->small = list;
  list[script->small_count++] = one;
  return 0;
}

static int read_member(struct ft_build *build, struct ft_archive *archive, uint64_t i,
                       struct ft_script *script)
{
  struct ft_arena *arena = &build->graph->arena;
  const char *name = ft_archive_name(archive, i), *part, **said, **data;
  bool code = ft_archive_is_code(name), pickle = ft_archive_at_top(name, "data.pkl");
  size_t length, *kept;
  char *text;

  if (!code && !pickle && !ft_archive_at_top(name, "constants.pkl"))
    return read_small(build, archive, i, script);
  part = strchr(name, '/') + 1;
  part = ft_build_same(build, part, strlen(part));
  text = part ? ft_archive_read(archive, i, arena, &length) : NULL;
  if (!text)
    return -1;
  if (code)
    return ft_script_parse(build, script, part, text, length);
  said = pickle ? &script->data_part : &script->constants_part;
  data = pickle ? &script->data : &script->constants;
  kept = pickle ? &script->data_length : &script->constants_length;
  *said = part;
  *data = text;
  *kept = length;
  return 0;
}

int ft_torchscript_read(struct ft_build *build, struct ft_archive *archive)
{
  struct ft_script *script = ft_build_take(build, sizeof *script);

  if (!script)
    return -1;
  for (uint64_t i = 0; i < archive->count; i++)
    if (read_member(build, archive, i, script) < 0)
      return -1;
  if (!script->data)
    return ft_error_set(build->err, "%s: expected a TorchScript archive, found no data.pkl in it",
                        build->graph->file);
  if (!script->function_count)
    return ft_error_set(build->err, "%s: expected a program, found no function in it",
                        build->graph->file);
  ft_script_sort(script);
  build->graph->format = "torchscript";
  build->graph->states_trained = true;
  build->graph->producer = "pytorch";
  build->graph->program = script;
  build->graph->expand = ft_script_run;
  return 0;
}
