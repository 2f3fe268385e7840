/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Delivery of the spool to a learner that this program plays. */
#include "config.h"

#include "tests/unit/scratch.h"

#include <signal.h>

#include "agent/delivery.h"

/* Job that makes a request unreadable, and one that is refused. */
enum { UNREADABLE = 3, REFUSED = 5, JOBS = 8 };

static struct ft_delivery *delivery;
static struct {
  struct ft_loop *loop;
  ft_uplink_callback *call; /* of the request under way */
  void *data;
  struct ft_timer reply;
  struct ft_buf list;
  unsigned requests, stored[JOBS + 1];
} learner;

/* Replies to the request under way. */
static void reply_now(void *data)
{
  ft_verdicts verdicts = { .schema = FT_SCHEMA };
  struct ft_uplink_reply reply = { .why = "cannot read this" };
  ft_observation o;
  struct ft_error err;
  struct ft_buf body;
  size_t at = 0;

  (void)data;
  ft_buf_init(&body, FT_EXCHANGE_BYTES);
  while (ft_exchange_next(learner.list.data, learner.list.length, &at, &o, &err) == 1) {
    reply.malformed = reply.malformed || o.job_id == UNREADABLE;
    verdicts.verdict.bytes[verdicts.verdict.size++] =
        o.job_id == REFUSED ? FT_VERDICT_REFUSED : FT_VERDICT_ACCEPTED;
  }
  at = 0;
  while (!reply.malformed &&
         ft_exchange_next(learner.list.data, learner.list.length, &at, &o, &err) == 1)
    learner.stored[o.job_id] += o.job_id != REFUSED;
  if (!reply.malformed) {
    assert_int_equal(ft_record_encode(FT_RECORD_VERDICTS, &verdicts, &body, &err), 0);
    reply.body = body.data;
    reply.length = body.length;
  }
  learner.call(&reply, learner.data);
  ft_buf_free(&body);
}

int ft_uplink_send(struct ft_uplink *uplink, enum ft_exchange exchange, const void *body,
                   size_t length, ft_uplink_callback *call, void *data, struct ft_error *err)
{
  (void)uplink;
  (void)err;
  assert_int_equal(exchange, FT_EXCHANGE_RUNS);
  learner.list.length = 0;
  assert_int_equal(ft_buf_add(&learner.list, body, length), 0);
  learner.call = call;
  learner.data = data;
  learner.requests++;
  ft_loop_at(learner.loop, &learner.reply, 0);
  return 0;
}

/* Stops when all that can be stored is; else begins the next pass. */
static void check_end(void *data)
{
  struct ft_timer *timer = data;
  unsigned stored = 0;

  for (int i = 1; i <= JOBS; i++)
    stored += learner.stored[i] > 0;
  if (stored == JOBS - 2) {
    ft_loop_stop(learner.loop);
    return;
  }
  if (!learner.reply.armed)
    ft_delivery_retry(delivery);
  ft_loop_at(learner.loop, timer, 0);
}

static void an_unreadable_run_delays_no_other(void **state)
{
  static const int signals[] = { SIGTERM, 0 };
  struct ft_timer end = { .fire = check_end, .data = &end };
  char folder[SCRATCH_SIZE];
  int fd = scratch_open(folder);
  struct ft_error err;

  (void)state;
  ft_buf_init(&learner.list, FT_EXCHANGE_BYTES);
  learner.reply.fire = reply_now;
  learner.loop = ft_loop_open(signals, &err);
  assert_non_null(learner.loop);
  delivery = ft_delivery_open(learner.loop, NULL, fd, &err);
  assert_non_null(delivery);
  for (uint32_t job = 1; job <= JOBS; job++) {
    const ft_observation o = { .schema = FT_SCHEMA, .job_id = job, .submission.app = "a" };

    ft_delivery_add(delivery, &o);
  }
  /* the first pass leaves what was sent together with it; the second begins when this asks for it
   */
  ft_delivery_retry(delivery);
  ft_loop_at(learner.loop, &end, 0);
  assert_int_equal(ft_loop_run(learner.loop, &err), 0);
  for (int i = 1; i <= JOBS; i++)
    assert_int_equal(learner.stored[i], i != UNREADABLE && i != REFUSED);
  ft_delivery_close(delivery);
  ft_loop_close(learner.loop);
  ft_buf_free(&learner.list);
  assert_int_equal(scratch_close(folder, fd), 0);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(an_unreadable_run_delays_no_other),
  };

  return cmocka_run_group_tests_name("delivery", tests, NULL, NULL);
}
