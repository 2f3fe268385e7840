/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What foretell predict is asked about: options, script and arguments as sbatch
 * would get them, #SBATCH lines included, without a Slurm at hand.
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

/* Strings are of argv or of the script's text and live as long as those. */
struct ft_asked {
  const char *app, *params, *mode, *user, *state;
  const char *partition, *account, *qos, *constraint, *nodes;
  const char *nodelist, *nodefile, *exclude, *reservation;
  const char *time, *array, *job_name, *directory, *wrap, *container, *exported;
  const char *model, *input, *device, *optimizer, *precision, *mig_file;
  /* of the script alone: --predict-model; --predict-mig, "" for any GPU; NULL: not asked */
  const char *network, *mig;
  struct ft_gpu_request gpus;
  unsigned long tasks, cpus_per_task, cpus_per_gpu, tasks_per_node, threads_per_core;
  uint64_t mem, mem_per_cpu, mem_per_gpu; /* UINT64_MAX: not given */
  const char *choose;                     /* NULL: not asked */
  bool exclusive, srun, perf, explain, json;

  const char *script_name; /* NULL: none, standard input, or --wrap */
  struct ft_buf script;
  const char *const *arguments; /* after the script; with --srun the command too */
  size_t argument_count;
  char *lines; /* the words of the #SBATCH lines, which the strings above may point into */
};

/*
 * Understand ARGV. Returns 0; -1 when the command is over with *STATUS, having
 * said why. ASKED is released with ft_asked_free either way.
 */
int ft_asked_parse(struct ft_asked *asked, int argc, char **argv, int *status);
void ft_asked_free(struct ft_asked *asked);

/* The request of ASKED as the plugin would see it. Returns 0; -1 with ERR. */
int ft_asked_request(const struct ft_asked *asked, ft_request *request, struct ft_error *err);

/*
 * The words of the #SBATCH lines at the head of a script, as sbatch splits them
 * (quotes, backslashes, a comment after a blank and '#'): NUL-separated in
 * WORDS, which is allocated and holds TEXT's length + 1 bytes. Returns how many.
 */
size_t ft_asked_directives(const char *text, char *words);

#endif
