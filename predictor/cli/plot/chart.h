/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One chart with two axes, drawn with cairo as SVG or PNG. Independent of jobs. */
#ifndef FT_CLI_CHART_H
#define FT_CLI_CHART_H

#include <stdbool.h>
#include <stddef.h>

#include "predictor/core/error.h"

/* Quantity of an axis, which decides its unit: bytes in KiB to TiB, seconds in s to d. */
enum ft_axis_kind { FT_AXIS_NUMBER, FT_AXIS_BYTES, FT_AXIS_SECONDS, FT_AXIS_NAMES };

enum { FT_AXIS_TICKS = 32 };

struct ft_axis {
  enum ft_axis_kind kind;
  const char *title; /* without the unit, which the axis adds */
  bool log;
  bool tight;               /* ends at the data, not at a tick */
  double low, high;         /* in: range of the data; out: range drawn */
  const char *const *names; /* FT_AXIS_NAMES: of 0, 1, ... */
  size_t name_count;

  double unit; /* value of 1 beside the ticks */
  char unit_name[8];
  double tick[FT_AXIS_TICKS];
  size_t tick_count;
};

/* Chooses unit, ends and round ticks for the data's range. */
void ft_axis_fit(struct ft_axis *axis);

/* Formats the label of tick INDEX: "0.5", "20", "3M", a name. */
const char *ft_axis_label(const struct ft_axis *axis, size_t index, char out[64]);

struct ft_chart;

/* Mark of a series, also used in the legend. */
enum ft_mark {
  FT_MARK_LINE,
  FT_MARK_AREA,
  FT_MARK_BAND,
  FT_MARK_POINT,
  FT_MARK_FAINT, /* a less important point */
  FT_MARK_BOUND,
  FT_MARK_SAME
};

/*
 * Starts a chart, PNG or else SVG, with both axes fitted and drawn and space for a legend.
 * SUBTITLE may be NULL. Returns NULL and fills ERR if out of memory.
 */
struct ft_chart *ft_chart_open(bool png, bool legend, const char *title, const char *subtitle,
                               const struct ft_axis *x, const struct ft_axis *y,
                               struct ft_error *err);

/* Draws COUNT values of a series. LOW is the lower edge of a band; other marks ignore it. */
void ft_chart_series(struct ft_chart *chart, enum ft_mark mark, const double *x, const double *y,
                     const double *low, size_t count);

/* Adds a mark to the legend, from left to right. */
void ft_chart_legend(struct ft_chart *chart, enum ft_mark mark, const char *text);

/* Writes TEXT next to a point, on the side with space. */
void ft_chart_note(struct ft_chart *chart, double x, double y, const char *text);

/*
 * Finishes the chart, writes it to PATH (NULL: standard output) and frees it. Returns 0; -1 and
 * fills ERR.
 */
int ft_chart_close(struct ft_chart *chart, const char *path, struct ft_error *err);

/* Frees an unfinished CHART; NULL is allowed. */
void ft_chart_discard(struct ft_chart *chart);

#endif
