/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * FT_HOT groups the functions of the 10 Hz sampler in .text.hot. Caches are cold at each sample, so
 * every page of code that the sampler executes costs time.
 */
#ifndef FT_CORE_HOT_H
#define FT_CORE_HOT_H

/* Attribute of a function definition: gcc and clang place the function in .text.hot. */
#define FT_HOT __attribute__((hot))

#endif
