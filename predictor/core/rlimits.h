/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a process may use that reads a file which a user has named. */
#ifndef FT_CORE_RLIMITS_H
#define FT_CORE_RLIMITS_H

/* Whether memory is bounded: not under AddressSanitizer, whose shadow alone is more. */
#if defined(__SANITIZE_ADDRESS__)
#define FT_RLIMITS_MEMORY 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FT_RLIMITS_MEMORY 0
#endif
#endif
#ifndef FT_RLIMITS_MEMORY
#define FT_RLIMITS_MEMORY 1
#endif

/*
 * Bound this process: its memory to 1 GiB (FT_RLIMITS_MEMORY), its processor time to SECONDS, and
 * no core file. What was bounded below stays so. Safe after fork().
 */
void ft_rlimits_set(unsigned seconds);

#endif
