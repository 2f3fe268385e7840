/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include "predictor/history/store.h"
#include "predictor/online/online.h"

struct rebuild {
  ft_model *model;
  struct ft_error *err;
  bool failed;
};

static bool learn(const ft_observation *observation, void *data)
{
  struct rebuild *rebuild = data;

  rebuild->failed = ft_online_update(rebuild->model, observation, rebuild->err) < 0;
  return !rebuild->failed;
}

int ft_store_model(struct ft_store *store, uint32_t uid, const char *app, ft_rule rule,
                   ft_model *model, struct ft_error *err)
{
  struct ft_store_filter filter = { .app = app, .by_uid = true, .uid = uid };
  struct rebuild rebuild = { .model = model, .err = err };

  ft_online_init(model, app, uid, rule);
  if (ft_store_each(store, &filter, learn, &rebuild, err) < 0)
    return -1;
  return rebuild.failed ? -1 : 0;
}
