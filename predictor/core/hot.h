/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What runs at every instant that the agent measures stands together in the program:
 * ten times a second it comes back to cold caches, and every page that it touches costs
 * about as much as what it does there.
 */
#ifndef FT_CORE_HOT_H
#define FT_CORE_HOT_H

/* Before a function's definition: gcc and clang put it into .text.hot. */
#define FT_HOT __attribute__((hot))

#endif
