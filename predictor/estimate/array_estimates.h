/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Peak memory of each element of a job array, or of a sample of them. */
#ifndef FT_ESTIMATE_ARRAY_ESTIMATES_H
#define FT_ESTIMATE_ARRAY_ESTIMATES_H

#include "predictor/core/error.h"
#include "predictor/estimate/estimate.h"
#include "predictor/estimate/facts.h"
#include "predictor/record/record.h"

enum { FT_ARRAY_ESTIMATES = 64 }; /* a quarter of a millisecond */

struct ft_array_estimates {
  size_t count; /* of those looked at */
  uint32_t index[FT_ARRAY_ESTIMATES];
  struct ft_estimate each[FT_ARRAY_ESTIMATES];
};

/*
 * Evaluate MODEL for OUT's COUNT elements of SUBMISSION, by their indices; for the first alone
 * where nothing that the model knows tells elements apart, COUNT becoming 1. The largest one's
 * allocation, at FAILURE_PRICE, is what the array's one --mem has to be. FACTS become what holds for
 * every task. Pure, a few microseconds each. Returns as ft_estimate_memory.
 */
int ft_estimate_array(const ft_model *model, const ft_submission *submission, double failure_price,
                      struct ft_array_estimates *out, struct ft_facts *facts, struct ft_error *err);

/* SUBMISSION's features as MODEL knows them, its variant among them; with INDEX (NULL: no array)
 * those of that task. Returns how many. */
enum { FT_TASK_FEATURES = sizeof((ft_submission *)NULL)->features / sizeof(ft_feature) + 1 };
size_t ft_task_features(const ft_model *model, const ft_submission *submission,
                        const uint32_t *index, ft_feature features[FT_TASK_FEATURES]);

/* What MODEL's runs show for COUNT features. */
void ft_task_facts(const ft_model *model, const ft_feature *features, size_t count,
                   struct ft_facts *out);

#endif
