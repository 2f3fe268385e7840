/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "predictor/core/csv.h"
#include "predictor/core/units.h"
#include "predictor/core/utf8.h"
#include "predictor/history/import.h"
#include "predictor/history/sacct_text.h"
#include "predictor/history/step_overlap.h"
#include "predictor/record/secret.h"
#include "predictor/record/state_files.h"

enum column {
  JOB_ID,
  JOB_ID_RAW,
  JOB_NAME,
  USER,
  UID,
  ACCOUNT,
  PARTITION,
  CLUSTER,
  QOS,
  STATE,
  EXIT_CODE,
  DERIVED_EXIT_CODE,
  SUBMIT,
  START,
  END,
  ELAPSED,
  ELAPSED_RAW,
  TIME_LIMIT,
  NODES,
  TASKS,
  CPUS,
  NODE_LIST,
  RESTARTS,
  REQ_MEM,
  ALLOC_TRES,
  CONSTRAINTS,
  TOTAL_CPU,
  MAX_RSS,
  MAX_RSS_NODE,
  IN_TOTAL,
  IN_MAX,
  OUT_TOTAL,
  COLUMNS
};

/* as sacct --helpformat writes them; matched in any case */
static const char *const column_names[COLUMNS] = {
  "JobID",          "JobIDRaw",       "JobName",   "User",     "UID",        "Account",
  "Partition",      "Cluster",        "QOS",       "State",    "ExitCode",   "DerivedExitCode",
  "Submit",         "Start",          "End",       "Elapsed",  "ElapsedRaw", "Timelimit",
  "NNodes",         "NTasks",         "AllocCPUS", "NodeList", "Restarts",   "ReqMem",
  "AllocTRES",      "Constraints",    "TotalCPU",  "MaxRSS",   "MaxRSSNode", "TRESUsageInTot",
  "TRESUsageInMax", "TRESUsageOutTot"
};

/* The job whose lines are being read. */
struct job {
  bool open; /* there is one */
  bool drop; /* its steps are passed over */
  ft_observation o;
  char base[48];
  uint32_t nodes, cpus;
  double largest;      /* of any task: where it ran is where the observation is placed */
  bool total, sampled; /* a step with TRESUsageInTot; one without */
  bool doubtful;       /* a line that may have been one of its steps could not be read */
  bool own;            /* the one step is the job's own line, which tells of all its steps */
  struct ft_step_overlap steps;
};

struct reader {
  struct ft_import *import;
  struct ft_csv csv;
  int at[COLUMNS]; /* -1: not there */
  size_t header;   /* number of its columns */
  struct job job;
};

static const char *value(const struct reader *r, enum column c)
{
  return r->at[c] < 0 ? "" : r->csv.field[r->at[c]];
}

static int refuse(const struct reader *r, enum column c, const char *expected, struct ft_error *err)
{
  return ft_csv_fail(&r->csv, r->at[c] < 0 ? FT_CSV_FIELDS : (size_t)r->at[c], column_names[c], err,
                     expected);
}

static int read_header(struct reader *r, struct ft_error *err)
{
  int status = ft_csv_next(&r->csv, err);

  if (status <= 0)
    return status < 0
               ? -1
               : ft_error_set(err, "%s: empty; expected the output of sacct -P", r->import->name);
  for (int c = 0; c < COLUMNS; c++) {
    r->at[c] = -1;
    for (size_t i = 0; i < r->csv.count && r->at[c] < 0; i++)
      if (strcasecmp(r->csv.field[i], column_names[c]) == 0)
        r->at[c] = (int)i;
  }
  r->header = r->csv.count;
  if (r->at[JOB_ID] < 0 || r->at[STATE] < 0)
    return ft_error_set(err, "%s: line %" PRIu64 ": expected a header of sacct -P with %s",
                        r->import->name, r->csv.line, r->at[JOB_ID] < 0 ? "JobID" : "State");
  if (r->at[USER] < 0 && r->at[UID] < 0 && !r->import->user)
    return ft_error_set(err, "%s: line %" PRIu64 ": expected a column User or UID in the header",
                        r->import->name, r->csv.line);
  return 0;
}

/* 1 with *UTC; 0 when the column is empty or Unknown; -1 with ERR */
static int read_time(const struct reader *r, enum column c, double *utc, struct ft_error *err)
{
  const char *text = value(r, c);

  *utc = 0;
  if (!*text || strcmp(text, "Unknown") == 0 || strcmp(text, "None") == 0)
    return 0;
  switch (ft_time_parse(ft_text_from(text), r->import->zone, utc)) {
  case 1:
    return 1;
  case 0:
    return refuse(r, c, "a local time: its zone must be said with --timezone", err);
  default:
    return refuse(r, c, "expected a time such as 2026-11-20T21:30:00", err);
  }
}

