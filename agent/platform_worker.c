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
#include "agent/platform_worker.h"
#include "predictor/core/io.h"
#include "predictor/core/text.h"
#include "predictor/online/performance.h"
#include "predictor/online/platform_transfer.h"
#include "predictor/record/state_files.h"

enum {
  WAITING = 64,        /* apps; where one finds no room, all are told again */
  LEAST = WAITING / 2, /* of all apps, at a time, however many wait */
  LEARN_RUNS = 10,     /* of apps on several platforms, since the model was learnt */
  LEARN_APPS = 3,      /* from fewer nothing is learnt */
  TREES = 150
};

/* Runs come in bursts (arrays): after the first, and between two children. So all apps are told
 * by a new model at some 30 a second, which nobody feels. */
#define PAUSE_SECONDS 1.0
/* Between two models, and after a child that failed. */
#define REST_SECONDS 600.0
#define CPU_SECONDS 300.0
#define DEADLINE_SECONDS 3600.0

struct app {
  uint32_t uid;
  char name[sizeof((ft_performance *)NULL)->app];
};

/* A file of run times. */
struct place {
  uint32_t uid;
  char file[FT_STATE_NAME_SIZE];
};

/* What a child is to do. */
struct task {
  char state[PATH_MAX];
  bool learn;
  bool all;           /* tell others, too, as far as there is room: */
  struct place after; /* those behind this one, which begins as nowhere */
  size_t count;
  struct app app[WAITING];
};

struct ft_platform_worker {
  struct ft_loop *loop;
  struct ft_subprocesses *children;
  struct ft_publisher *publisher;
  int state_fd;
  struct ft_timer start;
  double rest_until, learn_from; /* monotonic seconds: no child, no new model before */
  unsigned runs;                 /* of apps on several platforms */
  bool busy, adopting;
  bool missed;                   /* an app found no room among those that wait */
  bool all;                      /* not all apps were told by the last model */
  struct place told;             /* the last of those that were */
  struct task waiting, given;
  ft_performance performance;
};

/* ---- in the child ---- */

/* What is done with each file of run times; FD is of its folder, PLACE's user's. 0; -1 with ERR. */
typedef int visit(const struct place *place, int fd, void *data, struct ft_error *err);

static int visit_user(uint32_t uid, int fd, visit *call, void *data, struct ft_error *err)
{
  DIR *folder = fdopendir(fd);
  struct place place = { .uid = uid };
  struct dirent *entry;
  int status = 0;

  if (!folder)
    close(fd);
  while (status == 0 && folder && (entry = readdir(folder))) {
    const char *dot = strrchr(entry->d_name, '.');

    if (dot && strcmp(dot, ".perf") == 0 &&
        ft_string_copy(entry->d_name, place.file, sizeof place.file))
      status = call(&place, fd, data, err);
  }
  if (folder)
    closedir(folder);
  return status;
}

/*
 * Every file of run times. What was published, not the store: a fork of a process that has an
 * SQLite database open cannot open it too.
 */
