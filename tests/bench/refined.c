/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Simulates a site with a new GPU, for tests/bench/refine and dippm: runs of networks arrive one by
 * one, and each is estimated from the earlier runs (estimate/gpu/gpu_calibration.c).
 *
 *   refined <LINES
 *
 * A line of standard input is "APP NETWORK MEASURED": NETWORK is the estimate without context,
 * MEASURED the memory of the run, both in MiB. Prints "P05 P50 P95" in MiB for each line.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/core/text.h"
#include "predictor/estimate/gpu/gpu_calibration.h"
#include "predictor/online/gpu_observations.h"

#define MIB 1048576.0

enum { APPS = 1024 };

static struct site {
  ft_gpus gpus;
  char names[APPS][64];
  ft_model app[APPS]; /* gpu_runs */
  size_t apps;
} site;

/* Returns the runs of APP, none for a new name. */
static ft_model *find_app_runs(const char *app)
{
  for (size_t i = 0; i < site.apps; i++)
    if (strcmp(site.names[i], app) == 0)
      return &site.app[i];
  if (site.apps == APPS) {
    fprintf(stderr, "refined: more than %d apps\n", APPS);
    exit(2);
  }
  (void)ft_string_copy(app, site.names[site.apps], sizeof site.names[0]);
  return &site.app[site.apps++];
}

/* Prints the estimate of a run, then adds the run to the site. NETWORK and MEASURED are in bytes.
 */
static void estimate_and_learn(const ft_model *app_runs, double network, double measured,
                               uint32_t job)
{
  const struct ft_gpu *gpu = ft_gpu_find("h100-80gb");
  const ft_gpu_kind *kind = &site.gpus.kinds[0];
  struct ft_gpu_memory memory = { .context_bytes = (int64_t)(gpu->context_mib * MIB),
                                  .network_bytes = network };
  ft_observation o = { .job_id = job,
                       .outcome = FT_OUTCOME_COMPLETED,
                       .gpu_name = "NVIDIA H100 80GB HBM3",
                       .has_gpu_memory_bytes = true,
                       .gpu_memory_bytes = (uint64_t)measured };
  uint32_t hash = ft_gpu_observations_hash(o.gpu_name);
  struct ft_gpu_device device;

  memory.bytes = (double)memory.context_bytes + network;
  memory.min_device_bytes = memory.min_feasible_bytes = memory.bytes;
  ft_gpu_device_fit(kind->runs, kind->runs_count, (double)memory.context_bytes, network, &device);
  ft_gpu_calibrate(&memory, gpu, &device, app_runs, &hash, 1);
  printf("%.1f %.1f %.1f\n", ft_estimate_quantile(&memory.estimate, 0.05) / MIB,
         ft_estimate_quantile(&memory.estimate, 0.5) / MIB,
         ft_estimate_quantile(&memory.estimate, 0.95) / MIB);
  (void)ft_feature_number(o.submission.features, &o.submission.features_count, 1,
                          FT_FEATURE_NETWORK, network);
  (void)ft_gpu_observations_learn(&site.gpus, &o);
}

int main(void)
{
  struct ft_text app, network, measured;
  char line[256], name[64];
  double network_mib, measured_mib;

  for (uint32_t job = 1; fgets(line, sizeof line, stdin); job++) {
    struct ft_text text = ft_text_from(line);
    ft_model *runs;

    if (!ft_text_word(&text, &app) || !ft_text_word(&text, &network) ||
        !ft_text_word(&text, &measured) || !ft_text_copy(app, name, sizeof name) ||
        !ft_text_is_double(network, &network_mib) || !ft_text_is_double(measured, &measured_mib)) {
      fprintf(stderr, "refined: line %u: expected APP NETWORK MEASURED\n", job);
      return 2;
    }
    runs = find_app_runs(name);
    estimate_and_learn(runs, network_mib * MIB, measured_mib * MIB, job);
    if (runs->gpu_runs_count < sizeof runs->gpu_runs / sizeof *runs->gpu_runs)
      runs->gpu_runs[runs->gpu_runs_count++] =
          (ft_gpu_run){ .gpu_bytes = (float)(measured_mib * MIB),
                        .network_bytes = (float)(network_mib * MIB),
                        .gpu = ft_gpu_observations_hash(site.gpus.kinds[0].name) };
  }
  return 0;
}
