/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One line for one event: on standard error in the foreground (the journal), else to syslog. */
#ifndef FT_AGENT_LOG_H
#define FT_AGENT_LOG_H

#include <stdbool.h>
#include <syslog.h>

/* Where lines go from now on; VERBOSE: LOG_DEBUG too. */
void ft_log_open(bool to_syslog, bool verbose);

/* On standard error, and only LOG_WARNING and worse: a command's, not a daemon's. */
void ft_log_warnings_only(void);

/* Say one line; PRIORITY is syslog's (LOG_ERR, LOG_WARNING, LOG_INFO, LOG_DEBUG). */
void ft_log(int priority, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
