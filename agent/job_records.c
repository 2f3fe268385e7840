/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "agent/job_records.h"
#include "agent/jobs.h"
#include "daemon/log.h"
#include "predictor/core/io.h"

/* Interval of the tries while the learner does not reply, and time until a query has failed: a
 * restart of the learner is shorter. */
#define RETRY_SECONDS 2.0
#define PATIENCE_SECONDS 60.0
/* Jobs per request. */
#define JOB_LIMIT (sizeof((ft_jobs_query *)NULL)->job_id / sizeof(uint32_t))

struct job_query {
  uint32_t job_id;
  double asked; /* monotonic */
};

struct ft_job_records {
  struct ft_loop *loop;
  struct ft_uplink *uplink;
  ft_job_record_callback *call;
  void *data;
  bool sending;          /* a request is under way */
  struct ft_timer timer; /* of the next request */
  /* the oldest first; not more than jobs, each with one query at a time */
  size_t count;
  struct job_query query[FT_JOBS_LIMIT];
};

static void schedule_send(struct ft_job_records *records, double seconds)
{
  if (records->count && !records->sending)
    ft_loop_at(records->loop, &records->timer, ft_io_monotonic() + seconds);
}

/* Returns the index of JOB_ID's query; records->count if there is none. */
static size_t find_query(const struct ft_job_records *records, uint32_t job_id)
{
  size_t i = 0;

  while (i < records->count && records->query[i].job_id != job_id)
    i++;
  return i;
}

/* Removes the query of JOB_ID, if any, and passes RECORD on. */
static void end_record_query(struct ft_job_records *records, uint32_t job_id,
                             const ft_slurm_job *record)
{
  size_t i = find_query(records, job_id);

  if (i == records->count)
    return;
  records->count--;
  memmove(&records->query[i], &records->query[i + 1],
          (records->count - i) * sizeof *records->query);
  records->call(job_id, record, records->data);
}

static void end_old_queries(struct ft_job_records *records)
{
  double before = ft_io_monotonic() - PATIENCE_SECONDS;

  while (records->count && records->query[0].asked <= before)
    end_record_query(records, records->query[0].job_id, NULL);
}

static void jobs_replied(const struct ft_uplink_reply *reply, void *data)
{
  struct ft_job_records *records = data;
  ft_jobs_reply *jobs = malloc(sizeof *jobs);
  struct ft_error err;

  records->sending = false;
  if (reply->body && jobs &&
      ft_record_decode(FT_RECORD_JOBS_REPLY, reply->body, reply->length, jobs, &err) == 0) {
    for (pb_size_t i = 0; i < jobs->job_count; i++)
      end_record_query(records, jobs->job[i].job_id, jobs->job[i].known ? &jobs->job[i] : NULL);
    schedule_send(records, jobs->job_count ? 0 : RETRY_SECONDS);
  } else {
    ft_log(LOG_DEBUG, "no records of jobs: %s", reply->body ? "invalid reply" : reply->why);
    end_old_queries(records);
    schedule_send(records, RETRY_SECONDS);
  }
  free(jobs);
}

static void send_query(void *data)
{
  struct ft_job_records *records = data;
  ft_jobs_query query = { .schema = FT_SCHEMA };
  struct ft_error err;

  while (query.job_id_count < records->count && query.job_id_count < JOB_LIMIT) {
    query.job_id[query.job_id_count] = records->query[query.job_id_count].job_id;
    query.job_id_count++;
  }
  if (!query.job_id_count)
    return;
  records->sending = ft_uplink_send_record(records->uplink, FT_EXCHANGE_JOBS, FT_RECORD_JOBS_QUERY,
                                           &query, jobs_replied, records, &err) == 0;
  if (records->sending)
    return;
  end_old_queries(records);
  schedule_send(records, RETRY_SECONDS);
}

struct ft_job_records *ft_job_records_open(struct ft_loop *loop, struct ft_uplink *uplink,
                                           ft_job_record_callback *call, void *data)
{
  struct ft_job_records *records = calloc(1, sizeof *records);

  if (!records)
    return NULL;
  records->loop = loop;
  records->uplink = uplink;
  records->call = call;
  records->data = data;
  records->timer = (struct ft_timer){ .fire = send_query, .data = records };
  return records;
}

void ft_job_records_close(struct ft_job_records *records)
{
  if (!records)
    return;
  ft_loop_cancel(records->loop, &records->timer);
  free(records);
}

void ft_job_records_query(struct ft_job_records *records, uint32_t job_id)
{
  if (records->count == FT_JOBS_LIMIT || find_query(records, job_id) < records->count)
    return;
  records->query[records->count++] = (struct job_query){ job_id, ft_io_monotonic() };
  if (!records->timer.armed)
    schedule_send(records, 0);
}

void ft_job_records_retry(struct ft_job_records *records)
{
  schedule_send(records, 0);
}
