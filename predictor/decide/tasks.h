/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Predictions for the tasks of a job array, each from the task's own features, in the form of the
 * submission record, which the job's environment carries to the nodes. Tasks with equal predictions
 * share a row of quantiles.
 */
#ifndef FT_DECIDE_TASKS_H
#define FT_DECIDE_TASKS_H

#include "predictor/decide/submission.h"

/*
 * Fills out->predictions of SUBMISSION's job array OUT, up to their limit. ARRAY: value of --array;
 * NULL: no array. There are none if all tasks have one prediction. In a long array, a task without
 * examined files has none. Pure; evaluates each distinct set of features once.
 */
void ft_task_predictions_fill(const struct ft_submission_decision *decision,
                              const ft_submission *submission, const char *array,
                              ft_job_array *out);

/*
 * Reduces the encoded size of OUT. ATTEMPT counts the calls from 1: the first three merge rows that
 * differ by a few percent, later ones remove every other task. Returns false if only one task is
 * left.
 */
bool ft_task_predictions_shrink(ft_task_predictions *out, unsigned attempt);

#endif
