/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Simple rules that size a job's memory, or its time limit, from its request and its app's past
 * runs; replay compares foretell with them. Pure. What counts as bytes here is seconds for a limit.
 */
#ifndef FT_REBUILD_BASELINE_POLICIES_H
#define FT_REBUILD_BASELINE_POLICIES_H

#include <stdbool.h>
#include <stddef.h>

struct ft_past_run {
  double bytes, seconds; /* peak memory and run time, above 0 */
  double input;          /* a feature that may determine the peak; NaN: none */
};

/* A binary heap of numbers. */
struct ft_past_heap {
  double *number;
  size_t count;
};

/* The completed runs of one app; starts zeroed. Callers read only `count`. */
struct ft_past_runs {
  size_t count, capacity;
  struct ft_past_run *run;   /* the first `sorted` runs, by ascending bytes */
  struct ft_past_run *fresh; /* the later runs, in order of arrival */
  size_t sorted;
  double min_bytes, max_bytes;
  double last_bytes, before_last_bytes; /* in order of arrival; equal with one run */
  struct ft_past_heap low, high;        /* bytes up to the 95th percentile; bytes above it */
  size_t fitted;                        /* runs at the last fit of the fields below */
  double tovar;                         /* Tovar's first allocation, bytes */
  double intercept, slope;              /* bytes; bytes per unit of input */
  double offset;                        /* largest residual, bytes */
};

enum ft_baseline_policy {
  FT_POLICY_REQUEST,    /* the user's request */
  FT_POLICY_QUANTILE,   /* the 95th percentile (Witt et al. 2019); doubled on failure */
  FT_POLICY_REGRESSION, /* least squares on the input plus the largest residual; then the largest
                           peak */
  FT_POLICY_TOVAR,      /* first allocation with the minimum expected waste (Tovar et al. 2018);
                           then the largest peak, then the whole node */
  FT_POLICY_LARGEST,    /* the largest peak; doubled on failure */
  FT_POLICY_LAST,       /* the last run; doubled on failure */
  FT_POLICY_LAST_TWO,   /* mean of the last two (Tsafrir et al. 2007); doubled on failure */
  FT_POLICY_COUNT
};

struct ft_policy_task {
  double request_bytes;         /* 0: no request */
  double input;                 /* as ft_past_run.input */
  double node_bytes;            /* memory of a node */
  double failure_time_fraction; /* run time of a failed attempt as a fraction of the full one */
};

/* Returns the name in JSON: "request", "quantile95", "regression", "tovar", "largest", "last",
 * "last_two". */
const char *ft_policy_name(enum ft_baseline_policy policy);

/* Returns whether POLICY is one for run times, or else for memory. */
bool ft_policy_is_for(enum ft_baseline_policy policy, bool time);

/* Adds a copy of RUN, in logarithmic time. Returns 0; -1 out of memory and leaves PAST as it was.
 */
int ft_past_runs_add(struct ft_past_runs *past, const struct ft_past_run *run);
/* Removes all runs and keeps the memory. */
void ft_past_runs_clear(struct ft_past_runs *past);
/* Frees the contents of PAST; NULL is accepted. */
void ft_past_runs_free(struct ft_past_runs *past);

/*
 * Returns POLICY's first allocation for TASK in bytes. Without past runs it is the request, or the
 * whole node without a request. Above 512 runs, regression and Tovar's allocation are fitted again
 * after each 1/512 of new runs.
 */
double ft_policy_first_allocation(enum ft_baseline_policy policy, struct ft_past_runs *past,
                                  const struct ft_policy_task *task);

/* Returns POLICY's next allocation in bytes, above FAILED_BYTES, the allocation with which TASK ran
 * out of memory. */
double ft_policy_next_allocation(enum ft_baseline_policy policy, const struct ft_past_runs *past,
                                 const struct ft_policy_task *task, double failed_bytes);

#endif
