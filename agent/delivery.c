/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>

#include "agent/delivery.h"
#include "agent/spool.h"
#include "daemon/log.h"
#include "predictor/core/units.h"

struct ft_delivery {
  struct ft_spool *spool;
  ft_delivery_callback *deliver;
  void *data;
  bool warned;      /* that observations are not accepted */
  bool skip_warned; /* that one spooled observation is refused, but others are accepted */
};

struct ft_delivery *ft_delivery_open(int state_fd, ft_delivery_callback *deliver, void *data,
                                     struct ft_error *err)
{
  struct ft_delivery *delivery = calloc(1, sizeof *delivery);

  if (!delivery) {
    ft_error_errno(err, "delivery");
    return NULL;
  }
  delivery->deliver = deliver;
  delivery->data = data;
  delivery->spool = ft_spool_open(state_fd, err);
  if (delivery->spool)
    return delivery;
  ft_delivery_close(delivery);
  return NULL;
}

void ft_delivery_close(struct ft_delivery *delivery)
{
  if (delivery)
    ft_spool_close(delivery->spool);
  free(delivery);
}

static void log_observation(const ft_observation *o)
{
  char bytes[32];

  ft_log(LOG_INFO, "job %" PRIu32 ": %s, %s, %s in %.1f s, %u samples", o->job_id,
         o->submission.app[0] ? o->submission.app : "no app", ft_outcome_name(o->outcome),
         ft_units_show_bytes((uint64_t)ft_observation_peak(o, o->rule), bytes, sizeof bytes),
         o->runtime_seconds, o->samples);
}

void ft_delivery_add(struct ft_delivery *delivery, const ft_observation *o)
{
  struct ft_error err, why;
  int status;

  log_observation(o);
  if (delivery->deliver(o, delivery->data, &err) == 0)
    return;
  status = ft_spool_put(delivery->spool, o, &why);
  if (status < 0)
    ft_log(LOG_ERR, "job %" PRIu32 ": observation lost: %s; %s", o->job_id, err.text, why.text);
  else if (!delivery->warned)
    ft_log(LOG_ERR, "%s; observations wait %s", err.text,
           status == 0 ? "in the spool" : "in memory");
  delivery->warned = true;
}

/* Callback of ft_spool_drain. */
static int deliver_spooled(const ft_observation *o, void *data)
{
  struct ft_delivery *delivery = data;
  struct ft_error err;
  int status = delivery->deliver(o, delivery->data, &err);

  if (status < 0) {
    ft_log(LOG_DEBUG, "observations remain in the spool: %s", err.text);
  } else if (status > 0) {
    if (!delivery->skip_warned)
      ft_log(LOG_WARNING, "job %" PRIu32 ": observation remains in the spool: %s", o->job_id,
             err.text);
    delivery->skip_warned = true;
  }
  return status;
}

bool ft_delivery_retry(struct ft_delivery *delivery)
{
  if (ft_spool_empty(delivery->spool))
    return false;
  if (ft_spool_drain(delivery->spool, deliver_spooled, delivery) > 0)
    return true;
  if (delivery->warned)
    ft_log(LOG_INFO, "all spooled observations are stored");
  delivery->warned = delivery->skip_warned = false;
  return false;
}

void ft_delivery_forget(struct ft_delivery *delivery)
{
  ft_spool_remove_damaged(delivery->spool);
  (void)ft_delivery_retry(delivery);
}

bool ft_delivery_is_waiting(const struct ft_delivery *delivery)
{
  return !ft_spool_empty(delivery->spool);
}
