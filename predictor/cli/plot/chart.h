/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One chart with two axes, drawn with cairo as SVG or PNG: no job is known here. */
#ifndef FT_CLI_CHART_H
#define FT_CLI_CHART_H

#include <stdbool.h>
#include <stddef.h>

#include "predictor/core/error.h"

/* What an axis counts in decides its unit: bytes in KiB to TiB, seconds in s to d. */
enum ft_axis_kind { FT_AXIS_NUMBER, FT_AXIS_BYTES, FT_AXIS_SECONDS, FT_AXIS_NAMES };

enum { FT_AXIS_TICKS = 32 };

struct ft_axis {
  enum ft_axis_kind kind;
  const char *title; /* without the unit, which the axis adds */
  bool log;
  bool tight;               /* ends where the data end, not at a tick */
  double low, high;         /* given: of the data; then: what is drawn */
  const char *const *names; /* FT_AXIS_NAMES: of 0, 1, ... */
  size_t name_count;

  double unit; /* what one of the numbers beside the ticks stands for */
  char unit_name[8];
  double tick[FT_AXIS_TICKS];
  size_t tick_count;
};

/* Choose unit, ends and round ticks for the data's range. */
void ft_axis_fit(struct ft_axis *axis);

/* What stands beside tick INDEX: "0.5", "20", "3M", a name. */
const char *ft_axis_label(const struct ft_axis *axis, size_t index, char out[64]);

struct ft_chart;

/* What marks a series, also in the legend. */
enum ft_mark {
  FT_MARK_LINE,
  FT_MARK_AREA,
  FT_MARK_BAND,
  FT_MARK_POINT,
  FT_MARK_FAINT, /* a point that matters less */
  FT_MARK_BOUND,
  FT_MARK_SAME
};

/*
 * Begin a chart: PNG or else SVG, with both axes fitted and drawn, and room for
 * a legend. SUBTITLE may be NULL. Returns NULL with ERR out of memory.
 */
struct ft_chart *ft_chart_open(bool png, bool legend, const char *title, const char *subtitle,
                               const struct ft_axis *x, const struct ft_axis *y,
                               struct ft_error *err);

/* Draw COUNT values of a series: LOW is used by a band alone (its other edge). */
void ft_chart_series(struct ft_chart *chart, enum ft_mark mark, const double *x, const double *y,
                     const double *low, size_t count);

/* Name a mark in the legend, from left to right. */
void ft_chart_legend(struct ft_chart *chart, enum ft_mark mark, const char *text);

/* Write TEXT beside a point, on the side where there is room. */
void ft_chart_note(struct ft_chart *chart, double x, double y, const char *text);

/*
 * Finish the chart and write it to PATH, or to standard output when it is NULL. CHART is released.
 * Returns 0; -1 with ERR.
 */
int ft_chart_close(struct ft_chart *chart, const char *path, struct ft_error *err);

/* Release CHART, unfinished; NULL is allowed. */
void ft_chart_discard(struct ft_chart *chart);

#endif
