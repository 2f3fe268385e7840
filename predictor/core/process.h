/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Identity of a process: the kernel gives a pid to another process after its end. */
#ifndef FT_CORE_PROCESS_H
#define FT_CORE_PROCESS_H

#include <stdint.h>

/*
 * Returns the start of process PID in clock ticks since boot (proc(5), stat, field 22); 0 if there
 * is no such process, or PID is 0.
 */
uint64_t ft_process_start_ticks(uint32_t pid);

#endif
