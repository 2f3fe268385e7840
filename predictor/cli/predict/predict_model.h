/* SPDX-License-Identifier: GPL-3.0-or-later */
/* foretell predict --model: a network's GPU memory from its model file. */
#ifndef FT_CLI_PREDICT_MODEL_H
#define FT_CLI_PREDICT_MODEL_H

#include "predictor/cli/predict/submission.h"
#include "predictor/estimate/gpu/gpu_memory.h"
#include "predictor/estimate/gpu/gpu_time.h"
#include "predictor/estimate/gpu/mig.h"

/* Answers ASKED, which names a model file, in the name of COMMAND. Returns an exit status. */
int ft_predict_model(const struct ft_asked *asked, const char *command);

/* A change of settings with which a network would fit. */
struct ft_instead {
  const char *change;      /* "batch", "checkpoint", "precision", "gpus", "offload", "cpu" */
  char setting[64];        /* as --params takes it: "batch=32,accumulate=2" */
  double bytes;            /* bytes; median of the memory then needed, for "cpu" of the host's memory */
  long long largest_batch; /* of "batch": largest batch that fits in one pass; else 0 */
  double time;             /* time for the same number of samples, as a multiple of the present time; 0: unknown */
};

enum { FT_INSTEADS = 8 };

struct ft_instead_question {
  struct ft_graph *graph;
  struct ft_gpu_part part; /* share of the GPU that the job has */
  struct ft_gpu_run run;   /* the run that does not fit */
  double bytes;            /* bytes of memory available */
  double probability;      /* probability with which a setting must fit */
  /* calibrates MEMORY, simulated for GPU, by the site's measurements; NULL: no calibration */
  void (*refine)(void *context, const struct ft_gpu *gpu, struct ft_gpu_memory *memory);
  void *context;
};

/*
 * Finds settings with which QUESTION's run would fit, cheapest first, and writes them to LIST.
 * Each figure equals the prediction for that setting. Returns their number.
 */
size_t ft_instead_find(const struct ft_instead_question *question,
                       struct ft_instead list[FT_INSTEADS]);

/* Formats the suffix for a batch that is not the largest: "; batch=47 at most". Returns OUT. */
const char *ft_instead_most(const struct ft_instead *one, char out[48]);

/* Formats TIME of struct ft_instead with two significant digits: "0.063", "4.3", "250". Returns
 * OUT. */
const char *ft_instead_times(double time, char out[32]);

#endif
