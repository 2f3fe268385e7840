/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Slurm's option values in sbatch, salloc and srun, read and set by name through functions that
 * libslurmfull exports. Without any of these functions the job is submitted unchanged. */
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
  FT_OPTION_TIME_MIN,
  FT_OPTION_TRES_PER_TASK,
  FT_OPTION_UID,
  FT_OPTION_WRAP,
  FT_OPTIONS
};

/* Access to the options of Slurm's command, and their values. */
struct ft_slurm_options {
  void *opt; /* the command's option object; NULL: not found */
  char *(*get)(void *opt, const char *name);
  bool (*next_set)(void *opt, char **name, char **value, size_t *state);
  void (*xfree)(void **item);
  /* values from command line, script or environment, from Slurm's allocator; NULL: not set */
  char *value[FT_OPTIONS];
};

/* Fills SLURM with Slurm's functions. Returns false if option values cannot be read. */
bool ft_slurm_options_open(struct ft_slurm_options *slurm);

/* Reads all set options in one pass over Slurm's table (a look-up by name searches it each time),
 * and releases earlier values. */
void ft_slurm_options_read(struct ft_slurm_options *slurm);
/* Frees the values of SLURM. */
void ft_slurm_options_release(struct ft_slurm_options *slurm);

/* Copies the value of option NAME, set or default, to OUT, truncated to SIZE bytes. Returns false,
 * with OUT "", if Slurm has no value. */
bool ft_slurm_options_get(const struct ft_slurm_options *slurm, const char *name, char *out,
                          size_t size);

/* Returns the options that request GPUs, borrowed from SLURM. */
struct ft_gpu_request ft_slurm_options_gpus(const struct ft_slurm_options *slurm);

/* Fills OUT from the values read. LOCAL: in srun. */
void ft_slurm_options_request(const struct ft_slurm_options *slurm, bool local, ft_request *out);

/* Requests BYTES of memory per UNIT and resets the memory options of other units, which Slurm does
 * not allow together. Returns 0; -1 if BYTES is 0 or Slurm rejects the value; the user's request is
 * then unchanged. */
int ft_slurm_options_set_memory(const struct ft_slurm_options *slurm, ft_mem_unit unit,
                                uint64_t bytes);

/* Sets the option NAME (gres, gpus or gpus-per-node) to VALUE. Returns 0; -1 for other options, if
 * VALUE has characters that no such value has, or if Slurm rejects it; the user's value is then
 * unchanged. */
int ft_slurm_options_set_gpus(const struct ft_slurm_options *slurm, const char *name,
                              const char *value);

/* Sets --partition to LIST. Returns 0; -1 if Slurm rejects it; the user's value is then
 * unchanged. */
int ft_slurm_options_set_partition(const struct ft_slurm_options *slurm, const char *list);

/* Sets --time to SECONDS. Returns 0; -1 if Slurm rejects it; the user's value is then unchanged. */
int ft_slurm_options_set_time(const struct ft_slurm_options *slurm, double seconds);

/* Returns the seconds of --time-min; 0: not given. */
double ft_slurm_options_time_min(const struct ft_slurm_options *slurm);

/* Restores the user's memory, time limit, GPUs and partition where SLURM has the values that
 * foretell set for the last component: in a heterogeneous job Slurm passes them on to the next
 * component. Called once per component, after ft_slurm_options_read. */
void ft_slurm_options_restore(struct ft_slurm_options *slurm);

/* Facts that only the arguments of the command line show. */
struct ft_command_line_facts {
  const char *image; /* value of --container-image, another plugin's option; borrowed from argv */
  bool chdir;        /* --chdir is given on the command line, not only in a script */
};

/* Returns the index of the first operand of the ARGC arguments ARGV, by Slurm's own option table;
 * -1 if unknown. Fills FACTS. */
int ft_slurm_options_operands(const struct ft_slurm_options *slurm, int argc, char **argv,
                              struct ft_command_line_facts *facts);

#endif
