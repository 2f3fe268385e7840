/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fits a series: the point prediction and the residuals around it. Pure. */
#ifndef FT_LEARN_SERIES_FIT_H
#define FT_LEARN_SERIES_FIT_H

#include "predictor/learn/series/series.h"

struct ft_series_work;

/* Returns the size in bytes of the working memory of a fit, which the caller allocates. */
size_t ft_series_work_size(void);

/*
 * Fits SERIES to its runs.
 *
 * A run that stopped for another reason than its limit often has the number of a completed one. It
 * counts as if it had completed
 * - while none has, if at least 3 stopped;
 * - while fewer than 3 have, if those lie within the residuals of at least 3 that stopped;
 * - later if it lies within the residuals of the completed ones, and so do half of those that
 *   stopped.
 *
 * Runs that did not complete are right-censored: their value is a lower bound. A censored run below
 * the point prediction has no effect on the prediction. One above enters the fit, and if
 * it exceeded its limit with the median of what its number may have been. Among the residuals the
 * probability of a censored run goes to the values above its bound (Kaplan and Meier 1958). While
 * no run has completed above the bound and fewer than 5 runs have completed since, values above it
 * have at least a fifth of the probability, because a user often submits a killed job again.
 *
 * If residuals are autocorrelated in time, the point prediction is shifted by the mean of the last
 * 5; the upper quantiles still cover the last 40.
 */
void ft_series_fit(struct ft_series *series, struct ft_series_work *work);

/* The same, after the runs before a change point (change_point.h) have left SERIES. Returns their
 * number. */
size_t ft_series_fit_since_change(struct ft_series *series, struct ft_series_work *work);

/*
 * Adds the newest run of SERIES to its fit without a new fit, in a tenth of the time of one. LEFT:
 * index that the run had which left SERIES for it; 0 if none did. Returns false if a fit is needed:
 * 1/8 of the runs are newer than the last fit, the new runs have larger errors than the older ones,
 * runs that stopped count, the run has values outside the fitted ranges or is an outlier, the run
 * is censored above the smallest residual or is sampled, or the bound of a recent censored run is
 * in force. The caller then fits.
 */
bool ft_series_add_newest(struct ft_series *series, size_t left, struct ft_series_work *work);

/* Removes the COUNT oldest runs of SERIES, counts the others again and clears the fit. */
void ft_series_drop_oldest(struct ft_series *series, size_t count);

#endif
