/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Slurm's own option values, in sbatch, salloc and srun. They are reached by
 * name through functions that libslurmfull exports; where one is missing there is
 * no prediction, never a failure.
 */
#ifndef FT_PLUGIN_SLURM_OPTIONS_H
#define FT_PLUGIN_SLURM_OPTIONS_H

#include <getopt.h>
#include <stdbool.h>
#include <stddef.h>

#include "predictor/decide/gpu_request.h"
#include "predictor/record/record.h"

/* The options that have a say here. */
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
  void *opt; /* the command's option object; NULL: cannot be reached */
  char *(*get)(void *opt, const char *name);
  bool (*next_set)(void *opt, char **name, char **value, size_t *state);
  void (*xfree)(void **item);
  /* what the user, the script or the environment set, in Slurm's memory; NULL: not set */
  char *value[FT_OPTIONS];
};

/* Find Slurm's functions. Returns whether option values can be read. */
bool ft_slurm_options_open(struct ft_slurm_options *bridge);

/*
 * Read what is set now, in one pass over Slurm's table: asking by name is a search of it
 * each time. Released with ft_slurm_options_release, before the next reading too.
 */
void ft_slurm_options_read(struct ft_slurm_options *bridge);
void ft_slurm_options_release(struct ft_slurm_options *bridge);

/* Copy the value of NAME, set or a default, cut to SIZE; false, and "", where it has none. */
bool ft_slurm_options_get(const struct ft_slurm_options *bridge, const char *name, char *out,
                          size_t size);

/* What is asked of GPUs; it points into what was read. */
struct ft_gpu_request ft_slurm_options_gpus(const struct ft_slurm_options *bridge);

/* What is asked of Slurm, from what was read. LOCAL: in srun. */
void ft_slurm_options_request(const struct ft_slurm_options *bridge, bool local, ft_request *out);

/*
 * Make the job ask for BYTES in UNIT. The other units exclude it: their values are reset once Slurm
 * has taken this one. Returns 0; -1 when Slurm refused, the user's own request being as it was.
 */
int ft_slurm_options_set_memory(const struct ft_slurm_options *bridge, ft_mem_unit unit,
                                uint64_t bytes);

/* Make the job ask for VALUE in the option NAME: gres, gpus or gpus-per-node. Returns 0; -1 for any
 * other, a value of other letters than those have, and when Slurm refused, as above. */
int ft_slurm_options_set_gpus(const struct ft_slurm_options *bridge, const char *name,
                              const char *value);

/* Make the job ask for the partitions LIST. Returns 0; -1 when Slurm refused, as above. */
int ft_slurm_options_set_partition(const struct ft_slurm_options *bridge, const char *list);

/*
 * Slurm hands the memory, the GPUs and the partition of one component of a heterogeneous job on to
 * the next that asks for none. Called when a component has been read: where that is what was put
 * there, the user's own request is put back, and read.
 */
void ft_slurm_options_restore(struct ft_slurm_options *bridge);

/* What only the words of a command line tell. */
struct ft_command_line_facts {
  const char *image; /* of --container-image, an option of another plugin; one of the words */
  bool chdir;        /* --chdir is among them, not only in a script */
};

/*
 * The first of ARGC words that Slurm takes for no option, by its own table;
 * -1 where that cannot be told. What is seen on the way is noted in TYPED.
 */
int ft_slurm_options_operands(const struct ft_slurm_options *bridge, int argc, char **argv,
                              struct ft_command_line_facts *typed);

#endif
