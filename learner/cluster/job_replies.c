/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "learner/cluster/job_replies.h"
#include "learner/cluster/scontrol.h"
#include "predictor/core/units.h"
#include "predictor/core/utf8.h"
#include "predictor/history/sacct_text.h"

/* ---- scontrol ---- */

void ft_reply_mark_set(struct ft_reply_mark *mark, uint64_t secret)
{
  (void)snprintf(mark->line, sizeof mark->line, "foretell-%016" PRIx64, secret);
}

int ft_job_commands(const uint32_t *job_id, size_t count, const struct ft_reply_mark *mark,
                    struct ft_buf *out)
{
  for (size_t i = 0; i < count; i++)
    (void)ft_buf_printf(out, "show hostnames %s\nshow job %" PRIu32 "\n", mark->line, job_id[i]);
  return ft_buf_printf(out, "show hostnames %s\n", mark->line);
}

/* Moves OUTPUT after the next line with MARK. *BEFORE gets the text before it; false: none. */
static bool skip_to_mark(struct ft_text *output, const struct ft_reply_mark *mark,
                         struct ft_text *before)
{
  struct ft_text rest = *output, line;
  const char *begin = rest.at;

  while (ft_text_line(&rest, &line)) {
    const char *end = line.at;

    while (ft_text_skip(&line, FT_SCONTROL_PROMPT))
      continue;
    if (ft_text_equals(ft_text_trim(line), mark->line)) {
      *before = ft_text_of(begin, (size_t)(end - begin));
      *output = rest;
      return true;
    }
  }
  return false;
}

bool ft_job_reply_next(struct ft_text *output, const struct ft_reply_mark *mark,
                       struct ft_text *reply)
{
  struct ft_text rest = *output, before;

  if (!skip_to_mark(&rest, mark, &before) || !skip_to_mark(&rest, mark, reply))
    return false;
  output->at = reply->end; /* at the mark, which begins the next reply */
  return true;
}

static bool contains_text(struct ft_text text, const char *part)
{
  size_t length = strlen(part);

  return ft_text_left(&text) >= length && memmem(text.at, ft_text_left(&text), part, length);
}

bool ft_job_reply_none(struct ft_text reply)
{
  return contains_text(reply, "Invalid job id");
}

bool ft_job_reply_error(struct ft_text output, char *why, size_t size)
{
  struct ft_text line;

  while (ft_text_line(&output, &line))
    if (contains_text(line, " error: ") && !contains_text(line, "Invalid job id")) {
      (void)ft_text_copy(ft_text_trim(line), why, size);
      ft_utf8_make_printable(why);
      return true;
    }
  return false;
}

/* ---- sacct ---- */

enum sacct_column {
  RAW_ID,
  RUN_STATE,
  SUBMITTED,
  ENDED,
  SUSPENDED,
  LIMIT_MINUTES,
  PARTITION_NAME,
  USER_ID,
  USER_NAME,
  FULL_ID, /* of a task of an array "10_3", of a component "10+1" */
  NODE_NAMES,
  SACCT_COLUMNS
};

/* Splits LINE into its columns. Returns false if there are fewer or more. */
static bool split_row(struct ft_text line, struct ft_text column[SACCT_COLUMNS])
{
  int count = 0;

  while (count < SACCT_COLUMNS && ft_text_until(&line, '|', &column[count]))
    count++;
  return count == SACCT_COLUMNS && !ft_text_left(&line);
}

static bool parse_whole_u64(struct ft_text text, uint64_t max, uint64_t *out)
{
  return ft_text_u64(&text, max, out) && !ft_text_left(&text);
}

static void copy_sacct_text(struct ft_text text, char *out, size_t size)
{
  (void)ft_text_copy(text, out, size);
  ft_utf8_make_printable(out);
}

/* Parses the run in COLUMN into OUT. */
static void parse_run(const struct ft_text column[SACCT_COLUMNS], ft_slurm_job *out)
{
  char state[64], full[64];
  struct ft_sacct_id id;
  uint64_t number;

  *out = (ft_slurm_job){ 0 };
  out->known = ft_text_copy(column[RUN_STATE], state, sizeof state) &&
               ft_sacct_state(state, &out->outcome) == FT_SACCT_ENDED &&
               ft_scontrol_utc_time(column[SUBMITTED], &out->submit_time) &&
               ft_scontrol_utc_time(column[ENDED], &out->end_time) &&
               parse_whole_u64(column[USER_ID], UINT32_MAX, &number);
  if (!out->known)
    return;
  out->final = true;
  out->uid = (uint32_t)number;
  copy_sacct_text(column[USER_NAME], out->user, sizeof out->user);
  copy_sacct_text(column[PARTITION_NAME], out->partition, sizeof out->partition);
  (void)ft_units_parse_seconds(column[SUSPENDED], &out->suspended_seconds);
  copy_sacct_text(column[FULL_ID], full, sizeof full);
  out->identified = ft_sacct_id(full, &id) && !id.pending;
  if (out->identified) {
    out->array_job_id = id.is_array ? id.job : 0;
    out->array_task_id = id.array_task;
    out->het_offset = id.het_offset;
  }
  if (parse_whole_u64(column[LIMIT_MINUTES], UINT32_MAX, &number))
    out->time_limit_seconds = 60.0 * (double)number;
}

/* Whether RUN has ended so that Slurm may run its job again. */
static bool may_be_repeated(const ft_slurm_job *run)
{
  return run->known &&
         (run->outcome == FT_OUTCOME_REQUEUED || run->outcome == FT_OUTCOME_PREEMPTED ||
          run->outcome == FT_OUTCOME_NODE_FAIL);
}

void ft_sacct_jobs(struct ft_text output, const uint32_t *job_id, size_t count, ft_slurm_job *out,
                   struct ft_text *nodes)
{
  struct ft_text line, column[SACCT_COLUMNS];
  uint64_t number;

  memset(out, 0, count * sizeof *out);
  memset(nodes, 0, count * sizeof *nodes);
  while (ft_text_line(&output, &line)) {
    size_t i = 0;
    ft_slurm_job run;

    if (!split_row(line, column) || !parse_whole_u64(column[RAW_ID], UINT32_MAX, &number))
      continue;
    while (i < count && job_id[i] != number)
      i++;
    if (i == count)
      continue;
    /* the runs of a job follow one another, the first submitted first */
    parse_run(column, &run);
    if (may_be_repeated(&out[i]))
      run.restart_count = out[i].restart_count + 1;
    out[i] = run;
    nodes[i] = column[NODE_NAMES];
  }
}
