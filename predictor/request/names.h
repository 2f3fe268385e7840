/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Lists the file names of shell patterns and of ls, in order. Both sort by LC_COLLATE, which may
 * differ in the job. The position of a name is known if the order of the locale C and that of this
 * process agree. Only the helper process calls this.
 */
#ifndef FT_REQUEST_NAMES_H
#define FT_REQUEST_NAMES_H

#include <stdbool.h>

#include "predictor/core/buf.h"
#include "predictor/core/text.h"

/* Names; ten times Slurm's default MaxArraySize. Sorting them takes 50 ms. */
enum { FT_NAMES_MAX = 10000 };

/*
 * Appends the names that WORDS, separated by FT_LOOKUP_NEXT, expand to in the open DIRECTORY to
 * OUT, one per line. The names of a word with "*", "?" or "[...]" are sorted; other words are
 * copied. LISTING: WORDS is the operand of ls and may be a directory. A line is empty if the
 * position of its name is unknown. Returns 0. Returns -1 if the result is unknown: after DEADLINE
 * (seconds of ft_io_monotonic) or FT_NAMES_MAX names; a pattern matches nothing; a name has a line
 * break, or blanks if SPLIT; or slurm-*.out matches, which the job itself creates.
 */
int ft_names_list(int directory, struct ft_text words, bool listing, bool split, double deadline,
                  struct ft_buf *out);

#endif
