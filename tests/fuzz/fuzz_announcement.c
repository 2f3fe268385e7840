/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A packet's path through the agent: decoder, state machine of jobs with trees that measure
 * nothing, and the resulting observations, which must encode again. One input has several packets,
 * each after its length in two bytes.
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "agent/jobs.h"
#include "tests/fuzz/limit.h"

const size_t fuzz_limit = 2 * (UINT16_MAX + 2); /* two packets */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct ft_tree {
  char unused;
};

struct ft_tree *ft_tree_open(struct ft_measure *measure, struct ft_error *err)
{
  (void)measure;
  (void)err;
  return calloc(1, sizeof(struct ft_tree));
}

int ft_tree_add_root(struct ft_tree *tree, pid_t pid, uint64_t start_ticks, bool skip_self,
                     struct ft_error *err)
{
  (void)start_ticks;
  (void)tree;
  (void)skip_self;
  if (pid <= 0)
    abort();
  return ft_error_set(err, "%ld: no such process", (long)pid);
}

void ft_tree_set_counted(struct ft_tree *tree, bool counted)
{
  (void)tree;
  (void)counted;
}

void ft_tree_expect_command(struct ft_tree *tree, const char *pattern)
{
  (void)tree;
  (void)pattern;
}

void ft_tree_set_mark(struct ft_tree *tree, const char *mark, uid_t user)
{
  (void)tree;
  (void)mark;
  (void)user;
}

void ft_tree_add_end(struct ft_tree *tree, const ft_task_end *end)
{
  (void)tree;
  (void)end;
}

bool ft_tree_alive(const struct ft_tree *tree)
{
  (void)tree;
  return false;
}

bool ft_tree_was_stopped(const struct ft_tree *tree)
{
  (void)tree;
  return false;
}

const struct ft_sample *ft_tree_latest(const struct ft_tree *tree)
{
  (void)tree;
  return NULL;
}

void ft_tree_observe(const struct ft_tree *tree, ft_observation *out)
{
  (void)tree;
  (void)out;
}

void ft_tree_close(struct ft_tree *tree, ft_observation *out)
{
  (void)out;
  free(tree);
}

static void finished(const ft_observation *o, void *data)
{
  static ft_observation again;
  struct ft_error err;
  struct ft_buf buf;

  (void)data;
  ft_buf_init(&buf, FT_LIMIT_RECORD);
  if (ft_record_encode(FT_RECORD_OBSERVATION, o, &buf, &err) < 0 ||
      ft_record_decode(FT_RECORD_OBSERVATION, buf.data, buf.length, &again, &err) < 0)
    abort();
  ft_buf_free(&buf);
}

static void with_job(uint32_t job_id, void *data)
{
  (void)job_id;
  (void)data;
}

static void with_observation(const ft_observation *o, void *data)
{
  (void)o;
  (void)data;
}

static bool suspend(const ft_observation *o, void *data)
{
  with_observation(o, data);
  return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  static ft_announcement announcement;
  const struct ft_jobs_settings settings = { .rule = FT_RULE_RSS,
                                             .grace_seconds = 30,
                                             .finished = finished,
                                             .remove_journal = with_job,
                                             .save_partial = suspend };
  struct ft_instant now = { 1000, 2000 };
  struct ft_jobs *jobs = ft_jobs_open(&settings, NULL);

  if (!jobs)
    return 0;
  while (size >= 2) {
    size_t length = data[0] | (size_t)data[1] << 8;

    data += 2;
    size -= 2;
    length = length < size ? length : size;
    if (ft_record_decode(FT_RECORD_ANNOUNCEMENT, data, length, &announcement, NULL) == 0) {
      (void)ft_jobs_announce(jobs, &announcement, 1, length % 2, now);
      now.monotonic += (double)(length % 7);
      now.utc = now.monotonic + 1000;
      (void)ft_jobs_tick(jobs, now);
    }
    data += length;
    size -= length;
  }
  ft_jobs_close(jobs);
  return 0;
}
