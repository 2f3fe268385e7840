/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>

#include "agent/forget_queue.h"
#include "agent/log.h"
#include "predictor/core/io.h"

enum phase { IDLE, LOOK, WALK, END };

struct ft_forget_queue {
  enum phase phase; /* LOOK: whether there is a pass in the store is not known */
  struct ft_forget_pass pass;
  struct ft_forget_report *reports; /* by their tombstones, rising */
  int (*leaving)(const ft_observation *observation, void *data, struct ft_error *err);
  void *data;
};

struct ft_forget_queue *ft_forget_queue_open(int (*leaving)(const ft_observation *observation,
                                                            void *data, struct ft_error *err),
                                             void *data)
{
  struct ft_forget_queue *f = calloc(1, sizeof *f);

  if (f)
    *f = (struct ft_forget_queue){ .phase = LOOK, .leaving = leaving, .data = data };
  return f;
}

void ft_forget_queue_close(struct ft_forget_queue *f)
{
  if (!f)
    return;
  ft_forget_pass_free(&f->pass);
  free(f);
}

int ft_forget_queue_add(struct ft_forget_queue *f, struct ft_store *store, const ft_forget *what,
                        struct ft_forget_report *report, struct ft_error *err)
{
  struct ft_forget_report **at = &f->reports;
  struct ft_forget_pass pass;

  if (ft_store_forget_begin(store, what, ft_io_now(), &pass, err) < 0)
    return -1;
  /* the pass itself is found in the store, as after a crash */
  if (f->phase == IDLE)
    f->phase = LOOK;
  report->id = pass.stone.id;
  while (*at)
    at = &(*at)->next;
  *at = report;
  return 0;
}

void ft_forget_queue_drop(struct ft_forget_queue *f, struct ft_forget_report *report)
{
  for (struct ft_forget_report **at = &f->reports; *at; at = &(*at)->next)
    if (*at == report) {
      *at = report->next;
      return;
    }
}

bool ft_forget_queue_busy(const struct ft_forget_queue *f)
{
  return f->phase != IDLE;
}

/* The report that the pass is for: an app's former names have tombstones before its own. */
static struct ft_forget_report *report_of(struct ft_forget_queue *f)
{
  struct ft_forget_report *report = f->reports;

  while (report && report->id < f->pass.stone.id)
    report = report->next;
  return report;
}

/* Passes come in the order of their tombstones: which of the reports tell of an earlier one? All of
 * them where no pass is left. */
static void end_reports(struct ft_forget_queue *f, bool all)
{
  for (struct ft_forget_report *r = f->reports; r; r = r->next)
    r->over = r->over || all || r->id < f->pass.stone.id;
}

static void count(struct ft_forget_queue *f, const struct ft_forget_pass *before)
{
  struct ft_forget_report *report = report_of(f);

  if (!report)
    return;
  report->total.runs += f->pass.runs - before->runs;
  report->total.kept += f->pass.kept - before->kept;
  report->total.models += f->pass.models - before->models;
  report->total.apps += f->pass.app_count - before->app_count;
}

/* Returns STATUS, and notes in every report whether, and why, the last step failed. */
static int failed(struct ft_forget_queue *f, int status, const struct ft_error *err)
{
  for (struct ft_forget_report *r = f->reports; r; r = r->next) {
    r->failing = status < 0;
    if (r->failing)
      r->why = *err;
  }
  return status;
}

static int look(struct ft_forget_queue *f, struct ft_store *store, struct ft_error *err)
{
  int status = ft_store_forget_next(store, &f->pass, err);

  if (status < 0)
    return -1;
  f->pass.leaving = f->leaving;
  f->pass.data = f->data;
  f->phase = status > 0 ? WALK : IDLE;
  end_reports(f, status == 0);
  return status;
}

static int walk(struct ft_forget_queue *f, struct ft_store *store, struct ft_error *err)
{
  struct ft_forget_pass before = f->pass;
  int status = ft_store_forget_step(store, &f->pass, err);

  if (status < 0)
    return -1;
  count(f, &before);
  if (status == 0)
    f->phase = END;
  return status;
}

int ft_forget_queue_step(struct ft_forget_queue *f, struct ft_store *store, struct ft_error *err)
{
  int status = 0;

  if (f->phase == LOOK)
    status = look(f, store, err);
  else if (f->phase == WALK)
    status = walk(f, store, err);
  return failed(f, status, err);
}

int ft_forget_queue_finish(struct ft_forget_queue *f, struct ft_store *store, struct ft_error *err)
{
  if (f->phase != END)
    return 0;
  if (failed(f, ft_store_forget_end(store, &f->pass, FT_SCRUB_INLINE_BYTES, err), err) < 0)
    return -1;
  if (f->pass.runs)
    ft_log(LOG_INFO, "%" PRIu64 " runs forgotten, %" PRIu64 " apps with their last one",
           f->pass.runs, f->pass.models);
  ft_forget_pass_free(&f->pass);
  f->phase = LOOK;
  return 1;
}
