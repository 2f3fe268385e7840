/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <math.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "predictor/core/array_grow.h"
#include "predictor/core/csv.h"
#include "predictor/core/hash.h"
#include "predictor/core/text.h"
#include "predictor/core/units.h"
#include "predictor/core/utf8.h"
#include "predictor/history/import.h"
#include "predictor/rebuild/trace.h"

enum { HEADER = 4096 };

/* Nothing of a job is larger: bytes, milliseconds. */
#define MOST 0x1p60

/* ---- processes ---- */

struct named {
  char *name; /* the process's */
  size_t process;
};

static int by_name(const void *a, const void *b)
{
  return strcmp(((const struct named *)a)->name, ((const struct named *)b)->name);
}

/* NAME is the trace's from here on; released where that fails. */
static struct ft_trace_process *add_process(struct ft_trace *trace, char *name)
{
  struct ft_trace_process *grown =
      ft_array_grow(trace->process, &trace->size, trace->count, sizeof *grown, FT_TRACE_RUNS);
  struct named *named = grown ? malloc(sizeof *named) : NULL;

  if (grown)
    trace->process = grown;
  if (named)
    *named = (struct named){ name, trace->count };
  if (!named || !tsearch(named, &trace->names, by_name)) {
    free(named);
    free(name);
    return NULL;
  }
  trace->process[trace->count] = (struct ft_trace_process){ .name = name };
  return &trace->process[trace->count++];
}

static struct ft_trace_process *process_of(struct ft_trace *trace, const char *name)
{
  char *copy = strdup(name);
  struct named wanted = { copy, 0 }, *const * found;

  if (!copy)
    return NULL;
  ft_utf8_replace_invalid(copy);
  found = tfind(&wanted, &trace->names, by_name);
  if (!found)
    return add_process(trace, copy);
  free(copy);
  return &trace->process[(*found)->process];
}

/* Add RUN, of which the features are copied. */
static int add_run(struct ft_trace *trace, const char *name, const struct ft_replay_run *run,
                   struct ft_error *err)
{
  struct ft_trace_process *p = process_of(trace, name);
  struct ft_replay_run *grown;
  ft_feature *features = NULL;

  if (trace->runs >= FT_TRACE_RUNS)
    return ft_error_set(err, "more than %d runs", FT_TRACE_RUNS);
  grown = p ? ft_array_grow(p->run, &p->size, p->count, sizeof *grown, FT_TRACE_RUNS) : NULL;
  if (grown)
    p->run = grown;
  if (run->feature_count)
    features = malloc(run->feature_count * sizeof *features);
  if (!grown || (run->feature_count && !features)) {
    free(features);
    return ft_error_set(err, "out of memory");
  }
  if (features)
    memcpy(features, run->features, run->feature_count * sizeof *features);
  p->run[p->count] = *run;
  p->run[p->count++].features = features;
  trace->runs++;
  return 0;
}

void ft_trace_free(struct ft_trace *trace)
{
  if (!trace)
    return;
  for (size_t i = 0; i < trace->count; i++) {
    for (size_t j = 0; j < trace->process[i].count; j++)
      free((void *)trace->process[i].run[j].features);
    free(trace->process[i].run);
    free(trace->process[i].name);
  }
  tdestroy(trace->names, free);
  free(trace->process);
  *trace = (struct ft_trace){ 0 };
}

/* ---- what Nextflow writes ---- */

enum {
  PROCESS,
  NAME,
  REALTIME,
  RSS,
  PEAK_RSS,
  MEMORY,
  RCHAR,
  SUBMIT,
  START,
  STATUS,
  EXIT,
  COLUMNS
};

static const char *const columns[COLUMNS] = { "process",  "name",   "realtime", "rss",
                                              "peak_rss", "memory", "rchar",    "submit",
                                              "start",    "status", "exit" };

struct table {
  struct ft_csv csv;
  const struct ft_trace_source *source;
  int at[COLUMNS]; /* -1: there is none */
  size_t count;
};