static int read_u32(const struct reader *r, enum column c, uint32_t *out, struct ft_error *err)
{
  struct ft_text text = ft_text_from(value(r, c));
  uint64_t wide;

  if (text.at == text.end)
    return 0;
  if (!ft_text_u64(&text, UINT32_MAX, &wide) || text.at != text.end)
    return refuse(r, c, "expected a whole number", err);
  *out = (uint32_t)wide;
  return 0;
}

static void read_name(const struct reader *r, enum column c, char *out, size_t size)
{
  (void)ft_string_copy(value(r, c), out, size);
  ft_utf8_make_printable(out);
}

static int read_id(struct reader *r, const struct ft_sacct_id *id, struct ft_error *err)
{
  ft_observation *o = &r->job.o;
  struct ft_sacct_id raw;

  o->job_id = id->job;
  if (*value(r, JOB_ID_RAW)) {
    if (!ft_sacct_id(value(r, JOB_ID_RAW), &raw))
      return refuse(r, JOB_ID_RAW, "expected a job id", err);
    o->job_id = raw.job;
  }
  o->array_job_id = id->is_array ? id->job : 0;
  o->array_task_id = id->array_task;
  o->het_offset = id->het_offset;
  return 0;
}

static int read_user(struct reader *r, struct ft_error *err)
{
  const struct ft_import *import = r->import;
  ft_observation *o = &r->job.o;

  read_name(r, USER, o->user, sizeof o->user);
  if (!o->user[0] && import->user)
    (void)ft_string_copy(import->user, o->user, sizeof o->user);
  if (*value(r, UID))
    return read_u32(r, UID, &o->uid, err);
  if (!o->user[0])
    return refuse(r, r->at[USER] < 0 ? UID : USER, "expected whose job it is", err);
  if (!import->find_uid || import->find_uid(o->user, &o->uid, import->data) < 0)
    return refuse(r, USER, "not a user of this machine: add the column UID", err);
  return 0;
}

static void name_app(const struct ft_import *import, ft_observation *o)
{
  if (import->app)
    (void)ft_string_copy(import->app, o->submission.app, sizeof o->submission.app);
  else
    ft_state_imported_app(o->user, o->uid, o->submission.job_name, o->submission.app);
}

static int read_request(struct reader *r, struct ft_error *err)
{
  ft_observation *o = &r->job.o;
  const char *text;
  uint64_t bytes;
  double limit;
  char unit;
  int found;

  o->submission.has_request = true;
  o->submission.request.nodes = r->job.nodes;
  read_name(r, PARTITION, o->submission.request.partition, sizeof o->submission.request.partition);
  read_name(r, ACCOUNT, o->submission.request.account, sizeof o->submission.request.account);
  read_name(r, QOS, o->submission.request.qos, sizeof o->submission.request.qos);
  read_name(r, CONSTRAINTS, o->submission.request.constraint,
            sizeof o->submission.request.constraint);
  text = value(r, TIME_LIMIT);
  if (*text && strcmp(text, "UNLIMITED") != 0 && strcmp(text, "Partition_Limit") != 0 &&
      !ft_units_parse_seconds(ft_text_from(text), &o->submission.request.time_limit_seconds))
    return refuse(r, TIME_LIMIT, "expected a time limit such as 1-00:00:00", err);
  if (*value(r, REQ_MEM)) {
    if (!ft_sacct_reqmem(value(r, REQ_MEM), &bytes, &unit))
      return refuse(r, REQ_MEM, "expected a size such as 4G, 4Gn or 4Gc", err);
    o->submission.request.mem_unit = bytes == 0    ? FT_MEM_ALL
                                     : unit == 'c' ? FT_MEM_CPU
                                                   : FT_MEM_NODE;
    o->submission.request.mem_bytes = unit ? bytes : bytes / r->job.nodes;
    limit = (double)o->submission.request.mem_bytes * (unit == 'c' && o->cpus ? o->cpus : 1);
    o->has_limit_bytes = limit > 0 && limit < 0x1p62;
    o->limit_bytes = o->has_limit_bytes ? (uint64_t)limit : 0;
  }
  found = ft_sacct_tres(value(r, ALLOC_TRES), "mem", &bytes);
  if (found < 0)
    return refuse(r, ALLOC_TRES, "expected a list such as cpu=4,mem=4G,node=1", err);
  if (found) {
    o->has_limit_bytes = true;
    o->limit_bytes = bytes / r->job.nodes;
  }
  return 0;
}

