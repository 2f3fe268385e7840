/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What is predicted for the tasks of a job array, each by its own features, as it is carried to
 * where they run. Tasks with the same prediction share a row of quantiles.
 */
#ifndef FT_DECIDE_TASKS_H
#define FT_DECIDE_TASKS_H

#include "predictor/decide/submission.h"

/*
 * Enters into OUT what DECISION, which was made of KNOWN, predicts for the tasks of SUBMISSION's
 * ARRAY (the value of --array; NULL: none), for as many as OUT holds. OUT is empty where one
 * prediction is every task's. Tasks whose files were not looked at are left out, as the array is
 * too long. Pure; evaluates each distinct set of features once.
 */
void ft_task_predictions_fill(const struct ft_submission_decision *decision,
                              const struct ft_submission_knowledge *known,
                              const ft_submission *submission, const char *array,
                              ft_task_predictions *out);

/*
 * Makes what OUT takes when encoded smaller: first rows that differ by less than a few percent
 * become one, then every other task is left out. ATTEMPT counts from 1. Returns false when nothing
 * is left to do.
 */
bool ft_task_predictions_shrink(ft_task_predictions *out, unsigned attempt);

#endif
