/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The runs that tests/bench/collect and tests/bench/storm send to a learner. */
#ifndef FT_BENCH_COLLECTED_RUN_H
#define FT_BENCH_COLLECTED_RUN_H

#include <stdio.h>

#include "predictor/core/random.h"
#include "predictor/core/text.h"
#include "predictor/record/record.h"

enum { COLLECTED_USERS = 100 };

/* Fills O with the run JOB, on NODE, of one of APPS apps: memory grows with a feature and varies by
 * 5 %. */
static inline void make_collected_run(uint32_t job, uint32_t apps, const char *node,
                                      struct ft_random *random, ft_observation *o)
{
  uint32_t app = job % apps;
  double size = 1 + 15 * ft_random_double(random);

  *o = (ft_observation){ .schema = FT_SCHEMA,
                         .job_id = job,
                         .uid = 1000 + app % COLLECTED_USERS,
                         .user = "user",
                         .cpus = 4,
                         .platform = "collect",
                         .cluster = "collect",
                         .partition = "main",
                         .submit_time = 1.7e9 + job,
                         .start_time = 1.7e9 + job + 10,
                         .end_time = 1.7e9 + job + 100,
                         .runtime_seconds = 90,
                         .samples = 900,
                         .outcome = FT_OUTCOME_COMPLETED,
                         .rule = FT_RULE_RSS,
                         .has_rss_bytes = true,
                         .has_limit_bytes = true,
                         .limit_bytes = 4ull << 30 };
  (void)ft_string_copy(node, o->node, sizeof o->node);
  o->rss_bytes = (uint64_t)((100 + 60 * size) * 0x1p20 * (1 + 0.05 * ft_random_normal(random)));
  (void)snprintf(o->submission.app, sizeof o->submission.app, "app%u", app);
  (void)ft_feature_number(o->submission.features, &o->submission.features_count, 2, "size", size);
  (void)ft_feature_category(o->submission.features, &o->submission.features_count, 2, "mode",
                            "fast");
}

#endif