/* As Nextflow, R, pandas and databases write that there is nothing. */
static bool nothing(struct ft_text text)
{
  static const char *const words[] = { "-", "NA", "NaN", "nan", "null", "None" };

  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (ft_text_equals(text, words[i]))
      return true;
  return !ft_text_left(&text);
}

/* "1536", "1.5 GB": bytes, prefixes being powers of 1024 as Nextflow means them. */
static bool parse_bytes(struct ft_text text, double *value)
{
  static const char *const units[] = { "B", "KB", "MB", "GB", "TB", "PB" };
  double factor = 1;

  if (!ft_text_double(&text, value))
    return false;
  text = ft_text_trim(text);
  for (size_t i = 0; i < sizeof units / sizeof *units; i++, factor *= 1024)
    if (ft_text_equals(text, units[i])) {
      *value *= factor;
      return *value >= 0 && *value < MOST;
    }
  return !ft_text_left(&text) && *value >= 0 && *value < MOST;
}

/* "63000" in milliseconds, "1m 3s", "250ms": seconds. */
static bool parse_duration(struct ft_text text, double *seconds)
{
  static const struct {
    const char *name;
    double seconds;
  } units[] = { { "ms", 1e-3 }, { "s", 1 }, { "m", 60 }, { "h", 3600 }, { "d", 86400 } };
  struct ft_text word;
  double value;

  *seconds = 0;
  if (ft_text_is_double(text, &value)) {
    *seconds = value / 1000;
    return value >= 0 && value < MOST;
  }
  while (ft_text_word(&text, &word)) {
    size_t unit = 0;

    if (!ft_text_double(&word, &value) || value < 0 || value >= MOST)
      return false;
    while (unit < sizeof units / sizeof *units && !ft_text_equals(word, units[unit].name))
      unit++;
    if (unit == sizeof units / sizeof *units)
      return false;
    *seconds += value * units[unit].seconds;
  }
  return true;
}

/* Milliseconds since 1970, or "2022-01-01 12:00:00.123". */
static bool parse_time(const struct table *t, struct ft_text text, double *seconds)
{
  struct ft_text whole;
  double value;

  if (ft_text_is_double(text, &value)) {
    *seconds = value / 1000;
    return value >= 0 && value < MOST;
  }
  return ft_text_until(&text, '.', &whole) && ft_time_parse(whole, t->source->zone, seconds) == 1;
}

/* What stands in COLUMN of the row; where there is none, nothing. */
static struct ft_text text_of(const struct table *t, int column)
{
  bool there = t->at[column] >= 0 && (size_t)t->at[column] < t->csv.count;

  return ft_text_trim(ft_text_from(there ? t->csv.field[t->at[column]] : ""));
}

/* 1 with *VALUE, 0 where there is nothing, -1 with ERR. */
static int number(const struct table *t, int column, double *value, struct ft_error *err)
{
  struct ft_text text;
  bool good;

  *value = 0;
  text = text_of(t, column);
  if (nothing(text))
    return 0;
  if (column == REALTIME)
    good = parse_duration(text, value);
  else if (column == SUBMIT || column == START)
    good = parse_time(t, text, value);
  else
    good = parse_bytes(text, value);
  if (good)
    return 1;
  return ft_csv_fail(&t->csv, (size_t)t->at[column], columns[column], err,
                     column == REALTIME ? "expected milliseconds, or as in \"1m 3s\""
                     : column == SUBMIT || column == START
                         ? "expected milliseconds since 1970, or a time"
                         : "expected bytes, or as in \"1.5 GB\"");
}

