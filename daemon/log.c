/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "daemon/log.h"
#include "predictor/core/io.h"

static struct {
  const char *program;
  bool to_syslog, verbose, journal, warnings;
} log_ = { .program = "foretell" };

void ft_log_open(const char *program, bool to_syslog, bool verbose)
{
  log_.program = program;
  log_.to_syslog = to_syslog;
  log_.verbose = verbose;
  /* systemd.exec(5): set if standard error is systemd's journal, which reads the priority prefixes
   * of sd-daemon(3) */
  log_.journal = getenv("JOURNAL_STREAM") && !isatty(STDERR_FILENO);
  if (to_syslog)
    openlog(program, LOG_PID, LOG_DAEMON);
}

void ft_log_warnings_only(void)
{
  log_.warnings = true;
}

void ft_log(int priority, const char *format, ...)
{
  char line[1024];
  int length = 0, more, saved = errno;
  va_list ap;

  if ((priority > LOG_INFO && !log_.verbose) || (priority > LOG_WARNING && log_.warnings))
    return;
  va_start(ap, format);
  if (log_.to_syslog) {
    vsyslog(priority, format, ap);
    goto out;
  }
  if (log_.journal)
    length = snprintf(line, sizeof line, "<%d>", priority);
  length += snprintf(line + length, sizeof line - (size_t)length, "%s: ", log_.program);
  more = vsnprintf(line + length, sizeof line - (size_t)length - 1, format, ap);
  length += more < 0 ? 0 : more;
  if (length > (int)sizeof line - 2)
    length = sizeof line - 2;
  line[length++] = '\n';
  (void)ft_io_write_all(STDERR_FILENO, line, (size_t)length);
out:
  va_end(ap);
  errno = saved;
}
