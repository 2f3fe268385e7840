/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The runs that an app's models are fitted to, and their encoding: one column per number, so that a
 * number more is a row of a table, and a file with it is read by programs that lack it. */
#ifndef FT_RECORD_RUN_COLUMNS_H
#define FT_RECORD_RUN_COLUMNS_H

#include "predictor/record/record.h"

enum {
  FT_HISTORY_RUNS = 200, /* of an app; as many as its fit has (learn/series/series.h) */
  FT_HISTORY_COLUMNS = sizeof((ft_model *)NULL)->columns / sizeof(ft_column),
  FT_RUN_VALUES = 8 /* at least as many as there are quantities */
};

/* A run of an app. */
typedef struct ft_run {
  uint64_t key;     /* ft_observation_run_key: a later record replaces an earlier one */
  double time;      /* end of the run */
  double submitted; /* time; 0: unknown */
  double bytes;     /* peak under `rule` of ft_model */
  double runtime_seconds;
  uint8_t censored;  /* 0 or 1: bytes is a lower bound */
  uint8_t sampled;   /* 0 or 1: completed, but sampled: the true peak may be higher; with `censored`
                        only   its largest task was measured */
  uint8_t killed_by; /* an enum ft_killer */
  uint8_t out_of_memory; /* its outcome was that, 0 or 1 */
  uint16_t x_count;
  float x[FT_HISTORY_COLUMNS]; /* values by column; NaN: missing */
  float predicted_log;         /* log of the point prediction before the run; 0: none */
  float equation_log; /* log of the prediction by an equation found without this run; 0: none */
  float residual;     /* out-of-sample log(bytes / point prediction), without level tracking */
  /* by quantity (estimate/quantity.h), of those without a field above; 0: not measured */
  float values[FT_RUN_VALUES];
  float network_bytes;   /* part of its GPU memory predicted from the model file, without the GPU
                            context; 0: none */
  uint32_t gpu;          /* hash of the GPU's name; 0: unknown */
  float gpu_limit_bytes; /* memory of its GPU or MIG slice, if it completed or failed; 0: unknown */
  float requested_bytes; /* memory that it requested on a node; 0: the default, or all of it */
} ft_run;

/* The runs of an app, oldest first. */
struct ft_history {
  size_t count;
  ft_run run[FT_HISTORY_RUNS];
  ft_categories categories; /* what the categories of the model's columns are called */
};

/* Returns what category LEVEL of COLUMN is called; "?" if it is unknown. */
const char *ft_category_name(const ft_categories *categories, size_t column, size_t level);

enum {
  FT_RUNTIME_RUNS = 100,   /* of an app; its run times are fitted to them */
  FT_RUNTIME_FEATURES = 32 /* at least as many as estimate/run_features.h has */
};

/* A completed run of an app whose platform is known. */
typedef struct ft_timed_run {
  uint64_t key;      /* as in ft_run */
  double time;       /* end of the run */
  double seconds;    /* run time */
  uint32_t platform; /* index into platforms of ft_performance */
  uint16_t x_count, run_features_count, values_count;
  float x[FT_HISTORY_COLUMNS]; /* values by column of ft_performance; NaN: missing */
  /* as measured by the agent (estimate/run_features.h); NaN: not measured by any run so far */
  float run_features[FT_RUNTIME_FEATURES];
  float values[FT_RUN_VALUES]; /* by quantity (estimate/quantity.h); 0: not measured */
} ft_timed_run;

/* The completed runs of an app, oldest first. */
struct ft_runtimes {
  size_t count;
  ft_timed_run run[FT_RUNTIME_RUNS];
};

/*
 * Append the runs of HISTORY, or RUNTIMES, to OUT: the number of runs, 4 bytes, then columns:
 * number of the field and of the element in it, 2 bytes each, bytes of a value, 4, and the values.
 * All little-endian. A column of zeros is left out. Return 0; -1 over OUT's limit and fill ERR.
 */
int ft_history_encode(const struct ft_history *history, struct ft_buf *out, struct ft_error *err);
int ft_runtimes_encode(const struct ft_runtimes *runtimes, struct ft_buf *out,
                       struct ft_error *err);

/* Decode LENGTH bytes of DATA into the runs of HISTORY, or RUNTIMES; columns of other versions are
 * skipped. The values are not checked (check.h). Return 0; -1 on error, set errno and fill ERR. */
int ft_history_decode(const unsigned char *data, size_t length, struct ft_history *history,
                      struct ft_error *err);
int ft_runtimes_decode(const unsigned char *data, size_t length, struct ft_runtimes *runtimes,
                       struct ft_error *err);

#endif
