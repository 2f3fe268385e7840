/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/log.h"
#include "agent/relate.h"
#include "predictor/core/io.h"
#include "predictor/core/text.h"
#include "predictor/online/performance.h"
#include "predictor/online/transfer.h"
#include "predictor/record/layout.h"

enum {
  WAITING = 64,    /* apps; one that finds no room is seen again with its next run */
  LEARN_RUNS = 10, /* of apps on several platforms, since the model was learnt */
  LEARN_APPS = 3,  /* from fewer nothing is learnt */
  TREES = 150
};

/* Runs come in bursts (arrays): after the first, and between two children. */
#define PAUSE_SECONDS 1.0
/* Between two models, and after a child that failed. */
#define REST_SECONDS 600.0
#define CPU_SECONDS 300.0
#define DEADLINE_SECONDS 3600.0

struct app {
  uint32_t uid;
  char name[sizeof((ft_performance *)NULL)->app];
};

/* What a child is to do. */
struct task {
  char state[PATH_MAX];
  bool learn;
  size_t count;
  struct app app[WAITING];
};

struct ft_relater {
  struct ft_loop *loop;
  struct ft_children *children;
  struct ft_publisher *publisher;
  int state_fd;
  struct ft_timer start;
  double rest_until, learn_from; /* monotonic seconds: no child, no new model before */
  unsigned runs;                 /* of apps on several platforms */
  bool busy, adopting;
  struct task waiting, given;
  ft_performance performance;
};

/* ---- in the child ---- */

/* Everybody is told by a new model. */
static void join(struct task *task, const ft_performance *p)
{
  struct app *app = &task->app[task->count];

  for (size_t i = 0; i < task->count; i++)
    if (task->app[i].uid == p->uid && strcmp(task->app[i].name, p->app) == 0)
      return;
  if (task->count == WAITING)
    return;
  app->uid = p->uid;
  (void)ft_string_copy(p->app, app->name, sizeof app->name);
  task->count++;
}

/* The run times in the folder FD, which it closes, but those of all users together: each user's are there. */
static int gather_user(struct task *task, int fd, struct ft_relative_table *table,
                       struct ft_error *err)
{
  DIR *folder = fdopendir(fd);
  ft_performance *p = malloc(sizeof *p);
  struct dirent *entry;
  int status = 0;

  if (!folder)
    close(fd);
  while (status == 0 && folder && p && (entry = readdir(folder))) {
    const char *dot = strrchr(entry->d_name, '.');

    if (!dot || strcmp(dot, ".perf") != 0 ||
        ft_record_read(FT_RECORD_PERFORMANCE, fd, entry->d_name, p, NULL) < 0 ||
        p->uid == FT_LAYOUT_POOLED || !p->history_count)
      continue;
    join(task, p);
    ft_performance_untell(p);
    status = ft_transfer_add(table, p, err);
  }
  if (folder)
    closedir(folder);
  free(p);
  return status;
}

/*
 * What was published, not the store: a fork of a process that has an SQLite database open
 * cannot open it too.
 */
static int gather(struct task *task, int state_fd, struct ft_relative_table *table,
                  struct ft_error *err)
{
  int fd = openat(state_fd, FT_LAYOUT_MODELS, O_RDONLY | O_DIRECTORY | O_CLOEXEC), user;
  DIR *users = fd < 0 ? NULL : fdopendir(fd);
  struct dirent *entry;
  int status = 0;

  if (!users) {
    if (fd >= 0)
      close(fd);
    return ft_error_errno(err, FT_LAYOUT_MODELS);
  }
  while (status == 0 && (entry = readdir(users))) {
    if (entry->d_name[0] == '.')
      continue;
    user = openat(fd, entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (user >= 0)
      status = gather_user(task, user, table, err);
  }
  closedir(users);
  return status;
}

/* Returns 1 with the model learnt and kept, 0 where there is too little to learn from, -1 with ERR. */
static int learn(struct task *task, int state_fd, const char *path, struct ft_relative_model *m,
                 struct ft_error *err)
{
  struct ft_relative_settings settings = { .ratios = { .trees = TREES, .seed = 1 } };
  struct ft_relative_table table = { 0 };
  int status = gather(task, state_fd, &table, err);

