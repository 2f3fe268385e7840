/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/log.h"
#include "learner/equation_worker.h"
#include "learner/metrics/tally.h"
#include "predictor/core/io.h"
#include "predictor/core/text.h"
#include "predictor/estimate/quantity.h"
#include "predictor/online/equation_search.h"
#include "predictor/record/state_files.h"

enum { MAX_WAITING = 64 }; /* apps; one beyond the limit is due again after its next run */

/* Pause before each child, because runs come in bursts (arrays). */
#define SEARCH_PAUSE_SECONDS 1.0
/* Pause after a failed child, because the next one will probably fail as well. */
#define FAILURE_PAUSE_SECONDS 600.0
/* Limits of a search, which takes some seconds of a core, much longer on a busy node at nice 19. */
#define SEARCH_CPU_SECONDS 60.0
#define SEARCH_DEADLINE_SECONDS 900.0

struct searched_app {
  uint32_t uid;
  char name[sizeof((ft_model *)NULL)->app];
};

struct ft_equation_worker {
  struct ft_loop *loop;
  struct ft_subprocesses *children;
  struct ft_publisher *publisher;
  int state_fd;
  struct ft_timer start_timer;
  double pause_until; /* monotonic */
  bool busy;          /* a child searches for waiting[0] */
  size_t count;
  struct searched_app waiting[MAX_WAITING];
};

/* ---- in the child ---- */

/* An app's model and its runs, or the result of a search. */
struct search_model {
  ft_model model;
  struct ft_history history;
};

static int search_equation(int state_fd, void *data)
{
  const struct searched_app *app = data;
  struct search_model *from = calloc(2, sizeof *from), *found = from ? &from[1] : NULL;
  const ft_model *section = found ? &found->model : NULL;
  struct ft_error err;
  struct ft_buf out;

  ft_buf_init(&out, FT_LIMIT_RECORD);
  if (!from ||
      ft_state_read_own_model(state_fd, app->uid, app->name, &from->model, &from->history, &err) <
          0 ||
      ft_equation_search(&from->model, &from->history, NULL, NULL, &found->model, &found->history,
                         &err) < 0 ||
      ft_model_file_encode(&section, 1, &found->history, &out, &err) < 0) {
    (void)dprintf(STDERR_FILENO, "%s\n", from ? err.text : "out of memory");
    return 1;
  }
  return ft_io_write_all(STDOUT_FILENO, out.data, out.length) < 0;
}

/* ---- in the learner ---- */

static void arm_search(struct ft_equation_worker *w)
{
  if (w->count && !w->busy && !w->start_timer.armed)
    ft_loop_at(w->loop, &w->start_timer,
               fmax(ft_io_monotonic() + SEARCH_PAUSE_SECONDS, w->pause_until));
}

static void pause_searches(struct ft_equation_worker *w)
{
  w->pause_until = ft_io_monotonic() + FAILURE_PAUSE_SECONDS;
}

int ft_equation_worker_adopt(struct ft_equation_worker *w, const ft_model *found,
                             const struct ft_history *found_runs, struct ft_error *err)
{
  struct ft_app_models *own = malloc(sizeof *own);
  const ft_evaluator *e = own ? &own->model.evaluator : NULL;
  int status = 0;

  if (!own)
    return ft_error_errno(err, "%s", found->app);
  if (ft_published_app(w->publisher, found->uid, found->app, own, err) == 0 && own->has_model &&
      ft_equation_search_adopt(&own->model, &own->history, found, found_runs))
    status = ft_publish_app(w->publisher, own, 1U << FT_QUANTITY_MEMORY, err) < 0 ? -1 : 1;
  if (!status)
    ft_log(LOG_DEBUG, "%s: equation discarded, run history changed since the search started",
           found->app);
  else if (status > 0 && !e->equation.code.size)
    ft_log(LOG_DEBUG, "%s: no equation found in %" PRIu32 " runs", found->app, e->equation.runs);
  else if (status > 0)
    ft_log(LOG_INFO, "%s: equation found in %" PRIu32 " runs, error %.1f %%%s", found->app,
           e->equation.runs, 100 * e->equation.error,
           e->by_equation ? "" : "; not used, the additive model is no worse");
  free(own);
  return status;
}

