/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Local times to UTC in any time zone, without touching the process's own:
 * TZif files (RFC 8536) with the rule at their end, and fixed offsets.
 */
#ifndef FT_CORE_TIMEZONE_H
#define FT_CORE_TIMEZONE_H

#include <stdbool.h>
#include <stdint.h>

#include "predictor/core/error.h"
#include "predictor/core/text.h"

struct ft_timezone;

/*
 * NAME is "UTC" or "Z", an offset ("+02:00", "-0530", "+2"), "local" (this
 * machine's /etc/localtime) or a name such as "Europe/Berlin", looked for under
 * FOLDER (NULL: /usr/share/zoneinfo). Returns NULL with ERR. Released with ft_timezone_close.
 */
struct ft_timezone *ft_timezone_open(const char *name, const char *folder, struct ft_error *err);
void ft_timezone_close(struct ft_timezone *zone);

/* Seconds east of UTC at the instant UTC, of the years 0 to 9999, as below. */
long ft_timezone_offset(const struct ft_timezone *zone, int64_t utc);

/*
 * LOCAL, seconds since 1970 as a clock on the wall counts them, to UTC. Of an
 * hour that came twice the first is meant; one that was left out counts as if
 * the clock had not been put forward.
 */
int64_t ft_timezone_to_utc(const struct ft_timezone *zone, int64_t local);

/*
 * A time: "2026-11-20T21:30:00" (or a blank for the T) in ZONE; with "Z",
 * "+01:00" or "+0100" behind it in that; or seconds since 1970, with a fraction or without.
 * Returns 1; 0 when it is local and ZONE is NULL; -1 when TEXT is no time.
 */
int ft_time_parse(struct ft_text text, const struct ft_timezone *zone, double *utc);

#endif
