/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What was decoded is not yet to be trusted: nanopb knows bounds and types, not meaning. */
#ifndef FT_RECORD_CHECK_H
#define FT_RECORD_CHECK_H

#include "predictor/record/record.h"

/*
 * Whether MESSAGE, a decoded struct of the kind RECORD, keeps to what ft_record_decode
 * promises: enums of the schema's values, no number that is not finite, names without
 * control characters. Returns 0; -1 with ERR naming the part at fault.
 */
int ft_record_check(enum ft_record record, const void *message, struct ft_error *err);

#endif
