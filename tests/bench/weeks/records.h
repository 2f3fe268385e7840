/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The records that plugin and agent make of a world's events. */
#ifndef FT_BENCH_WEEKS_RECORDS_H
#define FT_BENCH_WEEKS_RECORDS_H

#include "predictor/record/record.h"
#include "tests/bench/weeks/world.h"

/* The plugin's record of ATTEMPT. */
void weeks_make_submission(const struct weeks_world *world, const struct weeks_attempt *attempt,
                           ft_submission *out);

/* The agent's record of RESULT. */
void weeks_make_observation(const struct weeks_world *world, const struct weeks_result *result,
                            ft_observation *out);

/* SITE as foretell's site record, with its one partition. */
void weeks_make_site(const struct weeks_site *site, ft_site *out, ft_partition *partition);

#endif
