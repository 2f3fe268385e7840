/* SPDX-License-Identifier: GPL-3.0-or-later */
/* foretell predict --model: a network's GPU memory from its model file. */
#ifndef FT_CLI_PREDICT_MODEL_H
#define FT_CLI_PREDICT_MODEL_H

#include "predictor/cli/predict/submission.h"
#include "predictor/estimate/gpu/gpu_memory.h"
#include "predictor/estimate/gpu/gpu_time.h"
#include "predictor/estimate/gpu/mig.h"

/* Answer ASKED, whose model is given, in the name of COMMAND. Returns an exit status. */
int ft_predict_model(const struct ft_asked *asked, const char *command);

/* What could be done where a network does not fit. */
struct ft_instead {
  const char *change;      /* "batch", "checkpoint", "precision", "gpus", "offload", "cpu" */
  char setting[64];        /* as --params takes it: "batch=32,accumulate=2" */
  double bytes;            /* the middle of what it then needs; of "cpu" of the host's memory */
  long long largest_batch; /* of "batch": with which one pass fits; else 0 */
  double time;             /* as many samples as before take, as a multiple of now; 0: not known */
};

enum { FT_INSTEADS = 8 };

struct ft_instead_question {
  struct ft_graph *graph;
  struct ft_gpu_part part; /* what the job has */
  struct ft_gpu_run run;   /* what does not fit */
  double bytes;            /* of memory there */
  double probability;      /* with which it shall do */
  /* what is measured here makes MEMORY better, played for GPU; NULL: nothing is */
  void (*refine)(void *context, const struct ft_gpu *gpu, struct ft_gpu_memory *memory);
  void *context;
};

/*
 * Ways to run what QUESTION asks about so that it fits, cheapest first, into LIST; each
 * figure is what asking for that setting would tell. Returns how many there are.
 */
size_t ft_instead_find(const struct ft_instead_question *question,
                       struct ft_instead list[FT_INSTEADS]);

/* What stands behind the figures of a batch that is not the largest: "; batch=47 at most". */
const char *ft_instead_most(const struct ft_instead *one, char out[48]);

/* TIME, of struct ft_instead, with two digits that count: "0.063", "4.3", "250". Returns OUT. */
const char *ft_instead_times(double time, char out[32]);

#endif
