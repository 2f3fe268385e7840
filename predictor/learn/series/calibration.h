/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Calibrates the width of the 90 % interval of a series: by how often it has covered runs, and by
 * how many of them were independent. Pure. */
#ifndef FT_LEARN_SERIES_CALIBRATION_H
#define FT_LEARN_SERIES_CALIBRATION_H

#include <stdbool.h>
#include <stdint.h>

/* Maximum absolute value of log_scale: the calibration changes the width of the 90 % interval by a
 * factor of at most e^4. */
#define FT_CALIBRATION_MAX_LOG_SCALE 4.0

/* Minimum number of runs behind an interval whose coverage counts. Chosen by the coverage of four
 * traces in order of arrival. */
#define FT_CALIBRATION_MIN_RUNS 5

/* Minimum number of runs from which the 90 % interval is taken from ranks alone: a new residual is
 * outside each extreme of 19 with probability 5 % (conformal prediction, Vovk, Gammerman and Shafer
 * 2005). With fewer runs, and for levels outside the interval, the prior and Student's t are used.
 * Confirmed by tests/bench/replay_constants. */
#define FT_CALIBRATION_RANKED_RUNS 19

/*
 * A cohort are completed runs that were submitted before the first of them had ended. They share an
 * input or a morning and resemble each other more than later runs, so an interval from few cohorts
 * is widened.
 */
struct ft_calibration {
  double log_scale;    /* log of the factor on the 90 % interval by which it has covered 90 % of
                          recent runs */
  uint32_t cohorts;    /* 0: unknown */
  double cohort_ended; /* end of the first run of the last cohort */
};

/*
 * Updates the width after a completed run: NOW: the current interval, from RUNS runs, covers it.
 * THEN: the interval at its submission did.
 */
void ft_calibration_update(struct ft_calibration *calibration, unsigned runs, bool then, bool now);

/* Counts a cohort if the completed run from SUBMITTED to ENDED, after COMPLETED others, starts one.
 * Where the width is narrowed, that is reduced as the widening for few cohorts shrinks. */
void ft_calibration_count_cohort(struct ft_calibration *calibration, uint32_t completed,
                                 double submitted, double ended);

/* Returns the number of cohorts of COMPLETED runs, which is COMPLETED if it is unknown. */
unsigned ft_calibration_cohorts(const struct ft_calibration *calibration, uint32_t completed);

/* Returns the factor by which the 90 % interval from COMPLETED runs of COHORTS cohorts is widened;
 * 1 if each run is a cohort, whose number the width of the interval itself reflects. */
double ft_calibration_widening(unsigned cohorts, uint32_t completed);

#endif
