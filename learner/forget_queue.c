/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>

#include "daemon/log.h"
#include "learner/forget_queue.h"
#include "learner/metrics/tally.h"
#include "predictor/core/io.h"
#include "predictor/core/text.h"

enum forget_phase {
  PHASE_IDLE,
  PHASE_UNKNOWN, /* the store may have a pass */
  PHASE_REMOVE,
  PHASE_FINISH
};

struct ft_forget_queue {
  enum forget_phase phase;
  struct ft_forget_pass pass;
  struct ft_forget_report *reports; /* sorted by id */
  int (*before_removal)(const ft_observation *observation, void *data, struct ft_error *err);
  void *data;
};

struct ft_forget_queue *ft_forget_queue_open(
    int (*before_removal)(const ft_observation *observation, void *data, struct ft_error *err),
    void *data)
{
  struct ft_forget_queue *q = calloc(1, sizeof *q);

  if (q)
    *q = (struct ft_forget_queue){ .phase = PHASE_UNKNOWN,
                                   .before_removal = before_removal,
                                   .data = data };
  return q;
}

void ft_forget_queue_close(struct ft_forget_queue *q)
{
  if (!q)
    return;
  ft_forget_pass_free(&q->pass);
  free(q);
}

int ft_forget_queue_add(struct ft_forget_queue *q, struct ft_store *store, const ft_forget *what,
                        struct ft_forget_report *report, struct ft_error *err)
{
  struct ft_forget_report **at = &q->reports;
  struct ft_forget_pass pass;

  if (ft_store_forget_begin(store, what, ft_io_now(), &pass, err) < 0)
    return -1;
  /* next_pass reads the pass from the store, as after a crash */
  if (q->phase == PHASE_IDLE)
    q->phase = PHASE_UNKNOWN;
  report->id = pass.tombstone.id;
  while (*at)
    at = &(*at)->next;
  *at = report;
  return 0;
}

void ft_forget_queue_drop(struct ft_forget_queue *q, struct ft_forget_report *report)
{
  for (struct ft_forget_report **at = &q->reports; *at; at = &(*at)->next)
    if (*at == report) {
      *at = report->next;
      return;
    }
}

bool ft_forget_queue_busy(const struct ft_forget_queue *q)
{
  return q->phase != PHASE_IDLE;
}

/* Returns the report of the current pass, or NULL. A request has further tombstones, with smaller
 * ids, for an app's former names. */
static struct ft_forget_report *current_report(struct ft_forget_queue *q)
{
  struct ft_forget_report *report = q->reports;

  while (report && report->id < q->pass.tombstone.id)
    report = report->next;
  return report;
}

/* Completes the reports of earlier passes, ALL: all reports. Passes run in the order of their
 * tombstones. */
static void complete_reports(struct ft_forget_queue *q, bool all)
{
  for (struct ft_forget_report *r = q->reports; r; r = r->next)
    r->done = r->done || all || r->id < q->pass.tombstone.id;
}

static void add_progress(struct ft_forget_queue *q, const struct ft_forget_pass *before)
{
  struct ft_forget_report *report = current_report(q);

  if (!report)
    return;
  report->total.runs += q->pass.runs - before->runs;
  report->total.kept += q->pass.stripped - before->stripped;
  report->total.models += q->pass.models - before->models;
  report->total.apps += q->pass.app_count - before->app_count;
}

/* Copies the failure of the last step, if any, into all reports. Returns STATUS. */
static int copy_failure(struct ft_forget_queue *q, int status, const struct ft_error *err)
{
  for (struct ft_forget_report *r = q->reports; r; r = r->next) {
    r->failing = status < 0;
    if (r->failing)
      r->why = *err;
  }
  return status;
}

static int next_pass(struct ft_forget_queue *q, struct ft_store *store, struct ft_error *err)
{
  int status = ft_store_forget_next(store, &q->pass, err);

  if (status < 0)
    return -1;
  q->pass.before_removal = q->before_removal;
  q->pass.data = q->data;
  q->phase = status > 0 ? PHASE_REMOVE : PHASE_IDLE;
  complete_reports(q, status == 0);
  return status;
}

static int remove_runs(struct ft_forget_queue *q, struct ft_store *store, struct ft_error *err)
{
  struct ft_forget_pass before = q->pass;
  int status = ft_store_forget_step(store, &q->pass, err);

  if (status < 0)
    return -1;
  ft_tally_add(FT_TALLY_RUNS_FORGOTTEN, (double)(q->pass.runs - before.runs));
  add_progress(q, &before);
  if (status == 0)
    q->phase = PHASE_FINISH;
  return status;
}

int ft_forget_queue_step(struct ft_forget_queue *q, struct ft_store *store, struct ft_error *err)
{
  int status = 0;

  if (q->phase == PHASE_UNKNOWN)
    status = next_pass(q, store, err);
  else if (q->phase == PHASE_REMOVE)
    status = remove_runs(q, store, err);
  return copy_failure(q, status, err);
}

int ft_forget_queue_finish(struct ft_forget_queue *q, struct ft_store *store, struct ft_error *err)
{
  if (q->phase != PHASE_FINISH)
    return 0;
  if (copy_failure(q, ft_store_forget_end(store, &q->pass, FT_SCRUB_INLINE_BYTES, err), err) < 0)
    return -1;
  if (q->pass.runs)
    ft_log(LOG_INFO, "%" PRIu64 " run%s forgotten, and %" PRIu64 " app%s without remaining runs",
           q->pass.runs, ft_plural(q->pass.runs), q->pass.models, ft_plural(q->pass.models));
  ft_forget_pass_free(&q->pass);
  q->phase = PHASE_UNKNOWN;
  return 1;
}
