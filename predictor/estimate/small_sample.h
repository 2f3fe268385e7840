/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The memory of an app that has run but a few times. */
#ifndef FT_ESTIMATE_SMALL_SAMPLE_H
#define FT_ESTIMATE_SMALL_SAMPLE_H

#include <stdbool.h>

#include "predictor/estimate/ensemble.h"
#include "predictor/record/record.h"

/* Whether E has runs, but too few for an ensemble. */
bool ft_small_sample_applies(const ft_evaluator *e);

/*
 * The allocation, in bytes, that is expected to waste least of a run like QUESTION: its logarithm
 * is a line over the place, drawn through the runs by Bayes' rule from a prior of the slope and of
 * the noise (normal-inverse-gamma), so that Student's t says what it may need. Pure, about
 * 10 microseconds.
 */
double ft_small_sample_allocation(const ft_evaluator *e,
                                  const struct ft_allocation_query *question);

#endif
