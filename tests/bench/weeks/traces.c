/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A trace as two kinds of weeks: each process is an app, each run a submission. */
#include "config.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "predictor/core/hash.h"
#include "predictor/core/text.h"
#include "predictor/rebuild/trace.h"
#include "tests/bench/weeks/traces.h"

/* Default memory of a job without a request, chosen by judgement. */
#define DEFAULT_BYTES (UINT64_C(4) << 30)
/* Memory of a node in bytes, unless a run used or requested more. */
#define NODE_BYTES (UINT64_C(128) << 30)
/* Share of a run until its peak, which traces do not record; chosen by judgement. */
#define PEAK_AT 0.5

static int read_trace(const char *path, struct ft_trace *trace, struct ft_error *err)
{
  struct ft_trace_source source = { .name = path, .peak_rss = true };
  int status;

  source.fd = open(path, O_RDONLY | O_CLOEXEC);
  if (source.fd < 0)
    return ft_error_errno(err, "%s", path);
  status =
      ft_trace_detect_format(&source, err) < 0 || ft_trace_read(trace, &source, err) < 0 ? -1 : 0;
  (void)close(source.fd);
  return status;
}

/* Returns NODE_BYTES, or the largest peak or request of TRACE. */
static uint64_t trace_node_bytes(const struct ft_trace *trace)
{
  uint64_t most = NODE_BYTES;

  for (size_t i = 0; i < trace->count; i++)
    for (size_t j = 0; j < trace->process[i].count; j++) {
      const struct ft_replay_run *run = &trace->process[i].run[j];

      most = fmax(run->bytes, run->request_bytes) > (double)most
                 ? (uint64_t)fmax(run->bytes, run->request_bytes)
                 : most;
    }
  return most;
}

static double first_submit_time(const struct ft_trace *trace)
{
  double first = INFINITY;

  for (size_t i = 0; i < trace->count; i++)
    for (size_t j = 0; j < trace->process[i].count; j++)
      first = fmin(first, trace->process[i].run[j].submit_time);
  return first;
}

/* Adds RUN as a submission at its time after START; TYPED: with its request. Returns 0; -1 if out
 * of memory. */
static int add_trace_run(struct weeks_stream *s, const struct ft_replay_run *run, double start,
                         uint32_t app, bool typed)
{
  struct weeks_submission *x = weeks_add_submission(s);
  struct weeks_task *task = weeks_add_task(s);

  if (!x || !task)
    return -1;
  *task = (struct weeks_task){
    .need_bytes = run->bytes, .seconds = run->seconds, .peak_at = PEAK_AT, .reached = 1
  };
  *x = (struct weeks_submission){ .time = run->submit_time - start,
                                  .app = app,
                                  .script_hash = 1,
                                  .directory_hash = 1,
                                  .cpus = 1,
                                  .reaction = WEEKS_UNCHANGED,
                                  .tasks = 1,
                                  .first_task = s->tasks - 1 };
  if (typed && run->request_bytes > 0) {
    x->mem_unit = FT_MEM_NODE;
    x->mem_bytes = (uint64_t)run->request_bytes;
  }
  for (size_t i = 0; i < run->feature_count && x->values < WEEKS_VALUES; i++) {
    const ft_feature *f = &run->features[i];
    struct weeks_value *value = &x->value[x->values++];

    value->name = weeks_add_text(s, f->name);
    value->number = f->number;
    value->category = f->has_number ? NULL : weeks_add_text(s, f->category);
    if (!value->name)
      return -1;
  }
  return 0;
}

/* Adds a process as an app of the stream's last kind. Returns 0; -1 if out of memory. */
static int add_process(struct weeks_stream *s, const struct ft_trace_process *p, double start,
                       bool typed)
{
  struct weeks_app *app = weeks_add_app(s);
  const char *last = strrchr(p->name, ':');
  uint32_t number = (uint32_t)s->apps - 1;

  if (!app)
    return -1;
  app->kind = s->kinds - 1;
  app->site = (uint32_t)s->sites - 1;
  app->user = s->kinds - 1;
  (void)ft_string_copy(last ? last + 1 : p->name, app->name, sizeof app->name);
  (void)ft_string_copy(app->name, app->job_name, sizeof app->job_name);
  for (size_t j = 0; j < p->count; j++)
    if (add_trace_run(s, &p->run[j], start, number, typed) < 0)
      return -1;
  return 0;
}

/* Adds TRACE as a kind of weeks on a partition of its own. Returns 0; -1 if out of memory or kinds.
 */
static int add_kind(struct weeks_stream *s, const char *path, const struct ft_trace *trace,
                    bool typed)
{
  const char *base = strrchr(path, '/');
  struct weeks_site *site = weeks_add_site(s);
  char name[64];

  if (!site || s->kinds == WEEKS_KINDS)
    return -1;
  base = base ? base + 1 : path;
  (void)snprintf(name, sizeof name, "%.*s%s", (int)strcspn(base, "."), base,
                 typed ? "" : ", default");
  *site = (struct weeks_site){ .default_bytes = DEFAULT_BYTES,
                               .node_bytes = trace_node_bytes(trace),
                               .node_cpus = 64,
                               .mode = typed ? FT_MODE_TRIM : FT_MODE_SET };
  s->kind_name[s->kinds] = weeks_add_text(s, name);
  if (!s->kind_name[s->kinds++])
    return -1;
  for (size_t i = 0; i < trace->count; i++)
    if (add_process(s, &trace->process[i], first_submit_time(trace), typed) < 0)
      return -1;
  return 0;
}

int weeks_add_trace(struct weeks_stream *s, const char *path, struct ft_error *err)
{
  struct ft_trace trace = { 0 };
  int status = read_trace(path, &trace, err);

  for (int typed = 1; status == 0 && typed >= 0; typed--)
    if (add_kind(s, path, &trace, typed) < 0)
      status =
          ft_error_set(err, "%s: out of memory, or more than %d traces", path, WEEKS_KINDS / 2);
  ft_trace_free(&trace);
  return status;
}
