/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Slurm's option values in sbatch, salloc and srun, read and set by name through functions that
 * libslurmfull exports. If one is missing there is no prediction, and the job is submitted
 * unchanged.
 */
#ifndef FT_PLUGIN_SLURM_OPTIONS_H
#define FT_PLUGIN_SLURM_OPTIONS_H

#include <getopt.h>
#include <stdbool.h>
#include <stddef.h>

#include "predictor/decide/gpu_request.h"
#include "predictor/record/record.h"

/* The options that the plugin reads. */
enum ft_option {
  FT_OPTION_ACCOUNT,
  FT_OPTION_ARRAY,
  FT_OPTION_CHDIR,
  FT_OPTION_CLUSTERS,
  FT_OPTION_CONSTRAINT,
  FT_OPTION_CONTAINER,
  FT_OPTION_CPUS_PER_GPU,
  FT_OPTION_CPUS_PER_TASK,
  FT_OPTION_DEBUGGER_TEST,
  FT_OPTION_EXCLUDE,
  FT_OPTION_EXCLUSIVE,
  FT_OPTION_EXPORT,
  FT_OPTION_EXTERNAL,
  FT_OPTION_GPUS,
  FT_OPTION_GPUS_PER_NODE,
  FT_OPTION_GPUS_PER_SOCKET,
  FT_OPTION_GPUS_PER_TASK,
  FT_OPTION_GRES,
  FT_OPTION_HINT,
  FT_OPTION_JOBID,
  FT_OPTION_MEM,
  FT_OPTION_MEM_PER_CPU,
  FT_OPTION_MEM_PER_GPU,
  FT_OPTION_NODEFILE,
  FT_OPTION_NODELIST,
  FT_OPTION_NODES,
  FT_OPTION_NTASKS,
  FT_OPTION_NTASKS_PER_NODE,
  FT_OPTION_PARTITION,
  FT_OPTION_QOS,
  FT_OPTION_QUIET,
  FT_OPTION_RESERVATION,
  FT_OPTION_THREADS_PER_CORE,
  FT_OPTION_TIME,
  FT_OPTION_TRES_PER_TASK,
  FT_OPTION_UID,
  FT_OPTION_WRAP,
  FT_OPTIONS
};

struct ft_slurm_options {
  void *opt; /* the command's option object; NULL: not found */
  char *(*get)(void *opt, const char *name);
  bool (*next_set)(void *opt, char **name, char **value, size_t *state);
  void (*xfree)(void **item);
  /* values from command line, script or environment, owned by Slurm's allocator; NULL: not set */
  char *value[FT_OPTIONS];
};

/* Finds Slurm's functions. Returns whether option values can be read. */
bool ft_slurm_options_open(struct ft_slurm_options *bridge);

/* Reads all set options in one pass over Slurm's table (a look-up by name searches it each time),
 * and releases earlier values. */
void ft_slurm_options_read(struct ft_slurm_options *bridge);
void ft_slurm_options_release(struct ft_slurm_options *bridge);

/* Copies the value of NAME, set or default, cut to SIZE bytes. Returns false, with OUT "", without
 * one. */
bool ft_slurm_options_get(const struct ft_slurm_options *bridge, const char *name, char *out,
                          size_t size);

/* The options that request GPUs; borrowed from BRIDGE. */
struct ft_gpu_request ft_slurm_options_gpus(const struct ft_slurm_options *bridge);

/* Fills OUT from the values read. LOCAL: in srun. */
void ft_slurm_options_request(const struct ft_slurm_options *bridge, bool local, ft_request *out);

/*
 * Requests BYTES in UNIT, and resets the options of the other units, which exclude it. Returns 0;
 * -1 if Slurm rejects the value, with the user's request unchanged.
 */
int ft_slurm_options_set_memory(const struct ft_slurm_options *bridge, ft_mem_unit unit,
                                uint64_t bytes);

/* Sets the option NAME (gres, gpus or gpus-per-node) to VALUE. Returns 0; -1 for other options, for
 * characters that such values do not have, and if Slurm rejects the value, as above. */
int ft_slurm_options_set_gpus(const struct ft_slurm_options *bridge, const char *name,
                              const char *value);

/* Sets --partition to LIST. Returns 0; -1 if Slurm rejects it, as above. */
int ft_slurm_options_set_partition(const struct ft_slurm_options *bridge, const char *list);

/*
 * Slurm passes memory, GPUs and partition of a component of a heterogeneous job on to the next one
 * without such options. Called after reading a component: restores and reads the user's request if
 * the values are those that foretell set for the last component.
 */
void ft_slurm_options_restore(struct ft_slurm_options *bridge);

/* Facts that only the arguments of the command line show. */
struct ft_command_line_facts {
  const char *image; /* value of --container-image, another plugin's option; borrowed from argv */
  bool chdir;        /* --chdir is given on the command line, not only in a script */
};

/* The index of the first of the ARGC arguments ARGV that is no option, by Slurm's own table; -1:
 * not known. Fills TYPED. */
int ft_slurm_options_operands(const struct ft_slurm_options *bridge, int argc, char **argv,
                              struct ft_command_line_facts *typed);

#endif