static int read_times(struct reader *r, bool *ran, struct ft_error *err)
{
  ft_observation *o = &r->job.o;
  int started = read_time(r, START, &o->start_time, err);

  if (started < 0 || read_time(r, SUBMIT, &o->submit_time, err) < 0 ||
      read_time(r, END, &o->end_time, err) < 0)
    return -1;
  if (*value(r, ELAPSED_RAW)) {
    if (!ft_text_is_double(ft_text_from(value(r, ELAPSED_RAW)), &o->runtime_seconds) ||
        o->runtime_seconds < 0 || o->runtime_seconds > 1e12)
      return refuse(r, ELAPSED_RAW, "expected seconds", err);
  } else if (*value(r, ELAPSED)) {
    if (!ft_units_parse_seconds(ft_text_from(value(r, ELAPSED)), &o->runtime_seconds))
      return refuse(r, ELAPSED, "expected a duration such as 1-02:03:04", err);
  } else if (o->start_time > 0 && o->end_time > o->start_time) {
    o->runtime_seconds = o->end_time - o->start_time;
  }
  if (o->end_time <= 0 && o->start_time > 0)
    o->end_time = o->start_time + o->runtime_seconds;
  *ran = (r->at[START] < 0 || started) && strcmp(value(r, NODE_LIST), "None assigned") != 0;
  return 0;
}

static int read_outcome(struct reader *r, struct ft_error *err)
{
  ft_observation *o = &r->job.o;
  int32_t code, signal;

  if (*value(r, EXIT_CODE) && !ft_sacct_exit(value(r, EXIT_CODE), &o->exit_code, &o->signal))
    return refuse(r, EXIT_CODE, "expected code and signal, such as 1:0", err);
  if (*value(r, DERIVED_EXIT_CODE)) {
    if (!ft_sacct_exit(value(r, DERIVED_EXIT_CODE), &code, &signal))
      return refuse(r, DERIVED_EXIT_CODE, "expected code and signal, such as 1:0", err);
    /* slurm.h: SIG_OOM */
    if (signal == 125)
      o->outcome = FT_OUTCOME_OUT_OF_MEMORY;
  }
  return 0;
}

/* What a line says of memory: *BYTES on its fullest node. Returns 1; 0: nothing; -1 with ERR. */
static int read_memory(struct reader *r, double *bytes, struct ft_error *err)
{
  uint64_t most = 0, total = 0, nodes = 0;
  uint32_t own = 0;
  bool any = *value(r, MAX_RSS) != '\0';
  int found;

  if (any && !ft_sacct_bytes(value(r, MAX_RSS), &most))
    return refuse(r, MAX_RSS, "expected a size such as 123456K", err);
  if (!any) {
    found = ft_sacct_tres(value(r, IN_MAX), "mem", &most);
    if (found < 0)
      return refuse(r, IN_MAX, "expected a list such as cpu=00:00:01,mem=4016K", err);
    any = found > 0;
  }
  found = ft_sacct_tres(value(r, IN_TOTAL), "mem", &total);
  if (found < 0)
    return refuse(r, IN_TOTAL, "expected a list such as cpu=00:00:01,mem=4016K", err);
  if (read_u32(r, NODES, &own, err) < 0)
    return -1;
  if (!any && !found)
    return 0;
  nodes = own ? own : r->job.nodes;
  if ((double)most > r->job.largest && *value(r, MAX_RSS_NODE))
    read_name(r, MAX_RSS_NODE, r->job.o.node, sizeof r->job.o.node);
  r->job.largest = fmax(r->job.largest, (double)most);
  r->job.total = r->job.total || found;
  r->job.sampled = r->job.sampled || !found || nodes > 1;
  *bytes = fmax((double)most, (double)total / (double)nodes);
  return 1;
}

static void add_up(uint64_t *sum, bool *has, uint64_t more)
{
  *sum = more > (UINT64_MAX >> 1) - *sum ? UINT64_MAX >> 1 : *sum + more;
  *has = true;
}

/* What else TRESUsageIn- and OutTot tell of a step: I/O and page faults add up over steps. */
static void read_usage(struct reader *r)
{
  ft_observation *o = &r->job.o;
  uint64_t amount;

  if (ft_sacct_tres(value(r, IN_TOTAL), "fs/disk", &amount) > 0)
    add_up(&o->read_bytes, &o->has_read_bytes, amount);
  if (ft_sacct_tres(value(r, OUT_TOTAL), "fs/disk", &amount) > 0)
    add_up(&o->write_bytes, &o->has_write_bytes, amount);
  if (ft_sacct_tres(value(r, IN_TOTAL), "pages", &amount) > 0)
    add_up(&o->major_faults, &o->has_major_faults, amount);
  if (ft_sacct_tres(value(r, IN_TOTAL), "gres/gpumem", &amount) > 0 &&
      amount > o->gpu_memory_bytes) {
    o->gpu_memory_bytes = amount;
    o->has_gpu_memory_bytes = true;
  }
}

