/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Converts a world's events to the records of the plugin and the agent. */
#ifndef FT_BENCH_WEEKS_RECORDS_H
#define FT_BENCH_WEEKS_RECORDS_H

#include "predictor/record/record.h"
#include "tests/bench/weeks/world.h"

/* Writes the plugin's record of ATTEMPT to OUT and ARRAY. */
void weeks_make_submission(const struct weeks_world *world, const struct weeks_attempt *attempt,
                           ft_submission *out, ft_job_array *array);

/* Writes the agent's record of RESULT to OUT. */
void weeks_make_observation(const struct weeks_world *world, const struct weeks_result *result,
                            ft_observation *out);

/* Writes foretell's records of SITE and of its one partition. */
void weeks_make_site(const struct weeks_site *site, ft_site *out, ft_partition *partition);

#endif
