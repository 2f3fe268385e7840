/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <stdlib.h>

#include "predictor/online/facts.h"
#include "predictor/online/gpu_model.h"
#include "predictor/online/quantity_models.h"
#include "predictor/online/refit.h"

_Static_assert((int)FT_QUANTITIES <= (int)FT_RUN_VALUES, "run_columns.h");

static size_t count_runs_with(const struct ft_history *history, size_t quantity)
{
  size_t count = 0;

  for (size_t i = 0; i < history->count; i++)
    count += history->run[i].values[quantity] > 0;
  return count;
}

static void copy_runs_with(const struct ft_history *history, size_t quantity,
                           struct ft_history *measured)
{
  measured->count = 0;
  for (size_t i = 0; i < history->count; i++)
    if (history->run[i].values[quantity] > 0)
      measured->run[measured->count++] = history->run[i];
}

int ft_quantity_model_fit(const ft_model *model, const struct ft_history *history, size_t quantity,
                          ft_model *out, struct ft_error *err)
{
  struct ft_history *measured;
  struct ft_refit *refit;
  int runs = -1;

  if (!count_runs_with(history, quantity))
    return 0;
  measured = malloc(sizeof *measured);
  refit = ft_refit_new();
  if (measured && refit) {
    copy_runs_with(history, quantity, measured);
    *out = *model;
    out->quantity = (uint32_t)quantity;
    ft_refit_history(out, measured, refit);
    ft_facts_fill(out, measured);
    if (quantity == FT_QUANTITY_GPU_MEMORY)
      ft_gpu_model_complete(out, measured);
    runs = (int)measured->count;
  } else {
    ft_error_errno(err, "%s: %s", model->app, ft_quantities[quantity].title);
  }
  free(refit);
  free(measured);
  return runs;
}

int ft_quantity_models_fit(const ft_model *model, const struct ft_history *history,
                           ft_model out[FT_QUANTITIES], struct ft_error *err)
{
  int count = 0;

  for (size_t i = 0; i < FT_QUANTITIES; i++) {
    int runs = ft_quantities[i].of_history
                   ? ft_quantity_model_fit(model, history, i, &out[count], err)
                   : 0;

    if (runs < 0)
      return -1;
    count += runs > 0;
  }
  return count;
}
