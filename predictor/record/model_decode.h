/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fast decoder of ft_model: packed lists of floats and doubles are copied as a whole. */
#ifndef FT_RECORD_MODEL_DECODE_H
#define FT_RECORD_MODEL_DECODE_H

#include <pb_decode.h>

/*
 * Decodes an ft_model from STREAM, which must be a buffer stream at its beginning, into MESSAGE.
 * Accepts, rejects and stores the same as pb_decode. It copies the lists of numbers in an evaluator
 * and its baselines with memcpy; nanopb takes some 200 instructions for each of up to 3000 numbers.
 * Returns false on error; STREAM then has the message and, in bytes_left, the approximate position.
 */
bool ft_model_decode(pb_istream_t *stream, void *message);

#endif
