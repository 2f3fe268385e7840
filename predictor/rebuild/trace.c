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
#include "predictor/record/request_memory.h"

/* Number of bytes read to detect format and separator. */
enum { HEADER_BYTES = 4096 };

/* Valid values are below this one, in bytes or milliseconds; avoids overflow. */
#define MAX_VALUE 0x1p60

/* ---- processes ---- */

/* An entry of the search tree ft_trace.names. */
struct process_entry {
  char *name;     /* owned by the process */
  size_t process; /* index in ft_trace.process */
};

static int compare_names(const void *a, const void *b)
{
  return strcmp(((const struct process_entry *)a)->name, ((const struct process_entry *)b)->name);
}

/* Adds a process, which owns NAME (freed on failure). Returns the process; NULL out of memory. */
static struct ft_trace_process *add_trace_process(struct ft_trace *trace, char *name)
{
  struct ft_trace_process *grown =
      ft_array_grow(trace->process, &trace->capacity, trace->count, sizeof *grown, FT_TRACE_RUNS);
  struct process_entry *entry = grown ? malloc(sizeof *entry) : NULL;

  if (grown)
    trace->process = grown;
  if (entry)
    *entry = (struct process_entry){ name, trace->count };
  if (!entry || !tsearch(entry, &trace->names, compare_names)) {
    free(entry);
    free(name);
    return NULL;
  }
  trace->process[trace->count] = (struct ft_trace_process){ .name = name };
  return &trace->process[trace->count++];
}

/* Returns the process NAME, added if it is new; NULL out of memory. */
static struct ft_trace_process *find_or_add_process(struct ft_trace *trace, const char *name)
{
  char *copy = strdup(name);
  struct process_entry wanted = { copy, 0 }, *const * found;

  if (!copy)
    return NULL;
  ft_utf8_replace_invalid(copy);
  found = tfind(&wanted, &trace->names, compare_names);
  if (!found)
    return add_trace_process(trace, copy);
  free(copy);
  return &trace->process[(*found)->process];
}

/* Adds RUN, with a copy of its features, to the process NAME. Returns 0; -1 on error and fills ERR.
 */
static int add_trace_run(struct ft_trace *trace, const char *name, const struct ft_replay_run *run,
                         struct ft_error *err)
{
  struct ft_trace_process *p = find_or_add_process(trace, name);
  struct ft_replay_run *grown;
  ft_feature *features = NULL;

  if (trace->runs >= FT_TRACE_RUNS)
    return ft_error_set(err, "more than %d runs", FT_TRACE_RUNS);
  grown = p ? ft_array_grow(p->run, &p->capacity, p->count, sizeof *grown, FT_TRACE_RUNS) : NULL;
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

/* ---- Nextflow ---- */

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

static const char *const column_names[COLUMNS] = { "process",  "name",   "realtime", "rss",
                                                   "peak_rss", "memory", "rchar",    "submit",
                                                   "start",    "status", "exit" };

struct table {
  struct ft_csv csv;
  const struct ft_trace_source *source;
  int at[COLUMNS]; /* position of each column; -1: absent */
  size_t count;    /* columns of the header */
};

/* Returns whether TEXT is a missing value of Nextflow, R, pandas or a database. */
static bool is_missing_trace_value(struct ft_text text)
{
  static const char *const words[] = { "-", "NA", "NaN", "nan", "null", "None" };

  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (ft_text_equals(text, words[i]))
      return true;
  return !ft_text_left(&text);
}

/* Parses "1536" or "1.5 GB" as bytes; unit prefixes are powers of 1024, as in Nextflow. Returns
 * whether TEXT is valid. */
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
      return *value >= 0 && *value < MAX_VALUE;
    }
  return !ft_text_left(&text) && *value >= 0 && *value < MAX_VALUE;
}

/* Parses "63000" (milliseconds), "1m 3s" or "250ms". Returns whether TEXT is valid. */
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
    return value >= 0 && value < MAX_VALUE;
  }
  while (ft_text_word(&text, &word)) {
    size_t unit = 0;

    if (!ft_text_double(&word, &value) || value < 0 || value >= MAX_VALUE)
      return false;
    while (unit < sizeof units / sizeof *units && !ft_text_equals(word, units[unit].name))
      unit++;
    if (unit == sizeof units / sizeof *units)
      return false;
    *seconds += value * units[unit].seconds;
  }
  return true;
}

