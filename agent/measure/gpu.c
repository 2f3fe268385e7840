/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The sampler "nvml": use of NVIDIA GPUs by a tree's processes. One query of all GPUs serves all
 * trees and takes at most 1 % of a core. The driver is loaded, in a child (gpu_driver.h), only
 * while a tree is open, so that an idle agent does not keep it in use. Energy, transfers and
 * utilisation are those of a whole GPU. They count only if no other process computes on it and MIG
 * is off; energy and transfers from the first query that finds the job on it until the tree's end.
 * On an H100 the energy counter takes 3.4 ms of CPU time, the other queries together 0.5 ms, so
 * energy has a pace of its own (tests/bench/gpu_agent).
 */
#include "config.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/measure/gpu_driver.h"
#include "agent/measure/internal.h"
#include "predictor/core/io.h"

/* Fraction of a core for queries of energy, and for all others. */
#define QUERY_FRACTION 0.005

/* Maximum pause of the queries of processes for their CPU time. */
#define PAUSE_SECONDS 1.0

/* The shortest pause of the latest 4 queries counts. On an H100 about 4 of them, at 10 Hz, fall
 * into the creation of a process's context, and each may take 40 ms of CPU time. */
enum { PAUSES = 4 };

/* Times in seconds. */
struct watch {
  double cpu, wall;
};

/* How often one kind of query is made. */
struct pace {
  double at;                 /* start of the latest round of queries, as ft_measure.now */
  struct watch spent;        /* in this round */
  double pauses[PAUSES - 1]; /* of the rounds before */
  unsigned count;
};

/* A GPU that the tree uses or has used. */
struct device {
  unsigned index;
  bool exclusive; /* so far no other process, no MIG */
  /* under MIG: the instances that the tree has used, as bits, and their fraction of the slices; 0:
   * not divided */
  uint64_t instances;
  double part;
  bool has_energy;
  double first_joules, last_joules;
  bool has_transferred;
  double sent_received[2], transferred; /* last readings of the counters; sum of their increments */
};

struct state {
  bool loaded;
  double queried_at; /* time of the query that the tree has used */
  double energy_at;  /* the same of energy */
  double bytes;      /* at that query; negative: never on a GPU */
  double max_bytes;
  double utilisation; /* sum over queries and GPUs */
  unsigned utilisation_count;
  struct device devices[FT_NVML_DEVICES];
  unsigned count;
  char name[64], profile[32];
};

/* Global, because NVML has one state per process. */
static struct {
  unsigned users;
  struct pace query, energy;
  struct ft_nvml_use *uses;
  size_t count;
} gpu;

static bool gpu_probe(struct ft_measure *measure, struct ft_measure_report *report)
{
  if (measure->own_proc) {
    /* the directory of NVIDIA's kernel module */
    report->absent = faccessat(measure->settings.root_fd, "proc/driver/nvidia", F_OK, 0) < 0;
    return ft_gpu_driver_probe(FT_NVML_LIBRARY, report);
  }
  snprintf(report->why, sizeof report->why, "the processes are not of this system");
  return false;
}

static void release_gpu(void)
{
  if (gpu.users && --gpu.users)
    return;
  ft_gpu_driver_close();
  free(gpu.uses);
  gpu.uses = NULL;
  gpu.count = 0;
  gpu.query = gpu.energy = (struct pace){ 0 };
}

static int gpu_open(struct ft_measure *measure, struct ft_tree *tree, void *data)
{
  struct state *state = data;

  (void)measure;
  (void)tree;
  if (!gpu.users) {
    gpu.uses = calloc(FT_NVML_USES, sizeof *gpu.uses);
    if (!gpu.uses)
      return -1;
  }
  gpu.users++;
  state->loaded = true;
  state->bytes = state->max_bytes = -1;
  return 0;
}

static struct watch read_watch(void)
{
  return (struct watch){ .cpu = ft_gpu_driver_cpu_seconds(), .wall = ft_io_monotonic() };
}

/* Adds the time since BEGUN to the round of PACE. */
static void add_spent_time(struct pace *pace, struct watch begun)
{
  struct watch now = read_watch();

  pace->spent.cpu += now.cpu - begun.cpu;
  pace->spent.wall += now.wall - begun.wall;
}

