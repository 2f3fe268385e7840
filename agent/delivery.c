/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "agent/delivery.h"
#include "daemon/log.h"
#include "predictor/core/io.h"
#include "predictor/core/units.h"

/* Time until the next delivery of what was not accepted, at first and at most: it is doubled each
 * time. A learner that replies again is noticed earlier (agent/settings.c). */
#define RETRY_SECONDS 5.0
#define MAX_RETRY_SECONDS 60.0

struct ft_delivery {
  struct ft_loop *loop;
  struct ft_uplink *uplink;
  struct ft_spool *spool;
  struct ft_timer retry;
  double retry_seconds;
  bool sending;        /* a request is under way, with the first `count` of `sent` */
  bool again;          /* the spool's pass may have missed an observation */
  bool left;           /* the pass has left observations in the spool */
  bool warned;         /* that observations are not accepted */
  bool refusal_warned; /* that one of them is refused, but others are accepted */
  uint64_t number;     /* of the observation added last when it was sent */
  size_t limit;        /* of a request's observations: 1 after one that the learner cannot read */
  size_t count;
  uint64_t sent[FT_EXCHANGE_RUN_LIMIT]; /* keys of the observations of the request */
  struct ft_delivery_figures figures;   /* but `spool` */
};

static void begin_pass(struct ft_delivery *delivery);
static void retry_due(void *data);

struct ft_delivery *ft_delivery_open(struct ft_loop *loop, struct ft_uplink *uplink, int state_fd,
                                     struct ft_error *err)
{
  struct ft_delivery *delivery = calloc(1, sizeof *delivery);

  if (!delivery) {
    ft_error_errno(err, "delivery");
    return NULL;
  }
  delivery->loop = loop;
  delivery->uplink = uplink;
  delivery->retry_seconds = RETRY_SECONDS;
  delivery->limit = FT_EXCHANGE_RUN_LIMIT;
  delivery->retry = (struct ft_timer){ .fire = retry_due, .data = delivery };
  delivery->spool = ft_spool_open(state_fd, err);
  if (delivery->spool)
    return delivery;
  ft_delivery_close(delivery);
  return NULL;
}

void ft_delivery_close(struct ft_delivery *delivery)
{
  if (!delivery)
    return;
  ft_loop_cancel(delivery->loop, &delivery->retry);
  ft_spool_close(delivery->spool);
  free(delivery);
}

/* ---- a pass over the spool ---- */

/* Ends the pass: the rest stays in the spool until the next one. */
static void retry_later(struct ft_delivery *delivery)
{
  ft_loop_at(delivery->loop, &delivery->retry, ft_io_monotonic() + delivery->retry_seconds);
}

static void retry_due(void *data)
{
  struct ft_delivery *delivery = data;

  delivery->retry_seconds = fmin(2 * delivery->retry_seconds, MAX_RETRY_SECONDS);
  begin_pass(delivery);
}

/* The learner accepts nothing now. */
static void pause_delivery(struct ft_delivery *delivery, const char *why)
{
  if (!delivery->warned)
    ft_log(LOG_ERR, "%s; observations wait in the spool", why);
  delivery->warned = true;
  retry_later(delivery);
}

/* All observations of the pass were sent. */
static void end_delivery_pass(struct ft_delivery *delivery)
{
  if (delivery->again) {
    begin_pass(delivery);
  } else if (delivery->left) {
    retry_later(delivery);
  } else {
    if (delivery->warned || delivery->refusal_warned)
      ft_log(LOG_INFO, "all spooled observations are stored");
    delivery->warned = delivery->refusal_warned = false;
    delivery->limit = FT_EXCHANGE_RUN_LIMIT;
    delivery->retry_seconds = RETRY_SECONDS;
  }
}

/* Adds the next observations of the pass to LIST and to delivery->sent. Returns 0; -1 out of
 * memory. */
static int fill_request(struct ft_delivery *delivery, struct ft_buf *list)
{
  ft_observation *o = malloc(sizeof *o);
  struct ft_error err;
  uint64_t key;

  delivery->count = 0;
  if (!o)
    return -1;
  while (delivery->count < delivery->limit && ft_spool_next(delivery->spool, o, &key)) {
    if (ft_exchange_add(list, o, &err) < 0) {
      ft_spool_unread(delivery->spool);
      break;
    }
    delivery->sent[delivery->count++] = key;
  }
  free(o);
  return 0;
}