/* Parses milliseconds since 1970, or "2022-01-01 12:00:00.123". Returns whether TEXT is valid. */
static bool parse_time(const struct table *t, struct ft_text text, double *seconds)
{
  struct ft_text whole;
  double value;

  if (ft_text_is_double(text, &value)) {
    *seconds = value / 1000;
    return value >= 0 && value < MAX_VALUE;
  }
  return ft_text_until(&text, '.', &whole) && ft_time_parse(whole, t->source->zone, seconds) == 1;
}

/* Returns the trimmed text of COLUMN in the current row; empty without the column. */
static struct ft_text trace_column_text(const struct table *t, int column)
{
  bool present = t->at[column] >= 0 && (size_t)t->at[column] < t->csv.count;

  return ft_text_trim(ft_text_from(present ? t->csv.field[t->at[column]] : ""));
}

/* Reads COLUMN into *VALUE. Returns 1; 0 for a missing value; -1 on error and fills ERR. */
static int read_column_number(const struct table *t, int column, double *value,
                              struct ft_error *err)
{
  struct ft_text text;
  bool good;

  *value = 0;
  text = trace_column_text(t, column);
  if (is_missing_trace_value(text))
    return 0;
  if (column == REALTIME)
    good = parse_duration(text, value);
  else if (column == SUBMIT || column == START)
    good = parse_time(t, text, value);
  else
    good = parse_bytes(text, value);
  if (good)
    return 1;
  return ft_csv_fail(&t->csv, (size_t)t->at[column], column_names[column], err,
                     column == REALTIME ? "expected milliseconds, or as in \"1m 3s\""
                     : column == SUBMIT || column == START
                         ? "expected milliseconds since 1970, or a time"
                         : "expected bytes, or as in \"1.5 GB\"");
}

/* Reads the header. Returns 0; -1 on error and fills ERR. */
static int read_nextflow_header(struct table *t, struct ft_error *err)
{
  int status = ft_csv_next(&t->csv, err);
  int peak = t->source->peak_rss ? PEAK_RSS : RSS;

  if (status < 0)
    return -1;
  if (status == 0)
    return ft_error_set(err, "%s: expected a header line", t->source->name);
  t->count = t->csv.count;
  for (int c = 0; c < COLUMNS; c++) {
    size_t i =
        ft_table_find(t->csv.field, t->csv.count, sizeof *t->csv.field, false, column_names[c]);

    t->at[c] = i < t->csv.count ? (int)i : -1;
  }
  if (t->at[PROCESS] < 0 && t->at[NAME] < 0)
    return ft_error_set(err, "%s: line 1: expected a column process, or name", t->source->name);
  if (t->at[REALTIME] < 0 || (t->at[peak] < 0 && !t->source->time_only))
    return ft_error_set(err, "%s: line 1: expected a column %s%s", t->source->name,
                        t->at[REALTIME] < 0 ? column_names[REALTIME] : column_names[peak],
                        t->at[REALTIME] >= 0 && peak == RSS && t->at[PEAK_RSS] >= 0
                            ? "; it has peak_rss: --target=peak_rss"
                            : "");
  return 0;
}

/* Returns the process of the current row; "ALIGN (sample 7)" is a task of ALIGN. */
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

/* Returns whether the row repeats the header, as in concatenated traces. */
static bool is_header(const struct table *t)
{
  int peak = t->source->peak_rss ? PEAK_RSS : RSS;

  return ft_text_equals(trace_column_text(t, REALTIME), column_names[REALTIME]) &&
         (t->at[peak] < 0 || ft_text_equals(trace_column_text(t, peak), column_names[peak]));
}

/* Returns whether the attempt of the current row completed; the peak of a killed one is only a
 * lower bound. */
static bool has_attempt_completed(const struct table *t)
{
  struct ft_text status = trace_column_text(t, STATUS);
  double code;

  if (!is_missing_trace_value(status) && !ft_text_equals(status, "COMPLETED") &&
      !ft_text_equals(status, "CACHED"))
    return false;
  return !ft_text_is_double(trace_column_text(t, EXIT), &code) || code == 0;
}

