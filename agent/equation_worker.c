/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/log.h"
#include "agent/equation_worker.h"
#include "predictor/core/io.h"
#include "predictor/core/text.h"
#include "predictor/online/equation_search.h"
#include "predictor/record/state_files.h"

enum { WAITING = 64 }; /* apps; one that finds no room is seen again with its next run */

/* Runs come in bursts (arrays): after the first, and between two children. */
#define PAUSE_SECONDS 1.0
/* After a child that failed: whatever was wrong with it will be wrong with the next. */
#define SETBACK_SECONDS 600.0
/* A search takes some seconds of a core; on a full node that is what is left over of one. */
#define CPU_SECONDS 60.0
#define DEADLINE_SECONDS 900.0

struct app {
  uint32_t uid;
  char name[sizeof((ft_model *)NULL)->app];
};

struct ft_equation_worker {
  struct ft_loop *loop;
  struct ft_subprocesses *children;
  struct ft_publisher *publisher;
  int state_fd;
  struct ft_timer start;
  double rest_until;
  bool busy; /* a child seeks for the first that waits */
  size_t count;
  struct app waiting[WAITING];
};

/* ---- in the child ---- */

static int seek(int state_fd, void *data)
{
  const struct app *app = data;
  ft_model *model = calloc(2, sizeof *model);
  struct ft_error err;
  struct ft_buf out;

  ft_buf_init(&out, FT_LIMIT_RECORD);
  if (!model || ft_state_read_own_model(state_fd, app->uid, app->name, model, &err) < 0 ||
      ft_equation_search(model, NULL, NULL, &model[1], &err) < 0 ||
      ft_record_encode(FT_RECORD_MODEL, &model[1], &out, &err) < 0) {
    (void)dprintf(STDERR_FILENO, "%s\n", model ? err.text : "out of memory");
    return 1;
  }
  return ft_io_write_all(STDOUT_FILENO, out.data, out.length) < 0;
}

/* ---- in the agent ---- */

static void arm(struct ft_equation_worker *s)
{
  if (s->count && !s->busy && !s->start.armed)
    ft_loop_at(s->loop, &s->start, fmax(ft_io_monotonic() + PAUSE_SECONDS, s->rest_until));
}

static void rest(struct ft_equation_worker *s)
{
  s->rest_until = ft_io_monotonic() + SETBACK_SECONDS;
}

static void adopt(struct ft_equation_worker *s, const struct app *app,
                  const struct ft_subprocess_result *result)
{
  ft_model *model = malloc(2 * sizeof *model);
  struct ft_error err;

  if (!model)
    return;
  if (ft_record_decode(FT_RECORD_MODEL, result->text, result->length, &model[1], &err) < 0) {
    ft_log(LOG_WARNING, "%s: its equation cannot be read: %s", app->name, err.text);
  } else if (ft_state_read_own_model(s->state_fd, app->uid, app->name, model, &err) < 0 ||
             !ft_equation_search_adopt(model, &model[1])) {
    ft_log(LOG_DEBUG, "%s: its runs are others by now, the equation is not taken", app->name);
  } else if (ft_publish_model(s->publisher, model, &err) < 0) {
    ft_log(LOG_WARNING, "%s: %s", app->name, err.text);
  } else if (!model->evaluator.equation.code.size) {
    ft_log(LOG_DEBUG, "%s: no equation in its %" PRIu32 " runs", app->name,
           model->evaluator.equation.runs);
  } else {
    ft_log(LOG_INFO, "%s: an equation from %" PRIu32 " runs, %.1f %% off%s", app->name,
           model->evaluator.equation.runs, 100 * model->evaluator.equation.error,
           model->evaluator.by_equation ? "" : "; the additive model is no worse");
  }
  free(model);
}

static void found(const struct ft_subprocess_result *result, void *data)
{
  struct ft_equation_worker *s = data;
  struct app app = s->waiting[0];

  s->busy = false;
  s->count--;
  memmove(s->waiting, s->waiting + 1, s->count * sizeof *s->waiting);
  if (result->ok)
    adopt(s, &app, result);
  else
    ft_log(LOG_WARNING, "%s: no equation: %s", app.name, result->why);
  if (!result->ok)
    rest(s);
  arm(s);
}

static void start(void *data)
{
  struct ft_equation_worker *s = data;
  struct ft_error err;

  if (s->busy || !s->count)
    return;
  s->busy = true;
  if (ft_subprocess_fork(s->children, "equation", seek, s->state_fd, &s->waiting[0], CPU_SECONDS,
                         DEADLINE_SECONDS, found, s, &err) == 0)
    return;
  ft_log(LOG_WARNING, "no equation is sought: %s", err.text);
  s->busy = false;
  rest(s);
  arm(s);
}

static void published(const ft_model *model, void *data)
{
  struct ft_equation_worker *s = data;
  struct app *app = &s->waiting[s->count];

  if (s->count == WAITING || !ft_equation_search_due(model))
    return;
  for (size_t i = 0; i < s->count; i++)
    if (s->waiting[i].uid == model->uid && strcmp(s->waiting[i].name, model->app) == 0)
      return;
  app->uid = model->uid;
  (void)ft_string_copy(model->app, app->name, sizeof app->name);
  s->count++;
  arm(s);
}

struct ft_equation_worker *ft_equation_worker_open(struct ft_loop *loop,
                                                   struct ft_subprocesses *children, int state_fd,
                                                   struct ft_publisher *publisher,
                                                   struct ft_error *err)
{
  struct ft_equation_worker *s = calloc(1, sizeof *s);

  if (!s) {
    ft_error_errno(err, "equations");
    return NULL;
  }
  s->loop = loop;
  s->children = children;
  s->publisher = publisher;
  s->state_fd = state_fd;
  s->start = (struct ft_timer){ .fire = start, .data = s };
  ft_publisher_on_model(publisher, published, s);
  return s;
}

void ft_equation_worker_close(struct ft_equation_worker *s)
{
  if (!s)
    return;
  ft_publisher_on_model(s->publisher, NULL, NULL);
  ft_loop_cancel(s->loop, &s->start);
  free(s);
}
