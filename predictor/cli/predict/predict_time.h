/* SPDX-License-Identifier: GPL-3.0-or-later */
/* foretell predict: the run time and the decision about the time limit, as text and JSON. */
#ifndef FT_CLI_PREDICT_TIME_H
#define FT_CLI_PREDICT_TIME_H

#include <jansson.h>

#include "predictor/cli/predict/submission.h"
#include "predictor/decide/submission.h"

/* Points into itself and must not be copied. */
struct ft_predict_time {
  struct ft_job_time time;
  struct ft_time_decision decided;
  bool requested; /* the user or the site wants a decision, not only the run time */
};

/* Returns whether TEXT is a value of --predict-time (NULL: not given, "": without a mode). */
bool ft_predict_time_is_mode(const char *text);

/* Fills OUT for ASKED and SUBMISSION, with its ARRAY, by KNOWN and the state directory STATE_FD.
 * Returns 0; -1 and fills ERR. */
int ft_predict_time_find(const struct ft_asked *asked, int state_fd,
                         const struct ft_submitter *submitter, const ft_submission *submission,
                         const ft_job_array *array, struct ft_submission_knowledge *known,
                         struct ft_predict_time *out, struct ft_error *err);

/* Prints the message, unless no run time is known and none was asked for. */
void ft_predict_time_print(const struct ft_predict_time *time);

/* Returns "runtime_platform", the platform of the run time, or null. */
json_t *ft_predict_time_platform(const struct ft_predict_time *time);

/* Returns "time_decision"; NULL if none is requested. */
json_t *ft_predict_time_decision(const struct ft_predict_time *time);

#endif
