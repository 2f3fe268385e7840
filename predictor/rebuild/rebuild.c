/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "predictor/online/app_models.h"
#include "predictor/rebuild/rebuild.h"

/* Runs per step of ft_rebuild_model. */
enum { PAGE_RUNS = 256 };

void ft_rebuild_init(struct ft_rebuild *rebuild, uint32_t uid, const char *app, ft_rule rule)
{
  ft_app_models_init(&rebuild->models, app, uid, rule);
  rebuild->cursor = (struct ft_store_cursor){ .time = -INFINITY };
}

int ft_rebuild_learn(struct ft_rebuild *rebuild, const ft_observation *o, struct ft_error *err)
{
  return ft_app_models_update(&rebuild->models, o, err) < 0 ? -1 : 0;
}

static int learn_stored_run(const ft_observation *o, void *data, struct ft_error *err)
{
  return ft_rebuild_learn(data, o, err);
}

int ft_rebuild_step(struct ft_rebuild *rebuild, struct ft_store *store, unsigned runs,
                    struct ft_error *err)
{
  const ft_model *model = &rebuild->models.model;
  int learnt = ft_store_learn_page(store, model->uid, model->app, &rebuild->cursor, runs,
                                   learn_stored_run, rebuild, err);

  return learnt < 0 ? -1 : (unsigned)learnt < runs;
}

int ft_rebuild_model(struct ft_store *store, uint32_t uid, const char *app, ft_rule rule,
                     ft_model *model, struct ft_error *err)
{
  struct ft_rebuild *rebuild = malloc(sizeof *rebuild);
  int status = 0;

  if (!rebuild)
    return ft_error_set(err, "%s: out of memory", app);
  ft_rebuild_init(rebuild, uid, app, rule);
  while (status == 0)
    status = ft_rebuild_step(rebuild, store, PAGE_RUNS, err);
  if (status > 0)
    *model = rebuild->models.model;
  free(rebuild);
  return status < 0 ? -1 : 0;
}
