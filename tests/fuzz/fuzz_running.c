/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An agent's answer about running jobs, as the learner passes it on to a command: of other users'
 * jobs only to privileged ones. Bits of the first byte: 1 one job is asked for; 2 privileged.
 */
#include "config.h"

#include <string.h>

#include "daemon/exchange.h"
#include "learner/cluster/running.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/limit.h"

const size_t fuzz_limit = FT_EXCHANGE_BYTES + 1;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { USER = 1001, AGENT = 5 };

/* An ordinary user gets only the user's own runs. */
static void check_reply(const ft_reply *reply, bool privileged)
{
  static ft_observation o;
  struct ft_error err;
  size_t at = 0;
  int status;

  while ((status = ft_exchange_next(reply->record.bytes, reply->record.size, &at, &o, &err)) > 0)
    fuzz_must(privileged || status != 1 || o.uid == USER);
  fuzz_must(status == 0);
}

static void ask(void *data)
{
  (void)data;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  static ft_running answer;
  static ft_settings settings;
  static ft_reply reply;
  struct ft_error err;
  struct ft_running_queries *q;
  ft_question question = { .schema = 1, .which_asked = ft_question_run_query_tag };
  struct ft_query query = { .question = &question, .uid = USER, .fd = -1 };
  static const char connection[1];

  if (size < 2)
    return 0;
  question.asked.run_query.live = true;
  if (data[0] & 1)
    question.asked.run_query.job_id = 7;
  query.privileged = data[0] & 2;
  q = ft_running_open(ask, NULL);
  ft_running_connect(q, AGENT, connection);
  (void)ft_running_step(q, &query, &reply);
  if (!query.data) {
    ft_running_end(q, &query);
    ft_running_close(q);
    return 0;
  }
  memset(&settings, 0, sizeof settings);
  fuzz_must(ft_running_next(q, AGENT, connection, &settings));
  if (ft_record_decode(FT_RECORD_RUNNING, (const char *)data + 1, size - 1, &answer, &err) == 0) {
    answer.agent = AGENT;
    answer.question = settings.question;
    for (int i = 0; i < 3; i++)
      (void)ft_running_add_answer(q, &answer);
    for (int i = 0; i < 5; i++) {
      memset(&reply, 0, sizeof reply);
      if (ft_running_step(q, &query, &reply))
        check_reply(&reply, query.privileged);
    }
  }
  ft_running_end(q, &query);
  ft_running_close(q);
  return 0;
}