/*
 * Starts a round of PACE at the time NOW if the pause after the one before is over. The pause keeps
 * the queries below QUERY_FRACTION of a core, for at most LIMIT seconds, and waiting for the driver
 * below half of the time. The shortest of the latest pauses counts, so that a few slow queries hide
 * no peak.
 */
static bool start_round(struct pace *pace, double now, double limit)
{
  double pause = fmax(fmin(pace->spent.cpu / QUERY_FRACTION, limit), pace->spent.wall);
  double shortest = pause;

  for (int i = 0; i < PAUSES - 1; i++)
    shortest = fmin(shortest, pace->pauses[i]);
  if (now < pace->at + shortest)
    return false;
  pace->pauses[pace->count++ % (PAUSES - 1)] = pause;
  pace->spent = (struct watch){ 0 };
  pace->at = now;
  return true;
}

static void query_uses(void)
{
  struct watch begun = read_watch();

  if (!ft_gpu_driver_list_uses(gpu.uses, FT_NVML_USES, &gpu.count))
    gpu.count = 0;
  add_spent_time(&gpu.query, begun);
}

/* Adds the MIG instance of USE to DEVICE's. */
static void add_instance(struct device *device, const struct ft_nvml_use *use)
{
  double part;

  if (use->instance < 0 || use->instance >= 64 || (device->instances >> use->instance & 1))
    return;
  device->instances |= UINT64_C(1) << use->instance;
  if (ft_gpu_driver_mig_part(use->device, use->instance, &part))
    device->part = fmin(device->part + part, 1);
}

/* Returns the tree's entry of USE's GPU, created if missing; NULL: too many. */
static struct device *device_of(struct state *state, const struct ft_nvml_use *use)
{
  struct device *device;
  double wrap[2];

  for (unsigned i = 0; i < state->count; i++)
    if (state->devices[i].index == use->device) {
      add_instance(&state->devices[i], use);
      return &state->devices[i];
    }
  if (state->count == FT_NVML_DEVICES)
    return NULL;
  device = &state->devices[state->count++];
  *device = (struct device){ .index = use->device, .exclusive = true };
  device->has_energy = ft_gpu_driver_energy(use->device, &device->first_joules);
  device->last_joules = device->first_joules;
  device->has_transferred = ft_gpu_driver_transferred(use->device, device->sent_received, wrap);
  add_instance(device, use);
  if (!state->name[0])
    ft_gpu_driver_name(use->device, state->name, sizeof state->name);
  if (!state->profile[0])
    ft_gpu_driver_mig_profile(use->device, use->instance, state->profile, sizeof state->profile);
  return device;
}

/* Whether only the tree uses GPU INDEX at this query. */
static bool is_used_alone(const struct ft_tree *tree, unsigned index)
{
  for (size_t i = 0; i < gpu.count; i++)
    if (gpu.uses[i].device == index &&
        (gpu.uses[i].instance >= 0 || !ft_tree_find(tree, gpu.uses[i].pid)))
      return false;
  return true;
}

/* Adds the increments of the PCIe counters. A smaller reading means a wrap-around, or a reset
 * GPU. */
static void update_transfers(struct device *device)
{
  double now[2], wrap[2];

  if (!device->has_transferred || !ft_gpu_driver_transferred(device->index, now, wrap))
    return;
  for (int i = 0; i < 2; i++) {
    double more = now[i] - device->sent_received[i];

    if (more < 0)
      more = wrap[i] < 0x1p33 ? more + wrap[i] : now[i];
    device->transferred += more;
    device->sent_received[i] = now[i];
  }
}

/* Reads the energy of the GPUs that only the tree uses at the last query, and of those divided by
 * MIG. */
static void update_energy(struct state *state, const struct ft_tree *tree)
{
  struct watch begun = read_watch();

  for (unsigned i = 0; i < state->count; i++) {
    struct device *device = &state->devices[i];

    if (device->has_energy &&
        (device->instances || (device->exclusive && is_used_alone(tree, device->index))))
      ft_gpu_driver_energy(device->index, &device->last_joules);
  }
  add_spent_time(&gpu.energy, begun);
}

