/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parser of scontrol's output. No I/O. */
#ifndef FT_LEARNER_CLUSTER_SCONTROL_H
#define FT_LEARNER_CLUSTER_SCONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "learner/cluster/platform_map.h"
#include "learner/cluster/slurm_job.h"
#include "predictor/core/error.h"
#include "predictor/core/text.h"
#include "predictor/record/record.h"

/* The prompt of scontrol while it reads commands, also if its standard input is no terminal.
 * readline prints each command after it. */
#define FT_SCONTROL_PROMPT "scontrol: "

/* Parses a UTC time such as "2026-11-20T21:30:00". Returns false for another form. */
bool ft_scontrol_utc_time(struct ft_text text, double *seconds);

/* Parses the reply to "show job ID" of "scontrol -o", printed with TZ=UTC: the record of JOB_ID.
 * NODES gets its list of nodes, a part of TEXT: "(null)" if the job has none, or if the record
 * names two users; empty if it has no list. Returns 0; -1 and ERR if TEXT has no such record. */
int ft_scontrol_job(struct ft_text text, uint32_t job_id, ft_slurm_job *out, struct ft_text *nodes,
                    struct ft_error *err);

/* "scontrol show config". */
struct ft_slurm_config {
  char cluster[64], version[24];
  bool has_slurmdbd; /* jobs that slurmctld has forgotten are in slurmdbd's database */
  bool memory_is_consumable;
  ft_cpu_unit cpu_unit; /* for partitions without a value of their own */
  bool one_task_per_core;
  ft_rule rule;
  uint32_t slurmd_uid;    /* SlurmdUser */
  uint32_t slurm_uid;     /* SlurmUser; 0 (root) if unknown */
  uint64_t def_mem_bytes; /* for partitions without a value of their own; 0: unlimited */
  bool def_per_cpu;
  uint64_t max_mem_bytes; /* likewise */
  bool max_per_cpu;
  uint64_t def_mem_per_gpu_bytes; /* likewise; 0: none */
  uint32_t def_cpus_per_gpu;      /* likewise; 0: none */
  bool accounts_are_trees;        /* a partition's list of accounts includes their sub-accounts */
  bool accounts_are_ignored;      /* partitions' lists of accounts have no effect */
};

/* Parses the configuration. Returns 0; -1 and ERR if TEXT has no ClusterName. */
int ft_scontrol_config(struct ft_text text, struct ft_slurm_config *out, struct ft_error *err);

/* Maximum number of partitions; larger than on any known cluster. */
enum { FT_SCONTROL_PARTITIONS = 256 };

/* This host, and the map from which the platforms of nodes follow. */
struct ft_scontrol_host {
  const char *name;            /* this host's name */
  const char *platform;        /* its platform by foretell.conf; "": none */
  struct ft_platform_map *map; /* NULL: the platforms of other nodes are unknown */
};

/*
 * Parses "scontrol show partition -o" and "scontrol show node -o" into at most LIMIT partitions in
 * OUT; sets COUNT. A partition without DefMem or MaxMem gets CONFIG's. If accounts are trees, a
 * list of accounts is open-ended until ft_scontrol_add_subaccounts. Of more than 8 node types of a
 * partition, the 7 with the least memory and the one with the most remain. A node without a
 * declared platform gets the observed platform of the nodes with the same hardware, if there is
 * exactly one. Returns 0; -1 and ERR if there is no partition or more than LIMIT.
 */
int ft_scontrol_partitions(struct ft_text partitions, struct ft_text nodes,
                           const struct ft_slurm_config *config,
                           const struct ft_scontrol_host *host, ft_partition *out, size_t limit,
                           size_t *count, struct ft_error *err);

/*
 * Parses SelectTypeParameters: the unit that is allocated to one job only. Returns false, and
 * leaves OUT unchanged, if VALUE names neither cores nor sockets.
 */
bool ft_scontrol_cpu_unit(struct ft_text value, ft_cpu_unit *out);

/* Parses JobDefaults, such as "DefCpuPerGPU=2,DefMemPerGPU=700"; absent values stay unchanged. */
void ft_scontrol_per_gpu(struct ft_text value, uint64_t *mem_bytes, uint32_t *cpus);

/*
 * Adds the sub-accounts of the accounts that PARTITIONS name, from TEXT, the output of "scontrol
 * show assoc_mgr -o flags=assoc". A list stays open-ended if TEXT does not show all accounts or the
 * list is full.
 */
void ft_scontrol_add_subaccounts(struct ft_text text, ft_partition *partitions, size_t count);

/* Assigns the platforms of all nodes in "scontrol show node -o" in HOST's map, instead of those
 * assigned before. */
void ft_scontrol_assign_platforms(struct ft_text nodes, const struct ft_scontrol_host *host);

#endif