static int read_step(struct reader *r, struct ft_error *err)
{
  double start, end, bytes;
  ft_outcome outcome;
  uint32_t tasks = 0;
  int found;

  if (ft_sacct_state(value(r, STATE), &outcome) == FT_SACCT_UNKNOWN_STATE)
    return refuse(r, STATE, "expected a job state such as COMPLETED", err);
  if (outcome == FT_OUTCOME_OUT_OF_MEMORY)
    r->job.o.outcome = outcome;
  if (read_time(r, START, &start, err) < 0 || read_time(r, END, &end, err) < 0 ||
      read_u32(r, TASKS, &tasks, err) < 0)
    return -1;
  if (tasks > r->job.o.submission.request.tasks)
    r->job.o.submission.request.tasks = tasks;
  found = read_memory(r, &bytes, err);
  if (found <= 0)
    return found;
  read_usage(r);
  if (r->job.own)
    ft_step_overlap_clear(&r->job.steps);
  r->job.own = false;
  if (ft_step_overlap_add(&r->job.steps, start, end, bytes) < 0)
    return refuse(r, JOB_ID, "more steps of one job than foretell follows", err);
  return 0;
}

/* The job is complete: give it on. */
static int finish_job(struct reader *r, struct ft_error *err)
{
  struct ft_import *import = r->import;
  struct job *job = &r->job;
  ft_observation *o = &job->o;

  if (!job->open || job->drop)
    return 0;
  job->open = false;
  o->source = job->total ? FT_SOURCE_SACCT_TOTAL : FT_SOURCE_SACCT;
  if (job->steps.count) {
    double peak = ft_step_overlap_peak(&job->steps);

    o->has_rss_bytes = peak > 0;
    o->rss_bytes = peak < 0x1p62 ? (uint64_t)peak : UINT64_C(1) << 62;
    o->peak_is_bound = job->sampled || job->doubtful || job->nodes > 1 ||
                       (job->steps.untimed && job->steps.count > 1);
  }
  o->censored = o->outcome != FT_OUTCOME_COMPLETED;
  (void)ft_feature_number(o->submission.features, &o->submission.features_count, 24, "nodes",
                          job->nodes);
  if (o->submission.request.tasks)
    (void)ft_feature_number(o->submission.features, &o->submission.features_count, 24, "tasks",
                            o->submission.request.tasks);
  /* as a submission has it: of each task */
  if (job->cpus && o->submission.request.tasks && job->cpus % o->submission.request.tasks == 0)
    (void)ft_feature_number(o->submission.features, &o->submission.features_count, 24, "cpus",
                            job->cpus / o->submission.request.tasks);
  import->runs++;
  return import->put(o, import->data, err);
}

