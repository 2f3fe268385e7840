/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The compared policies: foretell, and alternatives of a site. */
#ifndef FT_BENCH_WEEKS_POLICIES_H
#define FT_BENCH_WEEKS_POLICIES_H

#include "tests/bench/weeks/world.h"

enum { WEEKS_PEERS = 5 };

extern const struct weeks_policy weeks_foretell;
extern const struct weeks_policy weeks_peers[WEEKS_PEERS];

#endif