/* Applies the verdict of one observation, which the learner gave because of WHY. */
static void apply_verdict(struct ft_delivery *delivery, uint64_t key, unsigned verdict,
                          const char *why)
{
  if (verdict == FT_VERDICT_REFUSED) {
    if (!delivery->refusal_warned)
      ft_log(LOG_WARNING, "an observation remains in the spool: %s", why);
    delivery->refusal_warned = delivery->left = true;
    delivery->figures.refused++;
    return;
  }
  delivery->figures.delivered++;
  ft_spool_remove(delivery->spool, key);
}

static void send_next(struct ft_delivery *delivery);

/* The learner cannot read the request, because of WHY. The next pass sends its observations one by
 * one, so that the one at fault delays no other. */
static void refuse_all(struct ft_delivery *delivery, const char *why)
{
  for (size_t i = 0; i < delivery->count; i++)
    apply_verdict(delivery, delivery->sent[i], FT_VERDICT_REFUSED, why);
  delivery->limit = 1;
  send_next(delivery);
}

static void runs_judged(const struct ft_uplink_reply *reply, void *data)
{
  struct ft_delivery *delivery = data;
  struct ft_error err;
  ft_verdicts v;
  size_t i = 0;

  delivery->sending = false;
  if (reply->malformed) {
    refuse_all(delivery, reply->why);
    return;
  }
  if (!reply->body ||
      ft_record_decode(FT_RECORD_VERDICTS, reply->body, reply->length, &v, &err) < 0) {
    if (reply->synced)
      ft_spool_synced(delivery->spool, delivery->number);
    pause_delivery(delivery, reply->body ? err.text : reply->why);
    return;
  }
  while (i < delivery->count && i < v.verdict.size && v.verdict.bytes[i] != FT_VERDICT_LATER) {
    apply_verdict(delivery, delivery->sent[i], v.verdict.bytes[i], v.why);
    i++;
  }
  if (i < delivery->count)
    pause_delivery(delivery, v.why[0] ? v.why : "incomplete reply of foretell-learnd");
  else
    send_next(delivery);
}

/* Sends the next observations of the pass. */
static void send_next(struct ft_delivery *delivery)
{
  struct ft_buf list;
  struct ft_error err = { "out of memory" };

  ft_buf_init(&list, FT_EXCHANGE_BYTES);
  if (fill_request(delivery, &list) < 0)
    pause_delivery(delivery, err.text);
  else if (!delivery->count)
    end_delivery_pass(delivery);
  else if (ft_uplink_send(delivery->uplink, FT_EXCHANGE_RUNS, list.data, list.length, runs_judged,
                          delivery, &err) < 0)
    pause_delivery(delivery, err.text);
  else {
    delivery->sending = true;
    delivery->number = ft_spool_number(delivery->spool);
  }
  ft_buf_free(&list);
}

static void begin_pass(struct ft_delivery *delivery)
{
  if (delivery->sending) {
    delivery->again = true;
    return;
  }
  ft_loop_cancel(delivery->loop, &delivery->retry);
  delivery->again = delivery->left = false;
  ft_spool_begin(delivery->spool);
  send_next(delivery);
}

/* ---- observations ---- */

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
  struct ft_error err;

  log_observation(o);
  if (ft_spool_put(delivery->spool, o, &err) < 0) {
    ft_log(LOG_ERR, "job %" PRIu32 ": observation lost: %s", o->job_id, err.text);
    delivery->figures.lost++;
    return;
  }
  delivery->figures.spooled++;
  begin_pass(delivery);
}

struct ft_delivery_figures ft_delivery_figures(const struct ft_delivery *delivery)
{
  struct ft_delivery_figures figures = delivery->figures;

  figures.spool = ft_spool_usage(delivery->spool);
  return figures;
}

void ft_delivery_retry(struct ft_delivery *delivery)
{
  begin_pass(delivery);
}

void ft_delivery_forget(struct ft_delivery *delivery)
{
  ft_spool_remove_damaged(delivery->spool);
  begin_pass(delivery);
}
