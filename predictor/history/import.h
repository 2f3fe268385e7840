/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Observations from what others recorded: sacct's output and CSV tables. */
#ifndef FT_HISTORY_IMPORT_H
#define FT_HISTORY_IMPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "predictor/core/error.h"
#include "predictor/core/timezone.h"
#include "predictor/record/record.h"

enum { FT_IMPORT_MAPS = 64 };

/* "column=field" of --map, split */
struct ft_import_map {
  const char *column;
  const char *field;
};

struct ft_import {
  const char *name; /* of the file, in complaints */
  int fd;
  bool keep_going;            /* a bad line is told to `skipped` and passed over */
  const struct ft_timezone *zone; /* of local times; NULL: none may occur */
  const char *cluster;        /* of rows that name none */
  const char *app;            /* of every row; NULL: user and job name, or the table's own */
  const char *user;           /* of rows that name none; NULL: they are refused */
  /* CSV alone */
  const struct ft_import_map *maps;
  size_t map_count;
  const char *features; /* "a,b": these columns; "*": all that nothing else takes; NULL: none */
  /* who USER is: 0 with *UID, or -1; NULL: nobody is known */
  int (*find_uid)(const char *user, uint32_t *uid, void *data);
  /* each run; what it returns is passed on when it is not 0 */
  int (*put)(const ft_observation *observation, void *data, struct ft_error *err);
  void (*skipped)(const struct ft_error *why, void *data);
  void (*progress)(uint64_t bytes, void *data);
  void *data;
  /* what was found */
  uint64_t runs;      /* given to put */
  uint64_t not_ended; /* jobs that still run, or never began */
  uint64_t bad;       /* lines passed over */
};

/*
 * The output of sacct -P (--parsable2) or -p: a header that names the columns,
 * any of them in any order, JobID and State at least, User or UID. Steps belong to the job
 * whose line is before theirs. One observation a job, on the node of its largest task,
 * else its first node. Memory is the RSS of the steps that ran at the same time, added up; a step's
 * is the larger of MaxRSS (its largest task) and the mem of TRESUsageInTot (the sum of its tasks'
 * highest marks, sacct(1)). Without the latter it is a lower bound, and so it is on several nodes.
 * Returns 0; -1 with ERR naming file, line, column and what was expected.
 */
int ft_import_sacct(struct ft_import *import, struct ft_error *err);

/*
 * A CSV table with a header row, one run a row. A column is taken for the field
 * that a map names, else for the field of its own name (ft_fields, unit suffixes
 * _kb _mb _gb _kib _mib _gib for bytes, _minutes and _hours for seconds), else
 * for one of its usual names (app, user, peak_mb, runtime, state ...).
 * Required: an app, and a peak or a runtime. Returns as above.
 */
int ft_import_csv(struct ft_import *import, struct ft_error *err);

#endif
