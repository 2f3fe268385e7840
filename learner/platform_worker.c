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

#include "daemon/log.h"
#include "learner/metrics/tally.h"
#include "learner/platform_worker.h"
#include "predictor/core/io.h"
#include "predictor/core/text.h"
#include "predictor/estimate/quantity.h"
#include "predictor/online/performance.h"
#include "predictor/online/platform_transfer.h"
#include "predictor/record/state_files.h"

enum {
  MAX_WAITING_APPS = 64, /* apps; if one is beyond the limit, all apps are estimated again */
  MIN_BATCH = MAX_WAITING_APPS / 2, /* minimum number of other apps per child if all apps are due */
  TRAIN_RUNS = 10,       /* runs of apps with several platforms until the next training */
  MIN_TRAINING_ROWS = 3, /* rows of the training table; fewer are not used */
  FOREST_TREES = 150     /* of the random forest */
};

/* Pause before each child, because runs come in bursts (arrays). A new model is thus applied to
 * about 30 apps per second. */
#define CHILD_PAUSE_SECONDS 1.0
/* Minimum time between two trainings, and pause after a failed child. */
#define TRAIN_PAUSE_SECONDS 600.0
#define CHILD_CPU_SECONDS 300.0
#define CHILD_DEADLINE_SECONDS 3600.0

struct timed_app {
  uint32_t uid;
  char name[sizeof((ft_performance *)NULL)->app];
};

/* A model file. */
struct runtime_file {
  uint32_t uid;
  char name[FT_STATE_NAME_SIZE];
};

/* Input of a child. */
struct child_task {
  char state[PATH_MAX];
  bool train;                /* a new model first */
  bool whole_site;           /* also estimate other apps, up to the limit: */
  struct runtime_file after; /* the files after this one; name "": from the first */
  size_t count;
  struct timed_app app[MAX_WAITING_APPS];
};

struct ft_platform_worker {
  struct ft_loop *loop;
  struct ft_subprocesses *children;
  struct ft_publisher *publisher;
  int state_fd;
  struct ft_timer start_timer;
  double pause_until, train_from; /* monotonic; no child, no training before */
  unsigned runs;                  /* of apps with several platforms, since the last training */
  bool busy, publishing;
  bool overflow;                 /* an app was beyond the limit of waiting apps */
  bool whole_site;               /* the latest model is not applied to all apps yet */
  struct runtime_file last_file; /* of the apps to which it is applied */
  struct child_task waiting, running;
  struct ft_app_models app;
};

/* ---- in the child ---- */

/* Run times, and their runs. */
struct app_runtimes {
  ft_performance performance;
  struct ft_runtimes runs;
};

/* Called for each model file, in the user's directory FD. Returns 0; -1 and ERR. */
typedef int file_visitor(const struct runtime_file *file, int fd, void *data, struct ft_error *err);

/* Calls CALL for UID's files. FD, the directory, is closed. Returns 0; -1 and ERR. */
static int visit_user_files(uint32_t uid, int fd, file_visitor *call, void *data,
                            struct ft_error *err)
{
  DIR *directory = fdopendir(fd);
  struct runtime_file file = { .uid = uid };
  struct dirent *entry;
  int status = 0;

  if (!directory)
    close(fd);
  while (status == 0 && directory && (entry = readdir(directory))) {
    const char *dot = strrchr(entry->d_name, '.');

    if (dot && strcmp(dot, ".model") == 0 &&
        ft_string_copy(entry->d_name, file.name, sizeof file.name))
      status = call(&file, fd, data, err);
  }
  if (directory)
    closedir(directory);
  return status;
}

/*
 * Calls CALL for each published model file. Not the store: a process that forks while it has
 * an SQLite database open must not use it in the child.
 */
