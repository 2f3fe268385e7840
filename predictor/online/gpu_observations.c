/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>
#include <string.h>

#include "predictor/core/hash.h"
#include "predictor/core/text.h"
#include "predictor/online/gpu_observations.h"

enum {
  KINDS = sizeof((ft_gpus *)NULL)->kinds / sizeof(ft_gpu_kind),
  RUNS = sizeof((ft_gpu_kind *)NULL)->runs / sizeof(ft_network_run),
  ALIKE = 3 /* runs of one network that stay: one that is run all day says no more of the GPU */
};

/* Two runs of as much as that, in parts, are of one network at one batch. */
static const double same = 0.002;

uint32_t ft_gpu_observations_hash(const char *name)
{
  uint64_t hash = ft_hash64(FT_HASH_SEED, name, strlen(name));

  return name[0] ? (uint32_t)(hash ^ hash >> 32) | 1 : 0;
}

static bool is_alike(const ft_network_run *a, const ft_network_run *b)
{
  return fabs((double)a->network_bytes - (double)b->network_bytes) <=
         same * (double)a->network_bytes;
}

static void remove_run(ft_gpu_kind *kind, size_t at)
{
  kind->runs_count--;
  memmove(&kind->runs[at], &kind->runs[at + 1], (kind->runs_count - at) * sizeof *kind->runs);
}

/* Make room among KIND's runs for RUN: in the place of itself, of the oldest one alike, of any. */
static void make_room(ft_gpu_kind *kind, const ft_network_run *run)
{
  size_t alike = 0, oldest = 0;

  for (size_t i = 0; i < kind->runs_count; i++)
    if (kind->runs[i].key == run->key) {
      remove_run(kind, i);
      return;
    }
  for (size_t i = kind->runs_count; i-- > 0;)
    if (is_alike(&kind->runs[i], run)) {
      alike++;
      oldest = i;
    }
  if (alike >= ALIKE)
    remove_run(kind, oldest);
  else if (kind->runs_count == RUNS)
    remove_run(kind, 0);
}

/* The GPUs of NAME; where there is no room for more the last kind gives way. */
static ft_gpu_kind *kind_of(ft_gpus *gpus, const char *name)
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
  kind = kind_of(gpus, o->gpu_name);
  for (size_t i = 0; i < kind->runs_count; i++)
    if (memcmp(&kind->runs[i], &run, sizeof run) == 0)
      return false;
  make_room(kind, &run);
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
        remove_run(kind, i);
        changed = true;
      }
    if (kind->runs_count)
      gpus->kinds[kept++] = *kind;
  }
  gpus->kinds_count = kept;
  return changed;
}