static void adopt_result(struct ft_equation_worker *w, const struct searched_app *app,
                         const struct ft_subprocess_result *result)
{
  struct search_model *found = malloc(sizeof *found);
  struct ft_error err;

  if (!found)
    return;
  if (ft_model_file_decode(result->text, result->length, "result", FT_QUANTITY_MEMORY,
                           &found->model, &found->history, &err) < 0)
    ft_log(LOG_WARNING, "%s: invalid result of the equation search: %s", app->name, err.text);
  else if (ft_equation_worker_adopt(w, &found->model, &found->history, &err) < 0)
    ft_log(LOG_WARNING, "%s: %s", app->name, err.text);
  free(found);
}

static void search_done(const struct ft_subprocess_result *result, void *data)
{
  struct ft_equation_worker *w = data;
  struct searched_app app = w->waiting[0];

  ft_tally_add(result->ok ? FT_TALLY_EQUATIONS_DONE : FT_TALLY_EQUATIONS_FAILED, 1);
  w->busy = false;
  w->count--;
  memmove(w->waiting, w->waiting + 1, w->count * sizeof *w->waiting);
  if (result->ok)
    adopt_result(w, &app, result);
  else
    ft_log(LOG_WARNING, "%s: equation search failed: %s", app.name, result->why);
  if (!result->ok)
    pause_searches(w);
  arm_search(w);
}

static void start_search(void *data)
{
  struct ft_equation_worker *w = data;
  struct ft_error err;

  if (w->busy || !w->count)
    return;
  w->busy = true;
  if (ft_subprocess_fork(w->children, "equation", search_equation, w->state_fd, &w->waiting[0],
                         SEARCH_CPU_SECONDS, SEARCH_DEADLINE_SECONDS, search_done, w, &err) == 0)
    return;
  ft_log(LOG_WARNING, "cannot start an equation search: %s", err.text);
  w->busy = false;
  pause_searches(w);
  arm_search(w);
}

static void model_published(const struct ft_app_models *models, void *data)
{
  struct ft_equation_worker *w = data;
  const ft_model *model = &models->model;
  struct searched_app *app = &w->waiting[w->count];

  if (w->count == MAX_WAITING || !ft_equation_search_due(model, &models->history))
    return;
  for (size_t i = 0; i < w->count; i++)
    if (w->waiting[i].uid == model->uid && strcmp(w->waiting[i].name, model->app) == 0)
      return;
  app->uid = model->uid;
  (void)ft_string_copy(model->app, app->name, sizeof app->name);
  w->count++;
  arm_search(w);
}

struct ft_equation_worker *ft_equation_worker_open(struct ft_loop *loop,
                                                   struct ft_subprocesses *children, int state_fd,
                                                   struct ft_publisher *publisher,
                                                   struct ft_error *err)
{
  struct ft_equation_worker *w = calloc(1, sizeof *w);

  if (!w) {
    ft_error_errno(err, "equations");
    return NULL;
  }
  w->loop = loop;
  w->children = children;
  w->publisher = publisher;
  w->state_fd = state_fd;
  w->start_timer = (struct ft_timer){ .fire = start_search, .data = w };
  ft_publisher_on(publisher, FT_QUANTITY_MEMORY, model_published, w);
  return w;
}

void ft_equation_worker_close(struct ft_equation_worker *w)
{
  if (!w)
    return;
  ft_publisher_on(w->publisher, FT_QUANTITY_MEMORY, NULL, NULL);
  ft_loop_cancel(w->loop, &w->start_timer);
  free(w);
}
