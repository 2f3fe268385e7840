/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The quantities that foretell learns of each run, one row each. What an app's runs had of one
 * quantity is a series (learn/series/series.h). */
#ifndef FT_ESTIMATE_QUANTITY_H
#define FT_ESTIMATE_QUANTITY_H

#include <stdbool.h>

#include "predictor/record/record.h"

/* Stored runs use these indices (ft_timed_run.values): append only. */
enum {
  FT_QUANTITY_MEMORY,     /* on one node */
  FT_QUANTITY_GPU_MEMORY, /* of one GPU */
  FT_QUANTITY_RUNTIME,
  FT_QUANTITY_ENERGY, /* of the job's GPUs, and its part of the processors' */
  FT_QUANTITIES
};

struct ft_quantity {
  const char *name; /* as in JSON: it ends in the unit */
  /* Returns whether OBSERVATION may tell of the quantity. Memory counts by the accounting RULE. */
  bool (*accepts)(const ft_observation *observation, ft_rule rule);
  /* Returns OBSERVATION's number, 0 if it was not measured. Sets *BOUND to whether the run stopped
   * early, so that its number is a lower bound. */
  double (*value_of)(const ft_observation *observation, ft_rule rule, bool *bound);
  double max_value; /* larger numbers are invalid */
  struct {
    double deviation;    /* pseudo-observation of the residuals, in log units */
    double min_fraction; /* smallest standard deviation: this fraction of the prediction */
    double min_value;    /* plus this, in the unit */
  } prior;
};

extern const struct ft_quantity ft_quantities[FT_QUANTITIES];

/* Sets *VALUE and *BOUND to OBSERVATION's number of QUANTITY. Returns false if it has no valid one.
 */
bool ft_quantity_measured(const struct ft_quantity *quantity, const ft_observation *observation,
                          ft_rule rule, double *value, bool *bound);

/* Returns what killed the run of OBSERVATION, which needed at least BYTES, for its memory. */
ft_killer ft_memory_killer(const ft_observation *observation, double bytes);

#endif
