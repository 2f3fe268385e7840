/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Implements the library interface foretell.h: predictions from a state directory. */
#include "config.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "predictor/estimate/memory.h"
#include "predictor/record/state_files.h"

struct ft_predictor {
  int state_fd;
};

struct ft_prediction {
  struct ft_estimate estimate;
};

ft_predictor *ft_predictor_open(const char *directory, struct ft_error *err)
{
  ft_predictor *predictor = malloc(sizeof *predictor);

  if (!predictor) {
    ft_error_errno(err, "ft_predictor_open");
    return NULL;
  }
  if (!directory)
    directory = FT_STATE_DIRECTORY;
  predictor->state_fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (predictor->state_fd < 0) {
    ft_error_errno(err, "%s", directory);
    free(predictor);
    return NULL;
  }
  return predictor;
}

void ft_predictor_close(ft_predictor *predictor)
{
  if (!predictor)
    return;
  close(predictor->state_fd);
  free(predictor);
}

ft_prediction *ft_predict_memory(ft_predictor *predictor, uint32_t uid, const char *app,
                                 const struct ft_value *values, size_t count,
                                 struct ft_error *err)
{
  enum { LIMIT = sizeof((ft_submission *)NULL)->features / sizeof(ft_feature) };
  ft_feature features[LIMIT];
  pb_size_t used = 0;
  ft_prediction *prediction = calloc(1, sizeof *prediction);
  ft_model *model = calloc(1, sizeof *model);

  if (!prediction || !model) {
    ft_error_errno(err, "ft_predict_memory");
    goto fail;
  }
  for (size_t i = 0; i < count; i++) {
    const struct ft_value *v = &values[i];
    bool added = v->category ? ft_feature_category(features, &used, LIMIT, v->name, v->category)
                             : ft_feature_number(features, &used, LIMIT, v->name, v->number);

    if (!added) {
      ft_error_set(err, "%s: not a finite number, or more than %d values", v->name, (int)LIMIT);
      goto fail;
    }
  }
  if (ft_state_read_evaluator(predictor->state_fd, uid, app, model, err) < 0 ||
      ft_estimate_memory(model, features, used, &prediction->estimate, err) < 0)
    goto fail;
  free(model);
  return prediction;
fail:
  free(model);
  free(prediction);
  return NULL;
}

void ft_prediction_free(ft_prediction *prediction)
{
  free(prediction);
}

double ft_prediction_quantile(const ft_prediction *prediction, double probability)
{
  return ft_estimate_quantile(&prediction->estimate, probability);
}

double ft_prediction_exceeds(const ft_prediction *prediction, double bytes)
{
  return ft_estimate_exceeds(&prediction->estimate, bytes);
}

unsigned ft_prediction_runs(const ft_prediction *prediction)
{
  return prediction->estimate.runs;
}

const char *ft_prediction_method(const ft_prediction *prediction)
{
  return prediction->estimate.method;
}
