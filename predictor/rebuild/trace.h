/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Traces of past jobs, kept in memory by process, to be played again. */
#ifndef FT_REBUILD_TRACE_H
#define FT_REBUILD_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "predictor/core/error.h"
#include "predictor/core/timezone.h"
#include "predictor/rebuild/replay.h"

enum { FT_TRACE_RUNS = 20000000 }; /* more are refused */

enum ft_trace_format {
  FT_TRACE_NEXTFLOW, /* a table of tasks as Nextflow's -with-trace writes it, by tab or comma */
  FT_TRACE_SACCT,
  FT_TRACE_CSV /* as foretell import reads it */
};

/* What runs alike: a process of a workflow, an app. */
struct ft_trace_process {
  char *name; /* UTF-8 */
  struct ft_replay_run *run;
  size_t count, size;
};

struct ft_trace {
  struct ft_trace_process *process; /* in order of first appearance */
  size_t count, size;
  uint64_t runs;        /* kept */
  uint64_t skipped;     /* no run time, no peak, or not completed */
  /* private */
  void *names;
};

struct ft_trace_source {
  const char *name; /* of the file, in complaints */
  int fd;
  enum ft_trace_format format;
  bool peak_rss;              /* nextflow: the peak is column peak_rss, else rss */
  bool failed_too;            /* nextflow: attempts that failed or were aborted, too */
  bool no_input;              /* without the features that only the run itself tells: rchar */
  const struct ft_timezone *zone;               /* of local times */
  void (*progress)(uint64_t bytes, void *data); /* NULL: none */
  void *data;
};

/*
 * The format of SOURCE, at whose beginning its descriptor is, by its header. Nothing is taken from
 * it. Returns 0; -1 with ERR where there is nothing to see, as in a pipe, and the format is left.
 */
int ft_trace_detect_format(struct ft_trace_source *source, struct ft_error *err);

/*
 * Add the runs of SOURCE to TRACE, which begins as zeros. Nextflow: columns
 * process (or name), realtime (ms, or "1m 3s"), rss or peak_rss (bytes, or "1.5 GB"), memory,
 * rchar, submit and start (ms since 1970, or a time), status and exit, the latter six if there are;
 * a header that stands once more between the rows is no row. Runs that completed. Returns 0; -1
 * with ERR naming file, line, column and what was expected.
 */
int ft_trace_read(struct ft_trace *trace, const struct ft_trace_source *source,
                  struct ft_error *err);

void ft_trace_free(struct ft_trace *trace);

#endif