/* Updates transfers and utilisation of the GPUs that the tree has used, also between kernels. */
static void update_readings(struct state *state, const struct ft_tree *tree)
{
  struct watch begun = read_watch();

  for (unsigned i = 0; i < state->count; i++) {
    struct device *device = &state->devices[i];
    double part;

    device->exclusive = device->exclusive && is_used_alone(tree, device->index);
    if (!device->exclusive)
      continue;
    update_transfers(device);
    if (ft_gpu_driver_utilisation(device->index, &part)) {
      state->utilisation += part;
      state->utilisation_count++;
    }
  }
  add_spent_time(&gpu.query, begun);
}

static void gpu_sample(struct ft_measure *measure, struct ft_tree *tree, void *data,
                       struct ft_sample *sample)
{
  struct state *state = data;
  double bytes = state->bytes >= 0 ? 0 : -1;

  if (start_round(&gpu.query, measure->now, PAUSE_SECONDS)) {
    query_uses();
    (void)start_round(&gpu.energy, measure->now, HUGE_VAL);
  }
  if (state->queried_at != gpu.query.at) {
    state->queried_at = gpu.query.at;
    for (size_t i = 0; i < gpu.count; i++) {
      const struct ft_nvml_use *use = &gpu.uses[i];

      if (!ft_tree_find(tree, use->pid) || !device_of(state, use) || use->bytes < 0)
        continue;
      bytes = (bytes < 0 ? 0 : bytes) + use->bytes;
    }
    update_readings(state, tree);
    if (state->energy_at != gpu.energy.at) {
      state->energy_at = gpu.energy.at;
      update_energy(state, tree);
    }
    state->bytes = bytes;
    ft_update_max(&state->max_bytes, bytes);
  }
  sample->gpu_bytes = state->bytes;
}

/* Reads energy and transfers up to the tree's end. Another job may already use its GPUs; then the
 * earlier readings count. */
static void gpu_last(struct ft_measure *measure, struct ft_tree *tree, void *data)
{
  struct state *state = data;

  (void)measure;
  if (!state->count)
    return;
  query_uses();
  update_energy(state, tree);
  for (unsigned i = 0; i < state->count; i++)
    if (state->devices[i].exclusive && is_used_alone(tree, state->devices[i].index))
      update_transfers(&state->devices[i]);
}

/* Returns the fraction of DEVICE's energy that counts as the tree's: all of a GPU that only the tree
 * used, under MIG that of its slices, whatever the others do; 0: unknown. */
static double energy_part(const struct device *device)
{
  if (!device->has_energy || device->last_joules < device->first_joules)
    return 0;
  return device->instances ? device->part : device->exclusive;
}

static void gpu_close(struct ft_measure *measure, struct ft_tree *tree, void *data,
                      ft_observation *out)
{
  struct state *state = data;
  bool whole = state->count > 0, has_energy = whole, has_transferred = whole;
  double joules = 0, transferred = 0;

  (void)measure;
  (void)tree;
  for (unsigned i = 0; i < state->count; i++) {
    const struct device *device = &state->devices[i];

    whole = whole && device->exclusive;
    has_energy = has_energy && energy_part(device) > 0;
    has_transferred = has_transferred && device->has_transferred;
    joules += energy_part(device) * (device->last_joules - device->first_joules);
    transferred += device->transferred;
  }
  if (whole && has_transferred) {
    out->has_gpu_transfer_bytes = true;
    out->gpu_transfer_bytes = (uint64_t)transferred;
  }
  if (has_energy) {
    out->has_gpu_energy_joules = true;
    out->gpu_energy_joules = joules;
  }
  if (whole && state->utilisation_count) {
    out->has_gpu_utilisation = true;
    out->gpu_utilisation = state->utilisation / state->utilisation_count;
  }
  if (state->max_bytes >= 0) {
    out->has_gpu_memory_bytes = true;
    out->gpu_memory_bytes = (uint64_t)state->max_bytes;
  }
  ft_string_copy(state->name, out->gpu_name, sizeof out->gpu_name);
  ft_string_copy(state->profile, out->mig_profile, sizeof out->mig_profile);
  if (state->loaded)
    release_gpu();
}

const struct ft_sampler ft_sampler_nvml = { .name = "nvml",
                                            .state_size = sizeof(struct state),
                                            .probe = gpu_probe,
                                            .open = gpu_open,
                                            .sample = gpu_sample,
                                            .last = gpu_last,
                                            .close = gpu_close };
