/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * libforetell: what a job will need, from what its app's past runs needed.
 *
 * The library never logs, exits, forks or starts a thread. A handle may be used
 * by one thread at a time; different handles are independent.
 */
#ifndef FORETELL_H
#define FORETELL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/* One line of text saying what went wrong: file, position, what was expected. */
struct ft_error {
  char text[512];
};

/* A named value about a submission: CATEGORY if it is not NULL, else NUMBER. */
struct ft_value {
  const char *name;
  double number;
  const char *category;
};

/* A state folder as the learner publishes it, opened for reading. */
typedef struct ft_predictor ft_predictor;

/* A predictive distribution of one quantity, with the evidence behind it. */
typedef struct ft_prediction ft_prediction;

/*
 * Open the state folder DIRECTORY (NULL: the one that was configured when the
 * library was built). Returns NULL and fills ERR when it cannot be opened.
 * The caller releases the handle with ft_predictor_close.
 */
ft_predictor *ft_predictor_open(const char *directory, struct ft_error *err);

/* Release PREDICTOR; NULL is allowed. Predictions made with it stay valid. */
void ft_predictor_close(ft_predictor *predictor);

/*
 * Predict the peak memory, in bytes on one node, of user UID's app APP with
 * COUNT values. Returns NULL and fills ERR when nothing is known about the app
 * or its model cannot be read. The caller releases it with ft_prediction_free.
 */
ft_prediction *ft_predict_memory(ft_predictor *predictor, uint32_t uid, const char *app,
                                 const struct ft_value *values, size_t count,
                                 struct ft_error *err);

/* Release PREDICTION; NULL is allowed. */
void ft_prediction_free(ft_prediction *prediction);

/* The value in bytes that is not passed with PROBABILITY, which lies in (0, 1). */
double ft_prediction_quantile(const ft_prediction *prediction, double probability);

/* The probability, 0 to 1, that more than BYTES are used. */
double ft_prediction_exceeds(const ft_prediction *prediction, double bytes);

/* How many completed runs stand behind it. */
unsigned ft_prediction_runs(const ft_prediction *prediction);

/* By which method: "quantiles", "regression". Owned by PREDICTION. */
const char *ft_prediction_method(const ft_prediction *prediction);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
