/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What scontrol prints, read. Pure: text in, records out. */
#ifndef FT_AGENT_SCONTROL_H
#define FT_AGENT_SCONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/platform_map.h"
#include "predictor/core/error.h"
#include "predictor/core/text.h"
#include "predictor/record/record.h"

/* "scontrol show job -o ID", printed with TZ=UTC. */
struct ft_slurm_job {
  uint32_t restart_count;
  uint32_t uid;
  char user[64], account[64], partition[64], name[128];
  bool running;
  bool over;                 /* the state is a last one, and the record is complete */
  ft_outcome outcome;        /* of a job that is over */
  double submit_time;        /* 0: not known */
  double end_time;           /* of a job that is over; 0: not known */
  double time_limit_seconds; /* 0: unlimited or not known */
  double suspended_seconds;  /* of a job that is over: from its start to its end, not run; whole */
};

/* Returns 0; -1 with ERR when TEXT holds no such job. */
int ft_scontrol_job(struct ft_text text, uint32_t job_id, struct ft_slurm_job *out,
                    struct ft_error *err);

/* "scontrol show config". */
struct ft_slurm_config {
  char cluster[64], version[24];
  bool memory_is_consumable;
  ft_cpu_unit cpu_unit; /* for partitions that say nothing */
  bool one_task_per_core;
  ft_rule rule;
  uint32_t slurmd_uid;    /* SlurmdUser */
  uint32_t slurm_uid;     /* SlurmUser; root's where it is not known */
  uint64_t def_mem_bytes; /* for partitions that say nothing; 0: unlimited */
  bool def_per_cpu;
  uint64_t max_mem_bytes;
  bool max_per_cpu;
  uint64_t def_mem_per_gpu_bytes; /* likewise; 0: none */
  uint32_t def_cpus_per_gpu;      /* likewise */
  bool accounts_are_trees;        /* a partition for an account is for those below it, too */
  bool accounts_are_ignored;      /* where a partition lists some */
};

/* Returns 0; -1 with ERR when TEXT has no ClusterName. */
int ft_scontrol_config(struct ft_text text, struct ft_slurm_config *out, struct ft_error *err);

/* As many partitions are known; no cluster is known to have more. */
enum { FT_SCONTROL_PARTITIONS = 256 };

/* What tells a node's platform. */
struct ft_scontrol_host {
  const char *name;            /* this host's */
  const char *platform;        /* what it calls its own kind; "": nothing */
  struct ft_platform_map *map; /* NULL: no other node's is known */
};

/* A node of Slurm's that is on this host. */
struct ft_scontrol_local_node {
  char node[64];
  char platform[64]; /* that a section of foretell.conf gives it; "": none does */
};

/*
 * Read "scontrol show partition -o" and "scontrol show node -o" into OUT, which has room for
 * LIMIT partitions, and their number into COUNT. A partition without its own DefMem or MaxMem
 * gets CONFIG's. Where accounts are trees a list of them is open until ft_scontrol_add_subaccounts.
 * Of more than 8 kinds of nodes in one, the 7 least in memory and the greatest are kept. Nodes
 * whose platform no section declares are of that of the others of the same hardware in the
 * partition, where those are of one. Returns 0; -1 with ERR when there is no partition, or too
 * many.
 */
int ft_scontrol_partitions(struct ft_text partitions, struct ft_text nodes,
                           const struct ft_slurm_config *config,
                           const struct ft_scontrol_host *host, ft_partition *out, size_t limit,
                           size_t *count, struct ft_error *err);

/*
 * What a value of SelectTypeParameters gives to one job as a whole; false, and OUT as it is, where
 * that says nothing of cores or sockets.
 */
bool ft_scontrol_cpu_unit(struct ft_text value, ft_cpu_unit *out);

/*
 * What of "scontrol show partition -o" and "show config" comes after JobDefaults, as in
 * "DefCpuPerGPU=2,DefMemPerGPU=700"; what is not there is left as it is.
 */
void ft_scontrol_per_gpu(struct ft_text value, uint64_t *mem_bytes, uint32_t *cpus);

/*
 * Put the accounts below those that PARTITIONS name beside them, from "scontrol show assoc_mgr -o
 * flags=assoc". Where TEXT does not show all accounts, or they find no room, a list stays open.
 */
void ft_scontrol_add_subaccounts(struct ft_text text, ft_partition *partitions, size_t count);

/* The nodes of HOST in "scontrol show node -o": at most LIMIT, into OUT. Returns how many. */
size_t ft_scontrol_local_nodes(struct ft_text nodes, const struct ft_scontrol_host *host,
                               struct ft_scontrol_local_node *out, size_t limit);

#endif
