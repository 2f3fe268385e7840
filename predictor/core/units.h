/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parses and prints memory sizes and durations in the units of Slurm. */
#ifndef FT_CORE_UNITS_H
#define FT_CORE_UNITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "predictor/core/text.h"

#define FT_KIB (UINT64_C(1) << 10)
#define FT_MIB (UINT64_C(1) << 20)
#define FT_GIB (UINT64_C(1) << 30)
#define FT_JOULES_PER_KWH 3.6e6

/*
 * Parses a memory size of Slurm: a number, with fraction or without, and K, M, G, T or P in any
 * case, powers of 1024. A number without suffix is in units of BARE bytes (FT_MIB for --mem).
 * Sets BYTES, rounded up. Returns false for other text and from 2^63 bytes on.
 */
bool ft_units_parse_bytes(struct ft_text text, uint64_t bare, uint64_t *bytes);

/* Formats BYTES for display, with three significant digits: "11.2 GiB", "640 MiB". Returns OUT, an
 * array of SIZE bytes. */
const char *ft_units_show_bytes(uint64_t bytes, char *out, size_t size);

/* Returns the unit, 1 to 2^60 bytes, in which BYTES is below 1023.5. Sets NAME to its constant
 * name. */
double ft_units_scale_bytes(double bytes, const char **name);

/* Formats BYTES for --mem, rounded up to MiB: "12900M", or "64G" for whole GiB. Returns OUT, an
 * array of SIZE bytes. */
const char *ft_units_slurm_bytes(uint64_t bytes, char *out, size_t size);

/*
 * Parses a duration of Slurm: "min", "min:sec", "h:min:sec", "d-h", "d-h:min", "d-h:min:sec", and
 * the forms of sacct(1), "[d-]h:min:sec" and "min:sec.millis". Returns false for other text, also
 * for UNLIMITED and INVALID.
 */
bool ft_units_parse_seconds(struct ft_text text, double *seconds);

/*
 * Parses a period in the format of slurmdbd.conf(5): a number of hours, days, months (30 days) or
 * years (365 days), "400 days", "24months"; 0 needs no unit. Returns false for other text.
 */
bool ft_units_parse_period(struct ft_text text, double *seconds);

/* Formats SECONDS for display: "37 s", "4.2 min", "3.5 h", "2.1 d". Returns OUT, an array of SIZE
 * bytes. */
const char *ft_units_show_seconds(double seconds, char *out, size_t size);

/* Formats JOULES for display with three significant digits: "640 J", "3.42 Wh", "1.2 kWh". Returns
 * OUT, an array of SIZE bytes. */
const char *ft_units_show_joules(double joules, char *out, size_t size);

#endif
