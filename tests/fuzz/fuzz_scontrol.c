/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Output of scontrol, parsed as a job, a configuration, partitions and nodes; and as that of a
 * command about many jobs. */
#include "config.h"

#include "learner/cluster/job_replies.h"
#include "learner/cluster/node_list.h"
#include "learner/cluster/scontrol.h"
#include "tests/fuzz/limit.h"

const size_t fuzz_limit = FUZZ_MOST;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  static ft_partition partitions[FT_SCONTROL_PARTITIONS];
  const struct ft_scontrol_host host = { "vm", "epyc", NULL };
  struct ft_text text = ft_text_of((const char *)data, size);
  struct ft_slurm_config config = { 0 };
  struct ft_platform_map *map = ft_platform_map_open();
  static const uint32_t ids[] = { 3, 10 };
  ft_slurm_job job, jobs[2];
  struct ft_text rest = text, reply, nodes[2];
  struct ft_reply_mark mark;
  size_t count;

  (void)ft_scontrol_job(text, 3, &job, nodes, NULL);
  ft_reply_mark_set(&mark, 0x2a);
  while (ft_job_reply_next(&rest, &mark, &reply))
    (void)ft_scontrol_job(reply, 3, &job, nodes, NULL);
  ft_sacct_jobs(text, ids, 2, jobs, nodes);
  for (int i = 0; i < 2; i++)
    (void)ft_node_list_has(nodes[i], "n1");
  (void)ft_node_list_has(text, "rack01n007");
  (void)ft_scontrol_config(text, &config, NULL);
  (void)ft_scontrol_partitions(text, text, &config, &host, partitions, FT_SCONTROL_PARTITIONS,
                               &count, NULL);
  if (size >= 64) { /* as if the input were scontrol's configuration */
    partitions[0].restrictions_count = 1;
    partitions[0].restrictions[0] = (ft_restriction){ FT_RESTRICTS_ACCOUNTS, "a,root", true };
    ft_scontrol_add_subaccounts(text, partitions, 1);
  }
  if (map)
    (void)ft_platform_map_set_hosts(map, text, NULL);
  ft_platform_map_close(map);
  return 0;
}
