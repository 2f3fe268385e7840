/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A stream of submissions with what each run truly needs: the interface between who makes weeks
 * of work (generate.c, traces.c) and who plays them (world.c). A stream names no policy and holds
 * no result; a generator of another kind only has to fill the same arrays.
 */
#ifndef FT_BENCH_WEEKS_STREAM_H
#define FT_BENCH_WEEKS_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "predictor/core/error.h"
#include "predictor/record/record.h"

enum { WEEKS_VALUES = 8, WEEKS_NAME = 48, WEEKS_KINDS = 24 };

/* How a run ends if its memory suffices. */
enum weeks_ending {
  WEEKS_COMPLETES,
  WEEKS_FAILS,     /* exits with 1, having reached a part of its need */
  WEEKS_CANCELLED, /* by its user */
  WEEKS_TIMES_OUT,
  WEEKS_NODE_FULL, /* killed because the node was out of memory: no limit of its own was passed */
  WEEKS_REQUEUED   /* preempted once, then started again, and completes */
};

/* What a user does when a job has run out of memory. */
enum weeks_reaction {
  WEEKS_GIVES_UP,  /* does not submit that work again */
  WEEKS_UNCHANGED, /* submits it again as it was, as long as that gives it more memory */
  WEEKS_DOUBLES    /* types twice what the job had, and keeps that for the app's later jobs */
};

/* A cluster's partition, and the mode that its site has set. */
struct weeks_site {
  uint64_t default_bytes;
  bool default_per_cpu;
  uint64_t node_bytes; /* the most that a job can have */
  uint32_t node_cpus;
  ft_mode mode;
  double reject_probability;
};

/* What a user takes for one program: the user, the program, the script's name, the subcommand. */
struct weeks_app {
  char name[WEEKS_NAME];
  char job_name[WEEKS_NAME], program[WEEKS_NAME];
  uint32_t user, site;
  uint32_t kind; /* of week: index into the stream's kind_name */
  bool leaks;    /* some of its runs use whatever they are given */
};

struct weeks_value {
  const char *name;
  const char *category; /* NULL: a number */
  double number;
};

/* One run: an element of a job array, or the job. */
struct weeks_task {
  double need_bytes; /* INFINITY: it leaks */
  double seconds;    /* if nothing ends it before */
  double peak_at;    /* part of its run time after which it has reached its need */
  double reached;    /* part of its need that it reaches; below 1 where it ends otherwise */
  double input;      /* of an element, where input_feature names it */
  enum weeks_ending ending;
};

/* Of a leak: bytes it takes a second are this over its seconds. */
#define WEEKS_LEAK_BYTES 0x1p35

struct weeks_submission {
  double time; /* seconds since the first day */
  uint32_t app;
  uint32_t script_hash, directory_hash;
  ft_mode typed_mode; /* --predict-mem; FT_MODE_UNSET: the site's holds */
  ft_mem_unit mem_unit;
  uint64_t mem_bytes; /* in mem_unit */
  uint32_t cpus;
  enum weeks_reaction reaction;
  bool array;
  const char *input_feature; /* of an array: its elements' files; NULL: their index is all */
  uint32_t tasks;
  size_t first_task; /* in the stream's task */
  uint32_t values;
  struct weeks_value value[WEEKS_VALUES];
};

struct weeks_stream {
  const char *kind_name[WEEKS_KINDS];
  uint32_t kinds;
  struct weeks_site *site;
  struct weeks_app *app;
  struct weeks_submission *submission; /* in order of time */
  struct weeks_task *task;
  size_t sites, apps, submissions, tasks;
  size_t site_size, app_size, submission_size, task_size; /* that there is room for */
  char **text; /* names that values point to, where they are not constants */
  size_t texts, text_size;
};

/*
 * COUNT submissions, the same for the same SEED on every machine. OUT is to be freed. Returns 0;
 * -1 with ERR out of memory, OUT being empty.
 */
int weeks_generate(uint64_t seed, size_t count, struct weeks_stream *out, struct ft_error *err);

/* Add one of each at the end; the pointer holds until the next. NULL out of memory. */
struct weeks_site *weeks_add_site(struct weeks_stream *stream);
struct weeks_app *weeks_add_app(struct weeks_stream *stream);
struct weeks_submission *weeks_add_submission(struct weeks_stream *stream);
struct weeks_task *weeks_add_task(struct weeks_stream *stream);

/* A copy of TEXT that lives as long as STREAM. NULL out of memory. */
const char *weeks_add_text(struct weeks_stream *stream, const char *text);

/* Put the submissions in order of time; those of one instant stay in theirs. */
void weeks_sort(struct weeks_stream *stream);

/* A number that tells one stream from another: figures of two are not compared. */
uint64_t weeks_stream_hash(const struct weeks_stream *stream);

void weeks_stream_free(struct weeks_stream *stream);

/* Memory that SUBMISSION gets without foretell on its node, in bytes: typed, or the default. */
uint64_t weeks_limit(const struct weeks_stream *stream, const struct weeks_submission *submission);
uint64_t weeks_default(const struct weeks_stream *stream,
                       const struct weeks_submission *submission);

#endif
