/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Prints the placement table, and sets the partition that --predict-partition chooses. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "plugin/messages.h"
#include "plugin/placement.h"
#include "predictor/core/io.h"
#include "predictor/core/text.h"
#include "predictor/decide/placement.h"

/* Allocated only for --predict-perf and --predict-partition: 600 KiB. */
struct placement_work {
  struct ft_placement_evidence evidence;
  struct ft_placement placement;
  struct ft_placement_choice choice;
};

static void print_placement_line(const char *line, void *data)
{
  (void)data;
  ft_print_line(line);
}

/* Chooses the partition, sets it in Slurm and in SUBMISSION, and prints why. Returns 0; -1 if Slurm
 * rejects it. */
static int set_chosen_partition(const struct ft_slurm_options *slurm,
                                const struct ft_options *options,
                                const struct ft_placement_query *q, struct placement_work *work,
                                ft_submission *submission, struct ft_error *err)
{
  const char *list;
  enum ft_placement_goal goal = ft_placement_goal_of(options->partition, &list);

  ft_placement_choose(q, &work->placement, goal, list, options->partition_typed, &work->choice);
  if (work->choice.partitions[0] &&
      ft_slurm_options_set_partition(slurm, work->choice.partitions) < 0)
    return ft_error_set(err, "Slurm rejected --partition=%.200s", work->choice.partitions);
  if (work->choice.partitions[0])
    (void)ft_string_copy(work->choice.partitions, submission->request.partition,
                         sizeof submission->request.partition);
  ft_print_line(work->choice.line);
  return 0;
}

/* Returns the partitions to evaluate: the list of --predict-partition, else that of --partition if
 * it has several. Otherwise NULL (all partitions) for --predict-perf, and the one of --partition
 * for a choice. */
static const char *listed_partitions(const struct ft_options *options,
                                     const ft_submission *submission)
{
  const char *list = NULL;

  if (options->partition)
    (void)ft_placement_goal_of(options->partition, &list);
  if (!list && strchr(submission->request.partition, ','))
    list = submission->request.partition;
  return list || options->perf ? list : submission->request.partition;
}

int ft_placement_set_partition(const struct ft_slurm_options *slurm,
                               const struct ft_options *options, int state_fd, const ft_site *site,
                               uint32_t uid, const struct ft_estimate *memory,
                               const struct ft_time_lookup *time, const ft_network *network,
                               ft_submission *submission, struct ft_error *err)
{
  struct placement_work *work = malloc(sizeof *work);
  struct ft_placement_query q = { .submission = submission,
                                  .requested = { .gpus = ft_slurm_options_gpus(slurm),
                                                 .nodelist = slurm->value[FT_OPTION_NODELIST],
                                                 .nodefile = slurm->value[FT_OPTION_NODEFILE],
                                                 .reservation = slurm->value[FT_OPTION_RESERVATION],
                                                 .exclude = slurm->value[FT_OPTION_EXCLUDE] },
                                  .memory = memory,
                                  .now = ft_io_now() };
  int status = -1;

  if (!work)
    return ft_error_set(err, "out of memory");
  q.evidence = &work->evidence;
  ft_placement_apply(network, &q.requested);
  if (ft_placement_read(state_fd, site, uid, submission, listed_partitions(options, submission),
                        time, &work->evidence, err) < 0)
    goto out;
  ft_placement_evaluate(&q, &work->placement);
  if (options->perf)
    ft_placement_table(&q, &work->placement, print_placement_line, NULL);
  status = options->partition ? set_chosen_partition(slurm, options, &q, work, submission, err) : 0;
out:
  free(work);
  return status;
}
