/* SPDX-License-Identifier: GPL-3.0-or-later */
/* foretell report: the totals of an app's runs. */
#ifndef FT_CLI_REPORT_TALLY_H
#define FT_CLI_REPORT_TALLY_H

#include "predictor/estimate/quantity.h"

/* Totals of the runs for one quantity. */
struct ft_account {
  /*
   * predicted: runs that completed, with a measured use that is not a lower bound and an estimate
   * at submission. error: |p50 - used| / used. covered: p05 <= used <= p95; a calibrated estimate
   * covers 90 % of the runs.
   */
  uint64_t predicted, with_interval, covered;
  double *error;
  size_t errors, room;
  /* sums by weight; memory over the nodes. saved: asked minus given, over the runs whose limit
   * foretell changed; negative if foretell raised more than it lowered. */
  double asked, used, saved;
  uint64_t weighed;  /* runs that asked and used count: limit, use and run time are known */
  uint64_t suffered; /* ended by the limit */
  uint64_t caused; /* of those: under a limit that foretell's decision had set, raised or lowered */
  uint64_t avoided; /* use above asked, but below the limit that foretell had set or raised */
  /*
   * decided: runs whose limit foretell changed, by action. freed: asked - given, where positive.
   * added: given - asked, where positive; saved = freed - added. lost: given, of the runs that
   * foretell's limit ended.
   */
  uint64_t decided[_ft_action_ARRAYSIZE];
  double freed, added, lost;
};

/*
 * Totals of an app, or of all. A run is a job or an array task on all of its nodes. Its peak is the
 * one of its site's memory rule, on the node with the largest.
 */
struct ft_report_tally {
  char user[64];
  uint64_t runs, completed, censored;
  struct ft_account of[FT_QUANTITIES]; /* of quantities with a limit */
  /* overrides: runs submitted with --predict-mem=force despite a rejection; overrides_died: of
   * those, the runs that ended out of memory. */
  uint64_t overrides, overrides_died;
  uint64_t rejected; /* rejected submissions, which have no run */
  double joules;     /* of the runs with a measured energy */
  uint64_t energy_runs;
};

/* Adds the run O. Returns 0; -1 out of memory. */
int ft_report_add_run(struct ft_report_tally *tally, const ft_observation *o);

/* Adds the memory of O, a record of one of the nodes of a run on several. */
void ft_report_weigh_node(struct ft_report_tally *tally, const ft_observation *o);

/* Returns the median absolute relative error; negative without predictions. */
double ft_report_error(struct ft_account *account);

/* Returns the fraction of the runs with an interval that were inside it; 0 without any. */
double ft_report_coverage(const struct ft_account *account);

/* Frees the contents of TALLY. */
void ft_report_free(struct ft_report_tally *tally);

#endif
