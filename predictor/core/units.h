/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bytes and seconds inside, Slurm's units at its edge. */
#ifndef FT_CORE_UNITS_H
#define FT_CORE_UNITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "predictor/core/text.h"

#define FT_KIB (UINT64_C(1) << 10)
#define FT_MIB (UINT64_C(1) << 20)
#define FT_GIB (UINT64_C(1) << 30)

/*
 * A memory size as Slurm writes it: a number (a fraction is allowed) and K, M,
 * G, T or P, powers of 1024, any case; without a suffix in units of BARE bytes
 * (FT_MIB for --mem). Returns false on anything else or past 2^63.
 */
bool ft_units_parse_bytes(struct ft_text text, uint64_t bare, uint64_t *bytes);

/* "11.2 GiB", "640 MiB", "12 KiB": three significant digits, for people. */
const char *ft_units_show_bytes(uint64_t bytes, char *out, size_t size);

/* The unit that BYTES are best told in, and its name: one that gives 1 to 1023, but never below
 * "B". */
double ft_units_scale_bytes(double bytes, const char **name);

/* "12900M", or "64G" where it is a whole number of GiB: for --mem. Rounded up to a MiB. */
const char *ft_units_slurm_bytes(uint64_t bytes, char *out, size_t size);

/*
 * A duration as Slurm writes it: "min", "min:sec", "h:min:sec", "d-h",
 * "d-h:min", "d-h:min:sec"; sacct's "[d-]h:min:sec" and "min:sec.millis" too.
 * UNLIMITED and INVALID are refused.
 */
bool ft_units_parse_seconds(struct ft_text text, double *seconds);

/*
 * A period in the words of slurmdbd.conf, a number of hours, days, months (of 30 days) or years (of
 * 365): "400 days", "24months", "1 year"; 0 needs no unit. Returns false on anything else.
 */
bool ft_units_parse_period(struct ft_text text, double *seconds);

/* "37 s", "4.2 min", "3.5 h", "2.1 d". */
const char *ft_units_show_seconds(double seconds, char *out, size_t size);

#endif
