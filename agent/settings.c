/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <stdlib.h>

#include "agent/settings.h"
#include "daemon/log.h"
#include "predictor/core/io.h"
#include "predictor/core/text.h"

/* Interval of the tries while the learner does not reply. */
#define RETRY_SECONDS 2.0

struct ft_node_settings {
  struct ft_loop *loop;
  struct ft_uplink *uplink;
  struct ft_node_settings_callbacks calls;
  uint64_t agent;
  struct ft_timer timer; /* of the next query */
  uint64_t number;       /* of the settings known here */
  bool connected, warned;
  struct ft_buf runs; /* that the learner looks up among the requests to forget: a list */
  size_t asked, next; /* offsets in `runs`: of the runs being looked up, and after them */
  bool again;         /* look up all runs once more */
};

/* ---- forgotten runs ---- */

/* Adds what identifies RUN to the list. */
static void add_run(const ft_observation *run, void *to)
{
  struct ft_node_settings *settings = to;
  ft_observation *o = calloc(1, sizeof *o);
  struct ft_error err;

  if (!o)
    return;
  o->schema = FT_SCHEMA;
  o->job_id = run->job_id;
  o->restart_count = run->restart_count;
  o->het_offset = run->het_offset;
  o->array_job_id = run->array_job_id;
  o->array_task_id = run->array_task_id;
  o->uid = run->uid;
  o->submit_time = run->submit_time;
  o->start_time = run->start_time;
  o->end_time = run->end_time;
  o->runtime_seconds = run->runtime_seconds;
  (void)ft_string_copy(run->cluster, o->cluster, sizeof o->cluster);
  (void)ft_string_copy(run->node, o->node, sizeof o->node);
  (void)ft_string_copy(run->submission.app, o->submission.app, sizeof o->submission.app);
  (void)ft_exchange_add(&settings->runs, o, &err);
  free(o);
}

static void look_up_runs(struct ft_node_settings *settings);

static void end_lookup(struct ft_node_settings *settings)
{
  bool again = settings->again;

  ft_buf_free(&settings->runs);
  settings->again = false;
  if (again)
    look_up_runs(settings);
}

static void ask_next(struct ft_node_settings *settings);

static void runs_looked_up(const struct ft_uplink_reply *reply, void *data)
{
  struct ft_node_settings *settings = data;
  ft_observation *o = malloc(sizeof *o);
  ft_verdicts verdicts = { 0 };
  struct ft_error err;

  if (!reply->body || !o ||
      ft_record_decode(FT_RECORD_VERDICTS, reply->body, reply->length, &verdicts, &err) < 0) {
    ft_log(LOG_WARNING, "cannot look up requests to forget: %s",
           reply->body ? "invalid reply" : reply->why);
    settings->number = 0; /* after the next reply again */
    settings->next = settings->runs.length;
  } else {
    for (pb_size_t i = 0;
         i < verdicts.verdict.size &&
         ft_exchange_next(settings->runs.data, settings->next, &settings->asked, o, &err) == 1;
         i++)
      if (verdicts.verdict.bytes[i] == FT_VERDICT_FORGOTTEN)
        settings->calls.forget(o, settings->calls.data);
  }
  free(o);
  ask_next(settings);
}

/* Asks about the next runs of the list. */
static void ask_next(struct ft_node_settings *settings)
{
  ft_observation *o = malloc(sizeof *o);
  struct ft_error err;

  settings->asked = settings->next;
  for (int i = 0; o && i < FT_EXCHANGE_RUN_LIMIT; i++)
    if (ft_exchange_next(settings->runs.data, settings->runs.length, &settings->next, o, &err) != 1)
      break;
  free(o);
  if (settings->next == settings->asked ||
      ft_uplink_send(settings->uplink, FT_EXCHANGE_FORGOTTEN, settings->runs.data + settings->asked,
                     settings->next - settings->asked, runs_looked_up, settings, &err) < 0)
    end_lookup(settings);
}

static void look_up_runs(struct ft_node_settings *settings)
{
  if (settings->runs.length) {
    settings->again = true;
    return;
  }
  settings->asked = settings->next = 0;
  settings->calls.each_run(add_run, settings, settings->calls.data);
  ask_next(settings);
}

/* ---- settings ---- */

static void handle_silence(struct ft_node_settings *settings, const char *why)
{
  if (!settings->warned)
    ft_log(LOG_WARNING, "foretell-learnd does not reply: %s; trying again", why);
  settings->warned = true;
  settings->connected = false;
  ft_loop_at(settings->loop, &settings->timer, ft_io_monotonic() + RETRY_SECONDS);
}

static void handle_reply(struct ft_node_settings *settings)
{
  if (settings->connected)
    return;
  if (settings->warned)
    ft_log(LOG_INFO, "foretell-learnd replies again");
  settings->warned = false;
  settings->connected = true;
  settings->calls.connected(settings->calls.data);
}

static void apply_new_settings(struct ft_node_settings *settings, const ft_settings *new)
{
  uint64_t before = settings->number;

  settings->number = new->number;
  settings->calls.changed(new, settings->calls.data);
  /* also of an agent that has just started, if there was a request since the learner's start */
  if (new->forget_number > before)
    settings->calls.forgotten(settings->calls.data);
  /* at first, too: an earlier agent may have been killed after a request to forget */
  if (!before || new->forget_number > before)
    look_up_runs(settings);
}

static void settings_replied(const struct ft_uplink_reply *reply, void *data)
{
  struct ft_node_settings *settings = data;
  ft_settings new;
  struct ft_error err;

  if (!reply->body ||
      ft_record_decode(FT_RECORD_SETTINGS, reply->body, reply->length, &new, &err) < 0) {
    handle_silence(settings, reply->body ? err.text : reply->why);
    return;
  }
  handle_reply(settings);
  if (new.number != settings->number)
    apply_new_settings(settings, &new);
  if (new.question)
    settings->calls.asked(&new, settings->calls.data);
  ft_loop_at(settings->loop, &settings->timer, ft_io_monotonic());
}

static void send_settings_query(void *data)
{
  struct ft_node_settings *settings = data;
  /* the first reply after a silence comes at once */
  const ft_settings_query query = { .schema = FT_SCHEMA,
                                    .number = settings->connected ? settings->number : 0,
                                    .agent = settings->agent };
  struct ft_error err;

  if (ft_uplink_send_record(settings->uplink, FT_EXCHANGE_SETTINGS, FT_RECORD_SETTINGS_QUERY,
                            &query, settings_replied, settings, &err) < 0)
    handle_silence(settings, err.text);
}

struct ft_node_settings *ft_node_settings_open(struct ft_loop *loop, struct ft_uplink *uplink,
                                               uint64_t agent,
                                               const struct ft_node_settings_callbacks *calls)
{
  struct ft_node_settings *settings = calloc(1, sizeof *settings);

  if (!settings)
    return NULL;
  settings->loop = loop;
  settings->uplink = uplink;
  settings->calls = *calls;
  settings->agent = agent;
  settings->timer = (struct ft_timer){ .fire = send_settings_query, .data = settings };
  ft_buf_init(&settings->runs, FT_LIMIT_RECORDS);
  ft_loop_at(loop, &settings->timer, ft_io_monotonic());
  return settings;
}

void ft_node_settings_close(struct ft_node_settings *settings)
{
  if (!settings)
    return;
  ft_loop_cancel(settings->loop, &settings->timer);
  ft_buf_free(&settings->runs);
  free(settings);
}
