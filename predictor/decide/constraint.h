/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which nodes --constraint leaves. */
#ifndef FT_DECIDE_CONSTRAINT_H
#define FT_DECIDE_CONSTRAINT_H

#include <stdbool.h>

#include "predictor/record/record.h"

/*
 * Whether some node of KIND may have what CONSTRAINT, as typed, asks for. Nothing is left out for
 * certain alone: where the kind's features are not known, where different nodes may have different
 * ones of those named ("[a|b]", "a*2&b*2"), and of what Slurm will not take, the answer is yes.
 */
bool ft_constraint_allows(const char *constraint, const ft_node_kind *kind);

#endif