static int visit_all_files(int state_fd, file_visitor *call, void *data, struct ft_error *err)
{
  DIR *users = ft_io_open_directory(state_fd, FT_STATE_MODELS);
  struct dirent *entry;
  int status = 0, user;

  if (!users)
    return ft_error_errno(err, FT_STATE_MODELS);
  while (status == 0 && (entry = readdir(users))) {
    struct ft_text name = ft_text_from(entry->d_name);
    uint64_t uid;

    /* not the directory that all users may read: it has copies of pooled files */
    if (!ft_text_u64(&name, UINT32_MAX, &uid) || ft_text_left(&name))
      continue;
    user = openat(dirfd(users), entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (user >= 0)
      status = visit_user_files((uint32_t)uid, user, call, data, err);
  }
  closedir(users);
  return status;
}

/* Training table, and a buffer for one app. */
struct training_data {
  struct ft_relative_table table;
  struct app_runtimes app;
};

static int add_training_rows(const struct runtime_file *file, int fd, void *data,
                             struct ft_error *err)
{
  struct training_data *training = data;
  struct app_runtimes *app = &training->app;

  /* pooled files repeat the runs of the users' files */
  if (file->uid == FT_STATE_POOLED ||
      ft_state_read_runtimes(fd, file->name, &app->performance, &app->runs, NULL) < 0 ||
      !app->runs.count)
    return 0;
  ft_performance_clear_transfers(&app->performance, &app->runs);
  return ft_platform_transfer_add(&training->table, &app->performance, &app->runs, err);
}

/* The next files after `after`, sorted; at most `limit`. */
struct file_batch {
  struct runtime_file after, next[MAX_WAITING_APPS];
  size_t count, limit;
  bool more; /* files remain after the last one */
};

static int compare_files(const struct runtime_file *a, const struct runtime_file *b)
{
  return a->uid != b->uid ? (a->uid > b->uid) - (a->uid < b->uid) : strcmp(a->name, b->name);
}

/* Inserts FILE into the batch if it is among the next files. Returns 0. */
static int add_to_batch(const struct runtime_file *file, int fd, void *data, struct ft_error *err)
{
  struct file_batch *q = data;
  size_t at = q->count;

  (void)fd;
  (void)err;
  if (q->after.name[0] && compare_files(file, &q->after) <= 0)
    return 0;
  while (at > 0 && compare_files(file, &q->next[at - 1]) < 0)
    at--;
  if (q->count == q->limit) {
    q->more = true;
    if (at == q->count)
      return 0;
    q->count--;
  }
  memmove(&q->next[at + 1], &q->next[at], (q->count - at) * sizeof *q->next);
  q->next[at] = *file;
  q->count++;
  return 0;
}

/* Trains the model and saves it as PATH. Returns 1; 0 if the data are too few; -1 and ERR. */
static int train_platform_model(int state_fd, const char *path, struct ft_relative_model *m,
                                struct ft_error *err)
{
  struct ft_relative_settings settings = { .trees = FOREST_TREES, .seed = 1 };
  struct training_data *training = calloc(1, sizeof *training);
  struct ft_relative_table *table = training ? &training->table : NULL;
  int status = training ? visit_all_files(state_fd, add_training_rows, training, err)
                        : ft_error_set(err, "out of memory");

  for (int l = 0; l < FT_LEARNERS; l++)
    if (!ft_learner_slow((enum ft_learner_kind)l))
      settings.learners |= 1u << l;
  if (status == 0 && table->rows >= MIN_TRAINING_ROWS) {
    settings.from = ft_relative_source(table, NULL, err);
    status = ft_relative_learn(table, NULL, &settings, m, err);
    if (status == 0)
      status = ft_relative_save(m, path, 0600, err) < 0 ? -1 : 1;
  }
  if (table)
    ft_relative_table_free(table);
  free(training);
  return status;
}

/* Estimates APP, whose run times are TIMES, and prints the result to OUT: a line "app UID NAME",
 * then a line "estimate LOG_RATIO DEVIATION PLATFORM" per platform. */
static void print_estimates(const struct ft_relative_model *m, const struct timed_app *app,
                            struct app_runtimes *times, struct ft_buf *out)
{
  const ft_performance *p = &times->performance;
  int estimated = ft_platform_transfer_estimate(m, &times->performance, &times->runs, NULL);

  if (estimated < 0)
    return;
  (void)ft_buf_printf(out, "app %" PRIu32 " %s\n", app->uid, app->name);
  for (size_t i = 0; i < p->platforms_count; i++)
    if (p->platforms[i].has_transferred_log_ratio)
      (void)ft_buf_printf(out, "estimate %.9g %.9g %s\n", p->platforms[i].transferred_log_ratio,
                          p->platforms[i].transferred_deviation, p->platforms[i].platform);
}

/* Estimates the next batch of all apps. Prints a line "next UID FILE" with the last file if more
 * remain. */
static int estimate_batch(const struct child_task *task, int state_fd,
                          const struct ft_relative_model *m, struct app_runtimes *times,
                          struct ft_buf *out, struct ft_error *err)
{
  struct file_batch *q = calloc(1, sizeof *q);
  int status = q ? 0 : ft_error_set(err, "out of memory");

  if (q) {
    q->after = task->after;
    q->limit = task->count < MIN_BATCH ? MAX_WAITING_APPS - task->count : MIN_BATCH;
    status = visit_all_files(state_fd, add_to_batch, q, err);
  }
  for (size_t i = 0; q && status == 0 && i < q->count; i++) {
    char path[sizeof FT_STATE_MODELS + FT_STATE_NAME_SIZE + 16];
    struct timed_app app = { .uid = q->next[i].uid };

    (void)snprintf(path, sizeof path, FT_STATE_MODELS "/%" PRIu32 "/%s", app.uid, q->next[i].name);
    if (ft_state_read_runtimes(state_fd, path, &times->performance, &times->runs, NULL) == 0 &&
        ft_string_copy(times->performance.app, app.name, sizeof app.name))
      print_estimates(m, &app, times, out);
  }
  if (q && q->more)
    (void)ft_buf_printf(out, "next %" PRIu32 " %s\n", q->next[q->count - 1].uid,
                        q->next[q->count - 1].name);
  free(q);
  return status;
}

/* Does TASK and prints the result to OUT. Returns 0; -1 and ERR. */
static int run_task(struct child_task *task, int state_fd, struct ft_relative_model *m,
                    struct ft_buf *out, struct ft_error *err)
{
  char path[PATH_MAX + 32];
  struct app_runtimes *times = malloc(sizeof *times);
  int has_model = 0;

  if (!times)
    return ft_error_set(err, "out of memory");
  (void)snprintf(path, sizeof path, "%s/" FT_STATE_RELATIVE, task->state);
  if (task->train)
    has_model = train_platform_model(state_fd, path, m, err);
  if (has_model > 0) {
    task->whole_site = true;
    task->after.name[0] = '\0';
  }
  if (has_model == 0 && faccessat(state_fd, FT_STATE_RELATIVE, R_OK, 0) == 0)
    has_model = ft_relative_load(path, m, err) < 0 ? -1 : 1;
  for (size_t i = 0; has_model > 0 && i < task->count; i++)
    if (ft_state_read_own_performance(state_fd, task->app[i].uid, task->app[i].name,
                                      &times->performance, &times->runs, NULL) == 0)
      print_estimates(m, &task->app[i], times, out);
  if (has_model > 0 && task->whole_site && estimate_batch(task, state_fd, m, times, out, err) < 0)
    has_model = -1;
  free(times);
  return has_model < 0 ? -1 : 0;
}

static int run_child_task(int state_fd, void *data)
{
  struct ft_relative_model model = { 0 };
  struct ft_error err;
  struct ft_buf out;
  int status;

  ft_buf_init(&out, FT_LIMIT_RECORD);
  status = run_task(data, state_fd, &model, &out, &err);
  if (status < 0)
    (void)dprintf(STDERR_FILENO, "%s\n", err.text);
  else
    status = ft_io_write_all(STDOUT_FILENO, out.data, out.length);
  ft_relative_model_free(&model);
  ft_buf_free(&out);
  return status < 0;
}

/* ---- in the learner ---- */

static void arm_child(struct ft_platform_worker *r)
{
  if ((r->waiting.count || r->whole_site || r->overflow) && !r->busy && !r->start_timer.armed)
    ft_loop_at(r->loop, &r->start_timer,
               fmax(ft_io_monotonic() + CHILD_PAUSE_SECONDS, r->pause_until));
}

/* Publishes APP's estimates from the "estimate" lines at the start of TEXT, and advances TEXT past
 * them. */
static void adopt_app_estimates(struct ft_platform_worker *r, struct ft_text *text,
                                const struct timed_app *app)
{
  ft_performance *p = &r->app.performance;
  bool known = ft_published_app(r->publisher, app->uid, app->name, &r->app, NULL) == 0 &&
               r->app.has_model && r->app.has_performance;
  struct ft_text line, rest = *text;
  struct ft_error err;

  if (known)
    ft_performance_clear_transfers(p, &r->app.runtimes);
  while (ft_text_line(&rest, &line) && ft_text_skip(&line, "estimate ")) {
    char platform[sizeof p->platforms->platform];
    double log_ratio, deviation;

    *text = rest;
    if (known && ft_text_double(&line, &log_ratio) && ft_text_skip(&line, " ") &&
        ft_text_double(&line, &deviation) && ft_text_skip(&line, " ") &&
        ft_text_copy(line, platform, sizeof platform))
      ft_performance_set_transfer(p, &r->app.runtimes, platform, log_ratio, deviation);
  }
  if (known && ft_publish_app(r->publisher, &r->app, 1U << FT_QUANTITY_RUNTIME, &err) < 0)
    ft_log(LOG_WARNING, "%s: %s", app->name, err.text);
}

/* Publishes the estimates that a child printed. Returns the number of apps. */
static size_t adopt_estimates(struct ft_platform_worker *r, struct ft_text text)
{
  struct ft_text line;
  size_t apps = 0;

  r->publishing = true;
  r->whole_site = false;
  while (ft_text_line(&text, &line)) {
    struct timed_app app;
    uint64_t uid;

    if (ft_text_skip(&line, "next ")) {
      r->whole_site = ft_text_u64(&line, UINT32_MAX, &uid) && ft_text_skip(&line, " ") &&
                      ft_text_copy(line, r->last_file.name, sizeof r->last_file.name);
      r->last_file.uid = (uint32_t)uid;
      continue;
    }
    if (!ft_text_skip(&line, "app ") || !ft_text_u64(&line, UINT32_MAX, &uid) ||
        !ft_text_skip(&line, " ") || !ft_text_copy(line, app.name, sizeof app.name))
      continue;
    app.uid = (uint32_t)uid;
    adopt_app_estimates(r, &text, &app);
    apps++;
  }
  r->publishing = false;
  return apps;
}

static void child_done(const struct ft_subprocess_result *result, void *data)
{
  struct ft_platform_worker *r = data;

  ft_tally_add(result->ok ? FT_TALLY_PLATFORMS_DONE : FT_TALLY_PLATFORMS_FAILED, 1);
  r->busy = false;
  if (result->ok) {
    size_t apps = adopt_estimates(r, ft_text_of(result->text, result->length));

    if (apps)
      ft_log(r->running.train ? LOG_INFO : LOG_DEBUG,
             "run times of %zu app%s estimated for other platforms", apps, ft_plural(apps));
  } else {
    ft_log(LOG_WARNING, "cross-platform prediction failed: %s", result->why);
    r->pause_until = ft_io_monotonic() + TRAIN_PAUSE_SECONDS;
  }
  arm_child(r);
}

static void start_child(void *data)
{
  struct ft_platform_worker *r = data;
  double now = ft_io_monotonic();
  struct ft_error err;

  if (r->busy || !(r->waiting.count || r->whole_site || r->overflow))
    return;
  if (r->overflow && !r->whole_site) {
    r->whole_site = true;
    r->last_file.name[0] = '\0';
    r->overflow = false;
  }
  r->waiting.train = r->runs >= TRAIN_RUNS && now >= r->train_from;
  r->waiting.whole_site = r->whole_site;
  r->waiting.after = r->last_file;
  r->running = r->waiting;
  r->waiting.count = 0;
  if (!r->running.train && faccessat(r->state_fd, FT_STATE_RELATIVE, R_OK, 0) < 0) {
    r->whole_site = false;
    return;
  }
  if (r->running.train) {
    r->runs = 0;
    r->train_from = now + TRAIN_PAUSE_SECONDS;
  }
  r->busy = true;
  if (ft_subprocess_fork(r->children, "relative", run_child_task, r->state_fd, &r->running,
                         CHILD_CPU_SECONDS, CHILD_DEADLINE_SECONDS, child_done, r, &err) == 0)
    return;
  ft_log(LOG_WARNING, "cross-platform prediction failed: %s", err.text);
  r->busy = false;
  r->pause_until = now + TRAIN_PAUSE_SECONDS;
}

static void runtimes_published(const struct ft_app_models *models, void *data)
{
  const ft_performance *p = &models->performance;
  struct ft_platform_worker *r = data;
  struct child_task *w = &r->waiting;
  size_t platforms = 0;

  if (r->publishing)
    return;
  for (size_t i = 0; i < p->platforms_count; i++)
    platforms += p->platforms[i].runs > 0;
  r->runs += platforms > 1;
  for (size_t i = 0; i < w->count; i++)
    if (w->app[i].uid == p->uid && strcmp(w->app[i].name, p->app) == 0)
      return;
  if (w->count == MAX_WAITING_APPS) {
    r->overflow = true;
    return;
  }
  w->app[w->count].uid = p->uid;
  (void)ft_string_copy(p->app, w->app[w->count++].name, sizeof w->app->name);
  arm_child(r);
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
  r->start_timer = (struct ft_timer){ .fire = start_child, .data = r };
  ft_publisher_on(publisher, FT_QUANTITY_RUNTIME, runtimes_published, r);
  return r;
}

void ft_platform_worker_close(struct ft_platform_worker *r)
{
  if (!r)
    return;
  ft_publisher_on(r->publisher, FT_QUANTITY_RUNTIME, NULL, NULL);
  ft_loop_cancel(r->loop, &r->start_timer);
  free(r);
}
