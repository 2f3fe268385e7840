/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Predictions of the tasks of a job array, each from its own features, in the form that the
 * submission record carries to the nodes. Tasks with the same prediction share a row of quantiles.
 */
#ifndef FT_DECIDE_TASKS_H
#define FT_DECIDE_TASKS_H

#include "predictor/decide/submission.h"

/*
 * Fills OUT with predictions for the tasks of SUBMISSION's ARRAY (the value of --array; NULL:
 * none), for as many as OUT holds. DECISION was made from KNOWN. OUT is empty if one prediction
 * holds for all tasks. In an array so long that not all files were examined, tasks with other files
 * are left out. Pure; evaluates each distinct set of features once.
 */
void ft_task_predictions_fill(const struct ft_submission_decision *decision,
                              const struct ft_submission_knowledge *known,
                              const ft_submission *submission, const char *array,
                              ft_task_predictions *out);

/*
 * Makes the encoded size of OUT smaller: the first attempts merge rows that differ by a few
 * percent, further ones drop every other task. ATTEMPT counts from 1. Returns false if one task is
 * left.
 */
bool ft_task_predictions_shrink(ft_task_predictions *out, unsigned attempt);

#endif
