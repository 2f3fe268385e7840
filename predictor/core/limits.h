/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a process may use that reads a file which a user has named. */
#ifndef FT_CORE_LIMITS_H
#define FT_CORE_LIMITS_H

/*
 * Bound this process: its memory to 1 GiB (not under AddressSanitizer, whose shadow alone is
 * more), its processor time to SECONDS, and no core file. What was bounded below stays so. Safe
 * after fork().
 */
void ft_limits_set(unsigned seconds);

#endif
