/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Arithmetic of the index of an array task: whole numbers, "a" for the index, "(", ")", "+", "-",
 * "x" for multiplication, "d" for division and "m" for the remainder, as in a shell, without
 * blanks. The letters keep it apart from paths and patterns.
 */
#ifndef FT_RECORD_INDEX_ARITHMETIC_H
#define FT_RECORD_INDEX_ARITHMETIC_H

#include <stdbool.h>
#include <stdint.h>

#include "predictor/core/text.h"

/* Computes EXPRESSION for INDEX. Returns false if it is malformed, divides by 0 or leaves the range
 * of VALUE. */
bool ft_index_compute(struct ft_text expression, uint32_t index, int64_t *value);

#endif
