/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Draws charts with cairo as SVG or PNG. The caller defines the meaning of the marks. */
#include "config.h"

#include <cairo-svg.h>
#include <cairo.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "predictor/cli/plot/chart.h"
#include "predictor/core/buf.h"
#include "predictor/core/io.h"
#include "predictor/core/text.h"
#include "predictor/core/utf8.h"

/* Lengths in CSS pixels. A PNG has SCALE pixels per CSS pixel. */
enum { WIDTH = 800, HEIGHT = 500, LEFT = 64, RIGHT = 28, BOTTOM = 58, SLANTED = 130, SCALE = 2 };

/* Buffer size for one text, in bytes. */
#define WRITTEN 512

/* Rotation of long labels, in radians. */
#define SLANT 0.6

struct colour {
  double red, green, blue;
};

static const struct colour ink = { 0.13, 0.15, 0.19 }, faint = { 0.42, 0.45, 0.50 },
                           rule = { 0.88, 0.89, 0.91 }, blue = { 0.13, 0.40, 0.67 },
                           orange = { 0.84, 0.37, 0.05 };

typedef void point_function(cairo_t *c, double x, double y);

struct ft_chart {
  bool png;
  cairo_surface_t *surface;
  cairo_t *c;
  struct ft_buf out;
  struct ft_axis x, y;
  double top, ground; /* upper and lower edge of the plot area, in CSS pixels */
  bool slanted;       /* labels are rotated because they are wider than their tick interval */
  double legend_x;
  int legend_row; /* pixels below the first row */
};

static void set_series_color(cairo_t *c, struct colour colour, double alpha)
{
  cairo_set_source_rgba(c, colour.red, colour.green, colour.blue, alpha);
}

static double axis_position(const struct ft_axis *axis, double value, double from, double to)
{
  double part;

  if (axis->log)
    part = value > 0 ? log(value / axis->low) / log(axis->high / axis->low) : -1;
  else
    part = (value - axis->low) / (axis->high - axis->low);
  return from + fmin(fmax(part, -1), 2) * (to - from);
}

static double at_x(const struct ft_chart *chart, double value)
{
  return axis_position(&chart->x, value, LEFT, WIDTH - RIGHT);
}

static double at_y(const struct ft_chart *chart, double value)
{
  return axis_position(&chart->y, value, chart->ground, chart->top);
}

static cairo_status_t append_png_bytes(void *closure, const unsigned char *data, unsigned length)
{
  return ft_buf_add(closure, data, length) == 0 ? CAIRO_STATUS_SUCCESS : CAIRO_STATUS_WRITE_ERROR;
}

/* Copies TEXT and replaces invalid UTF-8, which would put cairo into an error state. */
static const char *valid_utf8(const char *text, char out[WRITTEN])
{
  (void)ft_string_copy(text, out, WRITTEN);
  ft_utf8_replace_invalid(out);
  return out;
}

static double text_width(cairo_t *c, const char *text)
{
  cairo_text_extents_t extents;
  char shown[WRITTEN];

  cairo_text_extents(c, valid_utf8(text, shown), &extents);
  return extents.x_advance;
}

/* Writes TEXT on baseline Y; ALIGN is the fraction of the width to the left of X. */
static void write_text(cairo_t *c, double x, double y, double align, const char *text)
{
  char shown[WRITTEN];

  cairo_move_to(c, x - align * text_width(c, text), y);
  cairo_show_text(c, valid_utf8(text, shown));
}

/* Writes TEXT, cut with an ellipsis to at most WIDTH pixels. */
static void write_cut(cairo_t *c, double x, double y, double width, const char *text)
{
  static const char ellipsis[] = "\xe2\x80\xa6";
  char whole[WRITTEN - sizeof ellipsis], cut[WRITTEN];
  bool complete = ft_string_copy(text, whole, sizeof whole);
  size_t length = ft_utf8_length(whole);

  (void)ft_string_copy(whole, cut, sizeof cut);
  while (length && (!complete || text_width(c, cut) > width)) {
    (void)snprintf(cut, sizeof cut, "%.*s%s", (int)ft_utf8_prefix_bytes(whole, --length), whole,
                   ellipsis);
    complete = true;
  }
  write_text(c, x, y, 0, cut);
}

