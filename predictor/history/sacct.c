/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "predictor/core/csv.h"
#include "predictor/core/units.h"
#include "predictor/core/utf8.h"
#include "predictor/history/import.h"
#include "predictor/history/sacct_text.h"
#include "predictor/history/step_overlap.h"
#include "predictor/record/request_memory.h"
#include "predictor/record/secret.h"
#include "predictor/record/state_files.h"

/* Fraction of a run's peak that tasks without a measurement may add at most, so that the peak is
 * still an estimate of what the run needs: the ratio at which runs are comparable
 * (estimate/facts.h).
 */
#define UNMEASURED 0.25

/* Joules from here on are NO_VAL64 of slurm.h, or an overflow. */
#define NO_ENERGY 0x1p60

/* Features of an observation (foretell.options: ft_submission.features). */
enum { MAX_FEATURES = 24 };

/* The columns that are read. */
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
  ENERGY,
  COLUMNS
};

/* Names as in sacct --helpformat; compared without case. */
static const char *const column_names[COLUMNS] = {
  "JobID",          "JobIDRaw",        "JobName",          "User",       "UID",
  "Account",        "Partition",       "Cluster",          "QOS",        "State",
  "ExitCode",       "DerivedExitCode", "Submit",           "Start",      "End",
  "Elapsed",        "ElapsedRaw",      "Timelimit",        "NNodes",     "NTasks",
  "AllocCPUS",      "NodeList",        "Restarts",         "ReqMem",     "AllocTRES",
  "Constraints",    "TotalCPU",        "MaxRSS",           "MaxRSSNode", "TRESUsageInTot",
  "TRESUsageInMax", "TRESUsageOutTot", "ConsumedEnergyRaw"
};

/* The job of the current line. */
struct job {
  bool open;       /* a job line has been read, and its run not yet passed to put */
  bool skip_steps; /* the job is not imported */
  ft_observation o;
  char base[48];               /* as ft_sacct_id.base */
  uint32_t nodes, cpus;        /* allocated to the job */
  double largest;              /* peak RSS of the largest task so far, bytes */
  bool has_total, has_sampled; /* some step has TRESUsageInTot; some has not */
  bool maybe_incomplete;       /* an unreadable line may have been one of its steps */
  bool job_line_only;          /* the only step is the job's own line */
  double unmeasured;           /* bytes that tasks without a measurement may have added, at most */
  struct ft_step_overlap steps;
};

struct reader {
  struct ft_import *import;
  struct ft_csv csv;
  int at[COLUMNS];     /* position of each column; -1: absent */
  size_t header_count; /* columns of the header */
  struct job job;
};

/* Returns the text of column C in the current row; "" without the column. */
static const char *column_text(const struct reader *r, enum column c)
{
  return r->at[c] < 0 ? "" : r->csv.field[r->at[c]];
}

/* Fills ERR with position, column and EXPECTED. Returns -1. */
static int column_error(const struct reader *r, enum column c, const char *expected,
                        struct ft_error *err)
{
  return ft_csv_fail(&r->csv, r->at[c] < 0 ? FT_CSV_FIELDS : (size_t)r->at[c], column_names[c], err,
                     expected);
}

/* Reads the header and finds the columns. Returns 0; -1 on error and fills ERR. */
static int read_sacct_header(struct reader *r, struct ft_error *err)
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
  r->header_count = r->csv.count;
  r->import->tasks_unknown = r->at[TASKS] < 0 && r->at[IN_TOTAL] < 0;
  if (r->at[JOB_ID] < 0 || r->at[STATE] < 0)
    return ft_error_set(err, "%s: line %" PRIu64 ": expected a header of sacct -P with %s",
                        r->import->name, r->csv.line, r->at[JOB_ID] < 0 ? "JobID" : "State");
  if (r->at[USER] < 0 && r->at[UID] < 0 && !r->import->user)
    return ft_error_set(err, "%s: line %" PRIu64 ": expected a column User or UID in the header",
                        r->import->name, r->csv.line);
  return 0;
}

/* Reads a time in UTC seconds. Returns 1; 0 with 0 if the column is empty or Unknown; -1 on error.
 */
