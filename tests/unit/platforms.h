/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A site of several platforms and an app with runs on two of them: 100 s plus 10 s per unit of --n
 * on "old". "new" is twice as fast, "near" faster by 2 %, "odd" has no runs.
 */
#ifndef FT_TESTS_PLATFORMS_H
#define FT_TESTS_PLATFORMS_H

#include "predictor/record/record.h"

static inline ft_performance some_performance(const char *app)
{
  ft_performance p = { .schema = FT_SCHEMA,
                       .runs = 40,
                       .platforms_count = 4,
                       .platforms = { { .platform = "old", .runs = 30 },
                                      { .platform = "new",
                                        .runs = 10,
                                        .has_log_ratio = true,
                                        .log_ratio = -M_LN2,
                                        .deviation = 0.1 },
                                      { .platform = "near",
                                        .has_log_ratio = true,
                                        .log_ratio = -0.02,
                                        .deviation = 0.1 },
                                      { .platform = "odd" } },
                       .columns_count = 1,
                       .columns = { { .name = "n" } },
                       .has_runtime_model = true,
                       .runtime_model = {
                           .method = "regression",
                           .intercept = 100e6,
                           .terms_count = 1,
                           .terms = { { .coefficient = 1e6, .scale = 10, .high = 1000 } },
                           .residuals_count = 40 } };

  (void)snprintf(p.app, sizeof p.app, "%s", app);
  for (int i = 0; i < 40; i++)
    p.runtime_model.residuals[i] = 0.002 * (i - 20);
  return p;
}

static inline ft_platforms some_platforms(void)
{
  return (ft_platforms){ .schema = FT_SCHEMA,
                         .currency = "EUR",
                         .platforms_count = 4,
                         .platforms = { { "old", 0.036, FT_PRICE_CPU, 0 },
                                        { "new", 0.36, FT_PRICE_NODE, 0 },
                                        { "near", 0.036, FT_PRICE_CPU, 0 },
                                        { "gpus", 3.6, FT_PRICE_GPU, 0 } } };
}

/* Returns a partition of nodes with 8 CPUs and MIB of memory, on PLATFORM. */
static inline ft_partition some_partition(const char *name, const char *platform, uint64_t mib)
{
  ft_partition p = { .schema = FT_SCHEMA,
                     .nodes_count = 1,
                     .nodes = { { .count = 2,
                                  .cpus = 8,
                                  .mem_bytes = mib << 20,
                                  .has_idle_nodes = true,
                                  .has_idle_cpus = true,
                                  .idle_nodes = 1,
                                  .idle_cpus = 10 } },
                     .has_idle_nodes = true,
                     .has_idle_cpus = true,
                     .idle_nodes = 1,
                     .idle_cpus = 10,
                     .updated = 1e9,
                     .max_seconds = 3600 };

  (void)snprintf(p.name, sizeof p.name, "%s", name);
  (void)snprintf(p.nodes[0].platform, sizeof p.nodes[0].platform, "%s", platform);
  return p;
}

#endif
