/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <string.h>

#include "predictor/core/hash.h"
#include "predictor/core/text.h"
#include "predictor/estimate/gpu/gpu_calibration.h"
#include "predictor/online/gpu_observations.h"

enum {
  KINDS = sizeof((ft_gpus *)NULL)->kinds / sizeof(ft_gpu_kind),
  RUNS = sizeof((ft_gpu_kind *)NULL)->runs / sizeof(ft_network_run)
};

/* Maximum number of runs of one network, so that a frequent network does not displace the others.
 * Chosen by judgement. */
enum { RUNS_PER_NETWORK = 3 };

uint32_t ft_gpu_observations_hash(const char *name)
{
  uint64_t hash = ft_hash64(FT_HASH_SEED, name, strlen(name));

  return name[0] ? (uint32_t)(hash ^ hash >> 32) | 1 : 0;
}

static void remove_network_run(ft_gpu_kind *kind, size_t at)
{
  kind->runs_count--;
  memmove(&kind->runs[at], &kind->runs[at + 1], (kind->runs_count - at) * sizeof *kind->runs);
}

/* Makes room for RUN in KIND: removes an older record of RUN, else the oldest run of its network if
 * there are RUNS_PER_NETWORK, else the oldest run if KIND is full. */
static void make_room_for_run(ft_gpu_kind *kind, const ft_network_run *run)
{
  size_t same = 0, oldest = 0;

  for (size_t i = 0; i < kind->runs_count; i++)
    if (kind->runs[i].key == run->key) {
      remove_network_run(kind, i);
      return;
    }
  for (size_t i = kind->runs_count; i-- > 0;)
    if (ft_gpu_same_network(&kind->runs[i], run)) {
      same++;
      oldest = i;
    }
  if (same >= RUNS_PER_NETWORK)
    remove_network_run(kind, oldest);
  else if (kind->runs_count == RUNS)
    remove_network_run(kind, 0);
}

/* Returns the entry of the GPU NAME, added if it is new; a full table replaces its last entry. */
static ft_gpu_kind *find_or_add_gpu(ft_gpus *gpus, const char *name)
{
  ft_gpu_kind *kind;

  for (size_t i = 0; i < gpus->kinds_count; i++)
    if (strcmp(gpus->kinds[i].name, name) == 0)
      return &gpus->kinds[i];
  if (gpus->kinds_count < KINDS)
    gpus->kinds_count++;
  kind = &gpus->kinds[gpus->kinds_count - 1];
  *kind = (ft_gpu_kind){ .runs_count = 0 };
  (void)ft_string_copy(name, kind->name, sizeof kind->name);
  return kind;
}

bool ft_gpu_observations_learn(ft_gpus *gpus, const ft_observation *o)
{
  const ft_feature *network =
      ft_feature_find(o->submission.features, o->submission.features_count, FT_FEATURE_NETWORK);
  ft_network_run run = { .key = ft_observation_key(o),
                         .gpu_bytes = (float)ft_observation_gpu_bytes(o) };
  ft_gpu_kind *kind;

  if (!network || !network->has_number || !(network->number > 0 && network->number < 0x1p60) ||
      !(run.gpu_bytes > 0) || !o->gpu_name[0] || o->censored || o->outcome != FT_OUTCOME_COMPLETED)
    return false;
  run.network_bytes = (float)network->number;
  kind = find_or_add_gpu(gpus, o->gpu_name);
  for (size_t i = 0; i < kind->runs_count; i++)
    if (memcmp(&kind->runs[i], &run, sizeof run) == 0)
      return false;
  make_room_for_run(kind, &run);
  kind->runs[kind->runs_count++] = run;
  return true;
}

bool ft_gpu_observations_forget(ft_gpus *gpus, const ft_observation *o)
{
  uint64_t key = ft_observation_key(o);
  pb_size_t kept = 0;
  bool changed = false;

  for (size_t k = 0; k < gpus->kinds_count; k++) {
    ft_gpu_kind *kind = &gpus->kinds[k];

    for (size_t i = kind->runs_count; i-- > 0;)
      if (kind->runs[i].key == key) {
        remove_network_run(kind, i);
        changed = true;
      }
    if (kind->runs_count)
      gpus->kinds[kept++] = *kind;
  }
  gpus->kinds_count = kept;
  return changed;
}
