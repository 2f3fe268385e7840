/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * System calls that the agent gives up. To read other users' /proc it needs capabilities that also
 * permit to trace their processes and to copy their memory and descriptors.
 */
#ifndef FT_AGENT_SYSTEM_CALLS_H
#define FT_AGENT_SYSTEM_CALLS_H

#include "predictor/core/error.h"

/* 1 if ptrace is given up; 0 under AddressSanitizer: its leak checker traces the process. */
#if defined(__SANITIZE_ADDRESS__)
#define FT_SYSTEM_CALLS_PTRACE 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FT_SYSTEM_CALLS_PTRACE 0
#endif
#endif
#ifndef FT_SYSTEM_CALLS_PTRACE
#define FT_SYSTEM_CALLS_PTRACE 1
#endif

/* Makes these calls fail with EPERM in this process and its children, for good. Returns 0; -1 and
 * ERR: nothing has changed. */
int ft_system_calls_give_up(struct ft_error *err);

#endif
