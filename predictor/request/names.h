/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The names that a shell's patterns or ls give, in their order. Both sort by LC_COLLATE, which in a
 * job may be another than here: a name's place is known where the order by bytes, of the locale C,
 * and that of this process's environment agree. Only the foretell child calls this.
 */
#ifndef FT_REQUEST_NAMES_H
#define FT_REQUEST_NAMES_H

#include <stdbool.h>

#include "predictor/core/buf.h"
#include "predictor/core/text.h"

enum { FT_NAMES_MAX = 10000 }; /* ten times Slurm's usual MaxArraySize; sorted in 50 ms */

/*
 * Puts the names that WORDS, between which FT_LOOKUP_NEXT stands, are expanded to relative to the
 * open DIRECTORY into OUT, one a line: those of a word with "*", "?" or "[...]" sorted, any other
 * word as it is. LISTING: WORDS are ls's one operand, which may be a directory. A line is empty
 * where the place of a name is not known. Returns 0; -1 when nothing is known: DEADLINE
 * (ft_io_monotonic) or FT_NAMES_MAX came first, a pattern names nothing, a name has a line break or
 * (PARTED: they would make it several) blanks, or slurm-*.out is named, which the job itself makes.
 */
int ft_names_list(int directory, struct ft_text words, bool listing, bool parted, double deadline,
                  struct ft_buf *out);

#endif