static int read_header(struct table *t, struct ft_error *err)
{
  int status = ft_csv_next(&t->csv, err);
  int peak = t->source->peak_rss ? PEAK_RSS : RSS;

  if (status < 0)
    return -1;
  if (status == 0)
    return ft_error_set(err, "%s: expected a header line", t->source->name);
  t->count = t->csv.count;
  for (int c = 0; c < COLUMNS; c++) {
    t->at[c] = -1;
    for (size_t i = 0; i < t->csv.count && t->at[c] < 0; i++)
      if (strcmp(t->csv.field[i], columns[c]) == 0)
        t->at[c] = (int)i;
  }
  if (t->at[PROCESS] < 0 && t->at[NAME] < 0)
    return ft_error_set(err, "%s: line 1: expected a column process, or name", t->source->name);
  if (t->at[REALTIME] < 0 || t->at[peak] < 0)
    return ft_error_set(err, "%s: line 1: expected a column %s%s", t->source->name,
                        t->at[REALTIME] < 0 ? columns[REALTIME] : columns[peak],
                        t->at[REALTIME] >= 0 && peak == RSS && t->at[PEAK_RSS] >= 0
                            ? "; it has peak_rss: --target=peak_rss"
                            : "");
  return 0;
}

/* "ALIGN (sample 7)" is a task of ALIGN. */
static const char *process_name(const struct table *t)
{
  char *name, *task;

  if (t->at[PROCESS] >= 0)
    return t->csv.field[t->at[PROCESS]];
  name = t->csv.field[t->at[NAME]];
  task = strstr(name, " (");
  if (task)
    *task = '\0';
  return name;
}

/* Whether the row is the header once more, as where traces were put one after the other. */
static bool is_header(const struct table *t)
{
  int peak = t->source->peak_rss ? PEAK_RSS : RSS;

  return ft_text_equals(text_of(t, REALTIME), columns[REALTIME]) &&
         ft_text_equals(text_of(t, peak), columns[peak]);
}

/* Whether the attempt ended well: what one that was killed had used is not what it needed. */
static bool completed(const struct table *t)
{
  struct ft_text status = text_of(t, STATUS);
  double code;

  if (!nothing(status) && !ft_text_equals(status, "COMPLETED") && !ft_text_equals(status, "CACHED"))
    return false;
  return !ft_text_is_double(text_of(t, EXIT), &code) || code == 0;
}

static int take_row(struct ft_trace *trace, struct table *t, struct ft_error *err)
{
  ft_feature features[1];
  pb_size_t count = 0;
  struct ft_replay_run run = { 0 };
  double input, start;
  int has_input;

  if (t->csv.count != t->count)
    return ft_error_set(err, "%s: line %llu: expected %zu fields, as in the header",
                        t->source->name, (unsigned long long)t->csv.line, t->count);
  if (is_header(t))
    return 0;
  if (number(t, REALTIME, &run.seconds, err) < 0 ||
      number(t, t->source->peak_rss ? PEAK_RSS : RSS, &run.bytes, err) < 0 ||
      number(t, MEMORY, &run.request_bytes, err) < 0 ||
      number(t, SUBMIT, &run.submit_time, err) < 0 || number(t, START, &start, err) < 0)
    return -1;
  has_input = number(t, RCHAR, &input, err);
  if (has_input < 0)
    return -1;
  if (!(run.seconds > 0) || !(run.bytes > 0) || !(t->source->failed_too || completed(t))) {
    trace->skipped++;
    return 0;
  }
  if (!(run.submit_time > 0))
    run.submit_time = start;
  if (run.submit_time > 0)
    run.end_time = fmax(start, run.submit_time) + run.seconds;
  if (has_input && !t->source->no_input)
    (void)ft_feature_number(features, &count, 1, "input_bytes", input);
  run.features = features;
  run.feature_count = count;
  return add_run(trace, process_name(t), &run, err);
}

static char separator_of(int fd)
{
  char head[HEADER];
  ssize_t length = pread(fd, head, sizeof head, lseek(fd, 0, SEEK_CUR));
  const char *end = length > 0 ? memchr(head, '\n', (size_t)length) : NULL;

  return end && memchr(head, '\t', (size_t)(end - head)) ? '\t' : ',';
}

static int read_nextflow(struct ft_trace *trace, const struct ft_trace_source *source,
                         struct ft_error *err)
{
  struct table t = { .source = source };
  char separator = separator_of(source->fd);
  int status;