static int read_time(const struct reader *r, enum column c, double *utc, struct ft_error *err)
{
  const char *text = column_text(r, c);

  *utc = 0;
  if (!*text || strcmp(text, "Unknown") == 0 || strcmp(text, "None") == 0)
    return 0;
  switch (ft_time_parse(ft_text_from(text), r->import->zone, utc)) {
  case 1:
    return 1;
  case 0:
    return column_error(r, c, "a local time; give its time zone with --timezone", err);
  default:
    return column_error(r, c, "expected a time such as 2026-11-20T21:30:00", err);
  }
}

static int read_u32(const struct reader *r, enum column c, uint32_t *out, struct ft_error *err)
{
  struct ft_text text = ft_text_from(column_text(r, c));
  uint64_t wide;

  if (text.at == text.end)
    return 0;
  if (!ft_text_u64(&text, UINT32_MAX, &wide) || text.at != text.end)
    return column_error(r, c, "expected a whole number", err);
  *out = (uint32_t)wide;
  return 0;
}

static void copy_text(const struct reader *r, enum column c, char *out, size_t size)
{
  (void)ft_string_copy(column_text(r, c), out, size);
  ft_utf8_make_printable(out);
}

static int read_job_id(struct reader *r, const struct ft_sacct_id *id, struct ft_error *err)
{
  ft_observation *o = &r->job.o;
  struct ft_sacct_id raw;

  o->job_id = id->job;
  if (*column_text(r, JOB_ID_RAW)) {
    if (!ft_sacct_id(column_text(r, JOB_ID_RAW), &raw))
      return column_error(r, JOB_ID_RAW, "expected a job id", err);
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

  copy_text(r, USER, o->user, sizeof o->user);
  if (!o->user[0] && import->user)
    (void)ft_string_copy(import->user, o->user, sizeof o->user);
  if (*column_text(r, UID))
    return read_u32(r, UID, &o->uid, err);
  if (!o->user[0])
    return column_error(r, r->at[USER] < 0 ? UID : USER, "expected a user name or a uid", err);
  if (!import->find_uid || import->find_uid(o->user, &o->uid, import->data) < 0)
    return column_error(r, USER, "unknown user; add the column UID", err);
  return 0;
}

/* Sets the app of O: that of IMPORT, else one named by user and job name. */
static void set_imported_app(const struct ft_import *import, ft_observation *o)
{
  if (import->app)
    (void)ft_string_copy(import->app, o->submission.app, sizeof o->submission.app);
  else
    ft_state_imported_app(o->user, o->uid, o->submission.job_name, o->submission.app);
}

/* Reads the request and the memory limit. Returns 0; -1 on error and fills ERR. */
static int read_request(struct reader *r, struct ft_error *err)
{
  ft_observation *o = &r->job.o;
  const char *text;
  uint64_t bytes, limit;
  char unit;
  int found;

  o->submission.has_request = true;
  o->submission.request.nodes = r->job.nodes;
  o->submission.request.exclusive = r->import->exclusive;
  copy_text(r, PARTITION, o->submission.request.partition, sizeof o->submission.request.partition);
  copy_text(r, ACCOUNT, o->submission.request.account, sizeof o->submission.request.account);
  copy_text(r, QOS, o->submission.request.qos, sizeof o->submission.request.qos);
  copy_text(r, CONSTRAINTS, o->submission.request.constraint,
            sizeof o->submission.request.constraint);
  text = column_text(r, TIME_LIMIT);
  if (*text && strcmp(text, "UNLIMITED") != 0 && strcmp(text, "Partition_Limit") != 0 &&
      !ft_units_parse_seconds(ft_text_from(text), &o->submission.request.time_limit_seconds))
    return column_error(r, TIME_LIMIT, "expected a time limit such as 1-00:00:00", err);
  if (*column_text(r, REQ_MEM)) {
    if (!ft_sacct_reqmem(column_text(r, REQ_MEM), &bytes, &unit))
      return column_error(r, REQ_MEM, "expected a size such as 4G, 4Gn or 4Gc", err);
    o->submission.request.mem_unit = bytes == 0    ? FT_MEM_ALL
                                     : unit == 'c' ? FT_MEM_CPU
                                                   : FT_MEM_NODE;
    o->submission.request.mem_bytes = unit ? bytes : bytes / r->job.nodes;
    limit = ft_request_node_bytes(&o->submission.request, o->cpus);
    o->has_limit_bytes = limit > 0 && limit < UINT64_C(1) << 62;
    o->limit_bytes = o->has_limit_bytes ? limit : 0;
  }
  found = ft_sacct_tres(column_text(r, ALLOC_TRES), "mem", &bytes);
  if (found < 0)
    return column_error(r, ALLOC_TRES, "expected a list such as cpu=4,mem=4G,node=1", err);
  if (found) {
    o->has_limit_bytes = true;
    o->limit_bytes = bytes / r->job.nodes;
  }
  return 0;
}

/* Reads times and run time; *RAN: the job has started. Returns 0; -1 on error and fills ERR. */
static int read_times(struct reader *r, bool *ran, struct ft_error *err)
{
  ft_observation *o = &r->job.o;
  int started = read_time(r, START, &o->start_time, err);

  if (started < 0 || read_time(r, SUBMIT, &o->submit_time, err) < 0 ||
      read_time(r, END, &o->end_time, err) < 0)
    return -1;
  if (*column_text(r, ELAPSED_RAW)) {
    if (!ft_text_is_double(ft_text_from(column_text(r, ELAPSED_RAW)), &o->runtime_seconds) ||
        o->runtime_seconds < 0 || o->runtime_seconds > 1e12)
      return column_error(r, ELAPSED_RAW, "expected seconds", err);
  } else if (*column_text(r, ELAPSED)) {
    if (!ft_units_parse_seconds(ft_text_from(column_text(r, ELAPSED)), &o->runtime_seconds))
      return column_error(r, ELAPSED, "expected a duration such as 1-02:03:04", err);
  } else if (o->start_time > 0 && o->end_time > o->start_time) {
    o->runtime_seconds = o->end_time - o->start_time;
  }
  if (o->end_time <= 0 && o->start_time > 0)
    o->end_time = o->start_time + o->runtime_seconds;
  *ran = (r->at[START] < 0 || started) && strcmp(column_text(r, NODE_LIST), "None assigned") != 0;
  return 0;
}

/* Reads the energy of the job's nodes, in joules. Slurm writes 0 or all bits where it measures
 * none. Returns 0; -1 on error and fills ERR. */
static int read_energy(struct reader *r, struct ft_error *err)
{
  const char *text = column_text(r, ENERGY);
  double joules;

  if (!*text)
    return 0;
  if (!ft_text_is_double(ft_text_from(text), &joules))
    return column_error(r, ENERGY, "expected joules", err);
  r->job.o.has_node_energy_joules = joules > 0 && joules < NO_ENERGY;
  r->job.o.node_energy_joules = r->job.o.has_node_energy_joules ? joules : 0;
  return 0;
}

static int read_exit_codes(struct reader *r, struct ft_error *err)
{
  ft_observation *o = &r->job.o;
  int32_t code, signal;

  if (*column_text(r, EXIT_CODE) &&
      !ft_sacct_exit(column_text(r, EXIT_CODE), &o->exit_code, &o->signal))
    return column_error(r, EXIT_CODE, "expected code and signal, such as 1:0", err);
  if (*column_text(r, DERIVED_EXIT_CODE)) {
    if (!ft_sacct_exit(column_text(r, DERIVED_EXIT_CODE), &code, &signal))
      return column_error(r, DERIVED_EXIT_CODE, "expected code and signal, such as 1:0", err);
    /* SIG_OOM of slurm.h */
    if (signal == 125)
      o->outcome = FT_OUTCOME_OUT_OF_MEMORY;
  }
  return 0;
}

/* Sets *BYTES to the peak memory of the current line on the node with the most. Returns 1; 0 if the
 * line has no peak; -1 on error and fills ERR. */
static int read_line_peak(struct reader *r, double *bytes, struct ft_error *err)
{
  uint64_t largest = 0, total = 0, nodes = 0;
  uint32_t line_nodes = 0, tasks = 0;
  bool any = *column_text(r, MAX_RSS) != '\0';
  int found;

  if (any && !ft_units_parse_bytes(ft_text_from(column_text(r, MAX_RSS)), 1, &largest))
    return column_error(r, MAX_RSS, "expected a size such as 123456K", err);
  if (!any) {
    found = ft_sacct_tres(column_text(r, IN_MAX), "mem", &largest);
    if (found < 0)
      return column_error(r, IN_MAX, "expected a list such as cpu=00:00:01,mem=4016K", err);
    any = found > 0;
  }
  found = ft_sacct_tres(column_text(r, IN_TOTAL), "mem", &total);
  if (found < 0)
    return column_error(r, IN_TOTAL, "expected a list such as cpu=00:00:01,mem=4016K", err);
  if (read_u32(r, NODES, &line_nodes, err) < 0 || read_u32(r, TASKS, &tasks, err) < 0)
    return -1;
  if (!any && !found)
    return 0;
  nodes = line_nodes ? line_nodes : r->job.nodes;
  if (!found && tasks > nodes)
    r->job.unmeasured += (double)largest * ((double)tasks / (double)nodes - 1);
  if ((double)largest > r->job.largest && *column_text(r, MAX_RSS_NODE))
    copy_text(r, MAX_RSS_NODE, r->job.o.node, sizeof r->job.o.node);
  r->job.largest = fmax(r->job.largest, (double)largest);
  r->job.has_total = r->job.has_total || found;
  r->job.has_sampled = r->job.has_sampled || !found || nodes > 1;
  *bytes = fmax((double)largest, (double)total / (double)nodes);
  return 1;
}

/* Adds MORE to *SUM, at most 2^63. */
static void add_saturated(uint64_t *sum, bool *has, uint64_t more)
{
  *sum = more > (UINT64_MAX >> 1) - *sum ? UINT64_MAX >> 1 : *sum + more;
  *has = true;
}

/* Reads I/O, page faults and GPU memory of a step. I/O and page faults add up over steps. */
static void read_usage(struct reader *r)
{
  ft_observation *o = &r->job.o;
  uint64_t amount;

  if (ft_sacct_tres(column_text(r, IN_TOTAL), "fs/disk", &amount) > 0)
    add_saturated(&o->read_bytes, &o->has_read_bytes, amount);
  if (ft_sacct_tres(column_text(r, OUT_TOTAL), "fs/disk", &amount) > 0)
    add_saturated(&o->write_bytes, &o->has_write_bytes, amount);
  if (ft_sacct_tres(column_text(r, IN_TOTAL), "pages", &amount) > 0)
    add_saturated(&o->major_faults, &o->has_major_faults, amount);
  if (ft_sacct_tres(column_text(r, IN_TOTAL), "gres/gpumem", &amount) > 0 &&
      amount > o->gpu_memory_bytes) {
    o->gpu_memory_bytes = amount;
    o->has_gpu_memory_bytes = true;
  }
}

/* Reads the line of a step of the open job. Returns 0; -1 on error and fills ERR. */
static int read_step_line(struct reader *r, struct ft_error *err)
{
  double start, end, bytes;
  uint32_t tasks = 0, nodes = 0;
  const char *one_node;
  ft_outcome outcome;
  int found;

  if (ft_sacct_state(column_text(r, STATE), &outcome) == FT_SACCT_UNKNOWN_STATE)
    return column_error(r, STATE, "expected a job state such as COMPLETED", err);
  if (outcome == FT_OUTCOME_OUT_OF_MEMORY)
    r->job.o.outcome = outcome;
  if (read_time(r, START, &start, err) < 0 || read_time(r, END, &end, err) < 0 ||
      read_u32(r, TASKS, &tasks, err) < 0 || read_u32(r, NODES, &nodes, err) < 0)
    return -1;
  if (tasks > r->job.o.submission.request.tasks)
    r->job.o.submission.request.tasks = tasks;
  found = read_line_peak(r, &bytes, err);
  if (found <= 0)
    return found;
  read_usage(r);
  if (r->job.job_line_only)
    ft_step_overlap_clear(&r->job.steps);
  r->job.job_line_only = false;
  /* steps on different nodes do not share memory */
  one_node = nodes == 1 && *column_text(r, NODE_LIST) ? column_text(r, NODE_LIST) : NULL;
  if (ft_step_overlap_add(&r->job.steps, one_node, start, end, bytes) < 0)
    return column_error(r, JOB_ID, "out of memory, or over 100000 steps in one job", err);
  return 0;
}

/* Completes the open job and passes it to put. Returns 0, also without an open job; -1 on error. */
static int finish_job(struct reader *r, struct ft_error *err)
{
  struct ft_import *import = r->import;
  struct job *job = &r->job;
  ft_observation *o = &job->o;
  bool partial;

  if (!job->open || job->skip_steps)
    return 0;
  job->open = false;
  o->source = job->has_total ? FT_SOURCE_SACCT_TOTAL : FT_SOURCE_SACCT;
  if (job->steps.count) {
    double peak = ft_step_overlap_peak(&job->steps);

    o->has_rss_bytes = peak > 0;
    o->rss_bytes = peak < 0x1p62 ? (uint64_t)peak : UINT64_C(1) << 62;
    o->peak_is_bound = job->has_sampled || job->maybe_incomplete || job->nodes > 1 ||
                       (job->steps.untimed && job->steps.count > 1);
  }
  partial = o->has_rss_bytes && job->unmeasured > UNMEASURED * (double)o->rss_bytes;
  import->partial += partial;
  o->censored = o->outcome != FT_OUTCOME_COMPLETED || partial;
  (void)ft_feature_number(o->submission.features, &o->submission.features_count, MAX_FEATURES,
                          "nodes", job->nodes);
  if (o->submission.request.tasks)
    (void)ft_feature_number(o->submission.features, &o->submission.features_count, MAX_FEATURES,
                            "tasks", o->submission.request.tasks);
  /* the feature is CPUs per task, as in a submission */
  if (job->cpus && o->submission.request.tasks && job->cpus % o->submission.request.tasks == 0)
    (void)ft_feature_number(o->submission.features, &o->submission.features_count, MAX_FEATURES,
                            "cpus", job->cpus / o->submission.request.tasks);
  import->runs++;
  return import->put(o, import->data, err);
}

/* Reads the line of a job, without its steps. Returns 0; -1 on error and fills ERR. */
static int read_job_line(struct reader *r, const struct ft_sacct_id *id, struct ft_error *err)
{
  struct job *job = &r->job;
  ft_observation *o = &job->o;
  enum ft_sacct_state state;
  bool ran = false;
  double bytes;
  int found;

  ft_step_overlap_clear(&job->steps);
  *job = (struct job){
    .open = true, .skip_steps = true, .steps = job->steps, .nodes = 1, .o = { .schema = FT_SCHEMA }
  };
  (void)ft_string_copy(id->base, job->base, sizeof job->base);
  state = ft_sacct_state(column_text(r, STATE), &o->outcome);
  if (state == FT_SACCT_UNKNOWN_STATE)
    return column_error(r, STATE, "expected a job state such as COMPLETED", err);
  if (read_times(r, &ran, err) < 0)
    return -1;
  if (state == FT_SACCT_NOT_ENDED || !ran || id->pending) {
    r->import->not_ended++;
    return 0;
  }
  if (read_job_id(r, id, err) < 0 || read_user(r, err) < 0 || read_exit_codes(r, err) < 0 ||
      read_u32(r, NODES, &job->nodes, err) < 0 || read_u32(r, CPUS, &o->cpus, err) < 0 ||
      read_u32(r, RESTARTS, &o->restart_count, err) < 0)
    return -1;
  job->nodes = job->nodes ? job->nodes : 1;
  job->cpus = o->cpus;
  o->cpus = o->cpus / job->nodes + (o->cpus % job->nodes != 0);
  o->allocated_nodes = job->nodes;
  copy_text(r, CLUSTER, o->cluster, sizeof o->cluster);
  if (!o->cluster[0] && r->import->cluster)
    (void)ft_string_copy(r->import->cluster, o->cluster, sizeof o->cluster);
  copy_text(r, ACCOUNT, o->account, sizeof o->account);
  copy_text(r, PARTITION, o->partition, sizeof o->partition);
  copy_text(r, JOB_NAME, o->submission.job_name, sizeof o->submission.job_name);
  if (ft_secret_label(o->submission.job_name))
    (void)ft_string_copy(FT_SECRET_JOB_NAME, o->submission.job_name, sizeof o->submission.job_name);
  set_imported_app(r->import, o);
  if (*column_text(r, NODE_LIST) &&
      !ft_sacct_first_node(column_text(r, NODE_LIST), o->node, sizeof o->node))
    return column_error(r, NODE_LIST, "expected node names", err);
  ft_utf8_make_printable(o->node);
  if (*column_text(r, TOTAL_CPU)) {
    if (!ft_units_parse_seconds(ft_text_from(column_text(r, TOTAL_CPU)), &o->cpu_seconds))
      return column_error(r, TOTAL_CPU, "expected a duration such as 00:01.500", err);
    o->has_cpu_seconds = true;
  }
  found = read_request(r, err) < 0 || read_energy(r, err) < 0 ? -1 : read_line_peak(r, &bytes, err);
  if (found < 0)
    return -1;
  job->skip_steps = false;
  job->job_line_only = found > 0;
  if (job->job_line_only &&
      ft_step_overlap_add(&job->steps, NULL, o->start_time, o->end_time, bytes) < 0)
    return ft_error_set(err, "%s: out of memory", r->import->name);
  return 0;
}

/* Reads one line with the header's number of columns. Returns 0; -1 for an invalid line and -2 if
 * the import must end, both fill ERR. */
static int read_sacct_row(struct reader *r, struct ft_error *err)
{
  struct ft_sacct_id id;

  if (strcasecmp(column_text(r, JOB_ID), column_names[JOB_ID]) == 0)
    return 0; /* concatenated outputs repeat the header */
  if (!ft_sacct_id(column_text(r, JOB_ID), &id))
    return column_error(r, JOB_ID, "expected a job id such as 123, 123_4, 123+1 or 123.batch", err);
  if (!id.step[0])
    return finish_job(r, err) < 0 ? -2 : read_job_line(r, &id, err);
  if (!r->job.base[0] || strcmp(r->job.base, id.base) != 0)
    return column_error(r, JOB_ID, "step without a preceding line of its job", err);
  return r->job.skip_steps ? 0 : read_step_line(r, err);
}

/* Rejects a row of wrong length. If it is a job line, the job's steps are skipped. Returns -1, or
 * -2 if the import must end, and fills ERR. */
static int reject_row_length(struct reader *r, struct ft_error *err)
{
  struct ft_sacct_id id;
  size_t found = r->csv.count;

  if ((size_t)r->at[JOB_ID] < found && ft_sacct_id(column_text(r, JOB_ID), &id) && !id.step[0]) {
    if (finish_job(r, err) < 0)
      return -2;
    (void)ft_string_copy(id.base, r->job.base, sizeof r->job.base);
    r->job.skip_steps = true;
  }
  return ft_error_set(err, "%s: line %" PRIu64 ": expected %zu columns as in the header, found %zu",
                      r->import->name, r->csv.line, r->header_count, found);
}

/* Reads one line. Returns 1; 0 at the end; -1 for an invalid line and -2 if the import must end,
 * both fill ERR. */
static int read_next_row(struct reader *r, struct ft_error *err)
{
  int status = ft_csv_next(&r->csv, err);

  if (status < 0 && r->csv.failed)
    return -2;
  if (status > 0)
    status = r->csv.count == r->header_count ? read_sacct_row(r, err) : reject_row_length(r, err);
  else if (status == 0)
    return 0;
  /* the line may have been a step of the open job */
  r->job.maybe_incomplete = r->job.maybe_incomplete || status == -1;
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
  if (read_sacct_header(r, err) < 0)
    goto out;
  while ((status = read_next_row(r, err)) != 0) {
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
