/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A stream of submissions with the true memory of each run: the interface between the sources of
 * weeks (generate.c, traces.c) and the simulation (world.c). A stream does not depend on policies.
 */
#ifndef FT_BENCH_WEEKS_STREAM_H
#define FT_BENCH_WEEKS_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "predictor/core/error.h"
#include "predictor/record/record.h"

/* Of the generator: figures of different versions are not comparable. */
enum { WEEKS_VERSION = 2, WEEKS_WORLDS = 2 };

/* Maximum of features of a submission, bytes of a name, kinds of weeks. */
enum { WEEKS_VALUES = 8, WEEKS_NAME = 48, WEEKS_KINDS = 24 };

/* How a run ends if its memory suffices. */
enum weeks_ending {
  WEEKS_COMPLETES,
  WEEKS_FAILS,     /* exits with 1 before it has its full memory */
  WEEKS_CANCELLED, /* by its user */
  WEEKS_TIMES_OUT,
  WEEKS_NODE_FULL, /* killed below its own limit because the node was out of memory */
  WEEKS_REQUEUED   /* preempted once, started again, and completes */
};

/* A user's reaction to an OOM kill. */
enum weeks_reaction {
  WEEKS_GIVES_UP,  /* does not submit the job again */
  WEEKS_UNCHANGED, /* submits it again unchanged, as long as the policy allocates more */
  WEEKS_DOUBLES    /* requests twice the previous memory, also for later jobs of the app */
};

/* A partition and the mode of its site. */
struct weeks_site {
  uint64_t default_bytes; /* DefMemPerNode or DefMemPerCPU */
  bool default_per_cpu;
  uint64_t node_bytes; /* maximum memory of a job */
  uint32_t node_cpus;
  ft_mode mode;
  double reject_probability;
};

/* An app: a program of a user, by user, program, script name and subcommand. */
struct weeks_app {
  char name[WEEKS_NAME];
  char job_name[WEEKS_NAME], program[WEEKS_NAME];
  uint32_t user, site;
  uint32_t kind; /* kind of week: index into the stream's kind_name */
  bool leaks;    /* some of its runs use all memory that is allocated */
};

/* A feature. */
struct weeks_value {
  const char *name;
  const char *category; /* NULL: a number */
  double number;
};

/* One run: an array task, or the job. */
struct weeks_task {
  double need_bytes; /* memory required to complete; INFINITY: a leak */
  double seconds;    /* run time without an early end */
  double peak_at;    /* share of its run time until its peak */
  double reached;    /* share of its memory that it reaches; below 1 if it ends early */
  double fills;      /* share of its limit that it uses whatever it needs */
  double input;      /* value of input_feature, if the submission has one */
  enum weeks_ending ending;
};

/* Bytes by which a leak grows in its run time. */
#define WEEKS_LEAK_BYTES 0x1p35

struct weeks_submission {
  double time; /* seconds since the first day */
  uint32_t app;
  uint32_t script_hash, directory_hash;
  ft_mode typed_mode; /* --predict-mem; FT_MODE_UNSET: the site's */
  ft_mem_unit mem_unit;
  uint64_t mem_bytes; /* in mem_unit */
  uint32_t cpus;      /* of all ranks */
  uint32_t ranks;     /* Slurm's tasks; 0: one */
  enum weeks_reaction reaction;
  bool array;
  const char *input_feature; /* size of an array task's file; NULL: tasks differ by index only */
  uint32_t tasks;
  size_t first_task; /* index into the stream's task */
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
  size_t site_size, app_size, submission_size, task_size; /* capacities */
  char **text;                                            /* strings that the stream owns */
  size_t texts, text_size;
};

/* Generates COUNT submissions of WORLD (1 to WEEKS_WORLDS: other distributions), equal for equal
 * SEED on every machine, into OUT, which the caller frees. Returns 0; -1 if out of memory, fills
 * ERR and leaves OUT empty. */
int weeks_generate(unsigned world, uint64_t seed, size_t count, struct weeks_stream *out,
                   struct ft_error *err);

/* Each appends an element of zeros and returns it, valid until the next call; NULL if out of
 * memory. */
struct weeks_site *weeks_add_site(struct weeks_stream *stream);
struct weeks_app *weeks_add_app(struct weeks_stream *stream);
struct weeks_submission *weeks_add_submission(struct weeks_stream *stream);
struct weeks_task *weeks_add_task(struct weeks_stream *stream);

/* Returns a copy of TEXT that lives as long as STREAM; NULL if out of memory. */
const char *weeks_add_text(struct weeks_stream *stream, const char *text);

/* Sorts the submissions by time; equal times keep their order. */
void weeks_sort(struct weeks_stream *stream);

/* Returns a hash of STREAM: results of different streams are not comparable. */
uint64_t weeks_stream_hash(const struct weeks_stream *stream);

/* Frees the members of STREAM. */
void weeks_stream_free(struct weeks_stream *stream);

/* Returns the memory in bytes that Slurm allocates to SUBMISSION without foretell: its request, or
 * the default. */
uint64_t weeks_limit(const struct weeks_stream *stream, const struct weeks_submission *submission);

/* Returns the default of SUBMISSION's partition in bytes, at most a node. */
uint64_t weeks_default(const struct weeks_stream *stream,
                       const struct weeks_submission *submission);

#endif
