/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The auto-encoder as a learner of speed-ups, for comparison with its paper. */
#include "config.h"

#include <stdlib.h>

#include "predictor/learn/neural/autoencoder.h"
#include "predictor/learn/relative/learner.h"

static bool stop_autoencoder(void *data, const struct ft_autoencoder_progress *progress)
{
  const struct ft_learner_settings *settings = data;

  (void)progress;
  return settings->stop(settings->data);
}

static int create_autoencoder(void **model, struct ft_error *err)
{
  *model = *model ? *model : calloc(1, sizeof(struct ft_autoencoder));
  return *model ? 0 : ft_error_set(err, "auto-encoder: out of memory");
}

static int fit_autoencoder_learner(const struct ft_samples *s,
                                   const struct ft_learner_settings *settings, void **model,
                                   struct ft_error *err)
{
  struct ft_autoencoder_settings network = ft_autoencoder_usual;
  struct ft_learner_settings copy = *settings;

  network.seed = settings->seed;
  network.stop = settings->stop ? stop_autoencoder : NULL;
  network.data = &copy;
  return create_autoencoder(model, err) < 0 ? -1 : ft_autoencoder_fit(s, &network, *model, err);
}

static void add_autoencoder_prediction(const void *model, const double *x, double *out)
{
  ft_autoencoder_add(model, x, out);
}

static int serialise_autoencoder_learner(struct ft_number_stream *stream, size_t columns,
                                         size_t outputs, void **model, struct ft_error *err)
{
  return create_autoencoder(model, err) < 0
             ? -1
             : ft_autoencoder_serialise(stream, columns, outputs, *model, err);
}

static void free_autoencoder_learner(void *model)
{
  ft_autoencoder_free(model);
  free(model);
}

const struct ft_learner_network ft_learner_network = {
  .fit = fit_autoencoder_learner,
  .add = add_autoencoder_prediction,
  .serialise = serialise_autoencoder_learner,
  .free = free_autoencoder_learner,
};