static int read_job(struct reader *r, const struct ft_sacct_id *id, struct ft_error *err)
{
  struct job *job = &r->job;
  ft_observation *o = &job->o;
  enum ft_sacct_state state;
  bool ran = false;
  double bytes;
  int found;

  ft_step_overlap_clear(&job->steps);
  *job = (struct job){
    .open = true, .drop = true, .steps = job->steps, .nodes = 1, .o = { .schema = FT_SCHEMA }
  };
  (void)ft_string_copy(id->base, job->base, sizeof job->base);
  state = ft_sacct_state(value(r, STATE), &o->outcome);
  if (state == FT_SACCT_UNKNOWN_STATE)
    return refuse(r, STATE, "expected a job state such as COMPLETED", err);
  if (read_times(r, &ran, err) < 0)
    return -1;
  if (state == FT_SACCT_NOT_ENDED || !ran || id->pending) {
    r->import->not_ended++;
    return 0;
  }
  if (read_id(r, id, err) < 0 || read_user(r, err) < 0 || read_outcome(r, err) < 0 ||
      read_u32(r, NODES, &job->nodes, err) < 0 || read_u32(r, CPUS, &o->cpus, err) < 0 ||
      read_u32(r, RESTARTS, &o->restart_count, err) < 0)
    return -1;
  job->nodes = job->nodes ? job->nodes : 1;
  job->cpus = o->cpus;
  o->cpus = o->cpus / job->nodes + (o->cpus % job->nodes != 0);
  read_name(r, CLUSTER, o->cluster, sizeof o->cluster);
  if (!o->cluster[0] && r->import->cluster)
    (void)ft_string_copy(r->import->cluster, o->cluster, sizeof o->cluster);
  read_name(r, ACCOUNT, o->account, sizeof o->account);
  read_name(r, PARTITION, o->partition, sizeof o->partition);
  read_name(r, JOB_NAME, o->submission.job_name, sizeof o->submission.job_name);
  if (ft_secret_value(o->submission.job_name))
    (void)ft_string_copy(FT_SECRET_JOB_NAME, o->submission.job_name, sizeof o->submission.job_name);
  name_app(r->import, o);
  if (*value(r, NODE_LIST) && !ft_sacct_first_node(value(r, NODE_LIST), o->node, sizeof o->node))
    return refuse(r, NODE_LIST, "expected node names", err);
  ft_utf8_make_printable(o->node);
  if (*value(r, TOTAL_CPU)) {
    if (!ft_units_parse_seconds(ft_text_from(value(r, TOTAL_CPU)), &o->cpu_seconds))
      return refuse(r, TOTAL_CPU, "expected a duration such as 00:01.500", err);
    o->has_cpu_seconds = true;
  }
  found = read_request(r, err) < 0 ? -1 : read_memory(r, &bytes, err);
  if (found < 0)
    return -1;
  job->drop = false;
  job->own = found > 0;
  if (job->own && ft_step_overlap_add(&job->steps, o->start_time, o->end_time, bytes) < 0)
    return ft_error_set(err, "%s: out of memory", r->import->name);
  return 0;
}

static int read_row(struct reader *r, struct ft_error *err)
{
  struct ft_sacct_id id;

  if (strcasecmp(value(r, JOB_ID), column_names[JOB_ID]) == 0)
    return 0; /* several outputs, one behind the other */
  if (!ft_sacct_id(value(r, JOB_ID), &id))
    return refuse(r, JOB_ID, "expected a job id such as 123, 123_4, 123+1 or 123.batch", err);
  if (!id.step[0])
    return finish_job(r, err) < 0 ? -2 : read_job(r, &id, err);
  if (!r->job.base[0] || strcmp(r->job.base, id.base) != 0)
    return refuse(r, JOB_ID, "a step, but the line of its job is not before it", err);
  return r->job.drop ? 0 : read_step(r, err);
}

/* A row of another length than the header's; its steps, if it is a job, are passed over. */
static int refuse_length(struct reader *r, struct ft_error *err)
{
  struct ft_sacct_id id;
  size_t found = r->csv.count;

  if ((size_t)r->at[JOB_ID] < found && ft_sacct_id(value(r, JOB_ID), &id) && !id.step[0]) {
    if (finish_job(r, err) < 0)
      return -2;
    (void)ft_string_copy(id.base, r->job.base, sizeof r->job.base);
    r->job.drop = true;
  }
  return ft_error_set(err, "%s: line %" PRIu64 ": expected %zu columns as in the header, found %zu",
                      r->import->name, r->csv.line, r->header, found);
}

/* Read one line. Returns 1; 0 at the end; -1 with ERR: a bad line; -2: it cannot go on. */
static int next_row(struct reader *r, struct ft_error *err)
{
  int status = ft_csv_next(&r->csv, err);

  if (status < 0 && r->csv.failed)
    return -2;
  if (status > 0)
    status = r->csv.count == r->header ? read_row(r, err) : refuse_length(r, err);
  else if (status == 0)
    return 0;
  /* it may have been a step of the job at hand */
  r->job.doubtful = r->job.doubtful || status == -1;
  return status < 0 ? status : 1;
}

int ft_import_sacct(struct ft_import *import, struct ft_error *err)
{
  struct reader *r = calloc(1, sizeof *r);
  int status = -1;

  if (!r)
    return ft_error_set(err, "%s: out of memory", import->name);
  r->import = import;
  ft_csv_init(&r->csv, import->fd, import->name, '|', false);
  if (read_header(r, err) < 0)
    goto out;
  while ((status = next_row(r, err)) != 0) {
    if (status == -2 || (status < 0 && !import->keep_going))
      goto out;
    if (status < 0) {
      import->bad++;
      import->skipped(err, import->data);
    }
    if (import->progress)
      import->progress(r->csv.bytes_read, import->data);
  }
  status = finish_job(r, err);
out:
  ft_csv_free(&r->csv);
  ft_step_overlap_free(&r->job.steps);
  free(r);
  return status < 0 ? -1 : 0;
}
