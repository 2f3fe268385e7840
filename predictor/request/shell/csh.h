/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Translates a script for csh or tcsh to one for sh, which shell.h reads: the same programs with
 * the same words, assignments and here-documents. Conditions and loops are left out, because
 * shell.h reads every branch. What sh cannot express becomes "$?", an unknown value. One pass, in
 * time linear in the text.
 */
#ifndef FT_REQUEST_CSH_H
#define FT_REQUEST_CSH_H

#include "predictor/core/buf.h"
#include "predictor/core/text.h"

/* Appends SCRIPT as a script for sh to OUT. Returns 0; -1 over OUT's limit or out of memory: OUT
 * then has the beginning. */
int ft_csh_to_sh(struct ft_text script, struct ft_buf *out);

#endif
