/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What foretell.h's opaque results hold: filled here, read by a program through foretell.h. */
#ifndef FT_DECIDE_FORECAST_H
#define FT_DECIDE_FORECAST_H

#include "predictor/decide/decide.h"
#include "predictor/estimate/model_lookup.h"
#include "predictor/estimate/runtime.h"
#include "predictor/estimate/quantity.h"

struct ft_prediction {
  const struct ft_quantity *quantity; /* NULL: not known */
  struct ft_estimate estimate;
};

struct ft_forecast {
  char app[sizeof((ft_submission *)NULL)->app];
  struct ft_prediction prediction[FT_QUANTITIES];
  struct ft_decided decided;
  char reason[sizeof((ft_decision *)NULL)->reason];
};

/* Sets the prediction of QUANTITY, an index of ft_quantities, to ESTIMATE; NULL: not known. */
void ft_forecast_set(struct ft_forecast *forecast, size_t quantity,
                     const struct ft_estimate *estimate);

/*
 * Sets the quantities that are of_history and not known yet to what the runs of SUBMISSION's app
 * show, by the models of user UID in the state directory STATE_FD, if they are at least
 * policy->min_runs. WORK is working memory.
 */
void ft_forecast_set_of_history(struct ft_forecast *forecast, int state_fd, uint32_t uid,
                                const ft_submission *submission, const ft_policy *policy,
                                struct ft_candidate *work);

/* Sets the energy to the run time, which is set before, with POWER; to not known if one of them is
 * not. */
void ft_forecast_set_energy(struct ft_forecast *forecast, const struct ft_power *power);

void ft_forecast_set_decision(struct ft_forecast *forecast, const ft_decision *decision);

#endif
