/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Output of all sub-commands: error messages, columns, JSON, progress, times. */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "predictor/cli/cli.h"
#include "predictor/core/io.h"
#include "predictor/core/utf8.h"

enum { COUNT_AT_ONCE = 128 }; /* characters of at most 4 bytes, which fit ft_print_plain's buffer */

int ft_print_error(const char *name, int status, const char *format, ...)
{
  char text[1024];
  va_list args;

  va_start(args, format);
  (void)vsnprintf(text, sizeof text, format, args);
  va_end(args);
  ft_utf8_make_printable(text); /* no name from a user may start a new line */
  fprintf(stderr, "foretell%s%s: %s\n", name ? " " : "", name ? name : "", text);
  return status;
}

void ft_print_column(const char *text, size_t width)
{
  size_t length = ft_utf8_length(text);

  ft_print_plain(text);
  printf("%*s", length < width ? (int)(width - length) : 0, "");
}

void ft_print_plain(const char *text)
{
  char clean[512];

  while (*text) {
    size_t length = strlen(text);

    /* long text is split between characters */
    for (size_t count = COUNT_AT_ONCE; length >= sizeof clean; count--)
      length = ft_utf8_prefix_bytes(text, count);
    memcpy(clean, text, length);
    clean[length] = '\0';
    ft_utf8_make_printable(clean);
    fputs(clean, stdout);
    text += length;
  }
}

int ft_flush(const char *command)
{
  errno = 0;
  if (fflush(stdout) == 0 && !ferror(stdout))
    return FT_EXIT_DONE;
  return ft_print_error(command, FT_EXIT_SYSTEM, "standard output: %s",
                        errno ? strerror(errno) : "cannot be written");
}

int ft_json_print(json_t *object)
{
  size_t flags = JSON_REAL_PRECISION(15) | (isatty(STDOUT_FILENO) ? JSON_INDENT(2) : 0);
  int failed;

  if (!object)
    return ft_print_error(NULL, FT_EXIT_SYSTEM, "out of memory");
  failed = json_dumpf(object, stdout, flags);
  json_decref(object);
  if (failed < 0 && !ferror(stdout))
    return ft_print_error(NULL, FT_EXIT_SYSTEM, "out of memory");
  (void)putchar('\n');
  return ft_flush(NULL);
}

json_t *ft_json_number(bool has, double value)
{
  if (!has || !isfinite(value))
    return json_null();
  if (value == floor(value) && fabs(value) <= 0x1p53)
    return json_integer((json_int_t)value);
  return json_real(value);
}

static void draw_progress(const struct ft_progress *progress, double done)
{
  enum { WIDTH = 30 };
  static const char full[] = "##############################";
  double part = progress->total > 0 ? fmin(fmax(done / progress->total, 0), 1) : 0;
  int filled = (int)(part * WIDTH);

  if (progress->total > 0)
    fprintf(stderr, "\r%s [%.*s%*s] %3.0f %%", progress->what, filled, full, WIDTH - filled, "",
            100 * part);
  else
    fprintf(stderr, "\r%s: %.0f", progress->what, done);
  fflush(stderr);
}

void ft_progress_start(struct ft_progress *progress, const char *what, double total)
{
  *progress = (struct ft_progress){ .what = what, .total = total };
  /* no bar during the first 0.5 s, and none without a terminal */
  progress->next = isatty(STDERR_FILENO) ? ft_io_monotonic() + 0.5 : INFINITY;
}

void ft_progress_step(struct ft_progress *progress, double done)
{
  double now;

  if (progress->next == INFINITY || (now = ft_io_monotonic()) < progress->next)
    return;
  draw_progress(progress, done);
  progress->next = now + 0.1;
  progress->shown = true;
}

void ft_progress_end(struct ft_progress *progress)
{
  if (progress->shown)
    fprintf(stderr, "\r\033[K");
  progress->shown = false;
}

const char *ft_show_time(double time, char out[32])
{
  struct tm parts;
  time_t seconds;

  /* ISO 8601 years have four digits; 0 is an unknown time */
  if (!(time > 0 && time < 253402300800.0)) {
    (void)snprintf(out, 32, "-");
    return out;
  }
  seconds = (time_t)time;
  if (!gmtime_r(&seconds, &parts) || strftime(out, 32, "%Y-%m-%dT%H:%M:%SZ", &parts) == 0)
    (void)snprintf(out, 32, "-");
  return out;
}
