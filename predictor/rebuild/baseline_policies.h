/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a site could do instead of predicting: simple rules that size a job's
 * memory from its request and from its app's past runs. Pure.
 */
#ifndef FT_REBUILD_BASELINE_POLICIES_H
#define FT_REBUILD_BASELINE_POLICIES_H

#include <stddef.h>

struct ft_past_run {
  double bytes, seconds; /* peak memory, run time; above 0 */
  double input;          /* of a feature that may tell the peak; NaN: none */
};

/* A binary heap of numbers. */
struct ft_past_heap {
  double *number;
  size_t count;
};

/* The completed runs of one app; 0 is an empty one. Private but for COUNT. */
struct ft_past_runs {
  size_t count, size;
  struct ft_past_run *run;   /* by rising bytes, the first SORTED */
  struct ft_past_run *fresh; /* those added since, as they came */
  size_t sorted;
  double least, most;            /* bytes */
  struct ft_past_heap low, high; /* bytes up to the 95th percentile and above it */
  /* fitted to the first `fitted` runs that were added */
  size_t fitted;
  double tovar, intercept, slope, offset;
};

enum ft_baseline_policy {
  FT_POLICY_REQUEST,    /* what the user asked for */
  FT_POLICY_QUANTILE,   /* the 95th percentile (Witt et al. 2019); doubled on failure */
  FT_POLICY_REGRESSION, /* least squares on the input, above every past run; then the largest */
  FT_POLICY_TOVAR,      /* the first allocation that wastes least (Tovar et al. 2018);
                           then the largest so far, then the whole node */
  FT_POLICY_LARGEST,    /* the largest so far; doubled on failure */
  FT_POLICY_COUNT
};

struct ft_policy_task {
  double request_bytes; /* 0: the user asked for nothing */
  double input;         /* as above */
  double node_bytes;    /* what a node has */
  double failure_time_fraction; /* a failed attempt takes this part of the run time */
};

/* As in JSON: "request", "quantile95", "regression", "tovar", "largest". */
const char *ft_policy_name(enum ft_baseline_policy policy);

/* Add a run, in the time of the logarithm of their number. Returns 0, or -1 out of memory, PAST
 * holding what it held. */
int ft_past_runs_add(struct ft_past_runs *past, const struct ft_past_run *run);
/* No runs, the memory being kept; and that given back. */
void ft_past_runs_clear(struct ft_past_runs *past);
void ft_past_runs_free(struct ft_past_runs *past);

/*
 * The first allocation, in bytes. Without past runs every policy has only the
 * request, and the whole node where there is none. Of more than 512 runs the regression
 * and Tovar's allocation are fitted anew when another 512th has come.
 */
double ft_policy_first_allocation(enum ft_baseline_policy policy, struct ft_past_runs *past,
                                  const struct ft_policy_task *task);

/* The next one, above FAILED_BYTES, at which the job ran out of memory. */
double ft_policy_next_allocation(enum ft_baseline_policy policy, const struct ft_past_runs *past,
                                 const struct ft_policy_task *task, double failed_bytes);

#endif
