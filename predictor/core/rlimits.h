/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Resource limits of a process that reads a user's file. */
#ifndef FT_CORE_RLIMITS_H
#define FT_CORE_RLIMITS_H

/* 1 if ft_rlimits_set limits memory; 0 under AddressSanitizer, whose shadow alone exceeds 1 GiB. */
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
 * Limits this process to 1 GiB of address space (if FT_RLIMITS_MEMORY), SECONDS of CPU time and no
 * core file. Lower hard limits are left. Async-signal-safe, so callable after fork().
 */
void ft_rlimits_set(unsigned seconds);

#endif
