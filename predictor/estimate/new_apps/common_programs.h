/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the authors of common programs state about their memory. */
#ifndef FT_ESTIMATE_COMMON_PROGRAMS_H
#define FT_ESTIMATE_COMMON_PROGRAMS_H

#include <stddef.h>

struct ft_common_program {
  const char *name;             /* as ft_state_program has it */
  double low_bytes, high_bytes; /* as stated; equal for one amount */
  const char *of;               /* follows the amounts: "for the human genome" */
  const char *source;           /* address of the document that states it */
};

/* Returns the row of PROGRAM, or of its first one ("bwa-mem+1"); NULL: there is none. */
const struct ft_common_program *ft_common_program_find(const char *program);

/* Returns row I, in the order of their names; NULL after the last. */
const struct ft_common_program *ft_common_program_at(size_t i);

#endif