  ft_csv_init(&t.csv, source->fd, source->name, separator, separator == ',');
  status = read_header(&t, err);
  while (status == 0 && (status = ft_csv_next(&t.csv, err)) > 0) {
    status = take_row(trace, &t, err);
    if (source->progress)
      source->progress(t.csv.bytes_read, source->data);
    if (status < 0)
      break;
  }
  ft_csv_free(&t.csv);
  return status;
}

/* ---- what foretell import reads ---- */

struct importing {
  struct ft_trace *trace;
  const struct ft_trace_source *source;
};

static double requested(const ft_observation *o)
{
  double cpus = o->cpus ? o->cpus : 1;

  if (o->has_limit_bytes && o->limit_bytes > 0)
    return (double)o->limit_bytes;
  if (!o->submission.has_request)
    return 0;
  if (o->submission.request.mem_unit == FT_MEM_NODE)
    return (double)o->submission.request.mem_bytes;
  return o->submission.request.mem_unit == FT_MEM_CPU
             ? cpus * (double)o->submission.request.mem_bytes
             : 0;
}

static int put(const ft_observation *o, void *data, struct ft_error *err)
{
  struct importing *importing = data;
  struct ft_replay_run run = { .submit_time = o->submit_time,
                               .end_time = o->end_time,
                               .request_bytes = requested(o),
                               .bytes = ft_observation_peak(o, FT_RULE_CGROUP),
                               .seconds = o->runtime_seconds,
                               .features = o->submission.features,
                               .feature_count = o->submission.features_count };

  if (o->outcome != FT_OUTCOME_COMPLETED || !(run.bytes > 0) || !(run.seconds > 0)) {
    importing->trace->skipped++;
    return 0;
  }
  return add_run(importing->trace, o->submission.app, &run, err);
}

/* The trace may come from elsewhere: users need not be known here, only told apart. */
static int find_uid(const char *user, uint32_t *uid, void *data)
{
  (void)data;
  *uid = (uint32_t)ft_hash64(FT_HASH_SEED, user, strlen(user));
  return 0;
}

static void progress(uint64_t bytes, void *data)
{
  const struct importing *importing = data;

  if (importing->source->progress)
    importing->source->progress(bytes, importing->source->data);
}

static int read_imported(struct ft_trace *trace, const struct ft_trace_source *source,
                         struct ft_error *err)
{
  struct importing importing = { trace, source };
  struct ft_import import = { .name = source->name,
                              .fd = source->fd,
                              .zone = source->zone,
                              .user = source->format == FT_TRACE_CSV ? "-" : NULL,
                              .features = source->no_input ? NULL : "*",
                              .find_uid = find_uid,
                              .put = put,
                              .progress = progress,
                              .data = &importing };

  return source->format == FT_TRACE_CSV ? ft_import_csv(&import, err)
                                        : ft_import_sacct(&import, err);
}

int ft_trace_detect_format(struct ft_trace_source *source, struct ft_error *err)
{
  char head[HEADER];
  off_t at = lseek(source->fd, 0, SEEK_CUR);
  ssize_t length = at < 0 ? 0 : pread(source->fd, head, sizeof head, at);
  const char *end = length > 0 ? memchr(head, '\n', (size_t)length) : NULL;
  size_t line;

  if (at < 0)
    return ft_error_set(err, "%s: its format cannot be seen in a pipe: --format names it",
                        source->name);
  if (length < 0)
    return ft_error_errno(err, "%s", source->name);
  if (length == 0)
    return ft_error_set(err, "%s: empty; expected a header", source->name);
  line = (size_t)(end ? end - head : length);
  if (memchr(head, '|', line))
    source->format = FT_TRACE_SACCT;
  else if (memmem(head, line, "realtime", strlen("realtime")))
    source->format = FT_TRACE_NEXTFLOW;
  else
    source->format = FT_TRACE_CSV;
  return 0;
}

int ft_trace_read(struct ft_trace *trace, const struct ft_trace_source *source,
                  struct ft_error *err)
{
  return source->format == FT_TRACE_NEXTFLOW ? read_nextflow(trace, source, err)
                                             : read_imported(trace, source, err);
}
