/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Publishes the memory model of an app without run times. */
#ifndef FT_TESTS_PUBLISH_MODEL_H
#define FT_TESTS_PUBLISH_MODEL_H

#include "learner/publish.h"
#include "predictor/estimate/quantity.h"

static inline int publish_model(struct ft_publisher *publisher, const ft_model *model,
                                const struct ft_history *history, struct ft_error *err)
{
  static struct ft_app_models app;

  app.has_model = true;
  app.model = *model;
  app.history = *history;
  return ft_publish_app(publisher, &app, 1U << FT_QUANTITY_MEMORY, err);
}

#endif
