/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Converts local times of any time zone to UTC, from TZif files (RFC 8536) with their footer rule
 * and from fixed offsets. The time zone of the process stays unchanged; tzset(3) would change it.
 */
#ifndef FT_CORE_TIMEZONE_H
#define FT_CORE_TIMEZONE_H

#include <stdint.h>

#include "predictor/core/error.h"
#include "predictor/core/text.h"

struct ft_timezone;

/*
 * Opens a time zone. NAME is "UTC" or "Z", an offset ("+02:00", "-0530", "+2"), "local"
 * (/etc/localtime) or a name such as "Europe/Berlin" under DIRECTORY (NULL: /usr/share/zoneinfo).
 * The caller releases the zone with ft_timezone_close. Returns NULL on error and fills ERR.
 */
struct ft_timezone *ft_timezone_open(const char *name, const char *directory, struct ft_error *err);

/* Frees ZONE (NULL: does nothing). */
void ft_timezone_close(struct ft_timezone *zone);

/* Returns seconds east of UTC at the time UTC, seconds since 1970, in years 0 to 9999. */
long ft_timezone_offset(const struct ft_timezone *zone, int64_t utc);

/*
 * Converts LOCAL, the seconds since 1970 of a local clock, to UTC. A local time that occurs twice
 * is converted as the first. A local time that is skipped in spring is converted with the offset
 * before the transition.
 */
int64_t ft_timezone_to_utc(const struct ft_timezone *zone, int64_t local);

/*
 * Parses a time into *UTC, seconds since 1970. TEXT is "2026-11-20T21:30:00", with T or a blank and
 * optionally followed by "Z", "+01:00" or "+0100", or a number of seconds since 1970. A time
 * without offset is in ZONE. Returns 1; 0 if the time has no offset and ZONE is NULL; -1 if TEXT is
 * no time.
 */
int ft_time_parse(struct ft_text text, const struct ft_timezone *zone, double *utc);

#endif