  for (int l = 0; l < FT_LEARNERS; l++)
    if (!ft_learner_slow((enum ft_learner_kind)l))
      settings.ratios.learners |= 1u << l;
  if (status == 0 && table.rows >= LEARN_APPS) {
    settings.from = ft_relative_source(&table, NULL, err);
    status = ft_relative_learn(&table, NULL, &settings, m, err);
    if (status == 0)
      status = ft_relative_save(m, path, 0600, err) < 0 ? -1 : 1;
  }
  ft_relative_table_free(&table);
  return status;
}

static void tell(const struct ft_relative_model *m, const struct app *app, ft_performance *p,
                 struct ft_buf *out)
{
  int told = ft_transfer_tell(m, p, NULL);

  if (told < 0)
    return;
  (void)ft_buf_printf(out, "app %" PRIu32 " %s\n", app->uid, app->name);
  for (size_t i = 0; i < p->places_count; i++)
    if (p->places[i].has_told_log_ratio)
      (void)ft_buf_printf(out, "told %.9g %.9g %s\n", p->places[i].told_log_ratio,
                          p->places[i].told_deviation, p->places[i].platform);
}

static int relate_with(struct task *task, int state_fd, struct ft_relative_model *m,
                       struct ft_buf *out, struct ft_error *err)
{
  char path[PATH_MAX + 32];
  ft_performance *p = malloc(sizeof *p);
  int learnt = 0;

