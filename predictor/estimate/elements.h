/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Peak memory of each element of a job array, or of a sample of them. */
#ifndef FT_ESTIMATE_ELEMENTS_H
#define FT_ESTIMATE_ELEMENTS_H

#include "predictor/core/error.h"
#include "predictor/estimate/estimate.h"
#include "predictor/record/record.h"

enum { FT_ELEMENT_ESTIMATES = 64 }; /* a quarter of a millisecond */

struct ft_element_estimates {
  size_t count; /* of those looked at */
  uint32_t index[FT_ELEMENT_ESTIMATES];
  struct ft_estimate each[FT_ELEMENT_ESTIMATES];
};

/*
 * Evaluate MODEL for OUT's COUNT elements of SUBMISSION, by their indices; for the first alone
 * where nothing that the model knows tells elements apart, COUNT becoming 1. The largest one's
 * allocation, at FAILURE_PRICE, is what the array's one --mem has to be. Pure, a few microseconds
 * each. Returns as ft_estimate_memory.
 */
int ft_estimate_elements(const ft_model *model, const ft_submission *submission,
                         double failure_price, struct ft_element_estimates *out,
                         struct ft_error *err);

#endif
