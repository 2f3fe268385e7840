/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Draws a run's memory over time from an mprof file: lines "MEM MIB TIME" and "CMDLINE ...".
 * Other lines are skipped (memory_profiler 0.61, mprof.py).
 */
#include "config.h"

#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "predictor/cli/cli.h"
#include "predictor/cli/plot/chart.h"
#include "predictor/cli/plot/plot.h"
#include "predictor/core/io.h"
#include "predictor/core/text.h"
#include "predictor/core/units.h"
#include "predictor/history/json.h"

enum { COLUMNS = 1400 }; /* time intervals, about two per pixel of the chart's width */

struct run {
  double *seconds, *bytes; /* seconds since the first sample; bytes */
  size_t count, size;
  size_t peak;
  char command[256];
};

static int add_sample(struct run *run, double seconds, double bytes)
{
  if (run->count == run->size) {
    size_t size = run->size ? 2 * run->size : 1024;
    double *s = realloc(run->seconds, size * sizeof *s);
    double *b = s ? realloc(run->bytes, size * sizeof *b) : NULL;

    if (s)
      run->seconds = s;
    if (!b)
      return -1;
    run->bytes = b;
    run->size = size;
  }
  run->seconds[run->count] = seconds;
  run->bytes[run->count] = bytes;
  if (bytes > run->bytes[run->peak])
    run->peak = run->count;
  run->count++;
  return 0;
}

/* Parses the rest of a MEM line: memory in MiB and seconds since 1970. */
static bool read_sample(struct ft_text rest, double *mib, double *time)
{
  struct ft_text first, second;

  return ft_text_word(&rest, &first) && ft_text_word(&rest, &second) &&
         ft_text_is_double(first, mib) && ft_text_is_double(second, time) && *mib >= 0 &&
         *mib < 0x1p40;
}

static int parse_mprof(const char *name, struct ft_text text, struct run *run, struct ft_error *err)
{
  struct ft_text line;
  double mib, time, begin = 0, last = -INFINITY;

  for (size_t number = 1; ft_text_line(&text, &line); number++) {
    if (ft_text_skip(&line, "CMDLINE "))
      (void)ft_text_copy(ft_text_trim(line), run->command, sizeof run->command);
    if (!ft_text_skip(&line, "MEM "))
      continue;
    if (!read_sample(line, &mib, &time))
      return ft_error_set(err, "%s: line %zu: expected MEM, MiB and seconds since 1970", name,
                          number);
    if (time < last)
      return ft_error_set(err, "%s: line %zu: earlier than the line before", name, number);
    begin = run->count ? begin : time;
    last = time;
    if (add_sample(run, time - begin, mib * (double)FT_MIB) < 0)
      return ft_error_errno(err, "%s", name);
  }
  if (run->count == 0)
    return ft_error_set(
        err, "%s: no line \"MEM MIB TIME\"; expected a file of foretell profile or mprof", name);
  return 0;
}

static int read_mprof_file(const char *name, struct run *run, struct ft_error *err)
{
  struct ft_buf text;
  struct ft_error why;
  struct stat about;
  int fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  int result = -1;

  ft_buf_init(&text, FT_LIMIT_OUTPUT);
  if (fd < 0)
    return ft_error_errno(err, "%s", name);
  if (fstat(fd, &about) < 0 || !S_ISREG(about.st_mode))
    ft_error_set(err, "%s: not a regular file", name);
  else if (ft_io_read_fd(fd, &text, &why) < 0)
    ft_error_set(err, "%s: %s", name, why.text);
  else
    result = parse_mprof(name, ft_text_of(ft_buf_text(&text), text.length), run, err);
  close(fd);
  ft_buf_free(&text);
  return result;
}

/* Keeps the smallest and the largest sample of each time interval, in order of time. */
static void thin_samples(struct run *run)
{
  double width = run->seconds[run->count - 1] / COLUMNS;
  size_t kept = 0;

  if (run->count <= 2 * COLUMNS)
    return;
  for (size_t i = 0, next; i < run->count; i = next) {
    size_t low = i, high = i, first, second;

    for (next = i + 1; next < run->count && run->seconds[next] < run->seconds[i] + width; next++) {
      low = run->bytes[next] < run->bytes[low] ? next : low;
      high = run->bytes[next] > run->bytes[high] ? next : high;
    }
    first = low < high ? low : high;
    second = low < high ? high : low;
    /* in place: no source index is below its target index */
    run->seconds[kept] = run->seconds[first];
    run->bytes[kept++] = run->bytes[first];
    if (second != first) {
      run->seconds[kept] = run->seconds[second];
      run->bytes[kept++] = run->bytes[second];
    }
  }
  run->count = kept;
}

static int draw_run(const struct ft_plot *plot, const char *name, struct run *run,
                    struct ft_error *err)
{
  double peak = run->bytes[run->peak], peak_at = run->seconds[run->peak];
  double length = run->seconds[run->count - 1];
  struct ft_axis x = { .kind = FT_AXIS_SECONDS, .title = "Time", .tight = true, .high = length };
  struct ft_axis y = { .kind = FT_AXIS_BYTES, .title = "Memory", .high = peak };
  char subtitle[128], note[96], shown[32], took[32];
  struct ft_chart *chart;

  if (length <= 0)
    x.high = 1;
  (void)snprintf(subtitle, sizeof subtitle, "%zu sample%s in %s", run->count, ft_plural(run->count),
                 ft_units_show_seconds(length, took, sizeof took));
  ft_axis_fit(&x);
  (void)snprintf(note, sizeof note, "%s after %.3g %s",
                 ft_units_show_bytes((uint64_t)peak, shown, sizeof shown), peak_at / x.unit,
                 x.unit_name);
  chart =
      ft_chart_open(plot->png, false, run->command[0] ? run->command : name, subtitle, &x, &y, err);
  if (!chart)
    return -1;
  thin_samples(run);
  ft_chart_series(chart, FT_MARK_AREA, run->seconds, run->bytes, NULL, run->count);
  ft_chart_note(chart, peak_at, peak, note);
  return ft_chart_close(chart, plot->output, err);
}

int ft_plot_run(const struct ft_plot *plot, const char *name, json_t **drawn, struct ft_error *err)
{
  struct run run = { 0 };
  int status = FT_EXIT_USAGE;

  if (read_mprof_file(name, &run, err) == 0) {
    *drawn = json_pack("{s:o, s:s, s:I, s:o, s:o, s:o}", "output",
                       plot->output ? ft_json_text(plot->output) : json_null(), "kind", "run",
                       "samples", (json_int_t)run.count, "seconds",
                       ft_json_number(true, run.seconds[run.count - 1]), "peak_bytes",
                       ft_json_number(true, run.bytes[run.peak]), "seconds_to_peak",
                       ft_json_number(true, run.seconds[run.peak]));
    status = draw_run(plot, name, &run, err) == 0 ? FT_EXIT_DONE : FT_EXIT_SYSTEM;
  }
  free(run.seconds);
  free(run.bytes);
  return status;
}
