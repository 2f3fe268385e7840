/* SPDX-License-Identifier: GPL-3.0-or-later */
/* foretell predict --model: a network's GPU memory from its model file. */
#ifndef FT_CLI_PREDICT_MODEL_H
#define FT_CLI_PREDICT_MODEL_H

#include "predictor/cli/submission.h"
#include "predictor/estimate/gpu_memory.h"
#include "predictor/estimate/mig.h"

/* Answer ASKED, whose model is given, in the name of COMMAND. Returns an exit status. */
int ft_predict_model(const struct ft_asked *asked, const char *command);

/* What could be done where a network does not fit. */
struct ft_instead {
  const char *change; /* "batch", "checkpoint", "precision", "gpus", "offload", "cpu" */
  char setting[64];   /* "batch=32" */
  double gpu_bytes;   /* the middle of what it then needs */
  double time;        /* of a step, as a multiple of now; 0: not known */
};

enum { FT_INSTEADS = 8 };

/*
 * Ways to run GRAPH so that the limit of BYTES holds it with PROBABILITY, cheapest first, into
 * LIST. Returns how many there are.
 */
size_t ft_instead_find(struct ft_graph *graph, const struct ft_gpu *gpu,
                       const struct ft_gpu_run *run, double bytes, double probability,
                       struct ft_instead list[FT_INSTEADS]);

#endif
