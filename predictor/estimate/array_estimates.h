/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Peak memory of each task of a job array, or of a sample of its tasks. */
#ifndef FT_ESTIMATE_ARRAY_ESTIMATES_H
#define FT_ESTIMATE_ARRAY_ESTIMATES_H

#include "predictor/core/error.h"
#include "predictor/estimate/estimate.h"
#include "predictor/estimate/facts.h"
#include "predictor/estimate/variant.h"
#include "predictor/record/record.h"

/* Maximum number of estimated tasks. Chosen for time: 64 take a quarter of a millisecond. */
enum { FT_ARRAY_ESTIMATES = 64 };

/* Tasks of a job array that are to be estimated. */
struct ft_task_list {
  const ft_job_array *array; /* what differs between them; NULL: nothing */
  size_t count;              /* 0: no array */
  uint32_t index[FT_ARRAY_ESTIMATES];
};

struct ft_array_estimates {
  size_t count;                       /* estimated tasks */
  uint32_t index[FT_ARRAY_ESTIMATES]; /* array index of each */
  struct ft_estimate each[FT_ARRAY_ESTIMATES];
};

/*
 * Estimates the peak memory of TASKS of SUBMISSION's job array. If no column of MODEL differs
 * between tasks, only the first one is estimated. The task with the largest 95 % quantile also gets
 * an allocation at FAILURE_PRICE (ft_allocation), because the array has one --mem. Fills FACTS with
 * the facts of all tasks, combined by ft_facts_combine. Pure; a few microseconds per task. Returns
 * 0; -1 on error and fills ERR.
 */
int ft_estimate_array(const ft_model *model, const ft_submission *submission,
                      const struct ft_task_list *tasks, double failure_price,
                      struct ft_array_estimates *out, struct ft_facts *facts, struct ft_error *err);

/* Returns whether MODEL has a column for a feature that differs between the tasks of SUBMISSION,
 * which has ARRAY (NULL: none). */
bool ft_model_distinguishes_tasks(const ft_model *model, const ft_submission *submission,
                                  const ft_job_array *array);

/* Capacity of ft_task_features: the features of a submission and of its texts. */
enum {
  FT_TASK_FEATURES = sizeof((ft_submission *)NULL)->features / sizeof(ft_feature) + FT_TEXT_FEATURES
};

/* Fills FEATURES with the features of SUBMISSION and of its texts in MODEL. INDEX: index of a task;
 * its own features, also those from ARRAY, are then included; NULL: no array. Returns the number of
 * features. */
size_t ft_task_features(const ft_model *model, const ft_submission *submission,
                        const ft_job_array *array, const uint32_t *index,
                        ft_feature features[FT_TASK_FEATURES]);

/* Fills OUT with the facts of MODEL's runs for a submission with COUNT FEATURES
 * (estimate/facts.h). */
void ft_task_facts(const ft_model *model, const ft_feature *features, size_t count,
                   struct ft_facts *out);

#endif