/* Adds the current row to TRACE. Returns 0; -1 on error and fills ERR. */
static int add_row_run(struct ft_trace *trace, struct table *t, struct ft_error *err)
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
  if (read_column_number(t, REALTIME, &run.seconds, err) < 0 ||
      read_column_number(t, t->source->peak_rss ? PEAK_RSS : RSS, &run.bytes, err) < 0 ||
      read_column_number(t, MEMORY, &run.request_bytes, err) < 0 ||
      read_column_number(t, SUBMIT, &run.submit_time, err) < 0 ||
      read_column_number(t, START, &start, err) < 0)
    return -1;
  has_input = read_column_number(t, RCHAR, &input, err);
  if (has_input < 0)
    return -1;
  if (!(run.seconds > 0) || (!(run.bytes > 0) && !t->source->time_only) ||
      !(t->source->failed_too || has_attempt_completed(t))) {
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
  return add_trace_run(trace, process_name(t), &run, err);
}

/* Returns the separator in the first line of FD: tab, else comma. */
static char detect_separator(int fd)
{
  char head[HEADER_BYTES];
  ssize_t length = pread(fd, head, sizeof head, lseek(fd, 0, SEEK_CUR));
  const char *end = length > 0 ? memchr(head, '\n', (size_t)length) : NULL;

  return end && memchr(head, '\t', (size_t)(end - head)) ? '\t' : ',';
}

static int read_nextflow(struct ft_trace *trace, const struct ft_trace_source *source,
                         struct ft_error *err)
{
  struct table t = { .source = source };
  char separator = detect_separator(source->fd);
  int status;

  ft_csv_init(&t.csv, source->fd, source->name, separator, separator == ',');
  status = read_nextflow_header(&t, err);
  while (status == 0 && (status = ft_csv_next(&t.csv, err)) > 0) {
    status = add_row_run(trace, &t, err);
    if (source->progress)
      source->progress(t.csv.bytes_read, source->data);
    if (status < 0)
      break;
  }
  ft_csv_free(&t.csv);
  return status;
}

/* ---- the formats of foretell import ---- */

struct importing {
  struct ft_trace *trace;
  const struct ft_trace_source *source;
};

/* Returns the memory limit or request of O in bytes; 0: none. */
static double observed_request_bytes(const ft_observation *o)
{
  if (o->has_limit_bytes && o->limit_bytes > 0)
    return (double)o->limit_bytes;
  return o->submission.has_request ? (double)ft_request_node_bytes(&o->submission.request, o->cpus)
                                   : 0;
}

static int put_imported_run(const ft_observation *o, void *data, struct ft_error *err)
{
  struct importing *importing = data;
  struct ft_replay_run run = { .submit_time = o->submit_time,
                               .end_time = o->end_time,
                               .request_bytes = observed_request_bytes(o),
                               .request_seconds = o->submission.request.time_limit_seconds,
                               .bytes = ft_observation_peak(o, FT_RULE_CGROUP),
                               .seconds = o->runtime_seconds,
                               .features = o->submission.features,
                               .feature_count = o->submission.features_count };

  if (o->outcome != FT_OUTCOME_COMPLETED || !(run.seconds > 0) ||
      (!importing->source->time_only && (o->censored || !(run.bytes > 0)))) {
    importing->trace->skipped++;
    return 0;
  }
  return add_trace_run(importing->trace, o->submission.app, &run, err);
}

/* Sets *UID to a hash of the name USER, because users of a trace need not exist on this machine. */
static int derive_uid(const char *user, uint32_t *uid, void *data)
{
  (void)data;
  *uid = (uint32_t)ft_hash64(FT_HASH_SEED, user, strlen(user));
  return 0;
}

static void forward_progress(uint64_t bytes, void *data)
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
                              .find_uid = derive_uid,
                              .put = put_imported_run,
                              .progress = forward_progress,
                              .data = &importing };

  return source->format == FT_TRACE_CSV ? ft_import_csv(&import, err)
                                        : ft_import_sacct(&import, err);
}

int ft_trace_detect_format(struct ft_trace_source *source, struct ft_error *err)
{
  char head[HEADER_BYTES];
  off_t at = lseek(source->fd, 0, SEEK_CUR);
  ssize_t length = at < 0 ? 0 : pread(source->fd, head, sizeof head, at);
  const char *end = length > 0 ? memchr(head, '\n', (size_t)length) : NULL;
  size_t line;

  if (at < 0)
    return ft_error_set(err, "%s: cannot detect the format of a pipe; give --format", source->name);
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