  if (!p)
    return ft_error_set(err, "out of memory");
  (void)snprintf(path, sizeof path, "%s/" FT_LAYOUT_RELATIVE, task->state);
  if (task->learn)
    learnt = learn(task, state_fd, path, m, err);
  if (learnt == 0 && faccessat(state_fd, FT_LAYOUT_RELATIVE, R_OK, 0) == 0)
    learnt = ft_relative_load(path, m, err) < 0 ? -1 : 1;
  for (size_t i = 0; learnt > 0 && i < task->count; i++)
    if (ft_layout_read_own_performance(state_fd, task->app[i].uid, task->app[i].name, p, NULL) == 0)
      tell(m, &task->app[i], p, out);
  free(p);
  return learnt < 0 ? -1 : 0;
}

static int relate(int state_fd, void *data)
{
  struct ft_relative_model model = { 0 };
  struct ft_error err;
  struct ft_buf out;
  int status;

  ft_buf_init(&out, FT_LIMIT_RECORD);
  status = relate_with(data, state_fd, &model, &out, &err);
  if (status < 0)
    (void)dprintf(STDERR_FILENO, "%s\n", err.text);
  else
    status = ft_io_write_all(STDOUT_FILENO, out.data, out.length);
  ft_relative_model_free(&model);
  ft_buf_free(&out);
  return status < 0;
}

/* ---- in the agent ---- */

static void arm(struct ft_relater *r)
{
  if (r->waiting.count && !r->busy && !r->start.armed)
    ft_loop_at(r->loop, &r->start, fmax(ft_io_monotonic() + PAUSE_SECONDS, r->rest_until));
}

/* Of one app, the lines "told" at the head of TEXT, which are taken from it. */
static void adopt_app(struct ft_relater *r, struct ft_text *text, const struct app *app)
{
  ft_performance *p = &r->performance;
  bool known = ft_layout_read_own_performance(r->state_fd, app->uid, app->name, p, NULL) == 0;
  struct ft_text line, rest = *text;
  struct ft_error err;

  if (known)
    ft_performance_untell(p);
  while (ft_text_line(&rest, &line) && ft_text_skip(&line, "told ")) {
    char platform[sizeof p->places->platform];
    double log_ratio, deviation;

    *text = rest;
    if (known && ft_text_double(&line, &log_ratio) && ft_text_skip(&line, " ") &&
        ft_text_double(&line, &deviation) && ft_text_skip(&line, " ") &&
        ft_text_copy(line, platform, sizeof platform))
      ft_performance_tell(p, platform, log_ratio, deviation);
  }
  if (known && ft_publish_performance(r->publisher, p, &err) < 0)
    ft_log(LOG_WARNING, "%s: %s", app->name, err.text);
}

static size_t adopt(struct ft_relater *r, struct ft_text text)
{
  struct ft_text line;
  size_t apps = 0;

  r->adopting = true;
  while (ft_text_line(&text, &line)) {
    struct app app;
    uint64_t uid;

    if (!ft_text_skip(&line, "app ") || !ft_text_u64(&line, UINT32_MAX, &uid) ||
        !ft_text_skip(&line, " ") || !ft_text_copy(line, app.name, sizeof app.name))
      continue;
    app.uid = (uint32_t)uid;
    adopt_app(r, &text, &app);
    apps++;
  }
  r->adopting = false;
  return apps;
}

static void related(const struct ft_child_result *result, void *data)
{
  struct ft_relater *r = data;

  r->busy = false;
  if (result->ok) {
    size_t apps = adopt(r, ft_text_of(result->text, result->length));

    if (apps)
      ft_log(r->given.learn ? LOG_INFO : LOG_DEBUG, "%zu app%s told of other platforms", apps,
             apps == 1 ? "" : "s");
  } else {
    ft_log(LOG_WARNING, "nothing is told of other platforms: %s", result->why);
    r->rest_until = ft_io_monotonic() + REST_SECONDS;
  }
  arm(r);
}

static void start(void *data)
{
  struct ft_relater *r = data;
  double now = ft_io_monotonic();
  struct ft_error err;

  if (r->busy || !r->waiting.count)
    return;
  r->waiting.learn = r->runs >= LEARN_RUNS && now >= r->learn_from;
  r->given = r->waiting;
  r->waiting.count = 0;
  if (!r->given.learn && faccessat(r->state_fd, FT_LAYOUT_RELATIVE, R_OK, 0) < 0)
    return;
  if (r->given.learn) {
    r->runs = 0;
    r->learn_from = now + REST_SECONDS;
  }
  r->busy = true;
  if (ft_child_fork(r->children, "relative", relate, r->state_fd, &r->given, CPU_SECONDS,
                    DEADLINE_SECONDS, related, r, &err) == 0)
    return;
  ft_log(LOG_WARNING, "nothing is told of other platforms: %s", err.text);
  r->busy = false;
  r->rest_until = now + REST_SECONDS;
}

static void published(const ft_performance *p, void *data)
{
  struct ft_relater *r = data;
  struct task *w = &r->waiting;
  size_t places = 0;

  if (r->adopting)
    return;
  for (size_t i = 0; i < p->places_count; i++)
    places += p->places[i].runs > 0;
  r->runs += places > 1;
  for (size_t i = 0; i < w->count; i++)
    if (w->app[i].uid == p->uid && strcmp(w->app[i].name, p->app) == 0)
      return;
  if (w->count == WAITING)
    return;
  w->app[w->count].uid = p->uid;
  (void)ft_string_copy(p->app, w->app[w->count++].name, sizeof w->app->name);
  arm(r);
}

struct ft_relater *ft_relater_open(struct ft_loop *loop, struct ft_children *children, int state_fd,
                                   const char *state_path, struct ft_publisher *publisher,
                                   struct ft_error *err)
{
  struct ft_relater *r = calloc(1, sizeof *r);

  if (!r) {
    ft_error_errno(err, "platforms");
    return NULL;
  }
  r->loop = loop;
  r->children = children;
  r->publisher = publisher;
  r->state_fd = state_fd;
  (void)ft_string_copy(state_path, r->waiting.state, sizeof r->waiting.state);
  r->start = (struct ft_timer){ .fire = start, .data = r };
  ft_publisher_watch_times(publisher, published, r);
  return r;
}

void ft_relater_close(struct ft_relater *r)
{
  if (!r)
    return;
  ft_publisher_watch_times(r->publisher, NULL, NULL);
  ft_loop_cancel(r->loop, &r->start);
  free(r);
}
