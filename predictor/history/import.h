/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Imports observations from output of sacct and from CSV tables. */
#ifndef FT_HISTORY_IMPORT_H
#define FT_HISTORY_IMPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "predictor/core/error.h"
#include "predictor/core/timezone.h"
#include "predictor/record/record.h"

/* Largest number of --map options. */
enum { FT_IMPORT_MAPS = 64 };

/* One --map column=field. */
struct ft_import_map {
  const char *column;
  const char *field;
};

struct ft_import {
  const char *name; /* of the file, for error messages */
  int fd;
  bool exclusive;                 /* sacct: the jobs had their nodes alone */
  bool keep_going;                /* pass errors of invalid lines to `skipped` and continue */
  const struct ft_timezone *zone; /* of local times; NULL: local times are errors */
  const char *cluster;            /* for rows without one; may be NULL */
  const char *app;  /* for every row; NULL: user and job name, or the table's column */
  const char *user; /* for rows without one; NULL: they are errors */
  /* CSV only */
  const struct ft_import_map *maps;
  size_t map_count;
  const char *features; /* columns "a,b"; "*": all not read as fields; NULL: none */
  /* Sets *UID to the uid of USER. Returns 0; -1 if unknown. NULL: no user is known. */
  int (*find_uid)(const char *user, uint32_t *uid, void *data);
  /* Receives each run. Returns 0; -1 on error, which ends the import, and fills ERR. */
  int (*put)(const ft_observation *observation, void *data, struct ft_error *err);
  void (*skipped)(const struct ft_error *why, void *data); /* needed with keep_going */
  void (*progress)(uint64_t bytes, void *data);            /* NULL: none; BYTES read so far */
  void *data;                                              /* for the functions above */
  /* results */
  uint64_t runs;      /* passed to put */
  uint64_t not_ended; /* jobs that have not ended, or never started */
  uint64_t bad;       /* skipped lines */
  bool tasks_unknown; /* no column shows how many tasks a step had, or their sum */
  uint64_t partial;   /* runs of which only the largest of several tasks was measured */
};

/*
 * Imports the output of sacct -P (--parsable2) or -p. The header names the columns in any order: at
 * least JobID and State, and User or UID. A step belongs to the job of the preceding job line. Each
 * job gives one observation, on the node of its largest task, else on its first node.
 *
 * Peak memory is the sum of RSS over concurrent steps. The RSS of a step is the larger of MaxRSS
 * (its largest task) and mem of TRESUsageInTot (the sum of its tasks' peaks, sacct(1)). Without the
 * latter, or on several nodes, the peak is a lower bound. The run is censored if its other tasks may
 * have added more than a quarter.
 *
 * Returns 0; -1 on error and fills ERR with file, line, column and the expected form.
 */
int ft_import_sacct(struct ft_import *import, struct ft_error *err);

/*
 * Imports a CSV table (separated by commas, semicolons, tabs or '|') with a header row and one run
 * per row. A column is read as the field that a
 * map names, else as the field of its own name (ft_fields; suffixes _kb _mb _gb _kib _mib _gib for
 * bytes, _minutes and _hours for seconds), else by a common alias (process, peak, elapsed, state,
 * ...). Required are an app, and a peak or a run time. Returns as ft_import_sacct.
 */
int ft_import_csv(struct ft_import *import, struct ft_error *err);

#endif
