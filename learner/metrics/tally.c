/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "daemon/metric_text.h"
#include "learner/metrics/tally.h"

/* Statuses of HTTP are 100 to 599. */
enum { FIRST_STATUS = 100, STATUSES = 500 };

static double counted[FT_TALLIES];
static uint64_t replies[FT_EXCHANGE_COUNT + 1][STATUSES];

/* Counters of the same name follow one another; the first has the explanation. */
static const struct {
  const char *name, *labels, *help;
} descriptions[FT_TALLIES] = {
  [FT_TALLY_RUNS_ACCEPTED] = { "foretell_observations_received_total", "verdict=\"accepted\"",
                               "Observations that agents delivered, by the learner's verdict; they "
                               "send again what is not accepted." },
  [FT_TALLY_RUNS_REFUSED] = { "foretell_observations_received_total", "verdict=\"refused\"", NULL },
  [FT_TALLY_RUNS_LATER] = { "foretell_observations_received_total", "verdict=\"later\"", NULL },
  [FT_TALLY_RUNS_IGNORED] = { "foretell_observations_ignored_total", NULL,
                              "Accepted observations that were not stored, because they are "
                              "forgotten or their job had completed before." },
  [FT_TALLY_RUNS_DIFFERENT] = { "foretell_observations_different_total", NULL,
                                "Refused observations whose user, node or job differs from Slurm's "
                                "record." },
  [FT_TALLY_RUNS_UNCHECKED] = { "foretell_observations_unchecked_total", NULL,
                                "Observations of jobs of which Slurm had no record to compare." },
  [FT_TALLY_RUNS_FORGOTTEN] = { "foretell_runs_removed_total", "reason=\"forgotten\"",
                                "Runs removed from the store, by requests to forget or by age." },
  [FT_TALLY_RUNS_EXPIRED] = { "foretell_runs_removed_total", "reason=\"expired\"", NULL },
  [FT_TALLY_REFINE_SECONDS] = { "foretell_refine_seconds_total", NULL,
                                "Time spent on refining models by new runs." },
  [FT_TALLY_MODELS_REBUILT] = { "foretell_models_rebuilt_total", NULL,
                                "Models rebuilt from the store." },
  [FT_TALLY_PUBLISHED_FILES] = { "foretell_published_files_total", NULL,
                                 "Files of users' models and run times that were replaced." },
  [FT_TALLY_PUBLISH_SECONDS] = { "foretell_publish_seconds_total", NULL,
                                 "Time spent on replacing them." },
  [FT_TALLY_EQUATIONS_DONE] = { "foretell_searches_total", "kind=\"equation\",result=\"done\"",
                                "Ended searches of equations, and of estimates for other "
                                "platforms." },
  [FT_TALLY_EQUATIONS_FAILED] = { "foretell_searches_total", "kind=\"equation\",result=\"failed\"",
                                  NULL },
  [FT_TALLY_PLATFORMS_DONE] = { "foretell_searches_total", "kind=\"platform\",result=\"done\"",
                                NULL },
  [FT_TALLY_PLATFORMS_FAILED] = { "foretell_searches_total", "kind=\"platform\",result=\"failed\"",
                                  NULL },
  [FT_TALLY_JOB_QUERIES] = { "foretell_slurm_queries_total", "kind=\"job\"",
                             "Ended queries of Slurm: for a job's record, and polls of the "
                             "cluster." },
  [FT_TALLY_POLLS] = { "foretell_slurm_queries_total", "kind=\"cluster\"", NULL },
  [FT_TALLY_JOB_QUERIES_FAILED] = { "foretell_slurm_query_failures_total", "kind=\"job\"",
                                    "Queries of Slurm that failed." },
  [FT_TALLY_POLLS_FAILED] = { "foretell_slurm_query_failures_total", "kind=\"cluster\"", NULL },
  [FT_TALLY_POLL_TIME] = { "foretell_cluster_poll_timestamp_seconds", NULL,
                           "Time of the latest complete poll of the cluster; 0: none since the "
                           "start." },
};

void ft_tally_add(enum ft_tally tally, double value)
{
  counted[tally] += value;
}

void ft_tally_set(enum ft_tally tally, double value)
{
  counted[tally] = value;
}

double ft_tally_value(enum ft_tally tally)
{
  return counted[tally];
}

void ft_tally_add_reply(enum ft_exchange exchange, unsigned status)
{
  if (status >= FIRST_STATUS && status < FIRST_STATUS + STATUSES)
    replies[exchange][status - FIRST_STATUS]++;
}

static void write_replies(struct ft_buf *out)
{
  static const char name[] = "foretell_requests_total";
  char labels[64];

  ft_metric_begin(out, name, "Requests of agents, by path and HTTP status.");
  for (int e = 0; e <= FT_EXCHANGE_COUNT; e++)
    for (unsigned s = 0; s < STATUSES; s++)
      if (replies[e][s]) {
        (void)snprintf(labels, sizeof labels, "path=\"%s\",status=\"%u\"",
                       e < FT_EXCHANGE_COUNT ? ft_exchange_paths[e] : "other", FIRST_STATUS + s);
        ft_metric_value(out, name, labels, (double)replies[e][s]);
      }
}

void ft_tally_write(struct ft_buf *out)
{
  for (int i = 0; i < FT_TALLIES; i++)
    if (descriptions[i].labels) {
      if (descriptions[i].help)
        ft_metric_begin(out, descriptions[i].name, descriptions[i].help);
      ft_metric_value(out, descriptions[i].name, descriptions[i].labels, counted[i]);
    } else {
      ft_metric_add(out, descriptions[i].name, descriptions[i].help, counted[i]);
    }
  write_replies(out);
}
