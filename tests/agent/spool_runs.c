/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Fills a spool like an agent that no learner has replied to for weeks:
 *
 *   spool_runs STATE FIRST COUNT
 *
 * Adds jobs FIRST to FIRST + COUNT - 1 of 50 apps, a minute apart, to the spool of the state
 * directory STATE. No agent may run there.
 */
#include "config.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "agent/spool.h"
#include "predictor/core/io.h"
#include "predictor/core/text.h"

enum { APPS = 50, EXIT_FILLED = 0, EXIT_FAILED = 1, EXIT_WRONG_USAGE = 2 };

/* Fills O with a run of job JOB, of COUNT runs the one before which AGO others ended. */
static void make_run(uint32_t job, uint32_t ago, ft_observation *o)
{
  double end = ft_io_now() - 60.0 * (double)ago;
  uint32_t size = 1 + job % 16;

  *o = (ft_observation){ .schema = FT_SCHEMA,
                         .job_id = job,
                         .uid = getuid(),
                         .cpus = 4,
                         .node = "node1",
                         .cluster = "foretell",
                         .partition = "main",
                         .submit_time = (double)(int64_t)end - 100,
                         .start_time = end - 90,
                         .end_time = end,
                         .runtime_seconds = 90,
                         .samples = 900,
                         .outcome = FT_OUTCOME_COMPLETED,
                         .rule = FT_RULE_RSS,
                         .has_rss_bytes = true,
                         .rss_bytes = (UINT64_C(100) << 20) + (UINT64_C(60) << 20) * size };
  (void)snprintf(o->submission.app, sizeof o->submission.app, "week%" PRIu32, job % APPS);
  (void)ft_feature_number(o->submission.features, &o->submission.features_count, 24, "size", size);
}

int main(int argc, char **argv)
{
  static ft_observation o;
  uint64_t first = 0, count = 0;
  struct ft_spool *spool = NULL;
  struct ft_error err = { "usage: spool_runs STATE FIRST COUNT" };
  struct ft_text numbers[] = { ft_text_from(argc == 4 ? argv[2] : ""),
                               ft_text_from(argc == 4 ? argv[3] : "") };
  int state_fd;

  if (!ft_text_u64(&numbers[0], UINT32_MAX / 2, &first) ||
      !ft_text_u64(&numbers[1], UINT32_MAX / 2, &count)) {
    fprintf(stderr, "%s\n", err.text);
    return EXIT_WRONG_USAGE;
  }
  state_fd = open(argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (state_fd < 0)
    ft_error_errno(&err, "%s", argv[1]);
  else
    spool = ft_spool_open(state_fd, &err);
  for (uint64_t i = 0; spool && i < count; i++) {
    make_run((uint32_t)(first + i), (uint32_t)(count - i), &o);
    if (ft_spool_put(spool, &o, &err) != 0) {
      ft_spool_close(spool);
      spool = NULL;
    }
  }
  if (!spool) {
    fprintf(stderr, "spool_runs: %s\n", err.text);
    return EXIT_FAILED;
  }
  ft_spool_close(spool);
  return EXIT_FILLED;
}
