/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The quantities that foretell learns of each run, one row each. What an app's runs had of one
 * quantity is a series (learn/series/series.h). */
#ifndef FT_ESTIMATE_QUANTITY_H
#define FT_ESTIMATE_QUANTITY_H

#include <stdbool.h>

#include "predictor/record/record.h"

/* Stored runs and model files use these indices (ft_run.values, ft_model.quantity): append only. */
enum {
  FT_QUANTITY_MEMORY,     /* on one node */
  FT_QUANTITY_GPU_MEMORY, /* of one GPU */
  FT_QUANTITY_RUNTIME,
  FT_QUANTITY_ENERGY, /* of the job's GPUs, and its part of the processors' */
  FT_QUANTITIES
};

/* Fraction of a limit from which a peak is at it: that of a censored run without a known cause was
 * killed by it, and so is a job with this limit. Chosen by judgement. */
#define FT_QUANTITY_NEAR_LIMIT 0.95

/* Quantiles that a decision records: 5 %, 50 % and 95 %. */
enum { FT_QUANTITY_LEVELS = 3 };

struct ft_quantity {
  const char *name;  /* as in JSON: it ends in the unit */
  const char *title; /* in texts */
  /* Returns whether OBSERVATION may tell of the quantity. Memory counts by the accounting RULE. */
  bool (*accepts)(const ft_observation *observation, ft_rule rule);
  /* Returns OBSERVATION's number, 0 if it was not measured. Sets *BOUND to whether the run stopped
   * early, so that its number is a lower bound. */
  double (*value_of)(const ft_observation *observation, ft_rule rule, bool *bound);
  /* Returns what OBSERVATION used; 0: not measured. */
  double (*used_of)(const ft_observation *observation);
  /* Returns the limit under which OBSERVATION ran; 0: unknown, or none. NULL: it has no limit. */
  double (*limit_of)(const ft_observation *observation);
  /* Sets QUANTILE to the prediction that DECISION records, NaN where a quantile is missing. Returns
   * whether the median is known. NULL: decisions record none. */
  bool (*predicted_by)(const ft_decision *decision, double quantile[FT_QUANTITY_LEVELS]);
  /* Its model is fitted to the values in the app's history, with its features, when the app is
   * published (online/quantity_models.h). False: it is learnt, or follows, in its own way. */
  bool of_history;
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

/* Returns the unit: "bytes", "seconds", "joules". */
const char *ft_quantity_unit(const struct ft_quantity *quantity);

/* Returns the index in ft_quantities of the name TEXT without its unit, "runtime"; FT_QUANTITIES:
 * none. */
size_t ft_quantity_find(const char *text);

/* Sets QUANTILE to the prediction of QUANTITY at the submission of OBSERVATION, as predicted_by.
 * Returns false without one. */
bool ft_quantity_predicted(const struct ft_quantity *quantity, const ft_observation *observation,
                           double quantile[FT_QUANTITY_LEVELS]);

/* Formats VALUE of QUANTITY for display: "1.67 min". Returns OUT. */
const char *ft_quantity_show(const struct ft_quantity *quantity, double value, char out[32]);

/* Returns what killed the run of OBSERVATION, which needed at least BYTES, for its memory. */
ft_killer ft_memory_killer(const ft_observation *observation, double bytes);

#endif
