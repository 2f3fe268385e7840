/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Log of a daemon, one line per event: standard error in the foreground, else syslog. */
#ifndef FT_DAEMON_LOG_H
#define FT_DAEMON_LOG_H

#include <stdbool.h>
#include <syslog.h>

/* Selects syslog or standard error for all later lines, which begin with PROGRAM (borrowed).
 * VERBOSE also logs LOG_DEBUG. */
void ft_log_open(const char *program, bool to_syslog, bool verbose);

/* Restricts the log to LOG_WARNING and worse, for commands that use the daemons' code. */
void ft_log_warnings_only(void);

/* Logs one line, at most 1023 bytes. PRIORITY is LOG_ERR, LOG_WARNING, LOG_INFO or LOG_DEBUG. */
void ft_log(int priority, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
