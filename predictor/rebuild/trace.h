/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads traces of past jobs for replay and groups them by process. */
#ifndef FT_REBUILD_TRACE_H
#define FT_REBUILD_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "predictor/core/error.h"
#include "predictor/core/timezone.h"
#include "predictor/rebuild/replay.h"

/* Maximum number of runs; a longer trace is an error. Limits the memory. */
enum { FT_TRACE_RUNS = 20000000 };

enum ft_trace_format {
  FT_TRACE_NEXTFLOW, /* Nextflow's -with-trace, separated by tabs or commas */
  FT_TRACE_SACCT,
  FT_TRACE_CSV /* as foretell import reads it */
};

/* A process of a workflow, or an app. */
struct ft_trace_process {
  char *name; /* UTF-8 */
  struct ft_replay_run *run;
  size_t count, capacity;
};

struct ft_trace {
  struct ft_trace_process *process; /* in order of first appearance */
  size_t count, capacity;
  uint64_t runs;        /* in all processes */
  uint64_t skipped;     /* rows without run time or peak, or not completed */
  void *names;          /* private: search tree of the processes */
};

struct ft_trace_source {
  const char *name; /* of the file, for error messages */
  int fd;
  enum ft_trace_format format;
  bool time_only;  /* the peak may be missing */
  bool peak_rss;   /* Nextflow: read the peak from peak_rss, else from rss */
  bool failed_too; /* Nextflow: include failed and aborted attempts */
  bool no_input;   /* omit features known only after the run: rchar */
  const struct ft_timezone *zone;               /* of local times */
  void (*progress)(uint64_t bytes, void *data); /* NULL: none */
  void *data;
};

/*
 * Sets SOURCE's format from the header, without moving the file offset, which is at the start.
 * Returns 0; -1 on error (a pipe, an empty file), fills ERR and leaves the format as it was.
 */
int ft_trace_detect_format(struct ft_trace_source *source, struct ft_error *err);

/*
 * Adds the completed runs of SOURCE to TRACE, which starts zeroed. Columns of Nextflow: process (or
 * name), realtime (ms, or "1m 3s"), rss or peak_rss (bytes, or "1.5 GB"), and optionally memory,
 * rchar, submit and start (ms since 1970, or a time), status and exit. Repeated headers are
 * skipped. Returns 0; -1 on error and fills ERR with file, line, column and the expected form.
 */
int ft_trace_read(struct ft_trace *trace, const struct ft_trace_source *source,
                  struct ft_error *err);

/* Frees the contents of TRACE; NULL is accepted. */
void ft_trace_free(struct ft_trace *trace);

#endif
