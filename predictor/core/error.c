/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "predictor/core/error.h"

static void format_line(struct ft_error *err, const char *format, va_list ap)
{
  if (err)
    (void)vsnprintf(err->text, sizeof err->text, format, ap);
}

int ft_error_set(struct ft_error *err, const char *format, ...)
{
  int saved = errno;
  va_list ap;

  va_start(ap, format);
  format_line(err, format, ap);
  va_end(ap);
  errno = saved;
  return -1;
}

int ft_error_errno(struct ft_error *err, const char *format, ...)
{
  int saved = errno;
  va_list ap;

  va_start(ap, format);
  format_line(err, format, ap);
  va_end(ap);
  if (err) {
    size_t used = strlen(err->text);

    (void)snprintf(err->text + used, sizeof err->text - used, ": %s", strerror(saved));
  }
  errno = saved;
  return -1;
}
