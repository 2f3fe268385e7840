/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fits the evaluator of an app's model to its history. */
#ifndef FT_ONLINE_REFIT_H
#define FT_ONLINE_REFIT_H

#include <math.h>
#include <string.h>

#include "predictor/learn/series/series.h"
#include "predictor/record/run_columns.h"

struct ft_refit;

/* Returns working memory for refits, released with free; NULL out of memory. */
struct ft_refit *ft_refit_new(void);

/* Fits MODEL's evaluator to what the runs of HISTORY, which is in order of time, needed of its
 * quantity (learn/series/fit.h). The facts are to be filled again (online/facts.h). */
void ft_refit_model(ft_model *model, struct ft_history *history, struct ft_refit *work);

/* The same, after runs before a change point (learn/series/change_point.h) have left the history.
 */
void ft_refit_since_change(ft_model *model, struct ft_history *history, struct ft_refit *work);

/* The same after MODEL has forgotten all but its history. */
void ft_refit_history(ft_model *model, struct ft_history *history, struct ft_refit *work);

/* Adds the newest run of HISTORY to MODEL's evaluator without a fit; LEFT: as in
 * ft_series_add_newest. Returns false if a fit is needed. */
bool ft_refit_incremental(ft_model *model, struct ft_history *history, size_t left,
                          struct ft_refit *work);

/* Fills SERIES with the runs of HISTORY and the fit of MODEL. */
void ft_refit_read_series(const ft_model *model, const struct ft_history *history,
                          struct ft_series *series);

/* Removes run AT from HISTORY. */
static inline void ft_refit_remove_run(struct ft_history *history, size_t at)
{
  history->count--;
  memmove(&history->run[at], &history->run[at + 1], (history->count - at) * sizeof *history->run);
}

/* Returns the value of COLUMN in RUN; NAN without one. */
static inline float ft_refit_feature(const ft_run *run, size_t column)
{
  return column < run->x_count ? run->x[column] : NAN;
}

#endif