static int visit_all(int state_fd, visit *call, void *data, struct ft_error *err)
{
  DIR *users = ft_io_open_directory(state_fd, FT_STATE_MODELS);
  struct dirent *entry;
  int status = 0, user;

  if (!users)
    return ft_error_errno(err, FT_STATE_MODELS);
  while (status == 0 && (entry = readdir(users))) {
    struct ft_text name = ft_text_from(entry->d_name);
    uint64_t uid;

    /* not the folder that all may read: its own copies are among the others */
    if (!ft_text_u64(&name, UINT32_MAX, &uid) || ft_text_left(&name))
      continue;
    user = openat(dirfd(users), entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (user >= 0)
      status = visit_user((uint32_t)uid, user, call, data, err);
  }
  closedir(users);
  return status;
}

/* What a model is learnt from. */
struct lesson {
  struct ft_relative_table table;
  ft_performance performance;
};

static int add_lesson(const struct place *place, int fd, void *data, struct ft_error *err)
{
  struct lesson *lesson = data;
  ft_performance *p = &lesson->performance;

  /* what all users know together each user's know, too */
  if (place->uid == FT_STATE_POOLED ||
      ft_record_read(FT_RECORD_PERFORMANCE, fd, place->file, p, NULL) < 0 || !p->history_count)
    return 0;
  ft_performance_clear_transfers(p);
  return ft_platform_transfer_add(&lesson->table, p, err);
}

/* The next of all apps, in order of their files. */
struct queue {
  struct place after, next[WAITING]; /* rising */
  size_t count, room;
  bool more;
};

static int compare(const struct place *a, const struct place *b)
{
  return a->uid != b->uid ? (a->uid > b->uid) - (a->uid < b->uid) : strcmp(a->file, b->file);
}

static int line_up(const struct place *place, int fd, void *data, struct ft_error *err)
{
  struct queue *q = data;
  size_t at = q->count;

  (void)fd;
  (void)err;
  if (q->after.file[0] && compare(place, &q->after) <= 0)
    return 0;
  while (at > 0 && compare(place, &q->next[at - 1]) < 0)
    at--;
  if (q->count == q->room) {
    q->more = true;
    if (at == q->count)
      return 0;
    q->count--;
  }
  memmove(&q->next[at + 1], &q->next[at], (q->count - at) * sizeof *q->next);
  q->next[at] = *place;
  q->count++;
  return 0;
}

/* Returns 1 with the model learnt and kept, 0 where there is too little to learn from, -1 with ERR.
 */
static int learn(int state_fd, const char *path, struct ft_relative_model *m, struct ft_error *err)
{
  struct ft_relative_settings settings = { .ratios = { .trees = TREES, .seed = 1 } };
  struct lesson *lesson = calloc(1, sizeof *lesson);
  struct ft_relative_table *table = lesson ? &lesson->table : NULL;
  int status =
      lesson ? visit_all(state_fd, add_lesson, lesson, err) : ft_error_set(err, "out of memory");

  for (int l = 0; l < FT_LEARNERS; l++)
    if (!ft_learner_slow((enum ft_learner_kind)l))
      settings.ratios.learners |= 1u << l;
  if (status == 0 && table->rows >= LEARN_APPS) {
    settings.from = ft_relative_source(table, NULL, err);
    status = ft_relative_learn(table, NULL, &settings, m, err);
    if (status == 0)
      status = ft_relative_save(m, path, 0600, err) < 0 ? -1 : 1;
  }
  if (table)
    ft_relative_table_free(table);
  free(lesson);
  return status;
}

static void tell(const struct ft_relative_model *m, const struct app *app, ft_performance *p,
                 struct ft_buf *out)
{
  int told = ft_platform_transfer_estimate(m, p, NULL);

  if (told < 0)
    return;
  (void)ft_buf_printf(out, "app %" PRIu32 " %s\n", app->uid, app->name);
  for (size_t i = 0; i < p->platforms_count; i++)
    if (p->platforms[i].has_transferred_log_ratio)
      (void)ft_buf_printf(out, "told %.9g %.9g %s\n", p->platforms[i].transferred_log_ratio,
                          p->platforms[i].transferred_deviation, p->platforms[i].platform);
}

/* Those of all apps whose turn it is; "next" tells the agent where to go on. */
static int tell_next(const struct task *task, int state_fd, const struct ft_relative_model *m,
                     ft_performance *p, struct ft_buf *out, struct ft_error *err)
{
  struct queue *q = calloc(1, sizeof *q);
  int status = q ? 0 : ft_error_set(err, "out of memory");

  if (q) {
    q->after = task->after;
    q->room = task->count < LEAST ? WAITING - task->count : LEAST;
    status = visit_all(state_fd, line_up, q, err);
  }
  for (size_t i = 0; q && status == 0 && i < q->count; i++) {
    char path[sizeof FT_STATE_MODELS + FT_STATE_NAME_SIZE + 16];
    struct app app = { .uid = q->next[i].uid };

    (void)snprintf(path, sizeof path, FT_STATE_MODELS "/%" PRIu32 "/%s", app.uid, q->next[i].file);
    if (ft_record_read(FT_RECORD_PERFORMANCE, state_fd, path, p, NULL) == 0 &&
        ft_string_copy(p->app, app.name, sizeof app.name))
      tell(m, &app, p, out);
  }
  if (q && q->more)
    (void)ft_buf_printf(out, "next %" PRIu32 " %s\n", q->next[q->count - 1].uid,
                        q->next[q->count - 1].file);
  free(q);
  return status;
}

static int relate_with(struct task *task, int state_fd, struct ft_relative_model *m,
                       struct ft_buf *out, struct ft_error *err)
{
  char path[PATH_MAX + 32];
  ft_performance *p = malloc(sizeof *p);
  int learnt = 0;

  if (!p)
    return ft_error_set(err, "out of memory");
  (void)snprintf(path, sizeof path, "%s/" FT_STATE_RELATIVE, task->state);
  if (task->learn)
    learnt = learn(state_fd, path, m, err);
  if (learnt > 0) {
    task->all = true;
    task->after.file[0] = '\0';
  }
  if (learnt == 0 && faccessat(state_fd, FT_STATE_RELATIVE, R_OK, 0) == 0)
    learnt = ft_relative_load(path, m, err) < 0 ? -1 : 1;
  for (size_t i = 0; learnt > 0 && i < task->count; i++)
    if (ft_state_read_own_performance(state_fd, task->app[i].uid, task->app[i].name, p, NULL) == 0)
      tell(m, &task->app[i], p, out);
  if (learnt > 0 && task->all && tell_next(task, state_fd, m, p, out, err) < 0)
    learnt = -1;
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

static void arm(struct ft_platform_worker *r)
{
  if ((r->waiting.count || r->all || r->missed) && !r->busy && !r->start.armed)
    ft_loop_at(r->loop, &r->start, fmax(ft_io_monotonic() + PAUSE_SECONDS, r->rest_until));
}

/* Of one app, the lines "told" at the head of TEXT, which are taken from it. */
static void adopt_app(struct ft_platform_worker *r, struct ft_text *text, const struct app *app)
{
  ft_performance *p = &r->performance;
  bool known = ft_state_read_own_performance(r->state_fd, app->uid, app->name, p, NULL) == 0;
  struct ft_text line, rest = *text;
  struct ft_error err;

  if (known)
    ft_performance_clear_transfers(p);
  while (ft_text_line(&rest, &line) && ft_text_skip(&line, "told ")) {
    char platform[sizeof p->platforms->platform];
    double log_ratio, deviation;

    *text = rest;
    if (known && ft_text_double(&line, &log_ratio) && ft_text_skip(&line, " ") &&
        ft_text_double(&line, &deviation) && ft_text_skip(&line, " ") &&
        ft_text_copy(line, platform, sizeof platform))
      ft_performance_set_transfer(p, platform, log_ratio, deviation);
  }
  if (known && ft_publish_performance(r->publisher, p, &err) < 0)
    ft_log(LOG_WARNING, "%s: %s", app->name, err.text);
}

static size_t adopt(struct ft_platform_worker *r, struct ft_text text)
{
  struct ft_text line;
  size_t apps = 0;

  r->adopting = true;
  r->all = false;
  while (ft_text_line(&text, &line)) {
    struct app app;
    uint64_t uid;

    if (ft_text_skip(&line, "next ")) {
      r->all = ft_text_u64(&line, UINT32_MAX, &uid) && ft_text_skip(&line, " ") &&
               ft_text_copy(line, r->told.file, sizeof r->told.file);
      r->told.uid = (uint32_t)uid;
      continue;
    }
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

static void related(const struct ft_subprocess_result *result, void *data)
{
  struct ft_platform_worker *r = data;

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
  struct ft_platform_worker *r = data;
  double now = ft_io_monotonic();
  struct ft_error err;

  if (r->busy || !(r->waiting.count || r->all || r->missed))
    return;
  if (r->missed && !r->all) {
    r->all = true;
    r->told.file[0] = '\0';
    r->missed = false;
  }
  r->waiting.learn = r->runs >= LEARN_RUNS && now >= r->learn_from;
  r->waiting.all = r->all;
  r->waiting.after = r->told;
  r->given = r->waiting;
  r->waiting.count = 0;
  if (!r->given.learn && faccessat(r->state_fd, FT_STATE_RELATIVE, R_OK, 0) < 0) {
    r->all = false;
    return;
  }
  if (r->given.learn) {
    r->runs = 0;
    r->learn_from = now + REST_SECONDS;
  }
  r->busy = true;
  if (ft_subprocess_fork(r->children, "relative", relate, r->state_fd, &r->given, CPU_SECONDS,
                         DEADLINE_SECONDS, related, r, &err) == 0)
    return;
  ft_log(LOG_WARNING, "nothing is told of other platforms: %s", err.text);
  r->busy = false;
  r->rest_until = now + REST_SECONDS;
}

static void published(const ft_performance *p, void *data)
{
  struct ft_platform_worker *r = data;
  struct task *w = &r->waiting;
  size_t places = 0;

  if (r->adopting)
    return;
  for (size_t i = 0; i < p->platforms_count; i++)
    places += p->platforms[i].runs > 0;
  r->runs += places > 1;
  for (size_t i = 0; i < w->count; i++)
    if (w->app[i].uid == p->uid && strcmp(w->app[i].name, p->app) == 0)
      return;
  if (w->count == WAITING) {
    r->missed = true;
    return;
  }
  w->app[w->count].uid = p->uid;
  (void)ft_string_copy(p->app, w->app[w->count++].name, sizeof w->app->name);
  arm(r);
}

struct ft_platform_worker *ft_platform_worker_open(struct ft_loop *loop,
                                                   struct ft_subprocesses *children, int state_fd,
                                                   const char *state_path,
                                                   struct ft_publisher *publisher,
                                                   struct ft_error *err)
{
  struct ft_platform_worker *r = calloc(1, sizeof *r);

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
  ft_publisher_on_performance(publisher, published, r);
  return r;
}

void ft_platform_worker_close(struct ft_platform_worker *r)
{
  if (!r)
    return;
  ft_publisher_on_performance(r->publisher, NULL, NULL);
  ft_loop_cancel(r->loop, &r->start);
  free(r);
}