static void set_font(cairo_t *c, double size, bool bold)
{
  cairo_select_font_face(c, "sans-serif", CAIRO_FONT_SLANT_NORMAL,
                         bold ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
  cairo_set_font_size(c, size);
}

static const char *axis_title(const struct ft_axis *axis, char out[128])
{
  (void)snprintf(out, 128, axis->unit_name[0] ? "%s (%s)" : "%s", axis->title, axis->unit_name);
  return out;
}

static void draw_axis_line(cairo_t *c, double x0, double y0, double x1, double y1)
{
  /* the offset of half a pixel makes a line of width 1 cover whole pixels */
  cairo_move_to(c, floor(x0) + 0.5, floor(y0) + 0.5);
  cairo_line_to(c, floor(x1) + 0.5, floor(y1) + 0.5);
  cairo_stroke(c);
}

/* Rotates labels that are wider than their tick interval and shortens the plot area for them. */
static void reserve_label_space(struct ft_chart *chart)
{
  double room = (double)(WIDTH - LEFT - RIGHT) / (double)(chart->x.tick_count + 1), widest = 0;
  char text[64];

  set_font(chart->c, 12, false);
  for (size_t i = 0; i < chart->x.tick_count && chart->x.kind == FT_AXIS_NAMES; i++)
    widest = fmax(widest, text_width(chart->c, ft_axis_label(&chart->x, i, text)));
  chart->slanted = widest > room - 4;
  chart->ground = HEIGHT - BOTTOM;
  if (chart->slanted)
    chart->ground -= fmin(widest, SLANTED) * sin(SLANT);
}

/* Writes rotated TEXT that ends below the tick at X. */
static void write_slanted(struct ft_chart *chart, double x, const char *text)
{
  cairo_t *c = chart->c;

  cairo_save(c);
  cairo_translate(c, x + 4, chart->ground + 14);
  cairo_rotate(c, -SLANT);
  write_cut(c, -fmin(text_width(c, text), SLANTED), 0, SLANTED, text);
  cairo_restore(c);
}

static void draw_axes(struct ft_chart *chart)
{
  cairo_t *c = chart->c;
  char text[128];
  cairo_set_line_width(c, 1);
  set_font(c, 12, false);
  for (size_t i = 0; i < chart->y.tick_count; i++) {
    double y = at_y(chart, chart->y.tick[i]);

    set_series_color(c, rule, 1);
    draw_axis_line(c, LEFT, y, WIDTH - RIGHT, y);
    set_series_color(c, faint, 1);
    write_text(c, LEFT - 8, y + 4, 1, ft_axis_label(&chart->y, i, text));
  }
  for (size_t i = 0; i < chart->x.tick_count; i++) {
    double x = at_x(chart, chart->x.tick[i]);

    set_series_color(c, faint, 1);
    draw_axis_line(c, x, chart->ground, x, chart->ground + 5);
    ft_axis_label(&chart->x, i, text);
    if (chart->slanted)
      write_slanted(chart, x, text);
    else
      write_text(c, x, chart->ground + 20, 0.5, text);
  }
  set_series_color(c, faint, 1);
  draw_axis_line(c, LEFT, chart->ground, WIDTH - RIGHT, chart->ground);
  set_series_color(c, ink, 1);
  write_text(c, (LEFT + WIDTH - RIGHT) / 2.0, HEIGHT - 14, 0.5, axis_title(&chart->x, text));
  write_text(c, 20, chart->top - 12, 0, axis_title(&chart->y, text));
}

struct ft_chart *ft_chart_open(bool png, bool legend, const char *title, const char *subtitle,
                               const struct ft_axis *x, const struct ft_axis *y,
                               struct ft_error *err)
{
  struct ft_chart *chart = calloc(1, sizeof *chart);

  if (!chart) {
    ft_error_errno(err, "a chart");
    return NULL;
  }
  chart->png = png;
  chart->top = legend ? 116 : 92;
  chart->x = *x;
  chart->y = *y;
  ft_axis_fit(&chart->x);
  ft_axis_fit(&chart->y);
  ft_buf_init(&chart->out, FT_LIMIT_OUTPUT);
  if (png) {
    chart->surface = cairo_image_surface_create(CAIRO_FORMAT_RGB24, SCALE * WIDTH, SCALE * HEIGHT);
  } else {
    chart->surface =
        cairo_svg_surface_create_for_stream(append_png_bytes, &chart->out, WIDTH, HEIGHT);
    cairo_svg_surface_set_document_unit(chart->surface, CAIRO_SVG_UNIT_PX);
  }
  chart->c = cairo_create(chart->surface);
  if (png)
    cairo_scale(chart->c, SCALE, SCALE);
  cairo_set_source_rgb(chart->c, 1, 1, 1);
  cairo_paint(chart->c);
  set_series_color(chart->c, ink, 1);
  set_font(chart->c, 17, true);
  write_cut(chart->c, 20, 28, WIDTH - 40, title);
  if (subtitle) {
    set_series_color(chart->c, faint, 1);
    set_font(chart->c, 12.5, false);
    write_cut(chart->c, 20, 47, WIDTH - 40, subtitle);
  }
  chart->legend_x = 20;
  reserve_label_space(chart);
  draw_axes(chart);
  return chart;
}

static void trace_path(struct ft_chart *chart, const double *x, const double *y, size_t count)
{
  for (size_t i = 0; i < count; i++)
    cairo_line_to(chart->c, at_x(chart, x[i]), at_y(chart, y[i]));
}

static void draw_dot(cairo_t *c, double x, double y, double alpha)
{
  cairo_new_sub_path(c);
  cairo_arc(c, x, y, 3.2, 0, 2 * M_PI);
  set_series_color(c, blue, alpha);
  cairo_fill(c);
}

static void draw_point(cairo_t *c, double x, double y)
{
  draw_dot(c, x, y, 0.8);
}

static void draw_faint(cairo_t *c, double x, double y)
{
  draw_dot(c, x, y, 0.3);
}

/* Lower bound: an open triangle that points up, towards the true value. */
static void draw_bound(cairo_t *c, double x, double y)
{
  cairo_move_to(c, x - 4, y + 3);
  cairo_line_to(c, x + 4, y + 3);
  cairo_line_to(c, x, y - 4.5);
  cairo_close_path(c);
  set_series_color(c, orange, 1);
  cairo_set_line_width(c, 1.4);
  cairo_stroke(c);
}

static void stroke_mark(cairo_t *c, enum ft_mark mark)
{
  static const double dashes[] = { 4, 4 };

  if (mark == FT_MARK_SAME)
    cairo_set_dash(c, dashes, 2, 0);
  set_series_color(c, mark == FT_MARK_SAME ? faint : blue, 1);
  cairo_set_line_width(c, mark == FT_MARK_SAME ? 1 : 1.8);
  cairo_set_line_join(c, CAIRO_LINE_JOIN_ROUND);
  cairo_stroke(c);
  cairo_set_dash(c, NULL, 0, 0);
}

static void draw_area(struct ft_chart *chart, const double *x, const double *y, size_t count)
{
  cairo_move_to(chart->c, at_x(chart, x[0]), chart->ground);
  trace_path(chart, x, y, count);
  cairo_line_to(chart->c, at_x(chart, x[count - 1]), chart->ground);
  cairo_close_path(chart->c);
  set_series_color(chart->c, blue, 0.14);
  cairo_fill(chart->c);
}

static point_function *point_of(enum ft_mark mark)
{
  switch (mark) {
  case FT_MARK_POINT:
    return draw_point;
  case FT_MARK_FAINT:
    return draw_faint;
  case FT_MARK_BOUND:
    return draw_bound;
  default:
    return NULL;
  }
}

void ft_chart_series(struct ft_chart *chart, enum ft_mark mark, const double *x, const double *y,
                     const double *low, size_t count)
{
  point_function *point = point_of(mark);
  cairo_t *c = chart->c;

  if (count == 0)
    return;
  cairo_save(c);
  if (point)
    cairo_rectangle(c, LEFT - 6, chart->top - 6, WIDTH - LEFT - RIGHT + 12, HEIGHT);
  else
    cairo_rectangle(c, LEFT, chart->top - 1, WIDTH - LEFT - RIGHT, chart->ground - chart->top + 1);
  cairo_clip(c);
  cairo_new_path(c);
  if (point) {
    for (size_t i = 0; i < count; i++)
      point(c, at_x(chart, x[i]), at_y(chart, y[i]));
  } else if (mark == FT_MARK_BAND) {
    trace_path(chart, x, y, count);
    for (size_t i = count; i-- > 0;)
      cairo_line_to(c, at_x(chart, x[i]), at_y(chart, low[i]));
    cairo_close_path(c);
    set_series_color(c, blue, 0.16);
    cairo_fill(c);
  } else {
    if (mark == FT_MARK_AREA)
      draw_area(chart, x, y, count);
    trace_path(chart, x, y, count);
    stroke_mark(c, mark);
  }
  cairo_restore(c);
}

void ft_chart_legend(struct ft_chart *chart, enum ft_mark mark, const char *text)
{
  enum { KEY = 18, BASE = 71, ROW = 16 };
  point_function *point = point_of(mark);
  cairo_t *c = chart->c;
  double x = chart->legend_x, y, end;

  set_font(c, 12, false);
  end = x + KEY + 6 + text_width(c, text);
  if (end > WIDTH - 20 && !chart->legend_row) {
    /* the second row ends above the title of the y axis */
    chart->legend_row = ROW;
    end -= x - 20;
    x = 20;
  }
  y = BASE + chart->legend_row - 4;
  cairo_new_path(c);
  if (point) {
    point(c, x + KEY / 2.0, y);
  } else if (mark == FT_MARK_BAND) {
    cairo_rectangle(c, x, y - 5, KEY, 10);
    set_series_color(c, blue, 0.16);
    cairo_fill(c);
  } else {
    cairo_move_to(c, x, y);
    cairo_line_to(c, x + KEY, y);
    stroke_mark(c, mark);
  }
  set_series_color(c, ink, 1);
  write_text(c, x + KEY + 6, BASE + chart->legend_row, 0, text);
  chart->legend_x = end + 22;
}

void ft_chart_note(struct ft_chart *chart, double x, double y, const char *text)
{
  cairo_t *c = chart->c;
  double px = at_x(chart, x), py = at_y(chart, y), width;

  set_font(c, 12, true);
  width = text_width(c, text);
  draw_point(c, px, py);
  set_series_color(c, ink, 1);
  write_text(c, px + (px + width + 10 > WIDTH - RIGHT ? -8 : 8), fmax(py - 8, chart->top - 4),
             px + width + 10 > WIDTH - RIGHT ? 1 : 0, text);
}

static int write_chart(const struct ft_buf *out, const char *path, struct ft_error *err)
{
  const char *name = path ? path : "standard output";
  int fd =
      path ? open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0666) : STDOUT_FILENO;
  bool failed = fd < 0 || ft_io_write_all(fd, out->data, out->length) < 0;

  if (failed)
    ft_error_errno(err, "%s", name);
  if (path && fd >= 0 && close(fd) < 0 && !failed) {
    failed = true;
    ft_error_errno(err, "%s", name);
  }
  return failed ? -1 : 0;
}

void ft_chart_discard(struct ft_chart *chart)
{
  if (!chart)
    return;
  cairo_destroy(chart->c);
  cairo_surface_destroy(chart->surface);
  ft_buf_free(&chart->out);
  free(chart);
}

int ft_chart_close(struct ft_chart *chart, const char *path, struct ft_error *err)
{
  cairo_status_t status;
  int result = -1;

  cairo_show_page(chart->c);
  status = cairo_status(chart->c);
  if (status == CAIRO_STATUS_SUCCESS && chart->png)
    status = cairo_surface_write_to_png_stream(chart->surface, append_png_bytes, &chart->out);
  cairo_surface_finish(chart->surface);
  if (status == CAIRO_STATUS_SUCCESS)
    status = cairo_surface_status(chart->surface);
  if (status != CAIRO_STATUS_SUCCESS || chart->out.failed || !chart->out.data)
    ft_error_set(err, "cannot draw: %s",
                 status ? cairo_status_to_string(status) : "larger than 64 MiB");
  else
    result = write_chart(&chart->out, path, err);
  ft_chart_discard(chart);
  return result;
}
