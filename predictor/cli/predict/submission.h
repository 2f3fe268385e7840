/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Input of foretell predict: options, script and arguments as sbatch would get them, #SBATCH lines
 * included. Does not need Slurm.
 */
#ifndef FT_CLI_SUBMISSION_H
#define FT_CLI_SUBMISSION_H

#include <stdbool.h>
#include <stdint.h>

#include "predictor/cli/cli.h"
#include "predictor/core/buf.h"
#include "predictor/core/error.h"
#include "predictor/decide/gpu_request.h"
#include "predictor/record/record.h"

/* Strings point into argv or the script's text and live as long as these. */
struct ft_asked {
  const char *app, *params, *mode, *user, *state;
  const char *time_mode; /* of --predict-time; "": without a mode; NULL: not given */
  const char *partition, *account, *qos, *constraint, *nodes;
  const char *nodelist, *nodefile, *exclude, *reservation;
  const char *time, *time_min, *array, *job_name, *directory, *wrap, *container, *exported;
  const char *model, *input, *device, *optimizer, *precision, *mig_file;
  /* from the script only: --predict-model; --predict-mig, "" for any GPU; NULL: not given */
  const char *network, *mig;
  struct ft_gpu_request gpus;
  unsigned long tasks, cpus_per_task, cpus_per_gpu, tasks_per_node, threads_per_core;
  uint64_t mem, mem_per_cpu, mem_per_gpu; /* UINT64_MAX: not given */
  const char *choose;                     /* NULL: not given */
  bool exclusive, srun, perf, explain, json;

  const char *script_name; /* NULL: none, standard input, or --wrap */
  struct ft_buf script;
  const char *const *arguments; /* after the script; with --srun the command too */
  size_t argument_count;
  char *lines; /* words of the #SBATCH lines; strings above may point into it */
};

/*
 * Parses ARGV. Returns 0; -1 after a message when the command has ended, with its exit status in
 * *STATUS. The caller calls ft_asked_free in either case.
 */
int ft_asked_parse(struct ft_asked *asked, int argc, char **argv, int *status);
void ft_asked_free(struct ft_asked *asked);

/* Builds the request of ASKED as the plugin would see it. Returns 0; -1 and fills ERR. */
int ft_asked_request(const struct ft_asked *asked, ft_request *request, struct ft_error *err);

/* Returns whether ASKED requests no time limit, as Slurm writes that. */
bool ft_asked_is_unlimited(const struct ft_asked *asked);

#endif
