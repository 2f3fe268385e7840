/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Growing arrays of a stream. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "predictor/core/hash.h"
#include "tests/bench/weeks/stream.h"

/* Returns a new element of SIZE bytes in LIST, zeroed; NULL if out of memory. */
static void *append_element(void **list, size_t *count, size_t *room, size_t size)
{
  size_t more = *room ? 2 * *room : 64;
  void *grown, *place;

  if (*count == *room) {
    grown = realloc(*list, more * size);
    if (!grown)
      return NULL;
    *list = grown;
    *room = more;
  }
  place = (char *)*list + *count * size;
  memset(place, 0, size);
  *count += 1;
  return place;
}

struct weeks_site *weeks_add_site(struct weeks_stream *s)
{
  return append_element((void **)&s->site, &s->sites, &s->site_size, sizeof *s->site);
}

struct weeks_app *weeks_add_app(struct weeks_stream *s)
{
  return append_element((void **)&s->app, &s->apps, &s->app_size, sizeof *s->app);
}

struct weeks_submission *weeks_add_submission(struct weeks_stream *s)
{
  return append_element((void **)&s->submission, &s->submissions, &s->submission_size,
                        sizeof *s->submission);
}

struct weeks_task *weeks_add_task(struct weeks_stream *s)
{
  return append_element((void **)&s->task, &s->tasks, &s->task_size, sizeof *s->task);
}

const char *weeks_add_text(struct weeks_stream *s, const char *text)
{
  char **place = append_element((void **)&s->text, &s->texts, &s->text_size, sizeof *s->text);

  if (place)
    *place = strdup(text);
  return place ? *place : NULL;
}

static int compare_times(const void *a, const void *b)
{
  const struct weeks_submission *x = a, *y = b;

  if (x->time != y->time)
    return x->time < y->time ? -1 : 1;
  return (x->first_task > y->first_task) - (x->first_task < y->first_task);
}

void weeks_sort(struct weeks_stream *s)
{
  qsort(s->submission, s->submissions, sizeof *s->submission, compare_times);
}

uint64_t weeks_stream_hash(const struct weeks_stream *stream)
{
  uint64_t hash = FT_HASH_SEED;

  for (size_t i = 0; i < stream->submissions; i++) {
    const struct weeks_submission *s = &stream->submission[i];
    const double what[] = { s->time,           s->app,        s->script_hash,
                            s->directory_hash, s->typed_mode, (double)s->mem_bytes,
                            s->cpus,           s->reaction,   s->ranks };

    hash = ft_hash64(hash, what, sizeof what);
    for (uint32_t j = 0; j < s->values; j++)
      hash = ft_hash64(hash, &s->value[j].number, sizeof s->value[j].number);
  }
  for (size_t i = 0; i < stream->tasks; i++) {
    const struct weeks_task *task = &stream->task[i];
    const double what[] = { task->need_bytes, task->seconds, task->peak_at, task->reached,
                            task->input,      task->ending,  task->fills };

    hash = ft_hash64(hash, what, sizeof what);
  }
  return hash;
}

void weeks_stream_free(struct weeks_stream *s)
{
  for (size_t i = 0; i < s->texts; i++)
    free(s->text[i]);
  free(s->text);
  free(s->site);
  free(s->app);
  free(s->submission);
  free(s->task);
  *s = (struct weeks_stream){ 0 };
}

uint64_t weeks_default(const struct weeks_stream *stream, const struct weeks_submission *s)
{
  const struct weeks_site *site = &stream->site[stream->app[s->app].site];
  uint64_t bytes = site->default_bytes * (site->default_per_cpu ? s->cpus : 1);

  return bytes < site->node_bytes ? bytes : site->node_bytes;
}

uint64_t weeks_limit(const struct weeks_stream *stream, const struct weeks_submission *s)
{
  if (s->mem_unit == FT_MEM_NONE)
    return weeks_default(stream, s);
  return s->mem_bytes * (s->mem_unit == FT_MEM_CPU ? s->cpus : 1);
}
