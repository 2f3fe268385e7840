/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The longest input of a target. */
#ifndef FT_TESTS_FUZZ_LIMIT_H
#define FT_TESTS_FUZZ_LIMIT_H

#include <stddef.h>

#include "predictor/core/buf.h"

enum { FUZZ_MOST = 1 << 20 }; /* bytes, if the parser's limit is higher: an input takes too long */

/* Bytes; defined by each target: more than its parser accepts. */
extern const size_t fuzz_limit;

#endif
